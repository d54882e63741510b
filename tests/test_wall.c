/*
 * Simulations in real time, by a clock that the tests turn: steps take what they take, arrivals are
 * waited for, and the scheduler's own time is part of the step that it delays.
 */
#include "tests/executed.h"
#include "tests/stored.h"
#include "tests/subjects.h"
#include "tests/testing.h"
#include <string.h>

enum { RUNS = 40 };

static const int64_t START_NS = 123456789012; /* when the clock is looked at first */

/* Looking at it costs look_ns; a sleep ends late_ns after its time. */
struct turned {
	int64_t now_ns, look_ns, late_ns, sleeps;
	char slept[256]; /* until when, ns from START_NS */
};

static int64_t now(void *arg)
{
	struct turned *c = arg;

	c->now_ns += c->look_ns;
	return c->now_ns;
}

static void sleep_until(void *arg, int64_t t_ns)
{
	struct turned *c = arg;
	size_t at = strlen(c->slept);

	assert_true(t_ns > c->now_ns);
	c->sleeps++;
	snprintf(c->slept + at, sizeof(c->slept) - at, "%s%lld", at ? " " : "",
		 (long long)(t_ns - START_NS));
	c->now_ns = t_ns + c->late_ns;
}

static struct executed *fixed_on(struct turned *c, const char *text, int64_t window_tok)
{
	char canon[256];
	struct err e;
	struct executor *x = executor_fixed_new(text, canon, sizeof(canon), &e);

	assert_fine(x ? 0 : -1, e);
	struct executed *runs = executed_new(x, window_tok);

	if (c)
		runs->clock_ns = &c->now_ns;
	return runs;
}

static char *text_of(struct random_run *run, struct turned *c)
{
	struct executed *runs = fixed_on(c, "step_ns=700,prefill_tok_ns=3,decode_seq_ns=11",
					 run->options.window_tok);
	const struct wall wall = {now, sleep_until, c};
	struct harness_result r;

	run->options.executor = &runs->x;
	run->options.wall = c ? &wall : NULL;
	harness_run(&run->options, run->row, run->n, &r);
	assert_fine(r.rc, r.err);
	char *text = harness_text(&r);

	harness_release(&r);
	executor_free(&runs->x);
	return text;
}

static bool may_be_real(const struct choice *c)
{
	return !c->disaggregated && !c->common.async &&
	       !param_chooses(c->policy->params, c->state, "preempt", "swap");
}

/* A clock that nothing but steps and sleeps moves gives what simulated time gives. */
static void test_the_same_as_simulated(void **state)
{
	size_t n;
	struct subject *all = subjects_all(&n);
	int64_t sleeps = 0;

	(void)state;
	for (size_t k = 0; k < n; k++)
		for (uint64_t i = 0; i < RUNS; i++) {
			struct random_run run;
			struct turned c = {.now_ns = START_NS};

			random_run_init(&run, &all[k], i);
			run.options.instances = run.options.pp = 1;
			if (may_be_real(&run.choice)) {
				char *want = text_of(&run, NULL), *got = text_of(&run, &c);

				assert_string_equal(got, want);
				sleeps += c.sleeps;
				free(want);
				free(got);
			}
			random_run_release(&run);
		}
	assert_true(sleeps > 1000);
	free(all);
}

/* By hand */

static void run_by_hand(struct turned *c, int64_t horizon_ns, const struct trace_row *row, size_t n,
			struct harness_result *r)
{
	struct harness_options o = harness_default("paged", NULL);
	struct executed *runs = fixed_on(c, "step_ns=100", 0);
	const struct wall wall = {now, sleep_until, c};

	o.executor = &runs->x;
	o.wall = &wall;
	o.horizon_ns = horizon_ns;
	o.steps = true;
	harness_run(&o, row, n, r);
	assert_fine(r->rc, r->err);
	executor_free(&runs->x);
}

static void assert_steps(const struct harness_result *r, const char *want)
{
	char text[512] = "";

	for (size_t i = 0; i < r->n_steps; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%lld-%lld",
			 i ? " " : "", (long long)r->step[i].start_ns,
			 (long long)r->step[i].end_ns);
	assert_string_equal(text, want);
}

/*
 * Two tokens of a request at 0, one of a request at 150, in the second step, two of one at 1000.
 * Nothing is waited for while there is work.
 */
static const struct trace_row three[] = {{.prompt_tok = 5, .output_tok = 2},
					 {.arrive_ns = 150, .prompt_tok = 5, .output_tok = 1},
					 {.arrive_ns = 1000, .prompt_tok = 5, .output_tok = 2}};

static void test_arrivals_are_waited_for(void **state)
{
	(void)state;
	struct turned c = {.now_ns = START_NS};
	struct harness_result r;

	run_by_hand(&c, -1, three, 3, &r);
	assert_steps(&r, "0-100 100-200 200-300 1000-1100 1100-1200");
	assert_string_equal(c.slept, "1000");
	harness_release(&r);
}

/* The first one too, where a trace does not begin with it. */
static void test_the_first_arrival_is_waited_for(void **state)
{
	(void)state;
	struct turned c = {.now_ns = START_NS, .late_ns = 7};
	const struct trace_row one = {.arrive_ns = 500, .prompt_tok = 5, .output_tok = 1};
	struct harness_result r;

	run_by_hand(&c, -1, &one, 1, &r);
	assert_steps(&r, "500-607");
	assert_string_equal(c.slept, "500");
	harness_release(&r);
}

/* A sleep that ends 30 ns late: the request was there at 1000, its step ends at 1130. */
static void test_what_comes_late_is_late(void **state)
{
	(void)state;
	struct turned c = {.now_ns = START_NS, .late_ns = 30};
	struct harness_result r;

	run_by_hand(&c, -1, three, 3, &r);
	assert_steps(&r, "0-100 100-200 200-300 1000-1130 1130-1230");
	assert_i64(r.record[2].schedule_ns, 1000);
	assert_i64(r.record[2].first_token_ns, 1130);
	harness_release(&r);
}

/*
 * Looking at the clock takes 1 ns, which happens before and after a step. What happens between
 * steps is in the step that it delays.
 */
static void test_the_time_between_steps_is_real(void **state)
{
	(void)state;
	struct turned c = {.now_ns = START_NS, .look_ns = 1};
	const struct trace_row one = {.prompt_tok = 5, .output_tok = 3};
	struct harness_result r;

	run_by_hand(&c, -1, &one, 1, &r);
	assert_i64((int64_t)r.n_steps, 3);
	assert_i64(r.step[0].start_ns, 0);
	for (size_t i = 0; i < 3; i++) {
		int64_t ns = r.step[i].end_ns - r.step[i].start_ns;

		assert_true(ns > 100 && ns < 110);
		assert_i64(r.step[i].start_ns, i > 0 ? r.step[i - 1].end_ns : 0);
	}
	assert_i64(r.record[0].finish_ns, r.step[2].end_ns);
	harness_release(&r);
}

/* What comes after it is not waited for; the step that it cuts off was run all the same. */
static void test_horizon(void **state)
{
	(void)state;
	struct turned c = {.now_ns = START_NS};
	struct harness_result r;

	run_by_hand(&c, 250, three, 3, &r);
	assert_string_equal(c.slept, "");
	assert_i64(c.now_ns, START_NS + 300);
	assert_i64(r.summary.completed, 1);
	assert_i64(r.summary.unfinished, 1);
	harness_release(&r);
}

/* One after the other, each as the one before has ended. */
static void test_closed_loop(void **state)
{
	(void)state;
	struct turned c = {.now_ns = START_NS};
	struct executed *runs = fixed_on(&c, "step_ns=100", 0);
	const struct wall wall = {now, sleep_until, &c};
	struct harness_options o = harness_default("paged", NULL);
	struct harness_result r;

	o.executor = &runs->x;
	o.wall = &wall;
	o.closed_loop = 1;
	harness_run(&o, three, 3, &r);
	assert_fine(r.rc, r.err);
	assert_i64(r.record[1].arrive_ns, 200);
	assert_i64(r.record[2].arrive_ns, 300);
	assert_i64(r.record[2].finish_ns, 500);
	assert_i64(c.sleeps, 0);
	assert_i64(c.now_ns, START_NS + 500);
	harness_release(&r);
	executor_free(&runs->x);
}

/* The clock of the machine: it does not fall, and what has passed is not waited for. */
static void test_monotonic(void **state)
{
	(void)state;
	int64_t before = wall_monotonic.now(NULL);

	wall_monotonic.sleep_until(NULL, before - 1000000000);
	wall_monotonic.sleep_until(NULL, before + 1000);
	assert_true(wall_monotonic.now(NULL) >= before + 1000);
}

/* The program */

static void test_what_cannot_be_real(void **state)
{
	static const struct {
		const char *args, *want;
	} bad[] = {
		{"-p paged -d h200",
		 "--clock wall needs steps that are run: -x cpu or -x cuda, not "
		 "predict"},
		{"-p paged -x fixed:step_ns=1e6", "not fixed"},
		{"-p paged -x cpu --instances 2", "2 instances would need as many devices"},
		{"-p disaggregated:bandwidth=50 -x cpu", "there is one device"},
		{"-p paged:preempt=swap -x cpu", "preempt=swap moves KV that is not there"},
		{"-p paged:async=1 -x cpu", "async=1 plans beside a step"},
		{"-p paged:host_us=5 -x cpu", "the scheduler takes its real time"},
		{"-p paged -x cpu --pp 2", "paged: cpu takes whole steps"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct run_output o = testing_run("run synth:azure-conv,n=3 -m llama-3-8b "
						  "--clock wall %s",
						  bad[i].args);

		assert_exit(o, 2);
		assert_non_null(strstr(o.err, bad[i].want));
		assert_string_equal(o.out, "");
		testing_run_free(&o);
	}
	struct run_output o = testing_run("run synth:azure-conv,n=3 -x cpu -p paged");

	assert_exit(o, 2);
	assert_non_null(strstr(o.err, "executor cpu runs the layers of a model: -m MODEL"));
	testing_run_free(&o);
	o = testing_run("run synth:azure-conv,n=3 -m llama-3-8b -d h200 -p paged --clock real");
	assert_exit(o, 2);
	assert_non_null(strstr(o.err, "--clock 'real' is neither sim nor wall"));
	testing_run_free(&o);
}

/* A model that a step takes a millisecond of, in real time: what is stored says so. */
static void test_a_real_run(void **state)
{
	(void)state;
	const char *trace = testing_file("real.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n"
						     "2024-01-01 00:00:00.00,6,3\n"
						     "2024-01-01 00:00:00.02,4,2\n");
	const char *model = testing_file(
		"little.json",
		"{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 1, "
		"\"num_attention_heads\": 2, \"num_key_value_heads\": 1, "
		"\"intermediate_size\": 128, \"vocab_size\": 256, "
		"\"max_position_embeddings\": 128, \"torch_dtype\": \"float32\"}");
	const char *db = testing_path("real.db"), *rec = testing_path("real.rec");
	struct run_output o = testing_run("run %s -p paged:max_seqs=4,chunk=8 -m %s -x cpu "
					  "--kv-tokens 256 --clock wall -o csv --db %s --record %s",
					  trace, model, db, rec);

	assert_exit(o, 0);
	assert_query(db,
		     "SELECT clock, executor, times, completed, device <> '', finish_ns > 20000000 "
		     "FROM run JOIN metric ON run_id = id JOIN request USING (run_id) "
		     "WHERE idx = 1",
		     "wall|cpu|measured|2|1|1");
	/* the same again, in no time: the steps took what they took */
	struct run_output again = testing_run("run %s -p paged:max_seqs=4,chunk=8 -m %s -o csv "
					      "-x replay:%s",
					      trace, model, rec);

	assert_exit(again, 0);
	assert_string_equal(again.out, o.out);
	testing_run_free(&o);
	testing_run_free(&again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_as_simulated),
		cmocka_unit_test(test_arrivals_are_waited_for),
		cmocka_unit_test(test_the_first_arrival_is_waited_for),
		cmocka_unit_test(test_what_comes_late_is_late),
		cmocka_unit_test(test_the_time_between_steps_is_real),
		cmocka_unit_test(test_horizon),
		cmocka_unit_test(test_closed_loop),
		cmocka_unit_test(test_monotonic),
		cmocka_unit_test(test_what_cannot_be_real),
		cmocka_unit_test(test_a_real_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
