#include "calibrate/curve.h"
#include "sim/err.h"
#include <math.h>

void knots_init(struct knots *k, const double *at, size_t n)
{
	CHECK(n >= 2 && n <= KNOTS_MAX, "%zu knots, room for %d", n, KNOTS_MAX);
	k->n = n;
	memcpy(k->at, at, n * sizeof(*at));
	for (size_t i = 0; i + 1 < n; i++) {
		CHECK(at[i] > 0 && at[i + 1] > at[i], "%g after %g", at[i + 1], at[i]);
		k->per[i] = 1 / (at[i + 1] - at[i]);
	}
	k->per[n - 1] = 0;
	for (size_t start = 0, i = 0; start < KNOTS_STARTS; start++) {
		double from = ldexp(1 + (double)(start % 4) / 4, (int)(start / 4));

		while (i + 2 < n && at[i + 1] < from)
			i++;
		k->first[start] = start == 0 ? 0 : (uint8_t)i; /* the first has all below 1, too */
	}
}

void curve_init(struct curve *c, const struct curve_point *points, size_t n)
{
	double tok[KNOTS_MAX];

	CHECK(n >= 2 && n <= KNOTS_MAX, "%zu points, room for %d", n, KNOTS_MAX);
	for (size_t i = 0; i < n; i++)
		tok[i] = points[i].tok;
	knots_init(&c->knots, tok, n);
	for (size_t i = 0; i + 1 < n; i++) {
		const struct curve_point *a = &points[i], *b = &points[i + 1];

		c->slope_ns[i] = (b->ns - a->ns) / (b->tok - a->tok);
		c->at0_ns[i] = a->ns - c->slope_ns[i] * a->tok;
	}
}
