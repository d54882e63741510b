/*
 * platform.cuh: the kernels' device, without one. Comes before calibrate/cuda/platform.cuh in the
 * include path, and has the same functions.
 *
 * Each thread of a block is a fiber; blocks run one after another. What works on a warp waits until
 * all its lanes have called it, and a mixture of calls ends the program. Asynchronous copies happen
 * when they are waited for, so that a missing wait is seen; the order in which fibers run turns
 * around from block to block, so that a missing barrier is, too. Shared and device memory have
 * exactly the size asked for: AddressSanitizer sees what is beyond.
 */
#ifndef TESTS_SIMT_PLATFORM_CUH
#define TESTS_SIMT_PLATFORM_CUH

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#define KERNEL static
#define DEVICE static inline
#define __host__
#define __device__
#define __launch_bounds__(...)
#define __shared__ static /* one block at a time */

struct dim3 {
	unsigned x, y, z;
	dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
	{
	}
};
struct uint2 {
	uint32_t x, y;
};
struct alignas(16) uint4 {
	uint32_t x, y, z, w;
};
struct float2 {
	float x, y;
};

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

static inline float2 make_float2(float x, float y)
{
	return {x, y};
}

/* What lanes give each other. */
struct simt_lane {
	float f;
	int i;
	uint32_t r[6];
	float d[4];
	const void *at;
};
enum simt_call {
	SIMT_SHUFFLE_FLOAT,
	SIMT_SHUFFLE_INT,
	SIMT_MMA,
	SIMT_TRANSPOSE,
	SIMT_LOAD,
	SIMT_LOAD_TRANSPOSED
};
/* Waits for the 32 lanes of the warp, all with the same call and `arg`; `lane` has the result. */
void simt_warp(enum simt_call call, int arg, struct simt_lane *lane);
void __syncthreads();
unsigned char *shared_memory();
void copy_async(void *shared, const void *global, bool there);
void copy_commit();
void simt_copy_wait(int groups);
void simt_launch(dim3 grid, unsigned threads, size_t shared_bytes,
		 const std::function<void()> &thread);

template <int N> static inline void copy_wait()
{
	simt_copy_wait(N);
}

struct bf16 {
	uint16_t bits;
};

static inline bf16 to_bf16(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	if (x != x)
		return {(uint16_t)0x7fff};
	return {(uint16_t)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

static inline uint32_t pack_bf16(float low, float high)
{
	return to_bf16(low).bits | (uint32_t)to_bf16(high).bits << 16;
}

static inline float simt_half(uint32_t pair, bool high)
{
	uint32_t bits = high ? pair & 0xffff0000U : pair << 16;
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static inline uint32_t fma_bf16(uint32_t a, uint32_t b, uint32_t c)
{
	float part[2];

	for (int i = 0; i < 2; i++) /* a product of 8 bits each is exact in a float */
		part[i] = simt_half(a, i) * simt_half(b, i) + simt_half(c, i);
	return pack_bf16(part[0], part[1]);
}

static inline float exp_2(float x)
{
	return exp2f(x);
}

static inline void sine_cosine(float turns, float *sine, float *cosine)
{
	*sine = (float)sin(2.0 * M_PI * turns);
	*cosine = (float)cos(2.0 * M_PI * turns);
}

static inline float shuffle_xor(float x, int lanes)
{
	simt_lane lane = {};

	lane.f = x;
	simt_warp(SIMT_SHUFFLE_FLOAT, lanes, &lane);
	return lane.f;
}

static inline int shuffle_xor(int x, int lanes)
{
	simt_lane lane = {};

	lane.i = x;
	simt_warp(SIMT_SHUFFLE_INT, lanes, &lane);
	return lane.i;
}

static inline void mma_bf16(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
	simt_lane lane = {};

	memcpy(lane.r, a, 4 * sizeof(a[0]));
	lane.r[4] = b0;
	lane.r[5] = b1;
	memcpy(lane.d, d, sizeof(lane.d));
	simt_warp(SIMT_MMA, 0, &lane);
	memcpy(d, lane.d, sizeof(lane.d));
}

static inline uint32_t transpose_8x8(uint32_t a)
{
	simt_lane lane = {};

	lane.r[0] = a;
	simt_warp(SIMT_TRANSPOSE, 0, &lane);
	return lane.r[0];
}

static inline void load_matrices(uint32_t r[4], const void *shared_row)
{
	simt_lane lane = {};

	lane.at = shared_row;
	simt_warp(SIMT_LOAD, 0, &lane);
	memcpy(r, lane.r, 4 * sizeof(r[0]));
}

static inline void load_matrices_transposed(uint32_t r[4], const void *shared_row)
{
	simt_lane lane = {};

	lane.at = shared_row;
	simt_warp(SIMT_LOAD_TRANSPOSED, 0, &lane);
	memcpy(r, lane.r, 4 * sizeof(r[0]));
}

template <typename T> static inline T load_once(const T *p)
{
	if ((uintptr_t)p % sizeof(T) != 0) {
		fprintf(stderr, "load of %zu bytes at %p\n", sizeof(T), (const void *)p);
		abort();
	}
	return *p;
}

struct stream {
};
struct event {
};

static inline void stream_after(stream, stream, event)
{
}

template <typename... Params, typename... Args>
static inline void launch(void (*kernel)(Params...), dim3 grid, unsigned threads,
			  size_t shared_bytes, stream, Args... args)
{
	simt_launch(grid, threads, shared_bytes, [=]() { kernel(args...); });
}

static inline const char *last_failure()
{
	return nullptr;
}

static inline void *memory_new(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p && bytes)
		abort();
	return p;
}

static inline void memory_free(void *p)
{
	free(p);
}

static inline void memory_write(void *device, const void *host, size_t bytes)
{
	if (bytes)
		memcpy(device, host, bytes);
}

static inline void memory_read(void *host, const void *device, size_t bytes)
{
	if (bytes)
		memcpy(host, device, bytes);
}

#endif
