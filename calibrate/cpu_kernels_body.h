/*
 * cpu_kernels_body.h: the loops themselves, included once for each instruction set, with
 *   KERNEL          attributes of a function,
 *   KERNELS, KERNELS_NAME  what declares the table that comes out, and its name.
 *
 * Loops have no branches and no calls, and sums are plain ones, so that gcc and clang make vectors
 * of them.
 */

#include "calibrate/cpu_kernels.h"
#include "calibrate/weights.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

/* 2^x is not asked for below: no product of it with a number near 1 is denormal. */
#define LEAST_POWER (-100.0F)

/*
 * 2^x for LEAST_POWER <= x <= 0, to 2 units in the last place. The powers of ln 2 over the
 * factorials are the series of e^(f ln 2) for f in [-1/2, 1/2].
 */
KERNEL static inline float power2(float x)
{
	int32_t whole = (int32_t)(x - 0.5F);
	float f = x - (float)whole, p = 1.5403530e-4F, scale;
	p = p * f + 1.3333558e-3F;
	p = p * f + 9.6181291e-3F;
	p = p * f + 5.5504109e-2F;
	p = p * f + 2.4022651e-1F;
	p = p * f + 6.9314718e-1F;
	p = p * f + 1.0F;
	int32_t bits = (whole + 127) * (1 << 23);
	memcpy(&scale, &bits, sizeof(scale));
	return p * scale;
}

KERNEL static inline float clamp(float x)
{
	return x < LEAST_POWER ? LEAST_POWER : x;
}

enum { LANES = 8 };

/* In lanes by hand: compilers take the order of a maximum more seriously than that of a sum. */
KERNEL static float largest(const float *x, int64_t n)
{
	float top[LANES], most = x[0];
	int64_t j = 0;

	for (int i = 0; i < LANES; i++)
		top[i] = x[0];
	for (; j + LANES <= n; j += LANES) {
#pragma omp simd
		for (int i = 0; i < LANES; i++)
			top[i] = x[j + i] > top[i] ? x[j + i] : top[i];
	}
	for (; j < n; j++)
		most = x[j] > most ? x[j] : most;
	for (int i = 0; i < LANES; i++)
		most = top[i] > most ? top[i] : most;
	return most;
}

KERNEL static float dot(const float *restrict a, const float *restrict b, int64_t n)
{
	float sum = 0;

#pragma omp simd reduction(+ : sum)
	for (int64_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Four at a time: a sum waits for itself, four do not wait for each other. */
KERNEL static void dot4(const float *restrict q, const float *restrict k, int64_t stride, int64_t n,
			float *restrict s)
{
	const float *k1 = k + stride, *k2 = k1 + stride, *k3 = k2 + stride;
	float s0 = 0, s1 = 0, s2 = 0, s3 = 0;

#pragma omp simd reduction(+ : s0, s1, s2, s3)
	for (int64_t i = 0; i < n; i++) {
		s0 += q[i] * k[i];
		s1 += q[i] * k1[i];
		s2 += q[i] * k2[i];
		s3 += q[i] * k3[i];
	}
	s[0] = s0;
	s[1] = s1;
	s[2] = s2;
	s[3] = s3;
}

KERNEL static void scores(const float *q, int64_t rows, int64_t d, const float *k, int64_t k_stride,
			  int64_t n, float *s, int64_t s_stride)
{
	int64_t j = 0;

	for (; j + 4 <= n; j += 4)
		for (int64_t r = 0; r < rows; r++)
			dot4(q + r * d, k + j * k_stride, k_stride, d, s + r * s_stride + j);
	for (; j < n; j++)
		for (int64_t r = 0; r < rows; r++)
			s[r * s_stride + j] = dot(q + r * d, k + j * k_stride, d);
}

KERNEL static float softmax(float *s, int64_t n, int64_t width, float *max, float *sum)
{
	float top = n > 0 ? largest(s, n) : *max, add = 0;

	top = top > *max ? top : *max;
#pragma omp simd
	for (int64_t j = 0; j < n; j++)
		s[j] = clamp(s[j] - top);
#pragma omp simd
	for (int64_t j = 0; j < n; j++)
		s[j] = power2(s[j]);
#pragma omp simd reduction(+ : add)
	for (int64_t j = 0; j < n; j++)
		add += s[j];
	for (int64_t j = n; j < width; j++)
		s[j] = 0;
	float shrink = power2(clamp(*max - top));
	*max = top;
	*sum = *sum * shrink + add;
	return shrink;
}

/* Four at a time: o is loaded and stored a quarter as often. */
KERNEL static void weigh_row(const float *restrict s, const float *restrict v, int64_t stride,
			     int64_t n, int64_t d, float *restrict o)
{
	int64_t j = 0;

	for (; j + 4 <= n; j += 4, v += 4 * stride) {
		const float *v1 = v + stride, *v2 = v1 + stride, *v3 = v2 + stride;
		const float w0 = s[j], w1 = s[j + 1], w2 = s[j + 2], w3 = s[j + 3];
#pragma omp simd
		for (int64_t i = 0; i < d; i++)
			o[i] += w0 * v[i] + w1 * v1[i] + (w2 * v2[i] + w3 * v3[i]);
	}
	for (; j < n; j++, v += stride) {
		const float w = s[j];
#pragma omp simd
		for (int64_t i = 0; i < d; i++)
			o[i] += w * v[i];
	}
}

KERNEL static void weigh(const float *s, int64_t s_stride, int64_t rows, const float *v,
			 int64_t v_stride, int64_t n, int64_t d, float *o)
{
	for (int64_t r = 0; r < rows; r++)
		weigh_row(s + r * s_stride, v, v_stride, n, d, o + r * d);
}

KERNEL static void spread(const struct quant_pair *p, int64_t n, int64_t times, float *to)
{
	float *zero = to + n * times;

	if (times == 1) {
#pragma omp simd
		for (int64_t i = 0; i < n; i++) {
			to[i] = quant_float(p[i].scale);
			zero[i] = quant_float(p[i].zero);
		}
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		const float each[2] = {quant_float(p[i].scale), quant_float(p[i].zero)};
#pragma omp simd
		for (int64_t j = 0; j < times; j++) {
			to[i * times + j] = each[0];
			zero[i * times + j] = each[1];
		}
	}
}

KERNEL static void unpack(const uint8_t *restrict code, int bits, int64_t d,
			  const float *restrict scale, const float *restrict zero,
			  float *restrict to)
{
	const int mask = (1 << bits) - 1;
	int64_t bytes = d * bits / 8;

	for (int shift = 0; shift < 8; shift += bits, scale += bytes, zero += bytes, to += bytes) {
#pragma omp simd
		for (int64_t i = 0; i < bytes; i++)
			to[i] = (float)(code[i] >> shift & mask) * scale[i] + zero[i];
	}
}

KERNEL static void unpack8(const int8_t *restrict code, float scale, int64_t d, float *restrict to)
{
#pragma omp simd
	for (int64_t i = 0; i < d; i++)
		to[i] = (float)code[i] * scale;
}

KERNEL static float mean_square(const float *x, int64_t n, float mean)
{
	float square = 0;

#pragma omp simd reduction(+ : square)
	for (int64_t i = 0; i < n; i++)
		square += (x[i] - mean) * (x[i] - mean);
	return square / (float)n;
}

KERNEL static float mean_of(const float *x, int64_t n)
{
	float sum = 0;

#pragma omp simd reduction(+ : sum)
	for (int64_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (float)n;
}

/* y may be x. */
KERNEL static void norm(float *x, const float *add, const float *weight, const float *bias,
			int64_t n, float *y)
{
	if (add) {
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			x[i] += add[i];
	}
	float mean = bias ? mean_of(x, n) : 0;
	float scale = 1 / sqrtf(mean_square(x, n, mean) + (float)WEIGHTS_NORM_EPS);
	if (bias) {
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
	} else {
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			y[i] = x[i] * scale * weight[i];
	}
}

KERNEL static void rotate(float *x, const float *cos, const float *sin, int64_t n)
{
	float *half = x + n;

#pragma omp simd
	for (int64_t i = 0; i < n; i++) {
		const float a = x[i], b = half[i];
		x[i] = a * cos[i] - b * sin[i];
		half[i] = b * cos[i] + a * sin[i];
	}
}

/* 1 / (1 + 2^x), through 2^-|x| = e: that is e / (1 + e), or the other part of 1 for x < 0. */
KERNEL static void logistic(float *restrict y, const float *restrict x, int64_t n)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] = clamp(-fabsf(x[i]));
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] = power2(y[i]);
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] = 0.5F - copysignf(0.5F - y[i] / (1 + y[i]), x[i]);
}

enum { PART = 256 };

/* SiLU(x) is x / (1 + e^-x). */
KERNEL static void silu_part(const float *gate, const float *up, int64_t n, float *y)
{
	float share[PART];

#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] = -1.44269504F * gate[i];
	logistic(share, y, n);
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] = gate[i] * share[i] * up[i];
}

/* (1 + tanh z) / 2 is 1 / (1 + e^-2z), z = sqrt(2 / pi) (x + 0.044715 x^3) */
KERNEL static void gelu_part(const float *x, int64_t n, float *y)
{
	float share[PART];

#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] = -1.44269504F * 1.59576912F * x[i] * (1.0F + 0.044715F * x[i] * x[i]);
	logistic(share, y, n);
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * share[i];
}

KERNEL static void act(const float *gate, const float *up, int64_t n, float *y)
{
	for (int64_t i = 0; i < n; i += PART) {
		int64_t part = n - i < PART ? n - i : PART;
		if (up)
			silu_part(gate + i, up + i, part, y + i);
		else
			gelu_part(gate + i, part, y + i);
	}
}

KERNEL static int64_t argmax(const float *x, int64_t n)
{
	float top = largest(x, n);
	int64_t i = 0;

	while (i + 1 < n && x[i] < top)
		i++;
	return i;
}

KERNELS = {
	.name = KERNELS_NAME,
	.scores = scores,
	.softmax = softmax,
	.weigh = weigh,
	.spread = spread,
	.unpack = unpack,
	.unpack8 = unpack8,
	.norm = norm,
	.rotate = rotate,
	.act = act,
	.argmax = argmax,
};
