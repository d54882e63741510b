/* Steps of a run as they are stored, and `omnibus timeline`: a trace that viewers take as it is. */
#include "tests/run_rows.h"
#include "tests/stored.h"

#include <unistd.h>

enum { TRACKS = 64 };

struct slice {
	double start_us, end_us;
};

/* All slices of a track, in order. */
struct track {
	int64_t pid, tid;
	struct slice *slices;
	size_t n, room;
};

struct trace_events {
	json_t *root;
	struct track tracks[TRACKS];
	size_t n_tracks, n_slices, n_counters, n_starts, n_steps, n_ends, n_names;
	int64_t decode_steps;
};

static double number(json_t *event, const char *name)
{
	json_t *v = json_object_get(event, name);

	if (!v || !json_is_number(v))
		fail_msg("no number '%s' in %s", name, json_dumps(event, 0));
	return json_number_value(v);
}

static struct track *track_of(struct trace_events *t, json_t *event)
{
	int64_t pid = (int64_t)number(event, "pid"), tid = (int64_t)number(event, "tid");

	for (size_t i = 0; i < t->n_tracks; i++) {
		if (t->tracks[i].pid == pid && t->tracks[i].tid == tid)
			return &t->tracks[i];
	}
	assert_true(t->n_tracks < TRACKS);
	t->tracks[t->n_tracks] = (struct track){.pid = pid, .tid = tid};
	return &t->tracks[t->n_tracks++];
}

/* Times are in whole nanoseconds, which a double of microseconds cannot always say. */
static const double CLOSE_US = 0.0005;

/* A slice starts where the one before it on its track has ended: they are side by side. */
static void take_slice(struct trace_events *t, json_t *event)
{
	struct track *k = track_of(t, event);
	double ts = number(event, "ts"), dur = number(event, "dur");
	json_t *steps = json_object_get(json_object_get(event, "args"), "steps");

	assert_true(dur >= 0);
	if (k->n > 0 && ts < k->slices[k->n - 1].end_us - CLOSE_US)
		fail_msg("track %lld: a slice at %.3f before the end at %.3f", (long long)k->tid,
			 ts, k->slices[k->n - 1].end_us);
	if (k->n == k->room) {
		k->room = k->room ? 2 * k->room : 64;
		k->slices = xrealloc(k->slices, k->room * sizeof *k->slices);
	}
	k->slices[k->n++] = (struct slice){ts, ts + dur};
	t->n_slices++;
	t->decode_steps += json_integer_value(steps);
}

/* The end of an arrow lies on a slice that is there. */
static void check_bound(struct trace_events *t, json_t *event)
{
	const struct track *k = track_of(t, event);
	double ts = number(event, "ts");

	for (size_t i = k->n; i-- > 0;) {
		const struct slice *s = &k->slices[i];

		if (s->start_us <= ts + CLOSE_US &&
		    (ts < s->end_us || ts <= s->start_us + CLOSE_US))
			return;
	}
	fail_msg("nothing on track %lld at %.3f: %s", (long long)k->tid, ts, json_dumps(event, 0));
}

static void take_event(struct trace_events *t, json_t *event, double *before_us)
{
	const char *ph = json_string_value(json_object_get(event, "ph"));

	assert_non_null(ph);
	if (*ph == 'M') {
		t->n_names++;
		return;
	}
	if (number(event, "ts") < *before_us)
		fail_msg("back in time: %s", json_dumps(event, 0));
	*before_us = number(event, "ts");
	switch (*ph) {
	case 'X':
		take_slice(t, event);
		break;
	case 'C':
		t->n_counters++;
		break;
	case 's':
		t->n_starts++;
		break;
	case 't':
		t->n_steps++;
		break;
	case 'f':
		assert_string_equal(json_string_value(json_object_get(event, "bp")), "e");
		t->n_ends++;
		break;
	default:
		fail_msg("an event '%s'", ph);
	}
}

/* Parses the whole, and checks what viewers ask of it. */
static struct trace_events read_trace(const char *text)
{
	struct trace_events t = {0};
	json_error_t where;
	double before_us = 0;
	json_t *events, *event;
	size_t i;

	t.root = json_loads(text, 0, &where);
	if (!t.root)
		fail_msg("line %d: %s", where.line, where.text);
	events = json_object_get(t.root, "traceEvents");
	assert_true(json_is_array(events));
	json_array_foreach(events, i, event) take_event(&t, event, &before_us);
	json_array_foreach(events, i, event)
	{
		if (strchr("stf", *json_string_value(json_object_get(event, "ph"))))
			check_bound(&t, event);
	}
	return t;
}

static void release(struct trace_events *t)
{
	for (size_t i = 0; i < t->n_tracks; i++)
		free(t->tracks[i].slices);
	json_decref(t->root);
}

/* A run with steps into a new database. */
static const char *run_steps(const char *name, const char *args)
{
	const char *path = testing_path(name);
	char all[2048];
	struct run_output o;

	unlink(path);
	int n = snprintf(all, sizeof all, "%s --steps --db %s", args, path);

	assert_true(n > 0 && (size_t)n < sizeof all);
	o = run_well(all);
	testing_run_free(&o);
	return path;
}

/*
 * A step takes 10 ms. r0 (10 prompt tokens, 3 output tokens) is prefilled from 0 to 10 ms, decodes
 * from 10 to 30. r1 comes at 15 ms: its prompt is a step of its own from 20 to 30 (paged), after
 * which both decode: r0 its third token, r1 its second, from 30 to 40. In blocks of 16:
 * one for r0, two for r1.
 */
static void test_by_hand(void **state)
{
	const char *trace = testing_file("hand.csv", "arrive_s,prompt_tok,output_tok\n"
						     "0,10,3\n0.015,20,4\n");
	const char *path;
	char args[1024];
	struct run_output o;
	struct trace_events t;

	(void)state;
	snprintf(args, sizeof args, "%s " FAST "-p paged", trace);
	path = run_steps("hand.db", args);
	assert_query(path,
		     "SELECT start_ns / 1000000, end_ns / 1000000, steps, kind, prefill_tok, "
		     "decode_seq, decode_ctx, kv_blocks FROM step",
		     "0|10|1|prefill|10|0|0|1;"
		     "10|20|1|decode|0|1|11|1;"
		     "20|30|1|prefill|20|0|0|3;"
		     "30|40|1|decode|0|2|33|3;"
		     "40|60|2|decode|0|1|22|2");
	o = testing_run("timeline 1 --db %s", path);
	assert_exit(o, 0);
	assert_non_null(strstr(o.err, "5 steps and runs of steps, 2 requests\n"));
	assert_non_null(strstr(o.out, "{\"ph\":\"s\",\"pid\":1,\"tid\":1000,\"ts\":15000.000,"
				      "\"cat\":\"request\",\"name\":\"request\",\"id\":1}"));
	assert_non_null(strstr(o.out, "{\"ph\":\"t\",\"pid\":2,\"tid\":2000,\"ts\":20000.000,"
				      "\"cat\":\"request\",\"name\":\"request\",\"id\":1}"));
	assert_non_null(strstr(o.out, "{\"ph\":\"t\",\"pid\":2,\"tid\":2000,\"ts\":29999.999,"
				      "\"cat\":\"request\",\"name\":\"request\",\"id\":1}"));
	assert_non_null(strstr(o.out,
			       "{\"ph\":\"f\",\"pid\":2,\"tid\":2000,\"ts\":59999.999,"
			       "\"cat\":\"request\",\"name\":\"request\",\"id\":1,\"bp\":\"e\"}"));
	assert_non_null(strstr(o.out, "\"ts\":40000.000,\"dur\":20000.000,\"cat\":\"step\","
				      "\"name\":\"decode\",\"args\":{\"steps\":2,"));
	t = read_trace(o.out);
	assert_i64(t.n_slices, 5 + 2);
	assert_i64(t.n_starts, 2);
	assert_i64(t.n_steps, 4);
	assert_i64(t.n_ends, 2);
	release(&t);
	testing_run_free(&o);
}

/* Every run of a database: as many steps as its row says, each request with all ends of its arrow.
 */
static void check_runs(const char *path, int64_t n_runs, bool all_placed)
{
	char sql[400];

	for (int64_t id = 1; id <= n_runs; id++) {
		struct run_output o = testing_run("timeline %lld --db %s", (long long)id, path);
		struct trace_events t;
		char *want, got[200];

		assert_exit(o, 0);
		t = read_trace(o.out);
		snprintf(
			sql, sizeof sql,
			"SELECT metric.steps, count(*), count(schedule_ns), count(first_token_ns), "
			"count(finish_ns) FROM metric JOIN request USING (run_id) WHERE run_id = "
			"%lld",
			(long long)id);
		want = stored_query(path, sql);
		snprintf(got, sizeof got, "%lld|%zu|%zu|%zu|%zu", (long long)t.decode_steps,
			 t.n_starts, t.n_starts, t.n_steps - t.n_starts, t.n_ends);
		if (all_placed)
			assert_string_equal(got, want);
		else
			assert_non_null(strstr(o.err, "ends of arrows left out"));
		free(want);
		release(&t);
		testing_run_free(&o);
	}
}

static void test_every_policy(void **state)
{
	(void)state;
	check_runs(run_steps("policies.db",
			     "synth:poisson,n=300,rate=20,prompt=300,output=60 " HW
			     "-p static -p static:reply=batch -p continuous -p paged -p vllm-v1 "
			     "-p sarathi -p paged:stream=7 -p disaggregated -p vllm-v1:async=1 "
			     "--kv-tokens 20000"),
		   9, true);
}

static void test_several_instances(void **state)
{
	(void)state;
	check_runs(run_steps("instances.db", "synth:poisson,n=300,rate=40,prompt=300,output=60 " HW
					     "-p paged -p vllm-v1 --instances 3"),
		   2, true);
	check_runs(run_steps("pools.db", "synth:poisson,n=300,rate=40,prompt=300,output=60 " HW
					 "-p disaggregated:prefill=2,decode=3"),
		   1, true);
}

/* Each of several batches has a track of its own, on which steps do not overlap. */
static void test_pipeline(void **state)
{
	const char *path =
		run_steps("pipeline.db", "synth:poisson,n=200,rate=30,prompt=300,output=40 " HW
					 "-p vllm-v1 --pp 4");
	struct run_output o = testing_run("timeline 1 --db %s", path);
	struct trace_events t;

	(void)state;
	assert_exit(o, 0);
	t = read_trace(o.out);
	assert_i64(t.n_tracks, 1 + 4);
	assert_query(path, "SELECT sum(step.steps) = metric.steps FROM step JOIN metric", "1");
	assert_non_null(strstr(o.out, "\"steps of batch 3\""));
	release(&t);
	testing_run_free(&o);
}

/* Two prefill instances do the same at the same time: which of them is not said, nor guessed. */
static void test_what_cannot_be_told(void **state)
{
	const char *trace = testing_file("twins.csv", "arrive_s,prompt_tok,output_tok\n"
						      "0,10,5\n0,10,5\n");
	char args[1024];

	(void)state;
	snprintf(args, sizeof args, "%s -m llama-3-8b " FAST "-p disaggregated:prefill=2", trace);
	check_runs(run_steps("twins.db", args), 1, false);
}

/* The same rows whether runs are taken at once or step by step, also where the horizon cuts them.
 */
static void test_same_rows_step_by_step(void **state)
{
	static const char args[] = "synth:poisson,n=200,rate=20,prompt=300,output=100 " HW
				   "-p static -p continuous -p paged -p vllm-v1 -p disaggregated "
				   "--kv-tokens 8192 --horizon 7.7";
	static const char sql[] = "SELECT * FROM step ORDER BY rowid";
	const char *fast = run_steps("fast.db", args);
	char slow_args[1024], *a = stored_query(fast, sql), *b;

	(void)state;
	snprintf(slow_args, sizeof slow_args, "%s --no-fast-forward", args);
	b = stored_query(run_steps("slow.db", slow_args), sql);
	assert_true(strlen(a) > 10000);
	assert_string_equal(a, b);
	free(a);
	free(b);
	/* what was not over at the horizon is no step yet: at most one an instance */
	assert_query(fast,
		     "SELECT run_id FROM metric WHERE steps - (SELECT sum(steps) FROM step "
		     "WHERE step.run_id = metric.run_id) NOT BETWEEN 0 AND 2",
		     "");
	assert_query(fast, "SELECT max(end_ns) <= 7700000000 FROM step", "1");
}

/* Blocks that are swapped out and in are bytes that the step moved. */
static void test_swaps(void **state)
{
	const char *path =
		run_steps("swap.db", "synth:constant,n=40,rate=100,prompt=200,output=200 " HW
				     "-p paged:preempt=swap --kv-tokens 4096");

	(void)state;
	assert_query(path,
		     "SELECT sum(moved_bytes) > 0, sum(moved_bytes) % (16 * kv_token_bytes) "
		     "FROM step JOIN run ON run.id = run_id",
		     "1|0");
	check_runs(path, 1, true);
}

/* What the run prints and stores beside the steps is the same with them. */
static void test_steps_change_nothing(void **state)
{
	static const char args[] = "synth:poisson,n=200,rate=20,prompt=300,output=100 " HW
				   "-p paged -p vllm-v1 -o csv";
	char with[1024];
	struct run_output a = run_well(args), b;

	(void)state;
	snprintf(with, sizeof with, "%s --steps --db %s", args, testing_path("with.db"));
	b = run_well(with);
	assert_string_equal(a.out, b.out);
	testing_run_free(&a);
	testing_run_free(&b);
}

static void assert_fails(int code, const char *part, const char *args)
{
	struct run_output o = testing_run("%s", args);

	assert_string_equal(o.out, "");
	if (!strstr(o.err, part))
		fail_msg("'%s' lacks '%s'", o.err, part);
	assert_i64(o.code, code);
	testing_run_free(&o);
}

static void test_usage(void **state)
{
	const char *trace = testing_file("one.csv", "arrive_s,prompt_tok,output_tok\n0,10,3\n");
	const char *path = testing_path("usage.db"), *json = testing_path("out.json");
	char args[2048];
	struct run_output o;

	(void)state;
	snprintf(args, sizeof args, "run %s " FAST "-p paged --steps", trace);
	assert_fails(2, "--db FILE is missing", args);
	snprintf(args, sizeof args, "%s " FAST "-p paged --db %s", trace, path);
	o = run_well(args);
	testing_run_free(&o);
	snprintf(args, sizeof args, "timeline 1 --db %s -o %s", path, json);
	assert_fails(1, "run 1 has no steps; only those made with omnibus run --steps have", args);
	assert_i64(access(json, F_OK), -1);
	snprintf(args, sizeof args, "timeline 1 --db %s", path);
	assert_fails(1, "run 1 has no steps", args);
	snprintf(args, sizeof args, "timeline 7 --db %s", path);
	assert_fails(1, "there is no run 7", args);
	snprintf(args, sizeof args, "timeline x --db %s", path);
	assert_fails(2, "the id of a run", args);
	assert_fails(2, "--db FILE is missing", "timeline 1");
	assert_fails(1, "No such file", "timeline 1 --db /no/such.db");
	/* without request rows there are steps all the same */
	snprintf(args, sizeof args, "%s " FAST "-p paged --requests none", trace);
	o = testing_run("timeline 1 --db %s -o %s", run_steps("rows.db", args), json);
	assert_exit(o, 0);
	assert_string_equal(o.out, "");
	assert_non_null(strstr(o.err, "no request is shown"));
	assert_i64(access(json, F_OK), 0);
	testing_run_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_every_policy),
		cmocka_unit_test(test_several_instances),
		cmocka_unit_test(test_pipeline),
		cmocka_unit_test(test_what_cannot_be_told),
		cmocka_unit_test(test_same_rows_step_by_step),
		cmocka_unit_test(test_swaps),
		cmocka_unit_test(test_steps_change_nothing),
		cmocka_unit_test(test_usage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
