/*
 * form.h: the formulas that a fit chooses between, one table an operation. A new formula is one
 * entry.
 */
#ifndef CALIBRATE_FORM_H
#define CALIBRATE_FORM_H

#include "calibrate/fit.h"

struct form {
	const char *name; /* "max", "pnorm", ... unique within the operation; in profiles */
	const char *text; /* the formula, for people */
	enum op op;
	const char *coefs[FIT_COEFS + 1]; /* names, NULL at the end; units in the name: t0_ns */
	/* ns without correction. coef[] as in coefs; all of them are > 0 (fits are in logarithms).
	 */
	double (*base_ns)(const double *coef, const struct point *at);
	/* Where to start looking. */
	void (*guess)(double *coef, const struct points *p);
	/* Axes of the correction, names of sizes: NULL at the end; none: no correction. */
	const char *axes[FIT_AXES + 1];
	double (*size)(const char *axis, const struct point *at); /* > 0; also of ranges */
	/* Points of one group stay in one fold. */
	uint64_t (*group)(const struct point *at);
};

/* All forms of an operation, the simplest first; n is set to their number. */
const struct form *const *form_list(enum op op, size_t *n);
/* By name; NULL: none. */
const struct form *form_find(enum op op, const char *name);

#endif
