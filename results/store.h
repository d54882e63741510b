/*
 * store.h: the results database: one SQLite file in WAL mode, safe for many writing processes.
 *
 * Rows of a run spill into a private temporary database while it goes on; store_commit() copies
 * them in one BEGIN IMMEDIATE transaction, waiting for other writers without limit. A run is
 * visible only when it is complete; a process that is killed leaves nothing behind.
 * results/schema.sql is the documentation of the tables.
 *
 * Errors: -1 and a sentence that names the file; the database is then as it was. A file that had to
 * be created stays, without a run: another process may have it open, and what that one stores would
 * be lost with it. The next run fills it.
 */
#ifndef RESULTS_STORE_H
#define RESULTS_STORE_H

#include "results/run_info.h"
#include "results/summary.h"
#include "sim/err.h"

enum record_status { RECORD_COMPLETED, RECORD_REJECTED, RECORD_UNFINISHED, RECORD_ABORTED };

/* One request of a run. Times are ns of simulated time, -1 where it did not come to that. */
struct record {
	int64_t idx, arrive_ns, schedule_ns, first_token_ns, finish_ns;
	int64_t prompt_tok, output_tok, cached_tok, preemptions, instance;
	int64_t client, session, priority; /* of the trace, 0: none */
	double max_gap_ns;		   /* longest gap between deliveries; -1: none */
	enum record_status status;
};

/* A look at one instance: taken at planned steps, bounded in number. */
struct sample {
	int64_t t_ns, instance, running, waiting, kv_blocks;
};

enum step_kind { STEP_PREFILL, STEP_DECODE, STEP_MIXED };

/* A step that has ended, or a run of `steps` equal decode steps; counts are of the first. */
struct step_row {
	int64_t instance, batch, start_ns, end_ns, steps;
	enum step_kind kind;
	int64_t prefill_tok, decode_seq, decode_ctx, kv_blocks, moved_bytes;
};

/* One bin of a histogram: values in [low_ns, high_ns). */
struct histogram_bin {
	const char *metric; /* "itl", "ttft", ... */
	double low_ns, high_ns;
	int64_t count;
};

struct store; /* one run being stored, with a connection of its own; one thread at a time */

/* Checks that the file is ours and can be written. It is created by the commit, not before. */
struct store *store_open(const char *path, struct err *e);
int store_record(struct store *s, const struct record *r, struct err *e);
int store_sample(struct store *s, const struct sample *p, struct err *e);
int store_step(struct store *s, const struct step_row *r, struct err *e);
int store_client(struct store *s, int64_t id, const char *name, struct err *e);
int store_bin(struct store *s, const struct histogram_bin *b, struct err *e);

/*
 * Makes the run visible, and sets sum->run_id to the id it got; once, as the last thing. A field
 * that both structs have is stored as the summary has it. `wall_s` and `started` (ISO 8601, UTC)
 * are the facts about this computation itself; comparisons leave their columns out. After an error
 * nothing of the run is in the file, and where that was the file's fault (a full disk) it may be
 * called again.
 */
int store_commit(struct store *s, const struct run_info *info, struct summary *sum,
		 const char *started, double wall_s, struct err *e);

/* Without a commit before, nothing of the run remains. NULL is allowed. */
void store_close(struct store *s);

/*
 * Reading (`omnibus compare`): the runs of these ids, in this order; n == 0: all of them by id. The
 * caller frees *runs. The file must exist, and its content stays as it is. No run at all, or an id
 * that is not there, is an error that says which there are.
 */
struct stored_run {
	struct summary summary;
	struct run_info info;
};
int store_read(const char *path, const int64_t *ids, size_t n, struct stored_run **runs,
	       size_t *n_runs, struct err *e);

/*
 * The requests of one run by idx, and its steps where they were stored, each handed over; an error
 * of either ends it. A run without requests is an error that says how they are stored.
 */
struct store_taker {
	void (*record)(void *arg, const struct record *r);
	void (*step)(void *arg, const struct step_row *s);
	void *arg;
};
int store_read_requests(const char *path, int64_t run_id, const struct store_taker *to,
			struct stored_run *run, struct err *e);

#endif
