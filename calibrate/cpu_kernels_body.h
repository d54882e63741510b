/*
 * cpu_kernels_body.h: the loops themselves, included once for each instruction set, with
 *   KERNEL          attributes of a function,
 *   FMA(a, b, c)    a x b + c, fused where that is one instruction,
 *   KERNELS, KERNELS_NAME  what declares the table that comes out, and its name.
 */

#include "calibrate/cpu_kernels.h"
#include "calibrate/weights.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

/*
 * 2^x for x <= 0 to 2 units in the last place; of less than -100 it is that of -100, so that no
 * product with a number near 1 is denormal. The powers of ln 2 over the factorials are the series
 * of e^(f ln 2) for f in [-1/2, 1/2].
 */
KERNEL static inline float power2(float x)
{
	x = x < -100.0F ? -100.0F : x;
	int32_t whole = (int32_t)(x - 0.5F);
	float f = x - (float)whole, p = 1.5403530e-4F;
	p = FMA(p, f, 1.3333558e-3F);
	p = FMA(p, f, 9.6181291e-3F);
	p = FMA(p, f, 5.5504109e-2F);
	p = FMA(p, f, 2.4022651e-1F);
	p = FMA(p, f, 6.9314718e-1F);
	p = FMA(p, f, 1.0F);
	int32_t bits = (whole + 127) * (1 << 23);
	float scale;
	memcpy(&scale, &bits, sizeof(scale));
	return p * scale;
}

KERNEL static float dot(const float *restrict a, const float *restrict b, int64_t n)
{
	float sum = 0;

#pragma omp simd reduction(+ : sum)
	for (int64_t i = 0; i < n; i++)
		sum = FMA(a[i], b[i], sum);
	return sum;
}

KERNEL static void scores(const float *q, int64_t rows, int64_t d, const float *k, int64_t k_stride,
			  int64_t n, float *s, int64_t s_stride)
{
	for (int64_t j = 0; j < n; j++)
		for (int64_t r = 0; r < rows; r++)
			s[r * s_stride + j] = dot(q + r * d, k + j * k_stride, d);
}

KERNEL static float softmax(float *s, int64_t n, int64_t width, float *max, float *sum)
{
	float top = *max, add = 0;

#pragma omp simd reduction(max : top)
	for (int64_t j = 0; j < n; j++)
		top = s[j] > top ? s[j] : top;
#pragma omp simd reduction(+ : add)
	for (int64_t j = 0; j < n; j++) {
		s[j] = power2(s[j] - top);
		add += s[j];
	}
	for (int64_t j = n; j < width; j++)
		s[j] = 0;
	float shrink = power2(*max - top);
	*max = top;
	*sum = *sum * shrink + add;
	return shrink;
}

KERNEL static void weigh_row(const float *restrict s, const float *restrict v, int64_t v_stride,
			     int64_t n, int64_t d, float *restrict o)
{
	for (int64_t j = 0; j < n; j++) {
		const float weight = s[j];
		const float *row = v + j * v_stride;
#pragma omp simd
		for (int64_t i = 0; i < d; i++)
			o[i] = FMA(weight, row[i], o[i]);
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
			to[i] = FMA((float)(code[i] >> shift & mask), scale[i], zero[i]);
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
		square = FMA(x[i] - mean, x[i] - mean, square);
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
			y[i] = FMA((x[i] - mean) * scale, weight[i], bias[i]);
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
		x[i] = FMA(a, cos[i], -b * sin[i]);
		half[i] = FMA(b, cos[i], a * sin[i]);
	}
}

/* x / (1 + e^-x), through e^-|x|. */
KERNEL static inline float swish(float x, float by)
{
	float e = power2(-fabsf(by) * 1.44269504F);
	return x * (by < 0 ? e : 1.0F) / (1 + e);
}

KERNEL static void act(const float *gate, const float *up, int64_t n, float *y)
{
	if (up) {
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			y[i] = swish(gate[i], gate[i]) * up[i];
		return;
	}
	/* (1 + tanh z) / 2 is 1 / (1 + e^-2z), z = sqrt(2 / pi) (x + 0.044715 x^3) */
#pragma omp simd
	for (int64_t i = 0; i < n; i++) {
		const float x = gate[i];
		y[i] = swish(x, 1.59576912F * x * FMA(0.044715F * x, x, 1.0F));
	}
}

KERNEL static int64_t argmax(const float *x, int64_t n)
{
	float top = x[0];
	int64_t i = 0;

#pragma omp simd reduction(max : top)
	for (int64_t j = 0; j < n; j++)
		top = x[j] > top ? x[j] : top;
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
