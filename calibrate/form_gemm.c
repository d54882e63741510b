/*
 * A weight is read, activations are read and written, and products are added up; a device does both
 * at once, though not perfectly: the larger of the two times, or their p-norm. p is about 3 on
 * devices with asynchronous copies (H100), 1.6 before (A100). Where activations are quantised on
 * the way (fp8), that is a pass over m x k before.
 */
#include "calibrate/form_parts.h"
#include <math.h>

enum { T0, BYTES, FLOPS, P, QUANT };

static double max_ns(const double *c, const struct point *at)
{
	return c[T0] + fmax(work_gemm_bytes(at) / c[BYTES], work_gemm_flops(at) / c[FLOPS]);
}

static double pnorm_ns(const double *c, const struct point *at)
{
	return c[T0] +
	       form_norm(work_gemm_bytes(at) / c[BYTES], work_gemm_flops(at) / c[FLOPS], c[P]);
}

static double elements(const struct point *at)
{
	return (double)at->m * (double)at->k;
}

static double pass_ns(const double *c, const struct point *at)
{
	return elements(at) / c[QUANT];
}

static double quantised_ns(const double *c, const struct point *at)
{
	return pnorm_ns(c, at) + pass_ns(c, at);
}

static void guess(double *c, const struct points *p)
{
	c[T0] = form_low_ns(p) / 2;
	c[BYTES] = form_high_rate(p, work_gemm_bytes);
	c[FLOPS] = form_high_rate(p, work_gemm_flops);
}

static void guess_pnorm(double *c, const struct points *p)
{
	guess(c, p);
	c[P] = 2;
}

static void guess_quantised(double *c, const struct points *p)
{
	guess_pnorm(c, p);
	c[QUANT] = c[BYTES] / 4; /* as many bytes a time: read twice, written twice */
}

static uint64_t group(const struct point *at)
{
	return form_hash((uint64_t)at->n, (uint64_t)at->k, 0, 0);
}

/* clang-format off */
#define SIZES                                                                                      \
	.op = OP_GEMM, .axes = {"m", "n", "k"}, .knots = {20, 6, 6}, .ranges = {"m", "n", "k"},    \
	.group = group
/* clang-format on */

static const struct form max = {
	.name = "max",
	.text = "t0 + max(bytes / bytes_per_ns, flops / flops_per_ns)",
	.coefs = {"t0_ns", "bytes_per_ns", "flops_per_ns"},
	.base_ns = max_ns,
	.guess = guess,
	SIZES,
};

static const struct form pnorm = {
	.name = "pnorm",
	.text = "t0 + ((bytes / bytes_per_ns)^p + (flops / flops_per_ns)^p)^(1/p)",
	.coefs = {"t0_ns", "bytes_per_ns", "flops_per_ns", "p"},
	.base_ns = pnorm_ns,
	.guess = guess_pnorm,
	SIZES,
};

static const struct form quantised = {
	.name = "quantised",
	.text = "t0 + ((bytes / bytes_per_ns)^p + (flops / flops_per_ns)^p)^(1/p) + "
		"m k / quantised_per_ns",
	.coefs = {"t0_ns", "bytes_per_ns", "flops_per_ns", "p", "quantised_per_ns"},
	.base_ns = quantised_ns,
	.pass_ns = pass_ns,
	.guess = guess_quantised,
	SIZES,
};

static const struct form knots = {
	.name = "knots",
	.text = "straight between measured tokens",
	.op = OP_GEMM,
	.axes = {"m"},
	.knots = {FIT_KNOTS},
	.ranges = {"m", "n", "k"},
	.group = group,
};

const struct form *const forms_gemm[] = {&max, &pnorm, &quantised, &knots, NULL};
