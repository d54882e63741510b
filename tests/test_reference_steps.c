/*
 * The reference simulator by hand: mixed and padded steps, batches in stages, the host's time and
 * scheduling one step ahead. Steps take 10 unless a test says otherwise.
 */
#include "tests/by_hand.h"

#include <stdlib.h>

/*
 * A prompt of 5 joins the decode of another, though 1 + 5 is above a budget of 5: it is the first.
 * A prompt of 1 behind it waits for the next step; with a budget of 7 it does not.
 */
static void test_mixed(void **state)
{
	const struct ref_request q[] = {REF(0, 2, 3, 0), REF(5, 5, 2, 0), REF(5, 1, 1, 0)};
	struct ref_config c = base(paged(4, 0));
	struct ref_run run;

	(void)state;
	c.policy.mixed = true;
	for (int64_t budget = 5; budget <= 7; budget++) {
		c.policy.max_batched_tok = budget;
		reference_run(&c, q, 3, &run);
		check_tokens(&run, 0, 10, 20, 30);
		check_tokens(&run, 1, 20, 30);
		check_times(&run, 2, budget < 7 ? 20 : 10, budget < 7 ? 30 : 20,
			    budget < 7 ? 30 : 20);
		assert_i64(run.step[1].decode_seq, 1);
		reference_release(&run);
	}
}

/*
 * Prompts of 4, 6 and 5 and at most 2 tokens of padding: 2 x 6 - 10 = 2, but 3 x 6 - 15 = 3. The
 * first two count 12 tokens, which is above a budget of 11.
 */
static void test_paddings(void **state)
{
	const struct ref_request q[] = {REF(0, 4, 1, 0), REF(0, 6, 1, 0), REF(0, 5, 1, 0)};
	struct ref_config c = base(paged(4, 0));
	struct ref_run run;

	(void)state;
	c.policy.max_paddings = 2;
	reference_run(&c, q, 3, &run);
	assert_i64(run.step_n, 2);
	assert_i64(run.step[0].prefill_tok, 12);
	assert_i64(run.step[1].prefill_tok, 5);
	reference_release(&run);
	c.policy.max_batched_tok = 11;
	reference_run(&c, q, 3, &run);
	check_times(&run, 0, 0, 10, 10);
	assert_i64(run.step[0].prefill_tok, 4);
	reference_release(&run);
}

/*
 * Two stages of 5. Batch 0 ends them at 5 and 10, batch 1 at 10 and 15; then 15 and 20, 20 and 25.
 * Of three requests the first two are batch 0's: ceil(3 / 2).
 */
static void test_stages(void **state)
{
	const struct ref_request q[] = {REF(0, 5, 3, 0), REF(0, 5, 3, 0), REF(0, 5, 1, 0)};
	struct ref_config c = base(paged(4, 0));
	struct ref_run run;

	(void)state;
	c.pp = 2;
	reference_run(&c, q, 2, &run);
	check_tokens(&run, 0, 10, 20, 30);
	check_tokens(&run, 1, 15, 25, 35);
	check_times(&run, 1, 0, 15, 35);
	reference_release(&run);
	reference_run(&c, q, 3, &run);
	check_tokens(&run, 0, 10, 20, 30);
	check_tokens(&run, 1, 10, 20, 30);
	check_times(&run, 2, 0, 15, 15);
	reference_release(&run);
	c.step_ns = 5; /* 2.5 a stage is 3 */
	reference_run(&c, q, 1, &run);
	check_tokens(&run, 0, 6, 12, 18);
	reference_release(&run);
}

/*
 * 6 blocks of 4, three batches that may swap. 0 and 1 fill the pool, 2 has to wait. At 9 (three
 * stages of 3) 0 needs a fourth block and is swapped out: batch 2 takes its request at the same
 * time. 0 comes back at 12, when 1 is done.
 */
static void test_eviction_is_due_to_all(void **state)
{
	const struct ref_request q[] = {REF(0, 12, 2, 0), REF(0, 9, 1, 0), REF(0, 1, 1, 0)};
	struct ref_config c = base(paged(4, 0));
	struct ref_run run;

	(void)state;
	c.policy.swap = true;
	c.blocks = 6;
	c.block_tok = 4;
	c.pp = 3;
	c.host_blocks = 3;
	reference_run(&c, q, 3, &run);
	check_tokens(&run, 0, 9, 21);
	check_times(&run, 1, 0, 12, 12);
	check_times(&run, 2, 9, 18, 18);
	reference_release(&run);
}

/* 5 a step and 2 a sequence: 9 for two. Added: 19. Beside the device's 10: 10; with 7 a step, 11.
 */
static void test_host(void **state)
{
	const struct ref_request q[] = {REF(0, 5, 1, 0), REF(0, 5, 1, 0)};
	struct ref_config c = base(paged(4, 0));
	struct ref_run run;

	(void)state;
	c.host_us = 0.005;
	c.host_seq_us = 0.002;
	reference_run(&c, q, 2, &run);
	check_times(&run, 0, 0, 19, 19);
	reference_release(&run);
	c.async = true;
	reference_run(&c, q, 2, &run);
	check_times(&run, 0, 0, 10, 10);
	reference_release(&run);
	c.host_us = 0.007;
	reference_run(&c, q, 2, &run);
	check_times(&run, 0, 0, 11, 11);
	reference_release(&run);
}

/*
 * Contexts 4, 5, 6 of 0.25 and 9 a step: 10, 10.25, 10.5, beside a host of 10.25. The first decode
 * step is the host's only; at context 5 the device is not faster, and a run of its own begins:
 * 10.25, 20.75 from 20.
 */
static void test_host_runs(void **state)
{
	const struct ref_request q[] = {REF(0, 3, 4, 0)};
	struct ref_config c = base(paged(4, 0));
	struct ref_run run;

	(void)state;
	c.async = true;
	c.step_ns = 9;
	c.ctx_tok_ns = 0.25;
	c.host_us = 0.01025;
	reference_run(&c, q, 1, &run);
	check_tokens(&run, 0, 10, 20, 30, 41);
	reference_release(&run);
}

/*
 * Two seats. 0 is done at 20; its seat is free at 30 and not before, for request 2. The step
 * [20, 30] is 1's alone, the next is the prefill of 2.
 */
static void test_late_seat(void **state)
{
	const struct ref_request q[] = {REF(0, 5, 2, 0), REF(0, 5, 4, 0), REF(0, 5, 1, 0)};
	struct ref_config c = base(paged(2, 0));
	struct ref_run run;

	(void)state;
	c.async = true;
	reference_run(&c, q, 3, &run);
	check_times(&run, 0, 0, 10, 20);
	check_tokens(&run, 1, 10, 20, 30, 50);
	check_times(&run, 2, 30, 40, 40);
	reference_release(&run);
	/* with one seat nothing would run from 20 on: it is free at once */
	c.policy.seats = 1;
	reference_run(&c, q, 2, &run);
	check_times(&run, 1, 20, 30, 60);
	reference_release(&run);
}

/*
 * An arrival at 15, within the step [10, 20], or at 20, just when it ends, is not in the queue
 * at 20. One that comes while nothing runs is seen at once.
 */
static void test_late_sight(void **state)
{
	(void)state;
	for (int64_t arrive = 15; arrive <= 20; arrive += 5) {
		const struct ref_request q[] = {REF(0, 5, 3, 0), REF(arrive, 5, 1, 0),
						REF(100, 5, 1, 0)};
		struct ref_config c = base(paged(2, 0));
		struct ref_run run;

		c.async = true;
		reference_run(&c, q, 3, &run);
		check_tokens(&run, 0, 10, 20, 30);
		check_times(&run, 1, 30, 40, 40);
		check_times(&run, 2, 100, 110, 110);
		reference_release(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mixed),	  cmocka_unit_test(test_paddings),
		cmocka_unit_test(test_stages),	  cmocka_unit_test(test_eviction_is_due_to_all),
		cmocka_unit_test(test_host),	  cmocka_unit_test(test_host_runs),
		cmocka_unit_test(test_late_seat), cmocka_unit_test(test_late_sight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
