/* The figures of a trace, by hand. */
#include "tests/testing.h"
#include "traces/measure.h"
#include <math.h>

#define OURS "arrive_s,prompt_tok,output_tok\n"

/* By hand: gaps 1, 3; mean 2, sd 1; KV slots 4, 5, 9 of 4: 1 + 2 + 3 blocks; ranks 1 2 3 and 1 3 2.
 */
static void figures_of_a_tiny_trace(void **state)
{
	(void)state;
	struct err e;
	struct measure m;
	struct trace_spec spec = {
		.source = testing_file("tiny", OURS "1,4,1\n2,2,4\n5,8,2\n3,1,0\n"), .sort = true};
	assert_fine(measure_trace(&spec, 4, 6, &m, &e), e);
	assert_i64(m.rows, 3);
	assert_i64(m.skipped_zero, 1);
	assert_near(m.span_s, 4, 0);
	assert_near(m.rate_rps, 0.5, 0);
	assert_near(m.gap_cv, 0.5, 1e-15);
	assert_i64(m.prompt_tok, 14);
	assert_i64(m.output_tok, 7);
	assert_near(m.prompt_mean, 14.0 / 3, 1e-15);
	assert_near(m.prompt_p50, 4, 0);
	assert_near(m.prompt_p90, 7.2, 1e-12); /* rank 1.8: 4 + 0.8 x 4 */
	assert_near(m.output_p99, 3.96, 1e-12);
	assert_i64(m.prompt_max, 8);
	assert_i64(m.output_max, 4);
	assert_near(m.correlation, -0.5, 1e-15); /* ranks 2 1 3 and 1 3 2: 1 - 6 x 6 / 24 */
	assert_i64(m.kv_blocks, 6);
	assert_i64(m.too_long, 1); /* 8 + 2; 2 + 4 = 6 is not beyond it */
	assert_i64(m.prompt_too_long, 1);
	assert_i64(m.hash_block, FIELD_NULL_INT);
	measure_release(&m);
	spec.limit = 1; /* no gap, no ranks */
	assert_fine(measure_trace(&spec, 4, 0, &m, &e), e);
	assert_true(isnan(m.rate_rps));
	assert_true(isnan(m.gap_cv));
	assert_true(isnan(m.correlation));
	assert_near(m.output_p99, 1, 0);
	measure_release(&m);
	spec.source = testing_path("missing");
	assert_refused(measure_trace(&spec, 4, 0, &m, &e), e, "missing");
}

static void tallies(void **state)
{
	(void)state;
	struct tally t = {0};
	for (int64_t i = 0; i < 10000; i++) /* 0 to 999, ten times each */
		tally_add(&t, i * 7919 % 1000);
	tally_sort(&t);
	assert_i64(t.n, 10000);
	assert_i64(t.distinct, 1000);
	assert_i64(tally_at(&t, 0), 0);
	assert_i64(tally_at(&t, 9), 0);
	assert_i64(tally_at(&t, 10), 1);
	assert_i64(tally_at(&t, 9999), 999);
	assert_near(tally_quantile(&t, 50, 100), 499.5, 0);
	assert_near(tally_quantile(&t, 0, 100), 0, 0);
	assert_near(tally_quantile(&t, 100, 100), 999, 0);
	assert_near(tally_middle_rank(&t, 0), 5.5, 0);
	assert_near(tally_middle_rank(&t, 999), 9995.5, 0);
	tally_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_of_a_tiny_trace),
		cmocka_unit_test(tallies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
