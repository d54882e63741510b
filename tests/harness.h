/*
 * harness.h: sim_run() on an array of rows, as tests need it: everything that comes out is
 * collected, and every step boundary and plan is audited.
 */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include "sim/sim.h"
#include "tests/audit.h"

/* Start from harness_default(); the strings and the executor stay the caller's. */
struct harness_options {
	const char *policy;		 /* the text of -p */
	const struct choice *choice;	 /* in its place where not NULL */
	const char *fixed;		 /* parameters of the executor `fixed` */
	const struct executor *executor; /* in its place where not NULL */
	int64_t instances;
	const char *router;
	int64_t kv_blocks, decode_kv_blocks, block_tok;
	int64_t token_bytes; /* of the KV of a token, on a device and over all of them */
	double pcie_bytes_s;
	int64_t pp, decode_pp;	   /* batches, stages of an instance; 0 is 1 */
	const double *stage_share; /* struct hardware */
	int64_t window_tok, window_share;
	bool window_only;
	int64_t window_token_bytes; /* window_move_bytes */
	int64_t hash_block;	    /* tokens of a hash id of the rows; 0: they have none */
	int64_t context;
	enum max_tokens_rule max_tokens_rule;
	int64_t max_tokens, max_model_len;
	bool truncate;
	int64_t closed_loop, horizon_ns;
	int64_t queue_limit, timeout_ns;
	bool sessions_open;
	double link_bytes_s;
	bool step_by_step, no_audit;
	bool steps; /* collects them */
	uint64_t seed;
	struct slo slo;
	bool histograms; /* percentiles from histograms, not from every value */
	/* Called after every audit; may be NULL. */
	void (*look)(void *arg, const struct sim *s);
	void *look_arg;
	int (*taken)(void *arg, const struct step_taken *t, struct err *e); /* sim.h */
	void *taken_arg;
	const struct wall *wall; /* sim.h */
	/* Rows from here instead of from the array; it takes a struct trace_row. */
	int (*next)(void *arg, struct trace_row *row, struct err *e);
	void *next_arg;
};

struct harness_bin {
	char metric[16];
	double low_ns, high_ns;
	int64_t count;
};

struct harness_result {
	int rc;
	struct err err;
	struct summary summary; /* run_id, policy and params filled in too */
	struct sim_counts counts;
	struct record *record; /* by idx; idx is -1 where none came */
	size_t n, n_ended;     /* places in record[]; records that came */
	struct record *ended;  /* the same in the order in which they came */
	struct sample *sample;
	size_t n_samples;
	struct harness_bin *bin;
	size_t n_bins;
	struct step_row *step; /* where asked for */
	size_t n_steps;
	size_t room_ended, room_samples, room_bins, room_steps;
	struct audit audit;
	const struct harness_options *options; /* while it runs */
};

struct harness_options harness_default(const char *policy, const char *fixed);

/*
 * Runs it. A broken configuration or a request that ends twice fails the test; an error of
 * sim_run() is rc and err. Safe in threads as long as nothing fails. harness_release() is needed.
 */
void harness_run(const struct harness_options *o, const struct trace_row *rows, size_t n,
		 struct harness_result *r);
void harness_release(struct harness_result *r);

/* Everything that came out, as text that the caller frees: for comparisons byte for byte. */
char *harness_text(const struct harness_result *r);

#endif
