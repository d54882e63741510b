/*
 * lengths.h: a distribution of token counts as a table over normal scores: score z stands for the
 * probability Phi(z), so that two correlated normal numbers give two correlated lengths (a Gaussian
 * copula), and no distribution function is evaluated a row.
 */
#ifndef TRACES_LENGTHS_H
#define TRACES_LENGTHS_H

#include <stddef.h>
#include <stdint.h>

enum { LENGTHS_CELLS = 4096 };
#define LENGTHS_Z_MAX 6.5 /* beyond it the end of the table is taken: one row in 10^10 */

struct lengths {
	double tok[LENGTHS_CELLS + 1];
};

struct knot { /* of an empirical distribution */
	double p, tok;
};

/* What all kinds give is cut to [1, max]. */
void lengths_fixed(struct lengths *l, int64_t tok, int64_t max);
/* exp(mu + sigma z) */
void lengths_lognormal(struct lengths *l, double mu, double sigma, int64_t max);
/* Quantiles, linear in between; p rises from 0 to 1 over at least two knots, tok never falls. */
void lengths_knots(struct lengths *l, const struct knot *knots, size_t n, int64_t max);

/* Whole numbers from lo to hi, both included, 1 <= lo <= hi. */
void lengths_uniform(struct lengths *l, int64_t lo, int64_t hi, int64_t max);
/* The same, lo + r - 1 in proportion to r^-exponent (ranks, as the generators of Vidur and YCSB);
 * takes a moment for each of them. */
void lengths_zipf(struct lengths *l, int64_t lo, int64_t hi, double exponent, int64_t max);

static inline int64_t lengths_at(const struct lengths *l, double z)
{
	double x = (z + LENGTHS_Z_MAX) * (LENGTHS_CELLS / (2 * LENGTHS_Z_MAX));
	if (!(x > 0))
		x = 0;
	if (x > LENGTHS_CELLS - 1e-9)
		x = LENGTHS_CELLS - 1e-9;
	int i = (int)x;
	return (int64_t)(l->tok[i] + (x - i) * (l->tok[i + 1] - l->tok[i]) + 0.5);
}

#endif
