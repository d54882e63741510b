#include "calibrate/device.h"
#include <string.h>

#define MIB(n) ((int64_t)(n)*1024 * 1024)

/*
 * Memory: "memory.total" of nvidia-smi, which is what a server finds (the A100's is the full 80
 * GiB; Hopper drivers keep some back). Bandwidth, dense bf16 rate and NVLink (half of the figure
 * for both directions): data sheets of the SXM modules. GEMM: fits of t0 + max(bytes/BW, flops/F)
 * to public tables of bf16 kernels under CUDA graphs (README.md). All-reduce latency: small
 * messages of a server's own kernel under CUDA graphs, 2 to 8 GPUs. PCIe: what copies of pinned
 * memory reach over 16 lanes of generation 4 (31.5 GB/s) and 5 (63 GB/s).
 */
static const struct device device_table[] = {
	{
		.name = "a100-80g",
		.summary = "NVIDIA A100 SXM4 80 GB",
		.memory_bytes = MIB(81920),
		.peak_bytes_s = 2.039e12,
		.peak_flops = 312e12,
		.gemm_t0_ns = 7700,
		.gemm_bytes_s = 1.51e12,
		.gemm_flops = 230e12,
		.link_bytes_s = 300e9,
		.link_latency_ns = 6000,
		.pcie_bytes_s = 25e9,
	},
	{
		.name = "h100",
		.summary = "NVIDIA H100 SXM5 80 GB",
		.memory_bytes = MIB(81559),
		.peak_bytes_s = 3.35e12,
		.peak_flops = 989e12,
		.gemm_t0_ns = 3800,
		.gemm_bytes_s = 2.88e12,
		.gemm_flops = 794e12,
		.link_bytes_s = 450e9,
		.link_latency_ns = 5000,
		.pcie_bytes_s = 50e9,
	},
	{
		.name = "h200",
		.summary = "NVIDIA H200 SXM5 141 GB",
		.memory_bytes = MIB(143771),
		.peak_bytes_s = 4.8e12,
		.peak_flops = 989e12,
		.gemm_t0_ns = 4100,
		.gemm_bytes_s = 3.95e12,
		.gemm_flops = 790e12,
		.link_bytes_s = 450e9,
		.link_latency_ns = 5000,
		.pcie_bytes_s = 50e9,
	},
};

enum { DEVICES = sizeof(device_table) / sizeof(device_table[0]) };

const struct device *device_list(size_t *n)
{
	*n = DEVICES;
	return device_table;
}

int device_load(const struct device **d, const char *name, struct err *e)
{
	const char *names[DEVICES];
	for (size_t i = 0; i < DEVICES; i++) {
		if (strcmp(device_table[i].name, name) == 0) {
			*d = &device_table[i];
			return 0;
		}
		names[i] = device_table[i].name;
	}
	return err_unknown(e, "device", name, names, DEVICES);
}
