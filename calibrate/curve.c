#include "calibrate/curve.h"
#include "sim/err.h"

void curve_init(struct curve *c, const struct curve_point *points, size_t n)
{
	CHECK(n >= 2 && n <= CURVE_PIECES + 1, "%zu points, room for %d", n, CURVE_PIECES + 1);
	c->n = n - 1;
	for (size_t i = 0; i + 1 < n; i++) {
		const struct curve_point *a = &points[i], *b = &points[i + 1];

		CHECK(b->tok > a->tok, "%g tokens after %g", b->tok, a->tok);
		c->until[i] = b->tok;
		c->slope_ns[i] = (b->ns - a->ns) / (b->tok - a->tok);
		c->at0_ns[i] = a->ns - c->slope_ns[i] * a->tok;
	}
}
