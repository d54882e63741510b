/*
 * Executors that run each step: what comes out is what `fixed` gives where the times are the same,
 * whatever the policy; each step comes with its sequences; a failure ends the simulation.
 */
#include "sim/host.h"
#include "tests/executed.h"
#include "tests/subjects.h"
#include "tests/testing.h"
#include <string.h>

enum { RUNS = 60 };

/* Whole ns: no sum of them is rounded, in one go or step by step. */
static const char *const whole[] = {"step_ns=1000",
				    "step_ns=700,prefill_tok_ns=3,decode_seq_ns=11,ctx_tok_ns=1",
				    "step_ns=333,prefill_tok_ns=1,decode_seq_ns=2,window_tok_ns=4"};
enum { N_WHOLE = sizeof(whole) / sizeof(whole[0]) };

static struct executor *fixed_new(const char *text)
{
	char canon[256];
	struct err e;
	struct executor *x = executor_fixed_new(text, canon, sizeof(canon), &e);

	assert_fine(x ? 0 : -1, e);
	return x;
}

static char *text_of(struct random_run *run, const struct executor *x, bool step_by_step)
{
	struct harness_result r;

	run->options.executor = x;
	run->options.step_by_step = step_by_step;
	harness_run(&run->options, run->row, run->n, &r);
	assert_fine(r.rc, r.err);
	char *text = harness_text(&r);

	harness_release(&r);
	return text;
}

static void assert_same(const struct random_run *run, const char *got, const char *want)
{
	size_t at = 0, line = 0;

	if (strcmp(got, want) == 0)
		return;
	for (; got[at] == want[at]; at++)
		if (got[at] == '\n')
			line = at + 1;
	random_run_print(stderr, run);
	fail_msg("run, it is\n%.300s\nand fixed gives\n%.300s", got + line, want + line);
}

struct seen {
	int64_t steps, prefill_seq, decode_seq, not_sampled;
};

/* Without host, with it behind the step, or (where there is one batch) beside it. */
static struct executor *with_host(const struct random_run *run, struct executor *x, uint64_t i)
{
	struct host_want host = {.host_us = i % 2 ? 0.5 : 0, .host_seq_us = i % 4 == 1 ? 0.25 : 0};

	host.async = run->choice.common.async > 0;
	return host_wrap(x, &host);
}

static void check_run(const struct subject *s, uint64_t i, struct seen *seen)
{
	struct random_run run;

	random_run_init(&run, s, i);
	struct executor *fixed = with_host(&run, fixed_new(whole[i % N_WHOLE]), i);
	struct executed *runs = executed_new(fixed_new(whole[i % N_WHOLE]), run.options.window_tok);
	struct executor *x = with_host(&run, &runs->x, i);
	char *want = text_of(&run, fixed, false), *got = text_of(&run, x, false);
	char *one_by_one = text_of(&run, x, true);

	assert_same(&run, got, want);
	assert_same(&run, one_by_one, want);
	seen->steps += runs->steps;
	seen->prefill_seq += runs->prefill_seq;
	seen->decode_seq += runs->decode_seq;
	seen->not_sampled += runs->prefill_seq + runs->decode_seq - runs->sampled;
	free(want);
	free(got);
	free(one_by_one);
	executor_free(x);
	executor_free(fixed);
	random_run_release(&run);
}

static void test_the_same_as_fixed(void **state)
{
	size_t n;
	struct subject *all = subjects_all(&n);
	int64_t not_sampled = 0;

	(void)state;
	for (size_t k = 0; k < n; k++) {
		struct seen seen = {0};

		for (uint64_t i = 0; i < RUNS; i++)
			check_run(&all[k], i, &seen);
		assert_true(seen.steps > RUNS && seen.prefill_seq > RUNS && seen.decode_seq > RUNS);
		not_sampled += seen.not_sampled;
	}
	assert_true(not_sampled > 0); /* chunks */
	free(all);
}

/* Steps and their sequences by hand */

struct taken {
	char text[1024];
	int64_t fail_at, steps;
};

static int take(void *arg, const struct step_taken *step, struct err *e)
{
	struct taken *t = arg;
	const struct step *s = step->step;
	size_t at = strlen(t->text);

	if (++t->steps == t->fail_at)
		return err_set(e, "step %lld: the disk is full", (long long)t->steps);
	for (int64_t i = 0; i < s->n_seqs; i++)
		at += (size_t)snprintf(t->text + at, sizeof(t->text) - at, "%s%lld+%lld%s",
				       i ? " " : "", (long long)s->seqs[i].prior_tok,
				       (long long)s->seqs[i].new_tok,
				       s->seqs[i].sampled ? "" : "-");
	snprintf(t->text + at, sizeof(t->text) - at, ": %g\n", step->ns);
	return 0;
}

static void check_taken(const char *policy, const struct trace_row *row, size_t n, const char *want)
{
	struct taken taken = {{0}, 0, 0};
	struct harness_options o = harness_default(policy, "step_ns=100");
	struct harness_result r;

	o.taken = take;
	o.taken_arg = &taken;
	harness_run(&o, row, n, &r);
	assert_fine(r.rc, r.err);
	assert_string_equal(taken.text, want);
	harness_release(&r);
}

static const struct trace_row two[] = {{.prompt_tok = 5, .output_tok = 3},
				       {.prompt_tok = 7, .output_tok = 2}};

/* A request decodes token g + 1 in a context of P + g: so many before it and itself. */
static void test_sequences_by_hand(void **state)
{
	(void)state;
	check_taken("paged", two, 2, "0+5 0+7: 100\n5+1 7+1: 100\n6+1: 100\n");
	check_taken("paged:chunk=4,max_seqs=2", two, 2,
		    "0+4-: 100\n4+1 0+3-: 100\n3+3- 5+1: 100\n6+1 6+1: 100\n7+1: 100\n");
}

/* Prompts of a static batch count as the longest, contexts too, and those that are done go on. */
static void test_held_seats_by_hand(void **state)
{
	(void)state;
	check_taken("static:size=2", two, 2, "0+7 0+7: 100\n7+1 7+1: 100\n8+1 8+1: 100\n");
}

/* What ends it */

static void check_failure(const struct harness_options *o, const char *want)
{
	struct harness_result r;

	harness_run(o, two, 2, &r);
	assert_refused(r.rc, r.err, want);
	assert_i64((int64_t)r.n_samples, 0);
	assert_i64((int64_t)r.n_bins, 0);
	harness_release(&r);
}

/* At a prefill, at the first decode step and at one that goes on, with host time or without. */
static void test_a_failure_ends_it(void **state)
{
	(void)state;
	for (int64_t at = 1; at <= 3; at++)
		for (int host = 0; host < 3; host++) {
			struct harness_options o = harness_default("paged", NULL);
			struct executed *runs = executed_new(fixed_new("step_ns=1000"), 0);
			const struct host_want want = {.host_us = host, .async = host == 2};
			struct executor *x = host_wrap(&runs->x, &want);
			char sentence[64];

			runs->fail_at = at;
			o.executor = x;
			snprintf(sentence, sizeof(sentence), "step %lld: the device is gone",
				 (long long)at);
			check_failure(&o, sentence);
			assert_i64(runs->steps, at);
			executor_free(x);
		}
}

static void test_a_step_that_cannot_be_recorded_ends_it(void **state)
{
	(void)state;
	struct taken taken = {.fail_at = 2};
	struct harness_options o = harness_default("paged", "step_ns=100");

	o.taken = take;
	o.taken_arg = &taken;
	check_failure(&o, "step 2: the disk is full");
	assert_i64(taken.steps, 2);
}

/* Each decode step is a row, also where nothing changes. */
static void test_a_row_a_step(void **state)
{
	(void)state;
	struct harness_options o = harness_default("paged", NULL);
	struct executed *runs = executed_new(fixed_new("step_ns=1000"), 0);
	struct harness_result r;

	o.executor = &runs->x;
	o.steps = true;
	harness_run(&o, two, 2, &r);
	assert_fine(r.rc, r.err);
	assert_i64((int64_t)r.n_steps, 3);
	for (size_t i = 0; i < r.n_steps; i++) {
		assert_i64(r.step[i].steps, 1);
		assert_i64(r.step[i].end_ns, 1000 * ((int64_t)i + 1));
	}
	harness_release(&r);
	executor_free(&runs->x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_as_fixed),
		cmocka_unit_test(test_sequences_by_hand),
		cmocka_unit_test(test_held_seats_by_hand),
		cmocka_unit_test(test_a_failure_ends_it),
		cmocka_unit_test(test_a_step_that_cannot_be_recorded_ends_it),
		cmocka_unit_test(test_a_row_a_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
