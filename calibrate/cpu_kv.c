/* Where a cached number lies, and what is there at first. */

#include "calibrate/cpu_kv.h"
#include "calibrate/weights.h"
#include "sim/rng.h"
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

static int64_t numbers(const struct cpu_kv_want *w)
{
	return w->layers * w->blocks * w->kv_heads * w->block_tok * w->head_dim;
}

int64_t cpu_kv_bytes(const struct cpu_kv_want *w)
{
	return 2 * numbers(w) * (int64_t)sizeof(float);
}

static float *random_numbers(int64_t n, uint64_t seed, int threads)
{
	float *x = xmalloc((size_t)n * sizeof(*x));

	weights_fill(x, n, 0, sqrtf(3), seed, threads);
	return x;
}

void cpu_kv_init(struct cpu_kv *kv, const struct cpu_kv_want *w)
{
	gsl_rng *rng = rng_new(w->seed, "blocks");

	*kv = (struct cpu_kv){
		.is = *w,
		.k = random_numbers(numbers(w), w->seed, w->threads),
		.v = random_numbers(numbers(w), ~w->seed, w->threads),
		.order = xmalloc((size_t)w->blocks * sizeof(*kv->order)),
	};
	for (int64_t i = 0; i < w->blocks; i++)
		kv->order[i] = i;
	gsl_ran_shuffle(rng, kv->order, (size_t)w->blocks, sizeof(*kv->order));
	gsl_rng_free(rng);
}

void cpu_kv_release(struct cpu_kv *kv)
{
	free(kv->k);
	free(kv->v);
	free(kv->order);
	*kv = (struct cpu_kv){0};
}

int64_t cpu_kv_blocks(const struct cpu_kv *kv, int64_t tok)
{
	return (tok + kv->is.block_tok - 1) / kv->is.block_tok;
}

static int64_t place(const struct cpu_kv *kv, int64_t layer, const struct cpu_seq *s,
		     int64_t kv_head, int64_t tok)
{
	const struct cpu_kv_want *w = &kv->is;
	int64_t block = layer * w->blocks + s->block[tok / w->block_tok];

	return ((block * w->kv_heads + kv_head) * w->block_tok + tok % w->block_tok) * w->head_dim;
}

static void write_seq(struct cpu_kv *kv, int64_t layer, const struct cpu_seq *s,
		      const struct cpu_kv_rows *rows)
{
	const struct cpu_kv_want *w = &kv->is;
	size_t size = (size_t)w->head_dim * sizeof(float);

	for (int64_t i = 0; i < s->new_tok; i++)
		for (int64_t h = 0; h < w->kv_heads; h++) {
			int64_t to = place(kv, layer, s, h, s->prior_tok + i);
			int64_t from = (s->row + i) * rows->stride + h * w->head_dim;
			memcpy(kv->k + to, rows->k + from, size);
			memcpy(kv->v + to, rows->v + from, size);
		}
}

void cpu_kv_write(struct cpu_kv *kv, int64_t layer, const struct cpu_seq *seqs, size_t n,
		  const struct cpu_kv_rows *rows)
{
#pragma omp parallel for num_threads(kv->is.threads) schedule(dynamic, 1)
	for (size_t i = 0; i < n; i++)
		write_seq(kv, layer, &seqs[i], rows);
}

const float *cpu_kv_keys(const struct cpu_kv *kv, int64_t layer, const struct cpu_seq *s,
			 int64_t kv_head, int64_t tok)
{
	return kv->k + place(kv, layer, s, kv_head, tok);
}

const float *cpu_kv_values(const struct cpu_kv *kv, int64_t layer, const struct cpu_seq *s,
			   int64_t kv_head, int64_t tok)
{
	return kv->v + place(kv, layer, s, kv_head, tok);
}
