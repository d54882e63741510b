/*
 * Mixed steps of Llama-3.1-8B on an RTX PRO 6000: a prefill chunk beside decoding sequences, whose
 * attention is not the sum of the two. Steps are forecast whose attention was not among the points,
 * with layers that were fitted to every second number of tokens.
 */
#include "calibrate/fit_parts.h"
#include "tests/tables.h"
#include "tests/testing.h"
#include <math.h>

#define TABLE(name) "measured/vllm-rtxpro6000/RTXPRO6000.Llama-3.1-8B.tp1." name ".csv"
static const char model[] = "llama-3.1-8b";
enum { LAYERS = 32, PARTS = 12 };

/* A part of a step: its points, and the fit of half of them. */
struct part {
	struct points p;
	struct fit f;
};

struct layers {
	struct part part[PARTS]; /* by (op, n, k) */
	int n;
};

static struct part *part_of(struct layers *l, const struct point *at)
{
	for (int i = 0; i < l->n; i++) {
		const struct point *one = &l->part[i].p.at[0];
		if (one->op == at->op && one->n == at->n && one->k == at->k)
			return &l->part[i];
	}
	CHECK(l->n < PARTS, "more than %d kinds of layers", PARTS);
	l->part[l->n] = (struct part){.p = {.n = 0}};
	return &l->part[l->n++];
}

static bool layers_read(struct layers *l)
{
	struct points all = {.n = 0};
	struct err e;

	l->n = 0;
	if (!tables_read(&all, TABLE("dense"), model) ||
	    !tables_read(&all, TABLE("per_sequence"), model))
		return false;
	for (size_t i = 0; i < all.n; i++)
		points_add(&part_of(l, &all.at[i])->p, &all.at[i]);
	points_release(&all);
	for (int i = 0; i < l->n; i++) {
		const struct point *shape = &l->part[i].p.at[0];
		struct points half = {.n = 0};
		for (size_t j = 0; j < l->part[i].p.n; j += 2)
			points_add(&half, &l->part[i].p.at[j]);
		assert_fine(fit_make(&l->part[i].f, &half, shape, NULL, &e), e);
		print_message("%s n %d: %s, held out %.2f %%\n", op_names[l->part[i].f.op],
			      (int)shape->n, l->part[i].f.form->name,
			      100 * l->part[i].f.held_out.median);
		points_release(&half);
	}
	return true;
}

static void layers_release(struct layers *l)
{
	for (int i = 0; i < l->n; i++) {
		points_release(&l->part[i].p);
		fit_release(&l->part[i].f);
	}
}

/* How often a step has a part, and over which rows: all tokens, or one a sequence. */
static int times(const struct point *part, int64_t tokens, int64_t seqs, int64_t *m)
{
	bool head = part->op == OP_SAMPLE || (part->op == OP_GEMM && part->n > 100000);

	*m = head ? seqs : tokens;
	if (head || part->op == OP_EMBED)
		return 1;
	return part->op == OP_NORM ? 2 * LAYERS + 1 : LAYERS;
}

static void add_layers(const struct layers *l, int64_t tokens, int64_t seqs, double *truth,
		       double *forecast)
{
	for (int i = 0; i < l->n; i++) {
		struct point at = l->part[i].p.at[0];
		int n = times(&at, tokens, seqs, &at.m);
		*truth += n * tables_rows_ns(&l->part[i].p, at.m);
		*forecast += n * fit_ns(&l->part[i].f, &at);
	}
}

static struct points mixed_points(void)
{
	struct points all = {.n = 0}, mixed = {.n = 0};

	if (!tables_read(&all, TABLE("attention"), model))
		return mixed;
	mixed = tables_of(&all, OP_MIXED);
	points_release(&all);
	return mixed;
}

/* One in five groups is not learned from. */
static bool is_held_out(const struct fit *f, const struct point *at)
{
	const struct form *form = f ? f->form : form_find(OP_MIXED, "affine");

	return form->group(at) % 5 == 0;
}

static struct held_out steps(const struct layers *l, const struct fit *f,
			     const struct points *mixed)
{
	double *errors = xmalloc(mixed->n * sizeof(*errors));
	size_t n = 0;

	for (size_t i = 0; i < mixed->n; i++) {
		const struct point *at = &mixed->at[i];
		if (!is_held_out(f, at))
			continue;
		double truth = LAYERS * at->ns, forecast = LAYERS * fit_ns(f, at);
		add_layers(l, at->new_tok + at->decode_seq, 1 + at->decode_seq, &truth, &forecast);
		errors[n++] = fabs(forecast / truth - 1);
	}
	assert_in_range(n, mixed->n / 10, mixed->n / 3);
	struct held_out h = fit_figures(errors, n, 0);
	print_message("%zu mixed steps: %.2f %% and %.1f %%\n", n, 100 * h.median, 100 * h.p90);
	free(errors);
	return h;
}

/* The aim is 3 %. */
static void mixed_steps(void **state)
{
	struct points mixed = mixed_points(), known = {.n = 0};
	const struct fit_want want = {.folds = 2};
	struct layers l;
	struct fit f;
	struct err e;

	(void)state;
	if (!mixed.n || !layers_read(&l)) {
		skip();
		return;
	}
	for (size_t i = 0; i < mixed.n; i++)
		if (!is_held_out(NULL, &mixed.at[i]))
			points_add(&known, &mixed.at[i]);
	assert_fine(fit_make(&f, &known, NULL, &want, &e), e);
	print_message("mixed: %s, held out %.2f %% and %.1f %%\n", f.form->name,
		      100 * f.held_out.median, 100 * f.held_out.p90);
	assert_true(f.held_out.median < 0.05);
	assert_true(steps(&l, &f, &mixed).median < 0.03);
	tables_assert_rising(&f, &known, 0.03);
	fit_release(&f);
	layers_release(&l);
	points_release(&known);
	points_release(&mixed);
}

/* Unequal lengths: the wait for the longest sequences is found beside the sum of tokens. */
static void unequal_lengths(void **state)
{
	struct points all = {.n = 0};
	double errors[512];
	size_t n = 0;
	struct fit f;
	struct err e;

	(void)state;
	if (!tables_read(&all, TABLE("attention"), model) ||
	    !tables_read(&all, TABLE("skew_decode"), model)) {
		skip();
		return;
	}
	struct points decode = tables_of(&all, OP_DECODE);
	assert_fine(fit_make(&f, &decode, NULL, NULL, &e), e);
	for (size_t i = 0; i < decode.n; i++)
		if (decode.at[i].longest)
			errors[n++] = fabs(fit_ns(&f, &decode.at[i]) / decode.at[i].ns - 1);
	assert_in_range(n, 300, 400);
	struct held_out uneven = fit_figures(errors, n, 0);
	print_message("decode: %s, held out %.2f %% and %.1f %%; unequal lengths %.2f %% and "
		      "%.1f %%\n",
		      f.form->name, 100 * f.held_out.median, 100 * f.held_out.p90,
		      100 * uneven.median, 100 * uneven.p90);
	assert_true(f.held_out.median < 0.03 && f.held_out.p90 < 0.09);
	assert_true(uneven.p90 < 0.05);
	fit_release(&f);
	points_release(&decode);
	points_release(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mixed_steps),
		cmocka_unit_test(unequal_lengths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
