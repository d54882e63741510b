/*
 * share.h: one device's share of a model's weights, in 16 bits, on the device: what struct weights
 * (calibrate/weights.h) is for the backend "cpu". The same models, names and layouts.
 */
#ifndef CALIBRATE_CUDA_SHARE_H
#define CALIBRATE_CUDA_SHARE_H

#include "arena.h"
#include "calibrate/weights.h"
#include <platform.cuh>
#include <vector>

struct share_layer {
	bf16 *attention_norm, *attention_norm_bias, *qkv, *qkv_bias, *q_norm, *k_norm, *o, *o_bias;
	/* mlp_norm NULL: attention and MLP work side by side */
	bf16 *mlp_norm, *mlp_norm_bias, *up, *up_bias, *down, *down_bias;
};

struct share {
	int64_t layers, hidden, heads, kv_heads, head_dim, inter;
	int64_t vocab; /* rows of the head: a multiple of 8, so there may be a few too many */
	int64_t positions, context;
	bool gated, layer_norm;
	std::vector<share_layer> layer;
	bf16 *embed, *position, *final_norm, *final_norm_bias, *head, *head_bias;

	int64_t qkv_width() const
	{
		return (heads + 2 * kv_heads) * head_dim;
	}
	int64_t up_width() const
	{
		return inter * (gated ? 2 : 1);
	}
};

/* -1: a kind of model, or sizes, without kernels here: the sentence says which. */
int share_check(const model *m, int64_t tp, int kv_bits, err *e);
/* Sizes, and places in the arena. */
void share_place(share &s, const model *m, int64_t tp, arena &a);
/* Random numbers, scaled so that activations stay near 1. */
void share_fill(share &s, const model *m, uint64_t seed, stream on);
/* The numbers of w, of the same model, which become what 16 bits hold of them. */
void share_copy(share &s, const model *m, weights &w);

#endif
