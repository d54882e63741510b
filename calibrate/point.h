/*
 * point.h: one measured time: an operation, its sizes, how long it took. What backends time, what
 * tables are read into, what fits are made from.
 *
 * Sizes are those of one device: heads are the heads on it, n the columns of its share of a weight.
 * Sizes that an operation does not have are 0. An operation of a layer is that of one layer.
 */
#ifndef CALIBRATE_POINT_H
#define CALIBRATE_POINT_H

#include "sim/err.h"
#include <stddef.h>
#include <stdint.h>

enum op {
	OP_GEMM,    /* y[m,n] = x[m,k] W[n,k]^T; bits: of a weight; m tokens */
	OP_PREFILL, /* attention of prefill_seq prompts, each new_tok after prior_tok cached ones */
	OP_DECODE,  /* attention of decode_seq sequences of decode_ctx tokens together, the longest
		       of `longest` (0: all equal); bits: of a cached number */
	OP_MIXED,   /* both of them in one step */
	OP_NORM,    /* m tokens of width n, with the residual added; so the following */
	OP_ROPE,    /* n: (heads + kv_heads) x head_dim */
	OP_ACT,	    /* n: of the product, after the gate is applied */
	OP_EMBED,
	OP_SAMPLE,	 /* m sequences, n: vocabulary on the device */
	OP_ALLREDUCE,	 /* bytes over `devices` */
	OP_COPY_TO_HOST, /* bytes */
	OP_COPY_FROM_HOST,
	OP_COPY_DEVICE, /* bytes within a device (read and written once each) */
	OP_STEP,	/* a whole step of `model` on `devices`: prefill_*, decode_* */
	N_OPS
};

struct point {
	enum op op;
	int bits; /* 16: the model's own type, whatever its size; 8, 4, 2 */
	int64_t m, n, k;
	int64_t heads, kv_heads, head_dim;
	int64_t prefill_seq, new_tok, prior_tok;
	int64_t decode_seq, decode_ctx, longest;
	int64_t devices, bytes;
	double ns;			/* the median */
	double min_ns, mean_ns, max_ns; /* of `repeats`; 0 where only one figure is known */
	int64_t repeats;
};

extern const char *const op_names[N_OPS]; /* "gemm", "prefill", ... as in files and tables */

/* A growing list. Zero-initialise; release frees it. */
struct points {
	struct point *at;
	size_t n, room;
};
void points_add(struct points *p, const struct point *point);
void points_release(struct points *p);

/* Of all sizes and times but the mean in their order: 16 hex digits and a 0. */
void points_hash(const struct points *p, char hash[17]);

#endif
