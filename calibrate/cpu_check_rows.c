/* Products, norms, rotations, activations, look-ups and the choice of a token. */

#include "calibrate/cpu_check.h"
#include <inttypes.h>

/* A matrix of random numbers, the same in both precisions. */
struct pair {
	float *x;
	double *exact;
	int64_t n;
};

static struct pair random_pair(struct cpu_report *r, int64_t n)
{
	struct pair p = {.x = xmalloc((size_t)n * sizeof(*p.x)),
			 .exact = xmalloc((size_t)n * sizeof(*p.exact)),
			 .n = n};

	weights_fill(p.x, n, 0, 3, ++r->seed, 1);
	for (int64_t i = 0; i < n; i++)
		p.exact[i] = (double)p.x[i];
	return p;
}

static double error_of(const struct pair *p)
{
	return cpu_check_error(p->x, p->exact, p->n);
}

static void free_pair(struct pair *p)
{
	free(p->x);
	free(p->exact);
}

static void report(struct cpu_report *r, const struct cpu_ops *o, const char *kernel,
		   const struct pair *y, int64_t m, int64_t n, double bound)
{
	char name[64], sizes[64];

	snprintf(name, sizeof(name), "%s %s", kernel, o->kernels->name);
	snprintf(sizes, sizeof(sizes), "%" PRId64 " x %" PRId64, m, n);
	cpu_report(r, name, sizes, error_of(y), bound);
}

/* With biases and on top of what is there, or without either; of one row and of several. */
static void check_gemm(struct cpu_report *r, const struct cpu_ops *o, int64_t m, bool more)
{
	int64_t n = 1 + cpu_report_below(r, 300), k = 1 + cpu_report_below(r, 300);
	struct pair x = random_pair(r, m * k), w = random_pair(r, n * k), bias = random_pair(r, n);
	struct pair y = random_pair(r, m * n), was = random_pair(r, m * n);
	const struct cpu_gemm g = {
		.x = x.x, .w = w.x, .bias = more ? bias.x : NULL, .y = y.x, m, n, k, .add = more};

	for (int64_t i = 0; i < m * n; i++)
		was.exact[i] = more ? y.exact[i] : 0;
	cpu_gemm(o, &g);
	reference_gemm(x.exact, w.x, g.bias, m, n, k, y.exact);
	for (int64_t i = 0; i < m * n; i++)
		y.exact[i] += was.exact[i];
	report(r, o, more ? "gemm + bias" : "gemm", &y, m, n, 1e-5);
	struct pair *all[] = {&x, &w, &bias, &y, &was};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free_pair(all[i]);
}

static void check_norm(struct cpu_report *r, const struct cpu_ops *o, bool layer, bool add)
{
	int64_t m = 1 + cpu_report_below(r, 5), n = 2 + cpu_report_below(r, 300);
	struct pair x = random_pair(r, m * n), more = random_pair(r, m * n);
	struct pair weight = random_pair(r, n), y = random_pair(r, m * n);
	const float *bias = layer ? weight.x : NULL;
	const struct cpu_norm g = {x.x, add ? more.x : NULL, weight.x, bias, y.x, m, n};

	cpu_norm(o, &g);
	reference_norm(x.exact, add ? more.exact : NULL, weight.x, bias, m, n, y.exact);
	report(r, o, layer ? "LayerNorm" : "RMSNorm", &y, m, n, 1e-5);
	report(r, o, "sum before norm", &x, m, n, 1e-6);
	struct pair *all[] = {&x, &more, &weight, &y};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free_pair(all[i]);
}

/* Three heads of q and two of k, in rows that are longer; with norms of heads and without. */
static void check_rope(struct cpu_report *r, const struct cpu_ops *o, bool norms)
{
	enum { HEADS = 3, KV_HEADS = 2, TOK = 4 };
	int64_t d = o->head_dim, stride = (HEADS + 2 * KV_HEADS) * d, position[TOK];
	struct pair x = random_pair(r, TOK * stride), weight = random_pair(r, 2 * d);
	const float *q = norms ? weight.x : NULL, *k = norms ? weight.x + d : NULL;

	for (int i = 0; i < TOK; i++)
		position[i] = cpu_report_below(r, o->positions);
	const struct cpu_rope g = {x.x, TOK, stride, HEADS, KV_HEADS, q, k, position};
	cpu_rope(o, &g);
	for (int i = 0; i < TOK; i++) {
		double *row = x.exact + i * stride;
		for (int h = 0; norms && h < HEADS + KV_HEADS; h++)
			reference_norm(row + h * d, NULL, h < HEADS ? q : k, NULL, 1, d,
				       row + h * d);
		reference_rope(row, HEADS + KV_HEADS, d, position[i]);
	}
	report(r, o, norms ? "rope after norms" : "rope", &x, TOK, stride, 1e-5);
	free_pair(&x);
	free_pair(&weight);
}

static void check_act(struct cpu_report *r, const struct cpu_ops *o, bool gated)
{
	int64_t m = 1 + cpu_report_below(r, 5), n = 1 + cpu_report_below(r, 300);
	struct pair x = random_pair(r, m * n * 2), y = random_pair(r, m * n);

	cpu_act(o, x.x, gated, m, n, y.x);
	reference_act(x.exact, gated, m, n, y.exact);
	report(r, o, gated ? "SiLU x gate" : "GELU", &y, m, n, 1e-5);
	free_pair(&x);
	free_pair(&y);
}

/* Copies and sums of two floats: exact. The largest of a row is planted, twice. */
static void check_ends(struct cpu_report *r, const struct cpu_ops *o)
{
	enum { TOK = 5, VOCAB = 50, PLACES = 7, WIDTH = 33 };
	struct pair table = random_pair(r, VOCAB * WIDTH), place = random_pair(r, PLACES * WIDTH);
	struct pair x = random_pair(r, TOK * WIDTH), best = random_pair(r, TOK);
	int64_t token[TOK], position[TOK], found[TOK];

	for (int64_t i = 0; i < TOK; i++) {
		token[i] = cpu_report_below(r, VOCAB);
		position[i] = cpu_report_below(r, 3 * PLACES);
		for (int64_t j = 0; j < WIDTH; j++)
			x.exact[i * WIDTH + j] =
				(double)(table.x[token[i] * WIDTH + j] +
					 place.x[position[i] % PLACES * WIDTH + j]);
	}
	const struct cpu_embed g = {table.x, place.x, token, position, TOK, WIDTH, PLACES, x.x};
	cpu_embed(o, &g);
	report(r, o, "embedding", &x, TOK, WIDTH, 0);
	for (int64_t i = 0; i < TOK; i++) {
		int64_t at = cpu_report_below(r, WIDTH);
		x.x[i * WIDTH + at] = x.x[i * WIDTH + WIDTH - 1] = 100;
		best.exact[i] = (double)at + 1;
	}
	cpu_argmax(o, x.x, TOK, WIDTH, found);
	for (int64_t i = 0; i < TOK; i++)
		best.x[i] = (float)found[i] + 1;
	report(r, o, "argmax", &best, TOK, WIDTH, 0);
	struct pair *all[] = {&table, &place, &x, &best};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free_pair(all[i]);
}

void cpu_check_rows(struct cpu_report *r, const struct cpu_kernels *k)
{
	struct cpu_ops o;

	cpu_ops_init(&o, 0, 2 + 2 * cpu_report_below(r, 64), 5000);
	o.kernels = k;
	for (int more = 0; more < 2; more++) {
		check_gemm(r, &o, 1, more);
		check_gemm(r, &o, 2 + cpu_report_below(r, 40), more);
		check_gemm(r, &o, 301 + cpu_report_below(r, 40), more);
		check_norm(r, &o, more, false);
		check_norm(r, &o, more, true);
		check_rope(r, &o, more);
		check_act(r, &o, more);
	}
	check_ends(r, &o);
	cpu_ops_release(&o);
}
