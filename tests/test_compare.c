/* `omnibus compare`, as people call it. */
#include "results/db.h"
#include "tests/stored.h"

#include "results/stats.h"
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void store_named(const char *path, const char *policy, int64_t kv_blocks)
{
	struct run_info info;
	struct summary sum;
	struct err e;
	struct store *s = store_open(path, &e);

	assert_non_null(s);
	fields_clear(run_info_fields, &info);
	fields_clear(summary_fields, &sum);
	snprintf(sum.policy, sizeof sum.policy, "%s", policy);
	snprintf(sum.params, sizeof sum.params, "a=1,b=2");
	snprintf(sum.times, sizeof sum.times, "fixed");
	sum.completed = 3;
	sum.ttft_p50_s = 0.125;
	info.kv_blocks = kv_blocks;
	info.seed = 1;
	assert_fine(store_commit(s, &info, &sum, "", 0, &e), e);
	store_close(s);
}

static const char *two_runs(const char *name)
{
	const char *path = testing_path(name);

	store_named(path, "static", 10);
	store_named(path, "paged", 20);
	return path;
}

static void assert_run(struct run_output o, int code, const char *out, const char *err)
{
	assert_string_equal(o.out, out);
	if (!strstr(o.err, err))
		fail_msg("'%s' lacks '%s'", o.err, err);
	assert_i64(o.code, code);
	testing_run_free(&o);
}

static void test_csv(void **state)
{
	const char *path = two_runs("csv.db");
	struct run_output o = testing_run("compare --db %s -o csv", path);
	const char *line;

	(void)state;
	assert_i64(o.code, 0);
	assert_string_equal(o.err, "");
	assert_memory_equal(o.out, "run_id,policy,params,times,model,", 33);
	line = strchr(o.out, '\n') + 1;
	assert_memory_equal(line, "1,static,\"a=1,b=2\",fixed,,,,3,,,,", 33);
	line = strchr(line, '\n') + 1;
	assert_memory_equal(line, "2,paged,\"a=1,b=2\",fixed,,,,3,,,,", 32);
	assert_string_equal(strchr(line, '\n'), "\n");
	testing_run_free(&o);
}

/* In the order asked for, the same again if asked for. */
static void test_chosen_runs(void **state)
{
	const char *path = two_runs("chosen.db");
	struct run_output o = testing_run("compare 2 --db %s 1 2 -o jsonl", path);
	const char *line = o.out;

	(void)state;
	assert_i64(o.code, 0);
	for (int i = 0; i < 3; i++) {
		char want[32];

		snprintf(want, sizeof want, "{\"run_id\":%d,\"policy\":", i == 1 ? 1 : 2);
		assert_memory_equal(line, want, strlen(want));
		line = strchr(line, '\n') + 1;
	}
	assert_string_equal(line, "");
	testing_run_free(&o);
}

static void test_md_shows_what_differs(void **state)
{
	const char *path = two_runs("md.db");
	struct run_output o = testing_run("compare --db %s", path);
	const char *differ = strstr(o.out, "\nSettings that differ:\n\n");

	(void)state;
	assert_i64(o.code, 0);
	assert_memory_equal(o.out, "| run | policy ", 15);
	assert_non_null(differ);
	/* not the seed, which is the same, nor the policy, which the table has */
	assert_string_equal(differ, "\nSettings that differ:\n\n"
				    "| run | kv_blocks |\n"
				    "| --: | --------: |\n"
				    "|   1 |        10 |\n"
				    "|   2 |        20 |\n");
	testing_run_free(&o);
	o = testing_run("compare --db %s 1", path);
	assert_i64(o.code, 0);
	assert_null(strstr(o.out, "differ"));
	testing_run_free(&o);
}

/* What was found in a run is no setting: two that differ in nothing else do not differ. */
static void test_findings_are_no_settings(void **state)
{
	const char *path = testing_path("found.db");
	struct run_output o;

	(void)state;
	for (int64_t i = 0; i < 2; i++) {
		struct run_info info;
		struct summary sum;
		struct err e;
		struct store *s = store_open(path, &e);

		fields_clear(summary_fields, &sum);
		fields_clear(run_info_fields, &info);
		info.skipped_zero = info.clamped_zero = info.skipped_zero_prompt = i;
		info.left_out = info.trace_rows = info.session_count = i;
		info.overlapping_turns = info.unknown_parents = i;
		info.too_long_rejected = info.too_long_truncated = info.queue_full = i;
		assert_fine(store_commit(s, &info, &sum, "", 0, &e), e);
		store_close(s);
	}
	o = testing_run("compare --db %s", path);
	assert_i64(o.code, 0);
	assert_null(strstr(o.out, "differ"));
	testing_run_free(&o);
}

static void test_unknown_runs(void **state)
{
	const char *path = two_runs("unknown.db");

	(void)state;
	assert_run(testing_run("compare --db %s 1 7", path), 1, "",
		   "there is no run 7; it holds 2 of them, ids 1 to 2");
	assert_run(testing_run("compare --db %s 0", path), 2, "", "run");
	assert_run(testing_run("compare --db %s one", path), 2, "", "one");
}

static void test_wrong_usage(void **state)
{
	const char *path = two_runs("usage.db");

	(void)state;
	assert_run(testing_run("compare"), 2, "", "--db FILE is missing");
	assert_run(testing_run("compare --db %s -o cvs", path), 2, "", "csv");
	assert_run(testing_run("compare --db %s --otput csv", path), 2, "", "--output");
	assert_run(testing_run("compare --db"), 2, "", "--db");
}

/* Neither creates nor changes a file, nor leaves one beside it. */
static void test_reads_only(void **state)
{
	const char *missing = testing_path("missing.db");
	const char *empty = testing_file("empty.db", "");
	const char *text = testing_file("notes.txt", "not a database\n");
	const char *path = two_runs("same.db"), *copy = testing_path("copy.db");
	const char *log = testing_path("same.db-wal"), *no_runs = testing_path("no-runs.db");
	char command[1200];
	struct stat st;
	struct err e;

	(void)state;
	assert_run(testing_run("compare --db %s", missing), 1, "", "No such file");
	assert_i64(access(missing, F_OK), -1);
	assert_run(testing_run("compare --db %s", empty), 1, "", "it holds no run yet");
	assert_i64(stat(empty, &st), 0);
	assert_i64(st.st_size, 0);
	assert_run(testing_run("compare --db %s", text), 1, "", "not a SQLite database");
	sqlite3_close(db_create(no_runs, &e));
	assert_run(testing_run("compare --db %s", no_runs), 1, "", "it holds no run yet");
	snprintf(command, sizeof command, "cp '%s' '%s'", path, copy);
	assert_i64(system(command), 0);
	assert_i64(access(log, F_OK), -1);
	for (int i = 0; i < 2; i++) {
		struct run_output o = testing_run("compare --db %s", path);

		assert_i64(o.code, 0);
		testing_run_free(&o);
	}
	snprintf(command, sizeof command, "cmp '%s' '%s'", path, copy);
	assert_i64(system(command), 0);
	assert_i64(access(log, F_OK), -1);
}

/* A percentile of the rows of a run, in integer ns, beside the one of its summary. */
static void assert_percentile(const char *path, const struct summary *sum, const char *ns, int p,
			      double want_s)
{
	char sql[300], *text, *at;
	int64_t values[1000];
	size_t n = 0;

	snprintf(sql, sizeof sql,
		 "SELECT %s FROM request WHERE run_id = %lld AND status = 'completed'", ns,
		 (long long)sum->run_id);
	at = text = stored_query(path, sql);
	while (*at && n < 1000) {
		values[n++] = strtoll(at, &at, 10);
		at += *at == ';';
	}
	free(text);
	assert_i64(n, sum->completed);
	assert_near(want_s, stats_percentile_i64(values, n, p) / 1e9, 1e-12 * fabs(want_s));
}

/* What the summary says can be computed again from the rows. */
static void test_rows_agree_with_the_summary(void **state)
{
	const char *path = testing_path("agree.db");
	struct run_output o =
		testing_run("run synth:azure-conv,n=400,seed=3 --rate 4 "
			    "-p static:size=8 -p continuous -p paged:max_seqs=4 "
			    "-p disaggregated -m llama-3-8b -x fixed:step_ns=2000000,"
			    "prefill_tok_ns=100000,decode_seq_ns=10000,ctx_tok_ns=1 "
			    "--kv-blocks 400 --max-tokens output --slo ttft=0.5,tpot=0.004 --db %s",
			    path);
	struct stored_run *runs;
	size_t n;
	struct err e;

	(void)state;
	assert_string_equal(o.code ? o.err : "", "");
	testing_run_free(&o);
	assert_fine(store_read(path, NULL, 0, &runs, &n, &e), e);
	assert_i64(n, 4);
	for (size_t i = 0; i < n; i++) {
		const struct summary *s = &runs[i].summary;

		assert_true(s->completed > 100 && s->attainment > 0 && s->attainment < 1);
		assert_percentile(path, s, "first_token_ns - arrive_ns", 50, s->ttft_p50_s);
		assert_percentile(path, s, "first_token_ns - arrive_ns", 99, s->ttft_p99_s);
		assert_percentile(path, s, "finish_ns - arrive_ns", 99, s->e2e_p99_s);
		assert_percentile(path, s, "schedule_ns - arrive_ns", 99, s->queue_p99_s);
	}
	free(runs);
	assert_query(path,
		     "SELECT count(*) FROM summary JOIN slo USING (run_id) WHERE "
		     "slo.requests = summary.requests AND slo.attainment = summary.attainment "
		     "AND abs(goodput_rps * makespan_s - good) < 1e-6",
		     "4");
	assert_query(
		path,
		"SELECT count(*) FROM summary s JOIN (SELECT run_id, avg(ttft_s) AS ttft, "
		"avg(tpot_s) AS tpot, avg(e2e_s) AS e2e, avg(queue_s) AS queue, "
		"avg(e2e_s / output_tok) AS norm, sum(preemptions) AS n, max(max_gap_s) AS gap "
		"FROM request_latency WHERE status = 'completed' GROUP BY run_id) r "
		"USING (run_id) WHERE abs(ttft / ttft_mean_s - 1) < 1e-12 "
		"AND abs(tpot / tpot_mean_s - 1) < 1e-12 AND abs(e2e / e2e_mean_s - 1) < 1e-12 "
		"AND abs(queue - queue_mean_s) < 1e-12 AND n = s.preemptions "
		"AND abs(norm / norm_latency_mean_s - 1) < 1e-12",
		"4");
	/* every gap is in the histogram */
	assert_query(
		path,
		"SELECT count(*) FROM (SELECT run_id, sum(output_tok - 1) AS gaps FROM request "
		"WHERE status = 'completed' GROUP BY 1) JOIN (SELECT run_id, sum(count) AS "
		"binned FROM histogram WHERE metric = 'itl' GROUP BY 1) USING (run_id) "
		"WHERE gaps = binned",
		"4");
}

static void test_help(void **state)
{
	struct run_output o = testing_run("compare --help");

	(void)state;
	assert_i64(o.code, 0);
	assert_non_null(strstr(o.out, "--db FILE"));
	testing_run_free(&o);
}

static void test_full_disk(void **state)
{
	const char *path = two_runs("full.db");

	(void)state;
	if (access("/dev/full", W_OK)) {
		print_message("skipped: no /dev/full\n");
		skip();
	}
	assert_run(testing_run("compare --db %s >/dev/full", path), 1, "", "cannot be written");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_chosen_runs),
		cmocka_unit_test(test_md_shows_what_differs),
		cmocka_unit_test(test_findings_are_no_settings),
		cmocka_unit_test(test_unknown_runs),
		cmocka_unit_test(test_wrong_usage),
		cmocka_unit_test(test_reads_only),
		cmocka_unit_test(test_rows_agree_with_the_summary),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_full_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
