/* A policy of one's own does what it says, and one that plans nothing is named. */
#include "tests/schedule.h"
#include "tests/shortest.h"

static void idle_plan(void *state, const struct view *v, struct plan *p)
{
	(void)state;
	(void)v;
	(void)p;
}

static const struct policy_ops policy_idle = {.name = "idle", .plan = idle_plan};

static struct harness_result run_own(const struct policy_ops *ops, const char *params,
				     const struct trace_row *row, size_t n)
{
	struct choice c = {.policy = ops, .state = policy_state_new(ops)};
	struct param_set set = {ops->params, c.state};
	struct harness_options o = harness_default(NULL, "step_ns=10");
	struct harness_result r;
	struct err e;

	snprintf(c.name, sizeof(c.name), "%s", ops->name);
	param_defaults(common_params, &c.common);
	if (params)
		assert_fine(param_parse(&set, 1, ops->name, params, &e), e);
	o.choice = &c;
	harness_run(&o, row, n, &r);
	choice_release(&c);
	return r;
}

/* One seat, two tokens each: 30 starts at 0, and of those that came meanwhile the shortest is next,
 * of equals the first. */
static void test_own_policy(void **state)
{
	static const int64_t prompts[] = {30, 20, 10, 20}, start[] = {0, 40, 20, 60};
	struct trace_row row[4] = {{0}};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		row[i] = (struct trace_row){
			.arrive_ns = i > 0, .prompt_tok = prompts[i], .output_tok = 2};
	struct harness_result r = run_own(&policy_shortest, "max_seqs=1", row, 4);

	assert_fine(r.rc, r.err);
	for (size_t i = 0; i < 4; i++) {
		assert_i64(r.record[i].schedule_ns, start[i]);
		assert_i64(r.record[i].finish_ns, start[i] + 20);
	}
	harness_release(&r);
}

static void test_idle_policy(void **state)
{
	const struct trace_row row[] = {{.prompt_tok = 1, .output_tok = 1},
					{.prompt_tok = 2, .output_tok = 1}};

	(void)state;
	struct harness_result r = run_own(&policy_idle, NULL, row, 2);

	assert_refused(r.rc, r.err, "policy idle plans no step although 2 requests are not done");
	assert_refused(r.rc, r.err, "request 0");
	harness_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_policy),
		cmocka_unit_test(test_idle_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
