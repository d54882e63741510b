/* /proc, sysconf(), and two rates. */

#include "calibrate/cpu_facts.h"
#include "calibrate/cpu_blas.h"
#include "calibrate/weights.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LARGE_BYTES = 512 << 20, SQUARE = 1024, TRIES = 5 };

double cpu_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* What follows ":" in the first line of a file that begins with `key`; "": there is none. */
static void proc_line(const char *path, const char *key, char *value, size_t size)
{
	FILE *f = fopen(path, "r");
	char line[512];

	value[0] = '\0';
	while (f && !value[0] && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');
		if (!colon || strncmp(line, key, strlen(key)) != 0)
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		colon[strcspn(colon, "\n")] = '\0';
		snprintf(value, size, "%s", colon);
	}
	if (f)
		fclose(f);
}

int64_t cpu_memory_free(void)
{
	char kib[64];

	proc_line("/proc/meminfo", "MemAvailable", kib, sizeof(kib));
	if (kib[0])
		return strtoll(kib, NULL, 10) * 1024;
	return (int64_t)sysconf(_SC_AVPHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
}

static double read_bytes_s(const struct cpu_ops *o, int64_t bytes)
{
	int64_t n = bytes / (int64_t)sizeof(float) / o->threads;
	float *x = xmalloc((size_t)(n * o->threads) * sizeof(*x));
	double best = 0;

	weights_fill(x, n * o->threads, 0, 1, 1, o->threads);
	for (int i = 0; i < TRIES; i++) {
		double begin = cpu_now_ns(), sum = 0;
#pragma omp parallel for num_threads(o->threads) reduction(+ : sum) schedule(static, 1)
		for (int t = 0; t < o->threads; t++)
			sum += (double)blas_asum(n, x + t * n);
		double ns = cpu_now_ns() - begin;
		double rate = (double)(n * o->threads) * (double)sizeof(float) / ns * 1e9;
		/* all of them are numbers below 1, so the test is true; but the sum is needed */
		if (sum >= 0 && rate > best)
			best = rate;
	}
	free(x);
	return best;
}

static double product_flops(const struct cpu_ops *o)
{
	enum { N = SQUARE * SQUARE };
	float *x = xmalloc(3 * (size_t)N * sizeof(*x));
	const struct cpu_gemm g = {
		.x = x, .w = x + N, .y = x + 2 * N, .m = SQUARE, .n = SQUARE, .k = SQUARE};
	double best = 0;

	weights_fill(x, 3 * N, 0, 1, 1, o->threads);
	for (int i = 0; i < TRIES; i++) {
		double begin = cpu_now_ns();
		cpu_gemm(o, &g);
		double rate = 2.0 * SQUARE * SQUARE * SQUARE / (cpu_now_ns() - begin) * 1e9;
		best = rate > best ? rate : best;
	}
	free(x);
	return best;
}

void cpu_name(char *name, size_t size)
{
	proc_line("/proc/cpuinfo", "model name", name, size);
}

static void clocks(char *text, size_t size)
{
	char mhz[32], governor[32] = "";
	FILE *f = fopen("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "r");

	proc_line("/proc/cpuinfo", "cpu MHz", mhz, sizeof(mhz));
	if (f) {
		if (!fgets(governor, sizeof(governor), f))
			governor[0] = '\0';
		governor[strcspn(governor, "\n")] = '\0';
		fclose(f);
	}
	snprintf(text, size, "%s%s%s%s", mhz, mhz[0] ? " MHz" : "",
		 governor[0] ? ", governor " : "", governor);
}

void cpu_facts(const struct cpu_ops *o, int64_t model_bytes, struct backend_facts *f)
{
	char blas[40];
	int64_t there = cpu_memory_free() / 2, large = LARGE_BYTES;
	double read = read_bytes_s(o, large < there ? large : there);
	double small = read_bytes_s(o, model_bytes < large ? model_bytes : large);

	*f = (struct backend_facts){
		.memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE),
		.peak_bytes_s = small > read ? small : read,
		.peak_flops = product_flops(o),
		.seen = true,
	};
	blas_name(blas, sizeof(blas));
	cpu_name(f->device, sizeof(f->device));
	snprintf(f->driver, sizeof(f->driver), "%s, %s, %d thread%s", blas, o->kernels->name,
		 o->threads, o->threads > 1 ? "s" : "");
	clocks(f->clocks, sizeof(f->clocks));
}
