/* Multiplications by cuBLASLt, each size by what its heuristics put first, asked once. */

#include "gemm.h"
#include <cinttypes>
#include <cublasLt.h>
#include <map>
#include <tuple>

constexpr size_t workspace_bytes = 64 << 20; /* NVIDIA's advice for Hopper is 32 MiB and more */

/* What tells a product from another: m, n, k, whether there is a bias, whether y is added to. */
typedef std::tuple<int64_t, int64_t, int64_t, bool, bool> product_sizes;

struct product {
	cublasLtMatmulDesc_t how;
	cublasLtMatrixLayout_t w, x, y;
	cublasLtMatmulAlgo_t algo;
};

struct gemm {
	cublasLtHandle_t handle;
	void *workspace;
	std::map<product_sizes, product> products;
};

static int failed(cublasStatus_t r, const char *what, err *e)
{
	if (r == CUBLAS_STATUS_SUCCESS)
		return 0;
	return err_set(e, "cuBLASLt: %s: %s", what, cublasLtGetStatusString(r));
}

gemm *gemm_new(err *e)
{
	gemm *g = new gemm();

	if (failed(cublasLtCreate(&g->handle), "it does not start", e) < 0) {
		delete g;
		return nullptr;
	}
	if (cudaMalloc(&g->workspace, workspace_bytes) != cudaSuccess) {
		err_set(e, "no device memory for the workspace of cuBLASLt, %zu bytes",
			workspace_bytes);
		cublasLtDestroy(g->handle);
		delete g;
		return nullptr;
	}
	return g;
}

static void release(product &p)
{
	cublasLtMatmulDescDestroy(p.how);
	cublasLtMatrixLayoutDestroy(p.w);
	cublasLtMatrixLayoutDestroy(p.x);
	cublasLtMatrixLayoutDestroy(p.y);
}

void gemm_free(gemm *g)
{
	if (!g)
		return;
	for (auto &p : g->products)
		release(p.second);
	cudaFree(g->workspace);
	cublasLtDestroy(g->handle);
	delete g;
}

/* Column-major, as the library counts: y^T[n][m] = w^T[k][n]^T x^T[k][m]. */
static int describe(product &p, const gemm_args &a, err *e)
{
	cublasOperation_t transposed = CUBLAS_OP_T;
	cublasLtEpilogue_t bias = CUBLASLT_EPILOGUE_BIAS;

	p = product();
	if (failed(cublasLtMatmulDescCreate(&p.how, CUBLAS_COMPUTE_32F, CUDA_R_32F), "description",
		   e) < 0 ||
	    failed(cublasLtMatmulDescSetAttribute(p.how, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
						  sizeof(transposed)),
		   "transposition", e) < 0)
		return -1;
	if (a.bias && failed(cublasLtMatmulDescSetAttribute(p.how, CUBLASLT_MATMUL_DESC_EPILOGUE,
							    &bias, sizeof(bias)),
			     "bias", e) < 0)
		return -1;
	if (failed(cublasLtMatrixLayoutCreate(&p.w, CUDA_R_16BF, (uint64_t)a.k, (uint64_t)a.n, a.k),
		   "weights", e) < 0 ||
	    failed(cublasLtMatrixLayoutCreate(&p.x, CUDA_R_16BF, (uint64_t)a.k, (uint64_t)a.m, a.k),
		   "inputs", e) < 0)
		return -1;
	return failed(
		cublasLtMatrixLayoutCreate(&p.y, CUDA_R_16BF, (uint64_t)a.n, (uint64_t)a.m, a.n),
		"outputs", e);
}

static int point_to_bias(const product &p, const gemm_args &a, err *e)
{
	if (!a.bias)
		return 0;
	return failed(cublasLtMatmulDescSetAttribute(p.how, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
						     &a.bias, sizeof(a.bias)),
		      "bias", e);
}

static int choose(gemm *g, product &p, const gemm_args &a, err *e)
{
	cublasLtMatmulPreference_t preference;
	cublasLtMatmulHeuristicResult_t result;
	size_t bytes = workspace_bytes;
	int n = 0;

	if (failed(cublasLtMatmulPreferenceCreate(&preference), "preference", e) < 0)
		return -1;
	cublasStatus_t r = cublasLtMatmulPreferenceSetAttribute(
		preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes));
	if (r == CUBLAS_STATUS_SUCCESS)
		r = cublasLtMatmulAlgoGetHeuristic(g->handle, p.how, p.w, p.x, p.y, p.y, preference,
						   1, &result, &n);
	cublasLtMatmulPreferenceDestroy(preference);
	if (r != CUBLAS_STATUS_SUCCESS || n == 0)
		return err_set(e,
			       "cuBLASLt has no way to multiply %" PRId64 " x %" PRId64
			       " numbers of 16 bits with %" PRId64 " x %" PRId64 ": %s",
			       a.m, a.k, a.k, a.n, cublasLtGetStatusString(r));
	p.algo = result.algo;
	return 0;
}

/* NULL: there is no way. */
static const product *find(gemm *g, const gemm_args &a, err *e)
{
	product_sizes sizes = {a.m, a.n, a.k, a.bias != nullptr, a.add};
	auto known = g->products.find(sizes);

	if (known == g->products.end()) {
		product p;

		if (describe(p, a, e) < 0 || point_to_bias(p, a, e) < 0 || choose(g, p, a, e) < 0) {
			release(p);
			return nullptr;
		}
		known = g->products.emplace(sizes, p).first;
	}
	return &known->second;
}

int gemm_prepare(gemm *g, const gemm_args &a, err *e)
{
	return find(g, a, e) ? 0 : -1;
}

int gemm_run(gemm *g, const gemm_args &a, stream s, err *e)
{
	const product *p = find(g, a, e);
	float one = 1, before = a.add ? 1 : 0;

	if (!p || point_to_bias(*p, a, e) < 0)
		return -1;
	return failed(cublasLtMatmul(g->handle, p->how, &one, a.w, p->w, a.x, p->x, &before, a.y,
				     p->y, a.y, p->y, &p->algo, g->workspace, workspace_bytes, s),
		      "multiplication", e);
}
