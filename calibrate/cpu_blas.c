/* By the Fortran interface: it has no types of its own. By columns: a row here is a column there.
 */

#include "calibrate/cpu_blas.h"
#include <dlfcn.h>
#include <string.h>

static const char library[] = "libopenblas.so.0";

static struct {
	void *handle;
	void (*sgemm)(const char *transa, const char *transb, const int *m, const int *n,
		      const int *k, const float *alpha, const float *a, const int *lda,
		      const float *b, const int *ldb, const float *beta, float *c, const int *ldc);
	void (*sgemv)(const char *trans, const int *m, const int *n, const float *alpha,
		      const float *a, const int *lda, const float *x, const int *incx,
		      const float *beta, float *y, const int *incy);
	float (*sasum)(const int *n, const float *x, const int *incx);
	void (*set_threads)(int n);
	char *(*core)(void), *(*config)(void);
} blas;

static int find(const char *name, void *function, struct err *e)
{
	void *found = dlsym(blas.handle, name);

	if (!found)
		return err_set(e, "%s has no function %s: it is no OpenBLAS", library, name);
	memcpy(function, &found, sizeof(found));
	return 0;
}

/* An environment in which OpenBLAS starts; what the user set stays. */
static int load(const char *core, struct err *e)
{
	bool threads = !getenv("OPENBLAS_NUM_THREADS"), type = core && !getenv("OPENBLAS_CORETYPE");

	if (threads)
		setenv("OPENBLAS_NUM_THREADS", "1", 0);
	if (type)
		setenv("OPENBLAS_CORETYPE", core, 0);
	blas.handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (threads)
		unsetenv("OPENBLAS_NUM_THREADS");
	if (type)
		unsetenv("OPENBLAS_CORETYPE");
	if (!blas.handle)
		return err_set(e, "the backend cpu needs OpenBLAS (on Debian: libopenblas0): %s",
			       dlerror());
	if (find("sgemm_", &blas.sgemm, e) < 0 || find("sgemv_", &blas.sgemv, e) < 0 ||
	    find("sasum_", &blas.sasum, e) < 0 ||
	    find("openblas_set_num_threads", &blas.set_threads, e) < 0 ||
	    find("openblas_get_corename", &blas.core, e) < 0 ||
	    find("openblas_get_config", &blas.config, e) < 0) {
		dlclose(blas.handle);
		blas.handle = NULL;
		return -1;
	}
	return 0;
}

/*
 * The kernels that it should have chosen where it has chosen those for SSE3, which it does for
 * processors that it does not know; NULL: it chose well.
 */
static const char *better_core(void)
{
#if defined(__x86_64__)
	const char *core = blas.core();

	if (strcmp(core, "Prescott") != 0 && strcmp(core, "Core2") != 0)
		return NULL;
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
		return "SkylakeX";
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return "Haswell";
#endif
	return NULL;
}

int blas_load(struct err *e)
{
	if (blas.handle)
		return 0;
	if (load(NULL, e) < 0)
		return -1;
	const char *core = better_core();
	if (core && !getenv("OPENBLAS_CORETYPE")) {
		dlclose(blas.handle);
		if (load(core, e) < 0)
			return -1;
	}
	blas.set_threads(1);
	return 0;
}

void blas_name(char *name, size_t size)
{
	/* "OpenBLAS 0.3.21 ..." */
	const char *text = blas.config(), *space = strchr(text, ' ');
	size_t n = space ? (size_t)(space - text) + 1 : 0;

	n += strcspn(text + n, " ");
	snprintf(name, size, "%.*s %s", (int)n, text, blas.core());
}

void blas_gemm(int64_t m, int64_t n, int64_t k, struct blas_matrix a, struct blas_matrix b,
	       bool transposed, bool add, float *y, int64_t ldy)
{
	int rows = (int)n, columns = (int)m, inner = (int)k;
	int lda = (int)b.ld, ldb = (int)a.ld, ldc = (int)ldy;
	float one = 1, beta = add ? 1 : 0;

	blas.sgemm(transposed ? "T" : "N", "N", &rows, &columns, &inner, &one, b.x, &lda, a.x, &ldb,
		   &beta, y, &ldc);
}

void blas_gemv(int64_t n, int64_t k, const float *w, const float *x, bool add, float *y)
{
	int rows = (int)k, columns = (int)n, step = 1;
	float one = 1, beta = add ? 1 : 0;

	blas.sgemv("T", &rows, &columns, &one, w, &rows, x, &step, &beta, y, &step);
}

float blas_asum(int64_t n, const float *x)
{
	int count = (int)n, step = 1;

	return blas.sasum(&count, x, &step);
}
