/*
 * forward.h: the layers of a planned step, one after the other, from ids of tokens to those
 * sampled.
 */
#ifndef CALIBRATE_CUDA_FORWARD_H
#define CALIBRATE_CUDA_FORWARD_H

#include "attention.h"
#include "gemm.h"
#include "share.h"

/* Rows of a step: max_tok, those that are sampled: max_seqs. */
struct activations {
	int32_t *ids, *tokens; /* what comes in, what is sampled */
	bf16 *x, *add, *norm, *qkv, *attended, *up, *act;
	bf16 *last, *logits; /* of the sampled rows */
};

/* What a step needs beside its plan. */
struct forward {
	const share *model;
	activations on;
	std::vector<attention_layer> cache; /* of each layer; they share the stage */
	attention attend;
	gemm *multiply;
};

void activations_place(activations &a, const share &s, int64_t max_tok, int64_t max_seqs,
		       arena &at);
/* Looks up how to multiply so many rows, before a step of them is timed. -1: there is no way. */
int forward_prepare(const forward &f, const plan_counts &n, err *e);
/* -1: a multiplication fails. Other failures are seen when the device is next asked. */
int forward_run(const forward &f, const plan_arrays &p, const plan_counts &n, err *e);

#endif
