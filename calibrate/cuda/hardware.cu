/* Facts of a GPU, from the runtime alone. */

#include "failure.h"
#include "hardware.h"
#include <algorithm>

static int attribute(cudaDeviceAttr what)
{
	int value = 0;

	return cudaDeviceGetAttribute(&value, what, 0) == cudaSuccess ? value : 0;
}

int hardware_find(hardware *h, err *e)
{
	int n = 0;
	cudaError_t r = cudaGetDeviceCount(&n);

	if (r != cudaSuccess || n == 0)
		return err_set(e, "there is no GPU here that CUDA can use: %s",
			       r != cudaSuccess ? cudaGetErrorString(r) : "the driver shows none");
	if (attribute(cudaDevAttrComputeCapabilityMajor) < 8)
		return err_set(e,
			       "the GPU has compute capability %d.%d: the kernels need 8.0 (A100) "
			       "or later",
			       attribute(cudaDevAttrComputeCapabilityMajor),
			       attribute(cudaDevAttrComputeCapabilityMinor));
	if (failed(cudaSetDevice(0), "taking the first GPU", e) < 0)
		return -1;
	h->multiprocessors = std::max(attribute(cudaDevAttrMultiProcessorCount), 1);
	h->cache_bytes = attribute(cudaDevAttrL2CacheSize);
	return 0;
}

/*
 * Dense bf16 operations of a multiprocessor and clock with sums in 32 bits: data sheets' peaks over
 * their multiprocessors and boost clocks. 0: not known.
 */
static double operations_of_clock(int major, int minor)
{
	static const struct {
		int major, minor, operations;
	} known[] = {{8, 0, 2048}, {8, 6, 512},	  {8, 9, 512},
		     {9, 0, 4096}, {10, 0, 8192}, {12, 0, 1024}};

	for (const auto &k : known)
		if (k.major == major && k.minor == minor)
			return k.operations;
	return 0;
}

void hardware_facts(backend_facts *f)
{
	double clock = 1e3 * attribute(cudaDevAttrClockRate); /* from kHz */
	double memory_clock = 1e3 * attribute(cudaDevAttrMemoryClockRate);
	cudaDeviceProp properties;
	size_t free_bytes = 0, all_bytes = 0;
	int driver = 0;

	*f = backend_facts();
	if (cudaGetDeviceProperties(&properties, 0) == cudaSuccess)
		snprintf(f->device, sizeof(f->device), "%.127s", properties.name);
	cudaDriverGetVersion(&driver);
	snprintf(f->driver, sizeof(f->driver), "CUDA %d.%d", driver / 1000, driver % 1000 / 10);
	snprintf(f->clocks, sizeof(f->clocks), "at most %.0f MHz, memory %.0f MHz", clock / 1e6,
		 memory_clock / 1e6);
	cudaMemGetInfo(&free_bytes, &all_bytes);
	f->memory_bytes = (int64_t)all_bytes;
	/* two transfers a clock */
	f->peak_bytes_s = 2 * memory_clock * attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
	f->peak_flops = operations_of_clock(attribute(cudaDevAttrComputeCapabilityMajor),
					    attribute(cudaDevAttrComputeCapabilityMinor)) *
			clock * attribute(cudaDevAttrMultiProcessorCount);
}
