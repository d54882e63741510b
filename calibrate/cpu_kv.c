/* Where a cached number lies, and what is there at first. */

#include "calibrate/cpu_kv.h"
#include "calibrate/weights.h"
#include "sim/rng.h"
#include <gsl/gsl_randist.h>
#include <math.h>

static int64_t all_rows(const struct cpu_kv_want *w)
{
	return w->layers * w->blocks * w->kv_heads * w->block_tok;
}

static int64_t window_floats(const struct cpu_kv_want *w)
{
	return w->layers * w->windows * w->kv_heads * KV_WINDOW * w->head_dim;
}

static bool in_groups(const struct cpu_kv_want *w)
{
	return w->bits <= 4;
}

int64_t cpu_kv_block_tok(int64_t block_tok, int bits)
{
	return bits <= 4 ? (block_tok + QUANT_GROUP - 1) / QUANT_GROUP * QUANT_GROUP : block_tok;
}

int64_t cpu_kv_bytes(const struct cpu_kv_want *w)
{
	int64_t n = all_rows(w) * w->head_dim, one = sizeof(float);

	if (w->bits == 16)
		return 2 * n * one;
	if (w->bits == 8)
		return 2 * (n + all_rows(w) * one);
	return 2 * (n * w->bits / 8 + n / QUANT_GROUP * (int64_t)sizeof(struct quant_pair) +
		    window_floats(w) * one);
}

static float *random_floats(const struct cpu_kv_want *w, int64_t n, float center, float spread,
			    uint64_t seed)
{
	float *x = xmalloc((size_t)n * sizeof(*x));

	weights_fill(x, n, center, spread, seed, w->threads);
	return x;
}

static uint8_t *random_codes(const struct cpu_kv_want *w, int64_t n, uint64_t seed)
{
	int64_t words = (n + 7) / 8;
	uint64_t *x = xmalloc((size_t)words * sizeof(*x));

#pragma omp parallel for num_threads(w->threads)
	for (int64_t i = 0; i < words; i++)
		x[i] = rng_mix(seed + (uint64_t)i);
	return (uint8_t *)x;
}

/* Pairs as of groups of numbers that are even in (-spread, spread). */
static struct quant_pair *random_pairs(const struct cpu_kv_want *w, int64_t n, float spread,
				       uint64_t seed)
{
	struct quant_pair *p = xmalloc((size_t)n * sizeof(*p));

#pragma omp parallel for num_threads(w->threads)
	for (int64_t i = 0; i < n; i++) {
		float ends[2];
		weights_fill(ends, 2, 0, 0.1F * spread, seed + (uint64_t)i, 1);
		ends[0] -= 0.9F * spread;
		ends[1] += 0.9F * spread;
		p[i] = quant_pair_of(ends, 2, w->bits);
	}
	return p;
}

static void fill(struct cpu_kv *kv, int kind)
{
	const struct cpu_kv_want *w = &kv->is;
	uint64_t seed = rng_mix(w->seed + (uint64_t)kind);
	int64_t rows = all_rows(w), n = rows * w->head_dim;
	const float spread = sqrtf(3); /* of variance 1 */

	if (w->bits == 16) {
		kv->full[kind] = random_floats(w, n, 0, spread, seed);
		return;
	}
	kv->code[kind] = random_codes(w, n * w->bits / 8, seed);
	if (in_groups(w)) {
		kv->pair[kind] = random_pairs(w, n / QUANT_GROUP, spread, ~seed);
		kv->window[kind] = random_floats(w, window_floats(w), 0, spread, seed);
	} else {
		kv->scale[kind] = random_floats(w, rows, spread / 127, 0.1F * spread / 127, ~seed);
	}
}

void cpu_kv_init(struct cpu_kv *kv, const struct cpu_kv_want *w)
{
	gsl_rng *rng = rng_new(w->seed, "blocks");

	*kv = (struct cpu_kv){.is = *w, .order = xmalloc((size_t)w->blocks * sizeof(*kv->order))};
	for (int kind = 0; kind < KV_KINDS; kind++)
		fill(kv, kind);
	for (int64_t i = 0; i < w->blocks; i++)
		kv->order[i] = i;
	gsl_ran_shuffle(rng, kv->order, (size_t)w->blocks, sizeof(*kv->order));
	gsl_rng_free(rng);
}

void cpu_kv_release(struct cpu_kv *kv)
{
	for (int kind = 0; kind < KV_KINDS; kind++) {
		free(kv->full[kind]);
		free(kv->code[kind]);
		free(kv->scale[kind]);
		free(kv->pair[kind]);
		free(kv->window[kind]);
	}
	free(kv->order);
	*kv = (struct cpu_kv){0};
}

int64_t cpu_kv_blocks(const struct cpu_kv *kv, int64_t tok)
{
	return (tok + kv->is.block_tok - 1) / kv->is.block_tok;
}

int64_t cpu_kv_coded(int kind, int64_t ctx)
{
	if (kind == KV_KEYS)
		return ctx - ctx % KV_WINDOW;
	return ctx > KV_WINDOW ? ctx - KV_WINDOW : 0;
}

int64_t cpu_kv_row(const struct cpu_kv *kv, int64_t layer, const struct cpu_seq *s, int64_t kv_head,
		   int64_t tok)
{
	const struct cpu_kv_want *w = &kv->is;
	int64_t block = layer * w->blocks + s->block[tok / w->block_tok];

	return (block * w->kv_heads + kv_head) * w->block_tok + tok % w->block_tok;
}

int64_t cpu_kv_window_row(const struct cpu_kv *kv, int64_t layer, const struct cpu_seq *s,
			  int64_t kv_head, int64_t tok)
{
	int64_t window = layer * kv->is.windows + s->window;

	return (window * kv->is.kv_heads + kv_head) * KV_WINDOW + tok % KV_WINDOW;
}

bool cpu_kv_is_late(const struct cpu_kv *kv)
{
	return in_groups(&kv->is);
}
