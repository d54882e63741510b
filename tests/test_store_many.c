/* Many processes at one file; processes that are killed; a disk that is full. */
#include "tests/stored.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Complete: as many rows of each table as the run that was written has. */
#define COMPLETE_SQL                                                                               \
	"SELECT count(*) FROM run WHERE (SELECT count(*) FROM metric WHERE run_id = id) = 1 "      \
	"AND (SELECT count(*) FROM request WHERE run_id = id) = %d "                               \
	"AND (SELECT count(*) FROM sample WHERE run_id = id) = %d "                                \
	"AND (SELECT count(*) FROM histogram WHERE run_id = id) = %d"

static int64_t count(const char *path, const char *sql)
{
	char *text = stored_query(path, sql);
	int64_t n = strtoll(text, NULL, 10);

	free(text);
	return n;
}

static int64_t complete(const char *path, int n)
{
	char sql[600];

	snprintf(sql, sizeof sql, COMPLETE_SQL, n, n, n);
	return count(path, sql);
}

/* Nothing of a run that is not there, in any table. */
static void assert_no_other_rows(const char *path)
{
	assert_i64(count(path,
			 "SELECT (SELECT count(*) FROM metric WHERE run_id NOT IN "
			 "(SELECT id FROM run)) + (SELECT count(*) FROM request WHERE run_id "
			 "NOT IN (SELECT id FROM run)) + (SELECT count(*) FROM sample WHERE "
			 "run_id NOT IN (SELECT id FROM run)) + (SELECT count(*) FROM histogram "
			 "WHERE run_id NOT IN (SELECT id FROM run))"),
		   0);
	assert_query(path, "PRAGMA integrity_check", "ok");
}

static int exit_code(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void sleep_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* Stores one run once `start` (the reading end of a pipe) is closed at its other end. */
static pid_t start_writer(const char *path, int seed, int n, const int start[2])
{
	pid_t child = fork();
	struct summary sum;
	struct err e;
	char c;

	assert_true(child >= 0);
	if (child)
		return child;
	close(start[1]);
	if (read(start[0], &c, 1) != 0)
		_exit(3);
	if (!stored_run(path, seed, n, &sum, &e))
		_exit(0);
	fprintf(stderr, "%s\n", e.text);
	_exit(1);
}

static void test_16_processes_create_one_file(void **state)
{
	enum { N = 16, ROWS = 200, ROUNDS = 5 };
	char name[32];

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		const char *path;
		pid_t children[N];
		int start[2];

		snprintf(name, sizeof name, "many%d.db", round);
		path = testing_path(name);
		assert_i64(pipe(start), 0);
		for (int i = 0; i < N; i++)
			children[i] = start_writer(path, i, ROWS, start);
		close(start[0]);
		close(start[1]); /* go */
		for (int i = 0; i < N; i++)
			assert_i64(exit_code(children[i]), 0);
		assert_i64(complete(path, ROWS), N);
		assert_query(path, "SELECT min(id), max(id), count(DISTINCT policy) FROM run",
			     "1|16|16");
		assert_no_other_rows(path);
	}
}

/* Killed with all rows given, before the commit. */
static void test_killed_before_the_commit(void **state)
{
	const char *path = testing_path("killed.db");
	struct summary sum;
	struct err e;
	int ready[2], status;
	pid_t child;
	char c;

	(void)state;
	assert_fine(stored_run(path, 1, 10, &sum, &e), e);
	assert_i64(pipe(ready), 0);
	child = fork();
	if (!child) {
		struct store *s = store_open(path, &e);

		if (!s || stored_rows(s, 50000, &e) || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_i64(read(ready[0], &c, 1), 1);
	assert_i64(kill(child, SIGKILL), 0);
	assert_i64(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	close(ready[0]);
	close(ready[1]);
	assert_query(path, "SELECT count(*) FROM run", "1");
	assert_i64(complete(path, 10), 1);
	assert_no_other_rows(path);
	/* and the next one is not disturbed */
	assert_fine(stored_run(path, 2, 10, &sum, &e), e);
	assert_i64(sum.run_id, 2);
}

/* Killed at 20 moments while it stores run after run: in the file are whole runs only. */
static void test_killed_at_any_time(void **state)
{
	enum { ROWS = 500 };
	const char *path = testing_path("killed-anywhere.db");
	struct summary sum;
	struct err e;

	(void)state;
	assert_fine(stored_run(path, 0, ROWS, &sum, &e), e);
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			while (!stored_run(path, i, ROWS, &sum, &e))
				;
			_exit(1);
		}
		sleep_ms(5 + 7 * i);
		assert_i64(kill(child, SIGKILL), 0);
		assert_i64(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		assert_i64(complete(path, ROWS), count(path, "SELECT count(*) FROM run"));
		assert_no_other_rows(path);
	}
	assert_true(count(path, "SELECT count(*) FROM run") > 1);
}

/* While one process stores 20 runs, another reads: each time it sees whole runs, and more and more.
 */
static void test_reading_while_writing(void **state)
{
	enum { ROWS = 300, RUNS = 20 };
	const char *path = testing_path("reading.db");
	struct stored_run *runs;
	struct summary sum;
	size_t n, before = 0;
	struct err e;
	pid_t child;

	(void)state;
	assert_fine(stored_run(path, 0, ROWS, &sum, &e), e);
	child = fork();
	if (!child) {
		for (int i = 1; i < RUNS; i++) {
			if (stored_run(path, i, ROWS, &sum, &e))
				_exit(1);
		}
		_exit(0);
	}
	do {
		assert_fine(store_read(path, NULL, 0, &runs, &n, &e), e);
		assert_true(n >= before);
		before = n;
		for (size_t i = 0; i < n; i++)
			assert_i64(runs[i].summary.run_id, i + 1);
		free(runs);
		assert_i64(count(path, "SELECT count(*) - 300 * (SELECT count(*) FROM run) "
				       "FROM request"),
			   0);
	} while (n < RUNS);
	assert_i64(exit_code(child), 0);
}

/* An open reader keeps nobody waiting; an open writer does, for as long as it takes. */
static void test_waiting(void **state)
{
	const char *path = testing_path("waiting.db");
	int start[2], status;
	struct summary sum;
	struct err e;
	sqlite3 *db;
	pid_t child;

	(void)state;
	assert_fine(stored_run(path, 1, 10, &sum, &e), e);
	assert_i64(pipe(start), 0);
	child = start_writer(path, 3, 10, start); /* before db, which may not cross a fork */
	close(start[0]);
	assert_i64(sqlite3_open(path, &db), SQLITE_OK);
	assert_i64(sqlite3_exec(db, "BEGIN; SELECT * FROM run", NULL, NULL, NULL), SQLITE_OK);
	assert_fine(stored_run(path, 2, 10, &sum, &e), e);
	assert_i64(sqlite3_exec(db, "COMMIT; BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	close(start[1]); /* go */
	sleep_ms(1500);
	assert_i64(waitpid(child, &status, WNOHANG), 0);
	assert_i64(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	assert_i64(exit_code(child), 0);
	assert_i64(sqlite3_close(db), SQLITE_OK);
	assert_i64(complete(path, 10), 3);
}

/*
 * A limit on the size of files stands for a full disk. The rows themselves still fit: it is the
 * commit that fails, leaves the file as it was, and succeeds once there is room.
 */
static int commit_without_room(const char *path)
{
	struct rlimit limit;
	struct run_info info = {0};
	struct summary sum = {.run_id = -5};
	struct err e;
	struct store *s;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = 100000;
	if (!(s = store_open(path, &e)) || stored_rows(s, 5000, &e))
		return 1;
	if (setrlimit(RLIMIT_FSIZE, &limit))
		return 2;
	if (!store_commit(s, &info, &sum, "", 0, &e) || !strstr(e.text, "the run is not stored") ||
	    !strstr(e.text, "writing failed") || sum.run_id != -5)
		return 3;
	if (complete(path, 10) != 1 || count(path, "SELECT max(id) FROM run") != 1)
		return 4;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_FSIZE, &limit) || store_commit(s, &info, &sum, "", 0, &e))
		return 5;
	store_close(s);
	return complete(path, 5000) == 1 && sum.run_id == 2 ? 0 : 6;
}

/* Here the temporary database has no room: the sentence says how to put it elsewhere. */
static int spill_without_room(const char *path)
{
	struct rlimit limit;
	struct run_info info = {0};
	struct summary sum;
	struct err e;
	struct store *s = store_open(path, &e);

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = 100000;
	if (!s || setrlimit(RLIMIT_FSIZE, &limit))
		return 1;
	if (!stored_rows(s, 200000, &e) || !strstr(e.text, "SQLITE_TMPDIR"))
		return 2;
	if (!store_commit(s, &info, &sum, "", 0, &e) || !strstr(e.text, "rows of it were lost"))
		return 3;
	store_close(s);
	return 0;
}

static void test_no_room(void **state)
{
	const char *path = testing_path("room.db");
	struct summary sum;
	struct err e;
	pid_t child;

	(void)state;
	assert_fine(stored_run(path, 1, 10, &sum, &e), e);
	child = fork();
	if (!child)
		_exit(spill_without_room(path));
	assert_i64(exit_code(child), 0);
	assert_query(path, "SELECT count(*) FROM run", "1");
	assert_no_other_rows(path);
	child = fork();
	if (!child)
		_exit(commit_without_room(path));
	assert_i64(exit_code(child), 0);
	assert_no_other_rows(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_16_processes_create_one_file),
		cmocka_unit_test(test_killed_before_the_commit),
		cmocka_unit_test(test_killed_at_any_time),
		cmocka_unit_test(test_reading_while_writing),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_no_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
