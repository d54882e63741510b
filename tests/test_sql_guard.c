/* What SQL of a user's may do to a results file: read it. */
#include "results/sql_guard.h"
#include "tests/stored.h"

#include <unistd.h>

static const char *one_run(const char *name)
{
	const char *path = testing_path(name);
	struct summary sum;
	struct err e;

	assert_fine(stored_run(path, 1, 5, &sum, &e), e);
	return path;
}

/* The code that executing the text ends with, under a guard. */
static int execute(const char *path, const char *sql, int64_t max_steps)
{
	struct sql_guard guard;
	sqlite3 *db;
	int rc;

	assert_i64(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	sqlite3_enable_load_extension(db, 1);
	sql_guard_set(&guard, db, max_steps);
	rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	if (rc && (strstr(sqlite3_errmsg(db), "not authorized") ||
		   strstr(sqlite3_errmsg(db), "no such function")))
		rc = SQLITE_AUTH; /* a function, or CREATE, has another code */
	sql_guard_clear(&guard);
	sqlite3_close(db);
	return rc;
}

static void test_reads(void **state)
{
	static const char *const allowed[] = {
		"SELECT 1",
		"SELECT policy FROM run WHERE policy LIKE '%a%' AND abs(seed) > 0",
		"SELECT count(*), max(ttft_s) FROM request_latency",
		"SELECT * FROM summary JOIN run ON run.id = run_id",
		"SELECT round(avg(running), 2) FROM sample GROUP BY instance",
		"SELECT run_id FROM metric WHERE run_id IN (SELECT run_id FROM request)",
	};
	const char *path = one_run("reads.db");

	(void)state;
	for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
		assert_i64(execute(path, allowed[i], 1000000), SQLITE_OK);
}

/* Each kind of thing that is not reading. */
static void test_everything_else_is_refused(void **state)
{
	static const char *const refused[] = {
		"ATTACH 'other.db' AS other",
		"DETACH main",
		"PRAGMA query_only = OFF",
		"PRAGMA writable_schema = ON",
		"SELECT * FROM pragma_table_info('run')",
		"SELECT * FROM pragma_database_list",
		"SELECT sql FROM sqlite_schema",
		"SELECT sql FROM sqlite_master",
		"DROP TABLE run",
		"SELECT 1; DROP TABLE run",
		"DELETE FROM run",
		"UPDATE run SET policy = ''",
		"INSERT INTO run(id) VALUES (9)",
		"CREATE TABLE t(x)",
		"CREATE TEMP TABLE t(x)",
		"CREATE TEMP TRIGGER t AFTER DELETE ON run BEGIN SELECT 1; END",
		"CREATE VIRTUAL TABLE t USING fts5(x)",
		"ALTER TABLE run RENAME TO runs",
		"VACUUM",
		"VACUUM INTO 'copy.db'",
		"REINDEX",
		"ANALYZE",
		"BEGIN",
		"SAVEPOINT s",
		"SELECT load_extension('./evil.so')",
		"SELECT writefile('f', 'x')",
		"SELECT readfile('/etc/passwd')",
		"SELECT randomblob(1000000)",
		"SELECT zeroblob(1000000)",
		"SELECT printf('%.*c', 1000000, 'x')",
		"SELECT fts3_tokenizer('x')",
		"SELECT random()",
		"WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT x FROM t",
	};
	const char *path = one_run("refused.db");

	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		if (execute(path, refused[i], 1000000) != SQLITE_AUTH)
			fail_msg("not refused: %s", refused[i]);
	}
	assert_query(path, "SELECT count(*) FROM run", "1");
	assert_i64(access("copy.db", F_OK), -1);
	assert_i64(access("other.db", F_OK), -1);
}

/* What would run for longer than the universe is stopped; what is short is not. */
static void test_runaways_are_stopped(void **state)
{
	static const char bomb[] =
		"SELECT count(*) FROM request a, request b, request c, "
		"request d, request e, request f, request g, request h, "
		"request i, request j, request k, request l, request m, request n";
	const char *path = one_run("bomb.db");

	(void)state;
	assert_i64(execute(path, bomb, 2000000), SQLITE_INTERRUPT);
	assert_i64(execute(path, "SELECT count(*) FROM request a, request b", 2000000), SQLITE_OK);
	assert_i64(execute(path, "SELECT length(replace('x', 'x', 'y'))", 2000000), SQLITE_AUTH);
}

static void test_expressions(void **state)
{
	static const char *const good[] = {
		"1",
		"policy = 'it''s'",
		"policy = ');--' AND (tp = 1)",
		"tp = 1 -- ) and ;",
		"tp /* ; ) ' */ = 1",
		"\"limit\" > 2 OR [limit] > 3 OR `limit` > 4",
	};
	static const char *const bad[][2] = {
		{"1; DROP TABLE run", "';'"},
		{"1) UNION SELECT 1 FROM run WHERE (1", "bracket that it did not open"},
		{"(1", "does not close a bracket"},
		{"policy = 'x", "does not end"},
		{"\"policy", "does not end"},
		{"[policy", "does not end"},
		{"1 /* 2", "does not end"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		assert_null(sql_guard_expression(good[i]));
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		const char *why = sql_guard_expression(bad[i][0]);

		if (!why || !strstr(why, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], why ? why : "taken");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_everything_else_is_refused),
		cmocka_unit_test(test_runaways_are_stopped),
		cmocka_unit_test(test_expressions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
