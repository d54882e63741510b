/* Every form of the table: complete, positive, and rising with every size. */
#include "calibrate/form.h"
#include "tests/synthetic.h"
#include "tests/testing.h"
#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>

static void each_form(void (*f)(const struct form *))
{
	for (int op = 0; op < N_OPS; op++) {
		size_t n;
		const struct form *const *forms = form_list((enum op)op, &n);
		for (size_t i = 0; i < n; i++)
			f(forms[i]);
	}
}

static void complete(const struct form *f)
{
	size_t n;

	assert_ptr_equal(form_find(f->op, f->name), f); /* unique within the operation */
	assert_non_null(f->text);
	assert_non_null(f->ranges[0]);
	assert_ptr_equal(f->group, form_list(f->op, &n)[0]->group);
	for (int i = 0; i < FIT_AXES && f->axes[i]; i++) {
		assert_non_null(form_size_name(f->axes[i]));
		assert_in_range(f->knots[i], 2, FIT_KNOTS);
	}
	for (const char *const *r = f->ranges; *r; r++)
		assert_non_null(form_size_name(*r));
	for (int i = 0; f->coefs[i]; i++)
		assert_true(i < FIT_COEFS);
	if (!f->base_ns)
		assert_true(f->axes[0] && !f->axes[1] && !f->coefs[0]);
	else
		assert_true(f->guess && f->coefs[0]);
}

static void forms_are_complete(void **state)
{
	(void)state;
	each_form(complete);
	assert_null(form_find(OP_GEMM, "none"));
	assert_null(form_find(OP_STEP, "affine"));
}

/* Sizes that a form reads; more of any takes no less. */
static void rises(const struct form *f)
{
	static const char *const sizes[] = {"m",	   "n",		 "k",	       "heads",
					    "kv_heads",	   "head_dim",	 "new_tok",    "prior_tok",
					    "prefill_seq", "decode_seq", "decode_ctx", "longest",
					    "devices",	   "bytes"};
	double coef[FIT_COEFS];

	if (!f->base_ns)
		return;
	synthetic_truth(f, coef);
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	for (int i = 0; i < 100; i++) {
		struct point at = synthetic_sizes(f, rng);
		double ns = f->base_ns(coef, &at);
		assert_true(isfinite(ns) && ns > 0);
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			struct point more = at;
			form_place(sizes[s], 2 * form_size(sizes[s], &at), &more);
			/* the wait for the longest counts from the mean */
			if (!strcmp(sizes[s], "decode_ctx"))
				more.longest *= 2;
			if (f->base_ns(coef, &more) < ns * (1 - 1e-9))
				fail_msg("%s %s falls with %s", op_names[f->op], f->name, sizes[s]);
		}
	}
	gsl_rng_free(rng);
}

static void formulas_rise_with_every_size(void **state)
{
	(void)state;
	each_form(rises);
}

static void guess(const struct form *f)
{
	double coef[FIT_COEFS], start[FIT_COEFS];

	if (!f->base_ns)
		return;
	synthetic_truth(f, coef);
	struct points p = synthetic_points(f, coef, 100, &(struct noise){.spread = 0.03});
	f->guess(start, &p);
	for (int i = 0; f->coefs[i]; i++)
		assert_true(isfinite(start[i]) && start[i] > 0);
	points_release(&p);
}

static void guesses_are_positive(void **state)
{
	(void)state;
	each_form(guess);
}

static void sizes_are_read_and_set(void **state)
{
	struct point at = {.heads = 32, .kv_heads = 8, .decode_seq = 4, .decode_ctx = 4000};

	(void)state;
	assert_near(form_size("decode_len", &at), 1000, 0);
	assert_near(form_size("group", &at), 4, 0);
	form_place("decode_len", 500, &at);
	assert_i64(at.decode_ctx, 2000);
	form_place("group", 2, &at);
	assert_i64(at.heads, 16);
	form_place("decode_seq", 8, &at); /* of 500 tokens each */
	assert_i64(at.decode_ctx, 4000);
	form_place("kv_heads", 4, &at);
	assert_i64(at.heads, 8);
	form_place("bytes", 1e6, &at);
	assert_i64(at.bytes, 1000000);
	const struct point none = {.heads = 1};
	assert_near(form_size("decode_len", &none), 0, 0);
	assert_null(form_size_name("weight"));
}

/* By hand: 2 x 3 x 5 products; 16-bit weights of 3 x 5, activations of 2 x (3 + 5). */
static void work_by_hand(void **state)
{
	(void)state;
	const struct point g = {.op = OP_GEMM, .bits = 16, .m = 2, .n = 3, .k = 5};
	assert_near(work_gemm_flops(&g), 60, 0);
	assert_near(work_gemm_bytes(&g), 30 + 32, 0);
	/* 3 new tokens after 10: 11 + 12 + 13 pairs, 4 operations a pair, head and dimension */
	const struct point f = {.op = OP_PREFILL,
				.bits = 8,
				.heads = 4,
				.kv_heads = 2,
				.head_dim = 16,
				.prefill_seq = 2,
				.new_tok = 3,
				.prior_tok = 10};
	assert_near(work_prefill_flops(&f), 2 * 4.0 * 36 * 4 * 16, 0);
	assert_near(work_prefill_bytes(&f), 2 * 2 * 10 * 2 * 16, 0);
	/* Llama-3-8B: 2 x 8 x 128 numbers a token and layer */
	const struct point d = {.op = OP_DECODE,
				.bits = 16,
				.heads = 32,
				.kv_heads = 8,
				.head_dim = 128,
				.decode_seq = 2,
				.decode_ctx = 100};
	assert_near(work_decode_bytes(&d), 100 * 4096, 0);
	const struct point r = {.op = OP_ALLREDUCE, .devices = 4, .bytes = 1000};
	assert_near(work_allreduce_bytes(&r), 1500, 0);
}

/*
 * One sequence of 5 x 1024 tokens among others of 1024: with 8 KV heads it has 4096 x 4096 bytes
 * beyond the mean, a little less. Four sequences wait for one part of 4097 of that at full_heads
 * 256, 32 for the half, a thousand for nearly all.
 */
static void wait_for_the_longest(void **state)
{
	const struct form *f = form_find(OP_DECODE, "uneven");
	const double coef[] = {1000, 1000, 200, 256};
	static const struct {
		int64_t seqs;
		double share;
	} cases[] = {{4, 1 / 4097.0}, {32, 0.5}, {1024, 1048576 / 1048577.0}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		int64_t ctx = 1024 * (cases[i].seqs + 4);
		struct point at = {.op = OP_DECODE,
				   .bits = 16,
				   .heads = 32,
				   .kv_heads = 8,
				   .head_dim = 128,
				   .decode_seq = cases[i].seqs,
				   .decode_ctx = ctx};
		double even_ns = f->base_ns(coef, &at);
		double bytes = 4096 * (5 * 1024 - (double)ctx / (double)cases[i].seqs);

		assert_near(even_ns, 1000 + 4.096 * (double)ctx, 1e-6);
		at.longest = 5 * 1024;
		assert_near(f->base_ns(coef, &at) - even_ns, cases[i].share * bytes / 200, 1e-3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_are_complete),
		cmocka_unit_test(formulas_rise_with_every_size),
		cmocka_unit_test(guesses_are_positive),
		cmocka_unit_test(sizes_are_read_and_set),
		cmocka_unit_test(work_by_hand),
		cmocka_unit_test(wait_for_the_longest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
