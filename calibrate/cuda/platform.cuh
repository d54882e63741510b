/*
 * platform.cuh: what the kernels take from the device: numbers of 16 bits, the instructions of
 * tensor cores and of asynchronous copies, memory, launches.
 *
 * Kernels use nothing else of CUDA but the words of the language, so that tests/simt/platform.cuh,
 * which comes first in the tests' include path, runs the same sources without a device. Layouts of
 * fragments: PTX ISA, "Matrix Fragments for mma.m16n8k16".
 */
#ifndef CALIBRATE_CUDA_PLATFORM_CUH
#define CALIBRATE_CUDA_PLATFORM_CUH

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#define KERNEL static __global__
#define DEVICE static __device__ __forceinline__

/* A number of 16 bits, as stored. */
struct bf16 {
	uint16_t bits;
};

static __host__ __device__ __forceinline__ bf16 to_bf16(float x)
{
	return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
}

/* Two of them, the first in the low half. */
DEVICE uint32_t pack_bf16(float low, float high)
{
	__nv_bfloat162 v = __floats2bfloat162_rn(low, high);

	return *reinterpret_cast<uint32_t *>(&v);
}

/* a * b + c of each half, rounded once. */
DEVICE uint32_t fma_bf16(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t d;

	asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
	return d;
}

DEVICE float exp_2(float x)
{
	float y;

	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}

/* Of an angle in turns. */
DEVICE void sine_cosine(float turns, float *sine, float *cosine)
{
	sincospif(2.0F * turns, sine, cosine);
}

DEVICE float shuffle_xor(float x, int lanes)
{
	return __shfl_xor_sync(0xffffffffU, x, lanes);
}

DEVICE int shuffle_xor(int x, int lanes)
{
	return __shfl_xor_sync(0xffffffffU, x, lanes);
}

/* d += a b: a 16 x 16, b 16 x 8, d 16 x 8. */
DEVICE void mma_bf16(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
	    "{%8,%9}, {%0,%1,%2,%3};"
	    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Transposes 8 x 8 numbers of 16 bits that lie in a fragment. */
DEVICE uint32_t transpose_8x8(uint32_t a)
{
	uint32_t d;

	asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d) : "r"(a));
	return d;
}

/* Four matrices of 8 rows of 16 bytes: lane i gives the address of row i % 8 of matrix i / 8. */
DEVICE void load_matrices(uint32_t r[4], const void *shared_row)
{
	uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(shared_row));

	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
		     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
		     : "r"(at)
		     : "memory");
}

DEVICE void load_matrices_transposed(uint32_t r[4], const void *shared_row)
{
	uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(shared_row));

	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
		     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
		     : "r"(at)
		     : "memory");
}

/* 16 bytes to shared memory, later; zeros where `there` is false. */
DEVICE void copy_async(void *shared, const void *global, bool there)
{
	uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(shared));

	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(global),
		     "r"(there ? 16 : 0)
		     : "memory");
}

DEVICE void copy_commit()
{
	asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until at most N of this thread's committed groups are under way. */
template <int N> DEVICE void copy_wait()
{
	asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* Memory that is read once: 16, 8 or 4 bytes, aligned so. */
DEVICE uint4 load_once(const uint4 *p)
{
	uint4 v;

	asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
		     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
		     : "l"(p));
	return v;
}

DEVICE uint2 load_once(const uint2 *p)
{
	uint2 v;

	asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];"
		     : "=r"(v.x), "=r"(v.y)
		     : "l"(p));
	return v;
}

DEVICE uint32_t load_once(const uint32_t *p)
{
	uint32_t v;

	asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(p));
	return v;
}

/* What the launch gave beside the static arrays. */
DEVICE unsigned char *shared_memory()
{
	extern __shared__ __align__(128) unsigned char shared_bytes[];

	return shared_bytes;
}

typedef cudaStream_t stream;
typedef cudaEvent_t event;

/* What `waits` is given from now on begins after what `done` has been given. */
static inline void stream_after(stream waits, stream done, event by)
{
	if (waits == done)
		return;
	cudaEventRecord(by, done);
	cudaStreamWaitEvent(waits, by, 0);
}

/* Failures of a launch stay until last_failure() is asked. */
template <typename... Params, typename... Args>
static inline void launch(void (*kernel)(Params...), dim3 grid, unsigned threads,
			  size_t shared_bytes, stream s, Args... args)
{
	/* 48 KB without being asked for, a kernel's static arrays of less than 1 KB among them */
	if (shared_bytes > 47 * 1024)
		cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
				     cudaFuncAttributeMaxDynamicSharedMemorySize,
				     static_cast<int>(shared_bytes));
	kernel<<<grid, threads, shared_bytes, s>>>(static_cast<Params>(args)...);
}

/* NULL: all that was started so far has ended well; else what the driver calls it. */
static inline const char *last_failure()
{
	cudaError_t r = cudaDeviceSynchronize();

	if (r == cudaSuccess)
		r = cudaGetLastError();
	return r == cudaSuccess ? nullptr : cudaGetErrorString(r);
}

/* For checks: their inputs are small, and a device without room for them is of no use. */
static inline void *memory_new(size_t bytes)
{
	void *p = nullptr;

	if (cudaMalloc(&p, bytes ? bytes : 1) != cudaSuccess) {
		fprintf(stderr, "omnibus: no device memory for %zu bytes\n", bytes);
		exit(1);
	}
	return p;
}

static inline void memory_free(void *p)
{
	cudaFree(p);
}

/* It is there when this returns, for streams that do not wait for others too. */
static inline void memory_write(void *device, const void *host, size_t bytes)
{
	cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
	cudaStreamSynchronize(nullptr);
}

static inline void memory_read(void *host, const void *device, size_t bytes)
{
	cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost);
}

#endif
