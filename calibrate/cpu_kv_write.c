/* New keys and values go into the pool; in 4 and 2 bits by way of the window. */

#include "calibrate/cpu_kv.h"
#include "sim/err.h"

/* One sequence and KV head in one layer. */
struct writer {
	struct cpu_kv *kv;
	int64_t layer, head;
	const struct cpu_seq *s;
	const struct cpu_kv_rows *rows;
};

static int64_t pool_row(const struct writer *w, int64_t tok)
{
	return cpu_kv_row(w->kv, w->layer, w->s, w->head, tok);
}

static float *window(const struct writer *w, int kind, int64_t tok)
{
	int64_t row = cpu_kv_window_row(w->kv, w->layer, w->s, w->head, tok);
	return w->kv->window[kind] + row * w->kv->is.head_dim;
}

static const float *computed(const struct writer *w, int kind, int64_t tok)
{
	int64_t row = w->s->row + tok - w->s->prior_tok;
	return w->rows->x[kind] + row * w->rows->stride + w->head * w->kv->is.head_dim;
}

static void write_token(const struct writer *w, int kind, int64_t tok)
{
	struct cpu_kv *kv = w->kv;
	int64_t d = kv->is.head_dim, row = pool_row(w, tok);
	const float *x = computed(w, kind, tok);

	if (kv->is.bits == 16)
		memcpy(kv->full[kind] + row * d, x, (size_t)d * sizeof(*x));
	else
		kv->scale[kind][row] = quant_row8(x, d, (int8_t *)(kv->code[kind] + row * d));
}

/* A number that is not a code yet: computed now, or in the window. */
static const float *uncoded(const struct writer *w, int kind, int64_t tok)
{
	return tok < w->s->prior_tok ? window(w, kind, tok) : computed(w, kind, tok);
}

/* A group of 32 tokens may be partly in the window and partly new. */
static void code_keys(const struct writer *w, int64_t tok)
{
	struct cpu_kv *kv = w->kv;
	int64_t d = kv->is.head_dim, row = pool_row(w, tok), bytes = d * kv->is.bits / 8;
	const float *x[QUANT_GROUP];

	for (int64_t i = 0; i < QUANT_GROUP; i++)
		x[i] = uncoded(w, KV_KEYS, tok + i);
	quant_keys(x, d, kv->is.bits, kv->code[KV_KEYS] + row * bytes,
		   kv->pair[KV_KEYS] + row / QUANT_GROUP * d);
}

static void code_value(const struct writer *w, int64_t tok)
{
	struct cpu_kv *kv = w->kv;
	int64_t d = kv->is.head_dim, row = pool_row(w, tok);

	quant_values(uncoded(w, KV_VALUES, tok), d, kv->is.bits,
		     kv->code[KV_VALUES] + row * (d * kv->is.bits / 8),
		     kv->pair[KV_VALUES] + row * (d / QUANT_GROUP));
}

/* What leaves the window becomes codes, then the last new tokens take its place. */
static void write_window(const struct writer *w)
{
	int64_t prior = w->s->prior_tok, ctx = prior + w->s->new_tok;
	int64_t last = ctx > KV_WINDOW ? ctx - KV_WINDOW : 0;
	size_t size = (size_t)w->kv->is.head_dim * sizeof(float);

	for (int64_t t = cpu_kv_coded(KV_KEYS, prior); t < cpu_kv_coded(KV_KEYS, ctx);
	     t += QUANT_GROUP)
		code_keys(w, t);
	for (int64_t t = cpu_kv_coded(KV_VALUES, prior); t < cpu_kv_coded(KV_VALUES, ctx); t++)
		code_value(w, t);
	for (int64_t t = last > prior ? last : prior; t < ctx; t++)
		for (int kind = 0; kind < KV_KINDS; kind++)
			memcpy(window(w, kind, t), computed(w, kind, t), size);
}

static void write_head(const struct writer *w)
{
	if (cpu_kv_is_late(w->kv)) {
		write_window(w);
		return;
	}
	for (int64_t t = w->s->prior_tok; t < w->s->prior_tok + w->s->new_tok; t++)
		for (int kind = 0; kind < KV_KINDS; kind++)
			write_token(w, kind, t);
}

void cpu_kv_write(struct cpu_kv *kv, int64_t layer, const struct cpu_seq *seqs, size_t n,
		  const struct cpu_kv_rows *rows)
{
	int64_t heads = kv->is.kv_heads, all = (int64_t)n * heads;

#pragma omp parallel for num_threads(kv->is.threads) schedule(dynamic, 1)
	for (int64_t i = 0; i < all; i++) {
		const struct writer w = {kv, layer, i % heads, &seqs[i / heads], rows};
		write_head(&w);
	}
}
