/* Grids of the kernels, and the sizes that they are compiled for. */

#include "decode.cuh"
#include "elementwise.cuh"
#include "launches.h"
#include "prefill.cuh"

bool launch_has(int64_t head_dim, int bits)
{
	if (bits == 16 || bits == 8)
		return head_dim == 64 || head_dim == 128;
	return (bits == 4 || bits == 2) && head_dim == 128;
}

/* Threads that take 8 numbers each of a row, as far as a block goes. */
static unsigned row_threads(int n)
{
	unsigned threads = (unsigned)((n / 8 + warp_lanes - 1) / warp_lanes * warp_lanes);

	return threads < 1024 ? threads : 1024;
}

void launch_embed(const bf16 *table, const bf16 *positions, const int32_t *ids,
		  const int32_t *position, bf16 *out, int64_t rows, int n, stream s)
{
	launch(embed_kernel, dim3((unsigned)rows), row_threads(n), 0, s, table, positions, ids,
	       position, out, n);
}

void launch_norm(const norm_args &p, int64_t rows, stream s)
{
	size_t bytes = (size_t)p.n * sizeof(bf16);

	launch(p.bias ? norm_kernel<true> : norm_kernel<false>, dim3((unsigned)rows),
	       row_threads(p.n), bytes, s, p);
}

void launch_activate(const bf16 *x, bf16 *out, bool gated, int64_t rows, int n, stream s)
{
	constexpr int threads = 256;
	int64_t blocks = (rows * n / 8 + threads - 1) / threads;

	launch(gated ? activate_kernel<true> : activate_kernel<false>, dim3((unsigned)blocks),
	       threads, 0, s, x, out, rows, n);
}

void launch_argmax(const bf16 *logits, int32_t *out, int64_t rows, int n, stream s)
{
	launch(argmax_kernel, dim3((unsigned)rows), row_threads(n), 0, s, logits, out, n);
}

void launch_append(const append_args &p, int head_dim, int bits, int64_t rows, stream s)
{
	auto kernel = bits == 8 ? head_dim == 64 ? append_kernel<64, 8> : append_kernel<128, 8>
		      : head_dim == 64 ? append_kernel<64, 16>
				       : append_kernel<128, 16>;

	launch(kernel, dim3((unsigned)rows), 256, 0, s, p);
}

void launch_kivi_store(const kv_pool &from, const kv_pool &to, const kv_move *moves,
		       const int32_t *n, int head_dim, int bits, int64_t most, stream s)
{
	auto kernel = bits == 4 ? kivi_store_kernel<128, 4> : kivi_store_kernel<128, 2>;

	launch(kernel, dim3((unsigned)most, (unsigned)to.kv_heads), (unsigned)head_dim, 0, s, from,
	       to, moves, n);
}

void launch_kv_load(const kv_pool &from, const kv_pool &to, const kv_move *moves, int head_dim,
		    int bits, int64_t n, stream s)
{
	auto kernel = bits == 4	       ? kv_load_kernel<128, 4>
		      : bits == 2      ? kv_load_kernel<128, 2>
		      : head_dim == 64 ? kv_load_kernel<64, 8>
				       : kv_load_kernel<128, 8>;

	launch(kernel, dim3((unsigned)n, (unsigned)to.kv_heads), 256, 0, s, from, to, moves);
}

void launch_decode(const decode_args &p, int head_dim, int bits, int64_t most, stream s)
{
	int group = p.heads / p.pool.kv_heads;
	int blocks = p.pool.kv_heads * ((group + decode_heads - 1) / decode_heads);
	auto kernel = decode_kernel<128, 16>;

	if (head_dim == 64)
		kernel = bits == 8 ? decode_kernel<64, 8> : decode_kernel<64, 16>;
	else if (bits < 16)
		kernel = bits == 8   ? decode_kernel<128, 8>
			 : bits == 4 ? decode_kernel<128, 4>
				     : decode_kernel<128, 2>;
	launch(kernel, dim3((unsigned)most, (unsigned)blocks), decode_warps * warp_lanes, 0, s, p);
}

void launch_combine(const decode_parts *parts, const decode_args &p, int head_dim, int64_t n,
		    stream s)
{
	launch(head_dim == 64 ? decode_combine_kernel<64> : decode_combine_kernel<128>,
	       dim3((unsigned)n, (unsigned)p.heads), (unsigned)head_dim, 0, s, parts, p.part,
	       p.part_top, p.out, p.heads);
}

void launch_prefill(const prefill_args &p, int head_dim, int64_t tiles, stream s)
{
	dim3 grid((unsigned)p.heads, (unsigned)tiles);

	if (head_dim == 64)
		launch(prefill_kernel<64>, grid, prefill_threads, prefill_shared_bytes<64>(), s, p);
	else
		launch(prefill_kernel<128>, grid, prefill_threads, prefill_shared_bytes<128>(), s,
		       p);
}

static dim3 fill_grid(int64_t n)
{
	return dim3((unsigned)(n < 4096 * 256 ? (n + 255) / 256 : 4096));
}

void launch_fill(bf16 *out, int64_t n, uint64_t seed, float deviation, float mean, stream s)
{
	if (n > 0)
		launch(fill_kernel, fill_grid(n), 256, 0, s, out, n, seed, deviation, mean);
}

void launch_busy(bf16 *out, int64_t n, stream s)
{
	launch(fill_kernel, dim3(1), 1024, 0, s, out, n, UINT64_C(0), 1.0F, 0.0F);
}

void launch_fill_bytes(void *out, int64_t n, uint64_t seed, stream s)
{
	if (n > 0)
		launch(fill_bytes_kernel, fill_grid(n / 4), 256, 0, s, (uint32_t *)out, n / 4,
		       seed);
}

void launch_fill_scales(uint32_t *out, int64_t n, uint64_t seed, stream s)
{
	if (n > 0)
		launch(fill_scales_kernel, fill_grid(n), 256, 0, s, out, n, seed);
}
