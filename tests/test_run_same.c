/*
 * Runs that must agree to the byte, on stdout and in the database; and databases when a run is
 * killed or many are started at once.
 */
#include "tests/run_rows.h"
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static sqlite3 *open_db(const char *path)
{
	sqlite3 *db;
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	return db;
}

static int64_t query(const char *path, const char *sql)
{
	sqlite3 *db = open_db(path);
	sqlite3_stmt *s;
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	int64_t v = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return v;
}

static void add_cell(sqlite3_str *dump, sqlite3_stmt *s, int i)
{
	switch (sqlite3_column_type(s, i)) {
	case SQLITE_NULL:
		sqlite3_str_appendall(dump, "NULL|");
		return;
	case SQLITE_FLOAT: /* to the bit */
		sqlite3_str_appendf(dump, "%!.17g|", sqlite3_column_double(s, i));
		return;
	default:
		sqlite3_str_appendf(dump, "%s|", (const char *)sqlite3_column_text(s, i));
	}
}

/* Every row of the tables, in their order, without what is about this computation itself. */
static char *dump_db(const char *path)
{
	static const char *const tables[] = {"run", "metric", "request", "sample", "histogram"};
	sqlite3 *db = open_db(path);
	sqlite3_str *dump = sqlite3_str_new(db);
	for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++) {
		char sql[64];
		sqlite3_stmt *s;
		int64_t n = 0;
		snprintf(sql, sizeof(sql), "SELECT * FROM %s", tables[t]);
		assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
		for (; sqlite3_step(s) == SQLITE_ROW; n++) {
			for (int i = 0; i < sqlite3_column_count(s); i++)
				if (strcmp(sqlite3_column_name(s, i), "started") != 0 &&
				    strcmp(sqlite3_column_name(s, i), "wall_s") != 0)
					add_cell(dump, s, i);
			sqlite3_str_appendall(dump, "\n");
		}
		sqlite3_finalize(s);
		assert_true(n > 0); /* or this test compares nothing */
	}
	char *all = sqlite3_str_finish(dump);
	sqlite3_close(db);
	assert_non_null(all);
	return all;
}

/* stdout and the databases of both are the same. */
static void assert_same_runs(const char *args, const char *one, const char *other)
{
	const char *options[] = {one, other};
	char *dump[2], *out[2];
	for (int i = 0; i < 2; i++) {
		char whole[1024];
		const char *db = testing_path(i ? "other.db" : "one.db");
		unlink(db);
		snprintf(whole, sizeof(whole), "%s %s -o csv --db %s", args, options[i], db);
		struct run_output o = run_well(whole);
		out[i] = o.out;
		free(o.err);
		dump[i] = dump_db(db);
	}
	assert_true(count_lines(out[0]) > 4);
	assert_string_equal(out[0], out[1]);
	size_t len = strlen(dump[0]), at = 0;
	if (strcmp(dump[0], dump[1]) != 0) {
		while (at < len && dump[0][at] == dump[1][at])
			at++;
		at = at > 80 ? at - 80 : 0;
		print_error("%s: %s gives ...%.200s\n%s gives ...%.200s\n", args, one, dump[0] + at,
			    other, dump[1] + at);
		fail();
	}
	for (int i = 0; i < 2; i++) {
		sqlite3_free(dump[i]);
		free(out[i]);
	}
}

static void test_jobs(void **state)
{
	(void)state;
	assert_same_runs("synth:azure-conv,n=400,rate=6,seed=3 " FOUR HW
			 "--slo ttft=0.5,tpot=0.05 --rate 3,12",
			 "--jobs 1", "--jobs 4");
}

static void test_no_fast_forward(void **state)
{
	(void)state;
	/* enough memory, and so little that blocks run out */
	assert_same_runs("synth:azure-conv,n=300,rate=6,seed=4 " FOUR HW "--slo ttft=0.5,tpot=0.05",
			 "", "--no-fast-forward");
	static const char scarce[] = "synth:azure-conv,n=300,seed=5 -p static -p paged -p sarathi "
				     "-p paged:preempt=swap -p disaggregated " HW
				     "--rate 9 --kv-blocks 700 --max-tokens output";
	assert_same_runs(scarce, "", "--no-fast-forward");
	struct results r = run_rows(scarce);
	for (size_t i = 1; i < r.n; i++)
		assert_true(row_number(&r, i, "preemptions") > 0);
	free_rows(&r);
}

static bool is_percentile(const char *name)
{
	return strstr(name, "_p50_s") || strstr(name, "_p90_s") || strstr(name, "_p99_s");
}

/* Percentiles are those of a histogram, within 0.2%; nothing else changes but the word for it. */
static void assert_close(const json_t *all, const json_t *none)
{
	const char *name;
	json_t *v;
	json_object_foreach((json_t *)(uintptr_t)all, name, v)
	{
		const json_t *w = json_object_get(none, name);
		if (strcmp(name, "percentiles") == 0) {
			assert_string_equal(json_string_value(v), "exact");
			assert_string_equal(json_string_value(w), "histogram");
		} else if (is_percentile(name)) {
			double x = json_number_value(v);
			assert_near(json_number_value(w), x, 0.002 * x);
		} else if (!json_equal(v, (json_t *)(uintptr_t)w)) {
			print_error("%s of %s: %.17g and %.17g\n", name,
				    json_string_value(json_object_get(all, "policy")),
				    json_number_value(v), json_number_value(w));
			fail();
		}
	}
}

static void test_requests_none(void **state)
{
	(void)state;
	static const char args[] =
		"synth:azure-conv,n=3000,rate=8,seed=6 " FOUR HW "--slo ttft=0.5,tpot=0.05";
	char none[256];
	snprintf(none, sizeof(none), "%s --requests none", args);
	struct results a = run_rows(args), b = run_rows(none);
	assert_i64(a.n, 4);
	assert_i64(b.n, 4);
	for (size_t i = 0; i < a.n; i++) {
		assert_i64(json_object_size(a.row[i]), json_object_size(b.row[i]));
		assert_close(a.row[i], b.row[i]);
	}
	free_rows(&a);
	free_rows(&b);
}

/* Killed while the second of two runs goes on, or before: what is there is complete. */
static void test_killed(void **state)
{
	(void)state;
	const char *db = testing_path("killed.db");
	char args[512], small[512];
	snprintf(small, sizeof(small), "synth:poisson,n=20 -p paged " HW "--db %s", db);
	struct run_output o = run_well(small);
	testing_run_free(&o);
	snprintf(args, sizeof(args),
		 "synth:poisson,n=100000000 -p paged -p static " HW "--jobs 1 --db %s", db);
	for (int i = 0; i < 3; i++) {
		struct timespec t = {.tv_nsec = 100000000 + 200000000 * i};
		int status;
		pid_t child = run_start(args);
		nanosleep(&t, NULL);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		assert_i64(query(db, "SELECT count(*) FROM run"), 1);
		assert_i64(query(db, "SELECT count(*) FROM request"), 20);
		assert_i64(query(db, "SELECT count(*) FROM (SELECT DISTINCT run_id FROM sample)"),
			   1);
	}
	struct run_output again = run_well(small);
	testing_run_free(&again);
	assert_i64(query(db, "SELECT max(id) FROM run"), 2);
}

static void test_16_at_once(void **state)
{
	(void)state;
	enum { N = 16, ROWS = 200 };
	const char *db = testing_path("sixteen.db");
	pid_t children[N];
	for (int i = 0; i < N; i++) {
		char args[512];
		snprintf(args, sizeof(args),
			 "synth:poisson,n=%d,seed=%d -p paged -p continuous " HW "--jobs 1 --db %s",
			 ROWS, i + 1, db);
		children[i] = run_start(args);
	}
	for (int i = 0; i < N; i++) {
		int status;
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_true(WIFEXITED(status));
		assert_i64(WEXITSTATUS(status), 0);
	}
	assert_i64(query(db, "SELECT count(*) FROM run"), 2 * N);
	assert_i64(query(db, "SELECT count(DISTINCT trace_hash) FROM run"), N);
	assert_i64(query(db, "SELECT count(*) FROM metric WHERE completed = 200"), 2 * N);
	assert_i64(query(db, "SELECT count(*) FROM (SELECT run_id FROM request GROUP BY run_id "
			     "HAVING count(*) = 200 AND count(DISTINCT idx) = 200)"),
		   2 * N);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jobs),	      cmocka_unit_test(test_no_fast_forward),
		cmocka_unit_test(test_requests_none), cmocka_unit_test(test_killed),
		cmocka_unit_test(test_16_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
