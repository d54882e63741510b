/*
 * cpu_blas.h: the few routines of OpenBLAS that the backend "cpu" uses.
 *
 * It is loaded when the first backend is opened, not linked: the program starts without it, GSL
 * keeps the BLAS of its own (fits have the same bits on all machines), and OpenBLAS can be told
 * what processor this is where it is older than the processor, and would take it for one without
 * AVX.
 *
 * Each call runs on the thread that makes it. Matrices are row-major, ld their row length in
 * memory.
 */
#ifndef CALIBRATE_CPU_BLAS_H
#define CALIBRATE_CPU_BLAS_H

#include "sim/err.h"
#include <stdbool.h>
#include <stdint.h>

/* Before all else, on one thread; loads it once. -1: it is not here. */
int blas_load(struct err *e);
/* "OpenBLAS 0.3.21 SkylakeX" */
void blas_name(char *name, size_t size);

struct blas_matrix {
	const float *x;
	int64_t ld;
};

/* y[m][n] = a[m][k] b[n][k]^T (transposed) or a[m][k] b[k][n], added to y where `add` */
void blas_gemm(int64_t m, int64_t n, int64_t k, struct blas_matrix a, struct blas_matrix b,
	       bool transposed, bool add, float *y, int64_t ldy);
/* y[n] = w[n][k] x[k], added to y where `add` */
void blas_gemv(int64_t n, int64_t k, const float *w, const float *x, bool add, float *y);
/* the sum of magnitudes */
float blas_asum(int64_t n, const float *x);

#endif
