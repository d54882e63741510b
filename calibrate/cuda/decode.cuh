/*
 * decode.cuh: attention of one new token a sequence to its paged context, split over the context
 * (Flash-Decoding), with a second pass that combines the parts.
 *
 * The queries of up to 8 heads that share a KV head are multiplied together on tensor cores: S^T =
 * K Q^T with 16 keys as rows and heads as columns, then O^T = V^T P^T. Which number of a head is
 * which column of a fragment is free, as long as both factors agree: so that a thread's share of a
 * row of K or V is 16 bytes in one piece, and goes from memory to registers without a detour.
 */
#ifndef CALIBRATE_CUDA_DECODE_CUH
#define CALIBRATE_CUDA_DECODE_CUH

#include "kv.cuh"

constexpr int decode_chunk = 16; /* keys of a step of a warp; pages are multiples of it */

/* How a thread's numbers of rows of D lie in words: LANES threads share a row. */
template <int D, int BITS, int LANES> struct row_share {
	static constexpr int numbers = D / LANES;
	static constexpr int bytes = numbers * BITS / 8;
	static constexpr int load = bytes < 16 ? bytes : 16; /* bytes at a time */
	static constexpr int run = load * 8 / BITS;	     /* numbers that follow each other */
	static constexpr int words = bytes / 4;
	static constexpr int pairs = numbers / 2;

	/* The place in the row of number i of lane's. */
	DEVICE int place(int lane, int i)
	{
		return (i / run * LANES + lane) * run + i % run;
	}

	DEVICE void read(const void *base, int64_t row, int lane, uint32_t *w)
	{
		const unsigned char *at =
			(const unsigned char *)base + row * (D * BITS / 8) + lane * load;

#pragma unroll
		for (int i = 0; i < bytes / load; i++, at += LANES * load, w += load / 4) {
			if constexpr (load == 16) {
				uint4 v = load_once((const uint4 *)at);

				w[0] = v.x;
				w[1] = v.y;
				w[2] = v.z;
				w[3] = v.w;
			} else if constexpr (load == 8) {
				uint2 v = load_once((const uint2 *)at);

				w[0] = v.x;
				w[1] = v.y;
			} else {
				w[0] = load_once((const uint32_t *)at);
			}
		}
	}
};

/* What a thread of a warp holds: of 16 keys its share of K and V, of 8 heads of Q and O. */
template <int D, int BITS> struct decode_thread {
	using key_share = row_share<D, BITS, 4>;
	using value_share = row_share<D, BITS, 8>;
	static constexpr int word_pairs = 16 / BITS;

	uint32_t q[key_share::pairs];
	uint32_t k[2][key_share::words], v[4][value_share::words];
	/* 4 and 2 bits: of its channels of keys; of its four rows of values */
	uint32_t k_scales[BITS < 8 ? key_share::pairs : 1];
	uint32_t k_zeros[BITS < 8 ? key_share::pairs : 1], v_scale[4];
	float out[value_share::pairs][4];
	float top[2], sum[2];
};

template <int D, int BITS>
DEVICE void decode_start(decode_thread<D, BITS> &t, const bf16 *q, bool there, int lane)
{
	using share = typename decode_thread<D, BITS>::key_share;

#pragma unroll
	for (int i = 0; i < share::pairs; i++)
		t.q[i] = there ? *(const uint32_t *)(q + share::place(lane % 4, 2 * i)) : 0;
#pragma unroll
	for (int i = 0; i < decode_thread<D, BITS>::value_share::pairs; i++)
#pragma unroll
		for (int j = 0; j < 4; j++)
			t.out[i][j] = 0;
#pragma unroll
	for (int j = 0; j < 2; j++) {
		t.top[j] = -INFINITY;
		t.sum[j] = 0;
	}
}

/* Rows of 16 keys from `row` on; their scales too where they begin a group. */
template <int D, int BITS>
DEVICE void decode_load_keys(decode_thread<D, BITS> &t, const kv_pool &pool, int64_t row, int lane)
{
	using share = typename decode_thread<D, BITS>::key_share;

#pragma unroll
	for (int i = 0; i < 2; i++)
		share::read(pool.k, row + lane / 4 + 8 * i, lane % 4, t.k[i]);
	if constexpr (BITS < 8) {
		const uint32_t *scales = pool.k_scales + key_scales_at<D>(row);

		if (row % kivi_group != 0)
			return;
#pragma unroll
		for (int i = 0; i < share::pairs; i += 2) {
			uint4 s =
				load_once((const uint4 *)(scales + share::place(lane % 4, 2 * i)));

			t.k_scales[i] = low_halves(s.x, s.y);
			t.k_zeros[i] = high_halves(s.x, s.y);
			t.k_scales[i + 1] = low_halves(s.z, s.w);
			t.k_zeros[i + 1] = high_halves(s.z, s.w);
		}
	}
}

/* Of values a thread has keys 2t, 2t + 1, 2t + 8 and 2t + 9, as the columns of a fragment. */
template <int D, int BITS>
DEVICE void decode_load_values(decode_thread<D, BITS> &t, const kv_pool &pool, int64_t row,
			       int lane)
{
	using share = typename decode_thread<D, BITS>::value_share;

#pragma unroll
	for (int i = 0; i < 4; i++) {
		int64_t at = row + 2 * (lane % 4) + i % 2 + 8 * (i / 2);

		share::read(pool.v, at, lane / 4, t.v[i]);
		if constexpr (BITS < 8)
			t.v_scale[i] = load_once(pool.v_scales + value_scales_at<D>(at) +
						 share::place(lane / 4, 0) / kivi_group);
	}
}

/* s: keys lane / 4 (0, 1) and 8 more (2, 3), heads 2 (lane % 4) (0, 2) and one more (1, 3). */
template <int D, int BITS> DEVICE void decode_products(const decode_thread<D, BITS> &t, float s[4])
{
	constexpr int word_pairs = decode_thread<D, BITS>::word_pairs;

	s[0] = s[1] = s[2] = s[3] = 0;
#pragma unroll
	for (int i = 0; i < decode_thread<D, BITS>::key_share::pairs; i += 2) {
		uint32_t a[4];

#pragma unroll
		for (int j = 0; j < 4; j++) {
			int pair = i + j / 2, scale = BITS < 8 ? pair : 0;

			a[j] = kv_pair<BITS>(t.k[j % 2][pair / word_pairs], pair % word_pairs,
					     t.k_scales[scale], t.k_zeros[scale]);
		}
		mma_bf16(s, a, t.q[i], t.q[i + 1]);
	}
}

/* Weights of 16 keys, relative to the largest product so far; `left` of them are there. */
template <int D, int BITS>
DEVICE void decode_weigh(decode_thread<D, BITS> &t, float s[4], int left, float scale, int lane)
{
	float shrink[2];

#pragma unroll
	for (int i = 0; i < 4; i++)
		s[i] = lane / 4 + 8 * (i / 2) < left ? s[i] * scale : -INFINITY;
#pragma unroll
	for (int j = 0; j < 2; j++) {
		float top = fmaxf(s[j], s[j + 2]);

#pragma unroll
		for (int lanes = 4; lanes < warp_lanes; lanes *= 2)
			top = fmaxf(top, shuffle_xor(top, lanes));
		top = fmaxf(top, t.top[j]); /* finite: the first of the keys is there */
		shrink[j] = exp_2(t.top[j] - top);
		s[j] = exp_2(s[j] - top);
		s[j + 2] = exp_2(s[j + 2] - top);
		t.sum[j] = t.sum[j] * shrink[j] + s[j] + s[j + 2];
		t.top[j] = top;
	}
#pragma unroll
	for (int i = 0; i < decode_thread<D, BITS>::value_share::pairs; i++)
#pragma unroll
		for (int j = 0; j < 4; j++)
			t.out[i][j] *= shrink[j % 2];
}

template <int D, int BITS>
DEVICE void decode_add_values(decode_thread<D, BITS> &t, const float weight[4])
{
	constexpr int word_pairs = decode_thread<D, BITS>::word_pairs;
	uint32_t b0 = transpose_8x8(pack_bf16(weight[0], weight[1]));
	uint32_t b1 = transpose_8x8(pack_bf16(weight[2], weight[3]));

#pragma unroll
	for (int i = 0; i < decode_thread<D, BITS>::value_share::pairs; i++) {
		uint32_t x[4], a[4];

#pragma unroll
		for (int j = 0; j < 4; j++) {
			uint32_t scale = BITS < 8 ? t.v_scale[j] : 0;

			x[j] = kv_pair<BITS>(t.v[j][i / word_pairs], i % word_pairs,
					     low_halves(scale, scale), high_halves(scale, scale));
		}
		a[0] = low_halves(x[0], x[1]);
		a[1] = high_halves(x[0], x[1]);
		a[2] = low_halves(x[2], x[3]);
		a[3] = high_halves(x[2], x[3]);
		mma_bf16(t.out[i], a, b0, b1);
	}
}

/* What the warps of a block leave to each other. */
template <int D> struct decode_shared {
	float top[decode_warps][decode_heads], sum[decode_warps][decode_heads];
	float out[decode_warps][decode_heads][D + 4]; /* + 4: rows begin in different banks */
};

template <int D, int BITS>
DEVICE void decode_leave(decode_thread<D, BITS> &t, decode_shared<D> &shared, int warp, int lane)
{
	using share = typename decode_thread<D, BITS>::value_share;

#pragma unroll
	for (int j = 0; j < 2; j++) {
#pragma unroll
		for (int lanes = 4; lanes < warp_lanes; lanes *= 2)
			t.sum[j] += shuffle_xor(t.sum[j], lanes);
		if (lane < 4) {
			shared.top[warp][2 * lane + j] = t.top[j];
			shared.sum[warp][2 * lane + j] = t.sum[j];
		}
	}
#pragma unroll
	for (int i = 0; i < share::pairs; i++)
#pragma unroll
		for (int j = 0; j < 4; j++)
			shared.out[warp][2 * (lane % 4) + j % 2]
				  [share::place(lane / 4, 2 * i + j / 2)] = t.out[i][j];
}

/* The whole of a block's item: `heads` of its heads from first_head on are there. */
template <int D>
DEVICE void decode_write(const decode_args &p, const decode_item &item,
			 const decode_shared<D> &shared, int first_head, int heads)
{
	for (int i = (int)threadIdx.x; i < heads * D; i += (int)blockDim.x) {
		int j = i / D, head = first_head + j;
		float top = -INFINITY, sum = 0, out = 0;

		for (int w = 0; w < decode_warps; w++)
			top = fmaxf(top, shared.top[w][j]);
		for (int w = 0; w < decode_warps; w++) {
			float weight = exp_2(shared.top[w][j] - top);

			sum += weight * shared.sum[w][j];
			out += weight * shared.out[w][j][i % D];
		}
		if (item.part < 0) {
			p.out[((int64_t)item.row * p.heads + head) * D + i % D] =
				to_bf16(out / sum);
			continue;
		}
		int64_t at = (int64_t)item.part * p.heads + head;

		p.part[at * D + i % D] = out;
		if (i % D == 0)
			p.part_top[at] = make_float2(top, sum);
	}
}

/* Grid: (items at most, KV heads x ceil(heads of one / 8)). */
template <int D, int BITS>
KERNEL void __launch_bounds__(decode_warps *warp_lanes, 3) decode_kernel(decode_args p)
{
	__shared__ decode_shared<D> shared;
	int lane = (int)threadIdx.x % warp_lanes, warp = (int)threadIdx.x / warp_lanes;
	int group = p.heads / p.pool.kv_heads;
	int blocks = (group + decode_heads - 1) / decode_heads;
	int kv_head = (int)blockIdx.y / blocks, of_group = (int)blockIdx.y % blocks * decode_heads;
	int heads = group - of_group < decode_heads ? group - of_group : decode_heads;
	int first_head = kv_head * group + of_group;
	decode_thread<D, BITS> t;

	if ((int)blockIdx.x >= *p.n_items)
		return;
	decode_item item = p.items[blockIdx.x];
	/* this warp's chunks: two of each fourth unit */
	auto start_of = [&](int i) {
		return item.begin + (i / 2 * decode_warps + warp) * decode_unit +
		       i % 2 * decode_chunk;
	};
	auto row_of = [&](int tok) {
		return kv_row(p.pool, kv_slot(p.pool, item.first_page, tok), kv_head);
	};

	decode_start<D, BITS>(
		t, p.q + item.row * p.q_stride + (int64_t)(first_head + lane / 4 % heads) * D,
		lane / 4 < heads, lane);
	int tok = start_of(0);
	int64_t row = tok < item.end ? row_of(tok) : 0;

	if (tok < item.end)
		decode_load_keys<D, BITS>(t, p.pool, row, lane);
	for (int i = 0; tok < item.end; i++) {
		int next = start_of(i + 1);
		int64_t next_row = next < item.end ? row_of(next) : 0;
		float s[4];

		decode_load_values<D, BITS>(t, p.pool, row, lane);
		decode_products<D, BITS>(t, s);
		if (next < item.end) /* on their way while the values are worked on */
			decode_load_keys<D, BITS>(t, p.pool, next_row, lane);
		decode_weigh<D, BITS>(t, s, item.end - tok, p.scale, lane);
		decode_add_values<D, BITS>(t, s);
		tok = next;
		row = next_row;
	}
	decode_leave<D, BITS>(t, shared, warp, lane);
	__syncthreads();
	decode_write<D>(p, item, shared, first_head, heads);
}

/* Grid: (lists of parts, heads), D threads. */
template <int D>
KERNEL void decode_combine_kernel(const decode_parts *parts, const float *part,
				  const float2 *part_top, bf16 *out, int heads)
{
	decode_parts mine = parts[blockIdx.x];
	int head = (int)blockIdx.y, i = (int)threadIdx.x;
	float top = -INFINITY, sum = 0, all = 0;

	if (mine.n == 0)
		return;
	for (int j = 0; j < mine.n; j++)
		top = fmaxf(top, part_top[(int64_t)(mine.first + j) * heads + head].x);
	for (int j = 0; j < mine.n; j++) {
		int64_t at = (int64_t)(mine.first + j) * heads + head;
		float weight = exp_2(part_top[at].x - top);

		sum += weight * part_top[at].y;
		all += weight * part[at * D + i];
	}
	out[((int64_t)mine.row * heads + head) * D + i] = to_bf16(all / sum);
}

#endif
