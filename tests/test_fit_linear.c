/* Robust linear least squares. */
#include "calibrate/fit.h"
#include "tests/testing.h"
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>

enum { N = 200, P = 3 };

/* y = 4 + 2 a - 3 b at a, b from columns of very different size. */
static void fill(double *rows, double *y, double spread, double outliers)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	for (size_t i = 0; i < N; i++) {
		rows[i * P] = 1;
		rows[i * P + 1] = gsl_rng_uniform(rng);
		rows[i * P + 2] = 1e6 * gsl_rng_uniform(rng);
		y[i] = 4 + 2 * rows[i * P + 1] - 3e-6 * rows[i * P + 2] +
		       gsl_ran_gaussian(rng, spread);
		if (gsl_rng_uniform(rng) < outliers)
			y[i] += 1;
	}
	gsl_rng_free(rng);
}

static void coefficients_are_found_in_spite_of_outliers(void **state)
{
	const double truth[P] = {4, 2, -3e-6};
	double rows[N * P], y[N], coef[P], error[P];
	struct err e;

	(void)state;
	fill(rows, y, 0.05, 0.05);
	assert_fine(fit_linear(rows, y, N, P, coef, error, &e), e);
	for (int j = 0; j < P; j++) {
		assert_near(coef[j], truth[j], 3 * error[j]);
		assert_true(error[j] < 0.02 * fabs(truth[j]));
	}
}

static void exact_rows_are_exact(void **state)
{
	double rows[N * P], y[N], coef[P], error[P];
	struct err e;

	(void)state;
	fill(rows, y, 0, 0);
	assert_fine(fit_linear(rows, y, N, P, coef, error, &e), e);
	assert_near(coef[0], 4, 1e-9);
	assert_near(coef[2], -3e-6, 1e-14);
}

/* To the last bit: the errors are 0 and not 0 / 0. */
static void errors_of_exact_rows_are_numbers(void **state)
{
	double rows[4] = {1, 1, 1, 1}, y[4] = {1, 1, 1, 1}, coef[1], error[1];
	struct err e;

	(void)state;
	assert_fine(fit_linear(rows, y, 4, 1, coef, error, &e), e);
	assert_near(coef[0], 1, 1e-12);
	assert_true(error[0] >= 0 && error[0] < 1e-9);
}

static void what_is_not_determined_is_named(void **state)
{
	double rows[N * P], y[N], coef[P], error[P];
	struct err e;

	(void)state;
	fill(rows, y, 0.05, 0);
	assert_refused(fit_linear(rows, y, 2, P, coef, error, &e), e, "2 rows are too few for 3");
	for (size_t i = 0; i < N; i++)
		rows[i * P + 1] = 0;
	assert_refused(fit_linear(rows, y, N, P, coef, error, &e), e, "column 2 of 3");
	for (size_t i = 0; i < N; i++)
		rows[i * P + 1] = 7 * rows[i * P] + 1e-6 * rows[i * P + 2];
	assert_refused(fit_linear(rows, y, N, P, coef, error, &e), e, "is not determined");
	fill(rows, y, 0.05, 0);
	y[4] = NAN;
	assert_refused(fit_linear(rows, y, N, P, coef, error, &e), e, "row 5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(coefficients_are_found_in_spite_of_outliers),
		cmocka_unit_test(exact_rows_are_exact),
		cmocka_unit_test(errors_of_exact_rows_are_numbers),
		cmocka_unit_test(what_is_not_determined_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
