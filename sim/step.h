/*
 * step.h: what one step of an instance computes, as executors see it. Counts, not requests.
 */
#ifndef SIM_STEP_H
#define SIM_STEP_H

#include <stdbool.h>
#include <stdint.h>

/* One sequence of a step, for executors that run it: new_tok tokens after prior_tok cached ones. */
struct step_seq {
	int64_t new_tok, prior_tok;
	bool sampled; /* a token comes out of it */
};

struct step {
	int64_t prefill_tok;	  /* prompt tokens computed in this step, padding included */
	int64_t prefill_seq;	  /* sequences they belong to */
	int64_t prefill_done_seq; /* sequences whose prompt this step completes: they are sampled */
	/*
	 * Attention work of the prompts, in (query, key) pairs: the sum over sequences of
	 * q * (prior + (q + 1) / 2) for q tokens after `prior` cached ones.
	 */
	double prefill_pairs;
	int64_t decode_seq;	/* sequences that decode one token, held seats of a padded batch
				   included */
	int64_t decode_ctx;	/* sum of their context lengths P + g, padding included */
	int64_t decode_longest; /* the longest of them, where the executor asks (executor.longest)
				 */
	/*
	 * Where some layers attend to a window of the last W tokens: the sum of min(context, W),
	 * and of the pairs within the window. Else 0.
	 */
	int64_t window_ctx;
	double window_pairs;
	/*
	 * What those prompts find in the cache and read: the sum over sequences of `prior`, and of
	 * min(prior, W) where some layers have a window.
	 */
	int64_t prefill_prior, window_prior;
	/*
	 * The sequences themselves, the prefilled ones first, where the executor asks for them
	 * (executor_ops.runs); else NULL. Padding counts as tokens.
	 */
	const struct step_seq *seqs;
	int64_t n_seqs;
};

#endif
