/*
 * Disagreements of the engine and the reference simulator, or of fast-forward and single steps,
 * that random cases found: each settled on paper from sim/SEMANTICS.md, as the smallest schedule
 * that shows it.
 */
#include "tests/schedule.h"
#include <string.h>

/*
 * Steps of 0.3: the run from 0 has ends 0, 1, 1, 1, 2, 2, 2, 2, 3, ... An arrival at 2 is planned
 * for at the first boundary at 2, after 1 + 5 tokens, and not at the last: its prefill and token 7
 * end at 2 + round(0.3) = 2, and the 13 tokens left at 2 + round(3.9) = 6.
 */
static void check_short_steps(const struct harness_result *r)
{
	assert_times(r, 0, 0, 0, 6);
	assert_times(r, 1, 2, 2, 2);
}

static void test_steps_below_a_nanosecond(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 1, 20), ROW(2, 1, 1)};
	struct harness_options o = harness_default("continuous:max_seqs=3", "step_ns=0.3");

	(void)state;
	both_ways(&o, ROWS(rows), check_short_steps);
}

/*
 * Plans at one time are made in the order of the instances, and what a plan brings about just then
 * comes after those before it. Prefill is free, a decode step 10; two requests at once on three
 * instances. At 10 request 1 ends, and 2 arrives at the last instance. Plans: instance 0 goes on to
 * 20; the last one prefills 2 in no time, so it ends at 10 and 3 arrives at instance 0: too late
 * for its boundary at 10, whether its run of two steps is one event or not.
 */
static void check_order_of_plans(const struct harness_result *r)
{
	assert_times(r, 0, 0, 0, 20);
	assert_times(r, 1, 0, 0, 10);
	assert_times(r, 2, 10, 10, 10);
	assert_i64(r->record[3].arrive_ns, 10);
	assert_times(r, 3, 20, 20, 20);
}

static void test_order_of_plans(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 1, 3), ROW(0, 1, 2), ROW(0, 1, 1),
						ROW(0, 1, 1)};
	struct harness_options o = harness_default("continuous", "decode_seq_ns=10");

	(void)state;
	o.instances = 3;
	o.closed_loop = 2;
	both_ways(&o, ROWS(rows), check_order_of_plans);
}

/*
 * A pull reserves a seat. 8 blocks of 1, 2 decode seats, transfers of 15 one after another, no host
 * memory, so that a swap falls back to recompute.
 *   [0, 10] prefill of 0 and 1; both pulled, there at 25 and 40; 2 ready at 25, 3 at 45, no seat.
 *   0 decodes from 25, 1 from 45. At 55 they need 6 + 4 blocks: 1 is preempted with 2 tokens.
 *   That frees a seat: 2 is pulled at 55, 2 blocks, there at 70. At 65 request 0 ends: 3 is pulled,
 *   there at 85. Now both seats are of requests on their way: 1, which would fit in the 4 free
 *   blocks, waits. 2 decodes in [70, 90]; at 90 request 3 joins and 1 is admitted: prefill of 4
 *   tokens in [90, 100]; 3 ends at 110, 1 at 120.
 */
static void check_reserved_seat(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, 65);
	assert_times(r, 1, 0, 10, 120);
	assert_times(r, 2, 15, 25, 90);
	assert_times(r, 3, 35, 45, 110);
	assert_i64(r->record[1].preemptions, 1);
	assert_i64(r->summary.recomputed_tok, 4);
}

static void test_seat_of_a_request_on_its_way(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 2, 5), ROW(0, 2, 5), ROW(15, 1, 3),
						ROW(35, 1, 2)};
	struct harness_options o = harness_default(
		"disaggregated:decode_seqs=2,latency=1.5e-8,bandwidth=1e9,swap_gib=0",
		"step_ns=10");

	(void)state;
	o.decode_kv_blocks = 8;
	o.block_tok = 1;
	o.token_bytes = 1;
	both_ways(&o, ROWS(rows), check_reserved_seat);
}

/* Padding, and a reply at the end of the batch, are of the batch that prefilled: on the decode
 * instance contexts are 11 + 5, not 11 + 11, and both requests end. */
static void check_padding_stays(const struct harness_result *r)
{
	assert_times(r, 0, 0, 100, 216);
	assert_times(r, 1, 0, 100, 216);
}

static void test_padding_stays_with_its_batch(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 10, 2), ROW(0, 4, 2)};
	static const char *const names[] = {
		"disaggregated:policy=static,size=2",
		"disaggregated:policy=static,size=2,reply=batch",
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct harness_options o = harness_default(names[i], "step_ns=100,ctx_tok_ns=1");

		both_ways(&o, ROWS(rows), check_padding_stays);
	}
}

/* The same with deliveries of 2 tokens: the prefill delivers nothing, f is token 2. */
static void check_first_of_two(const struct harness_result *r)
{
	assert_times(r, 0, 0, 216, 216);
	assert_times(r, 1, 0, 216, 216);
}

static void test_deferred_reply_and_stream(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 10, 2), ROW(0, 4, 2)};
	struct harness_options o =
		harness_default("disaggregated:policy=static,size=2,reply=batch,stream=2",
				"step_ns=100,ctx_tok_ns=1");

	(void)state;
	both_ways(&o, ROWS(rows), check_first_of_two);
}

/* All tokens of a batch reply come at once; deliveries of 3 of 7 tokens are 3, with 2 gaps of 0. */
static void check_batch_reply_gaps(const struct harness_result *r)
{
	int64_t gaps = 0;

	assert_times(r, 0, 0, 70, 70);
	for (size_t i = 0; i < r->n_bins; i++)
		gaps += strcmp(r->bin[i].metric, "itl") == 0 ? r->bin[i].count : 0;
	assert_i64(gaps, 2);
	assert_near(r->summary.itl_mean_s, 0, 0);
	assert_near(r->record[0].max_gap_ns, 0, 0);
}

static void test_batch_reply_and_stream(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 10, 7)};
	struct harness_options o = harness_default("static:reply=batch,stream=3", "step_ns=10");

	(void)state;
	both_ways(&o, ROWS(rows), check_batch_reply_gaps);
}

/*
 * The first request is prefilled at 10, there at 40, and has its second token at 50: a gap of 40.
 * The second one joins at 90; at 95 it has one token, and no gap: not those of the first.
 */
static void check_gaps_of_others(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, -1);
	assert_near(r->record[0].max_gap_ns, 40, 0);
	assert_times(r, 1, 41, 51, -1);
	assert_near(r->record[1].max_gap_ns, -1, 0);
}

static void test_gaps_of_others(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 1, 50), ROW(41, 1, 50)};
	struct harness_options o = harness_default("disaggregated:latency=3e-8", "step_ns=10");

	(void)state;
	o.horizon_ns = 95;
	both_ways(&o, ROWS(rows), check_gaps_of_others);
}

/* Nothing happens after the horizon, but what happens at it does: the eleventh step starts. */
static void check_step_at_the_horizon(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, -1);
	assert_i64(r->summary.steps, 11);
}

static void test_step_at_the_horizon(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 1, 50)};
	struct harness_options o = harness_default("paged", "step_ns=10");

	(void)state;
	o.horizon_ns = 100;
	both_ways(&o, ROWS(rows), check_step_at_the_horizon);
}

/*
 * What the ready queue waits for counts to the end. 52 blocks of 1 at both. The first request
 * decodes from 10; the second is prefilled in [10, 20] and needs 51 blocks there, so it waits for
 * blocks from 20 to 300; its 50 blocks keep the third waiting at the prefill instance from 10. That
 * is 570 of blocks, against 10 + 300 of no one waiting at the two instances.
 */
static void check_bound_to_the_end(const struct harness_result *r)
{
	assert_string_equal(r->summary.bound, "kv");
	assert_i64(r->summary.unfinished, 3);
}

static void test_bound_to_the_end(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 2, 50), ROW(1, 50, 2), ROW(2, 10, 2)};
	struct harness_options o = harness_default("disaggregated:watermark=0", "step_ns=10");

	(void)state;
	o.kv_blocks = o.decode_kv_blocks = 52;
	o.block_tok = 1;
	o.horizon_ns = 300;
	both_ways(&o, ROWS(rows), check_bound_to_the_end);
}

/*
 * A plan in which a request joins and is preempted again starts a new run. 20 blocks of 1, 2 host
 * blocks; a decode step costs 1234.567 + 2 b + 10 T. The first request has 4 tokens at 5385, when
 * the third joins; 13 + 8 blocks are needed, host memory is too small, and the third is recomputed.
 * From there, alone, contexts 13, 14, 15: tokens 5 to 7 end 1366.567, 2743.134 and 4129.701 later,
 * rounded from 5385: 9515. (The run that began at 4028 would end at 4028 + 5486.268: 9514.)
 */
static void check_undone_join(const struct harness_result *r)
{
	assert_times(r, 0, 0, 1244, 9515);
	assert_times(r, 1, 15, 1258, 4028);
	assert_times(r, 2, 1244, 2486, 13421);
	assert_i64(r->record[2].preemptions, 1);
}

static void test_plan_that_undoes_a_join(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 9, 7), ROW(15, 8, 2), ROW(44, 7, 4)};
	/* 2 blocks of one byte */
	struct harness_options o = harness_default(
		"disaggregated:policy=continuous,max_seqs=6,reserve=pow2,prefill=2,decode_seqs=2,"
		"latency=3e-9,bandwidth=2,swap_gib=1.862645149230957e-09",
		"step_ns=1234.567,prefill_tok_ns=1,decode_seq_ns=2,ctx_tok_ns=10");

	(void)state;
	o.router = "least-outstanding";
	o.kv_blocks = 21;
	o.decode_kv_blocks = 20;
	o.block_tok = 1;
	o.token_bytes = 1;
	o.pcie_bytes_s = 2e9;
	both_ways(&o, ROWS(rows), check_undone_join);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_below_a_nanosecond),
		cmocka_unit_test(test_order_of_plans),
		cmocka_unit_test(test_seat_of_a_request_on_its_way),
		cmocka_unit_test(test_padding_stays_with_its_batch),
		cmocka_unit_test(test_deferred_reply_and_stream),
		cmocka_unit_test(test_batch_reply_and_stream),
		cmocka_unit_test(test_gaps_of_others),
		cmocka_unit_test(test_step_at_the_horizon),
		cmocka_unit_test(test_bound_to_the_end),
		cmocka_unit_test(test_plan_that_undoes_a_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
