/* The longest context of a decode step, for executors that ask for it: by hand. */
#include "tests/harness.h"
#include "tests/testing.h"

/* 1000 ns, and by how much the longest context exceeds the mean, times the sequences. */
static void uneven_decode(const struct executor *x, const struct decode_batch *b,
			  struct decode_cost *c)
{
	(void)x;
	*c = (struct decode_cost){.step_ns = 1000 + (double)(b->longest * b->seq - b->ctx),
				  .ctx_max = INT64_MAX};
}

/* A prompt's token adds 10. */
static double uneven_step_ns(const struct executor *x, const struct step *s)
{
	struct decode_cost c = {0};

	uneven_decode(x,
		      &(struct decode_batch){.seq = s->decode_seq,
					     .ctx = s->decode_ctx,
					     .longest = s->decode_longest},
		      &c);
	return 10 * (double)s->prefill_tok + (s->decode_seq > 0 ? c.step_ns : 0);
}

static const struct executor_ops uneven_ops = {
	.name = "uneven",
	.times = "fixed",
	.step_ns = uneven_step_ns,
	.decode = uneven_decode,
};

static void assert_ends(const char *policy, const struct trace_row *rows, size_t n,
			const int64_t *end_ns)
{
	const struct executor x = {.ops = &uneven_ops, .notes = "", .longest = true};
	struct harness_options o = harness_default(policy, NULL);

	o.executor = &x;
	for (int by_step = 0; by_step < 2; by_step++) {
		struct harness_result r;

		o.step_by_step = by_step;
		harness_run(&o, rows, n, &r);
		assert_fine(r.rc, r.err);
		for (size_t i = 0; i < n; i++)
			assert_i64(r.record[i].finish_ns, end_ns[i]);
		harness_release(&r);
	}
}

/*
 * Prompts of 10 and 30 are prefilled together by 400. One step at contexts 11 and 31 takes
 * 1000 + 62 - 42; then the longer one is done and the other one is alone.
 */
static void test_the_longest_leaves(void **state)
{
	const struct trace_row rows[] = {{.prompt_tok = 10, .output_tok = 4},
					 {.prompt_tok = 30, .output_tok = 2}};

	(void)state;
	assert_ends("paged", rows, 2, (const int64_t[]){400 + 1020 + 2000, 400 + 1020});
}

/* The shorter one leaves, and a longer one joins (200 ns of prefill beside a decode, chunk=64). */
static void test_a_longer_one_joins(void **state)
{
	const struct trace_row rows[] = {{.prompt_tok = 10, .output_tok = 5},
					 {.prompt_tok = 4, .output_tok = 2},
					 {.arrive_ns = 1000, .prompt_tok = 20, .output_tok = 2}};
	/* 140; 11 and 5: 1006; then 12 beside the prompt: 200 + 1000; 13 and 21: 1008; 14 */
	const int64_t first_ns = 140 + 1006, joined_ns = first_ns + 1200;

	(void)state;
	assert_ends("paged:chunk=64,max_seqs=8", rows, 3,
		    (const int64_t[]){joined_ns + 1008 + 1000, first_ns, joined_ns + 1008});
}

/* In a padded batch every context is counted from the longest prompt. */
static void test_padded(void **state)
{
	const struct trace_row rows[] = {{.prompt_tok = 10, .output_tok = 3},
					 {.prompt_tok = 30, .output_tok = 2}};

	(void)state;
	assert_ends("static:size=2", rows, 2, (const int64_t[]){600 + 2000, 600 + 1000});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_longest_leaves),
		cmocka_unit_test(test_a_longer_one_joins),
		cmocka_unit_test(test_padded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
