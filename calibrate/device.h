/*
 * device.h: what a device can do at most, from its data sheet, and how much memory it has.
 */
#ifndef CALIBRATE_DEVICE_H
#define CALIBRATE_DEVICE_H

#include "sim/err.h"
#include <stdint.h>

struct device {
	const char *name, *summary;
	int64_t memory_bytes; /* as the driver reports it */
	double peak_bytes_s;  /* memory bandwidth of the data sheet */
	double peak_flops;    /* dense bf16/fp16 of the data sheet */
	/* provisional cost constants of a bf16 GEMM, t0 + max(bytes/BW, flops/F), with their source
	 */
	double gemm_t0_ns, gemm_bytes_s, gemm_flops;
	double link_bytes_s;	/* device to device, one direction, for all-reduce */
	double link_latency_ns; /* of one all-reduce, however small */
	double pcie_bytes_s;	/* device to host, one direction */
};

/* -1: unknown, lists the valid names. The pointer is to static storage. */
int device_load(const struct device **d, const char *name, struct err *e);
const struct device *device_list(size_t *n);

#endif
