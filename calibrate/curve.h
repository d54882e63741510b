/*
 * curve.h: time by tokens through known points, compiled into pieces of a straight line each.
 *
 * Between points it is blended linearly in tokens (never in their logarithm: time is nearly affine
 * in tokens, and a chord of the logarithm lies above it); beyond the ends the outer pieces go on.
 */
#ifndef CALIBRATE_CURVE_H
#define CALIBRATE_CURVE_H

#include <stddef.h>

struct curve_point {
	double tok, ns;
};

enum { CURVE_PIECES = 64 };

struct curve {
	size_t n;		    /* pieces, >= 1 */
	double until[CURVE_PIECES]; /* tokens at which a piece ends; the last has no end */
	double at0_ns[CURVE_PIECES], slope_ns[CURVE_PIECES];
};

/*
 * Through n points (2 <= n <= CURVE_PIECES + 1) whose tokens rise; CHECKs that. Nothing to release.
 */
void curve_init(struct curve *c, const struct curve_point *points, size_t n);

static inline double curve_at(const struct curve *c, double tok)
{
	size_t i = 0;

	while (i + 1 < c->n && tok > c->until[i])
		i++;
	return c->at0_ns[i] + c->slope_ns[i] * tok;
}

#endif
