/*
 * profile_fit.h: from points to the parts of a profile.
 *
 * One fit for all points of an operation and bits; and a curve for each shape of weights (GEMM) or
 * width of rows that was swept by itself over tokens, where there are few of those: of a grid of
 * shapes what is peculiar to one is mostly noise (form.h).
 */
#ifndef CALIBRATE_PROFILE_FIT_H
#define CALIBRATE_PROFILE_FIT_H

#include "calibrate/profile.h"

enum {
	CURVES_MAX = 32,      /* shapes of an operation and bits; more are a grid */
	CURVE_POINTS_MIN = 12 /* tokens that a shape was measured at */
};

/*
 * Adds the fits of all operations among the points but OP_STEP, in the order of enum op, 16 bits
 * first, curves behind their operation. -1: points of an operation make no fit; the sentence says
 * which.
 */
int profile_fit(struct profile *p, const struct points *points, const struct fit_want *w,
		struct err *e);

/*
 * Whether a profile can do without an operation and bits whose points make no fit; `why` is the
 * sentence, which names both.
 */
typedef bool profile_spare(void *arg, enum op op, int bits, const char *why);

/* profile_fit() that leaves out what can be spared (NULL: nothing): no fit of it is added, of no
 * shape. */
int profile_fit_sparing(struct profile *p, const struct points *points, const struct fit_want *w,
			profile_spare *spare, void *arg, struct err *e);

/* The fit that profile_ns() asks; NULL: none. */
const struct fit *profile_find(const struct profile *p, const struct point *at);

/*
 * Coefficients of whole steps (struct whole_steps) from points of OP_STEP, by least squares on
 * relative errors, none below 0: of prefill steps, of decode steps, in two pieces by the number of
 * sequences where that forecasts held-out steps better by a fifth, and the share of a mixed step.
 * -1: too few or degenerate.
 */
int profile_fit_steps(struct whole_steps *s, const struct points *points, const struct fit_want *w,
		      struct err *e);

/* ns of a step by them; S the sum of squares. What `predict` computes. */
double whole_steps_ns(const struct whole_steps *s, const struct point *at);

/* Adds it to the profile's own. */
void profile_add_steps(struct profile *p, const struct whole_steps *s);

#endif
