/*
 * kv.cuh: how keys and values lie in a paged pool, and the kernels that bring them there.
 *
 * A page holds 2^page_shift tokens, a multiple of 16 (of 32 where numbers have 4 or 2 bits): first
 * all tokens of its first KV head, then those of the second. A slot is page x tokens of a page +
 * place in the page. Keys and values of a slot lie at the same place of their two arrays.
 *
 * 16 bits: bf16. 8: e4m3, without scales, as servers cache it. 4 and 2 (KIVI, section 4.2): codes
 * with a scale (low half) and a zero (high half): of keys per channel and 32 tokens, of values per
 * token and 32 channels; the latest tokens of a sequence are kept in a pool of 16 bits beside it.
 */
#ifndef CALIBRATE_CUDA_KV_CUH
#define CALIBRATE_CUDA_KV_CUH

#include "arguments.h"
#include "number.cuh"

/* Where a slot's numbers begin, in rows of head_dim numbers. */
DEVICE int64_t kv_row(const kv_pool &pool, int64_t slot, int kv_head)
{
	int64_t page = slot >> pool.page_shift;
	int64_t within = slot - (page << pool.page_shift);

	return ((page * pool.kv_heads + kv_head) << pool.page_shift) + within;
}

DEVICE int64_t kv_slot(const kv_pool &pool, int first_page, int tok)
{
	int64_t page = pool.pages[first_page + (tok >> pool.page_shift)];

	return (page << pool.page_shift) + (tok & ((1 << pool.page_shift) - 1));
}

/* Scales of the keys of a row's group begin there; rows of a group are aligned to it. */
template <int D> DEVICE int64_t key_scales_at(int64_t row)
{
	return row / kivi_group * D;
}

template <int D> DEVICE int64_t value_scales_at(int64_t row)
{
	return row * (D / kivi_group);
}

/* 8 numbers to a slot of a pool of 16 or 8 bits. */
template <int D, int BITS> DEVICE void kv_store(void *base, int64_t row, int at, const float x[8])
{
	if (BITS == 16) {
		uint4 v = {pack_bf16(x[0], x[1]), pack_bf16(x[2], x[3]), pack_bf16(x[4], x[5]),
			   pack_bf16(x[6], x[7])};

		*(uint4 *)((bf16 *)base + row * D + at) = v;
		return;
	}
	uint2 v = {0, 0};

	for (int i = 0; i < 4; i++) {
		v.x |= to_e4m3(x[i]) << bit_of<8>(i);
		v.y |= to_e4m3(x[i + 4]) << bit_of<8>(i);
	}
	*(uint2 *)((unsigned char *)base + row * D + at) = v;
}

DEVICE void unpack_8(const bf16 *from, float x[8])
{
	uint4 v = *(const uint4 *)from;
	uint32_t w[4] = {v.x, v.y, v.z, v.w};

	for (int i = 0; i < 4; i++) {
		x[2 * i] = low_float(w[i]);
		x[2 * i + 1] = high_float(w[i]);
	}
}

DEVICE void pack_8(bf16 *to, const float x[8])
{
	*(uint4 *)to = {pack_bf16(x[0], x[1]), pack_bf16(x[2], x[3]), pack_bf16(x[4], x[5]),
			pack_bf16(x[6], x[7])};
}

/* Turns 8 pairs (i, i + D/2) of a head by their position. */
template <int D>
DEVICE void rotate_8(const uint32_t *turns, int first, uint32_t position, float a[8], float b[8])
{
	for (int i = 0; i < 8; i++) {
		/* whole turns overflow, as they should */
		uint32_t fraction = position * turns[first + i];
		float sine, cosine, was = a[i];

		sine_cosine((float)(int32_t)fraction * 0x1p-32F, &sine, &cosine);
		a[i] = was * cosine - b[i] * sine;
		b[i] = b[i] * cosine + was * sine;
	}
}

/*
 * Rotary positions (GPT-NeoX's pairs), and keys and values into the pool: grid: a block a token.
 * Queries stay where they are.
 */
template <int D, int BITS> KERNEL void append_kernel(append_args p)
{
	constexpr int parts = D / 16; /* of a head: 8 pairs each */
	int kv_heads = p.pool.kv_heads, all = p.heads + 2 * kv_heads;
	int tok = (int)blockIdx.x;
	int64_t slot = p.slot[tok], stage_slot = p.stage_slot ? p.stage_slot[tok] : -1;

	for (int i = (int)threadIdx.x; i < all * parts; i += (int)blockDim.x) {
		int head = i / parts, first = i % parts * 8;
		bool value = head >= p.heads + kv_heads;
		bf16 *at = p.qkv + ((int64_t)tok * all + head) * D + first;
		int kv_head = (head - p.heads) % kv_heads;
		float a[8], b[8];

		unpack_8(at, a);
		unpack_8(at + D / 2, b);
		if (!value && p.turns)
			rotate_8<D>(p.turns, first, (uint32_t)p.position[tok], a, b);
		if (head < p.heads) {
			pack_8(at, a);
			pack_8(at + D / 2, b);
			continue;
		}
		if (slot >= 0) {
			void *base = value ? p.pool.v : p.pool.k;
			int64_t row = kv_row(p.pool, slot, kv_head);

			kv_store<D, BITS>(base, row, first, a);
			kv_store<D, BITS>(base, row, first + D / 2, b);
		}
		if (stage_slot >= 0) {
			void *base = value ? p.stage.v : p.stage.k;
			int64_t row = kv_row(p.stage, stage_slot, kv_head);

			kv_store<D, 16>(base, row, first, a);
			kv_store<D, 16>(base, row, first + D / 2, b);
		}
	}
}

/* The sizes of codes for numbers between low and high, as they are stored: scale and zero. */
template <int BITS> DEVICE uint32_t kivi_scale(float low, float high)
{
	return pack_bf16((high - low) / (float)((1 << BITS) - 1), low);
}

template <int BITS> DEVICE uint32_t kivi_code(uint32_t scale, float x)
{
	float step = low_float(scale);

	if (!(step > 0))
		return 0;
	return (uint32_t)(int)fminf(fmaxf(rintf((x - high_float(scale)) / step), 0.0F),
				    (float)((1 << BITS) - 1));
}

/* Codes of [32][D], a byte each, into words. */
template <int D, int BITS>
DEVICE void kivi_pack(const unsigned char *codes, uint32_t *words, int64_t row)
{
	constexpr int per_word = 32 / BITS, row_words = D / per_word;

	for (int i = (int)threadIdx.x; i < kivi_group * row_words; i += D) {
		const unsigned char *from = codes + i / row_words * D + i % row_words * per_word;
		uint32_t word = 0;

		for (int j = 0; j < per_word; j++)
			word |= (uint32_t)from[j] << bit_of<BITS>(j);
		words[row * row_words + i] = word;
	}
}

/*
 * Groups of 32 tokens of a pool of 16 bits become codes. Grid: (moves at most, KV heads), D
 * threads: a channel each.
 */
template <int D, int BITS>
KERNEL void kivi_store_kernel(kv_pool from, kv_pool to, const kv_move *moves, const int32_t *n)
{
	__shared__ unsigned char codes[kivi_group * D];
	int channel = (int)threadIdx.x, kv_head = (int)blockIdx.y;

	if ((int)blockIdx.x >= *n)
		return;
	int64_t from_row = kv_row(from, moves[blockIdx.x].from, kv_head);
	int64_t to_row = kv_row(to, moves[blockIdx.x].to, kv_head);
	const bf16 *k = (const bf16 *)from.k + from_row * D + channel;
	const bf16 *v = (const bf16 *)from.v + from_row * D + channel;
	float low = to_float(k[0]), high = low;

	for (int tok = 1; tok < kivi_group; tok++) {
		low = fminf(low, to_float(k[tok * D]));
		high = fmaxf(high, to_float(k[tok * D]));
	}
	uint32_t scale = kivi_scale<BITS>(low, high);

	to.k_scales[key_scales_at<D>(to_row) + channel] = scale;
	for (int tok = 0; tok < kivi_group; tok++)
		codes[tok * D + channel] =
			(unsigned char)kivi_code<BITS>(scale, to_float(k[tok * D]));
	__syncthreads();
	kivi_pack<D, BITS>(codes, (uint32_t *)to.k, to_row);
	__syncthreads();
	for (int tok = 0; tok < kivi_group; tok++) {
		float x = to_float(v[tok * D]);

		low = high = x;
		for (int lanes = warp_lanes / 2; lanes > 0; lanes /= 2) {
			low = fminf(low, shuffle_xor(low, lanes));
			high = fmaxf(high, shuffle_xor(high, lanes));
		}
		scale = kivi_scale<BITS>(low, high);
		if (channel % kivi_group == 0)
			to.v_scales[value_scales_at<D>(to_row + tok) + channel / kivi_group] =
				scale;
		codes[tok * D + channel] = (unsigned char)kivi_code<BITS>(scale, x);
	}
	__syncthreads();
	kivi_pack<D, BITS>(codes, (uint32_t *)to.v, to_row);
}

/* Two neighbours as bf16, out of a word. */
template <int BITS> DEVICE uint32_t kv_pair(uint32_t word, int i, uint32_t scales, uint32_t zeros)
{
	if (BITS == 16)
		return word;
	if (BITS == 8)
		return pair_of_e4m3(pair_at<BITS>(word, i));
	return pair_of_codes(pair_at<BITS>(word, i), scales, zeros);
}

/*
 * Groups of 32 tokens of a pool of 8, 4 or 2 bits become bf16, for kernels that read no other.
 * Grid: (moves, KV heads).
 */
template <int D, int BITS>
KERNEL void kv_load_kernel(kv_pool from, kv_pool to, const kv_move *moves)
{
	constexpr int pairs = 16 / BITS, row_words = D * BITS / 32;
	int64_t from_row = kv_row(from, moves[blockIdx.x].from, (int)blockIdx.y);
	int64_t to_row = kv_row(to, moves[blockIdx.x].to, (int)blockIdx.y);

	for (int i = (int)threadIdx.x; i < kivi_group * row_words; i += (int)blockDim.x) {
		int tok = i / row_words, first = i % row_words * 2 * pairs;
		uint32_t k = ((const uint32_t *)from.k)[from_row * row_words + i];
		uint32_t v = ((const uint32_t *)from.v)[from_row * row_words + i];
		uint32_t *to_k = (uint32_t *)((bf16 *)to.k + (to_row + tok) * D + first);
		uint32_t *to_v = (uint32_t *)((bf16 *)to.v + (to_row + tok) * D + first);

		for (int j = 0; j < pairs; j++) {
			uint32_t a = 0, b = 0, s = 0;

			if (BITS < 8) {
				const uint32_t *at =
					from.k_scales + key_scales_at<D>(from_row) + first + 2 * j;

				a = at[0];
				b = at[1];
				s = from.v_scales[value_scales_at<D>(from_row + tok) +
						  first / kivi_group];
			}
			to_k[j] = kv_pair<BITS>(k, j, low_halves(a, b), high_halves(a, b));
			to_v[j] = kv_pair<BITS>(v, j, low_halves(s, s), high_halves(s, s));
		}
	}
}

#endif
