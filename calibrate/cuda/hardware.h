/*
 * hardware.h: the first GPU that the driver shows: what it is, what it can do.
 */
#ifndef CALIBRATE_CUDA_HARDWARE_H
#define CALIBRATE_CUDA_HARDWARE_H

#include "calibrate/backend.h"

struct hardware {
	int multiprocessors;
	int64_t cache_bytes; /* of the last level */
};

/* -1: there is none, or it is older than the kernels. */
int hardware_find(hardware *h, err *e);
void hardware_facts(backend_facts *f);

#endif
