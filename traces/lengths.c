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

/* For the ends of rounding: k comes of [k - 1/2, k + 1/2). */
void lengths_uniform(struct lengths *l, int64_t lo, int64_t hi, int64_t max)
{
	for (int i = 0; i <= LENGTHS_CELLS; i++) {
		double p = gsl_cdf_ugaussian_P(score(i));
		double tok = (double)lo - 0.5 + p * (double)(hi - lo + 1);
		l->tok[i] = cut(tok, hi < max ? hi : max);
	}
}

void lengths_zipf(struct lengths *l, int64_t lo, int64_t hi, double exponent, int64_t max)
{
	double sum = 0, below = 0, weight = 1;
	for (int64_t rank = 1; rank <= hi - lo + 1; rank++)
		sum += pow((double)rank, -exponent);
	int64_t rank = 1;
	for (int i = 0; i <= LENGTHS_CELLS; i++) {
		double wanted = gsl_cdf_ugaussian_P(score(i)) * sum;
		while (below + weight < wanted && rank < hi - lo + 1) {
			below += weight;
			weight = pow((double)++rank, -exponent);
		}
		double tok = (double)(lo + rank - 1) - 0.5 + fmin(1, (wanted - below) / weight);
		l->tok[i] = cut(tok, hi < max ? hi : max);
	}
}
