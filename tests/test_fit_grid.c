/* Corrections between the knots of a grid, and curves. */
#include "calibrate/fit_parts.h"
#include "calibrate/grid.h"
#include "tests/synthetic.h"
#include "tests/testing.h"
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>

static struct point gemm(int64_t m, int64_t n, int64_t k)
{
	return (struct point){.op = OP_GEMM, .bits = 16, .m = m, .n = n, .k = k};
}

/* A device that is half as fast beyond 1024 tokens: a factor whose logarithm is linear in log2
 * m from 64 tokens to there. */
static double factor(const struct point *at)
{
	double octaves = log2((double)at->m) - 6;

	return exp(log(2) * fmin(1, fmax(0, octaves / 4)));
}

static struct points slowed(double spread, uint64_t seed)
{
	const struct form *form = form_find(OP_GEMM, "pnorm");
	double truth[FIT_COEFS];
	struct points p = {.n = 0};
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	gsl_rng_set(rng, (unsigned long)seed);
	synthetic_truth(form, truth);
	for (int64_t n = 1024; n <= 16384; n *= 2)
		for (int64_t k = 1024; k <= 16384; k *= 2)
			for (int64_t m = 1; m <= 8192; m += (m + 1) / 2) {
				struct point at = gemm(m, n, k);
				at.ns = form->base_ns(truth, &at) * factor(&at) *
					exp(gsl_ran_gaussian(rng, spread));
				points_add(&p, &at);
			}
	gsl_rng_free(rng);
	return p;
}

static void a_correction_is_found_where_there_is_one(void **state)
{
	struct points p = slowed(0.02, 4);
	struct fit f, plain;
	struct err e;

	(void)state;
	assert_fine(fit_make(&f, &p, NULL, NULL, &e), e);
	assert_i64(f.grid.n_axes, 3);
	assert_true(f.held_out.median < 0.02);
	const struct fit_want base = {.no_grid = true};
	assert_fine(fit_make(&plain, &p, NULL, &base, &e), e);
	assert_i64(plain.grid.n_axes, 0);
	assert_true(plain.held_out.p90 > 1.5 * f.held_out.p90);
	fit_release(&f);
	fit_release(&plain);
	points_release(&p);
}

static void beyond_the_grid_it_stays_at_the_edge(void **state)
{
	struct points p = slowed(0.02, 4);
	struct fit f;
	struct err e;

	(void)state;
	assert_fine(fit_make(&f, &p, NULL, NULL, &e), e);
	struct point edge = gemm(8192, 16384, 16384), far = gemm(65536, 65536, 32768);
	assert_near(grid_at(&f.grid, &far), grid_at(&f.grid, &edge), 1e-12);
	edge = gemm(1, 1024, 1024), far = gemm(1, 64, 128);
	assert_near(grid_at(&f.grid, &far), grid_at(&f.grid, &edge), 1e-12);
	/* eight times the products, eight times the time, but for the latency */
	edge = gemm(8192, 16384, 16384), far = gemm(65536, 16384, 16384);
	assert_near(fit_ns(&f, &far) / fit_ns(&f, &edge), 8, 0.25);
	fit_release(&f);
	points_release(&p);
}

static void knots_stand_at_sizes_that_occur(void **state)
{
	struct points p = slowed(0.02, 4);
	struct grid g;

	(void)state;
	assert_true(grid_lay(&g, form_find(OP_GEMM, "max"), &p));
	assert_i64(g.n_axes, 3);
	assert_string_equal(g.axis[0].name, "m");
	assert_near(g.axis[0].knot[0], 0, 0);
	for (int i = 0; i < g.axis[0].n; i++) {
		bool occurs = false;
		for (size_t j = 0; j < p.n; j++)
			occurs |= fabs(exp2(g.axis[0].knot[i]) - (double)p.at[j].m) < 1e-6;
		assert_true(occurs);
		assert_true(!i || g.axis[0].knot[i] > g.axis[0].knot[i - 1] + 0.25);
	}
	assert_near(exp2(g.axis[0].knot[g.axis[0].n - 1]), (double)p.at[p.n - 1].m, 1e-6);
	assert_true(2 * g.n <= p.n);
	grid_release(&g);
	for (size_t i = 0; i < p.n; i++)
		p.at[i].n = p.at[i].k = 4096;
	assert_true(grid_lay(&g, form_find(OP_GEMM, "max"), &p));
	assert_i64(g.n_axes, 1); /* the others do not vary */
	grid_release(&g);
	points_release(&p);
}

/* Weights around a point add up to 1, and give back what is linear in the logarithms. */
static void linear_functions_are_met_exactly(void **state)
{
	struct grid g = {
		.n_axes = 2,
		.axis = {{"m", 3, {0, 2, 5}}, {"n", 2, {1, 4}}},
		.value = (double[]){1, 10, 5, 14, 11, 20},
		.n = 6,
	};

	(void)state;
	/* 2 a + 3 (b - 1) + 1 for m = 2^a, n = 2^b */
	struct point at = gemm(16, 4, 0);
	assert_near(grid_at(&g, &at), 2 * 4 + 3 * (2 - 1) + 1, 1e-12);
	at = gemm(2, 8, 0);
	assert_near(grid_at(&g, &at), 2 * 1 + 3 * (3 - 1) + 1, 1e-12);
	at = gemm(64, 64, 0);
	assert_near(grid_at(&g, &at), 20, 1e-12);
	at = gemm(0, 0, 0);
	assert_near(grid_at(&g, &at), 1, 1e-12);
}

/* Noise of 6 % between sizes that differ by less: some times fall, no forecast does. */
static void more_work_never_takes_less_time(void **state)
{
	struct points p = slowed(0.06, 9);
	struct fit f;
	struct err e;

	(void)state;
	assert_fine(fit_make(&f, &p, NULL, NULL, &e), e);
	assert_i64(f.grid.n_axes, 3);
	for (size_t i = 0; i < p.n; i++) {
		struct point at = p.at[i], m = at, n = at, k = at;
		double ns = fit_ns(&f, &at);
		m.m = m.m * 3 / 2 + 1;
		n.n = n.n * 3 / 2;
		k.k = k.k * 3 / 2;
		assert_true(fit_ns(&f, &m) >= 0.995 * ns);
		assert_true(fit_ns(&f, &n) >= 0.995 * ns);
		assert_true(fit_ns(&f, &k) >= 0.995 * ns);
	}
	fit_release(&f);
	points_release(&p);
}

/* Steps as of tiles of 128 rows: 10 us up to 128, then 4 us more at each. */
static struct points staircase(void)
{
	struct points p = {.n = 0};

	for (int64_t m = 1; m <= 1024; m = m < 16 ? m + 1 : m + 16) {
		struct point at = gemm(m, 6144, 4096);
		at.ns = 10e3 + 4e3 * (double)((m + 127) / 128 - 1);
		points_add(&p, &at);
	}
	return p;
}

static void one_shape_is_a_curve(void **state)
{
	struct points p = staircase();
	struct fit f;
	struct err e;

	(void)state;
	const struct point shape = {.op = OP_GEMM, .n = 6144, .k = 4096};
	assert_fine(fit_make(&f, &p, &shape, NULL, &e), e);
	assert_string_equal(f.form->name, "knots");
	assert_i64(f.n_coefs, 0);
	struct point at = gemm(64, 6144, 4096);
	assert_near(fit_ns(&f, &at), 10e3, 100);
	at.m = 5; /* between knots, on a flat piece */
	assert_near(fit_ns(&f, &at), 10e3, 100);
	at.m = 1024;
	assert_near(fit_ns(&f, &at), 38e3, 400);
	double last = fit_ns(&f, &at);
	/* beyond the last it goes on: 8 steps of 128 for another 1024, and not as the last tread */
	at.m = 2048;
	assert_near(fit_ns(&f, &at) - last, 8 * 4e3, 800);
	assert_false(fit_inside(&f, &at));
	fit_release(&f);
	points_release(&p);
}

/* 5 + 2 m: half way between 512 and 1024 it is 1541, in log m it would be 1628. */
static void curves_are_straight_in_the_size(void **state)
{
	struct points p = {.n = 0};
	struct fit f = {.form = form_find(OP_GEMM, "knots")};
	struct err e;

	(void)state;
	for (int64_t m = 1; m <= 1024; m *= 2) {
		struct point at = gemm(m, 1024, 1024);
		at.ns = 5 + 2 * (double)m;
		points_add(&p, &at);
	}
	assert_fine(fit_curve(&f, &p, &e), e);
	struct point at = gemm(768, 1024, 1024);
	assert_near(fit_curve_ns(&f, &at), 1541, 1e-6);
	fit_release(&f);
	p.at[3].n = 2048;
	assert_refused(fit_curve(&f, &p, &e), e, "one n");
	p.n = 3;
	assert_refused(fit_curve(&f, &p, &e), e, "too few for a curve");
	points_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_correction_is_found_where_there_is_one),
		cmocka_unit_test(beyond_the_grid_it_stays_at_the_edge),
		cmocka_unit_test(knots_stand_at_sizes_that_occur),
		cmocka_unit_test(linear_functions_are_met_exactly),
		cmocka_unit_test(more_work_never_takes_less_time),
		cmocka_unit_test(one_shape_is_a_curve),
		cmocka_unit_test(curves_are_straight_in_the_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
