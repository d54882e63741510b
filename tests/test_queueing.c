/* Laws of queues with one server, and a real trace through one, exactly. Executor `fixed`. */
#include "results/stats.h"
#include "sim/rng.h"
#include "tests/schedule.h"
#include "traces/trace.h"
#include <gsl/gsl_randist.h>
#include <math.h>

enum { ARRIVALS = 200000 };

/* Poisson arrivals; prompts of 5 tokens with probability `large`, else of 1; one output token. */
struct poisson {
	gsl_rng *gaps, *sizes;
	double rate_ns, t_ns, large;
	int64_t left;
};

static int next_poisson(void *arg, struct trace_row *row, struct err *e)
{
	struct poisson *p = arg;

	(void)e;
	if (p->left-- == 0)
		return 0;
	p->t_ns += gsl_ran_exponential(p->gaps, 1 / p->rate_ns);
	*row = (struct trace_row)ROW(llround(p->t_ns), gsl_rng_uniform(p->sizes) < p->large ? 5 : 1,
				     1);
	return 1;
}

/* The mean wait in ms. */
static double mean_wait_ms(const char *fixed, double rate_rps, double large)
{
	struct poisson p = {.gaps = rng_new(1, "gaps"),
			    .sizes = rng_new(1, "sizes"),
			    .rate_ns = rate_rps / 1e9,
			    .large = large,
			    .left = ARRIVALS};
	struct harness_options o = harness_default("continuous:max_seqs=1", fixed);

	o.next = next_poisson;
	o.next_arg = &p;
	o.histograms = o.no_audit = true;
	struct harness_result r = schedule(&o, NULL, 0);
	double wait_ms = r.summary.queue_mean_s * 1e3;

	assert_i64(r.summary.completed, ARRIVALS);
	harness_release(&r);
	gsl_rng_free(p.gaps);
	gsl_rng_free(p.sizes);
	return wait_ms;
}

/*
 * case 26: M/D/1 with S = 100 ms: W = rho S / (2 (1 - rho)) = 50, 200, 450 ms at .5, .8, .9. Over
 * 200,000 arrivals the standard deviation of the mean is .4, 3.4, 14.8 ms; five of them.
 */
static void test_m_d_1(void **state)
{
	(void)state;
	assert_near(mean_wait_ms("step_ns=1e8", 5, 0), 50, 5 * 0.4);
	assert_near(mean_wait_ms("step_ns=1e8", 8, 0), 200, 5 * 3.4);
	assert_near(mean_wait_ms("step_ns=1e8", 9, 0), 450, 5 * 14.8);
}

/*
 * case 27: M/G/1, 50 ms (80%) and 250 ms (20%), 5 a second: W = lambda E[S^2] / (2 (1 - rho)) =
 * 5 x .0145 / (2 x .55) = 65.909 ms. Over 400 seeds of Lindley's recursion w' = max(0, w + S - gap)
 * the standard deviation of the mean was .66 ms; five of them.
 */
static void test_m_g_1(void **state)
{
	(void)state;
	assert_near(mean_wait_ms("prefill_tok_ns=5e7", 5, 0.2), 65.909, 5 * 0.66);
}

/*
 * case 29: two seats are not two servers. A step of 100 whatever is in it; the second comes at 50:
 * two servers would start it at 50, an engine does at the next boundary.
 */
static void check_two_seats(const struct harness_result *r)
{
	assert_times(r, 0, 0, 100, 100);
	assert_times(r, 1, 100, 200, 200);
	assert_times(r, 2, 100, 200, 200);
}

static void test_two_seats_are_not_two_servers(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 5, 1), ROW(50, 5, 1), ROW(60, 5, 1)};
	static const char *const names[] = {"paged:max_seqs=2", "paged:max_seqs=2,chunk=16",
					    "continuous:max_seqs=2", "static:size=2"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct harness_options o = harness_default(names[i], "step_ns=100");

		both_ways(&o, ROWS(rows), check_two_seats);
	}
}

static int next_of_trace(void *arg, struct trace_row *row, struct err *e)
{
	return trace_next(arg, row, e);
}

/* case 30, all of it from the records: service of a request is 10,000 x in + 500,000 x out ns. */
static void check_azure(const struct harness_result *r)
{
	int64_t sum = 0, largest = 0, zeros = 0, in = 0, out = 0, last = 0;
	int64_t *wait = xcalloc(r->n, sizeof(*wait));

	assert_i64(r->n, 19366);
	for (size_t i = 0; i < r->n; i++) {
		const struct record *q = &r->record[i];

		wait[i] = q->schedule_ns - q->arrive_ns;
		assert_i64(q->finish_ns - q->schedule_ns,
			   10000 * q->prompt_tok + 500000 * q->output_tok);
		sum += wait[i];
		largest = wait[i] > largest ? wait[i] : largest;
		zeros += wait[i] == 0;
		in += q->prompt_tok;
		out += q->output_tok;
		last = q->finish_ns > last ? q->finish_ns : last;
	}
	assert_i64(in, 22361870);
	assert_i64(out, 4088665);
	assert_i64(sum, 3645509157000);
	assert_i64(last - r->record[0].arrive_ns, 3501815407000);
	assert_i64(largest, 2467509000);
	assert_i64(zeros, 6571);
	assert_near(stats_percentile_i64(wait, r->n, 99), 1327267800, 0.01);
	assert_near(r->summary.queue_p99_s, 1.3272678, 1e-12);
	assert_near(r->summary.queue_mean_s * 19366, 3645.509157, 1e-9);
	assert_near(r->summary.makespan_s, 3501.815407, 1e-9);
	free(wait);
}

static void test_azure(void **state)
{
	shared_or_skip(path, "traces/AzureLLMInferenceTrace_conv.csv");
	struct harness_options o =
		harness_default("continuous:max_seqs=1", "step_ns=500000,prefill_tok_ns=10000");
	struct trace_spec spec = {.source = path};
	struct err e;

	(void)state;
	o.max_tokens_rule = MAX_TOKENS_OUTPUT;
	o.next = next_of_trace;
	for (int steps = 0; steps <= 1; steps++) {
		struct trace *t = trace_open(&spec, &e);

		assert_fine(t ? 0 : -1, e);
		o.next_arg = t;
		o.step_by_step = steps;
		o.no_audit = steps;
		struct harness_result r = schedule(&o, NULL, 0);

		check_azure(&r);
		harness_release(&r);
		trace_close(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_m_d_1),
		cmocka_unit_test(test_m_g_1),
		cmocka_unit_test(test_two_seats_are_not_two_servers),
		cmocka_unit_test(test_azure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
