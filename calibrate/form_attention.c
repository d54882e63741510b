/*
 * Attention of one layer, prefill and decode. Both have a latency and a cost of each token (or
 * sequence) that grows with its heads; prefill adds pairs of tokens over a rate of arithmetic,
 * decode the cached keys and values over a bandwidth, and where sequences differ the wait for the
 * longest.
 */
#include "calibrate/form_parts.h"
#include <math.h>

enum { T0, WORK, TOKEN, KV_TOKEN, PRIOR };

static double new_tokens(const struct point *at)
{
	return (double)at->prefill_seq * (double)at->new_tok;
}

static double prefill_ns(const double *c, const struct point *at)
{
	return c[T0] + c[TOKEN] * new_tokens(at) * (double)at->heads +
	       work_prefill_flops(at) / c[WORK];
}

static double prefill_work_ns(const double *c, const struct point *at)
{
	return c[T0] + work_prefill_flops(at) / c[WORK];
}

static double heads_ns(const double *c, const struct point *at)
{
	return prefill_ns(c, at) + c[KV_TOKEN] * new_tokens(at) * (double)at->kv_heads;
}

static double prior_ns(const double *c, const struct point *at)
{
	return prefill_ns(c, at) + work_prefill_bytes(at) / c[PRIOR - 1];
}

static double heads_prior_ns(const double *c, const struct point *at)
{
	return heads_ns(c, at) + work_prefill_bytes(at) / c[PRIOR];
}

static double token_heads(const struct point *at)
{
	return new_tokens(at) * (double)at->heads;
}

static void guess_prefill(double *c, const struct points *p)
{
	c[T0] = form_low_ns(p) / 2;
	c[WORK] = form_high_rate(p, work_prefill_flops);
	c[TOKEN] = 0.5 / form_high_rate(p, token_heads);
}

static void guess_heads(double *c, const struct points *p)
{
	guess_prefill(c, p);
	c[KV_TOKEN] = c[TOKEN];
}

static void guess_prior(double *c, const struct points *p)
{
	guess_prefill(c, p);
	c[PRIOR - 1] = form_high_rate(p, work_prefill_bytes);
}

static void guess_heads_prior(double *c, const struct points *p)
{
	guess_heads(c, p);
	c[PRIOR] = form_high_rate(p, work_prefill_bytes);
}

static uint64_t prefill_group(const struct point *at)
{
	return form_hash((uint64_t)at->heads, (uint64_t)at->kv_heads, (uint64_t)at->prefill_seq,
			 (uint64_t)at->prior_tok);
}

/* clang-format off */
#define PREFILL                                                                                    \
	.op = OP_PREFILL, .axes = {"new_tok", "prior_tok", "prefill_seq", "heads"},                \
	.knots = {11, 8, 6, 5},                                                                    \
	.ranges = {"new_tok", "prior_tok", "prefill_seq", "heads", "kv_heads", "head_dim"},        \
	.group = prefill_group
/* clang-format on */

/* Where a token costs nothing beside its work, as on a processor. */
static const struct form prefill_work = {
	.name = "work",
	.text = "t0 + flops / flops_per_ns",
	.coefs = {"t0_ns", "flops_per_ns"},
	.base_ns = prefill_work_ns,
	.guess = guess_prefill,
	PREFILL,
};

static const struct form prefill = {
	.name = "affine",
	.text = "t0 + token heads N + flops / flops_per_ns",
	.coefs = {"t0_ns", "flops_per_ns", "token_head_ns"},
	.base_ns = prefill_ns,
	.guess = guess_prefill,
	PREFILL,
};

static const struct form prefill_heads = {
	.name = "heads",
	.text = "t0 + (token heads + kv_token kv_heads) N + flops / flops_per_ns",
	.coefs = {"t0_ns", "flops_per_ns", "token_head_ns", "token_kv_head_ns"},
	.base_ns = heads_ns,
	.guess = guess_heads,
	PREFILL,
};

static const struct form prefill_prior = {
	.name = "prior",
	.text = "t0 + token heads N + flops / flops_per_ns + prior_bytes / prior_bytes_per_ns",
	.coefs = {"t0_ns", "flops_per_ns", "token_head_ns", "prior_bytes_per_ns"},
	.base_ns = prior_ns,
	.guess = guess_prior,
	PREFILL,
};

static const struct form prefill_heads_prior = {
	.name = "heads_prior",
	.text = "t0 + (token heads + kv_token kv_heads) N + flops / flops_per_ns + "
		"prior_bytes / prior_bytes_per_ns",
	.coefs = {"t0_ns", "flops_per_ns", "token_head_ns", "token_kv_head_ns",
		  "prior_bytes_per_ns"},
	.base_ns = heads_prior_ns,
	.guess = guess_heads_prior,
	PREFILL,
};

const struct form *const forms_prefill[] = {
	&prefill_work, &prefill, &prefill_prior, &prefill_heads, &prefill_heads_prior, NULL};

/* Decode. */
enum { SEQ = 2, UNEVEN = 2, KV_SEQ = 3, SEQ_UNEVEN = 3 };
enum { FULL = 1 }; /* behind an uneven rate */

static double bytes_ns(const double *c, const struct point *at)
{
	return c[T0] + work_decode_bytes(at) / c[WORK];
}

static double decode_ns(const double *c, const struct point *at)
{
	return bytes_ns(c, at) + c[SEQ] * (double)(at->decode_seq * at->heads);
}

static double decode_heads_ns(const double *c, const struct point *at)
{
	return decode_ns(c, at) + c[KV_SEQ] * (double)(at->decode_seq * at->kv_heads);
}

/*
 * The wait for the longest sequence. While sequences and KV heads are few a kernel cuts each of
 * them into parts for all its processors, and nobody waits; with more of them than full_heads a
 * sequence is one processor's work, and what the longest has beyond the mean goes on alone.
 */
static double wait_ns(const double *c, const struct point *at)
{
	double heads = (double)(at->decode_seq * at->kv_heads) / c[FULL];
	double fourth = heads * heads * heads * heads;

	return work_uneven_bytes(at) / c[0] * fourth / (1 + fourth);
}

static double uneven_ns(const double *c, const struct point *at)
{
	return bytes_ns(c, at) + wait_ns(c + UNEVEN, at);
}

static double seq_uneven_ns(const double *c, const struct point *at)
{
	return decode_ns(c, at) + wait_ns(c + SEQ_UNEVEN, at);
}

static void guess_bytes(double *c, const struct points *p)
{
	c[T0] = form_low_ns(p) / 2;
	c[WORK] = form_high_rate(p, work_decode_bytes);
}

static double seq_heads(const struct point *at)
{
	return (double)(at->decode_seq * at->heads);
}

static void guess_decode(double *c, const struct points *p)
{
	guess_bytes(c, p);
	c[SEQ] = 0.5 / form_high_rate(p, seq_heads);
}

static void guess_decode_heads(double *c, const struct points *p)
{
	guess_decode(c, p);
	c[KV_SEQ] = c[SEQ];
}

/* One of a hundred processors or two, with two sequences' heads each. */
static void guess_wait(double *c, const double *work)
{
	c[0] = *work / 10;
	c[FULL] = 300;
}

static void guess_uneven(double *c, const struct points *p)
{
	guess_bytes(c, p);
	guess_wait(c + UNEVEN, c + WORK);
}

static void guess_seq_uneven(double *c, const struct points *p)
{
	guess_decode(c, p);
	guess_wait(c + SEQ_UNEVEN, c + WORK);
}

/* A stretch of two octaves of a row: there are tables of one head configuration and few batches. */
static uint64_t decode_group(const struct point *at)
{
	double octaves = log2(1 + form_size("decode_len", at));

	return form_hash((uint64_t)at->heads, (uint64_t)at->kv_heads, (uint64_t)at->decode_seq,
			 (uint64_t)(octaves / 2));
}

/* clang-format off */
#define DECODE                                                                                     \
	.op = OP_DECODE, .axes = {"decode_len", "decode_seq", "kv_heads", "group"},                \
	.knots = {14, 9, 4, 3},                                                                     \
	.ranges = {"decode_seq", "decode_len", "kv_heads", "group", "head_dim"},                   \
	.group = decode_group
/* clang-format on */

static const struct form decode_bytes = {
	.name = "bytes",
	.text = "t0 + bytes / bytes_per_ns",
	.coefs = {"t0_ns", "bytes_per_ns"},
	.base_ns = bytes_ns,
	.guess = guess_bytes,
	DECODE,
};

static const struct form decode = {
	.name = "affine",
	.text = "t0 + seq heads b + bytes / bytes_per_ns",
	.coefs = {"t0_ns", "bytes_per_ns", "seq_head_ns"},
	.base_ns = decode_ns,
	.guess = guess_decode,
	DECODE,
};

static const struct form decode_heads = {
	.name = "heads",
	.text = "t0 + (seq heads + kv_seq kv_heads) b + bytes / bytes_per_ns",
	.coefs = {"t0_ns", "bytes_per_ns", "seq_head_ns", "seq_kv_head_ns"},
	.base_ns = decode_heads_ns,
	.guess = guess_decode_heads,
	DECODE,
};

static const struct form uneven = {
	.name = "uneven",
	.text = "t0 + bytes / bytes_per_ns + uneven_bytes / uneven_bytes_per_ns h^4 / (1 + h^4), "
		"h = kv_heads b / full_heads",
	.coefs = {"t0_ns", "bytes_per_ns", "uneven_bytes_per_ns", "full_heads"},
	.base_ns = uneven_ns,
	.guess = guess_uneven,
	DECODE,
};

static const struct form seq_uneven = {
	.name = "seq_uneven",
	.text = "t0 + seq heads b + bytes / bytes_per_ns + uneven_bytes / uneven_bytes_per_ns h^4 "
		"/ "
		"(1 + h^4), h = kv_heads b / full_heads",
	.coefs = {"t0_ns", "bytes_per_ns", "seq_head_ns", "uneven_bytes_per_ns", "full_heads"},
	.base_ns = seq_uneven_ns,
	.guess = guess_seq_uneven,
	DECODE,
};

const struct form *const forms_decode[] = {&decode_bytes, &decode,	 &uneven,
					   &seq_uneven,	  &decode_heads, NULL};
