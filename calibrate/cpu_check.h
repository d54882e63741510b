/*
 * cpu_check.h: the kernels of the backend "cpu" against the reference in double precision.
 *
 * Errors are the largest difference over the root mean square of what was to come out.
 */
#ifndef CALIBRATE_CPU_CHECK_H
#define CALIBRATE_CPU_CHECK_H

#include "calibrate/cpu_step.h"
#include "calibrate/reference.h"

/* backend_ops.check */
int cpu_check(uint64_t seed, void (*say)(void *arg, const char *line), void *arg, struct err *e);

double cpu_check_error(const float *got, const double *want, int64_t n);

/*
 * The error of the logits of the step that has just been run, whose pool holds cached numbers as
 * they were (16 bits). `shift`: the reference finds its blocks so many places further on in the
 * order of the pool than they are; 0 but for tests that want an error.
 */
double cpu_check_logits(const struct cpu_step *s, int64_t shift);

#endif
