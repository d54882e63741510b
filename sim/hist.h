/*
 * hist.h: a log-linear histogram of non-negative doubles (ns): 512 bins an octave, so that the
 * middle of a bin is within 0.1% of every value in it. Values below 1 fall in bin 0, which counts
 * as 0.
 */
#ifndef SIM_HIST_H
#define SIM_HIST_H

#include <stdint.h>

enum { HIST_BINS_AN_OCTAVE = 512, HIST_OCTAVES = 63 };

struct hist {
	int64_t zero;		       /* values < 1 */
	int64_t *octave[HIST_OCTAVES]; /* allocated where something fell */
	int64_t n;
};

void hist_add(struct hist *h, double value, int64_t count);

/*
 * Adds step + slope * (ctx + b (j - 1)) for each j of [first, last], `count` times each: exactly
 * the bins that adding them one by one gives, in time of the number of bins. step, slope, b >= 0.
 */
void hist_add_run(struct hist *h, double step, double slope, int64_t ctx, int64_t b, int64_t first,
		  int64_t last, int64_t count);

/* The p-th percentile (integer 0..100) with rank (n-1)p as for order statistics; NaN if empty. */
double hist_percentile(const struct hist *h, int64_t p);

/* Calls back for every bin that holds something, from the lowest: values in [low, high). */
void hist_each(const struct hist *h, void (*bin)(void *arg, double low, double high, int64_t count),
	       void *arg);
void hist_release(struct hist *h);

#endif
