/*
 * The reference simulator against schedules worked out by hand.
 * The numbers beside "case" are those of the list of cases with right values.
 */
#include "tests/by_hand.h"

#include <stdlib.h>

/* case 6: 800 + 113 - 1 = 912 slots = 57 blocks of 16; 700 + 101 - 1 = 800 = 50 blocks. */
static void test_larger_than_the_pool(void **state)
{
	const struct ref_request q[] = {REF(0, 800, 113, 0), REF(0, 700, 101, 0)};
	struct ref_config c = base(paged(4, 0));
	struct ref_run run;

	(void)state;
	c.blocks = 50;
	reference_run(&c, q, 2, &run);
	assert_i64(run.outcome[0].status, REF_REJECTED);
	assert_i64(run.outcome[0].instance, -1);
	check_times(&run, 1, 0, 10, 1010); /* a prefill and 100 decode steps of 10 */
	assert_i64(run.step[100].blocks_used, 50);
	reference_release(&run);
}

/* case 7: one seat, three steps of 10 each. */
static void test_work_conservation(void **state)
{
	const struct ref_policy policies[] = {paged(1, 0), paged(1, 8), continuous(1),
					      fixed_batch(1)};
	const struct ref_request q[] = {REF(0, 5, 3, 3), REF(0, 5, 3, 3)};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct ref_config c = base(policies[i]);
		struct ref_run run;

		reference_run(&c, q, 2, &run);
		check_times(&run, 0, 0, 10, 30);
		check_times(&run, 1, 30, 40, 60);
		assert_i64(run.makespan_ns, 60);
		assert_i64(run.steps, 6);
		reference_release(&run);
	}
}

/*
 * case 8: 4 blocks of 4. Slots in the step of token k are 4 + k - 1: one block each for token 1,
 * two for tokens 2 to 5, three for token 6. At 5 the newest is preempted, the first ends at 6, and
 * the other is prefilled anew with 4 + 5 tokens, in 3 blocks.
 */
static void test_smallest_preemption(void **state)
{
	const struct ref_request q[] = {REF(0, 4, 6, 0), REF(0, 4, 6, 0)};

	(void)state;
	for (int64_t chunk = 0; chunk <= 64; chunk += 64) {
		struct ref_config c = base(paged(2, chunk));
		struct ref_run run;

		c.blocks = c.block_tok = 4;
		c.step_ns = 1;
		reference_run(&c, q, 2, &run);
		check_tokens(&run, 0, 1, 2, 3, 4, 5, 6);
		check_tokens(&run, 1, 1, 2, 3, 4, 5, 7);
		check_times(&run, 1, 0, 1, 7);
		assert_i64(run.outcome[0].preemptions, 0);
		assert_i64(run.outcome[1].preemptions, 1);
		assert_i64(run.outcome[1].max_gap_ns, 2);
		assert_i64(run.recomputed_tok, 9);
		assert_i64(run.steps, 7);
		reference_release(&run);
	}
}

/*
 * The same by swap: 2 blocks of 4 tokens of 1 byte at 8 bytes a ns make the steps in which they go
 * out (5 to 7) and come back (7 to 9) 1 longer. With host memory for one block it is recomputed.
 */
static void test_smallest_swap(void **state)
{
	const struct ref_request q[] = {REF(0, 4, 6, 0), REF(0, 4, 6, 0)};
	struct ref_config c = base(paged(2, 0));
	struct ref_run run;

	(void)state;
	c.policy.swap = true;
	c.blocks = c.block_tok = 4;
	c.step_ns = 1;
	c.kv_token_bytes = 1;
	c.pcie_bytes_s = 8e9;
	c.host_blocks = 2;
	reference_run(&c, q, 2, &run);
	check_tokens(&run, 0, 1, 2, 3, 4, 5, 7);
	check_tokens(&run, 1, 1, 2, 3, 4, 5, 9);
	assert_i64(run.recomputed_tok, 0);
	assert_i64(run.preemptions, 1);
	reference_release(&run);
	c.host_blocks = 1;
	reference_run(&c, q, 2, &run);
	check_tokens(&run, 1, 1, 2, 3, 4, 5, 7);
	assert_i64(run.recomputed_tok, 9);
	reference_release(&run);
}

/* case 9: the last token is never written. 16/1: 1 block, 16/2: 2, 15/2: 1. */
static void test_slots(void **state)
{
	const struct ref_request q[] = {REF(0, 16, 1, 0), REF(100, 16, 2, 0), REF(200, 15, 2, 0)};
	struct ref_config c = base(paged(1, 0));
	struct ref_run run;

	(void)state;
	c.blocks = 1;
	reference_run(&c, q, 3, &run);
	assert_i64(run.outcome[0].status, REF_COMPLETED);
	assert_i64(run.outcome[1].status, REF_REJECTED);
	assert_i64(run.outcome[2].status, REF_COMPLETED);
	reference_release(&run);
	c.blocks = 2;
	reference_run(&c, q, 3, &run);
	assert_i64(run.step_n, 5);
	assert_i64(run.step[0].blocks_used, 1);
	assert_i64(run.step[1].blocks_used, 1); /* the prefill of 16/2 */
	assert_i64(run.step[2].blocks_used, 2); /* its decode of token 2 */
	assert_i64(run.step[4].blocks_used, 1);
	reference_release(&run);
}

/*
 * case 12: two seats. Continuous: the third joins at 20, when the first ends. Static: the batch of
 * two ends at 100, and the third takes two steps alone.
 */
static void test_static_against_continuous(void **state)
{
	const struct ref_request q[] = {REF(0, 5, 2, 2), REF(0, 7, 10, 10), REF(0, 3, 2, 2)};
	struct ref_config c = base(continuous(2));
	struct ref_run run;

	(void)state;
	reference_run(&c, q, 3, &run);
	check_times(&run, 0, 0, 10, 20);
	check_times(&run, 1, 0, 10, 100);
	check_times(&run, 2, 20, 30, 40);
	assert_i64(run.makespan_ns, 100);
	reference_release(&run);

	c = base(fixed_batch(2));
	reference_run(&c, q, 3, &run);
	check_times(&run, 0, 0, 10, 20);
	check_times(&run, 1, 0, 10, 100);
	check_times(&run, 2, 100, 110, 120);
	/* padded to 7: 2 x 7 prompt tokens, then two contexts of 7 + g to the end */
	assert_i64(run.step[0].prefill_tok, 14);
	assert_i64(run.step[1].ctx, 16);
	assert_i64(run.step[9].decode_seq, 2);
	assert_i64(run.step[9].ctx, 2 * (7 + 9));
	reference_release(&run);

	c.policy.reply_batch = true;
	reference_run(&c, q, 3, &run);
	check_times(&run, 0, 0, 100, 100);
	check_times(&run, 2, 100, 120, 120);
	reference_release(&run);
}

/* Waits for two or 15 ns: the first goes alone at 15 for two steps, the others as a pair at 35. */
static void test_static_wait(void **state)
{
	const struct ref_request q[] = {REF(0, 5, 2, 2), REF(20, 7, 1, 1), REF(30, 3, 1, 1),
					REF(50, 3, 1, 1)};
	struct ref_config c = base(fixed_batch(2));
	struct ref_run run;

	(void)state;
	c.policy.wait_ns = 15;
	reference_run(&c, q, 4, &run);
	check_times(&run, 0, 15, 25, 35);
	check_times(&run, 1, 35, 45, 45);
	check_times(&run, 2, 35, 45, 45);
	check_times(&run, 3, 65, 75, 75);
	reference_release(&run);
}

/*
 * case 13 (ttft=prefill): prefill 10 + 9 x 10 = 100. One decode seat: the first is transferred from
 * 100 to 120 and decodes its token 2 until 130; so the second queues for 30, is transferred until
 * 150 and gets its token 2 at 160. Its first token was delivered at 100.
 */
static void test_first_token_of_a_split(void **state)
{
	const struct ref_request q[] = {REF(0, 10, 2, 0), REF(0, 10, 3, 0)};
	struct ref_config c = split(2, 1);
	struct ref_run run;

	(void)state;
	c.prefill_tok_ns = 9;
	reference_run(&c, q, 2, &run);
	check_tokens(&run, 0, 100, 130);
	check_tokens(&run, 1, 100, 160, 170);
	check_times(&run, 1, 0, 100, 170);
	assert_i64(run.outcome[1].instance, 1);
	assert_i64(run.outcome[1].decode_instance, 0);
	reference_release(&run);
}

/*
 * The same with ttft=decode: token 1 is decoded at 130, and the second request, which the first
 * with its one token keeps waiting as before, gets its own at 160.
 */
static void test_first_token_of_the_decode(void **state)
{
	const struct ref_request q[] = {REF(0, 10, 1, 0), REF(0, 10, 2, 0)};
	struct ref_config c = split(2, 1);
	struct ref_run run;

	(void)state;
	c.prefill_tok_ns = 9;
	c.ttft_decode = true;
	reference_run(&c, q, 2, &run);
	check_times(&run, 0, 0, 130, 130);
	check_tokens(&run, 1, 160, 170);
	assert_i64(run.step[2].ctx, 10);
	reference_release(&run);
	c.block_tok = 1; /* it is pulled with room for P + 1 */
	c.decode_blocks = 10;
	reference_run(&c, q, 1, &run);
	assert_i64(run.outcome[0].status, REF_REJECTED);
	reference_release(&run);
}

/*
 * Blocks of a prefill are kept until the transfer has ended: with room for one prompt, the second
 * is prefilled from 10 + 20 on. A transfer of 4 tokens of 5 bytes at 1 byte a ns after a latency of
 * 20 takes 40: then from 50 on.
 */
static void test_blocks_kept_for_the_transfer(void **state)
{
	const struct ref_request q[] = {REF(0, 4, 2, 0), REF(0, 4, 1, 0)};
	struct ref_config c = split(1, 4);
	struct ref_run run;

	(void)state;
	c.block_tok = 4;
	c.blocks = 1;
	reference_run(&c, q, 2, &run);
	check_tokens(&run, 0, 10, 40);
	check_times(&run, 1, 30, 40, 40);
	reference_release(&run);
	c.kv_token_bytes = 5;
	reference_run(&c, q, 2, &run);
	check_tokens(&run, 0, 10, 60);
	check_times(&run, 1, 50, 60, 60);
	reference_release(&run);
}

/* One link: transfers of 20 that are both asked for at 10 end at 30 and 50. */
static void test_one_link(void **state)
{
	const struct ref_request q[] = {REF(0, 4, 3, 0), REF(0, 4, 2, 0)};
	struct ref_config c = split(1, 4);
	struct ref_run run;

	(void)state;
	reference_run(&c, q, 2, &run);
	check_tokens(&run, 0, 10, 40, 50);
	check_tokens(&run, 1, 10, 60);
	reference_release(&run);
}

/* case 20: waits 0.4 i s, i = 0..9, sum 18 s; service 0.5 s each, so latencies sum to 23 s. */
static void test_clock_starts_at_arrival(void **state)
{
	struct ref_request q[10];
	struct ref_config c = base(paged(1, 0));
	struct ref_run run;
	int64_t waits = 0, latencies = 0;

	(void)state;
	c.step_ns = 1e8;
	for (int64_t i = 0; i < 10; i++)
		q[i] = (struct ref_request)REF(i * 100000000, 1, 5, 0);
	reference_run(&c, q, 10, &run);
	for (size_t i = 0; i < 10; i++) {
		waits += run.outcome[i].s_ns - run.outcome[i].arrive_ns;
		latencies += run.outcome[i].c_ns - run.outcome[i].arrive_ns;
	}
	assert_i64(waits, 18000000000);
	assert_i64(latencies, 23000000000);
	reference_release(&run);
}

/*
 * case 34: 5 blocks of 4, two requests as in case 8, a third of one block arrives at 5. Then the
 * second is preempted: 1 + 2 blocks are free, of which the first takes one; two are left, and one
 * would do for the third. Nothing is admitted in that step; at 6 both are, and share a step of 9 +
 * 1 tokens.
 */
static void test_nothing_admitted_in_a_preempting_step(void **state)
{
	const struct ref_request q[] = {REF(0, 4, 6, 0), REF(0, 4, 6, 0), REF(5, 1, 1, 0)};
	struct ref_config c = base(paged(3, 64));
	struct ref_run run;

	(void)state;
	c.block_tok = 4;
	c.blocks = 5;
	c.step_ns = 1;
	reference_run(&c, q, 3, &run);
	check_tokens(&run, 0, 1, 2, 3, 4, 5, 6);
	check_tokens(&run, 1, 1, 2, 3, 4, 5, 7);
	check_times(&run, 2, 6, 7, 7);
	assert_i64(run.step[6].prefill_tok, 10);
	reference_release(&run);
}

/* case 35: deliveries at tokens 20, 40 and 50: gaps 200 and 100. With 7 tokens: one, at token 7. */
static void test_stream(void **state)
{
	const struct ref_request q[] = {REF(0, 5, 50, 0), REF(1000, 5, 7, 0)};
	struct ref_config c = base(paged(1, 0));
	struct ref_run run;

	(void)state;
	c.stream = 20;
	reference_run(&c, q, 2, &run);
	check_times(&run, 0, 0, 200, 500);
	assert_i64(run.outcome[0].max_gap_ns, 200);
	check_times(&run, 1, 1000, 1070, 1070);
	assert_i64(run.outcome[1].max_gap_ns, 0);
	reference_release(&run);
}

/*
 * Ends within a run are rounded from its start: steps of 0.5 end at 1 (the prefill), then 1 +
 * llround(0.5, 1, 1.5, 2). Contexts 4, 5, 6 of 0.25 each sum to 1, 2.25, 3.75. An arrival that
 * finds no seat changes nothing (case 36).
 */
static void test_rounding(void **state)
{
	const struct ref_request a[] = {REF(0, 1, 5, 0), REF(2, 1, 1, 0)}, b[] = {REF(0, 3, 4, 0)};
	struct ref_config c = base(paged(1, 0));
	struct ref_run run;

	(void)state;
	c.step_ns = 0.5;
	for (size_t n = 1; n <= 2; n++) {
		reference_run(&c, a, n, &run);
		check_tokens(&run, 0, 1, 2, 2, 3, 3);
		reference_release(&run);
	}
	c.step_ns = 0;
	c.ctx_tok_ns = 0.25;
	reference_run(&c, b, 1, &run);
	check_tokens(&run, 0, 0, 1, 2, 4);
	reference_release(&run);
}

/*
 * A budget of 4 tokens: 2 + 2 of 5; then a decode and the other 3; then both decode, with contexts
 * 2 + 2 and 5 + 1.
 */
static void test_chunks(void **state)
{
	const struct ref_request q[] = {REF(0, 2, 3, 0), REF(0, 5, 2, 0)};
	const int64_t want[3][3] = {{4, 0, 0}, {3, 1, 3}, {0, 2, 10}};
	struct ref_config c = base(paged(2, 4));
	struct ref_run run;

	(void)state;
	reference_run(&c, q, 2, &run);
	check_tokens(&run, 0, 10, 20, 30);
	check_tokens(&run, 1, 20, 30);
	assert_i64(run.step_n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_i64(run.step[i].prefill_tok, want[i][0]);
		assert_i64(run.step[i].decode_seq, want[i][1]);
		assert_i64(run.step[i].ctx, want[i][2]);
	}
	reference_release(&run);
}

/*
 * chunk=0, 10 blocks of 1, a watermark of floor(0.3 x 10) = 3: prompts of 4 and 4 would leave 2, so
 * the second waits for the first, though 6 blocks are free. A prompt longer than max_batched_tokens
 * runs alone.
 */
static void test_admission_of_whole_prompts(void **state)
{
	const struct ref_request q[] = {REF(0, 4, 2, 0), REF(0, 4, 1, 0)};
	struct ref_config c = base(paged(4, 0));
	struct ref_run run;

	(void)state;
	c.block_tok = 1;
	c.blocks = 10;
	c.policy.watermark = 0.3;
	reference_run(&c, q, 2, &run);
	check_times(&run, 0, 0, 10, 20);
	check_times(&run, 1, 20, 30, 30);
	reference_release(&run);
	c.policy.watermark = 0;
	c.policy.max_batched_tok = 3;
	reference_run(&c, q, 2, &run);
	check_tokens(&run, 0, 10, 30); /* the prefill of the second comes first */
	check_times(&run, 1, 10, 20, 20);
	reference_release(&run);
}

/* Reservations in blocks of 1 for a prompt of 4, output 5, max_tok 7: 11, 4 + 8 = 12, 9. */
static void test_reservations(void **state)
{
	const struct ref_request q[] = {REF(0, 4, 5, 7)};
	const int64_t want[] = {[REF_MAX] = 11, [REF_POW2] = 12, [REF_ORACLE] = 9};
	struct ref_config c = base(continuous(4));
	struct ref_run run;

	(void)state;
	c.block_tok = 1;
	for (int k = REF_MAX; k <= REF_ORACLE; k++) {
		c.policy.reserve = (enum ref_reserve)k;
		c.blocks = want[k];
		reference_run(&c, q, 1, &run);
		assert_i64(run.outcome[0].status, REF_COMPLETED);
		assert_i64(run.step[0].blocks_used, want[k]);
		reference_release(&run);
		c.blocks = want[k] - 1;
		reference_run(&c, q, 1, &run);
		assert_i64(run.outcome[0].status, REF_REJECTED);
		reference_release(&run);
	}
}

/* Round robin counts the rejected second; the one with the fewest outstanding is the first of
 * equals. */
static void test_routers(void **state)
{
	const struct ref_request q[] = {REF(0, 5, 3, 0), REF(0, 90, 3, 0), REF(0, 5, 1, 0),
					REF(10, 5, 1, 0)};
	const int64_t want[2][4] = {{0, -1, 0, 1}, {0, -1, 1, 1}};
	struct ref_config c = base(paged(4, 0));
	struct ref_run run;

	(void)state;
	c.instances = 2;
	c.blocks = 5;
	for (int k = 0; k < 2; k++) {
		c.router = (enum ref_router)k;
		reference_run(&c, q, 4, &run);
		for (size_t r = 0; r < 4; r++)
			assert_i64(run.outcome[r].instance, want[k][r]);
		reference_release(&run);
	}
}

/* One at a time, two steps each; at 25 the second has been scheduled, and the third never came. */
static void test_bounds_in_time(void **state)
{
	const struct ref_request q[] = {REF(0, 5, 2, 0), REF(0, 5, 2, 0), REF(0, 5, 2, 0)};
	struct ref_config c = base(paged(4, 0));
	struct ref_run run;

	(void)state;
	c.closed_loop = 1;
	reference_run(&c, q, 3, &run);
	assert_i64(run.outcome[2].arrive_ns, 40);
	check_times(&run, 2, 40, 50, 60);
	reference_release(&run);
	c.horizon_ns = 25;
	reference_run(&c, q, 3, &run);
	check_times(&run, 0, 0, 10, 20);
	check_times(&run, 1, 20, -1, -1);
	assert_i64(run.outcome[2].status, REF_NOT_ARRIVED);
	reference_release(&run);
	c.horizon_ns = 20; /* what happens at the horizon itself still does */
	reference_run(&c, q, 3, &run);
	check_times(&run, 1, 20, -1, -1);
	assert_i64(run.outcome[1].arrive_ns, 20);
	reference_release(&run);
}

/* case 5: prompt 100, output 5000, limit 4096: rejected, or 3996 tokens. */
static void test_too_long(void **state)
{
	const struct ref_request q[] = {REF(0, 100, 5000, 0), REF(0, 4096, 1, 0)};
	struct ref_config c = base(paged(4, 0));
	struct ref_run run;

	(void)state;
	c.max_model_len = 4096;
	reference_run(&c, q, 2, &run);
	assert_i64(run.outcome[0].status, REF_REJECTED);
	assert_i64(run.outcome[1].status, REF_REJECTED);
	reference_release(&run);
	c.truncate = true;
	reference_run(&c, q, 2, &run);
	assert_i64(run.outcome[0].status, REF_COMPLETED);
	assert_i64(run.outcome[0].tokens, 3996);
	assert_i64(run.outcome[1].status, REF_REJECTED);
	reference_release(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_larger_than_the_pool),
		cmocka_unit_test(test_work_conservation),
		cmocka_unit_test(test_smallest_preemption),
		cmocka_unit_test(test_smallest_swap),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_static_against_continuous),
		cmocka_unit_test(test_static_wait),
		cmocka_unit_test(test_first_token_of_a_split),
		cmocka_unit_test(test_first_token_of_the_decode),
		cmocka_unit_test(test_blocks_kept_for_the_transfer),
		cmocka_unit_test(test_one_link),
		cmocka_unit_test(test_clock_starts_at_arrival),
		cmocka_unit_test(test_nothing_admitted_in_a_preempting_step),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_rounding),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_admission_of_whole_prompts),
		cmocka_unit_test(test_reservations),
		cmocka_unit_test(test_routers),
		cmocka_unit_test(test_bounds_in_time),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
