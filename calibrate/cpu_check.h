/*
 * cpu_check.h: the kernels of the backend "cpu" against the reference in double precision.
 *
 * Errors are the largest difference over the root mean square of what was to come out.
 */
#ifndef CALIBRATE_CPU_CHECK_H
#define CALIBRATE_CPU_CHECK_H

#include "calibrate/cpu_step.h"
#include "calibrate/reference.h"
#include <gsl/gsl_rng.h>

/* backend_ops.check */
int cpu_check(uint64_t seed, void (*say)(void *arg, const char *line), void *arg, struct err *e);

/* What checks report to. */
struct cpu_report {
	void (*say)(void *arg, const char *line);
	void *arg;
	struct err *e;
	bool failed;
	gsl_rng *rng; /* of sizes */
	uint64_t seed;
};

/* One line; the first kernel that is beyond its bound is the sentence. */
void cpu_report(struct cpu_report *r, const char *kernel, const char *sizes, double error,
		double bound);
/* A number from 0 on. */
int64_t cpu_report_below(struct cpu_report *r, int64_t n);

/* By the loops of one instruction set. */
void cpu_check_rows(struct cpu_report *r, const struct cpu_kernels *k);
void cpu_check_attention(struct cpu_report *r, const struct cpu_kernels *k);

double cpu_check_error(const float *got, const double *want, int64_t n);

/*
 * A cached number of a token of a sequence, from the arrays of the pool by the layout that cpu_kv.h
 * states, not by the pool's own functions. Of 4 and 2 bits, what is coded.
 */
double cpu_check_number(const struct cpu_kv *kv, int kind, int64_t layer, const struct cpu_seq *s,
			int64_t kv_head, int64_t tok, int64_t channel, double *scale);

/*
 * The error of the logits of the step that has just been run, whose pool holds cached numbers as
 * they were (16 bits). `shift`: the reference finds its blocks so many places further on in the
 * order of the pool than they are; 0 but for tests that want an error.
 */
double cpu_check_logits(const struct cpu_step *s, int64_t shift);

#endif
