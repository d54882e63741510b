/*
 * form.h: the formulas that a fit chooses between, one table an operation. A new formula is one
 * entry.
 *
 * Every operation has a formula for all shapes at once, which takes its strength from all points
 * (what is peculiar to a shape is mostly noise of its few points: held out, decode attention of one
 * head configuration is forecast twice as well from all configurations as from its own points). So
 * fit_make() is called once for the points of an operation and bits; and once more with the points
 * of a single weight shape or row width where that shape was swept by itself over tokens, which
 * gives the curve through them: fit.shape has its n and k then.
 */
#ifndef CALIBRATE_FORM_H
#define CALIBRATE_FORM_H

#include "calibrate/fit.h"

struct form {
	const char *name; /* "max", "pnorm", ... unique within the operation; in profiles */
	const char *text; /* the formula, for people */
	enum op op;
	/* Names, NULL at the end; units in the name: t0_ns; per_ns: a rate. All of them are > 0
	 * (fits are in logarithms). */
	const char *coefs[FIT_COEFS + 1];
	/* ns without correction; coef[] as in coefs. NULL: a curve, straight between the knots of
	 * the one axis, for points that differ in that alone. */
	double (*base_ns)(const double *coef, const struct point *at);
	/* What of that is a pass over the activations alone, before the rest; NULL: nothing is. */
	double (*pass_ns)(const double *coef, const struct point *at);
	/* Where to start looking. */
	void (*guess)(double *coef, const struct points *p);
	/* Axes of the correction, names of sizes, the longest first; NULL at the end; none: no
	 * correction. And the most knots on each. */
	const char *axes[FIT_AXES + 1];
	int knots[FIT_AXES];
	/* Sizes whose range is kept; NULL at the end. */
	const char *ranges[FIT_RANGES + 1];
	/* Points of one group stay in one fold. The same in all forms of an operation. */
	uint64_t (*group)(const struct point *at);
};

/* All forms of an operation, the simplest first; n is set to their number. */
const struct form *const *form_list(enum op op, size_t *n);
/* How many coefficients it has. */
size_t form_coefs(const struct form *f);
/* Points that the simplest form of an operation takes; of one without forms, 8. */
size_t form_points_least(enum op op);
/* By name; NULL: none. */
const struct form *form_find(enum op op, const char *name);

/*
 * A size by its name: a field of a point, or "decode_len" (mean context of a sequence) and "group"
 * (query heads of a KV head). CHECKs that the name is known.
 */
double form_size(const char *size, const struct point *at);
/* Sets it in a point. More sequences (decode_seq) are as long as they were, more KV heads have as
 * many query heads each. */
void form_place(const char *size, double value, struct point *at);
/* The name itself, static, for names that were read from a file; NULL: no size. */
const char *form_size_name(const char *size);

/* Work of one operation at these sizes, of which formulas are made. */
double work_gemm_bytes(const struct point *at); /* weight, activations in and out */
double work_gemm_flops(const struct point *at);
double work_prefill_flops(const struct point *at); /* causal, over prior tokens too */
double work_prefill_bytes(const struct point *at); /* cached keys and values of prior tokens */
double work_decode_bytes(const struct point *at);  /* cached keys and values */
/* of one sequence, as much as the longest has beyond the mean */
double work_uneven_bytes(const struct point *at);
double work_rows_bytes(const struct point *at);	     /* norm, rope, act, embed, sample */
double work_allreduce_bytes(const struct point *at); /* over the link of one device, of a ring */
double work_copy_bytes(const struct point *at);

#endif
