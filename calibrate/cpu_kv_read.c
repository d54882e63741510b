/* Where a row is depends on how long ago its token came. */

#include "calibrate/cpu_kv_read.h"

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static struct cpu_kv_piece of_window(const struct cpu_kv_reader *r, int kind, int64_t tok,
				     int64_t end)
{
	int64_t d = r->kv->is.head_dim;
	int64_t row = cpu_kv_window_row(r->kv, r->layer, r->s, r->head, tok);

	return (struct cpu_kv_piece){
		.x = r->kv->window[kind] + row * d,
		.n = least(KV_WINDOW - tok % KV_WINDOW, end - tok),
		.stride = d,
	};
}

static struct cpu_kv_piece computed(const struct cpu_kv_reader *r, int kind, int64_t tok,
				    int64_t end)
{
	int64_t row = r->s->row + tok - r->s->prior_tok;
	return (struct cpu_kv_piece){
		.x = r->rows->x[kind] + row * r->rows->stride + r->head * r->kv->is.head_dim,
		.n = end - tok,
		.stride = r->rows->stride,
	};
}

/* Pairs of each channel, of a group of keys. */
static void spread_keys(const struct cpu_kv_reader *r, int64_t row)
{
	int64_t d = r->kv->is.head_dim;

	r->kernels->spread(r->kv->pair[KV_KEYS] + row / QUANT_GROUP * d, d, 1, r->pair);
}

static void spread_values(const struct cpu_kv_reader *r, int64_t row)
{
	int64_t d = r->kv->is.head_dim, groups = d / QUANT_GROUP;

	r->kernels->spread(r->kv->pair[KV_VALUES] + row * groups, groups, QUANT_GROUP, r->pair);
}

/* n rows of the pool into `room`; keys of one group. */
static void unpack(const struct cpu_kv_reader *r, int kind, int64_t row, int64_t n, float *room)
{
	const struct cpu_kv *kv = r->kv;
	int64_t d = kv->is.head_dim, bytes = d * kv->is.bits / 8;

	if (kv->is.bits < 8 && kind == KV_KEYS)
		spread_keys(r, row);
	for (int64_t i = row; i < row + n; i++, room += d) {
		const uint8_t *code = kv->code[kind] + i * bytes;
		if (kv->is.bits == 8) {
			r->kernels->unpack8((const int8_t *)code, kv->scale[kind][i], d, room);
			continue;
		}
		if (kind == KV_VALUES)
			spread_values(r, i);
		r->kernels->unpack(code, kv->is.bits, d, r->pair, r->pair + d, room);
	}
}

struct cpu_kv_piece cpu_kv_read(const struct cpu_kv_reader *r, int kind, int64_t tok, int64_t end,
				float *room)
{
	const struct cpu_kv *kv = r->kv;
	bool late = cpu_kv_is_late(kv);

	if (late && tok >= r->s->prior_tok)
		return computed(r, kind, tok, end);
	if (late) {
		int64_t coded = cpu_kv_coded(kind, r->s->prior_tok);
		end = least(end, tok < coded ? coded : r->s->prior_tok);
		if (tok >= coded)
			return of_window(r, kind, tok, end);
		if (kind == KV_KEYS)
			end = least(end, tok - tok % QUANT_GROUP + QUANT_GROUP);
	}
	int64_t row = cpu_kv_row(kv, r->layer, r->s, r->head, tok), d = kv->is.head_dim;
	int64_t n = least(kv->is.block_tok - tok % kv->is.block_tok, end - tok);
	if (kv->is.bits == 16)
		return (struct cpu_kv_piece){kv->full[kind] + row * d, n, d};
	unpack(r, kind, row, n, room);
	return (struct cpu_kv_piece){room, n, d};
}
