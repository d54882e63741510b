#include "tests/measured.h"
#include <math.h>
#include <string.h>

static double gemm_ns(const double *coef, const struct point *at)
{
	double n = (double)at->n, k = (double)at->k;

	(void)coef;
	return 3000 + n * k * at->bits / 8 / 4000 + 2 * (double)at->m * n * k / 800000;
}

static double rows_ns(const double *coef, const struct point *at)
{
	(void)coef;
	return 1000 + (double)(at->m * at->n) / 1000;
}

static double reduce_ns(const double *coef, const struct point *at)
{
	(void)coef;
	return 5000 + (double)at->bytes / 400;
}

/* A token of context beyond 2048 costs half of what it does below. */
static double decode_ns(const double *coef, const struct point *at)
{
	double seqs = (double)at->decode_seq, length = (double)at->decode_ctx / seqs;
	double beyond = at->longest > 0 && at->decode_seq >= 64
				? MEASURED_BEYOND_NS * ((double)at->longest - length)
				: 0;

	(void)coef;
	return 5000 + 20 * seqs + seqs * (2 * fmin(length, 2048) + fmax(0, length - 2048)) + beyond;
}

static double prefill_ns(const double *coef, const struct point *at)
{
	double q = (double)at->new_tok, seqs = (double)at->prefill_seq;

	(void)coef;
	return 4000 + 100 * seqs + seqs * q * ((double)at->prior_tok + (q + 1) / 2) / 40;
}

static double mixed_ns(const double *coef, const struct point *at)
{
	return 0.8 * (prefill_ns(coef, at) + decode_ns(coef, at));
}

#define FORM(o, f) [o] = {.name = "by hand", .text = #f, .op = (o), .base_ns = (f)}
static const struct form forms[N_OPS] = {
	FORM(OP_GEMM, gemm_ns),	       FORM(OP_PREFILL, prefill_ns), FORM(OP_DECODE, decode_ns),
	FORM(OP_MIXED, mixed_ns),      FORM(OP_NORM, rows_ns),	     FORM(OP_ROPE, rows_ns),
	FORM(OP_ACT, rows_ns),	       FORM(OP_EMBED, rows_ns),	     FORM(OP_SAMPLE, rows_ns),
	FORM(OP_ALLREDUCE, reduce_ns),
};
#undef FORM

static const struct range ranges[N_OPS][FIT_RANGES] = {
	[OP_GEMM] = {{"m", 1, 8192}},
	[OP_PREFILL] = {{"new_tok", 16, 8192}, {"prior_tok", 0, 16384}, {"prefill_seq", 1, 64}},
	[OP_DECODE] = {{"decode_seq", 1, 512}, {"decode_len", 16, 16384}},
};

double measured_ns(const struct point *at)
{
	return forms[at->op].base_ns(NULL, at);
}

void measured_add(struct measured *m, enum op op, int bits)
{
	CHECK(m->profile.n_fits < MEASURED_FITS, "%d fits", MEASURED_FITS);
	struct fit *f = &m->fit[m->profile.n_fits++];

	*f = (struct fit){.op = op, .bits = bits, .form = &forms[op]};
	for (const struct range *r = ranges[op]; f->n_ranges < FIT_RANGES && r->name; r++)
		f->range[f->n_ranges++] = *r;
}

void measured_drop(struct measured *m, enum op op)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->profile.n_fits; i++)
		if (m->fit[i].op != op)
			m->fit[kept++] = m->fit[i];
	m->profile.n_fits = kept;
}

void measured_init(struct measured *m)
{
	static const enum op ops[] = {OP_GEMM, OP_PREFILL, OP_DECODE, OP_NORM,	   OP_ROPE,
				      OP_ACT,  OP_EMBED,   OP_SAMPLE, OP_ALLREDUCE};
	size_t n, i = 0;
	const struct device *list = device_list(&n);

	while (i < n && strcmp(list[i].name, "h200") != 0)
		i++;
	CHECK(i < n, "no h200 in the list");
	*m = (struct measured){.device = list[i], .profile = {.fit = m->fit}};
	m->device.profile = &m->profile;
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		measured_add(m, ops[i], 16);
}
