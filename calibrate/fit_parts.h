/*
 * fit_parts.h: the parts of fit_make(): weights, base formulas, folds.
 */
#ifndef CALIBRATE_FIT_PARTS_H
#define CALIBRATE_FIT_PARTS_H

#include "calibrate/fit.h"
#include "calibrate/form.h"

/* 1.4826 x the median of |r|: the standard deviation where r is normal, whatever outliers do. */
double fit_spread(const double *residual, size_t n);
/* Weights for the next round of least squares. Huber: far points count as near ones at their
 * distance do; bisquare: very far ones do not count. */
void fit_weights_huber(const double *residual, size_t n, double *weight);
void fit_weights_bisquare(const double *residual, size_t n, double *weight);

/* "gemm, 16 bits": what a sentence begins with. */
const char *fit_subject(const struct point *at, char subject[64]);

/*
 * Coefficients of a base formula: nonlinear least squares of ln(base / ns) over ln coef, robust.
 * `warm`: values to start from; NULL: the form's guess, in full rounds. -1: too few points or a
 * coefficient that they do not determine.
 */
int fit_base(struct fit *f, const struct points *p, const double *warm, struct err *e);

/* Replaces f->grid by the correction of f's base formula for these points; false: there is none. */
bool fit_correct(struct fit *f, const struct points *p);

/* The curve of a form without formula, through the points' one varying size. */
int fit_curve(struct fit *f, const struct points *p, struct err *e);
double fit_curve_ns(const struct fit *f, const struct point *at);

/* fold[i] of each point, 0 .. the returned number - 1; groups of points stay together. */
int fit_split(const struct form *f, const struct points *p, int folds, uint64_t seed, int *fold);

/* Median, p90 and maximum of errors, which are sorted. */
struct held_out fit_figures(double *errors, size_t n, int folds);

#endif
