/* The inner loops for AVX2; empty where there is no such thing. */
#if defined(__x86_64__)

#define KERNEL	     __attribute__((target("avx2")))
#define KERNELS	     const struct cpu_kernels cpu_kernels_avx2
#define KERNELS_NAME "avx2"
#include "calibrate/cpu_kernels_body.h"

#else

typedef int nothing_here; /* a file of nothing is not C */

#endif
