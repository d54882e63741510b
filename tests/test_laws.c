/*
 * Laws that hold for every policy, preset and shape, whatever it decides: over the registry, with
 * random parameters, traces, hardware and executors. Every run is audited: budgets, seats, blocks.
 */
#include "tests/shortest.h"
#include "tests/subjects.h"
#include "tests/testing.h"
#include <math.h>
#include <pthread.h>
#include <string.h>

enum { RUNS = 200 };

/* Policies that are not in the registry: one line each. */
static const struct policy_ops *const own_policies[] = {&policy_shortest, NULL};

/* Everything in the registry, and the policies above. The caller frees the array. */
static struct subject *subjects(size_t *n)
{
	struct subject *all = subjects_all(n);

	for (size_t i = 0; own_policies[i]; i++) {
		all = xrealloc(all, (*n + 1) * sizeof(*all));
		all[(*n)++] = (struct subject){.ops = own_policies[i]};
	}
	return all;
}

/* The laws of one run */

#define LAW(run, cond)                                                                             \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			random_run_print(stderr, run);                                             \
			fail_msg("broken: %s", #cond);                                             \
		}                                                                                  \
	} while (0)

/* injected = completed + rejected + aborted + unfinished, each request once. */
static void check_conservation(const struct random_run *run, const struct harness_result *r)
{
	int64_t by_status[4] = {0};

	for (size_t i = 0; i < r->n_ended; i++)
		by_status[r->ended[i].status]++;
	if (r->rc < 0)
		print_error("%s\n", r->err.text);
	LAW(run, r->rc == 0);
	LAW(run, run->sessions ? r->n >= r->n_ended : r->n == r->n_ended);
	LAW(run, r->summary.requests == (int64_t)r->n_ended);
	LAW(run, r->summary.completed == by_status[RECORD_COMPLETED]);
	LAW(run, r->summary.rejected == by_status[RECORD_REJECTED]);
	LAW(run, r->summary.unfinished == by_status[RECORD_UNFINISHED]);
	LAW(run, r->summary.aborted == by_status[RECORD_ABORTED]);
	LAW(run, r->summary.aborted == 0 || run->options.timeout_ns > 0);
	LAW(run, run->options.horizon_ns >= 0 || r->n == run->n);
	LAW(run, run->options.horizon_ns >= 0 || r->summary.unfinished == 0);
}

static void check_order(const struct random_run *run, const struct record *q)
{
	if (q->status == RECORD_COMPLETED) {
		LAW(run, q->arrive_ns <= q->schedule_ns && q->schedule_ns < q->first_token_ns);
		LAW(run, q->first_token_ns <= q->finish_ns);
		LAW(run, q->max_gap_ns <= (double)(q->finish_ns - q->first_token_ns) + 1);
	} else {
		LAW(run, q->finish_ns == -1);
	}
	if (q->status == RECORD_REJECTED)
		LAW(run, q->schedule_ns == -1 && q->first_token_ns == -1);
	if (q->first_token_ns >= 0)
		LAW(run, q->schedule_ns >= 0 && q->schedule_ns < q->first_token_ns);
	if (run->options.horizon_ns >= 0)
		LAW(run, q->finish_ns <= run->options.horizon_ns);
}

static int by_arrival_then_row(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->arrive_ns != y->arrive_ns)
		return (x->arrive_ns > y->arrive_ns) - (x->arrive_ns < y->arrive_ns);
	return (x->idx > y->idx) - (x->idx < y->idx);
}

/* In sessions rows do not arrive in the order of the trace. The caller frees it. */
static struct record *in_order_of_arrival(const struct harness_result *r)
{
	struct record *all = xcalloc(r->n_ended + 1, sizeof(*all));

	if (r->n_ended > 0)
		memcpy(all, r->ended, r->n_ended * sizeof(*all));
	qsort(all, r->n_ended, sizeof(*all), by_arrival_then_row);
	return all;
}

/* First scheduled in the order of arrival, at each instance; and ends are told in order of time. */
static void check_fcfs(const struct random_run *run, const struct harness_result *r)
{
	int64_t last[AUDIT_INSTANCES] = {0}, end_ns = 0;
	bool none[AUDIT_INSTANCES] = {false};
	bool ranked = run->choice.policy->rank && !strstr(run->choice.params, "order=fcfs");
	bool many = run->choice.disaggregated && run->choice.shape.prefill > 1;

	for (size_t i = 0; i < r->n_ended; i++) {
		int64_t t = r->ended[i].finish_ns;

		LAW(run, t < 0 || t >= end_ns);
		end_ns = t < 0 ? end_ns : t;
	}
	struct record *by_arrival = in_order_of_arrival(r);

	for (size_t i = 0; i < r->n_ended && !ranked && !many; i++) {
		const struct record *q = &by_arrival[i];
		int64_t in = run->choice.disaggregated ? 0 : q->instance;

		if (q->status == RECORD_REJECTED ||
		    (q->status == RECORD_ABORTED && q->schedule_ns < 0))
			continue;
		if (q->schedule_ns < 0) {
			none[in] = true;
			continue;
		}
		LAW(run, !none[in] && q->schedule_ns >= last[in]);
		last[in] = q->schedule_ns;
	}
	free(by_arrival);
}

/* A turn of a session arrives its think time after the end of the one before it. */
static void check_sessions(const struct random_run *run, const struct harness_result *r)
{
	bool closed = run->sessions && !run->options.sessions_open && run->options.closed_loop == 0;

	for (size_t i = 0; i < r->n && closed; i++) {
		size_t before = i;

		while (before-- > 0 && run->row[before].session != run->row[i].session)
			;
		if (run->row[i].session == 0 || before >= r->n || r->record[i].idx < 0) {
			LAW(run, r->record[i].idx < 0 || run->row[i].session > 0 ||
					 r->record[i].arrive_ns == run->row[i].arrive_ns);
			continue;
		}
		const struct record *p = &r->record[before];

		LAW(run, p->idx >= 0 && p->status != RECORD_UNFINISHED);
		if (p->status == RECORD_COMPLETED)
			LAW(run, r->record[i].arrive_ns == p->finish_ns + run->row[i].think_ns);
		if (p->status == RECORD_REJECTED)
			LAW(run, r->record[i].arrive_ns == p->arrive_ns + run->row[i].think_ns);
	}
}

/* Found: whole blocks, never all of a prompt; nothing where nothing is remembered. */
static void check_cached(const struct random_run *run, const struct harness_result *r)
{
	int64_t block = run->options.block_tok, cached = 0, prompt = 0;

	for (size_t i = 0; i < r->n_ended; i++) {
		const struct record *q = &r->ended[i];

		LAW(run, q->cached_tok % block == 0 && q->cached_tok < q->prompt_tok);
		LAW(run, q->schedule_ns >= 0 || q->cached_tok == 0);
		cached += q->cached_tok;
		prompt += q->schedule_ns >= 0 ? q->prompt_tok : 0;
	}
	if (run->options.hash_block == 0) {
		LAW(run, r->summary.cached_tok == FIELD_NULL_INT && cached == 0);
		return;
	}
	LAW(run, r->summary.cached_tok == cached);
	LAW(run, prompt == 0 ? isnan(r->summary.prefix_hit_rate)
			     : r->summary.prefix_hit_rate == (double)cached / (double)prompt);
}

static char *run_text(struct random_run *run, bool step_by_step, struct harness_result *r)
{
	run->options.step_by_step = step_by_step;
	harness_run(&run->options, run->row, run->n, r);
	return harness_text(r);
}

static void same_text(const struct random_run *run, const char *what, const char *a, const char *b)
{
	size_t at = 0, line = 0;

	if (strcmp(a, b) == 0)
		return;
	for (; a[at] == b[at]; at++)
		if (a[at] == '\n')
			line = at + 1;
	random_run_print(stderr, run);
	fail_msg("%s:\n%.300s\nis not\n%.300s", what, a + line, b + line);
}

/* What was in the runs, so that a test of nothing is noticed. */
struct seen {
	int64_t completed, rejected, aborted, unfinished, preemptions, audits, cached_tok;
};

static void check_run(const struct subject *s, uint64_t i, struct seen *seen)
{
	struct random_run run;
	struct harness_result r, again, steps;

	random_run_init(&run, s, i);
	char *text = run_text(&run, false, &r), *text_again = run_text(&run, false, &again);
	char *text_steps = run_text(&run, true, &steps);

	check_conservation(&run, &r);
	for (size_t k = 0; k < r.n; k++)
		if (r.record[k].idx >= 0)
			check_order(&run, &r.record[k]);
	check_fcfs(&run, &r);
	check_sessions(&run, &r);
	check_cached(&run, &r);
	same_text(&run, "the same run again", text, text_again);
	same_text(&run, "fast-forward and step by step", text, text_steps);
	seen->completed += r.summary.completed;
	seen->rejected += r.summary.rejected;
	seen->aborted += r.summary.aborted;
	seen->unfinished += r.summary.unfinished;
	seen->preemptions += r.summary.preemptions;
	seen->audits += r.audit.calls;
	seen->cached_tok += run.options.hash_block > 0 ? r.summary.cached_tok : 0;
	LAW(&run,
	    (r.audit.calls > 0 || r.summary.completed == 0) && steps.audit.calls >= r.audit.calls);
	free(text);
	free(text_again);
	free(text_steps);
	harness_release(&r);
	harness_release(&again);
	harness_release(&steps);
	random_run_release(&run);
}

static void test_laws(void **state)
{
	size_t n;
	struct subject *all = subjects(&n);
	struct seen total = {0};

	(void)state;
	for (size_t k = 0; k < n; k++) {
		struct seen seen = {0};

		for (uint64_t i = 0; i < RUNS; i++)
			check_run(&all[k], i, &seen);
		print_message("%s: %lld completed, %lld rejected, %lld aborted, %lld unfinished, "
			      "%lld preemptions, %lld audits\n",
			      all[k].ops ? all[k].ops->name : all[k].name,
			      (long long)seen.completed, (long long)seen.rejected,
			      (long long)seen.aborted, (long long)seen.unfinished,
			      (long long)seen.preemptions, (long long)seen.audits);
		assert_true(seen.completed > 10 * RUNS && seen.rejected > 0 &&
			    seen.unfinished > 0 && seen.aborted > 0);
		total.preemptions += seen.preemptions;
		total.cached_tok += seen.cached_tok;
	}
	assert_true(total.preemptions > 1000 && total.cached_tok > 10000);
	free(all);
}

/* Little's law */

/* The time integral of the requests that the engine has, taken where it can be looked at. */
struct area {
	const struct random_run *run;
	int64_t t_ns, idx, present;
	int64_t sum; /* request x ns */
};

static void add_area(void *arg, const struct sim *s)
{
	struct area *a = arg;
	size_t n;

	free(job_pool_all(&s->jobs, &n));
	a->sum += a->present * (s->now_ns - a->t_ns);
	for (; a->idx < s->arrived; a->idx++) /* these came meanwhile; ends are looked at at once */
		a->sum += s->now_ns - a->run->row[a->idx].arrive_ns;
	a->present = (int64_t)n;
	a->t_ns = s->now_ns;
}

/* Case 28: over a run that starts and ends empty, sum of (c - a) = integral of the number there. */
static void test_little(void **state)
{
	size_t n;
	struct subject *all = subjects(&n);

	(void)state;
	for (size_t k = 0; k < n; k++) {
		int64_t exact = 0;

		for (uint64_t i = 0; i < RUNS; i++) {
			struct random_run run;
			struct area area = {.run = &run};
			struct harness_result r;
			int64_t sum = 0;

			random_run_init(&run, &all[k], i);
			run.options.horizon_ns = -1;
			run.options.closed_loop = run.options.max_model_len = 0;
			run.options.timeout_ns = 0;
			run.options.sessions_open = true;
			run.options.look = add_area;
			run.options.look_arg = &area;
			harness_run(&run.options, run.row, run.n, &r);
			for (size_t q = 0; q < r.n; q++)
				sum += r.record[q].finish_ns - r.record[q].arrive_ns;
			if (r.summary.rejected == 0) { /* they are never there */
				LAW(&run, area.sum == sum && area.present == 0);
				LAW(&run, fabs(r.summary.e2e_mean_s * (double)r.n * 1e9 -
					       (double)sum) <= 1e-9 * (double)sum);
				exact++;
			}
			harness_release(&r);
			random_run_release(&run);
		}
		assert_true(exact > RUNS / 3);
	}
	free(all);
}

/* Threads */

enum { THREADS = 4 };

struct worker {
	struct random_run run;
	char *text;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct harness_result r;

	w->text = run_text(&w->run, false, &r);
	harness_release(&r);
	return NULL;
}

/* The same run in several threads at once, each with an executor of its own. */
static void test_threads(void **state)
{
	size_t n;
	struct subject *all = subjects(&n);

	(void)state;
	for (size_t k = 0; k < n; k++) {
		for (uint64_t i = 0; i < 20; i++) {
			struct worker w[THREADS];
			pthread_t thread[THREADS];

			for (int t = 0; t < THREADS; t++)
				random_run_init(&w[t].run, &all[k], i);
			for (int t = 1; t < THREADS; t++) /* executors may be shared, too */
				w[t].run.options.executor =
					t % 2 ? w[0].run.executor : w[t].run.executor;
			for (int t = 0; t < THREADS; t++)
				assert_i64(pthread_create(&thread[t], NULL, work, &w[t]), 0);
			for (int t = 0; t < THREADS; t++)
				assert_i64(pthread_join(thread[t], NULL), 0);
			for (int t = 1; t < THREADS; t++)
				same_text(&w[t].run, "another thread", w[0].text, w[t].text);
			for (int t = 0; t < THREADS; t++) {
				free(w[t].text);
				random_run_release(&w[t].run);
			}
		}
	}
	free(all);
}

/* Seeds */

/* Random choices follow the seed: each seed repeats itself, and most of 20 differ from the first.
 */
static void test_seeds(void **state)
{
	struct trace_row row[20] = {{0}};
	struct harness_options o = harness_default("paged:max_seqs=2", "step_ns=1000");
	char *first = NULL;
	int64_t differ = 0;

	(void)state;
	for (size_t i = 0; i < 20; i++)
		row[i] = (struct trace_row){.arrive_ns = 700 * (int64_t)i,
					    .prompt_tok = 5,
					    .output_tok = 4 + (int64_t)i % 3};
	o.instances = 4;
	o.router = "power-of-two";
	for (o.seed = 0; o.seed < 20; o.seed++) {
		char *text[2];

		for (int k = 0; k < 2; k++) {
			struct harness_result r;

			harness_run(&o, row, 20, &r);
			text[k] = harness_text(&r);
			harness_release(&r);
		}
		assert_string_equal(text[0], text[1]);
		if (!first)
			first = xstrdup(text[0]);
		differ += strcmp(first, text[0]) != 0;
		free(text[0]);
		free(text[1]);
	}
	assert_true(differ > 10);
	free(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_laws),
		cmocka_unit_test(test_little),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_seeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
