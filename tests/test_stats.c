#include "tests/testing.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <string.h>

#include "results/stats.h"
#include "sim/err.h"

/* 1..n, in an order that is not sorted: multiples of 7 modulo a prime above 100 */
static void fill(int64_t *whole, double *real, size_t n)
{
	size_t k = 0;

	for (int64_t i = 1; k < n; i++) {
		int64_t v = i * 7 % 103;

		if (v < 1 || v > (int64_t)n)
			continue;
		whole[k] = v;
		real[k++] = (double)v;
	}
}

/* numpy.percentile(range(1, n + 1), p), whose values are written down in the project's cases */
static void test_linear_interpolation(void **state)
{
	static const struct {
		size_t n;
		int p;
		double want;
	} cases[] = {
		{100, 99, 99.01}, {10, 99, 9.91}, {10, 50, 5.5}, {1, 99, 1},  {1, 0, 1},
		{10, 0, 1},	  {10, 100, 10},  {2, 90, 1.9},	 {11, 50, 6}, {101, 99, 100},
	};
	int64_t whole[101];
	double real[101];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		size_t n = cases[i].n;

		fill(whole, real, n);
		assert_near(stats_percentile_i64(whole, n, cases[i].p), cases[i].want, 0);
		/* 9 + 91/100 is one rounding away from the literal 9.91 in doubles */
		assert_near(stats_percentile(real, n, cases[i].p), cases[i].want, 2e-14);
	}
}

static void test_no_values(void **state)
{
	(void)state;
	assert_true(isnan(stats_percentile_i64(NULL, 0, 50)));
	assert_true(isnan(stats_percentile_sorted_i64(NULL, 0, 50)));
	assert_true(isnan(stats_percentile(NULL, 0, 50)));
}

/* The remainder of the rank is in hundredths: 1 + 99/100 * 1e15 is exact in integers. */
static void test_large_values(void **state)
{
	int64_t x[] = {4000000000000000000, 1};
	int64_t day[] = {86400000000001, 86400000000102};
	double inf[] = {INFINITY, 1, INFINITY};

	(void)state;
	/* 1 + 0.99 (4e18 - 1), to the last bit of a double */
	assert_near(stats_percentile_i64(x, 2, 99), 3960000000000000000.0, 512);
	assert_near(stats_percentile_i64(day, 2, 90), 86400000000091.9, 0.01);
	assert_true(isinf(stats_percentile(inf, 3, 50)));
}

static int compare_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Random arrays, many with ties: selection agrees with sorting, and with GSL's quantile. */
static void test_selection_is_sorting(void **state)
{
	enum { N = 300 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
	int64_t x[N], sorted[N];
	double real[N], real_sorted[N];

	(void)state;
	for (int round = 0; round < 300; round++) {
		size_t n = 1 + gsl_rng_uniform_int(rng, N);
		unsigned long range = round % 3 ? 1000000007 : 5;

		for (size_t i = 0; i < n; i++) {
			x[i] = (int64_t)gsl_rng_uniform_int(rng, range);
			real[i] = (double)x[i] / 7;
		}
		memcpy(sorted, x, sizeof x);
		qsort(sorted, n, sizeof sorted[0], compare_i64);
		memcpy(real_sorted, real, sizeof real);
		gsl_sort(real_sorted, 1, n);
		for (int p = 0; p <= 100; p += round % 2 ? 7 : 10) {
			double want =
				gsl_stats_quantile_from_sorted_data(real_sorted, 1, n, p / 100.);

			assert_near(stats_percentile_i64(x, n, p),
				    stats_percentile_sorted_i64(sorted, n, p), 0);
			assert_near(stats_percentile_sorted_i64(sorted, n, p), 7 * want,
				    1e-12 * fabs(7 * want) + 1e-5);
			assert_near(stats_percentile(real, n, p), want, 1e-12 * want + 1e-6);
		}
	}
	gsl_rng_free(rng);
}

static void test_sums_do_not_overflow(void **state)
{
	struct stats_sum s = {0}, t = {0}, whole = {0};

	(void)state;
	for (int i = 0; i < 1000; i++) /* 9e21 in all */
		stats_sum_add(&s, INT64_MAX);
	stats_sum_add_times(&t, INT64_MAX, 1000);
	assert_i64(s.whole, t.whole);
	assert_i64(s.rest, t.rest);
	assert_near(stats_sum_mean(&s, 1000), 9223372036854775807.0, 0);
	assert_near(stats_sum_value(&s), 9223372036854775807e3, 1e6);
	/* in two parts, the other way round */
	stats_sum_add_times(&whole, INT64_MAX, 300);
	t = (struct stats_sum){0};
	stats_sum_add_times(&t, INT64_MAX, 700);
	stats_sum_merge(&t, &whole);
	assert_i64(s.whole, t.whole);
	assert_i64(s.rest, t.rest);
}

static void test_means(void **state)
{
	struct stats_sum s = {0};

	(void)state;
	assert_true(isnan(stats_sum_mean(&s, 0)));
	stats_sum_add(&s, 1);
	stats_sum_add(&s, 2);
	assert_near(stats_sum_mean(&s, 2), 1.5, 0);
	stats_sum_add_times(&s, 1000000000, 1000000000);
	stats_sum_add_times(&s, 12345, 0);
	assert_i64(s.whole, 1000000000);
	assert_i64(s.rest, 3);
	stats_sum_add_times(&s, -1000000000, 1000000000);
	stats_sum_add(&s, -4);
	assert_i64(s.whole, -1);
	assert_i64(s.rest, 999999999);
	assert_near(stats_sum_value(&s), -1, 0);
	assert_near(stats_sum_mean(&s, 2), -0.5, 0);
}

/*
 * A mean over requests is not a mean over gaps. One request of 2 tokens with a gap of 100 ms, one
 * of 11 with ten of 10 ms: TPOT (100 + 10) / 2 = 55 ms, ITL (100 + 10 * 10) / 11 = 18.18 ms.
 */
static void test_mean_of_requests_and_of_gaps(void **state)
{
	struct stats_sum tpot = {0}, itl = {0};

	(void)state;
	stats_sum_add(&tpot, 100000000);
	stats_sum_add(&tpot, 10000000);
	stats_sum_add(&itl, 100000000);
	stats_sum_add_times(&itl, 10000000, 10);
	assert_near(stats_sum_mean(&tpot, 2) / 1e6, 55.0, 0);
	assert_near(stats_sum_mean(&itl, 11) / 1e6, 18.181818181818183, 1e-14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linear_interpolation),
		cmocka_unit_test(test_no_values),
		cmocka_unit_test(test_large_values),
		cmocka_unit_test(test_selection_is_sorting),
		cmocka_unit_test(test_sums_do_not_overflow),
		cmocka_unit_test(test_means),
		cmocka_unit_test(test_mean_of_requests_and_of_gaps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
