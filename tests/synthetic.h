/*
 * synthetic.h: points whose formula is known, for tests of fits.
 */
#ifndef TESTS_SYNTHETIC_H
#define TESTS_SYNTHETIC_H

#include "calibrate/form.h"

struct noise {
	double spread;	 /* of ln(time), normal */
	double outliers; /* so many are ten times slower */
	uint64_t seed;
};

/* Coefficients at which every term of a formula matters. */
void synthetic_truth(const struct form *f, double *coef);
/* n points at random sizes whose times are those of the formula, with noise. */
struct points synthetic_points(const struct form *f, const double *coef, size_t n,
			       const struct noise *noise);
/* One at random sizes, without time; bits are 16. */
struct point synthetic_sizes(const struct form *f, void *rng);

#endif
