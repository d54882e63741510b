#include "calibrate/sweep_repeats.h"
#include <gsl/gsl_statistics_double.h>
#include <math.h>

/* Repeats that differ by more than this want more of them, until the median is known so well. */
static const double WIDE = 1.1, KNOWN = 0.01;

static double quantile(const struct timing *t, double q)
{
	return gsl_stats_quantile_from_sorted_data(t->ns, 1, (size_t)t->point.repeats, q);
}

void timing_add(struct timing *t, double ns)
{
	int64_t i = t->point.repeats++;

	for (; i > 0 && t->ns[i - 1] > ns; i--)
		t->ns[i] = t->ns[i - 1];
	t->ns[i] = ns;
	t->point.ns = quantile(t, 0.5);
	t->point.min_ns = t->ns[0];
	t->point.mean_ns = gsl_stats_mean(t->ns, 1, (size_t)t->point.repeats);
	t->point.max_ns = t->ns[t->point.repeats - 1];
}

/* The standard error of a median, from the quartiles, as of a normal distribution. */
static double median_error(const struct timing *t)
{
	double spread = (quantile(t, 0.75) - quantile(t, 0.25)) / 1.349;

	return 1.2533 * spread / sqrt((double)t->point.repeats);
}

bool timing_wants_more(const struct timing *t)
{
	return t->point.repeats < SWEEP_REPEATS_MOST &&
	       quantile(t, 0.9) > WIDE * quantile(t, 0.1) && median_error(t) > KNOWN * t->point.ns;
}

double sweep_spread(const struct points *points)
{
	double *spread = xcalloc(points->n, sizeof(*spread)), median = 0;

	for (size_t i = 0; i < points->n; i++)
		spread[i] = points->at[i].max_ns / points->at[i].min_ns;
	if (points->n > 0)
		median = gsl_stats_median(spread, 1, points->n);
	free(spread);
	return median;
}
