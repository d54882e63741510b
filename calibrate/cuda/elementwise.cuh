/*
 * elementwise.cuh: what stands between the multiplications: embedding, norms, activations, the
 * choice of a token, random numbers. Rows are of multiples of 8 numbers, at multiples of 16 bytes.
 */
#ifndef CALIBRATE_CUDA_ELEMENTWISE_CUH
#define CALIBRATE_CUDA_ELEMENTWISE_CUH

#include "kv.cuh"

/* A block a token: its row of the table, and the one of its position where there is such a table.
 */
KERNEL void embed_kernel(const bf16 *table, const bf16 *positions, const int32_t *ids,
			 const int32_t *position, bf16 *out, int n)
{
	int64_t tok = blockIdx.x;

	for (int i = 8 * (int)threadIdx.x; i < n; i += 8 * (int)blockDim.x) {
		float x[8], y[8];

		unpack_8(table + (int64_t)ids[tok] * n + i, x);
		if (positions) {
			unpack_8(positions + (int64_t)position[tok] * n + i, y);
			for (int j = 0; j < 8; j++)
				x[j] += y[j];
		}
		pack_8(out + tok * n + i, x);
	}
}

constexpr float norm_epsilon = 1e-5F;

/* A block a row; shared memory: the row. */
template <bool LAYER> KERNEL void norm_kernel(norm_args p)
{
	__shared__ float scratch[32];
	bf16 *row = (bf16 *)shared_memory();
	int64_t at = blockIdx.x, from = p.rows ? p.rows[at] : at;
	bf16 *x = p.x + from / p.per * p.x_stride + from % p.per * p.n;
	bf16 *out = p.out + at / p.per * p.out_stride + at % p.per * p.n;
	float a[8], b[8], sum = 0, squares = 0;

	for (int i = 8 * (int)threadIdx.x; i < p.n; i += 8 * (int)blockDim.x) {
		unpack_8(x + i, a);
		if (p.add) {
			unpack_8(p.add + from * p.n + i, b);
			for (int j = 0; j < 8; j++)
				a[j] += b[j];
			pack_8(x + i, a);
		}
		pack_8(row + i, a);
		unpack_8(row + i, a);
		for (int j = 0; j < 8; j++) {
			sum += a[j];
			squares += a[j] * a[j];
		}
	}
	float mean = LAYER ? block_sum(sum, scratch) / (float)p.n : 0;

	if (LAYER) { /* about the mean, lest a large one cancel all */
		squares = 0;
		for (int i = 8 * (int)threadIdx.x; i < p.n; i += 8 * (int)blockDim.x) {
			unpack_8(row + i, a);
			for (int j = 0; j < 8; j++)
				squares += (a[j] - mean) * (a[j] - mean);
		}
	}
	float scale = 1.0F / sqrtf(block_sum(squares, scratch) / (float)p.n + norm_epsilon);

	for (int i = 8 * (int)threadIdx.x; i < p.n; i += 8 * (int)blockDim.x) {
		unpack_8(row + i, a);
		unpack_8(p.weight + i, b);
		for (int j = 0; j < 8; j++)
			a[j] = (a[j] - mean) * scale * b[j];
		if (LAYER) {
			unpack_8(p.bias + i, b);
			for (int j = 0; j < 8; j++)
				a[j] += b[j];
		}
		pack_8(out + i, a);
	}
}

DEVICE float sigmoid(float x)
{
	return 1.0F / (1.0F + exp_2(-1.4426950409F * x));
}

DEVICE float silu(float x)
{
	return x * sigmoid(x);
}

/* By its tanh: 0.5 x (1 + tanh(y)) is x sigmoid(2 y). */
DEVICE float gelu(float x)
{
	return x * sigmoid(1.5957691216F * (x + 0.044715F * x * x * x));
}

/*
 * SiLU of a gate times the other half (SwiGLU); ungated: GELU. x: rows of a gate of n and n more
 * numbers; ungated, of n. Threads: 8 numbers each, in order.
 */
template <bool GATED> KERNEL void activate_kernel(const bf16 *x, bf16 *out, int64_t rows, int n)
{
	int64_t at = 8 * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x);
	int64_t row = at / n, i = at % n;
	float a[8], b[8];

	if (row >= rows)
		return;
	unpack_8(x + row * n * (GATED ? 2 : 1) + i, a);
	if (GATED)
		unpack_8(x + row * n * 2 + n + i, b);
	for (int j = 0; j < 8; j++)
		a[j] = GATED ? silu(a[j]) * b[j] : gelu(a[j]);
	pack_8(out + at, a);
}

/* The larger one; of equal ones the first. */
DEVICE void take_larger(float *x, int *at, float other, int other_at)
{
	if (other > *x || (other == *x && other_at < *at)) {
		*x = other;
		*at = other_at;
	}
}

/* A block a row of n numbers: where the largest is. */
KERNEL void argmax_kernel(const bf16 *logits, int32_t *out, int n)
{
	__shared__ float largest[32];
	__shared__ int where[32];
	const bf16 *row = logits + (int64_t)blockIdx.x * n;
	float best = -INFINITY, x[8];
	int best_at = n, warp = (int)threadIdx.x / warp_lanes;

	for (int i = 8 * (int)threadIdx.x; i < n; i += 8 * (int)blockDim.x) {
		unpack_8(row + i, x);
		for (int j = 0; j < 8; j++)
			take_larger(&best, &best_at, x[j], i + j);
	}
	for (int lanes = warp_lanes / 2; lanes > 0; lanes /= 2) {
		float other = shuffle_xor(best, lanes);
		int other_at = shuffle_xor(best_at, lanes);

		take_larger(&best, &best_at, other, other_at);
	}
	if (threadIdx.x % warp_lanes == 0) {
		largest[warp] = best;
		where[warp] = best_at;
	}
	__syncthreads();
	if (threadIdx.x > 0)
		return;
	for (int i = 1; i < (int)blockDim.x / warp_lanes; i++)
		take_larger(&best, &best_at, largest[i], where[i]);
	out[blockIdx.x] = best_at;
}

/*
 * Random numbers of mean 0 and the given deviation, close to a normal distribution: sums of four
 * uniform ones. Threads: a number each, over and over.
 */
KERNEL void fill_kernel(bf16 *out, int64_t n, uint64_t seed, float deviation, float mean)
{
	int64_t step = (int64_t)gridDim.x * blockDim.x;

	for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
		uint64_t h = hash_64(seed, (uint64_t)i);
		int sum = (int)(h & 0xffff) + (int)((h >> 16) & 0xffff) +
			  (int)((h >> 32) & 0xffff) + (int)(h >> 48);

		/* four uniform ones of [0, 65535]: deviation 65536 / sqrt(3) */
		out[i] = to_bf16(mean + deviation * (float)(sum - 131070) * 2.642913e-5F);
	}
}

/* Random bytes, of which none is the e4m3 of no number: all are below 2. */
KERNEL void fill_bytes_kernel(uint32_t *out, int64_t n, uint64_t seed)
{
	int64_t step = (int64_t)gridDim.x * blockDim.x;

	for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
		out[i] = (uint32_t)hash_64(seed, (uint64_t)i) & 0xbfbfbfbfU;
}

/* Scales and zeros of KIVI, in the low and the high half. */
KERNEL void fill_scales_kernel(uint32_t *out, int64_t n, uint64_t seed)
{
	int64_t step = (int64_t)gridDim.x * blockDim.x;

	for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
		float part = (float)(hash_64(seed, (uint64_t)i) & 0xffff) * 0x1p-16F;

		out[i] = pack_bf16(0.1F + 0.1F * part, -1.0F - part);
	}
}

#endif
