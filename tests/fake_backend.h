/*
 * fake_backend.h: a backend whose times are a known formula with noise, so that what is made of
 * times can be held against what they are. It takes no time itself.
 */
#ifndef TESTS_FAKE_BACKEND_H
#define TESTS_FAKE_BACKEND_H

#include "calibrate/backend.h"
#include "calibrate/point.h"

struct fake {
	double noise;	      /* standard deviation of the logarithm of a time */
	double outlier_every; /* calls, 0: none: one of so many takes ten times as long */
	double faster;	      /* than the formula; 1 */
	double rest;	      /* share of a whole step beyond its parts */
	int64_t fails_after;  /* calls; 0: never */
	int64_t raises_after; /* calls; then SIGINT comes, once; 0: never */
	enum op unknown;      /* not known to it; N_OPS: it knows all */
	int64_t most_rows;    /* of a GEMM that it has memory for; 0: any */
	int cannot_bits;      /* a cached number that it cannot do; 0: any */
	/* of this operation and bits only points that decode after so many tokens; ctx 0: all */
	struct {
		enum op op;
		int bits;
		int64_t ctx;
	} only;
	bool seen; /* its peaks are no data sheet's */
	/* what it was asked */
	int64_t calls, opened, closed, op_calls[N_OPS];
};

/* One at a time, set before a test. */
extern struct fake fake;
extern const struct backend_ops fake_backend;

/* The formula, and that of a whole step of the model `tiny`. */
double fake_ns(const struct point *p);
double fake_step_ns(const struct backend_seq *seqs, size_t n);

#endif
