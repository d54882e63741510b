/*
 * attention.h: attention of one layer of a planned step, from the product with qkv on: positions,
 * the pool, prompts and decodes side by side.
 */
#ifndef CALIBRATE_CUDA_ATTENTION_H
#define CALIBRATE_CUDA_ATTENTION_H

#include "launches.h"

/* A plan on the device. Counts that a graph may not fix are there too: *n_items and so on. */
struct plan_arrays {
	int32_t *position, *slot, *stage_slot, *sampled;
	prefill_tile *tiles;
	kv_move *loads, *stores, *flushes;
	decode_item *items, *recent;
	decode_parts *parts;
	int32_t *n_items, *n_recent, *n_stores, *n_flushes;
};

/* How much is launched: what the plan has, or more where a graph serves many plans. */
struct plan_counts {
	int64_t rows, tiles, loads, stores, flushes, items, recent, parts, sampled;
};

plan_counts plan_count(const plan &p);

struct attention_layer {
	kv_pool pool;	/* of `bits` */
	kv_pool recent; /* bits < 8: of the latest tokens, 16 bits */
	kv_pool stage;	/* bits < 16: where prompts attend */
};

struct attention {
	int heads, head_dim, bits;
	const uint32_t *turns; /* kv.cuh */
	bf16 *qkv, *out;
	float *part;
	float2 *part_top;
	stream main, side; /* all is done when main has done it */
	event forked, joined;
};

/* Turns a position of each of head_dim / 2 pairs, x 2^32. */
void attention_turns(uint32_t *turns, int head_dim);
void attention_run(const attention &a, const attention_layer &l, const plan_arrays &p,
		   const plan_counts &n);
/* Its parts, to be timed alone. */
void attention_decodes(const attention &a, const attention_layer &l, const plan_arrays &p,
		       const plan_counts &n, stream s);
void attention_prompts(const attention &a, const attention_layer &l, const plan_arrays &p,
		       const plan_counts &n, stream s);
/* Both, on two streams where there are both. */
void attention_both(const attention &a, const attention_layer &l, const plan_arrays &p,
		    const plan_counts &n);

#endif
