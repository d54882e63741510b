/*
 * calibrate_options.h: what `omnibus calibrate` was asked for. cmd_calibrate.c fills and checks it,
 * and does --import and --show; the modes that run a backend are in cmd_calibrate_backend.c.
 */
#ifndef SIM_CALIBRATE_OPTIONS_H
#define SIM_CALIBRATE_OPTIONS_H

#include "calibrate/profile.h"
#include "sim/options.h"

struct calibrate_options {
	/* the mode: --import, --show, or --backend, with --check or without; one of the three */
	struct option_list import; /* files */
	const char *show;	   /* a path, or the name of a built-in profile */
	const char *backend;	   /* "cpu", "cuda" */
	bool check;		   /* kernels against a reference in double; times nothing */

	const char *model; /* a name or a path; NULL: no shapes of a model's own */
	int64_t tp;	   /* 1 */
	int64_t kv_bits;   /* 0: all that the backend knows */
	double budget_s;   /* of timing, 0: the backend's default */
	uint64_t seed;	   /* of inputs, and of the split into folds */
	int64_t threads;   /* 0: all */
	const char *db;	   /* points and fits as tables; NULL: none */

	const char *output;	     /* the profile, or NULL */
	const char *plot;	     /* --show: a picture, or NULL */
	const char *device;	     /* --import: a name, or a device file; --backend: may rename */
	const char *source, *server; /* of the profile; NULL: as the mode finds them */
	const char *date;	     /* YYYY-MM-DD; today in UTC where none was given */
	/* --import: the device's scope_cell_ns, of which tables of kernels say nothing; where none
	 * was given, as the device has it */
	bool scope_given;
	double scope_cell_ns;
};

/*
 * Modes --backend and --check. The options are checked for themselves, not whether backend, model
 * and files are there. Prints its result on stdout: the profile alone, where that is the output.
 * Returns the exit code: 0, or EXIT_FAILED or
 * EXIT_USAGE and a sentence.
 */
int calibrate_backend(const struct calibrate_options *o, struct err *e);

#endif
