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

struct ref_request {
	int64_t arrive_ns;		/* >= that of the one before; ignored in a closed loop */
	int64_t prompt_tok, output_tok; /* both >= 1 */
	int64_t max_tok;		/* the trace's column; 0: none */
};

enum ref_kind { REF_STATIC, REF_CONTINUOUS, REF_PAGED, REF_DISAGGREGATED };
enum ref_reserve { REF_MAX, REF_POW2, REF_ORACLE };
enum ref_router { REF_ROUND_ROBIN, REF_LEAST_OUTSTANDING };
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
	/* paged */
	int64_t chunk;		 /* token budget of a step, >= seats; 0: whole prompts */
	int64_t max_batched_tok; /* chunk=0 only */
	double watermark;	 /* chunk=0 only */
	bool swap;		 /* preempt=swap; else recompute. Decode instances always swap. */
};

struct ref_config {
	struct ref_policy policy; /* of the instances, or of the prefill instances */
	int64_t instances;
	enum ref_router router;
	int64_t blocks, block_tok; /* the KV pool of one instance */

	/* a step costs step_ns + prefill_tok_ns N + decode_seq_ns b + ctx_tok_ns T */
	double step_ns, prefill_tok_ns, decode_seq_ns, ctx_tok_ns;

	int64_t kv_token_bytes;
	double pcie_bytes_s;
	int64_t host_blocks; /* host memory of one instance */

	bool disaggregated;
	struct ref_policy decode; /* REF_PAGED */
	int64_t decode_instances, decode_blocks;
	double latency_ns, link_bytes_s;

	int64_t model_context; /* 0: no model */
	enum ref_max_tok max_tok_rule;
	int64_t max_tok;       /* for REF_MAX_TOK_N */
	int64_t max_model_len; /* 0: none */
	bool truncate;
	int64_t horizon_ns;  /* -1: none */
	int64_t closed_loop; /* 0: none */
	int64_t stream;	     /* tokens between deliveries, >= 1 */
	bool plan_always;    /* plan() at every boundary, and not only when it is due */
	bool keep_steps;     /* fill ref_run.step */
};

enum ref_status {
	REF_COMPLETED,
	REF_REJECTED,
	REF_UNFINISHED,
	REF_NOT_ARRIVED, /* after the horizon: not counted */
};

struct ref_outcome {
	enum ref_status status;
	int64_t arrive_ns; /* -1: not arrived */
	int64_t s_ns, f_ns, c_ns;
	int64_t output_tok; /* after truncation */
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
	int64_t prefill_tok, decode_seq, ctx; /* padding of a static batch included */
	int64_t blocks_used; /* of the instance's pool, when the step has taken its own */
};

struct ref_run {
	struct ref_outcome *outcome; /* one a request */
	size_t n;
	int64_t steps, started; /* that ended; that started */
	int64_t recomputed_tok; /* prompt tokens computed for requests preempted by recompute before
				 */
	int64_t preemptions, swaps; /* the latter are among the former */
	int64_t makespan_ns;	    /* last completion - first arrival; 0 without a completion */
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
