/*
 * sim.h: one simulation: a trace through instances under a policy.
 *
 * sim_run() owns nothing of what it is given and keeps no state behind; several may run in threads
 * at once. Same configuration, same bytes out.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "sim/choice.h"
#include "sim/executor.h"
#include "sim/metrics.h"
#include "sim/router.h"
#include "sim/wall.h"
#include "traces/trace.h"

struct sim; /* engine.h */

/* What one instance runs on. */
struct hardware {
	const struct executor *executor;
	int64_t kv_blocks, block_tok;
	bool kv_unlimited;	/* kv_blocks stands for "more than anything needs" */
	int64_t kv_token_bytes; /* of a slot of the pool on one device; 0: unknown, moves cost no
				   time */
	int64_t kv_move_bytes;	/* of one token over all devices of the instance: what a transfer
				   carries */
	double pcie_bytes_s;
	int64_t pp;		   /* batches in flight, stages; 0 is 1 */
	const double *stage_share; /* of a step, pp of them that sum to 1; NULL: equal ones */
	/* Layers that attend to the last window_tok tokens only (0: none): window_share blocks of
	 * the pool for each block of min(slots, window_tok), beside those of the other layers,
	 * unless all layers are such (window_only). */
	int64_t window_tok, window_share;
	bool window_only;
	int64_t window_move_bytes; /* of a token within the window: kv_move_bytes is of the others
				    */
};

/* KV blocks that so much host memory holds, of one device; of unknown size: any number. */
int64_t hardware_host_blocks(const struct hardware *hw, double swap_gib);

enum max_tokens_rule { MAX_TOKENS_MODEL, MAX_TOKENS_OUTPUT, MAX_TOKENS_N };

/* A step taken by itself. */
struct step_taken {
	const struct step *step; /* with its sequences */
	int32_t instance;
	double ns;    /* what it costs; bytes that it swaps come on top */
	bool outside; /* of what was measured: an extrapolation */
};

struct sim_config {
	const struct choice *choice;
	int64_t instances; /* where not disaggregated */
	const struct router_ops *router;
	struct hardware hardware;	 /* of all instances, or the prefill ones */
	struct hardware decode_hardware; /* where disaggregated */
	double link_bytes_s;		 /* into a decode instance; 0: as its parameters say */
	int64_t context;		 /* the model's, 0: unknown */
	enum max_tokens_rule max_tokens_rule;
	int64_t max_tokens;
	int64_t max_model_len; /* 0: none */
	bool too_long_truncate;
	int64_t closed_loop; /* requests in flight; 0: arrivals as in the trace */
	bool has_sessions;   /* rows may belong to sessions: all of them are held in memory */
	bool sessions_open;  /* but arrive as recorded, not after the one before: none is held */
	int64_t queue_limit; /* an arrival that finds so many waiting is rejected; 0: none */
	int64_t timeout_ns;  /* a request not done by then after its arrival is aborted; 0: none */
	int64_t hash_block;  /* tokens a hash id of the trace stands for; 0: it has none */
	int64_t horizon_ns;  /* -1: none */
	/*
	 * NULL: simulated time. Else this clock's from the start on: what is to happen is waited
	 * for, and a step ends when the executor, which runs it, is back. One instance of one
	 * batch, nothing swapped.
	 */
	const struct wall *wall;
	bool step_by_step; /* --no-fast-forward */
	uint64_t seed;
	struct slo slo;
	bool keep_all; /* exact percentiles; memory grows with the requests */

	/* Where requests come from: 1 a row, 0 the end, -1 an error. */
	int (*next)(void *arg, struct trace_row *row, struct err *e);
	void *next_arg;

	/* Where results go, each may be NULL; -1 ends the simulation with that error. */
	int (*record)(void *arg, const struct record *r, struct err *e);
	int (*sample)(void *arg, const struct sample *s, struct err *e);
	int (*step)(void *arg, const struct step_row *r, struct err *e); /* steps.h */
	int (*bin)(void *arg, const struct histogram_bin *b, struct err *e);
	void *sink_arg;

	/*
	 * Every step as it starts. Where this is not NULL steps are taken one at a time, as where
	 * the executor runs them. -1 ends the simulation with that error.
	 */
	int (*taken)(void *arg, const struct step_taken *t, struct err *e);
	void *taken_arg;

	/* Called now and then with the simulated time and the requests ended; may be NULL. */
	void (*progress)(void *arg, int64_t now_ns, int64_t ended);
	void *progress_arg;

	/* Tests: called at every step boundary and whenever a step was started, to recount. NULL:
	 * none. */
	void (*audit)(void *arg, const struct sim *s, int32_t instance);
	void *audit_arg;
};

/* Counts that no column of the summary has. */
struct sim_counts {
	int64_t too_long_rejected, too_long_truncated;
	int64_t beyond_context; /* requests longer than the model's context, where there is no
				   max_model_len */
	int64_t queue_full;	/* rejected for queue_limit */
	int64_t raised_max_tok; /* rows whose output is above --max-tokens N: their limit is the
				   output */
	int64_t with_ids;	/* requests with hash ids, where prompts are remembered */
	int64_t events;
	bool outside; /* of what was measured: some steps' times are extrapolations */
};

/*
 * What a policy asks of the trace and the model: choice, hardware and hash_block alone decide.
 * sim_run() checks it too; before any of several runs it can be asked by itself. -1: a sentence.
 */
int sim_check(const struct sim_config *c, struct err *e);

/*
 * Fills the columns of `out` that the simulation decides (metrics, times, notes); names and
 * parameters are the caller's. -1: a sentence; then `out` means nothing.
 */
int sim_run(const struct sim_config *c, struct summary *out, struct sim_counts *counts,
	    struct err *e);

#endif
