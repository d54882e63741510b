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
 * A decode step of `b` sequences with `ctx` summed context takes step_ns + ctx_ns * ctx + window_ns
 * * (summed context within the window), for every ctx <= ctx_max. Nothing else may enter it: k
 * steps then have a closed form.
 */
struct decode_cost {
	double step_ns, ctx_ns, window_ns;
	int64_t ctx_max; /* the piece of the cost model ends here; INT64_MAX: never */
};

struct executor;

struct executor_ops {
	const char *name, *summary;
	const char *times; /* what its times are: "fixed", "predicted" or "measured" */
	/* Any step. >= 0, finite. A pure decode step gives exactly what decode() does. */
	double (*step_ns)(const struct executor *x, const struct step *s);
	/* The affine piece that holds for b sequences from summed context `ctx` on. */
	void (*decode)(const struct executor *x, int64_t b, int64_t ctx, struct decode_cost *c);
	void (*free)(struct executor *x);
};

/* The first member of every executor's own struct. */
struct executor {
	const struct executor_ops *ops;
	const char *notes; /* what the results must say beside the times ("roofline"), or "" */
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
