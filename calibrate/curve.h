/*
 * curve.h: values between known points: where a size lies among knots, and time by tokens compiled
 * into pieces of a straight line each.
 *
 * Between points it is blended linearly in tokens (never in their logarithm: time is nearly affine
 * in tokens, and a chord of the logarithm lies above it); beyond the ends the outer pieces go on.
 */
#ifndef CALIBRATE_CURVE_H
#define CALIBRATE_CURVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { KNOTS_MAX = 96, KNOTS_STARTS = 256 };

/* Sizes that rise, the first of them > 0. */
struct knots {
	size_t n; /* >= 2 */
	double at[KNOTS_MAX];
	double per[KNOTS_MAX]; /* 1 / the width of the interval that starts here */
	/* the first interval that reaches (1 + i % 4 / 4) x 2^(i / 4) */
	uint8_t first[KNOTS_STARTS];
};

/* 2 <= n <= KNOTS_MAX sizes that rise; CHECKs that. */
void knots_init(struct knots *k, const double *at, size_t n);

/* Which of `first` is for x: quarters of an octave from 1 on; 0 below. */
static inline size_t knots_start(double x)
{
	uint64_t bits;

	if (!(x >= 1))
		return 0;
	memcpy(&bits, &x, sizeof(bits)); /* exponent and two bits of an IEEE 754 double */
	size_t quarter = (size_t)(bits >> 50) - 4 * 1023;
	return quarter < KNOTS_STARTS ? quarter : KNOTS_STARTS - 1;
}

/*
 * The interval i that x / scale lies in: at[i] < x / scale <= at[i + 1]; beyond the ends the outer
 * ones. `per` is 1 / scale, rounded as may be: x and scale x at[i] decide.
 */
static inline size_t knots_find_scaled(const struct knots *k, double x, double scale, double per)
{
	size_t i = k->first[knots_start(x * per)];

	while (i > 0 && x <= scale * k->at[i])
		i--;
	while (i + 2 < k->n && x > scale * k->at[i + 1])
		i++;
	return i;
}

static inline size_t knots_find(const struct knots *k, double x)
{
	size_t i = k->first[knots_start(x)];

	while (i + 2 < k->n && x > k->at[i + 1])
		i++;
	return i;
}

/* How far x is in interval i: 0 at its start, 1 at its end, beyond that beyond the ends. */
static inline double knots_share(const struct knots *k, size_t i, double x)
{
	return (x - k->at[i]) * k->per[i];
}

struct curve_point {
	double tok, ns;
};

struct curve {
	struct knots knots;
	double at0_ns[KNOTS_MAX], slope_ns[KNOTS_MAX]; /* of each interval */
};

/*
 * Through n points (2 <= n <= KNOTS_MAX) whose tokens rise; CHECKs that. Nothing to release.
 */
void curve_init(struct curve *c, const struct curve_point *points, size_t n);

static inline double curve_at(const struct curve *c, double tok)
{
	size_t i = knots_find(&c->knots, tok);

	return c->at0_ns[i] + c->slope_ns[i] * tok;
}

#endif
