/* The histogram and the record of gaps, each against adding one by one to a plain list. */
#include "results/stats.h"
#include "sim/gaps.h"
#include "sim/rng.h"
#include "tests/testing.h"
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdbool.h>

static int64_t from_to(gsl_rng *rng, int64_t a, int64_t b)
{
	return a + (int64_t)gsl_rng_uniform_int(rng, (unsigned long)(b - a + 1));
}

/* Histogram */

static void put(void *arg, double low, double high, int64_t count)
{
	fprintf(arg, "%a %a %lld\n", low, high, (long long)count);
}

static char *text_of(const struct hist *h)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fprintf(out, "%lld\n", (long long)h->n);
	hist_each(h, put, out);
	fclose(out);
	return text;
}

static void assert_same(const struct hist *a, const struct hist *b)
{
	char *x = text_of(a), *y = text_of(b);

	assert_string_equal(x, y);
	free(x);
	free(y);
}

/* Steps of zero, of less than a nanosecond, of fractions, and those of real servers. */
static double random_cost(gsl_rng *rng)
{
	static const double scale[] = {0, 1e-3, 1, 1e3, 1e7};

	return scale[from_to(rng, 0, 4)] * gsl_rng_uniform(rng);
}

static void test_runs(void **state)
{
	gsl_rng *rng = rng_new(1, "hist");

	(void)state;
	for (int i = 0; i < 3000; i++) {
		struct hist at_once = {0}, one_by_one = {0};

		for (int k = 0; k < 3; k++) {
			double step = random_cost(rng), slope = random_cost(rng) / 1e3;
			int64_t ctx = from_to(rng, 0, 100000), b = from_to(rng, 0, 256);
			int64_t first = from_to(rng, 1, 50), count = from_to(rng, 1, 9);
			int64_t last = first + from_to(rng, 0, 400);

			hist_add_run(&at_once, step, slope, ctx, b, first, last, count);
			for (int64_t j = first; j <= last; j++)
				hist_add(&one_by_one, step + slope * (double)(ctx + b * (j - 1)),
					 count);
		}
		assert_same(&at_once, &one_by_one);
		hist_release(&at_once);
		hist_release(&one_by_one);
	}
	gsl_rng_free(rng);
}

/* Within 0.1% of the exact percentile; values below 1 count as 0. */
static void test_percentiles(void **state)
{
	gsl_rng *rng = rng_new(1, "percentiles");

	(void)state;
	for (int i = 0; i < 300; i++) {
		size_t n = (size_t)from_to(rng, 1, 2000);
		double *x = xcalloc(n, sizeof(*x)), sigma = 3 * gsl_rng_uniform(rng);
		struct hist h = {0};

		for (size_t k = 0; k < n; k++) {
			x[k] = 1e6 * gsl_ran_lognormal(rng, 0, sigma);
			hist_add(&h, x[k], 1);
		}
		for (int p = 0; p <= 100; p++) {
			double exact = stats_percentile(x, n, p);

			assert_near(hist_percentile(&h, p), exact, 0.001 * exact);
		}
		hist_release(&h);
		free(x);
	}
	struct hist none = {0}, small = {0};

	assert_true(isnan(hist_percentile(&none, 50)));
	hist_add(&small, 0.999, 3);
	assert_near(hist_percentile(&small, 50), 0, 0);
	hist_release(&small);
	gsl_rng_free(rng);
}

/* Gaps */

enum { ROOM = 12 };

struct one {
	bool there;
	int64_t token_ns, since_ns;
	double max_gap_ns; /* -1: none */
};

struct model {
	struct one at[ROOM];
	struct hist hist;
	int64_t now_ns;
};

static void model_gap(struct model *m, struct one *o, double gap_ns, int64_t end_ns)
{
	hist_add(&m->hist, gap_ns, 1);
	if (gap_ns > o->max_gap_ns)
		o->max_gap_ns = gap_ns;
	o->token_ns = end_ns;
}

/* Once alone a step, then perhaps more of a run, in which gaps grow. */
static void do_steps(gsl_rng *rng, struct model *m, struct gaps *g, struct hist *h)
{
	int64_t more = from_to(rng, 0, 1) ? from_to(rng, 1, 30) : 0, start_ns = m->now_ns;
	double step_ns = 1 + 100 * gsl_rng_uniform(rng), slope_ns = gsl_rng_uniform(rng);
	double f = step_ns;

	m->now_ns = start_ns + llround(f);
	gaps_step(g, h, start_ns, step_ns, m->now_ns);
	for (int i = 0; i < ROOM; i++)
		if (m->at[i].there)
			model_gap(m, &m->at[i], (double)(start_ns - m->at[i].token_ns) + step_ns,
				  m->now_ns);
	for (int64_t j = 2; j <= 1 + more; j++) {
		int64_t before_ns = m->now_ns;
		double gap_ns = step_ns + slope_ns * (double)(j - 1);

		f += gap_ns;
		m->now_ns = start_ns + llround(f);
		for (int i = 0; i < ROOM; i++) {
			if (!m->at[i].there)
				continue;
			model_gap(m, &m->at[i], gap_ns, m->now_ns);
			hist_add(h, gap_ns, 1);
		}
		if (j == 1 + more)
			gaps_run(g, before_ns, gap_ns, m->now_ns);
	}
}

static void check_model(const struct model *m, const struct gaps *g)
{
	for (int i = 0; i < ROOM; i++)
		if (m->at[i].there)
			assert_near(gaps_max(g, m->at[i].since_ns), m->at[i].max_gap_ns, 0);
}

static void test_gaps(void **state)
{
	gsl_rng *rng = rng_new(1, "gaps");
	struct model m = {.now_ns = 0};
	struct gaps g = {0};
	struct hist h = {0};

	(void)state;
	for (int k = 0; k < 40000; k++) {
		int i = (int)from_to(rng, 0, ROOM - 1);
		struct one *o = &m.at[i];

		if (from_to(rng, 0, 2) == 0) {
			do_steps(rng, &m, &g, &h);
		} else if (!o->there) {
			*o = (struct one){true, m.now_ns, m.now_ns, -1};
			gaps_join(&g, m.now_ns);
		} else if (from_to(rng, 0, 1)) {
			gaps_leave(&g, o->token_ns);
			o->there = false;
		} else { /* others are prefilled */
			m.now_ns += from_to(rng, 0, 200);
		}
		check_model(&m, &g);
	}
	assert_same(&h, &m.hist);
	assert_true(h.n > 100000);
	gaps_release(&g);
	hist_release(&h);
	hist_release(&m.hist);
	gsl_rng_free(rng);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
