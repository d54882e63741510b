/*
 * prefill.cuh: causal attention of new tokens to themselves and to the paged context before them
 * (FlashAttention-2): a block takes 128 queries of a head, and 64 keys at a time.
 *
 * Each of four warps has 32 queries, so that what it reads of K and V serves two fragments of
 * queries. Keys come while values are multiplied, values while keys are. Rows in shared memory are
 * chunks of 16 bytes, exchanged so that 8 rows of a matrix lie in different banks.
 */
#ifndef CALIBRATE_CUDA_PREFILL_CUH
#define CALIBRATE_CUDA_PREFILL_CUH

#include "kv.cuh"

constexpr int prefill_threads = 128;
constexpr int prefill_keys = 64; /* keys at a time */

template <int D> constexpr size_t prefill_shared_bytes()
{
	return (size_t)(prefill_rows + 2 * prefill_keys) * D * sizeof(bf16);
}

template <int D> DEVICE bf16 *swizzled(bf16 *tile, int row, int chunk)
{
	return tile + (row * (D / 8) + (chunk ^ (row & 7))) * 8;
}

template <int D>
DEVICE void prefill_load_queries(bf16 *tile, const prefill_args &p, const prefill_tile &at,
				 int head)
{
	constexpr int chunks = D / 8;

	for (int i = (int)threadIdx.x; i < prefill_rows * chunks; i += prefill_threads) {
		int row = i / chunks, chunk = i % chunks;
		bool there = row < at.n;
		int64_t from = at.row + (there ? row : 0);

		copy_async(swizzled<D>(tile, row, chunk),
			   p.q + from * p.q_stride + (int64_t)head * D + chunk * 8, there);
	}
}

/* 64 rows of keys or values from token `first` on; beyond `end` zeros. */
template <int D>
DEVICE void prefill_load_rows(bf16 *tile, const void *base, const kv_pool &pool, int first_page,
			      int kv_head, int first, int end)
{
	constexpr int chunks = D / 8;

#pragma unroll
	for (int i = 0; i < prefill_keys * chunks / prefill_threads; i++) {
		int at = i * prefill_threads + (int)threadIdx.x;
		int row = at / chunks, chunk = at % chunks;
		bool there = first + row < end;
		int64_t slot = kv_slot(pool, first_page, there ? first + row : first);

		copy_async(swizzled<D>(tile, row, chunk),
			   (const bf16 *)base + kv_row(pool, slot, kv_head) * D + chunk * 8, there);
	}
}

/* What a thread of a warp holds: of 32 queries rows lane / 4 + 8 i, i < 4. */
template <int D> struct prefill_thread {
	float s[2][prefill_keys / 8][4]; /* products with the keys, then weights */
	float out[2][D / 8][4];
	float top[4], sum[4];
};

template <int D>
DEVICE void prefill_products(prefill_thread<D> &t, bf16 *q, bf16 *k, int warp, int lane)
{
	int matrix = lane / 8, row = lane % 8;

#pragma unroll
	for (int i = 0; i < 2; i++)
#pragma unroll
		for (int j = 0; j < prefill_keys / 8; j++)
#pragma unroll
			for (int c = 0; c < 4; c++)
				t.s[i][j][c] = 0;
#pragma unroll
	for (int step = 0; step < D / 16; step++) {
		uint32_t a[2][4];

#pragma unroll
		for (int i = 0; i < 2; i++)
			load_matrices(a[i],
				      swizzled<D>(q, warp * 32 + i * 16 + matrix % 2 * 8 + row,
						  step * 2 + matrix / 2));
#pragma unroll
		for (int j = 0; j < prefill_keys / 16; j++) {
			uint32_t b[4];

			load_matrices(b, swizzled<D>(k, j * 16 + matrix / 2 * 8 + row,
						     step * 2 + matrix % 2));
#pragma unroll
			for (int i = 0; i < 2; i++) {
				mma_bf16(t.s[i][2 * j], a[i], b[0], b[1]);
				mma_bf16(t.s[i][2 * j + 1], a[i], b[2], b[3]);
			}
		}
	}
}

/* A query at `position` sees keys up to its own. */
template <int D>
DEVICE void prefill_mask(prefill_thread<D> &t, int first_key, int position, int lane)
{
#pragma unroll
	for (int i = 0; i < 2; i++)
#pragma unroll
		for (int j = 0; j < prefill_keys / 8; j++)
#pragma unroll
			for (int c = 0; c < 4; c++) {
				int key = first_key + j * 8 + lane % 4 * 2 + c % 2;

				if (key > position + lane / 4 + (2 * i + c / 2) * 8)
					t.s[i][j][c] = -INFINITY;
			}
}

template <int D> DEVICE void prefill_weigh(prefill_thread<D> &t, float scale)
{
#pragma unroll
	for (int r = 0; r < 4; r++) {
		float(*s)[4] = t.s[r / 2];
		int c = r % 2 * 2;
		float top = -INFINITY, sum = 0;

#pragma unroll
		for (int j = 0; j < prefill_keys / 8; j++)
			top = fmaxf(top, fmaxf(s[j][c], s[j][c + 1]));
		top = fmaxf(top, shuffle_xor(top, 1));
		top = fmaxf(top, shuffle_xor(top, 2));
		/* finite: every query sees the first key of all */
		top = fmaxf(top * scale, t.top[r]);
		float shrink = exp_2(t.top[r] - top);

#pragma unroll
		for (int j = 0; j < prefill_keys / 8; j++) {
			s[j][c] = exp_2(s[j][c] * scale - top);
			s[j][c + 1] = exp_2(s[j][c + 1] * scale - top);
			sum += s[j][c] + s[j][c + 1];
		}
		t.sum[r] = t.sum[r] * shrink + sum;
		t.top[r] = top;
#pragma unroll
		for (int j = 0; j < D / 8; j++) {
			t.out[r / 2][j][c] *= shrink;
			t.out[r / 2][j][c + 1] *= shrink;
		}
	}
}

template <int D> DEVICE void prefill_add_values(prefill_thread<D> &t, bf16 *v, int lane)
{
	int matrix = lane / 8, row = lane % 8;

#pragma unroll
	for (int step = 0; step < prefill_keys / 16; step++) {
		uint32_t a[2][4];

#pragma unroll
		for (int i = 0; i < 2; i++)
#pragma unroll
			for (int c = 0; c < 4; c++) {
				const float *s = t.s[i][2 * step + c / 2] + c % 2 * 2;

				a[i][c] = pack_bf16(s[0], s[1]);
			}
#pragma unroll
		for (int j = 0; j < D / 16; j++) {
			uint32_t b[4];

			load_matrices_transposed(b, swizzled<D>(v, step * 16 + matrix % 2 * 8 + row,
								j * 2 + matrix / 2));
#pragma unroll
			for (int i = 0; i < 2; i++) {
				mma_bf16(t.out[i][2 * j], a[i], b[0], b[1]);
				mma_bf16(t.out[i][2 * j + 1], a[i], b[2], b[3]);
			}
		}
	}
}

template <int D>
DEVICE void prefill_write(prefill_thread<D> &t, const prefill_args &p, const prefill_tile &at,
			  int head, int warp, int lane)
{
#pragma unroll
	for (int r = 0; r < 4; r++) {
		int row = warp * 32 + lane / 4 + r * 8;
		float sum = t.sum[r];

		sum += shuffle_xor(sum, 1);
		sum += shuffle_xor(sum, 2);
		if (row >= at.n)
			continue;
		bf16 *out = p.out + ((int64_t)(at.row + row) * p.heads + head) * D + lane % 4 * 2;

#pragma unroll
		for (int j = 0; j < D / 8; j++) {
			const float *x = t.out[r / 2][j] + r % 2 * 2;

			*(uint32_t *)(out + j * 8) = pack_bf16(x[0] / sum, x[1] / sum);
		}
	}
}

template <int D> DEVICE void prefill_start(prefill_thread<D> &t)
{
#pragma unroll
	for (int i = 0; i < 2; i++)
#pragma unroll
		for (int j = 0; j < D / 8; j++)
#pragma unroll
			for (int c = 0; c < 4; c++)
				t.out[i][j][c] = 0;
#pragma unroll
	for (int r = 0; r < 4; r++) {
		t.top[r] = -INFINITY;
		t.sum[r] = 0;
	}
}

/* Grid: (heads, tiles). */
template <int D> KERNEL void __launch_bounds__(prefill_threads, 2) prefill_kernel(prefill_args p)
{
	bf16 *q = (bf16 *)shared_memory();
	bf16 *k = q + prefill_rows * D, *v = k + prefill_keys * D;
	int lane = (int)threadIdx.x % warp_lanes, warp = (int)threadIdx.x / warp_lanes;
	int head = (int)blockIdx.x, kv_head = head / (p.heads / p.pool.kv_heads);
	prefill_tile at = p.tiles[blockIdx.y];
	int end = at.position + at.n;
	prefill_thread<D> t;
	auto load = [&](bf16 *tile, const void *base, int first) {
		prefill_load_rows<D>(tile, base, p.pool, at.first_page, kv_head, first, end);
		copy_commit();
	};

	prefill_start<D>(t);
	prefill_load_queries<D>(q, p, at, head);
	load(k, p.pool.k, 0);
	for (int first = 0; first < end; first += prefill_keys) {
		copy_wait<0>(); /* the keys are there, and nobody reads the values any more */
		__syncthreads();
		load(v, p.pool.v, first);
		prefill_products<D>(t, q, k, warp, lane);
		copy_wait<0>();
		__syncthreads();
		if (first + prefill_keys < end)
			load(k, p.pool.k, first + prefill_keys);
		if (first + prefill_keys > at.position + warp * 32)
			prefill_mask<D>(t, first, at.position + warp * 32, lane);
		prefill_weigh<D>(t, p.scale);
		prefill_add_values<D>(t, v, lane);
	}
	prefill_write<D>(t, p, at, head, warp, lane);
}

#endif
