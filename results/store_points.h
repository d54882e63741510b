/*
 * store_points.h: a calibration in the results database: its points as they are timed, and the fits
 * that come of them.
 *
 * Other than a run it is visible from its start: points are written in small transactions, so that
 * whatever ends the program leaves those that were timed. Points of one index replace each other,
 * as more repeats come in. Errors: -1 and a sentence that names the file.
 */
#ifndef RESULTS_STORE_POINTS_H
#define RESULTS_STORE_POINTS_H

#include "calibrate/fit.h"

/* "" is NULL. */
struct calibration_info {
	const char *backend, *device, *driver, *clocks, *model;
	int64_t tp, threads;
	double budget_s;
	int64_t seed;
	const char *started; /* ISO 8601, UTC */
};

struct store_points;

/* Can the file be written, or created? Nothing is. -1: a sentence. */
int store_points_check(const char *path, struct err *e);

/* Creates the file where it is not there, and the row of the calibration, `running`. */
struct store_points *store_points_open(const char *path, const struct calibration_info *info,
				       struct err *e);
int64_t store_points_id(const struct store_points *s);

/* Kept until there are some, or the next flush. */
int store_points_put(struct store_points *s, int64_t idx, const struct point *p, struct err *e);
int store_points_flush(struct store_points *s, struct err *e);
int store_points_fit(struct store_points *s, int64_t idx, const struct fit *f, struct err *e);

/*
 * How it ended: "complete", "interrupted" or "failed", with what was put and not yet written.
 * `profile` may be NULL.
 */
int store_points_end(struct store_points *s, const char *status, const char *profile, double wall_s,
		     struct err *e);

/* What is not written is lost. NULL is allowed. */
void store_points_close(struct store_points *s);

#endif
