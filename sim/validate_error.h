/*
 * validate_error.h: how far forecasts are from measurements: pairs of both, their errors over all
 * pairs, and whether those are within a tolerance.
 *
 * An error is predicted / measured - 1: above 0, the forecast is too slow (of a throughput: too
 * high). A time that was measured as 0, by a clock too coarse for it, has no relative error: such a
 * pair is left out and counted.
 */
#ifndef SIM_VALIDATE_ERROR_H
#define SIM_VALIDATE_ERROR_H

#include "results/field.h"
#include "sim/err.h"

enum metric {
	METRIC_TTFT,	   /* arrival to first token */
	METRIC_NO_QUEUE,   /* first scheduled to first token */
	METRIC_TPOT,	   /* (last - first) / (tokens - 1) */
	METRIC_ITL,	   /* mean gap between deliveries */
	METRIC_GAP,	   /* longest gap of a request */
	METRIC_E2E,	   /* arrival to last token */
	METRIC_THROUGHPUT, /* requests a second: one pair */
	N_METRICS
};
extern const char *const metric_names[N_METRICS];

/* What a forecast may be off by; NaN: anything. */
struct tolerance {
	double mean[N_METRICS];		       /* of the means, or the throughputs */
	double p50[N_METRICS], p90[N_METRICS]; /* of |error| of a request */
	bool any, named[N_METRICS];	       /* there is one; it was given by name */
};

/*
 * `text` is one number, for the means of all metrics but max_gap, or
 * "ttft=0.05,e2e_p50=0.02,...": a metric's name for its mean, with _p50 or _p90 behind it for those
 * of |error|. NULL: none. Names that are not among those `judged` are refused; n_judged 0: all are.
 */
int tolerance_parse(struct tolerance *t, const char *text, const char *const *judged,
		    size_t n_judged, struct err *e);

/* A growing list of pairs. Zero it; release frees it. */
struct error_pairs {
	double *measured, *predicted; /* in the unit of the metric: seconds, or a second */
	size_t n, room;
	size_t zeros; /* left out: measured as 0 */
};
/* A NaN on either side: there is no such pair. */
void error_add(struct error_pairs *p, double measured, double predicted);
void error_release(struct error_pairs *p);

/* The row of a metric. */
struct error_row {
	char metric[32];
	int64_t pairs;
	double measured, predicted; /* means */
	double error;		    /* of the means */
	double signed_mean;	    /* mean of the errors of pairs; NaN where there is one */
	double abs_p50, abs_p90, abs_max;
	double tolerance; /* of the means */
	char within[8];	  /* "yes", "no"; "" where nothing was asked */
};
extern const struct field error_fields[];

/* Appends to a text of that size, after a semicolon where there is something. */
void error_say(char *outside, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* `t` may be NULL. What is outside it is said; so is a metric that it is for, and that all pairs
 * were measured as 0 of. */
void error_make(struct error_row *r, enum metric m, const struct error_pairs *p,
		const struct tolerance *t, char *outside, size_t size);

#endif
