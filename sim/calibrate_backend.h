/*
 * calibrate_backend.h: `omnibus calibrate` on a backend: the sweep with its signals and progress,
 * and what is printed of it.
 */
#ifndef SIM_CALIBRATE_BACKEND_H
#define SIM_CALIBRATE_BACKEND_H

#include "calibrate/sweep.h"
#include "results/store_points.h"
#include "sim/calibrate_options.h"

/*
 * calibrate_backend() on this backend, without --check. SIGINT, SIGTERM and SIGHUP end the sweep:
 * what was timed is in the database then, and there is no profile; a second one ends the program.
 */
int calibrate_on(const struct backend_ops *ops, const struct calibrate_options *o, struct err *e);

/*
 * sweep_run() over the list of this want, each point put into the store (NULL: none), with progress
 * where stderr is a terminal.
 */
int calibrate_sweep(const struct sweep_want *w, const struct backend_ops *ops,
		    struct backend *const *b, struct store_points *store, struct sweep_result *r,
		    struct err *e);

/* One line a fit, with its held-out errors; then whole steps against the sum of their parts. */
void calibrate_print_measured(FILE *out, const struct profile *p);
/* A line where repeats of the same differ so much that medians mean little. */
void calibrate_print_noise(FILE *out, const struct sweep_result *r);
/* What was left out, and why: one line each. */
void calibrate_print_left_out(FILE *out, const struct sweep_result *r);

#endif
