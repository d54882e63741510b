/*
 * fit.h: from points to a formula with coefficients, and from a formula to a time.
 *
 * A fit is one form (form.h) of one operation: a base formula of physics (a constant, bytes over a
 * bandwidth, work over a rate), whose coefficients are found by nonlinear least squares on the
 * logarithm of times, robust against outliers; and where that pays, a correction on top: exp() of a
 * function that is linear between the knots of a grid over logarithms of sizes, by regularised
 * robust linear least squares. Beyond the grid the correction stays what it is at the edge, so that
 * there the base formula says how times grow.
 *
 * Where the points differ in one size only and the fit is for their shape alone (tokens of one
 * shape of weights), there is a curve besides: straight lines in that size between the knots of its
 * axis.
 *
 * Whether a richer form pays is decided by held-out error: points are split in k folds by group
 * (all points of a shape of weights, or a row of a table, in one fold; where there are fewer groups
 * than folds, point by point), each fold forecast from the others. A form's score is the median of
 * that forecast's error plus a quarter of its p90: what a step of many parts feels, and some of
 * what a single one does. Formulas are tried from the simplest to the richest, then the grid on
 * those within a tenth of the best of them, then curves; each replaces the best so far only where
 * its score is lower by three hundredths (of two grids the lower score wins). The figures of the
 * final fit are those of that forecast, never of training.
 *
 * More work never takes less time: the knots of a correction (and of a curve) are moved as little
 * as makes the time rise along every axis.
 */
#ifndef CALIBRATE_FIT_H
#define CALIBRATE_FIT_H

#include "calibrate/point.h"
#include <stdbool.h>

enum { FIT_COEFS = 16, FIT_AXES = 4, FIT_KNOTS = 24, FIT_RANGES = FIT_AXES + 2 };

/* Points that so many coefficients take: two each, and 8 in any case. */
size_t fit_points_least(size_t coefs);

struct coef {
	const char *name;    /* static: of the form */
	double value, error; /* its standard error */
};

/* One axis of a grid: a size (form.h names it), in log2 (0 for sizes below 1); knots rise. */
struct axis {
	const char *name; /* static */
	int n;
	double knot[FIT_KNOTS];
};

struct grid {
	int n_axes; /* 0: no correction */
	struct axis axis[FIT_AXES];
	/* at the knots, the last axis fastest: ln(time / base), of a curve ln(ns); owned */
	double *value;
	size_t n;
};

/* What was in the points: beyond it a forecast is an extrapolation. */
struct range {
	const char *name; /* of a size, static */
	double min, max;
};

struct held_out {
	int folds;
	double median, p90, max; /* of |forecast / measured - 1| */
};

struct fit {
	enum op op;
	int bits;
	const struct form *form;
	/* The shape that it holds for: sizes that are 0 are free. */
	struct point shape;
	struct coef coef[FIT_COEFS];
	int n_coefs;
	struct grid grid;
	struct range range[FIT_RANGES];
	int n_ranges;
	size_t points;
	char hash[17]; /* points_hash() of them */
	struct held_out held_out;
};

struct fit_want {
	int folds;     /* 0: 5 */
	uint64_t seed; /* of the split */
	bool no_grid;  /* base formulas alone */
};

/*
 * The best form for these points, all of one operation and bits; `shape` is copied into the fit.
 * -1: too few, degenerate (a coefficient that they do not determine), or times that are no times;
 * the sentence says which operation and what is missing. Release in the other case. `shape` and `w`
 * may be NULL: all shapes, 5 folds.
 */
int fit_make(struct fit *f, const struct points *p, const struct point *shape,
	     const struct fit_want *w, struct err *e);
void fit_release(struct fit *f);

/* ns at these sizes; > 0, finite. */
double fit_ns(const struct fit *f, const struct point *at);
/*
 * The share of fit_ns() that is a pass over the activations before a GEMM (fp8: they are
 * quantised): the term that the formula has for it, and its constant beyond t0_ns, that of a GEMM
 * without such a pass. 0: the formula has no such term.
 */
double fit_pass_share(const struct fit *f, const struct point *at, double t0_ns);
/* The constant of its formula; INFINITY: it has none. */
double fit_t0_ns(const struct fit *f);
/* Whether all sizes lie within the range of the points (a twentieth beyond is within). */
bool fit_inside(const struct fit *f, const struct point *at);

/*
 * The tools beneath, for tests and forms.
 *
 * Weighted robust linear least squares (bisquare weights, iterated; gsl_multifit_robust): n rows of
 * p columns, row-major. -1: rank-deficient or fewer rows than columns, and the sentence names the
 * column.
 */
int fit_linear(const double *rows, const double *y, size_t n, size_t p, double *coef, double *error,
	       struct err *e);

#endif
