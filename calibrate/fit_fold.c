#include "calibrate/fit_parts.h"
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

struct member {
	uint64_t group;
	size_t point;
};

static int by_group(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->point < y->point ? -1 : x->point > y->point;
}

/* Numbers the groups from 0; returns how many. */
static size_t number_groups(struct member *m, size_t n)
{
	size_t groups = 0;

	qsort(m, n, sizeof(*m), by_group);
	for (size_t i = 0, j; i < n; i = j, groups++) {
		uint64_t group = m[i].group;
		for (j = i; j < n && m[j].group == group; j++)
			m[j].group = groups;
	}
	return groups;
}

int fit_split(const struct form *f, const struct points *p, int folds, uint64_t seed, int *fold)
{
	struct member *m = xmalloc(p->n * sizeof(*m));

	for (size_t i = 0; i < p->n; i++)
		m[i] = (struct member){f->group(&p->at[i]), i};
	size_t groups = number_groups(m, p->n);
	if (groups < (size_t)folds) {
		groups = p->n;
		for (size_t i = 0; i < p->n; i++)
			m[i] = (struct member){i, i};
	}
	if (groups < (size_t)folds)
		folds = (int)groups;
	size_t *order = xmalloc(groups * sizeof(*order));
	for (size_t i = 0; i < groups; i++)
		order[i] = i;
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	gsl_rng_set(rng, (unsigned long)seed);
	gsl_ran_shuffle(rng, order, groups, sizeof(*order));
	gsl_rng_free(rng);
	for (size_t i = 0; i < p->n; i++)
		fold[m[i].point] = (int)(order[m[i].group] % (size_t)folds);
	free(order);
	free(m);
	return folds;
}

struct held_out fit_figures(double *errors, size_t n, int folds)
{
	gsl_sort(errors, 1, n);
	return (struct held_out){
		.folds = folds,
		.median = gsl_stats_median_from_sorted_data(errors, 1, n),
		.p90 = gsl_stats_quantile_from_sorted_data(errors, 1, n, 0.9),
		.max = errors[n - 1],
	};
}
