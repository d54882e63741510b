/*
 * device.h: what a device can do at most, from its data sheet, how much memory it has, and the
 * links to others.
 *
 * A device comes from the built-in list or from a JSON file of the user's own (README.md has its
 * fields).
 */
#ifndef CALIBRATE_DEVICE_H
#define CALIBRATE_DEVICE_H

#include "sim/err.h"
#include <stdbool.h>
#include <stdint.h>

struct profile;

struct device {
	char name[64], summary[128];
	int64_t memory_bytes; /* as the driver reports it */
	double peak_bytes_s;  /* memory bandwidth of the data sheet */
	double peak_flops;    /* dense bf16/fp16 of the data sheet */
	/* provisional cost constants of a bf16 GEMM, t0 + max(bytes/BW, flops/F), with their source
	 */
	double gemm_t0_ns, gemm_bytes_s, gemm_flops;
	double nvlink_bytes_s;	   /* to another device of the node, one direction; 0: PCIe alone */
	double link_latency_ns;	   /* of one all-reduce or send in a node, however small */
	double pcie_bytes_s;	   /* device to host, one direction */
	double network_bytes_s;	   /* to a device of another node, one direction */
	double network_latency_ns; /* of one message there */
	double host_us, host_seq_us; /* the scheduler's own time: a step, a sequence of it */
	/*
	 * > 0: attention of a token over all cells in use, whosever they are (llama.cpp's server),
	 * of a token and a cell in all layers. 0: over its own sequence alone.
	 */
	double scope_cell_ns;
	/* What was measured on it (profile.h), owned where device_load() filled it; NULL: nothing,
	 * and times are a roofline. */
	const struct profile *profile;
};

/* What joins two devices. */
enum link_kind { LINK_NVLINK, LINK_PCIE, LINK_NETWORK };

/* Bytes a second, one direction, of one device's link of that kind; 0: it has none. */
double device_link_bytes_s(const struct device *d, enum link_kind kind);
/* The faster one within a node: NVLink, or PCIe where there is none. */
double device_node_bytes_s(const struct device *d);

/*
 * `name` is a built-in name: of a device, with its profile where there is one, or of a profile
 * alone; or the path of a JSON file (whatever contains a "/" or ends with ".json"): of a device, or
 * a profile. -1: unknown (lists the valid names), malformed (the sentence names the file and the
 * field), or a profile that no device can have (profile_check()). device_release() in the other
 * case.
 */
int device_load(struct device *d, const char *name, struct err *e);
void device_release(struct device *d); /* its profile; all zero is fine */
/* Whether device_load() would take this name, not being built in, for a path. */
bool device_is_path(const char *name);
/* The one of the built-in devices of that name; NULL: none. */
const struct device *device_listed(const char *name);
/* The built-in devices, in list order; n is set to their number. */
const struct device *device_list(size_t *n);

#endif
