/*
 * reference.h: a slow simulator written from sim/SEMANTICS.md and from nothing else, to be compared
 * with the engine. It moves one token at a time through plain arrays, shares no code with the
 * engine, and has no closed-form jumps. It counts everything anew after every event and aborts on a
 * broken invariant.
 *
 * Times are integer nanoseconds; -1 stands for "never" or "none". Everything here is read by
 * reference_run() only; one run touches nothing outside its own memory, so runs may go on in
 * threads.
 */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include <gsl/gsl_rng.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { REF_HASHES = 40 };

struct ref_request {
	int64_t arrive_ns;		/* >= that of the one before; ignored in a closed loop */
	int64_t prompt_tok, output_tok; /* both >= 1 */
	int64_t max_tok;		/* the trace's column; 0: none */
	int64_t priority;
	int64_t session;  /* 0: none */
	int64_t think_ns; /* after the session's request before this one; -1 in its first */
	int64_t hash_n;
	uint64_t hash[REF_HASHES]; /* ref_config.hash_block tokens each */
};

/* An initialiser: of no session, priority 0, without hash ids. */
#define REF(arrive, prompt, output, max)                                                           \
	{                                                                                          \
		.arrive_ns = (arrive), .prompt_tok = (prompt), .output_tok = (output),             \
		.max_tok = (max), .think_ns = -1                                                   \
	}

enum ref_kind { REF_STATIC, REF_CONTINUOUS, REF_PAGED, REF_DISAGGREGATED };
enum ref_reserve { REF_MAX, REF_POW2, REF_ORACLE };
enum ref_order { REF_FCFS, REF_SJF, REF_LJF, REF_PRIORITY };
enum ref_router { REF_ROUND_ROBIN, REF_LEAST_OUTSTANDING, REF_LEAST_KV };
enum ref_max_tok { REF_MAX_TOK_MODEL, REF_MAX_TOK_OUTPUT, REF_MAX_TOK_N };

/* What one instance runs. */
struct ref_policy {
	enum ref_kind kind; /* not REF_DISAGGREGATED */
	int64_t seats;	    /* static: size; else max_seqs */
	/* static */
	int64_t wait_ns;
	bool reply_batch;
	/* continuous */
	enum ref_reserve reserve;
	bool buddy; /* alloc=buddy */
	/* paged */
	int64_t chunk;		 /* token budget of a step, >= seats; 0: whole prompts */
	int64_t max_batched_tok; /* chunk=0 only */
	double watermark;	 /* chunk=0 only */
	bool swap;		 /* preempt=swap; else recompute. Decode instances always swap. */
	bool mixed;		 /* chunk=0 only */
	int64_t max_paddings;	 /* chunk=0 only; -1: off */
	bool prefix;		 /* not with swap */
	enum ref_order order;
	double predict_error;
};

struct ref_config {
	struct ref_policy policy; /* of the instances, or of the prefill instances */
	int64_t instances;
	enum ref_router router;
	int64_t blocks, block_tok; /* the KV pool of one instance */

	/* a step costs step_ns + prefill_tok_ns N + decode_seq_ns b + ctx_tok_ns T
	 * + window_tok_ns Tw */
	double step_ns, prefill_tok_ns, decode_seq_ns, ctx_tok_ns, window_tok_ns;
	double host_us, host_seq_us;
	bool async;
	int64_t pp, decode_pp; /* batches of an instance; 0 is 1 */

	/* Layers of which each attends to the last window_tok tokens: window_share blocks of theirs
	 * for a block of those tokens. window_tok 0: there are none. */
	int64_t window_tok, window_share;
	bool window_only;	    /* there are no other layers */
	int64_t window_token_bytes; /* of the windowed layers; kv_token_bytes are the others' */

	int64_t kv_token_bytes;
	double pcie_bytes_s;
	int64_t host_blocks; /* host memory of one instance */

	bool disaggregated;
	struct ref_policy decode; /* REF_PAGED */
	int64_t decode_instances, decode_blocks;
	double latency_ns, link_bytes_s;
	bool ttft_decode; /* the first token is the decode instance's */

	int64_t model_context; /* 0: no model */
	enum ref_max_tok max_tok_rule;
	int64_t max_tok;       /* for REF_MAX_TOK_N */
	int64_t max_model_len; /* 0: none */
	bool truncate;
	int64_t horizon_ns;  /* -1: none */
	int64_t closed_loop; /* 0: none */
	int64_t queue_limit; /* 0: none */
	int64_t timeout_ns;  /* 0: none */
	bool sessions_open;
	int64_t hash_block; /* tokens a hash id; 0: there are none */
	uint64_t seed;
	int64_t stream;	  /* tokens between deliveries, >= 1 */
	bool plan_always; /* plan() at every boundary, and not only when it is due */
	bool keep_steps;  /* fill ref_run.step */
};

enum ref_status {
	REF_COMPLETED,
	REF_REJECTED,
	REF_UNFINISHED,
	REF_ABORTED,
	REF_NOT_ARRIVED, /* after the horizon: not counted */
};

struct ref_outcome {
	enum ref_status status;
	int64_t arrive_ns; /* -1: not arrived */
	int64_t s_ns, f_ns, c_ns;
	int64_t output_tok; /* after truncation */
	int64_t cached_tok; /* found at the first admission */
	int64_t preemptions;
	int64_t instance;	 /* where it arrived; -1: rejected or not arrived */
	int64_t decode_instance; /* which one pulled it; -1: none */
	int64_t max_gap_ns;	 /* between deliveries; 0 with fewer than two of them */
	int64_t *token_ns; /* end of the step (static reply=batch: of the batch) of each token */
	int64_t tokens;	   /* how many of them there are */
};

/* A step that ended. Instances count on: decode instances come after the prefill instances. */
struct ref_step {
	int64_t instance, start_ns, end_ns;
	int64_t batch;
	int64_t prefill_tok, decode_seq, ctx, window_ctx; /* padding included */
	int64_t moved_blocks;
	int64_t blocks_used; /* of the instance's pool, when the step has taken its own */
};

/* How often something happened, so that a test of nothing is noticed. */
struct ref_seen {
	int64_t evictions;     /* identities forgotten */
	int64_t shared_blocks; /* found at an admission, held by somebody */
	int64_t found_blocks;
	int64_t paddings;      /* steps with padded prompts */
	int64_t mixed_steps;   /* of whole prompts and decodes */
	int64_t order_changes; /* requests that went before an earlier one */
	int64_t queue_limited, follow_ups;
	int64_t stage_waits;	/* steps that a stage was not free for */
	int64_t share_refusals; /* by a batch that has its share */
	int64_t aborted_waiting, aborted_swapped, aborted_ready, aborted_moving, aborted_running,
		aborted_held;
	int64_t saved_by_last_step;	 /* due to be aborted, but done at the end of the step */
	int64_t late_sights, late_seats; /* plans that did not see a request, or had no seat, yet */
	int64_t host_steps;		 /* steps that the host was slower than, async */
	int64_t window_turns;		 /* runs ended since a context reached the window */
	int64_t buddy_refusals;		 /* enough free blocks, but no chunk */
	int64_t buddy_merges;
};

struct ref_run {
	struct ref_outcome *outcome; /* one a request */
	size_t n;
	int64_t steps, started;	    /* that ended; that started */
	int64_t recomputed_tok;	    /* tokens prefilled that were prefilled or delivered before
				     */
	int64_t preemptions, swaps; /* the latter are among the former */
	struct ref_seen seen;
	int64_t makespan_ns; /* last completion - first arrival; 0 without a completion */
	struct ref_step *step;
	size_t step_n, step_size;
	bool stuck; /* nothing is left to happen, or too much happened, but requests wait */
};

/* The caller releases `run`. */
void reference_run(const struct ref_config *cfg, const struct ref_request *req, size_t n,
		   struct ref_run *run);
void reference_release(struct ref_run *run);

/*
 * A tiny random case of one kind: small blocks and pools, ties, rejections, preemptions, swaps,
 * several instances, horizons and closed loops now and then. The caller frees *req.
 */
void reference_random_case(gsl_rng *rng, enum ref_kind kind, struct ref_config *cfg,
			   struct ref_request **req, size_t *n);
/* The configuration, then a line a request with its outcome (run may be NULL). */
void reference_print_case(FILE *out, const struct ref_config *cfg, const struct ref_request *req,
			  size_t n, const struct ref_run *run);

#endif
