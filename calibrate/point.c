#include "calibrate/point.h"
#include <inttypes.h>
#include <string.h>

const char *const op_names[N_OPS] = {
	[OP_GEMM] = "gemm",
	[OP_PREFILL] = "prefill",
	[OP_DECODE] = "decode",
	[OP_MIXED] = "mixed",
	[OP_NORM] = "norm",
	[OP_ROPE] = "rope",
	[OP_ACT] = "act",
	[OP_EMBED] = "embed",
	[OP_SAMPLE] = "sample",
	[OP_ALLREDUCE] = "allreduce",
	[OP_COPY_TO_HOST] = "copy_to_host",
	[OP_COPY_FROM_HOST] = "copy_from_host",
	[OP_COPY_DEVICE] = "copy_device",
	[OP_STEP] = "step",
};

void points_add(struct points *p, const struct point *point)
{
	if (p->n == p->room) {
		p->room = p->room ? 2 * p->room : 64;
		p->at = xrealloc(p->at, p->room * sizeof(*p->at));
	}
	p->at[p->n++] = *point;
}

void points_release(struct points *p)
{
	free(p->at);
	*p = (struct points){.at = NULL};
}

/* FNV-1a over the bytes of a word, lowest first, whatever the machine's order. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
	for (int i = 0; i < 8; i++, word >>= 8)
		hash = (hash ^ (word & 0xff)) * UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t mix_real(uint64_t hash, double value)
{
	uint64_t word;

	memcpy(&word, &value, sizeof(word));
	return mix(hash, word);
}

static uint64_t mix_point(uint64_t hash, const struct point *p)
{
	const int64_t sizes[] = {
		p->op,	       p->bits,	    p->m,	    p->n,	p->k,	      p->heads,
		p->kv_heads,   p->head_dim, p->prefill_seq, p->new_tok, p->prior_tok, p->decode_seq,
		p->decode_ctx, p->longest,  p->devices,	    p->bytes,	p->repeats};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		hash = mix(hash, (uint64_t)sizes[i]);
	return mix_real(mix_real(mix_real(hash, p->ns), p->min_ns), p->max_ns);
}

void points_hash(const struct points *p, char hash[17])
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < p->n; i++)
		h = mix_point(h, &p->at[i]);
	snprintf(hash, 17, "%016" PRIx64, h);
}
