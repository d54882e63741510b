/*
 * arguments.h: what kernels are given: pools, rows, pieces of attention. Pointers are the device's.
 */
#ifndef CALIBRATE_CUDA_ARGUMENTS_H
#define CALIBRATE_CUDA_ARGUMENTS_H

#include "plan.h"
#include <platform.cuh>

/* A pool of pages; kv.cuh says how numbers lie in it. */
struct kv_pool {
	void *k, *v;
	uint32_t *k_scales, *v_scales; /* 4 and 2 bits */
	/* Pages of the sequences, each at a place of its own: token t of a sequence whose first
	 * page is pages[f] lies in pages[f + t / tokens of a page]. */
	const int32_t *pages;
	int kv_heads, page_shift;
};

struct append_args {
	bf16 *qkv;		 /* of each token heads queries, then kv_heads keys, then values */
	const int32_t *position; /* of each token in its sequence */
	/* Where its key and value go; -1: nowhere. */
	const int32_t *slot, *stage_slot;
	kv_pool pool, stage;   /* stage: of 16 bits */
	const uint32_t *turns; /* of each of head_dim / 2 pairs: turns a position, x 2^32; NULL:
				    positions are learned, nothing turns */
	int heads;
};

struct norm_args {
	bf16 *x;		   /* rows; what is added stays in them */
	const bf16 *add;	   /* NULL: nothing is added */
	const bf16 *weight, *bias; /* bias: of a LayerNorm, else NULL */
	bf16 *out;
	/* Which rows; NULL: all. Rows of out are in order. */
	const int32_t *rows;
	int n;
	/* A row of x is one of `per` parts, of n numbers each, every x_stride numbers; so of out.
	 */
	int per;
	int64_t x_stride, out_stride;
};

struct decode_args {
	const bf16 *q; /* rows of q_stride numbers, of which the first are the heads */
	int64_t q_stride;
	kv_pool pool;
	const decode_item *items;
	const int32_t *n_items;
	int heads;
	float scale;	  /* of a product, times log2(e) */
	float *part;	  /* of each part and head: head_dim sums */
	float2 *part_top; /* the largest product that they are relative to, the sum of weights */
	bf16 *out;	  /* rows of heads x head_dim */
};

struct prefill_args {
	const bf16 *q; /* rows of q_stride numbers, of which the first are the heads */
	int64_t q_stride;
	kv_pool pool; /* of 16 bits; the new tokens are in it */
	const prefill_tile *tiles;
	int heads;
	float scale; /* of a product, times log2(e) */
	bf16 *out;   /* rows of heads x head_dim */
};

#endif
