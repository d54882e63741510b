/* gemm.cpp: multiplications of the tests' steps, one number after the other. */

#include "calibrate/cuda/gemm.h"

struct gemm {
	int64_t runs;
};

gemm *gemm_new(err *)
{
	return new gemm();
}

void gemm_free(gemm *g)
{
	delete g;
}

static float number(bf16 x)
{
	return simt_half(x.bits, false);
}

int gemm_prepare(gemm *, const gemm_args &, err *)
{
	return 0; /* there is one way */
}

int gemm_run(gemm *g, const gemm_args &a, stream, err *)
{
	for (int64_t i = 0; i < a.m; i++)
		for (int64_t j = 0; j < a.n; j++) {
			float sum = a.bias ? number(a.bias[j]) : 0;

			for (int64_t l = 0; l < a.k; l++)
				sum += number(a.x[i * a.k + l]) * number(a.w[j * a.k + l]);
			if (a.add)
				sum += number(a.y[i * a.n + j]);
			a.y[i * a.n + j] = to_bf16(sum);
		}
	g->runs++;
	return 0;
}
