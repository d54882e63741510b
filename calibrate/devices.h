/*
 * devices.h: the built-in devices, one entry each, included by device.c alone.
 *
 * Memory: "memory.total" of nvidia-smi, which is what a server finds (the A100's is all of it;
 * others keep some back for ECC or the driver). Bandwidth, dense bf16 rate with 32-bit accumulation
 * and NVLink (half of the figure for both directions): NVIDIA's data sheets of the product named.
 * PCIe: what copies of pinned memory reach over 16 lanes of generation 4 (31.5 GB/s) and 5 (63
 * GB/s). Network: one adapter a device as in DGX and HGX servers of the generation, HDR 200 Gb/s
 * (A100) or NDR 400 Gb/s; of PCIe cards a share of 100 Gb/s a card, our assumption. Its latency is
 * that of a small message between nodes, some microseconds over RDMA.
 *
 * GEMM of the A100 80 GB, H100, H200 and B200: fits of t0 + max(bytes/BW, flops/F) to public tables
 * of bf16 kernels under CUDA graphs (README.md); all-reduce latency: small messages of a server's
 * own kernel under CUDA graphs, 2 to 8 GPUs. Of the others nothing was fitted: AMPERE and HOPPER
 * take the same shares of the peaks, and the same constants, as the A100 and the H100 reach.
 */

#include "calibrate/device.h"

#define MIB(n) ((int64_t)(n)*1024 * 1024)
#define AMPERE(bytes_s, flops)                                                                     \
	.peak_bytes_s = (bytes_s), .peak_flops = (flops), .gemm_t0_ns = 7700,                      \
	.gemm_bytes_s = 0.74 * (bytes_s), .gemm_flops = 0.737 * (flops)
#define HOPPER(bytes_s, flops)                                                                     \
	.peak_bytes_s = (bytes_s), .peak_flops = (flops), .gemm_t0_ns = 3800,                      \
	.gemm_bytes_s = 0.86 * (bytes_s), .gemm_flops = 0.803 * (flops)
#define HDR   .network_bytes_s = 25e9, .network_latency_ns = 5000
#define NDR   .network_bytes_s = 50e9, .network_latency_ns = 5000
#define CARD  .network_bytes_s = 12.5e9, .network_latency_ns = 20000, .link_latency_ns = 20000
#define PCIE4 .pcie_bytes_s = 25e9
#define PCIE5 .pcie_bytes_s = 50e9

/* clang-format off */
static const struct device device_table[] = {
	{
		.name = "a100-80g", .summary = "NVIDIA A100 SXM4 80 GB",
		.memory_bytes = MIB(81920), .peak_bytes_s = 2.039e12, .peak_flops = 312e12,
		.gemm_t0_ns = 7700, .gemm_bytes_s = 1.51e12, .gemm_flops = 230e12,
		.nvlink_bytes_s = 300e9, .link_latency_ns = 6000, PCIE4, HDR,
	},
	{
		.name = "h100", .summary = "NVIDIA H100 SXM5 80 GB",
		.memory_bytes = MIB(81559), .peak_bytes_s = 3.35e12, .peak_flops = 989e12,
		.gemm_t0_ns = 3800, .gemm_bytes_s = 2.88e12, .gemm_flops = 794e12,
		.nvlink_bytes_s = 450e9, .link_latency_ns = 5000, PCIE5, NDR,
	},
	{
		.name = "h200", .summary = "NVIDIA H200 SXM5 141 GB",
		.memory_bytes = MIB(143771), .peak_bytes_s = 4.8e12, .peak_flops = 989e12,
		.gemm_t0_ns = 4100, .gemm_bytes_s = 3.95e12, .gemm_flops = 790e12,
		.nvlink_bytes_s = 450e9, .link_latency_ns = 5000, PCIE5, NDR,
	},
	{
		.name = "b200", .summary = "NVIDIA B200 SXM6 180 GB",
		.memory_bytes = MIB(183359), .peak_bytes_s = 8.0e12, .peak_flops = 2.25e15,
		.gemm_t0_ns = 3800, .gemm_bytes_s = 6.17e12, .gemm_flops = 1.595e15,
		.nvlink_bytes_s = 900e9, .link_latency_ns = 7000, PCIE5, NDR,
	},
	{
		.name = "h20", .summary = "NVIDIA H20 SXM5 96 GB",
		.memory_bytes = MIB(97871), HOPPER(4.0e12, 148e12),
		.nvlink_bytes_s = 450e9, .link_latency_ns = 5000, PCIE5, NDR,
	},
	{
		.name = "h800", .summary = "NVIDIA H800 SXM5 80 GB",
		.memory_bytes = MIB(81559), HOPPER(3.35e12, 989e12),
		.nvlink_bytes_s = 200e9, .link_latency_ns = 5000, PCIE5, NDR,
	},
	{
		.name = "a100-40g", .summary = "NVIDIA A100 SXM4 40 GB",
		.memory_bytes = MIB(40960), AMPERE(1.555e12, 312e12),
		.nvlink_bytes_s = 300e9, .link_latency_ns = 6000, PCIE4, HDR,
	},
	{
		.name = "a800", .summary = "NVIDIA A800 SXM4 80 GB",
		.memory_bytes = MIB(81920), AMPERE(2.039e12, 312e12),
		.nvlink_bytes_s = 200e9, .link_latency_ns = 6000, PCIE4, HDR,
	},
	{
		/* a bridge can join two: not counted */
		.name = "a40", .summary = "NVIDIA A40 48 GB",
		.memory_bytes = MIB(46068), AMPERE(696e9, 149.7e12), PCIE4, CARD,
	},
	{
		.name = "a10g", .summary = "NVIDIA A10G 24 GB",
		.memory_bytes = MIB(23028), AMPERE(600e9, 70e12), PCIE4, CARD,
	},
	{
		.name = "l40s", .summary = "NVIDIA L40S 48 GB",
		.memory_bytes = MIB(46068), HOPPER(864e9, 362.05e12), PCIE4, CARD,
	},
	{
		.name = "rtx-4090", .summary = "NVIDIA GeForce RTX 4090 24 GB",
		.memory_bytes = MIB(24564), HOPPER(1.008e12, 165.2e12), PCIE4, CARD,
	},
	{
		.name = "rtx-pro-6000", .summary = "NVIDIA RTX PRO 6000 Blackwell Workstation 96 GB",
		.memory_bytes = MIB(97887), HOPPER(1.792e12, 503.8e12), PCIE5, CARD,
	},
};
/* clang-format on */

#undef MIB
#undef AMPERE
#undef HOPPER
#undef HDR
#undef NDR
#undef CARD
#undef PCIE4
#undef PCIE5
