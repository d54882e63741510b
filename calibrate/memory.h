/*
 * memory.h: the memory budget of one device: what is left for the KV cache. In a pipeline, of one
 * that holds a stage with most layers.
 */
#ifndef CALIBRATE_MEMORY_H
#define CALIBRATE_MEMORY_H

#include "calibrate/device.h"
#include "calibrate/model.h"

struct memory_want {
	int64_t tp, pp;	       /* devices that share each layer, stages */
	int64_t memory_bytes;  /* 0: the device's */
	double utilization;    /* share of the memory that the server may use, (0, 1] */
	int64_t reserve_bytes; /* activations, graphs, runtime; -1: memory_default_reserve() */
	int64_t block_tok;     /* slots a block */
	int64_t kv_bits;       /* 16, 8, 4, 2 */
	int64_t kv_tokens;     /* > 0: overrides the budget (rounded down to blocks) */
	int64_t kv_blocks;     /* > 0: overrides the budget, and kv_tokens */
};

struct memory_budget {
	int64_t memory_bytes, usable_bytes, weights_bytes, reserve_bytes;
	int64_t left_bytes;	/* usable - weights - reserve; may be negative */
	int64_t kv_bytes;	/* left_bytes, or the size of the pool where it was overridden */
	struct model_kv kv;	/* of a token on this device */
	int64_t kv_token_bytes; /* of a slot of the pool: kv.slot_bytes */
	int64_t blocks;		/* floor(kv_bytes / (block x token bytes)), 0 if negative */
	int64_t tokens;		/* blocks x block */
	bool overridden;	/* the pool is what kv_tokens or kv_blocks asked for */
};

/*
 * What a server keeps back beside weights and KV, where nobody says: 1 GiB for the runtime and
 * captured graphs, and the activations of a step of 8192 tokens: (4 x hidden + 2 x MLP width / tp)
 * numbers each, the width of a mixture of experts being that of the experts one token uses.
 */
int64_t memory_default_reserve(const struct model *m, int64_t tp);

/* Wants as servers have them: tp 1, utilization 0.9, default reserve, block 16, 16-bit KV. */
void memory_want_default(struct memory_want *w);

/* Fills the budget; a negative one is not an error here: memory_check() says so. */
void memory_budget(const struct model *m, const struct device *d, const struct memory_want *w,
		   struct memory_budget *b);

/* -1 where the budget holds not one block; the sentence says what would do (tp or else pp,
 * utilization, device). */
int memory_check(const struct model *m, const struct device *d, const struct memory_want *w,
		 const struct memory_budget *b, struct err *e);

#endif
