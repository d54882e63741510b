/* cmd_run.c: the cross product of policies and rates, run on threads, printed and stored in order.
 * What can be refused before a run starts is refused before the first. Only a row that a run comes
 * to can be found bad later: the runs done before that one stay, printed and stored.
 */
#include "sim/replay.h"
#include "sim/utf8.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct sweep {
	struct replay *replays;
	size_t n;
	atomic_size_t next;
	bool stop; /* under the lock: start no more of them */
	bool *done;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

static void *work(void *arg)
{
	struct sweep *b = arg;

	for (size_t i; (i = atomic_fetch_add(&b->next, 1)) < b->n;) {
		pthread_mutex_lock(&b->lock);
		bool stop = b->stop;

		pthread_mutex_unlock(&b->lock);
		if (!stop)
			replay_run(&b->replays[i]);
		pthread_mutex_lock(&b->lock);
		b->done[i] = true;
		pthread_cond_broadcast(&b->changed);
		pthread_mutex_unlock(&b->lock);
	}
	return NULL;
}

/* One line: percent, simulated time, requests a second, time to go. */
static void show_progress(const struct sweep *b, double since_s, bool *shown)
{
	double fraction = 0;
	int64_t ended = 0, now_ns = 0;

	for (size_t i = 0; i < b->n; i++) {
		int64_t t = atomic_load(&b->replays[i].now_ns);

		fraction += (b->done[i] ? 1 : atomic_load(&b->replays[i].fraction)) / (double)b->n;
		ended += atomic_load(&b->replays[i].ended);
		now_ns = t > now_ns ? t : now_ns;
	}
	fprintf(stderr, "\r%5.1f%%  simulated %.0f s  %.3g requests/s  ETA %.0f s   ",
		100 * fraction, (double)now_ns / 1e9, (double)ended / since_s,
		fraction > 0 ? since_s * (1 - fraction) / fraction : 0);
	fflush(stderr);
	*shown = true;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Waits until run i is done, and shows progress meanwhile where stderr is a terminal. */
static void wait_for(struct sweep *b, size_t i, double start_s, bool *shown)
{
	pthread_mutex_lock(&b->lock);
	while (!b->done[i]) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 250000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&b->changed, &b->lock, &until);
		if (b->replays[i].show_progress && now_s() > start_s + 0.5)
			show_progress(b, now_s() - start_s, shown);
	}
	pthread_mutex_unlock(&b->lock);
}

static void clear_progress(bool *shown)
{
	if (*shown)
		fprintf(stderr, "\r%70s\r", "");
	*shown = false;
}

static void print_count(const char *run, const char *what, int64_t n)
{
	if (n > 0)
		fprintf(stderr, "omnibus run: %s%" PRId64 " %s\n", run, n, what);
}

/* What was selected, so that a wrong unit is seen at once; and whatever was left out. */
static void describe_trace(const struct replay *r)
{
	const struct trace_counts *t = &r->trace;
	double span_s = (double)(t->last_ns - t->first_ns) / 1e9;

	char name[sizeof(r->info.trace)];

	memcpy(name, r->info.trace, sizeof(name));
	utf8_clean(name);
	fprintf(stderr, "omnibus run: %s: %" PRId64 " rows over %.6g s", name, t->rows, span_s);
	if (t->rows > 1 && span_s > 0)
		fprintf(stderr, ", %.4g a second", (double)(t->rows - 1) / span_s);
	fputs(r->options->n_rates > 1 ? ", at the first --rate\n" : "\n", stderr);
	print_count("", "rows without output tokens skipped", t->skipped_zero);
	print_count("", "rows without output tokens given one", t->clamped_zero);
	print_count("", "rows without prompt tokens skipped", t->skipped_zero_prompt);
	print_count("", "times the clock of the trace began anew", t->restarts);
	print_count("", "rows have hash ids of no fixed length, which are left out",
		    t->unusable_ids);
	print_count("", "rows follow a chat that is not in the trace before them",
		    t->unknown_parents);
	if (!r->options->sessions_open)
		print_count("", "turns were recorded before the one before them had ended",
			    t->overlapping);
	print_count("", "rows left out by --skip and --window", t->left_out);
	print_count("",
		    "requests longer than the model's context, which --max-model-len could refuse",
		    r->counts.beyond_context);
	print_count("", "requests longer than --max-model-len had their output cut",
		    r->counts.too_long_truncated);
	print_count(
		"",
		"rows have more output than their limit of output tokens, which is raised to it",
		r->counts.raised_max_tok);
}

/* How large a real pool is, where nobody said so. */
static void describe_pool(const struct replay *r, const char *name)
{
	const struct run_options *o = r->options;

	if (executor_kinds[o->executor].measures && !isnan(r->info.utilization))
		fprintf(stderr,
			"omnibus run: %sthe KV pool has %" PRId64 " tokens, what %s leaves "
			"beside the weights; --kv-tokens N makes another\n",
			name, r->info.kv_blocks * r->info.block_tok, o->device.name);
}

/* What one run turned away. */
static void describe_run(const struct replay *r, size_t n_runs)
{
	char name[96] = "";

	if (n_runs > 1)
		snprintf(name, sizeof(name), "run %" PRId64 " (%s): ", r->summary.run_id,
			 r->summary.policy);
	describe_pool(r, name);
	print_count(name, "requests longer than --max-model-len rejected",
		    r->counts.too_long_rejected);
	print_count(name, "requests rejected because the whole KV pool could not hold one of them",
		    r->summary.rejected - r->counts.too_long_rejected - r->counts.queue_full);
	print_count(name, "requests rejected because the queue was full (--queue-limit)",
		    r->counts.queue_full);
	print_count(name, "requests aborted because they were not done in time (--timeout)",
		    r->summary.aborted);
	if (r->counts.outside)
		fprintf(stderr,
			"omnibus run: %sthe sizes of some steps are beyond what was measured: "
			"their times are extrapolated\n",
			name);
	if (choice_remembers(r->choice) && r->counts.with_ids == 0)
		fprintf(stderr,
			"omnibus run: %sno request has hash ids: nothing is found in the prefix "
			"cache\n",
			name);
}

/* Takes the runs in order: commits, counts, and stops at the first that failed. */
static int collect(struct sweep *b, size_t *n_good, struct err *e)
{
	double start_s = now_s();
	bool shown = false;
	int result = 0;

	for (size_t i = 0; i < b->n && result == 0; i++) {
		struct replay *r = &b->replays[i];

		wait_for(b, i, start_s, &shown);
		if (r->result < 0) {
			*e = r->err;
			result = -1;
		} else {
			result = replay_commit(r, e);
		}
		if (result < 0)
			break;
		if (!r->options->db)
			r->summary.run_id = (int64_t)i + 1;
		*n_good = i + 1;
	}
	clear_progress(&shown);
	pthread_mutex_lock(&b->lock);
	b->stop = result < 0;
	pthread_mutex_unlock(&b->lock);
	return result;
}

static int run_all(struct sweep *b, int64_t jobs, size_t *n_good, struct err *e)
{
	size_t n_threads = (size_t)jobs < b->n ? (size_t)jobs : b->n, started = 0;
	pthread_t *threads = xcalloc(n_threads, sizeof(*threads));
	int result = -1;

	while (started < n_threads && pthread_create(&threads[started], NULL, work, b) == 0)
		started++;
	if (started == 0)
		err_set(e, "no thread can be started");
	else
		result = collect(b, n_good, e);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return result;
}

static int print(const struct run_options *o, const struct sweep *b, size_t n, struct err *e)
{
	const void **rows = xcalloc(n + 1, sizeof(*rows));
	int result = 0;

	for (size_t i = 0; i < n; i++)
		rows[i] = &b->replays[i].summary;
	if (n > 0 &&
	    (fields_print(stdout, o->format, summary_fields, rows, n) < 0 || fflush(stdout) != 0))
		result = err_set(e, "cannot write to the standard output: %s", strerror(errno));
	free(rows);
	return result;
}

static int run(struct run_options *o, struct err *e)
{
	struct sweep b = {.n = o->n_choices * o->n_rates,
			  .lock = PTHREAD_MUTEX_INITIALIZER,
			  .changed = PTHREAD_COND_INITIALIZER};
	size_t n_good = 0;

	for (size_t i = 0; i < o->n_choices; i++)
		if (replay_check(o, &o->choices[i], e) < 0)
			return -1;
	if (b.n > 1 && replay_check_trace(o, e) < 0)
		return -1;
	b.replays = xcalloc(b.n, sizeof(*b.replays));
	b.done = xcalloc(b.n, sizeof(*b.done));
	for (size_t i = 0; i < b.n; i++) {
		b.replays[i].options = o;
		b.replays[i].choice = &o->choices[i / o->n_rates];
		b.replays[i].rate = o->rates[i % o->n_rates];
		b.replays[i].show_progress = isatty(STDERR_FILENO);
	}
	int result = run_all(&b, o->jobs, &n_good, e);

	if (n_good > 0)
		describe_trace(&b.replays[0]);
	for (size_t i = 0; i < n_good; i++)
		describe_run(&b.replays[i], b.n);
	struct err print_err;

	if (print(o, &b, n_good, &print_err) < 0 && result == 0) {
		*e = print_err;
		result = -1;
	}
	for (size_t i = 0; i < b.n; i++)
		replay_release(&b.replays[i]);
	free(b.replays);
	free(b.done);
	return result;
}

int cmd_run(int argc, char **argv)
{
	struct run_options o;
	struct err e;
	int code = 0, go = run_options_parse(&o, argc, argv, &e);

	if (go < 0)
		code = o.input_failed ? EXIT_FAILED : EXIT_USAGE;
	else if (go > 0 && run(&o, &e) < 0)
		code = EXIT_FAILED;
	if (code != 0)
		fprintf(stderr, "omnibus run: %s\n", e.text);
	run_options_release(&o);
	return code;
}
