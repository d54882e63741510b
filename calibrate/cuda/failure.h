/* failure.h: what the runtime says went wrong, as a sentence. */
#ifndef CALIBRATE_CUDA_FAILURE_H
#define CALIBRATE_CUDA_FAILURE_H

#include "sim/err.h"
#include <cuda_runtime.h>

/* 0, or -1 and a sentence: the runtime then forgets the failure, lest it be told again as that of
 * what comes next; those after which a device does nothing more stay. */
static inline int failed(cudaError_t r, const char *what, err *e)
{
	if (r == cudaSuccess)
		return 0;
	cudaGetLastError();
	return err_set(e, "the GPU failed in %s: %s", what, cudaGetErrorString(r));
}

/* What was started and has failed since. */
static inline int failed_since(const char *what, err *e)
{
	return failed(cudaGetLastError(), what, e);
}

#endif
