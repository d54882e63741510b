/* The inner loops for any processor, and the choice between what there is. */

#define KERNEL
#define KERNELS	     static const struct cpu_kernels kernels_plain
#define KERNELS_NAME "plain"
#include "calibrate/cpu_kernels_body.h"

#if defined(__x86_64__)
static const struct cpu_kernels *const fastest_first[] = {&cpu_kernels_avx2, &kernels_plain};
enum { N_KERNELS = 2 };

static int unable(void)
{
	return __builtin_cpu_supports("avx2") ? 0 : 1;
}
#else
static const struct cpu_kernels *const fastest_first[] = {&kernels_plain};
enum { N_KERNELS = 1 };

static int unable(void)
{
	return 0;
}
#endif

const struct cpu_kernels *const *cpu_kernels_list(int *n)
{
	*n = N_KERNELS - unable();
	return fastest_first + unable();
}

const struct cpu_kernels *cpu_kernels(void)
{
	int n;

	return *cpu_kernels_list(&n);
}
