/*
 * replay.h: one run of `omnibus run`: one policy at one rate, on a trace of its own, stored on its
 * own.
 */
#ifndef SIM_REPLAY_H
#define SIM_REPLAY_H

#include "results/run_info.h"
#include "results/store.h"
#include "sim/run_options.h"
#include <stdatomic.h>

struct replay {
	/* given */
	const struct run_options *options;
	const struct choice *choice;
	double rate; /* NaN: arrivals as recorded, or as the other options say */
	bool show_progress;
	/* where records and steps go, without --db; each may be NULL */
	int (*record)(void *arg, const struct record *r, struct err *e);
	int (*step)(void *arg, const struct step_row *s, struct err *e);
	void *sink_arg;

	/* while it goes on, for whoever shows progress */
	_Atomic double fraction; /* of the trace that was read */
	_Atomic int64_t now_ns, ended;

	/* found */
	int result; /* 0, or -1 and err */
	struct err err;
	struct summary summary;
	struct run_info info;
	struct sim_counts counts;
	struct trace_counts trace;
	struct store *store; /* with --db: to be committed or closed by the caller */
	char started[32];
	double wall_s;
};

/* Whether a choice has the hardware that it needs: before any of several runs. -1: a sentence. */
int replay_check(const struct run_options *o, const struct choice *choice, struct err *e);

/*
 * The same of the trace, for several runs: whether all choices can use its hash ids, and every rate
 * ends within the range of times. What that takes to know is kept for the runs. -1: a sentence.
 */
int replay_check_trace(struct run_options *o, struct err *e);

/* Runs it to its end, or to an error; nothing is visible in a database yet. */
void replay_run(struct replay *r);

/* Makes it visible in its database (a no-op without one). -1: a sentence. */
int replay_commit(struct replay *r, struct err *e);
void replay_release(struct replay *r);

#endif
