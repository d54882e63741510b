/* What is known is found again, what cannot be known is refused, and no more is fitted than pays.
 */
#include "calibrate/fit_parts.h"
#include "tests/synthetic.h"
#include "tests/testing.h"
#include <math.h>
#include <string.h>

static const struct noise noisy = {.spread = 0.03, .outliers = 0.05, .seed = 11};
/* The median of |r| where r is normal with a spread of 3 %. */
static const double noise_median = 0.6745 * 0.03;

/* Calls f for every form with a formula. */
static void each_form(void (*f)(const struct form *))
{
	for (int op = 0; op < N_OPS; op++) {
		size_t n;
		const struct form *const *forms = form_list((enum op)op, &n);
		for (size_t i = 0; i < n; i++)
			if (forms[i]->base_ns)
				f(forms[i]);
	}
}

static void recover(const struct form *form)
{
	double truth[FIT_COEFS];
	struct fit f = {.form = form};
	struct err e;

	synthetic_truth(form, truth);
	struct points p = synthetic_points(form, truth, 600, &noisy);
	assert_fine(fit_base(&f, &p, NULL, &e), e);
	for (int i = 0; i < f.n_coefs; i++) {
		double off = fabs(f.coef[i].value - truth[i]);
		if (off > 3 * f.coef[i].error || off > 0.1 * truth[i] ||
		    f.coef[i].error > 0.1 * truth[i])
			fail_msg("%s %s: %s is %g +- %g, was %g", op_names[form->op], form->name,
				 f.coef[i].name, f.coef[i].value, f.coef[i].error, truth[i]);
	}
	points_release(&p);
}

static void coefficients_are_recovered(void **state)
{
	(void)state;
	each_form(recover);
}

/* Where the whole truth is a formula, held-out errors are the noise. */
static void forecast_as_well_as_noise_allows(const struct form *form)
{
	double truth[FIT_COEFS];
	struct fit f;
	struct err e;

	synthetic_truth(form, truth);
	struct points p = synthetic_points(form, truth, 400, &noisy);
	assert_fine(fit_make(&f, &p, NULL, NULL, &e), e);
	if (f.held_out.median < 0.8 * noise_median || f.held_out.median > 1.35 * noise_median)
		fail_msg("%s %s: held out %g, the noise is %g (%s was chosen)", op_names[form->op],
			 form->name, f.held_out.median, noise_median, f.form->name);
	assert_i64(f.points, 400);
	assert_i64(f.held_out.folds, 5);
	fit_release(&f);
	points_release(&p);
}

static void held_out_errors_are_the_noise(void **state)
{
	(void)state;
	each_form(forecast_as_well_as_noise_allows);
}

static void the_simple_form_wins_where_the_truth_is_simple(void **state)
{
	(void)state;
	for (int op = 0; op < N_OPS; op++) {
		size_t n;
		const struct form *const *forms = form_list((enum op)op, &n);
		if (!n)
			continue;
		double truth[FIT_COEFS];
		struct fit f;
		struct err e;
		synthetic_truth(forms[0], truth);
		struct points p = synthetic_points(forms[0], truth, 300, &noisy);
		assert_fine(fit_make(&f, &p, NULL, NULL, &e), e);
		assert_string_equal(f.form->name, forms[0]->name);
		assert_i64(f.grid.n_axes, 0);
		fit_release(&f);
		points_release(&p);
	}
}

/* Two points a coefficient: 9 are enough for 4, 10 for 5, whatever the truth is. */
static void few_points_take_a_simple_form(void **state)
{
	(void)state;
	double truth[FIT_COEFS];
	const struct form *quantised = form_find(OP_GEMM, "quantised");
	struct fit f;
	struct err e;

	assert_i64(form_coefs(quantised), 5);
	assert_i64(fit_points_least(5), 10);
	assert_i64(form_points_least(OP_GEMM), 8);
	assert_i64(form_points_least(OP_STEP), 8);
	synthetic_truth(quantised, truth);
	for (size_t n = 9; n <= 60; n += 51) {
		struct points p = synthetic_points(quantised, truth, n,
						   &(struct noise){.spread = 0.001, .seed = 2});
		assert_fine(fit_make(&f, &p, NULL, &(struct fit_want){.no_grid = true}, &e), e);
		assert_true((f.form == quantised) == (n == 60));
		fit_release(&f);
		points_release(&p);
	}
}

static struct points gemm_points(size_t n)
{
	double truth[FIT_COEFS];
	const struct form *form = form_find(OP_GEMM, "max");

	synthetic_truth(form, truth);
	return synthetic_points(form, truth, n, &(struct noise){.spread = 0.01, .seed = 3});
}

static void refused(struct points *p, const char *part)
{
	struct fit f;
	struct err e;

	assert_refused(fit_make(&f, p, NULL, NULL, &e), e, part);
	if (p->n)
		assert_non_null(strstr(e.text, op_names[p->at[0].op]));
	points_release(p);
}

static void degenerate_points_are_refused(void **state)
{
	(void)state;
	struct points p = {.n = 0};
	refused(&p, "no points");
	p = gemm_points(4);
	refused(&p, "4 points are too few");
	p = gemm_points(40);
	for (size_t i = 0; i < p.n; i++)
		p.at[i].m = 64, p.at[i].n = p.at[i].k = 4096;
	refused(&p, "all 40 points are of one size (m 64, n 4096, k 4096)");
	/* so many tokens that weights are read in no time: nothing about the bandwidth */
	p = gemm_points(60);
	for (size_t i = 0; i < p.n; i++) {
		p.at[i].m = 4096 + (int64_t)i;
		p.at[i].ns = 5000 + work_gemm_flops(&p.at[i]) / 5e5;
	}
	refused(&p, "do not determine bytes_per_ns");
	p = (struct points){.n = 0};
	points_add(&p, &(struct point){.op = OP_STEP, .ns = 1});
	refused(&p, "no formula");
}

/* On a processor: nothing to start, nothing for a token beside its work, little noise or much. */
static void times_that_nothing_shows_are_allowed(void **state)
{
	static const double spreads[] = {0, 0.01, 0.3};
	static const enum op ops[] = {OP_GEMM, OP_PREFILL, OP_DECODE, OP_MIXED};

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		const struct noise noise = {.spread = spreads[i % 3], .seed = i};
		size_t n;
		const struct form *form = form_list(ops[i / 3], &n)[n > 3 ? 1 : 0];
		double truth[FIT_COEFS];
		struct fit f;
		struct err e;

		synthetic_truth(form, truth);
		for (int k = 0; form->coefs[k]; k++)
			if (!strstr(form->coefs[k], "_per_ns") && strstr(form->coefs[k], "_ns"))
				truth[k] = 1e-3;
		struct points p = synthetic_points(form, truth, 60, &noise);
		assert_fine(fit_make(&f, &p, NULL, NULL, &e), e);
		assert_near(f.held_out.median, 0.6745 * noise.spread, 0.02 + 0.5 * noise.spread);
		fit_release(&f);
		points_release(&p);
	}
}

static void times_that_are_none_are_refused(void **state)
{
	const double bad[] = {0, -1, NAN, INFINITY};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct points p = gemm_points(40);
		p.at[7].ns = bad[i];
		refused(&p, "point 8 of 40");
	}
}

static void ranges_are_those_of_the_points(void **state)
{
	struct points p = gemm_points(100);
	struct fit f;
	struct err e;
	int64_t least = INT64_MAX, most = 0;

	(void)state;
	assert_fine(fit_make(&f, &p, NULL, NULL, &e), e);
	for (size_t i = 0; i < p.n; i++) {
		least = p.at[i].n < least ? p.at[i].n : least;
		most = p.at[i].n > most ? p.at[i].n : most;
	}
	assert_string_equal(f.range[1].name, "n");
	assert_near(f.range[1].min, least, 0);
	assert_near(f.range[1].max, most, 0);
	struct point at = {.op = OP_GEMM, .bits = 16, .m = 100, .n = 4096, .k = 4096};
	assert_true(fit_inside(&f, &at));
	at.n = (int64_t)((double)most * 1.04);
	assert_true(fit_inside(&f, &at));
	at.n = (int64_t)((double)most * 1.06);
	assert_false(fit_inside(&f, &at));
	at.n = (int64_t)((double)least * 0.94);
	assert_false(fit_inside(&f, &at));
	fit_release(&f);
	points_release(&p);
}

static void the_same_points_give_the_same_fit(void **state)
{
	struct points p = gemm_points(100);
	struct fit a, b;
	struct err e;
	char hash[17];

	(void)state;
	const struct fit_want want = {.folds = 4, .seed = 5};
	const struct point shape = {.op = OP_GEMM, .n = 4096};
	assert_fine(fit_make(&a, &p, &shape, &want, &e), e);
	assert_fine(fit_make(&b, &p, &shape, &want, &e), e);
	assert_i64(a.shape.n, 4096);
	assert_i64(a.held_out.folds, 4);
	points_hash(&p, hash);
	assert_string_equal(a.hash, hash);
	for (int i = 0; i < a.n_coefs; i++)
		assert_near(a.coef[i].value, b.coef[i].value, 0);
	assert_near(a.held_out.p90, b.held_out.p90, 0);
	fit_release(&a);
	fit_release(&b);
	points_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(coefficients_are_recovered),
		cmocka_unit_test(held_out_errors_are_the_noise),
		cmocka_unit_test(the_simple_form_wins_where_the_truth_is_simple),
		cmocka_unit_test(few_points_take_a_simple_form),
		cmocka_unit_test(degenerate_points_are_refused),
		cmocka_unit_test(times_that_nothing_shows_are_allowed),
		cmocka_unit_test(times_that_are_none_are_refused),
		cmocka_unit_test(ranges_are_those_of_the_points),
		cmocka_unit_test(the_same_points_give_the_same_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
