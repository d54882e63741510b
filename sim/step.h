/*
 * step.h: what one step of an instance computes, as executors see it. Counts, not requests.
 */
#ifndef SIM_STEP_H
#define SIM_STEP_H

#include <stdint.h>

struct step {
	int64_t prefill_tok;	  /* prompt tokens computed in this step, padding included */
	int64_t prefill_seq;	  /* sequences they belong to */
	int64_t prefill_done_seq; /* sequences whose prompt this step completes: they are sampled */
	/*
	 * Attention work of the prompts, in (query, key) pairs: the sum over sequences of
	 * q * (prior + (q + 1) / 2) for q tokens after `prior` cached ones.
	 */
	double prefill_pairs;
	int64_t decode_seq; /* sequences that decode one token, held seats of a padded batch
			       included */
	int64_t decode_ctx; /* sum of their context lengths P + g, padding included */
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
};

#endif
