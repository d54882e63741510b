/*
 * Prefill and decode in one launch: blocks of both share the device, so the smaller part hides
 * partly behind the larger. Measured mixed steps are far from the sum of the two by themselves, so
 * all coefficients are of mixed steps alone.
 */
#include "calibrate/form_parts.h"

enum { T0, FLOPS, BYTES, TOKEN, SEQ, PRIOR, P };

static double new_tokens(const struct point *at)
{
	return (double)at->prefill_seq * (double)at->new_tok;
}

static double prefill_part(const double *c, const struct point *at)
{
	return c[TOKEN] * new_tokens(at) + work_prefill_flops(at) / c[FLOPS];
}

static double decode_part(const double *c, const struct point *at)
{
	return c[SEQ] * (double)at->decode_seq + work_decode_bytes(at) / c[BYTES];
}

static double prior_part(const double *c, const struct point *at)
{
	return work_prefill_bytes(at) / c[PRIOR];
}

static double work_ns(const double *c, const struct point *at)
{
	return c[T0] + work_prefill_flops(at) / c[FLOPS] + work_decode_bytes(at) / c[BYTES];
}

static double sum_ns(const double *c, const struct point *at)
{
	return c[T0] + prefill_part(c, at) + decode_part(c, at);
}

static double affine_ns(const double *c, const struct point *at)
{
	return sum_ns(c, at) + prior_part(c, at);
}

static double pnorm_ns(const double *c, const struct point *at)
{
	return c[T0] + form_norm(prefill_part(c, at) + prior_part(c, at), decode_part(c, at), c[P]);
}

static void guess(double *c, const struct points *p)
{
	c[T0] = form_low_ns(p) / 2;
	c[FLOPS] = form_high_rate(p, work_prefill_flops);
	c[TOKEN] = 0.2 / form_high_rate(p, new_tokens);
	c[BYTES] = form_high_rate(p, work_decode_bytes);
	c[SEQ] = c[TOKEN];
	c[PRIOR] = form_high_rate(p, work_prefill_bytes);
}

static void guess_pnorm(double *c, const struct points *p)
{
	guess(c, p);
	c[P] = 2;
}

static uint64_t group(const struct point *at)
{
	return form_hash((uint64_t)at->new_tok, (uint64_t)at->prior_tok, (uint64_t)at->decode_seq,
			 (uint64_t)at->heads);
}

/* clang-format off */
#define SIZES                                                                                      \
	.op = OP_MIXED, .axes = {"new_tok", "decode_seq", "decode_len", "prior_tok"},              \
	.knots = {8, 5, 6, 6},                                                                     \
	.ranges = {"new_tok", "prior_tok", "decode_seq", "decode_len", "heads", "kv_heads"},       \
	.group = group
/* clang-format on */

static const struct form work = {
	.name = "work",
	.text = "t0 + flops / flops_per_ns + bytes / bytes_per_ns",
	.coefs = {"t0_ns", "flops_per_ns", "bytes_per_ns"},
	.base_ns = work_ns,
	.guess = guess,
	SIZES,
};

static const struct form sum = {
	.name = "sum",
	.text = "t0 + token N + flops / flops_per_ns + seq b + bytes / bytes_per_ns",
	.coefs = {"t0_ns", "flops_per_ns", "bytes_per_ns", "token_ns", "seq_ns"},
	.base_ns = sum_ns,
	.guess = guess,
	SIZES,
};

static const struct form affine = {
	.name = "affine",
	.text = "t0 + token N + flops / flops_per_ns + seq b + bytes / bytes_per_ns + "
		"prior_bytes / prior_bytes_per_ns",
	.coefs = {"t0_ns", "flops_per_ns", "bytes_per_ns", "token_ns", "seq_ns",
		  "prior_bytes_per_ns"},
	.base_ns = affine_ns,
	.guess = guess,
	SIZES,
};

static const struct form pnorm = {
	.name = "pnorm",
	.text = "t0 + ((token N + flops / flops_per_ns + prior_bytes / prior_bytes_per_ns)^p + "
		"(seq b + bytes / bytes_per_ns)^p)^(1/p)",
	.coefs = {"t0_ns", "flops_per_ns", "bytes_per_ns", "token_ns", "seq_ns",
		  "prior_bytes_per_ns", "p"},
	.base_ns = pnorm_ns,
	.guess = guess_pnorm,
	SIZES,
};

const struct form *const forms_mixed[] = {&work, &sum, &affine, &pnorm, NULL};
