/*
 * weights.h: random weights of one device's share of a model, as arrays of float: what the backend
 * "cpu" multiplies, and what references in double precision are computed from. Plain types alone.
 *
 * A matrix is [out][in], row-major. Sizes are those of the share: heads, MLP width and vocabulary
 * are divided (the last rounded up), KV heads replicate beyond their number. No weight is 0 or
 * denormal; matrices are scaled so that activations stay near 1.
 */
#ifndef CALIBRATE_WEIGHTS_H
#define CALIBRATE_WEIGHTS_H

#include "calibrate/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEIGHTS_NORM_EPS   1e-5
#define WEIGHTS_ROPE_THETA 10000.0

/* A pointer is NULL where the model has no such weights. */
struct weights_layer {
	float *attention_norm, *attention_norm_bias; /* [hidden] */
	float *qkv, *qkv_bias;			     /* [(heads + 2 kv_heads) head_dim][hidden] */
	float *q_norm, *k_norm;			     /* [head_dim] */
	float *o, *o_bias;			     /* [hidden][heads head_dim] */
	/* NULL: attention and MLP work side by side on the same normalised input */
	float *mlp_norm, *mlp_norm_bias; /* [hidden] */
	float *up, *up_bias;		 /* [inter][hidden]; gated: the gate, then up */
	float *down, *down_bias;	 /* [hidden][inter] */
};

struct weights {
	int64_t layers, hidden, heads, kv_heads, head_dim, inter, vocab;
	int64_t positions; /* learned ones; 0: rope */
	int64_t context;
	bool gated;	 /* SwiGLU; else GELU (tanh) */
	bool layer_norm; /* LayerNorm; else RMSNorm */
	struct weights_layer *layer;
	float *embed, *position;	     /* [vocab][hidden], [positions][hidden] */
	float *final_norm, *final_norm_bias; /* [hidden] */
	float *head, *head_bias;	     /* [vocab][hidden]; may be embed */
	void *memory;			     /* of all of them */
	int64_t bytes;
};

/* Columns of the product with qkv, and of that with up. */
static inline int64_t weights_qkv_width(const struct weights *w)
{
	return (w->heads + 2 * w->kv_heads) * w->head_dim;
}

static inline int64_t weights_up_width(const struct weights *w)
{
	return (w->gated ? 2 : 1) * w->inter;
}

/* -1: a kind of model without kernels here (the sentence says which kind), or tp cannot split it.
 */
int weights_check(const struct model *m, int64_t tp, struct err *e);
/* Bytes that weights_make() allocates. */
int64_t weights_bytes(const struct model *m, int64_t tp);
/* For a model and tp that weights_check() accepts; on so many threads. */
void weights_make(struct weights *w, const struct model *m, int64_t tp, uint64_t seed, int threads);
void weights_release(struct weights *w);

/*
 * n numbers of the stream `seed`, even in (center - spread, center + spread), never 0 where center
 * is; the same at every number of threads.
 */
void weights_fill(float *x, int64_t n, float center, float spread, uint64_t seed, int threads);

#ifdef __cplusplus
}
#endif

#endif
