/*
 * cpu_kernels.h: the inner loops of the backend "cpu", on one thread: compiled for any processor
 * and, on x86-64, for AVX2; cpu_kernels() picks what this machine has.
 *
 * Rows are dense, `d` numbers each, unless a stride is named.
 */
#ifndef CALIBRATE_CPU_KERNELS_H
#define CALIBRATE_CPU_KERNELS_H

#include "calibrate/cpu_quant.h"
#include <stdint.h>

struct cpu_kernels {
	const char *name;
	/* s[r][j] = q[r] . k[j], of `rows` rows of s, `s_stride` apart, and n of k */
	void (*scores)(const float *q, int64_t rows, int64_t d, const float *k, int64_t k_stride,
		       int64_t n, float *s, int64_t s_stride);
	/*
	 * The first n scores of a row become 2^(score - max) and the rest up to `width` 0, where
	 * max is the largest of them and *max. *sum becomes *sum x f + their sum, for the factor f
	 * by which what was summed up before shrinks; it is returned.
	 */
	float (*softmax)(float *s, int64_t n, int64_t width, float *max, float *sum);
	/* o[r] += sum over n of s[r][j] v[j] */
	void (*weigh)(const float *s, int64_t s_stride, int64_t rows, const float *v,
		      int64_t v_stride, int64_t n, int64_t d, float *o);
	/* cpu_quant.h: n pairs, each `times` over, as n x times scales and as many zeros */
	void (*spread)(const struct quant_pair *p, int64_t n, int64_t times, float *to);
	/* a row of d channels in 4 or 2 bits, by their scales and zeros; in 8 bits */
	void (*unpack)(const uint8_t *code, int bits, int64_t d, const float *scale,
		       const float *zero, float *to);
	void (*unpack8)(const int8_t *code, float scale, int64_t d, float *to);
	/* x += add (NULL: nothing); y: RMSNorm of x, or LayerNorm where there is a bias */
	void (*norm)(float *x, const float *add, const float *weight, const float *bias, int64_t n,
		     float *y);
	/* a head: (x[i], x[i + n]) turned by the angle of cos[i], sin[i] */
	void (*rotate)(float *x, const float *cos, const float *sin, int64_t n);
	/* y[n] = SiLU(gate) x up, or GELU(gate) where up is NULL */
	void (*act)(const float *gate, const float *up, int64_t n, float *y);
	/* the first of the largest */
	int64_t (*argmax)(const float *x, int64_t n);
};

extern const struct cpu_kernels cpu_kernels_avx2; /* on x86-64 */

const struct cpu_kernels *cpu_kernels(void);

/* All that this machine can run, for checks; n is set to their number. */
const struct cpu_kernels *const *cpu_kernels_list(int *n);

#endif
