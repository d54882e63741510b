/* The scheduler's own time around an executor: added, or the larger of both in exact pieces. */

#include "sim/host.h"
#include "sim/rng.h"
#include "tests/testing.h"
#include <string.h>

static struct executor *wrapped(const char *fixed, const struct host_want *w)
{
	char canon[256];
	struct err e;
	struct executor *x = executor_fixed_new(fixed, canon, sizeof(canon), &e);
	assert_fine(x ? 0 : -1, e);
	return host_wrap(x, w);
}

static double step_ns(const struct executor *x, struct step s)
{
	return x->ops->step_ns(x, &s);
}

static struct decode_cost decode(const struct executor *x, struct decode_batch b)
{
	struct decode_cost c;
	x->ops->decode(x, &b, &c);
	return c;
}

/* 5 us and 0.1 us a sequence: of 3 prompts and 2 decodes 5500 ns, beside 1000 + 30 x 10 + 2 x 7. */
static void test_a_step_takes_both(void **state)
{
	(void)state;
	struct executor *x = wrapped("step_ns=1000,prefill_tok_ns=10,decode_seq_ns=7,ctx_tok_ns=1",
				     &(struct host_want){.host_us = 5, .host_seq_us = 0.1});
	struct step mixed = {
		.prefill_tok = 30, .prefill_seq = 3, .decode_seq = 2, .decode_ctx = 100};
	assert_near(step_ns(x, mixed), 1314 + 100 + 5500, 1e-9);
	struct decode_cost c = decode(x, (struct decode_batch){.seq = 2, .ctx = 100});
	assert_near(c.step_ns, 1014 + 5200, 1e-9);
	assert_near(c.ctx_ns, 1, 0);
	assert_i64(c.ctx_max, INT64_MAX);
	assert_string_equal(x->ops->name, "fixed");
	assert_string_equal(x->ops->times, "fixed");
	executor_free(x);
}

static void test_nothing_is_put_around_where_there_is_no_overhead(void **state)
{
	(void)state;
	char canon[256];
	struct err e;
	struct executor *x = executor_fixed_new("step_ns=1", canon, sizeof(canon), &e);
	assert_ptr_equal(host_wrap(x, &(struct host_want){.async = true}), x);
	executor_free(x);
}

/*
 * Device 1000 + T, host 2000. Two sequences at T = 500: 2000 up to T = 998, the last step below
 * 1000; from T = 1000 on the device.
 */
static void test_the_larger_of_both(void **state)
{
	(void)state;
	struct executor *x = wrapped("step_ns=1000,prefill_tok_ns=10,ctx_tok_ns=1",
				     &(struct host_want){.host_us = 2, .async = true});
	struct decode_cost c = decode(x, (struct decode_batch){.seq = 2, .ctx = 500});
	assert_near(c.step_ns, 2000, 0);
	assert_near(c.ctx_ns, 0, 0);
	assert_i64(c.ctx_max, 998);
	c = decode(x, (struct decode_batch){.seq = 2, .ctx = 1000});
	assert_near(c.step_ns, 1000, 0);
	assert_near(c.ctx_ns, 1, 0);
	assert_i64(c.ctx_max, INT64_MAX);
	struct step s = {.prefill_tok = 99, .prefill_seq = 1};
	assert_near(step_ns(x, s), 2000, 0);
	s.prefill_tok = 101;
	assert_near(step_ns(x, s), 2010, 0);
	executor_free(x);
}

/*
 * Device 1000 + Tw, host 2000, Tw = 500. While one of two sequences is below the window Tw grows by
 * 1 a step and T by 2: below 2000 for 499 more steps. With none below it stays for ever.
 */
static void test_windows_grow_at_their_own_rate(void **state)
{
	(void)state;
	struct executor *x = wrapped("step_ns=1000,window_tok_ns=1",
				     &(struct host_want){.host_us = 2, .async = true});
	struct decode_batch b = {.seq = 2, .ctx = 700, .window_seq = 1, .window_ctx = 500};
	assert_i64(decode(x, b).ctx_max, 700 + 2 * 499);
	assert_near(decode(x, b).step_ns, 2000, 0);
	b.window_seq = 0;
	assert_i64(decode(x, b).ctx_max, INT64_MAX);
	b.window_ctx = 1001;
	assert_near(decode(x, b).step_ns, 1000, 0);
	assert_near(decode(x, b).window_ns, 1, 0);
	executor_free(x);
}

static double value(const struct decode_cost *c, const struct decode_batch *b)
{
	return c->step_ns + c->ctx_ns * (double)b->ctx + c->window_ns * (double)b->window_ctx;
}

/* Step by step each piece is what the step costs, to the bit, and ends where it stops to be. */
static void follow(const struct executor *x, struct decode_batch b)
{
	struct decode_cost piece = decode(x, b);
	int pieces = 1;
	for (int i = 0; i < 400; i++) {
		struct step s = {
			.decode_seq = b.seq, .decode_ctx = b.ctx, .window_ctx = b.window_ctx};
		if (b.ctx > piece.ctx_max) {
			double before = piece.step_ns;
			piece = decode(x, b);
			assert_true(value(&piece, &b) >= before);
			pieces++;
		}
		assert_true(step_ns(x, s) == value(&piece, &b));
		b.ctx += b.seq;
		b.window_ctx += b.window_seq;
	}
	assert_true(pieces <= 2);
}

static void test_pieces_are_exact(void **state)
{
	(void)state;
	gsl_rng *r = rng_new(1, "host");
	for (int i = 0; i < 300; i++) {
		char text[128];
		const struct host_want w = {.host_us = 0.3 + gsl_rng_uniform(r),
					    .host_seq_us = gsl_rng_uniform(r) / 50,
					    .async = i % 4 != 0};
		struct decode_batch b = {.seq = 1 + (int64_t)gsl_rng_uniform_int(r, 9)};
		b.ctx = b.seq * (int64_t)gsl_rng_uniform_int(r, 300);
		b.window_seq = (int64_t)gsl_rng_uniform_int(r, (unsigned long)b.seq + 1);
		b.window_ctx = b.ctx / 2;
		snprintf(text, sizeof(text),
			 "step_ns=%.3f,decode_seq_ns=%.3f,ctx_tok_ns=%.4f,window_tok_ns=%.4f",
			 400 * gsl_rng_uniform(r), 9 * gsl_rng_uniform(r),
			 i % 3 ? gsl_rng_uniform(r) : 0, i % 5 ? gsl_rng_uniform(r) : 0);
		struct executor *x = wrapped(text, &w);
		follow(x, b);
		executor_free(x);
	}
	gsl_rng_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_step_takes_both),
		cmocka_unit_test(test_nothing_is_put_around_where_there_is_no_overhead),
		cmocka_unit_test(test_the_larger_of_both),
		cmocka_unit_test(test_windows_grow_at_their_own_rate),
		cmocka_unit_test(test_pieces_are_exact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
