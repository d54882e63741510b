/* Cases with right values of the metrics, through sim_run(). Times are in ns; a ms is 1e6. */
#include "tests/schedule.h"
#include "traces/trace.h"
#include <math.h>

static const int64_t MS = 1000000;

/* case 15: outputs 1 and 3, gaps of 10 ms: TPOT is a mean over one request. */
static void test_one_output_token(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 1, 1), ROW(0, 1, 3)}, one[] = {ROW(0, 1, 1)};
	struct harness_options o = harness_default("continuous", "step_ns=1e7");

	(void)state;
	struct harness_result r = schedule(&o, ROWS(rows));

	assert_near(r.summary.tpot_mean_s, 0.010, 1e-15);
	assert_near(r.summary.tpot_p99_s, 0.010, 1e-15);
	assert_near(r.summary.itl_mean_s, 0.010, 1e-15);
	harness_release(&r);
	r = schedule(&o, ROWS(one));
	assert_true(isnan(r.summary.tpot_mean_s) && isnan(r.summary.tpot_p50_s));
	assert_true(isnan(r.summary.itl_mean_s) && isnan(r.summary.itl_p99_s));
	assert_near(r.summary.ttft_mean_s, 0.010, 1e-15);
	harness_release(&r);
}

/*
 * case 16: A has 2 tokens and a gap of 100 ms, B 11 tokens and gaps of 10 ms. A decodes in a step
 * that holds a prompt of 9 tokens: 10 + 9 x 10 ms. TPOT (100 + 10) / 2, ITL 200 / 11.
 */
static void test_mean_tpot_is_not_mean_itl(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 1, 2), ROW(1, 9, 1), ROW(1000000000, 1, 11)};
	struct harness_options o = harness_default("continuous", "step_ns=1e7,prefill_tok_ns=1e7");

	(void)state;
	struct harness_result r = schedule(&o, ROWS(rows));

	assert_near(r.record[0].max_gap_ns, (double)(100 * MS), 0);
	assert_near(r.record[2].max_gap_ns, (double)(10 * MS), 0);
	assert_near(r.summary.tpot_mean_s, 0.055, 1e-15);
	assert_near(r.summary.itl_mean_s, 0.200 / 11, 1e-15);
	harness_release(&r);
}

/* Requests of one step of 1 ms each, all at 0, on one seat: TTFT 1, 2, ... n ms. */
static struct harness_result queue_of(size_t n, int64_t kv_blocks, bool histograms)
{
	struct trace_row *rows = xcalloc(n, sizeof(*rows));
	struct harness_options o = harness_default("continuous:max_seqs=1", "step_ns=1e6");

	for (size_t i = 0; i < n; i++)
		rows[i] = (struct trace_row)ROW(0, 20, 1);
	o.kv_blocks = kv_blocks;
	o.histograms = histograms;
	struct harness_result r = schedule(&o, rows, n);

	free(rows);
	return r;
}

/* case 17, in ms: rank (n-1) p, linear between order statistics. */
static void test_percentiles(void **state)
{
	(void)state;
	struct harness_result r = queue_of(100, 1000, false);

	assert_near(r.summary.ttft_p99_s, 99.01e-3, 1e-15);
	assert_near(r.summary.ttft_p50_s, 50.5e-3, 1e-15);
	assert_near(r.summary.ttft_p90_s, 90.1e-3, 1e-15);
	assert_string_equal(r.summary.percentiles, "exact");
	harness_release(&r);
	r = queue_of(100, 1000, true); /* within 0.1% */
	assert_near(r.summary.ttft_p99_s, 99.01e-3, 0.001 * 99.01e-3);
	assert_string_equal(r.summary.percentiles, "histogram");
	harness_release(&r);
	r = queue_of(10, 1000, false);
	assert_near(r.summary.ttft_p99_s, 9.91e-3, 1e-15);
	assert_near(r.summary.ttft_p50_s, 5.5e-3, 1e-15);
	assert_near(r.summary.e2e_p99_s, 9.91e-3, 1e-15);
	harness_release(&r);
	r = queue_of(1, 1000, false);
	assert_near(r.summary.ttft_p50_s, 1e-3, 1e-15);
	assert_near(r.summary.ttft_p99_s, 1e-3, 1e-15);
	harness_release(&r);
	r = queue_of(3, 1, false); /* 20 tokens in a block of 16: all are rejected */
	assert_i64(r.summary.rejected, 3);
	assert_true(isnan(r.summary.ttft_p99_s) && isnan(r.summary.ttft_mean_s));
	assert_true(isnan(r.summary.throughput_rps) && isnan(r.summary.makespan_s));
	harness_release(&r);
}

/* One request: TTFT 10 ms, then gaps of 10 ms to E2E 30 ms. Returns its attainment. */
static double attainment(double ttft_ms, double tpot_ms, double e2e_ms, double maxgap_ms,
			 double *goodput_rps)
{
	static const struct trace_row rows[] = {ROW(0, 1, 3)};
	struct harness_options o = harness_default("continuous", "step_ns=1e7");

	o.slo = (struct slo){ttft_ms * 1e6, tpot_ms * 1e6, e2e_ms * 1e6, maxgap_ms * 1e6};
	struct harness_result r = schedule(&o, ROWS(rows));
	double share = r.summary.attainment;

	*goodput_rps = r.summary.goodput_rps;
	harness_release(&r);
	return share;
}

/* case 18: no target: NULL; equal passes; all at once; a TPOT that does not exist passes. */
static void test_goodput(void **state)
{
	static const struct trace_row one[] = {ROW(0, 1, 1)};
	double good;

	(void)state;
	assert_true(isnan(attainment(NAN, NAN, NAN, NAN, &good)) && isnan(good));
	assert_near(attainment(10, 10, 30, 10, &good), 1, 0);
	assert_near(good, 1 / 0.030, 1e-12);
	assert_near(attainment(9.999, 10, 30, 10, &good), 0, 0);
	assert_near(good, 0, 0);
	assert_near(attainment(10, 9.999, 30, 10, &good), 0, 0);
	assert_near(attainment(10, 10, 29.999, 10, &good), 0, 0);
	assert_near(attainment(10, 10, 30, 9.999, &good), 0, 0);
	assert_near(attainment(NAN, 10, NAN, NAN, &good), 1, 0);

	struct harness_options o = harness_default("continuous", "step_ns=1e7");

	o.slo = (struct slo){NAN, 1, NAN, 1};
	struct harness_result r = schedule(&o, ROWS(one));

	assert_near(r.summary.attainment, 1, 0);
	harness_release(&r);
}

/*
 * case 19: ten at 0 on one seat, a step of 10 ms each, target TTFT 60 ms, horizon 85 ms. One is too
 * large and rejected; of the others six end at 10 to 60 ms, two at 70 and 80, one not at all. 6 of
 * 10, and 6 in the 80 ms to the last completion.
 */
static void test_denominator(void **state)
{
	struct trace_row rows[10];
	struct harness_options o = harness_default("continuous:max_seqs=1", "step_ns=1e7");

	(void)state;
	for (size_t i = 0; i < 10; i++)
		rows[i] = (struct trace_row)ROW(0, i == 4 ? 100000 : 5, 1);
	o.slo.ttft_ns = (double)(60 * MS);
	o.horizon_ns = 85 * MS;
	struct harness_result r = schedule(&o, rows, 10);

	assert_i64(r.summary.requests, 10);
	assert_i64(r.summary.completed, 8);
	assert_i64(r.summary.rejected, 1);
	assert_i64(r.summary.unfinished, 1);
	assert_near(r.summary.attainment, 0.6, 1e-15);
	assert_near(r.summary.goodput_rps, 6 / 0.080, 1e-9);
	assert_near(r.summary.throughput_rps, 8 / 0.080, 1e-9);
	harness_release(&r);
}

/* case 20: waits 0.4 i s, i = 0..9: mean 1.8 s; with the service of 0.5 s: 2.3 s. */
static void test_clock_starts_at_arrival(void **state)
{
	static const char *const names[] = {"paged:max_seqs=1", "paged:max_seqs=1,chunk=8",
					    "continuous:max_seqs=1", "static:size=1"};
	struct trace_row rows[10];

	(void)state;
	for (size_t i = 0; i < 10; i++)
		rows[i] = (struct trace_row)ROW(100 * MS * (int64_t)i, 5, 1);
	for (size_t k = 0; k < 4; k++) {
		struct harness_options o = harness_default(names[k], "step_ns=5e8");
		struct harness_result r = schedule(&o, rows, 10);

		assert_near(r.summary.queue_mean_s, 1.8, 1e-12);
		assert_near(r.summary.e2e_mean_s, 2.3, 1e-12);
		assert_near(r.summary.ttft_mean_s, 2.3, 1e-12);
		assert_near(r.summary.norm_latency_mean_s, 2.3, 1e-12);
		assert_near(r.summary.offered_rps, 10, 1e-12);
		harness_release(&r);
	}
}

/* case 21: injected = completed + rejected + unfinished, and blocks, recounted after every event of
 * a run that has all of them (the audit of the harness; test_laws has many). */
static void test_conservation(void **state)
{
	struct trace_row rows[40];
	struct harness_options o = harness_default("paged:max_seqs=6", "step_ns=10");

	(void)state;
	for (size_t i = 0; i < 40; i++)
		rows[i] = (struct trace_row)ROW(30 * (int64_t)i, i % 7 == 6 ? 90 : 5, 25);
	o.kv_blocks = 20;
	o.block_tok = 4;
	o.horizon_ns = 2000;
	struct harness_result r = schedule(&o, rows, 40);

	assert_true(r.summary.completed > 0 && r.summary.unfinished > 0);
	assert_i64(r.summary.rejected, 5); /* 6, 13, 20, 27, 34: 114 slots of 80 */
	assert_i64(r.summary.requests,
		   r.summary.completed + r.summary.rejected + r.summary.unfinished);
	assert_i64(r.summary.requests, 40);
	assert_true(r.summary.preemptions > 0 && r.audit.calls > 100);
	harness_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_output_token),
		cmocka_unit_test(test_mean_tpot_is_not_mean_itl),
		cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_goodput),
		cmocka_unit_test(test_denominator),
		cmocka_unit_test(test_clock_starts_at_arrival),
		cmocka_unit_test(test_conservation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
