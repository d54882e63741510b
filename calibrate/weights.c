/* Sizes of a share, and one block of memory with all of its weights. */

#include "calibrate/weights.h"
#include "sim/rng.h"
#include <math.h>

/* 24 random bits and a half, in (-1, 1): odd over 2^24, so it is neither 0 nor denormal. */
static float odd_part(uint64_t bits)
{
	return (float)((int32_t)(bits & 0xffffff) * 2 - 0xffffff) * 0x1p-24F;
}

void weights_fill(float *x, int64_t n, float center, float spread, uint64_t seed, int threads)
{
	const uint64_t stream = rng_mix(seed);

	(void)threads; /* where it is compiled without OpenMP */
#pragma omp parallel for num_threads(threads) schedule(static)
	for (int64_t i = 0; i < n; i += 2) {
		uint64_t bits = rng_mix(stream + (uint64_t)i);
		x[i] = center + spread * odd_part(bits);
		if (i + 1 < n)
			x[i + 1] = center + spread * odd_part(bits >> 32);
	}
}

/* Hands out parts of one block of memory; without one, only counts. */
struct part {
	float *base;
	int64_t used; /* floats */
	uint64_t seed;
	int threads;
};

enum { LINE = 16 }; /* floats */

static float *take(struct part *p, int64_t n, float center, float spread)
{
	float *x = p->base ? p->base + p->used : NULL;

	if (x)
		weights_fill(x, n, center, spread, p->seed + (uint64_t)p->used, p->threads);
	p->used += (n + LINE - 1) / LINE * LINE;
	return x;
}

/* Rows of a matrix with `in` columns: a product with numbers of variance 1 has variance 1. */
static float *matrix(struct part *p, int64_t out, int64_t in)
{
	return take(p, out * in, 0, sqrtf(3.0F / (float)in));
}

static float *bias(struct part *p, bool has, int64_t n)
{
	return has ? take(p, n, 0, 0.1F) : NULL;
}

static float *scale(struct part *p, bool has, int64_t n)
{
	return has ? take(p, n, 1, 0.1F) : NULL;
}

static void take_layer(struct part *p, struct weights_layer *l, const struct weights *w,
		       const struct model *m)
{
	int64_t qkv = weights_qkv_width(w), up = weights_up_width(w), two = m->norms != 1;

	l->attention_norm = scale(p, true, w->hidden);
	l->attention_norm_bias = bias(p, w->layer_norm, w->hidden);
	l->qkv = matrix(p, qkv, w->hidden);
	l->qkv_bias = bias(p, m->qkv_bias, qkv);
	l->q_norm = scale(p, m->qk_norm, w->head_dim);
	l->k_norm = scale(p, m->qk_norm, w->head_dim);
	l->o = matrix(p, w->hidden, w->heads * w->head_dim);
	l->o_bias = bias(p, m->o_bias, w->hidden);
	l->mlp_norm = scale(p, two, w->hidden);
	l->mlp_norm_bias = bias(p, two && w->layer_norm, w->hidden);
	l->up = matrix(p, up, w->hidden);
	l->up_bias = bias(p, m->mlp_bias, up);
	l->down = matrix(p, w->hidden, w->inter);
	l->down_bias = bias(p, m->mlp_bias, w->hidden);
}

static void take_all(struct part *p, struct weights *w, const struct model *m)
{
	w->embed = take(p, w->vocab * w->hidden, 0, sqrtf(3));
	w->position = w->positions ? take(p, w->positions * w->hidden, 0, 0.5F) : NULL;
	for (int64_t i = 0; i < w->layers; i++)
		take_layer(p, &w->layer[i], w, m);
	w->final_norm = scale(p, true, w->hidden);
	w->final_norm_bias = bias(p, w->layer_norm, w->hidden);
	w->head = m->tied ? w->embed : matrix(p, w->vocab, w->hidden);
	w->head_bias = bias(p, m->head_bias, w->vocab);
}

static struct weights sizes(const struct model *m, int64_t tp)
{
	return (struct weights){
		.layers = m->layers,
		.hidden = m->hidden,
		.heads = m->heads / tp,
		.kv_heads = model_local_kv_heads(m, tp),
		.head_dim = m->head_dim,
		.inter = m->inter / tp,
		.vocab = (m->vocab + tp - 1) / tp,
		.positions = m->positions,
		.context = m->context,
		.gated = m->gated,
		.layer_norm = m->norm_bias,
		.layer = xcalloc((size_t)m->layers, sizeof(struct weights_layer)),
	};
}

int weights_check(const struct model *m, int64_t tp, struct err *e)
{
	const struct {
		bool is;
		const char *what;
	} without[] = {
		{m->experts > 0, "a mixture of experts"},
		{m->attention == ATTENTION_MLA, "multi-head latent attention"},
		{m->window_layers > 0, "layers with a sliding window"},
		{m->norms > 2, "more than two norms a layer"},
		{m->sinks, "attention sinks"},
		{m->head_dim % 2 != 0, "heads of an odd width"},
	};

	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		if (without[i].is)
			return err_set(e,
				       "%s has %s: there are no kernels for that, only for dense "
				       "models with grouped-query attention over the whole context",
				       m->name, without[i].what);
	return model_check_tp(m, tp, e);
}

int64_t weights_bytes(const struct model *m, int64_t tp)
{
	struct weights w = sizes(m, tp);
	struct part p = {.base = NULL};

	take_all(&p, &w, m);
	free(w.layer);
	return p.used * (int64_t)sizeof(float);
}

void weights_make(struct weights *w, const struct model *m, int64_t tp, uint64_t seed, int threads)
{
	*w = sizes(m, tp);
	w->bytes = weights_bytes(m, tp);
	w->memory = aligned_alloc(LINE * sizeof(float), (size_t)w->bytes);
	if (!w->memory)
		no_memory(1, (size_t)w->bytes);
	struct part p = {.base = w->memory, .seed = rng_mix(seed), .threads = threads};
	take_all(&p, w, m);
}

void weights_release(struct weights *w)
{
	free(w->memory);
	free(w->layer);
	*w = (struct weights){0};
}
