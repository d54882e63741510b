/* profile_steps.h: fits of whole steps; within profile_steps.c and profile_mixed.c. */
#ifndef CALIBRATE_PROFILE_STEPS_H
#define CALIBRATE_PROFILE_STEPS_H

#include "calibrate/profile_fit.h"

enum { TERMS = 3 };

/* 1 and, of prefill, N and S; of decode, context and sequences. */
void steps_terms(const struct point *p, double term[TERMS]);
double steps_sum(const double coef[TERMS], const double term[TERMS]);
bool steps_kind(const struct point *p, bool prefill, bool decode);
size_t steps_count(const struct points *points, bool prefill, bool decode);
/* Folds of equal size, at random. */
void steps_deal(int *fold, size_t n, const struct fit_want *w);
/* Sorts the errors. */
void steps_summarize(double *errors, size_t n, int folds, struct held_out *h);

/* mixed_share and what it forecasts; 1 without mixed steps. The other coefficients are there. */
void steps_fit_mixed(struct whole_steps *w, const struct points *points,
		     const struct fit_want *want);

#endif
