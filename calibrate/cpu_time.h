/*
 * cpu_time.h: one operation of one layer, timed.
 */
#ifndef CALIBRATE_CPU_TIME_H
#define CALIBRATE_CPU_TIME_H

#include "calibrate/cpu_step.h"

/* backend_ops.step and .time, on a step's own memory. */
int cpu_time_step(struct cpu_step *s, const struct backend_seq *seqs, size_t n, double *ns,
		  struct err *e);
int cpu_time(struct cpu_step *s, const struct point *p, double *ns, struct err *e);

/*
 * The sequences of a point, prompts first, all sampled: n is set to their number. A decoding
 * sequence attends to its own token too, so that a context of c is 1 after c - 1; the longest is
 * `longest`, the others share the rest evenly. -1: sizes that cannot be. The caller frees *seqs.
 */
int cpu_time_seqs(const struct point *p, struct backend_seq **seqs, size_t *n, struct err *e);

#endif
