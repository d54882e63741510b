/* Operations over rows: each thread takes some of them. */

#include "calibrate/cpu_ops.h"
#include "calibrate/cpu_blas.h"
#include "calibrate/weights.h"
#include <math.h>
#include <omp.h>
#include <string.h>

enum { PART_COLUMNS = 16 }; /* at least so many of a product to a thread: a line of its result */

static void make_angles(struct cpu_ops *o, int64_t half)
{
#pragma omp parallel for num_threads(o->threads)
	for (int64_t p = 0; p < o->positions; p++)
		for (int64_t i = 0; i < half; i++) {
			double turn = -(double)i / (double)half;
			double angle = (double)p * pow(WEIGHTS_ROPE_THETA, turn);
			o->cos[p * half + i] = (float)cos(angle);
			o->sin[p * half + i] = (float)sin(angle);
		}
}

void cpu_ops_init(struct cpu_ops *o, int64_t threads, int64_t head_dim, int64_t positions)
{
	size_t angles = (size_t)(positions * (head_dim / 2));

	*o = (struct cpu_ops){
		.threads = threads ? (int)threads : omp_get_max_threads(),
		.kernels = cpu_kernels(),
		.head_dim = head_dim,
		.positions = positions,
		.cos = xmalloc(angles * sizeof(float)),
		.sin = xmalloc(angles * sizeof(float)),
	};
	make_angles(o, head_dim / 2);
}

void cpu_ops_release(struct cpu_ops *o)
{
	free(o->cos);
	free(o->sin);
	*o = (struct cpu_ops){0};
}

/* Of rows [m0, m1) and columns [n0, n1). */
static void gemm_part(const struct cpu_gemm *g, int64_t m0, int64_t m1, int64_t n0, int64_t n1)
{
	const float *x = g->x + m0 * g->k, *w = g->w + n0 * g->k;
	float *y = g->y + m0 * g->n + n0;
	int64_t m = m1 - m0, n = n1 - n0;
	bool add = g->bias || g->add;

	if (m <= 0 || n <= 0)
		return;
	for (int64_t i = m0; g->bias && i < m1; i++)
		for (int64_t j = n0; j < n1; j++)
			g->y[i * g->n + j] = g->bias[j] + (g->add ? g->y[i * g->n + j] : 0);
	if (m == 1)
		blas_gemv(n, g->k, w, x, add, y);
	else
		blas_gemm(m, n, g->k, (struct blas_matrix){x, g->k}, (struct blas_matrix){w, g->k},
			  true, add, y, g->n);
}

/* Where part i of `parts` begins, of n in units. */
static int64_t begin(int64_t n, int64_t unit, int i, int parts)
{
	int64_t units = (n + unit - 1) / unit, at = units * i / parts * unit;
	return at < n ? at : n;
}

/* The longer side is divided, so that the shorter one is packed by all threads. */
void cpu_gemm(const struct cpu_ops *o, const struct cpu_gemm *g)
{
	int parts = o->threads;

#pragma omp parallel for num_threads(parts) schedule(static, 1)
	for (int i = 0; i < parts; i++)
		if (g->m > g->n)
			gemm_part(g, begin(g->m, 1, i, parts), begin(g->m, 1, i + 1, parts), 0,
				  g->n);
		else
			gemm_part(g, 0, g->m, begin(g->n, PART_COLUMNS, i, parts),
				  begin(g->n, PART_COLUMNS, i + 1, parts));
}

void cpu_norm(const struct cpu_ops *o, const struct cpu_norm *g)
{
#pragma omp parallel for num_threads(o->threads) schedule(static)
	for (int64_t i = 0; i < g->m; i++)
		o->kernels->norm(g->x + i * g->n, g->add ? g->add + i * g->n : NULL, g->weight,
				 g->bias, g->n, g->y + i * g->n);
}

static void rope_head(const struct cpu_ops *o, float *x, const float *norm, int64_t position)
{
	int64_t half = o->head_dim / 2, at = o->positions ? position % o->positions * half : 0;

	if (norm)
		o->kernels->norm(x, NULL, norm, NULL, o->head_dim, x);
	if (o->positions)
		o->kernels->rotate(x, o->cos + at, o->sin + at, half);
}

void cpu_rope(const struct cpu_ops *o, const struct cpu_rope *g)
{
#pragma omp parallel for num_threads(o->threads) schedule(static)
	for (int64_t i = 0; i < g->m; i++)
		for (int64_t h = 0; h < g->heads + g->kv_heads; h++)
			rope_head(o, g->qk + i * g->stride + h * o->head_dim,
				  h < g->heads ? g->q_norm : g->k_norm, g->position[i]);
}

void cpu_act(const struct cpu_ops *o, const float *x, bool gated, int64_t m, int64_t n, float *y)
{
	int64_t stride = gated ? 2 * n : n;

#pragma omp parallel for num_threads(o->threads) schedule(static)
	for (int64_t i = 0; i < m; i++)
		o->kernels->act(x + i * stride, gated ? x + i * stride + n : NULL, n, y + i * n);
}

void cpu_embed(const struct cpu_ops *o, const struct cpu_embed *g)
{
#pragma omp parallel for num_threads(o->threads) schedule(static)
	for (int64_t i = 0; i < g->m; i++) {
		float *x = g->x + i * g->n;
		memcpy(x, g->table + g->token[i] * g->n, (size_t)g->n * sizeof(float));
		if (!g->position)
			continue;
		const float *place = g->position + g->place[i] % g->places * g->n;
		for (int64_t j = 0; j < g->n; j++)
			x[j] += place[j];
	}
}

void cpu_copy(const struct cpu_ops *o, const float *x, int64_t n, float *y)
{
#pragma omp parallel for num_threads(o->threads) schedule(static, 1)
	for (int i = 0; i < o->threads; i++) {
		int64_t from = begin(n, PART_COLUMNS, i, o->threads);
		int64_t end = begin(n, PART_COLUMNS, i + 1, o->threads);
		memcpy(y + from, x + from, (size_t)(end - from) * sizeof(*y));
	}
}

void cpu_argmax(const struct cpu_ops *o, const float *x, int64_t m, int64_t n, int64_t *best)
{
#pragma omp parallel for num_threads(o->threads) schedule(static)
	for (int64_t i = 0; i < m; i++)
		best[i] = o->kernels->argmax(x + i * n, n);
}
