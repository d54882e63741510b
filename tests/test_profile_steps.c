/* Coefficients of whole steps, from steps whose formula is known. */
#include "calibrate/profile_fit.h"
#include "testing.h"
#include <math.h>

static const struct fit_want want = {.folds = 5};

/* 20 ms + 100 us a token + 7 ns a token and token */
static double prefill_ns(int64_t seqs, int64_t tok)
{
	return 20e6 + 100e3 * (double)(seqs * tok) + 7 * (double)(seqs * tok * tok);
}

/* 10 ms + 600 ns of context + 40 us a sequence; above 64: 2 ms + 500 ns + 160 us */
static double decode_ns(int64_t seqs, int64_t ctx)
{
	if (seqs <= 64)
		return 10e6 + 600 * (double)ctx + 40e3 * (double)seqs;
	return 2e6 + 500 * (double)ctx + 160e3 * (double)seqs;
}

static void add(struct points *list, int64_t prompts, int64_t tok, int64_t seqs, int64_t ctx,
		double ns)
{
	const struct point p = {.op = OP_STEP,
				.bits = 16,
				.devices = 1,
				.prefill_seq = prompts,
				.new_tok = tok,
				.decode_seq = seqs,
				.decode_ctx = ctx,
				.ns = ns};

	points_add(list, &p);
}

/* Every step a per mille off, up and down by turns. */
static double noisy(double ns, size_t i)
{
	return ns * (i % 2 ? 1.001 : 0.999);
}

static void add_all(struct points *list, int64_t most_seqs)
{
	for (int64_t n = 1; n <= 8; n *= 2)
		for (int64_t tok = 64; tok <= 4096; tok *= 2)
			add(list, n, tok, 0, 0, noisy(prefill_ns(n, tok), list->n));
	for (int64_t b = 1; b <= most_seqs; b *= 2)
		for (int64_t len = 64; len <= 4096; len *= 2)
			add(list, 0, 0, b, b * len, noisy(decode_ns(b, b * len), list->n));
}

static void test_coefficients_are_found(void **state)
{
	struct points list = {.at = NULL};
	struct whole_steps s = {.model = "mine", .tp = 1};
	struct err e;

	(void)state;
	add_all(&list, 64);
	assert_fine(profile_fit_steps(&s, &list, &want, &e), e);
	assert_near(s.prefill_ns[0] / 20e6, 1, 0.01);
	assert_near(s.prefill_ns[1] / 100e3, 1, 0.01);
	assert_near(s.prefill_ns[2] / 7, 1, 0.02);
	assert_i64(s.small_max, 0);
	assert_near(s.large_ns[0] / 10e6, 1, 0.01);
	assert_near(s.large_ns[1] / 600, 1, 0.01);
	assert_near(s.large_ns[2] / 40e3, 1, 0.05);
	for (int i = 0; i < 3; i++) {
		assert_true(s.large_error[i] > 0 && s.large_error[i] < 0.05 * s.large_ns[i]);
		assert_near(s.small_ns[i], s.large_ns[i], 0);
	}
	assert_i64(s.decode_held_out.folds, 5);
	assert_true(s.decode_held_out.median < 0.002);
	assert_true(s.prefill_held_out.max < 0.005);
	assert_i64(s.mixed_held_out.folds, 0);
	assert_near(s.mixed_share, 1, 0);
	assert_near(s.batch.max, 64, 0);
	assert_near(s.context.max, 64 * 4096, 0);
	assert_near(s.prompt_tok.min, 64, 0);
	points_release(&list);
}

/* Above 64 sequences other coefficients hold, and the split is found. */
static void test_two_pieces(void **state)
{
	struct points list = {.at = NULL};
	struct whole_steps s = {.model = "mine", .tp = 1};
	struct err e;

	(void)state;
	add_all(&list, 512);
	assert_fine(profile_fit_steps(&s, &list, &want, &e), e);
	assert_i64(s.small_max, 64);
	assert_near(s.small_ns[2] / 40e3, 1, 0.05);
	assert_near(s.large_ns[2] / 160e3, 1, 0.05);
	const struct point small = {.op = OP_STEP, .decode_seq = 64, .decode_ctx = 64000};
	const struct point large = {.op = OP_STEP, .decode_seq = 65, .decode_ctx = 65000};
	assert_near(whole_steps_ns(&s, &small) / decode_ns(64, 64000), 1, 0.003);
	assert_near(whole_steps_ns(&s, &large) / decode_ns(65, 65000), 1, 0.003);
	points_release(&list);
}

/* A mixed step takes the larger part and 0.3 of the other. */
static void test_mixed_share(void **state)
{
	struct points list = {.at = NULL};
	struct whole_steps s = {.model = "mine", .tp = 1};
	struct err e;

	(void)state;
	add_all(&list, 64);
	for (int64_t tok = 64; tok <= 2048; tok *= 2)
		for (int64_t b = 1; b <= 64; b *= 4) {
			double p = prefill_ns(1, tok), d = decode_ns(b, b * 512);

			add(&list, 1, tok, b, b * 512, fmax(p, d) + 0.3 * fmin(p, d));
		}
	assert_fine(profile_fit_steps(&s, &list, &want, &e), e);
	assert_near(s.mixed_share, 0.3, 0.01);
	assert_i64(s.mixed_held_out.folds, 5);
	assert_true(s.mixed_held_out.max < 0.01);
	const struct point at = {.op = OP_STEP,
				 .prefill_seq = 1,
				 .new_tok = 512,
				 .decode_seq = 16,
				 .decode_ctx = 8192};
	double p = prefill_ns(1, 512), d = decode_ns(16, 8192);
	assert_near(whole_steps_ns(&s, &at) / (fmax(p, d) + 0.3 * fmin(p, d)), 1, 0.005);
	points_release(&list);
}

/* Mixed steps that take more than both parts, or less than the larger one. */
static void test_mixed_share_has_bounds(void **state)
{
	static const double took[][2] = {{1.5, 1}, {-0.2, 0}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct points list = {.at = NULL};
		struct whole_steps s = {.model = "mine", .tp = 1};
		struct err e;

		add_all(&list, 64);
		for (int64_t tok = 64; tok <= 2048; tok *= 2)
			for (int64_t b = 1; b <= 64; b *= 4) {
				double p = prefill_ns(1, tok), d = decode_ns(b, b * 512);

				add(&list, 1, tok, b, b * 512,
				    fmax(p, d) + took[i][0] * fmin(p, d));
			}
		assert_fine(profile_fit_steps(&s, &list, &want, &e), e);
		assert_near(s.mixed_share, took[i][1], 0);
		points_release(&list);
	}
}

/* Times that do not grow with the squares: that term is 0, not a little below. */
static void test_no_coefficient_is_negative(void **state)
{
	struct points list = {.at = NULL};
	struct whole_steps s = {.model = "mine", .tp = 1};
	struct err e;

	(void)state;
	for (int64_t n = 1; n <= 8; n *= 2)
		for (int64_t tok = 64; tok <= 4096; tok *= 2)
			add(&list, n, tok, 0, 0,
			    20e6 + 100e3 * (double)(n * tok) - 0.5 * (double)(n * tok * tok));
	for (int64_t b = 1; b <= 64; b *= 2)
		for (int64_t len = 64; len <= 4096; len *= 2)
			add(&list, 0, 0, b, b * len, decode_ns(b, b * len));
	assert_fine(profile_fit_steps(&s, &list, &want, &e), e);
	assert_near(s.prefill_ns[2], 0, 0);
	assert_true(s.prefill_ns[0] > 0 && s.prefill_ns[1] > 0);
	points_release(&list);
}

static void test_too_few(void **state)
{
	struct points list = {.at = NULL};
	struct whole_steps s = {.model = "mine", .tp = 1};
	struct err e;

	(void)state;
	for (int i = 1; i < 8; i++)
		add(&list, 1, 64 * i, 0, 0, prefill_ns(1, 64 * i));
	assert_refused(profile_fit_steps(&s, &list, &want, &e), e,
		       "mine, tp 1: 7 prefill steps and 0 decode steps: each must be 8 at least");
	points_release(&list);
}

/* All of one batch and one context: what a sequence costs cannot be told. */
static void test_degenerate(void **state)
{
	struct points list = {.at = NULL};
	struct whole_steps s = {.model = "mine", .tp = 1};
	struct err e;

	(void)state;
	for (int i = 0; i < 20; i++) {
		add(&list, 1, 64 * (i + 1), 0, 0, prefill_ns(1, 64 * (i + 1)));
		add(&list, 0, 0, 8, 8000, decode_ns(8, 8000));
	}
	assert_refused(profile_fit_steps(&s, &list, &want, &e), e, "mine, tp 1, decode steps: ");
	points_release(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_coefficients_are_found),
		cmocka_unit_test(test_two_pieces),
		cmocka_unit_test(test_mixed_share),
		cmocka_unit_test(test_mixed_share_has_bounds),
		cmocka_unit_test(test_no_coefficient_is_negative),
		cmocka_unit_test(test_too_few),
		cmocka_unit_test(test_degenerate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
