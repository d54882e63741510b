/* Processes of arrivals: spread of the gaps, mean rates, and rates that change. */
#include "tests/testing.h"
#include "traces/arrivals.h"
#include "traces/number.h"
#include <math.h>

enum { N = 200000 };

/* Times of n arrivals, seconds; the test frees them. */
static double *draw(const struct arrivals_spec *spec, int n)
{
	struct err e;
	struct arrivals a;
	double *at = xmalloc((size_t)n * sizeof(*at));
	assert_fine(arrivals_init(&a, spec, 1, "test", &e), e);
	for (int i = 0; i < n; i++) {
		at[i] = (double)arrivals_next(&a) * 1e-9;
		assert_true(at[i] >= (i > 0 ? at[i - 1] : 0));
	}
	arrivals_release(&a);
	return at;
}

/*
 * Shapes with a known spread: 1 is the exponential (cv 1); 2 the Rayleigh (sqrt(4/pi - 1)); 1/2:
 * mean 2, second moment 24, cv sqrt(5); 1/3: mean 6, second moment 720, cv sqrt(19).
 */
static void weibull_shapes(void **state)
{
	(void)state;
	assert_near(arrivals_weibull_shape(1), 1, 1e-9);
	assert_near(arrivals_weibull_shape(sqrt(4 / acos(-1) - 1)), 2, 1e-9);
	assert_near(arrivals_weibull_shape(sqrt(5)), 0.5, 1e-9);
	assert_near(arrivals_weibull_shape(sqrt(19)), 1 / 3.0, 1e-9);
	/* both ends of what is allowed; pi / (sqrt(6) cv) is the limit for small cv */
	assert_near(arrivals_weibull_shape(0.01), acos(-1) / sqrt(6) * 100, 1);
	assert_true(arrivals_weibull_shape(100) > 0.1);
}

/* Mean rate and cv as asked for, 4 standard errors; and a quarter of them below the quantile. */
static void spread_of_the_gaps(void **state)
{
	(void)state;
	static const struct {
		struct arrivals_spec spec;
		double cv, cv_part, p25; /* of gaps, in mean gaps */
	} cases[] = {
		{{.kind = ARRIVALS_POISSON, .rate_rps = 20}, 1, 0.02, 0.287682},
		/* shape 1/4, scale 4: x^(1/4) / Gamma(5/4) (1 - x/5) of it is below x */
		{{.kind = ARRIVALS_GAMMA, .rate_rps = 5, .cv = 2}, 2, 0.04, 0.01057},
		/* shape 1/2: mean 2, quantile ln(4/3)^2 */
		{{.kind = ARRIVALS_WEIBULL, .rate_rps = 5, .cv = 2.2360679775},
		 2.236,
		 0.05,
		 0.04138},
		/* shape 2: mean Gamma(3/2), quantile sqrt(ln(4/3)) */
		{{.kind = ARRIVALS_WEIBULL, .rate_rps = 1e-3, .cv = 0.522723},
		 0.522723,
		 0.02,
		 0.60522},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double *at = draw(&cases[i].spec, N), squares = 0, mean = at[N - 1] / (N - 1);
		int below = 0;
		for (int j = 1; j < N; j++) {
			double gap = (at[j] - at[j - 1]) / mean - 1;
			squares += gap * gap;
			below += gap + 1 < cases[i].p25;
		}
		assert_near(at[0], 0, 0);
		assert_near(mean * cases[i].spec.rate_rps, 1, 4 * cases[i].cv / sqrt(N));
		assert_near(sqrt(squares / N) / cases[i].cv, 1, cases[i].cv_part);
		assert_near(below / (double)N, 0.25, 0.006);
		free(at);
	}
}

/* Even gaps follow the sine to the millisecond: the integral of the rate is their number. */
static void a_day(void **state)
{
	(void)state;
	static const struct arrivals_spec spec = {
		.kind = ARRIVALS_CONSTANT, .rate_rps = 10, .day_s = 1000, .swing = 0.5};
	double *at = draw(&spec, 20001), turn = 2 * acos(-1);
	assert_near(at[10000], 1000, 1e-4); /* whole days have the mean rate */
	assert_near(at[20000], 2000, 1e-4);
	/* first half: 5000 (1 + swing 2 / pi) */
	assert_true(at[6591] < 500 && at[6592] > 500);
	for (int i = 0; i < 20000; i += 100) {
		double integral = at[i] + 500 / turn * (1 - cos(turn * at[i] / 1000));
		assert_near(integral, i / 10.0, 0.02); /* in 288 steps */
	}
	free(at);
}

static void a_day_by_a_table(void **state)
{
	(void)state;
	static const double day[] = {0, 3, 0, 1};
	static const struct arrivals_spec spec = {.kind = ARRIVALS_CONSTANT,
						  .rate_rps = 2,
						  .day_s = 40,
						  .day = day,
						  .n_day = 4,
						  .gap_first = true};
	double *at = draw(&spec, 80); /* 60 in 10..20 s, 20 in 30..40 s, each 1/2 unit on */
	assert_near(at[0], 10 + 1 / 6.0, 1e-6);
	assert_near(at[58], 10 + 59 / 6.0, 1e-6);
	assert_near(at[60], 30 + 1 / 2.0, 1e-6);
	assert_near(at[78], 30 + 19 / 2.0, 1e-6);
	free(at);
}

/*
 * Bursts of 2 s in every 10, nine times the rate: levels 0.3846 and 3.4615, so 69.2% of the
 * arrivals are in a fifth of the time. The count in windows of w, far longer than a phase, has
 * variance over mean (index of dispersion) 1 + 2 rate v tau / (1 + ...) with v the variance of the
 * level and tau = 1/(1/2 + 1/8) = 1.6 s its correlation time: 1 + 2 x 50 x 1.514793 x 1.6 = 243.4.
 */
static void bursts(void **state)
{
	(void)state;
	static const struct arrivals_spec spec = {.kind = ARRIVALS_POISSON,
						  .rate_rps = 50,
						  .burst = 9,
						  .burst_on_s = 2,
						  .burst_period_s = 10};
	enum { MANY = 4000000 };
	double *at = draw(&spec, MANY), sum = 0, squares = 0;
	int in_window = 0, windows = 0;
	/* the mean: 4 standard errors of sqrt(243.4 / MANY) */
	assert_near(at[MANY - 1] * 50 / MANY, 1, 0.031);
	for (int i = 0; i < MANY; i++) {
		while (at[i] >= 100.0 * (windows + 1)) {
			sum += in_window;
			squares += (double)in_window * in_window;
			in_window = 0;
			windows++;
		}
		in_window++;
	}
	double mean = sum / windows, variance = squares / windows - mean * mean;
	/* windows of 100 s see (1 - tau / w) of it; 800 windows: 5% is a standard error */
	assert_near(variance / mean, 1 + 242.4 * (1 - 1.6 / 100), 0.2 * 243);
	free(at);
}

static void what_cannot_be(void **state)
{
	(void)state;
	struct err e;
	struct arrivals a;
	struct arrivals_spec spec = {
		.rate_rps = 1, .burst = 2, .burst_on_s = 10, .burst_period_s = 10};
	assert_refused(arrivals_init(&a, &spec, 1, "x", &e), e,
		       "x: burst_on=10 must be less than burst_period=10");
	spec.burst_on_s = 1e-3;
	spec.rate_rps = 0.9;
	assert_refused(arrivals_init(&a, &spec, 1, "x", &e), e,
		       "x: the rate changes every 0.001 s, which is too short for a mean gap of");
	spec = (struct arrivals_spec){.rate_rps = 1e-9, .kind = ARRIVALS_CONSTANT};
	assert_fine(arrivals_init(&a, &spec, 1, "x", &e), e);
	for (int i = 0; i < 7; i++)
		assert_i64(arrivals_next(&a), i * INT64_C(1000000000000000000));
	assert_i64(arrivals_next(&a), -1);
	arrivals_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weibull_shapes), cmocka_unit_test(spread_of_the_gaps),
		cmocka_unit_test(a_day),	  cmocka_unit_test(a_day_by_a_table),
		cmocka_unit_test(bursts),	  cmocka_unit_test(what_cannot_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
