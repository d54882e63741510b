/*
 * reference.h: what each operation of a backend must compute, in double precision, one plain loop
 * after the other: for checks of kernels, on activations and weights as the kernel had them.
 *
 * Arrays are dense and row-major. Errors are the caller's to bound.
 */
#ifndef CALIBRATE_REFERENCE_H
#define CALIBRATE_REFERENCE_H

#include "calibrate/weights.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y[m][n] = x[m][k] w[n][k]^T + bias[n] (NULL: none) */
void reference_gemm(const double *x, const float *w, const float *bias, int64_t m, int64_t n,
		    int64_t k, double *y);

/*
 * x[m][n] += add[m][n] (NULL: nothing), then y is x normalised in each row: RMSNorm, or LayerNorm
 * where there is a bias.
 */
void reference_norm(double *x, const double *add, const float *weight, const float *bias, int64_t m,
		    int64_t n, double *y);

/*
 * Rotates `heads` heads of one token in place: numbers i and i + head_dim / 2 of a head by the
 * angle position x theta^(-2 i / head_dim) (the halves of GPT-NeoX and Llama).
 */
void reference_rope(double *x, int64_t heads, int64_t head_dim, int64_t position);

/* y[m][n]: SiLU of x[m][0..n) times x[m][n..2n) where gated; else GELU (tanh) of x[m][n]. */
void reference_act(const double *x, bool gated, int64_t m, int64_t n, double *y);

/*
 * Causal attention of one sequence: q and out [new_tok][heads][head_dim], k and v [prior_tok +
 * new_tok][kv_heads][head_dim]. Scores are divided by the square root of head_dim.
 */
struct reference_attention {
	const double *q, *k, *v;
	int64_t new_tok, prior_tok, heads, kv_heads, head_dim;
};
void reference_attention(const struct reference_attention *a, double *out);

struct reference_seq {
	const int64_t *token; /* new_tok of them, below the vocabulary of the share */
	int64_t new_tok, prior_tok;
	bool sampled;
};

/*
 * A whole step. `cached` fills k and v, [prior_tok][kv_heads][head_dim], of sequence `seq` in layer
 * `layer`. logits: [sampled sequences][vocab].
 */
void reference_step(const struct weights *w, const struct reference_seq *seqs, size_t n,
		    void (*cached)(void *arg, int64_t layer, size_t seq, double *k, double *v),
		    void *arg, double *logits);

#ifdef __cplusplus
}
#endif

#endif
