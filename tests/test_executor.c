/* The executor `fixed`: exactly the expression of SEMANTICS.md, and parameters that make sense. */

#include "sim/executor.h"
#include "tests/testing.h"
#include <string.h>

static struct executor *fixed(const char *text)
{
	char canon[256];
	struct err e;
	struct executor *x = executor_fixed_new(text, canon, sizeof(canon), &e);
	assert_fine(x ? 0 : -1, e);
	return x;
}

/* case 30: service = 10,000 x in + 500,000 x out: the prefill step 500,000 + 10,000 x in, each
 * other 500,000. */
static void test_the_constants_of_a_known_queue(void **state)
{
	(void)state;
	struct executor *x = fixed("step_ns=500000,prefill_tok_ns=10000");
	struct step prefill = {.prefill_tok = 4808, .prefill_seq = 1, .prefill_done_seq = 1};
	struct step decode = {.decode_seq = 1, .decode_ctx = 4809};
	assert_true(x->ops->step_ns(x, &prefill) == 48580000);
	assert_true(x->ops->step_ns(x, &decode) == 500000);
	assert_string_equal(x->ops->name, "fixed");
	assert_string_equal(x->ops->times, "fixed");
	assert_string_equal(x->notes, "");
	executor_free(x);
}

/* Constants that round differently in another order of the sums. */
static void test_the_order_of_the_sums(void **state)
{
	(void)state;
	struct executor *x =
		fixed("step_ns=0.1,prefill_tok_ns=1000000.7,decode_seq_ns=33.3,ctx_tok_ns=0.0123");
	int other_order = 0;
	for (int64_t i = 1; i < 2000; i++) {
		struct step s = {.prefill_tok = 3 * i, .decode_seq = i, .decode_ctx = 777 * i};
		double n = (double)(3 * i), b = (double)i, t = (double)(777 * i);
		double want = ((0.1 + 1000000.7 * n) + 33.3 * b) + 0.0123 * t;
		double swapped = ((0.1 + 0.0123 * t) + 33.3 * b) + 1000000.7 * n;
		assert_true(x->ops->step_ns(x, &s) == want);
		other_order += swapped != want;
	}
	assert_true(other_order > 0); /* so the loop can tell the orders apart */
	executor_free(x);
}

/* A pure decode step gives the same bits both ways. */
static void test_decode_is_the_same_step(void **state)
{
	(void)state;
	struct executor *x = fixed("step_ns=12345.6,decode_seq_ns=7.7,ctx_tok_ns=0.0305");
	for (int64_t b = 1; b < 600; b += 7) {
		struct decode_cost c;
		struct step s = {.decode_seq = b, .decode_ctx = 1021 * b + 3};
		x->ops->decode(x, &(struct decode_batch){.seq = b, .ctx = s.decode_ctx}, &c);
		assert_true(x->ops->step_ns(x, &s) == c.step_ns + c.ctx_ns * (double)s.decode_ctx);
		assert_true(c.ctx_max == INT64_MAX);
	}
	executor_free(x);
}

static void test_canonical_text(void **state)
{
	(void)state;
	char canon[256], again[256];
	struct err e;
	struct executor *x =
		executor_fixed_new("ctx_tok_ns=0.5,step_ns=1e7", canon, sizeof(canon), &e);
	assert_non_null(x);
	assert_string_equal(
		canon,
		"step_ns=10000000,prefill_tok_ns=0,decode_seq_ns=0,ctx_tok_ns=0.5,window_tok_ns=0");
	executor_free(x);
	x = executor_fixed_new(canon, again, sizeof(again), &e);
	assert_non_null(x);
	assert_string_equal(again, canon);
	executor_free(x);
	executor_free(NULL);
}

static void test_bad_parameters(void **state)
{
	(void)state;
	static const char *const bad[][2] = {
		{NULL, "no time"},
		{"", "no time"},
		{"step_ns=0,ctx_tok_ns=0", "no time"},
		{"step_ns=-1", "step_ns"},
		{"step_ns=nan", "step_ns"},
		{"step_ns=inf", "step_ns"},
		{"step_ns=1e300", "step_ns"},
		{"step_ns=10ms", "step_ns"},
		{"step_ns=", "step_ns"},
		{"step_ns", "step_ns"},
		{"prefill_ns=4", "prefill_tok_ns"},
		{"step_ns=1,step_ns=2", "step_ns"},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char canon[256];
		struct err e;
		struct executor *x = executor_fixed_new(bad[i][0], canon, sizeof(canon), &e);
		assert_refused(x ? 0 : -1, e, bad[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_constants_of_a_known_queue),
		cmocka_unit_test(test_the_order_of_the_sums),
		cmocka_unit_test(test_decode_is_the_same_step),
		cmocka_unit_test(test_canonical_text),
		cmocka_unit_test(test_bad_parameters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
