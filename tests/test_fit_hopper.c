/*
 * Fits of measured tables of H100 and H200 forecast what they have not seen: shapes of weights, and
 * whole steps of two models of which no kernel was in the points.
 *
 * The truth of a step is the sum of the table's entries over layers: GEMMs (those whose shape is
 * not in the table between its neighbours), attention, the head.
 */
#include "calibrate/fit_parts.h"
#include "tests/tables.h"
#include "tests/testing.h"
#include <math.h>

/* A layer's share of one device. */
struct layers {
	int64_t hidden, heads, kv_heads, inter, vocab;
	int n;
};
static const struct layers llama_8b = {4096, 32, 8, 14336, 128256, 32};
static const struct layers llama_70b_tp4 = {8192, 16, 2, 28672 / 4, 128256 / 4, 80};

enum { LAYER_GEMMS = 4, GEMMS = 5 };

static struct point gemm(const struct layers *l, int i, int64_t m)
{
	int64_t q = l->heads * 128, kv = 2 * l->kv_heads * 128;
	const int64_t shape[LAYER_GEMMS][2] = {{q + kv, l->hidden},
					       {l->hidden, q},
					       {2 * l->inter, l->hidden},
					       {l->hidden, l->inter}};

	if (i == LAYER_GEMMS)
		return (struct point){
			.op = OP_GEMM, .bits = 16, .m = m, .n = l->vocab, .k = l->hidden};
	return (struct point){
		.op = OP_GEMM, .bits = 16, .m = m, .n = shape[i][0], .k = shape[i][1]};
}

/* The entries that the truth about a model's GEMMs, or its attention, is made of. */
struct entries {
	struct around n[GEMMS], k[GEMMS];
	int64_t heads, kv_heads;
};

static struct entries entries_of(const struct layers *l, const struct points *p)
{
	struct entries e = {.heads = l->heads, .kv_heads = l->kv_heads};

	for (int i = 0; i < GEMMS; i++) {
		struct point g = gemm(l, i, 1);
		e.n[i] = tables_around(p, "n", (double)g.n);
		e.k[i] = tables_around(p, "k", (double)g.k);
	}
	return e;
}

static bool is_at(const struct around *a, int64_t size)
{
	return (double)size == a->below || (double)size == a->above;
}

static bool is_of(const struct entries *e, const struct point *at)
{
	if (at->op != OP_GEMM)
		return at->heads == e->heads && at->kv_heads == e->kv_heads;
	for (int i = 0; i < GEMMS; i++)
		if (is_at(&e->n[i], at->n) && is_at(&e->k[i], at->k))
			return true;
	return false;
}

struct device {
	struct points gemm, decode, prefill; /* what was not learned from */
	struct fit gemm_fit, decode_fit, prefill_fit;
};

/* From all entries but those of both models, which are left in `held`. */
static struct fit learn(const struct points *all, enum op op, struct points *held)
{
	const struct fit_want want = {.folds = 3};
	struct points p = tables_of(all, op), others = {.n = 0};
	struct entries small = entries_of(&llama_8b, &p), large = entries_of(&llama_70b_tp4, &p);
	struct fit f;
	struct err e;

	*held = (struct points){.n = 0};
	for (size_t i = 0; i < p.n; i++) {
		bool known = !is_of(&small, &p.at[i]) && !is_of(&large, &p.at[i]);
		points_add(known ? &others : held, &p.at[i]);
	}
	assert_fine(fit_make(&f, &others, NULL, &want, &e), e);
	print_message("%s: %s, held out %.2f %% and %.1f %%\n", op_names[f.op], f.form->name,
		      100 * f.held_out.median, 100 * f.held_out.p90);
	tables_assert_rising(&f, &p, 0.02);
	points_release(&others);
	points_release(&p);
	return f;
}

static bool device_read(struct device *d, const char *name)
{
	struct points all = {.n = 0};
	char path[128];

	for (int i = 0; i < 3; i++) {
		static const char *const kinds[] = {"gemm", "attn_decode", "attn_prefill"};
		snprintf(path, sizeof(path), "measured/kernels/%s.vllm-0.24.0.%s.csv", name,
			 kinds[i]);
		if (!tables_read(&all, path, "llama-3-8b"))
			return false;
	}
	d->gemm_fit = learn(&all, OP_GEMM, &d->gemm);
	d->decode_fit = learn(&all, OP_DECODE, &d->decode);
	d->prefill_fit = learn(&all, OP_PREFILL, &d->prefill);
	points_release(&all);
	return true;
}

static void device_release(struct device *d)
{
	points_release(&d->gemm);
	points_release(&d->decode);
	points_release(&d->prefill);
	fit_release(&d->gemm_fit);
	fit_release(&d->decode_fit);
	fit_release(&d->prefill_fit);
}

/* Forecast over truth of the GEMMs of a step, in ns; truth is NAN where the table ends. */
static void gemms(const struct device *d, const struct layers *l, int64_t tokens, int64_t seqs,
		  double *truth, double *forecast)
{
	*truth = *forecast = 0;
	for (int i = 0; i < GEMMS; i++) {
		struct point at = gemm(l, i, i < LAYER_GEMMS ? tokens : seqs);
		int times = i < LAYER_GEMMS ? l->n : 1;
		*truth += times * tables_gemm_ns(&d->gemm, at.m, at.n, at.k);
		*forecast += times * fit_ns(&d->gemm_fit, &at);
	}
}

static struct held_out steps(const struct device *d, const struct layers *l, enum op op)
{
	const struct points *p = op == OP_DECODE ? &d->decode : &d->prefill;
	const struct fit *f = op == OP_DECODE ? &d->decode_fit : &d->prefill_fit;
	double *errors = xmalloc(p->n * sizeof(*errors)), truth, forecast;
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct point *at = &p->at[i];
		if (at->heads != l->heads || at->kv_heads != l->kv_heads)
			continue;
		int64_t seqs = at->decode_seq + at->prefill_seq;
		gemms(d, l, op == OP_DECODE ? seqs : seqs * at->new_tok, seqs, &truth, &forecast);
		if (!isfinite(truth))
			continue;
		truth += l->n * at->ns;
		forecast += l->n * fit_ns(f, at);
		errors[n++] = fabs(forecast / truth - 1);
	}
	assert_true(n > 50);
	struct held_out h = fit_figures(errors, n, 0);
	print_message("%zu %s steps: %.2f %% and %.1f %%\n", n, op_names[op], 100 * h.median,
		      100 * h.p90);
	free(errors);
	return h;
}

/* Aims: GEMMs 4 %; decode steps 2 % and 6 % at p90, prefill steps 3 %. */
static void forecasts(const char *name)
{
	struct device d;

	if (!device_read(&d, name)) {
		skip();
		return;
	}
	assert_true(d.gemm_fit.held_out.median < 0.04);
	assert_true(d.decode_fit.held_out.median < 0.03);
	assert_true(d.prefill_fit.held_out.median < 0.06);
	const struct layers *models[] = {&llama_8b, &llama_70b_tp4};
	for (int i = 0; i < 2; i++) {
		struct held_out decode = steps(&d, models[i], OP_DECODE);
		struct held_out prefill = steps(&d, models[i], OP_PREFILL);
		assert_true(decode.median < 0.022 && decode.p90 < 0.066);
		assert_true(prefill.median < 0.033);
	}
	device_release(&d);
}

static void h100(void **state)
{
	(void)state;
	forecasts("h100_sxm");
}

static void h200(void **state)
{
	(void)state;
	forecasts("h200_sxm");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h100),
		cmocka_unit_test(h200),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
