/*
 * executor.h: how long a step takes. Simulated executors only look things up; they hold no state
 * that a step changes, so one can serve several instances and threads.
 *
 * All times are double nanoseconds, unrounded; the engine rounds the end of a step, in one place.
 */
#ifndef SIM_EXECUTOR_H
#define SIM_EXECUTOR_H

#include "sim/err.h"
#include "sim/param.h"
#include "sim/step.h"

/*
 * The sequences of a decode step. From one step to the next of the same sequences ctx grows by seq,
 * and window_ctx by window_seq, as long as that holds. The longest grows by one, as their mean
 * does: by how much it exceeds that mean stays the same, and may enter step_ns.
 */
struct decode_batch {
	int64_t seq, ctx;   /* sequences; the sum of their contexts */
	int64_t window_seq; /* those whose context is below the model's sliding window; 0 without */
	int64_t window_ctx; /* the sum of min(context, window); 0 without */
	int64_t longest;    /* context; 0 where the executor does not ask */
};

/*
 * A decode step takes step_ns + ctx_ns * ctx + window_ns * window_ctx, for this batch and as it
 * grows, while ctx <= ctx_max. Nothing else may enter it: k steps then have a closed form.
 */
struct decode_cost {
	double step_ns, ctx_ns, window_ns;
	int64_t ctx_max; /* the piece of the cost model ends here; INT64_MAX: never */
	bool outside;	 /* the piece lies beyond what was measured: an extrapolation */
};

struct executor;

struct executor_ops {
	const char *name, *summary;
	const char *times; /* what its times are: "fixed", "predicted" or "measured" */
	/*
	 * It runs each step, or looks it up as it was run: steps are taken one at a time, with
	 * step.seqs, on one thread, and there is no decode(). It may have state.
	 */
	bool runs;
	/*
	 * Any step. >= 0, finite. A pure decode step gives exactly what decode() does. Where it
	 * runs, it can fail: then it is negative, and executor.failure says why.
	 */
	double (*step_ns)(const struct executor *x, const struct step *s);
	/* The affine piece that holds for these sequences from now on. */
	void (*decode)(const struct executor *x, const struct decode_batch *b,
		       struct decode_cost *c);
	/*
	 * Whether step_ns() of it lies beyond what was measured. NULL: never. Where it runs, it is
	 * asked of the step that was taken last.
	 */
	bool (*outside)(const struct executor *x, const struct step *s);
	void (*free)(struct executor *x);
};

/* The first member of every executor's own struct. */
struct executor {
	const struct executor_ops *ops;
	const char *notes; /* what the results must say beside the times ("roofline"), or "" */
	bool longest;	   /* it asks for the longest context of a decode step */
	const struct err *failure; /* where it runs: its own, the same place all its life */
};

/*
 * `fixed:step_ns=..,prefill_tok_ns=..,decode_seq_ns=..,ctx_tok_ns=..`: a step takes step_ns +
 * prefill_tok_ns x prompt tokens + decode_seq_ns x decoding sequences + ctx_tok_ns x their context.
 * `text` is what follows "fixed:", or NULL. Returns NULL and a sentence for bad parameters. The
 * canonical text of the parameters goes to `canon` (PARAM text form), to be stored with the
 * results.
 */
struct executor *executor_fixed_new(const char *text, char *canon, size_t canon_size,
				    struct err *e);
void executor_free(struct executor *x);

#endif
