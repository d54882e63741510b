/*
 * Batches in flight, plans made one step ahead, and sliding windows: schedules worked out by hand.
 */
#include "tests/schedule.h"

enum { MS = 1000000 };

/*
 * Two stages. With two requests at once each batch takes one. A step of 20 is 10 in each stage, of
 * 12 is 6, of 10 is 5. Batch 0: prefill 0-10, 10-20. Batch 1: 10-16, then stage 2 is idle until 20:
 * 20-26. Batch 0 decodes 20-25, waits for stage 2 until 26: 26-31. Batch 1: 26-31, 31-36. Then
 * 31-36, 36-41 and 36-41, 41-46.
 */
static void check_two_stages(const struct harness_result *r)
{
	assert_times(r, 0, 0, 20 * MS, 41 * MS);
	assert_times(r, 1, 0, 26 * MS, 46 * MS);
	assert_near(r->record[0].max_gap_ns, 11 * MS, 0);
	assert_near(r->record[1].max_gap_ns, 10 * MS, 0);
	assert_i64(r->summary.steps, 6);
	assert_near(r->summary.batch_mean, 1, 0);
}

static void test_two_stages(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 5, 3), ROW(0, 1, 3)};
	static const char *const names[] = {"continuous", "paged", "paged:chunk=256"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct harness_options o =
			harness_default(names[i], "step_ns=10e6,prefill_tok_ns=2e6");

		o.pp = 2;
		both_ways(&o, ROWS(rows), check_two_stages);
	}
}

/* One request alone fills one stage at a time: no faster than one stage. The other is a bubble. */
static void check_alone(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, 30);
}

static void test_alone(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 5, 3)};
	struct harness_options o = harness_default("paged", "step_ns=10");

	(void)state;
	o.pp = 2;
	both_ways(&o, ROWS(rows), check_alone);
}

/*
 * Equal steps leave no bubble: 4 stages of 5 turn out a token every 5, as 4 batches. The request
 * that comes at 1 is the fifth: no batch has a step to spare until that of the first ends at 20,
 * and ceil(5 / 4) = 2 may run in it.
 */
static void check_full_pipe(const struct harness_result *r)
{
	for (size_t i = 0; i < 4; i++)
		assert_times(r, i, 0, 20 + 5 * (int64_t)i, 20 + 5 * (int64_t)i + 20);
	assert_times(r, 4, 20, 40, 60);
}

static void test_full_pipe(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 1, 2), ROW(0, 1, 2), ROW(0, 1, 2),
						ROW(0, 1, 2), ROW(1, 1, 2)};
	struct harness_options o = harness_default("continuous", "step_ns=20");

	(void)state;
	o.pp = 4;
	both_ways(&o, ROWS(rows), check_full_pipe);
}

/*
 * Stages of 0.25, 0.25 and 0.5 of a step of 20: 5, 5 and 10. Three requests at once, a batch each.
 * Prefills: 0-5-10-20; 5-10-15, stage 3 is free at 20: 20-30; 10-15-20, 30-40. Then the first
 * decodes from 20: 25, 30, and waits for stage 3 until 40: 50. The others likewise: 60, 70. The
 * slowest stage gives the pace: a step every 10, where equal stages would give one every 6.67.
 */
static void check_unequal_stages(const struct harness_result *r)
{
	assert_times(r, 0, 0, 20, 50);
	assert_times(r, 1, 0, 30, 60);
	assert_times(r, 2, 0, 40, 70);
}

/* Rounded stage by stage: 0.3 and 0.7 of 9 are 2.7 and 6.3, 3 and 6: 3-9; of 5 they are 1.5 and
 * 3.5, 2 and 4, and the decode step takes 6. */
static void check_rounded_stages(const struct harness_result *r)
{
	assert_times(r, 0, 0, 9, 15);
}

static void test_unequal_stages(void **state)
{
	static const struct trace_row three[] = {ROW(0, 1, 2), ROW(0, 1, 2), ROW(0, 1, 2)};
	static const struct trace_row one[] = {ROW(0, 4, 2)};
	static const double share[] = {0.25, 0.25, 0.5}, uneven[] = {0.3, 0.7};
	struct harness_options o = harness_default("paged", "step_ns=20");

	(void)state;
	o.pp = 3;
	o.stage_share = share;
	both_ways(&o, ROWS(three), check_unequal_stages);
	o = harness_default("paged", "step_ns=5,prefill_tok_ns=1");
	o.pp = 2;
	o.stage_share = uneven;
	both_ways(&o, ROWS(one), check_rounded_stages);
}

/*
 * One pool for both batches. Blocks of 1: each request holds 2 in its prefill and one more a step;
 * the pool has 6. Batch 0 steps at 0, 10, 20, .., batch 1 at 0 (to 15), 15, 25, ... Slots of r0 by
 * step: 2, 3, 4; of r1: 2, 3. At 20 r0 wants its 4th: 3 + 3 are in use, so r0, the last of its own
 * batch, is preempted, and waits at the head with a sequence of 4. At 20 batch 0 is idle; its 4
 * blocks are not free (3 are) before r1 ends at 25, with 3 tokens. Then both batches are idle, and
 * the first prefills it: 25-30-35, its third token; the fourth at 45.
 */
static void check_shared_pool(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, 45);
	assert_times(r, 1, 0, 15, 25);
	assert_i64(r->record[0].preemptions, 1);
	assert_i64(r->summary.recomputed_tok, 4);
}

static void test_shared_pool(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 2, 4), ROW(0, 2, 2)};
	struct harness_options o = harness_default("paged:watermark=0", "step_ns=10");

	(void)state;
	o.pp = 2;
	o.block_tok = 1;
	o.kv_blocks = 6;
	both_ways(&o, ROWS(rows), check_shared_pool);
}

/* async: r1 comes during the step of 0-10; the plan at 10 was made at 0, so it starts at 20. */
static void check_arrival_lags(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, 60);
	assert_times(r, 1, 20, 30, 30);
	assert_times(r, 2, 100, 110, 110); /* nothing runs: seen at once */
}

static void check_arrival_at_once(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, 60);
	assert_times(r, 1, 10, 20, 20);
	assert_times(r, 2, 100, 110, 110);
}

static void test_arrival_lags(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 5), ROW(5, 4, 1), ROW(100, 4, 1)};
	struct harness_options o = harness_default("paged:async=1", "step_ns=10");

	(void)state;
	both_ways(&o, ROWS(rows), check_arrival_lags);
	o = harness_default("paged", "step_ns=10");
	both_ways(&o, ROWS(rows), check_arrival_at_once);
}

/*
 * async: two seats, r0 ends with the step of 0-10, its seat is free at 20 (else at 10). The seat of
 * r1 comes free as the plan that follows starts no step, at 30: at once.
 */
static void check_seat_lags(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, 10);
	assert_times(r, 1, 0, 10, 30);
	assert_times(r, 2, 20, 30, 30);
	assert_times(r, 3, 30, 40, 40);
}

static void test_seat_lags(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 1), ROW(0, 4, 3), ROW(0, 4, 1),
						ROW(0, 4, 1)};
	struct harness_options o = harness_default("continuous:max_seqs=2,async=1", "step_ns=10");

	(void)state;
	both_ways(&o, ROWS(rows), check_seat_lags);
}

/* The same with blocks: a pool of 3 of 4 slots; r0 and r1 hold 1 and 2, r2 wants 1. */
static void check_blocks_lag(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, 10);
	assert_times(r, 2, 20, 30, 30);
}

static void test_blocks_lag(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 3, 1), ROW(0, 4, 4), ROW(0, 3, 1)};
	struct harness_options o =
		harness_default("continuous:max_seqs=9,reserve=oracle,async=1", "step_ns=10");

	(void)state;
	o.block_tok = 4;
	o.kv_blocks = 3;
	both_ways(&o, ROWS(rows), check_blocks_lag);
}

/* The host takes 12 us a step beside the device's 10: together 22, or 12 where they overlap. */
static void check_host_added(const struct harness_result *r)
{
	assert_times(r, 0, 0, 22000, 66000);
}

static void check_host_beside(const struct harness_result *r)
{
	assert_times(r, 0, 0, 12000, 36000);
}

static void test_host(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 3, 3)};
	struct harness_options o = harness_default("paged:host_us=12", "step_ns=10000");

	(void)state;
	both_ways(&o, ROWS(rows), check_host_added);
	o = harness_default("paged:host_us=12,async=1", "step_ns=10000");
	both_ways(&o, ROWS(rows), check_host_beside);
}

/*
 * A window of 8 with as much KV as the other layers: blocks of 4, P = 4: 4 slots are 1 + 1 blocks,
 * 8 are 2 + 2, 9 to 12 are 3 + 2, 13 (the most: 4 + 10 - 1) 4 + 2 = 6. Steps cost 100, and 1 for
 * each token of context within the window: 5, 6, 7 and six times 8 in the nine decode steps, 66.
 */
static void check_window(const struct harness_result *r)
{
	assert_times(r, 0, 0, 100, 1066);
	assert_near(r->record[0].max_gap_ns, 108, 0);
	/* 2; 5 to 8: 4, 4, 4, 4; 9 to 12: 5, 5, 5, 5; 13: 6: 44 in 10 steps, of 6 */
	assert_near(r->summary.kv_util_mean, 44.0 / 60, 1e-12);
}

static void test_window(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 10)};
	struct harness_options o = harness_default("paged", "step_ns=100,window_tok_ns=1");

	(void)state;
	o.block_tok = 4;
	o.kv_blocks = 6;
	o.window_tok = 8;
	o.window_share = 1;
	both_ways(&o, ROWS(rows), check_window);
	o.kv_blocks = 5;
	struct harness_result r = schedule(&o, ROWS(rows));

	assert_i64(r.record[0].status, RECORD_REJECTED);
	harness_release(&r);
}

/* All layers have it: 2 blocks are enough for any length, and stay so. */
static void check_window_only(const struct harness_result *r)
{
	assert_times(r, 0, 0, 100, 1066);
	assert_near(r->summary.kv_util_mean, (1 + 9 * 2) / 20.0, 1e-12);
}

static void test_window_only(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 10)};
	struct harness_options o = harness_default("paged", "step_ns=100,window_tok_ns=1");

	(void)state;
	o.block_tok = 4;
	o.kv_blocks = 2;
	o.window_tok = 8;
	o.window_share = 1;
	o.window_only = true;
	both_ways(&o, ROWS(rows), check_window_only);
}

/* A padded batch: contexts are counted from 6 for both, and cross the window of 8 together, also
 * that of the one that is done at 100: 2 x (7 + 8 + 8) = 46. */
static void check_window_padded(const struct harness_result *r)
{
	assert_times(r, 0, 0, 100, 100);
	assert_times(r, 1, 0, 100, 446);
}

static void test_window_padded(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 6, 1), ROW(0, 2, 4)};
	struct harness_options o = harness_default("static:size=2", "step_ns=100,window_tok_ns=1");

	(void)state;
	o.window_tok = 8;
	o.window_share = 2;
	both_ways(&o, ROWS(rows), check_window_padded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_stages),  cmocka_unit_test(test_alone),
		cmocka_unit_test(test_full_pipe),   cmocka_unit_test(test_unequal_stages),
		cmocka_unit_test(test_shared_pool), cmocka_unit_test(test_arrival_lags),
		cmocka_unit_test(test_seat_lags),   cmocka_unit_test(test_blocks_lag),
		cmocka_unit_test(test_host),	    cmocka_unit_test(test_window),
		cmocka_unit_test(test_window_only), cmocka_unit_test(test_window_padded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
