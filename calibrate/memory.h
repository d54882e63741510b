/*
 * memory.h: the memory budget of one device: what is left for the KV cache.
 */
#ifndef CALIBRATE_MEMORY_H
#define CALIBRATE_MEMORY_H

#include "calibrate/device.h"
#include "calibrate/model.h"

struct memory_want {
	int64_t tp;
	int64_t memory_bytes; /* 0: the device's */
	double utilization;   /* share of the memory that the server may use, (0, 1] */
	int64_t reserve_bytes; /* activations, graphs, runtime; -1: the default (memory.c says which) */
	int64_t block_tok;    /* slots a block */
	int64_t kv_bits;      /* 16, 8, 4, 2 */
	int64_t kv_tokens;    /* > 0: overrides the budget (rounded down to blocks) */
	int64_t kv_blocks;    /* > 0: overrides the budget */
};

struct memory_budget {
	int64_t memory_bytes, usable_bytes, weights_bytes, reserve_bytes;
	int64_t kv_bytes;       /* usable - weights - reserve; may be negative */
	int64_t kv_token_bytes; /* on this device */
	int64_t blocks;         /* floor(kv_bytes / (block x token bytes)), 0 if negative */
	int64_t tokens;         /* blocks x block */
};

/* Fills the budget; a negative one is not an error here: the caller decides. */
void memory_budget(const struct model *m, const struct device *d, const struct memory_want *w,
		   struct memory_budget *b);

/* Blocks that `bytes` of host memory hold for one device. */
int64_t memory_swap_blocks(const struct model *m, int64_t tp, int64_t kv_bits, int64_t block_tok,
			   int64_t bytes);

#endif
