/* Inputs of timed operations. */

#include "bench.h"
#include "failure.h"
#include "launches.h"
#include <cinttypes>

static void fill(bench_kind kind, char *base, int64_t bytes)
{
	if (kind == BENCH_NUMBERS || kind == BENCH_OUT)
		launch_fill((bf16 *)base, bytes / 2, 1, 1, 0, nullptr);
	else if (kind == BENCH_BYTES)
		launch_fill_bytes(base, bytes, 2, nullptr);
	else if (kind == BENCH_SCALES)
		launch_fill_scales((uint32_t *)base, bytes / 4, 3, nullptr);
}

int bench_need(bench &b, bench_kind kind, int64_t bytes, err *e)
{
	auto &part = b.part[kind];
	int64_t all = (bytes + b.spread + 1023) / 1024 * 1024;
	size_t free_bytes = 0, there = 0;

	b.lacks_memory = false;
	if (part.bytes >= all)
		return 0;
	if (failed(cudaMemGetInfo(&free_bytes, &there), "asking for its memory", e) < 0)
		return -1;
	free_bytes += (size_t)part.bytes;
	b.lacks_memory = (int64_t)free_bytes < all;
	if (!b.lacks_memory) {
		cudaFree(part.base);
		part = {nullptr, 0, 0};
		b.lacks_memory = cudaMalloc(&part.base, (size_t)all) != cudaSuccess;
	}
	if (b.lacks_memory) {
		cudaGetLastError(); /* it is told here */
		return err_set(e,
			       "an operation to be timed takes %.1f GiB of device memory, %.1f GiB "
			       "are free",
			       (double)all / 0x1p30, (double)free_bytes / 0x1p30);
	}
	part.bytes = all;
	fill(kind, part.base, all);
	return failed(cudaDeviceSynchronize(), "filling memory", e);
}

void *bench_take(bench &b, bench_kind kind, int64_t bytes)
{
	auto &part = b.part[kind];
	int64_t rounded = (bytes + 255) / 256 * 256;

	if (part.at + rounded > part.bytes)
		part.at = 0;
	void *at = part.base + part.at;

	part.at += rounded;
	return at;
}

int bench_need_host(bench &b, int64_t bytes, err *e)
{
	if (b.host_bytes >= bytes)
		return 0;
	cudaFreeHost(b.host);
	b.host = nullptr;
	b.host_bytes = 0;
	if (failed(cudaMallocHost(&b.host, (size_t)bytes), "taking pinned memory", e) < 0)
		return -1;
	b.host_bytes = bytes;
	return 0;
}

void bench_release(bench &b)
{
	for (auto &part : b.part)
		cudaFree(part.base);
	cudaFreeHost(b.host);
	b = bench();
}
