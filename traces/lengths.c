/* lengths.c: see lengths.h. */
#include "traces/lengths.h"
#include <gsl/gsl_cdf.h>
#include <math.h>

static double cut(double tok, int64_t max)
{
	if (!(tok > 1))
		return 1;
	return tok < (double)max ? tok : (double)max;
}

static double score(int i)
{
	return (2.0 * i / LENGTHS_CELLS - 1) * LENGTHS_Z_MAX;
}

void lengths_fixed(struct lengths *l, int64_t tok, int64_t max)
{
	for (int i = 0; i <= LENGTHS_CELLS; i++)
		l->tok[i] = cut((double)tok, max);
}

void lengths_lognormal(struct lengths *l, double mu, double sigma, int64_t max)
{
	for (int i = 0; i <= LENGTHS_CELLS; i++)
		l->tok[i] = cut(exp(mu + sigma * score(i)), max);
}

void lengths_knots(struct lengths *l, const struct knot *knots, size_t n, int64_t max)
{
	size_t k = 1; /* the knot at or after p */
	for (int i = 0; i <= LENGTHS_CELLS; i++) {
		double p = gsl_cdf_ugaussian_P(score(i));
		while (k < n - 1 && knots[k].p < p)
			k++;
		double part = (p - knots[k - 1].p) / (knots[k].p - knots[k - 1].p);
		l->tok[i] = cut(knots[k - 1].tok + part * (knots[k].tok - knots[k - 1].tok), max);
	}
}
