/*
 * arrivals.h: times of arrival drawn at random, or evenly spaced, at a mean rate that may go up and
 * down.
 *
 * Gaps are independent draws of one distribution. Where the rate changes, a gap is stretched or
 * squeezed by it: it lasts until the integral of the relative rate has reached the gap drawn
 * (for Poisson gaps that is the inhomogeneous Poisson process, exactly). Two changes may be on
 * at once, and multiply; each keeps the mean rate, over many bursts and over whole days.
 */
#ifndef TRACES_ARRIVALS_H
#define TRACES_ARRIVALS_H

#include "sim/err.h"
#include <gsl/gsl_rng.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum arrivals_kind {
	ARRIVALS_POISSON, /* exponential gaps */
	ARRIVALS_GAMMA,	  /* of shape 1 / cv^2 */
	ARRIVALS_WEIBULL, /* of the shape k with Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 = 1 + cv^2 */
	ARRIVALS_CONSTANT,
	N_ARRIVALS,
};
extern const char *const arrivals_names[N_ARRIVALS + 1]; /* ends with NULL */

/* Zero it, fill in what is wanted. Nothing is kept of it. */
struct arrivals_spec {
	enum arrivals_kind kind;
	double rate_rps; /* the mean, above 0 */
	double cv;	 /* of gamma and Weibull gaps, 0.01 to 100 */
	/*
	 * burst > 1: phases of exponential length, on for burst_on_s on average and off for the
	 * rest of burst_period_s; the rate in a phase that is on is `burst` times that in one that
	 * is off. The state at 0 is random.
	 */
	double burst, burst_on_s, burst_period_s;
	/*
	 * day_s > 0: the rate is 1 + swing sin(2 pi t / day_s), in steps of 1/288 of a day; or
	 * follows `day`, n_day numbers not below 0, not all 0, for equal parts of it.
	 */
	double day_s, swing;
	const double *day;
	size_t n_day;
	bool gap_first;	    /* the first arrival is a gap after 0, not at 0 */
	const char *stream; /* of random numbers; NULL: "arrival" */
};

struct arrivals {
	gsl_rng *gaps, *phases;
	enum arrivals_kind kind;
	double gap_ns, shape, scale_ns;
	int64_t n, now_ns;
	/* the relative rate: burst_level x day[part]; what is left of either is INFINITY without */
	bool varies, on;
	double level[2], phase_ns[2], phase_left_ns; /* off and on */
	double *day, part_ns, part_left_ns;
	size_t n_day, part;
};

/* -1: a sentence that begins with `owner`. arrivals_release() is needed after success only. */
int arrivals_init(struct arrivals *a, const struct arrivals_spec *spec, uint64_t seed,
		  const char *owner, struct err *e);
void arrivals_release(struct arrivals *a);

/* The next time, ns, never before the last one; -1: it is beyond NUMBER_NS_MAX. */
int64_t arrivals_next(struct arrivals *a);

/* The shape of Weibull gaps of this coefficient of variation, 0.01 to 100. */
double arrivals_weibull_shape(double cv);

#endif
