/*
 * cpu_ops.h: the operations of a layer on all threads, but for attention: products by OpenBLAS,
 * each thread a part of them with OpenBLAS on one thread (so there is one pool of threads, ours).
 */
#ifndef CALIBRATE_CPU_OPS_H
#define CALIBRATE_CPU_OPS_H

#include "calibrate/cpu_kernels.h"
#include <stdbool.h>

struct cpu_ops {
	int threads;
	const struct cpu_kernels *kernels;
	int64_t head_dim, positions; /* of the table of angles, positions beyond begin anew */
	float *cos, *sin;	     /* [positions][head_dim / 2] */
};

/* After blas_load(). threads 0: all. A table of angles for so many positions, 0: none. */
void cpu_ops_init(struct cpu_ops *o, int64_t threads, int64_t head_dim, int64_t positions);
void cpu_ops_release(struct cpu_ops *o);

/* y[m][n] = x[m][k] w[n][k]^T + bias[n] (NULL: none) + what is in y, where `add` */
struct cpu_gemm {
	const float *x, *w, *bias;
	float *y;
	int64_t m, n, k;
	bool add;
};
void cpu_gemm(const struct cpu_ops *o, const struct cpu_gemm *g);

/* x[m][n] += add (NULL: nothing), y is x normalised */
struct cpu_norm {
	float *x;
	const float *add, *weight, *bias;
	float *y;
	int64_t m, n;
};
void cpu_norm(const struct cpu_ops *o, const struct cpu_norm *g);

/*
 * Turns q and k, the first heads + kv_heads heads of each of m rows `stride` apart, by the angle of
 * the row's position; q_norm and k_norm (NULL: none) normalise each head before. Without a table of
 * angles nothing is turned.
 */
struct cpu_rope {
	float *qk;
	int64_t m, stride, heads, kv_heads;
	const float *q_norm, *k_norm;
	const int64_t *position;
};
void cpu_rope(const struct cpu_ops *o, const struct cpu_rope *g);

/* y[m][n] from x[m][2n] where gated, else from x[m][n] */
void cpu_act(const struct cpu_ops *o, const float *x, bool gated, int64_t m, int64_t n, float *y);

/* x[m][n]: rows of table by token, with rows of `position` (NULL: none) added by place */
struct cpu_embed {
	const float *table, *position;
	const int64_t *token, *place;
	int64_t m, n, places; /* places beyond begin anew */
	float *x;
};
void cpu_embed(const struct cpu_ops *o, const struct cpu_embed *g);

/* n numbers */
void cpu_copy(const struct cpu_ops *o, const float *x, int64_t n, float *y);

/* best[m]: the column of the largest of n in each row */
void cpu_argmax(const struct cpu_ops *o, const float *x, int64_t m, int64_t n, int64_t *best);

#endif
