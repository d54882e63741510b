/*
 * validate.h: what the kinds of `omnibus validate` share: options, and one run whose requests and
 * steps are kept.
 */
#ifndef SIM_VALIDATE_H
#define SIM_VALIDATE_H

#include "results/real_log.h"
#include "sim/replay.h"
#include "sim/validate_error.h"

struct validate_options {
	struct run_options run;
	const char *real, *served; /* files */
	/* the ladder */
	const char *backend, *profile;
	int64_t rounds;
	double load, budget_s;
	const char *tolerance_text;
	struct tolerance tolerance;
	/* positional: a run of --db, or a trace; NULL: none */
	const char *argument;
};

/* The requests and steps of one run. Zero it; release frees it. */
struct validate_run {
	struct record *record; /* by idx */
	size_t n, room;
	struct step_row *step; /* by (instance, end) once the run is over */
	size_t n_steps, step_room;
	struct summary summary;
	bool async;
};

/* Options of the command. 1: go on; 0: --help was printed; -1: a sentence (wrong usage). What is of
 * a run is not understood yet; release that in every case. */
int validate_parse(struct validate_options *o, int argc, char **argv, struct err *e);

/* One choice of the options, on their trace. -1: a sentence. */
int validate_replay(struct validate_run *v, const struct run_options *o, size_t choice, double rate,
		    struct err *e);
/* A run of a results database instead. */
int validate_stored(struct validate_run *v, const char *path, int64_t run_id, struct err *e);
void validate_add_record(struct validate_run *v, const struct record *r);
void validate_add_step(struct validate_run *v, const struct step_row *s);
void validate_run_release(struct validate_run *v);

/*
 * When the scheduler first chose r: the start of its first step; or, where it schedules one step
 * ahead, of the step before that one. -1: not known, as no steps were stored.
 */
int64_t validate_scheduled_ns(const struct validate_run *v, const struct record *r);

/* Kinds: each prints, and returns the exit code; on EXIT_FAILED and EXIT_USAGE a sentence. */
int validate_real(struct validate_options *o, struct err *e);
int validate_served(struct validate_options *o, struct err *e);
int validate_ladder(struct validate_options *o, int argc, char **argv, struct err *e);

/* Each request of the log, whose rows the run took in this order, beside itself: prints, and
 * returns the exit code. */
int validate_compare(const struct validate_options *o, const struct real_log *l,
		     const struct validate_run *v, struct err *e);

/* A table on stdout; the next one stands behind an empty line, but not in JSON lines. */
int validate_print(const struct validate_options *o, const struct field *fields,
		   const void *const *rows, size_t n, struct err *e);
int validate_print_next(const struct validate_options *o, const struct field *fields,
			const void *const *rows, size_t n, struct err *e);

#endif
