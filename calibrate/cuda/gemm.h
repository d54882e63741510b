/*
 * gemm.h: y[m][n] = x[m][k] w[n][k]^T, row-major, bf16 with sums in 32 bits.
 */
#ifndef CALIBRATE_CUDA_GEMM_H
#define CALIBRATE_CUDA_GEMM_H

#include "sim/err.h"
#include <platform.cuh>

struct gemm;

struct gemm_args {
	const bf16 *x, *w, *bias; /* bias[n] is added; NULL: none */
	bf16 *y;
	int64_t m, n, k;
	bool add; /* to what y is */
};

/* NULL: the library fails, or there is no memory for it. */
gemm *gemm_new(err *e);
void gemm_free(gemm *g);
/* Looks up how, so that gemm_run() of these sizes does not. Errors as there. */
int gemm_prepare(gemm *g, const gemm_args &a, err *e);
/* -1: the library has no way to multiply these sizes, or fails. */
int gemm_run(gemm *g, const gemm_args &a, stream s, err *e);

#endif
