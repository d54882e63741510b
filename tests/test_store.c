/* What is in the file: every field, NULLs, views; and which files are refused. */
#include "results/db.h"
#include "tests/stored.h"

#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct field *find(const struct field *fields, const char *name)
{
	for (const struct field *f = fields; f->name; f++) {
		if (!strcmp(f->name, name))
			return f;
	}
	return NULL;
}

static void assert_same(const struct field *f, const void *a, const struct field *g, const void *b)
{
	size_t len_a, len_b;

	assert_i64(f->kind, g->kind);
	assert_i64(field_is_null(f, a), field_is_null(g, b));
	if (f->kind == FIELD_INT) {
		assert_i64(field_int(f, a), field_int(g, b));
	} else if (f->kind == FIELD_REAL) {
		if (!field_is_null(f, a))
			assert_near(field_real(f, a), field_real(g, b), 0);
	} else {
		const char *text_a = field_text(f, a, &len_a), *text_b = field_text(g, b, &len_b);

		assert_i64(len_a, len_b);
		assert_memory_equal(text_a, text_b, len_a);
	}
}

static void assert_read_back(const struct stored_run *got, const struct summary *sum,
			     const struct run_info *info)
{
	for (const struct field *f = summary_fields; f->name; f++)
		assert_same(f, &got->summary, f, sum);
	for (const struct field *f = run_info_fields; f->name; f++) {
		const struct field *shared = find(summary_fields, f->name);

		assert_same(f, &got->info, shared ? shared : f,
			    shared ? (const void *)sum : (const void *)info);
	}
}

static void test_every_field_comes_back(void **state)
{
	const char *path = testing_path("fields.db");
	struct summary sums[2];
	struct run_info info;
	struct stored_run *runs;
	size_t n;
	struct err e;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_fine(stored_run(path, i + 1, 3, &sums[i], &e), e);
		assert_i64(sums[i].run_id, i + 1);
	}
	assert_fine(store_read(path, NULL, 0, &runs, &n, &e), e);
	assert_i64(n, 2);
	for (int i = 0; i < 2; i++) {
		stored_fields(run_info_fields, &info, i + 1);
		assert_read_back(&runs[i], &sums[i], &info);
	}
	free(runs);
	assert_query(path, "SELECT started, wall_s FROM run WHERE id = 1",
		     "2026-01-02T03:04:05Z|1.5");
	assert_query(path, "PRAGMA journal_mode", "wal");
}

static void test_nulls_and_infinity(void **state)
{
	const char *path = testing_path("nulls.db");
	struct run_info info;
	struct summary sum;
	struct stored_run *runs;
	size_t n;
	struct err e;
	struct store *s = store_open(path, &e);

	(void)state;
	assert_non_null(s);
	fields_clear(run_info_fields, &info);
	fields_clear(summary_fields, &sum);
	info.rate_rps = INFINITY;
	assert_fine(store_commit(s, &info, &sum, NULL, NAN, &e), e);
	store_close(s);
	assert_query(path, "SELECT *, '' FROM metric",
		     "1||||||||||||||||||||||||||||||||||||||||||");
	assert_query(path,
		     "SELECT rate_rps = 9e999, speed IS NULL, trace IS NULL, seed IS NULL, "
		     "wall_s IS NULL FROM run",
		     "1|1|1|1|1");
	assert_fine(store_read(path, NULL, 0, &runs, &n, &e), e);
	assert_read_back(runs, &sum, &info);
	free(runs);
}

static void test_rows(void **state)
{
	const char *path = testing_path("rows.db");
	struct run_info info = {0};
	struct summary sum = {0};
	struct err e;
	struct store *s = store_open(path, &e);
	struct record r = stored_record(1);
	struct record gone = {.idx = 0,
			      .arrive_ns = 5,
			      .schedule_ns = -1,
			      .first_token_ns = -1,
			      .finish_ns = -1,
			      .prompt_tok = 7,
			      .output_tok = 8,
			      .instance = -1,
			      .max_gap_ns = -1,
			      .status = RECORD_REJECTED};
	struct sample p = {.t_ns = 1, .instance = 2, .running = 3, .waiting = 4, .kv_blocks = 5};
	struct histogram_bin b = {"itl", 1.5, 2.5, 9};
	struct step_row step = {.instance = 1,
				.batch = 2,
				.start_ns = 3,
				.end_ns = 4,
				.steps = 5,
				.kind = STEP_MIXED,
				.prefill_tok = 6,
				.decode_seq = 7,
				.decode_ctx = 8,
				.kv_blocks = 9,
				.moved_bytes = 10};

	(void)state;
	assert_non_null(s);
	/* in the order in which they end, not of idx */
	assert_fine(store_record(s, &r, &e), e);
	assert_fine(store_record(s, &gone, &e), e);
	gone.idx = 2;
	gone.client = 2;
	gone.session = 4;
	gone.priority = -6;
	gone.status = RECORD_ABORTED;
	assert_fine(store_record(s, &gone, &e), e);
	assert_fine(store_client(s, 2, "b", &e), e);
	assert_fine(store_client(s, 1, "a", &e), e);
	assert_fine(store_sample(s, &p, &e), e);
	assert_fine(store_sample(s, &p, &e), e); /* two looks at the same time */
	assert_fine(store_bin(s, &b, &e), e);
	assert_fine(store_step(s, &step, &e), e);
	step.kind = STEP_PREFILL;
	assert_fine(store_step(s, &step, &e), e);
	step.kind = STEP_DECODE;
	assert_fine(store_step(s, &step, &e), e);
	assert_fine(store_commit(s, &info, &sum, "", 0, &e), e);
	store_close(s);
	assert_query(path, "SELECT * FROM step",
		     "1|1|2|3|4|5|mixed|6|7|8|9|10;1|1|2|3|4|5|prefill|6|7|8|9|10;"
		     "1|1|2|3|4|5|decode|6|7|8|9|10");
	assert_query(
		path, "SELECT * FROM request",
		"1|0|5||||7|8|0|0|||||0|rejected;1|1|10|11|12|16|100|3|0|0|0|2.5|||0|completed;"
		"1|2|5||||7|8|0|0|||2|4|-6|aborted");
	assert_query(path, "SELECT * FROM client", "1|1|a;1|2|b");
	assert_query(path, "SELECT * FROM sample", "1|1|2|3|4|5;1|1|2|3|4|5");
	assert_query(path, "SELECT * FROM histogram", "1|itl|1.5|2.5|9");
}

/* A table of the file: `first`, the fields that `skip` leaves, `last`, with types. */
static void check_columns(const char *path, const char *table, const char *first,
			  const struct field *fields, const struct field *skip, const char *last)
{
	static const char *const types[] = {
		[FIELD_INT] = "INTEGER", [FIELD_REAL] = "REAL", [FIELD_TEXT] = "TEXT"};
	char sql[200], want[8192] = "", *got;
	size_t at = 0;

	at += (size_t)snprintf(want, sizeof want, "%s", first);
	for (const struct field *f = fields; f->name; f++) {
		if (skip && (find(skip, f->name) || !strcmp(f->name, "run_id")))
			continue;
		at += (size_t)snprintf(want + at, sizeof want - at, "%s%s|%s", at ? ";" : "",
				       f->name, types[f->kind]);
	}
	snprintf(want + at, sizeof want - at, "%s", last);
	snprintf(sql, sizeof sql, "SELECT name, type FROM pragma_table_info('%s')", table);
	got = stored_query(path, sql);
	assert_string_equal(got, want);
	free(got);
}

/* Without a commit there is no file, and one that is empty stays so. */
static void test_no_file_before_the_commit(void **state)
{
	const char *path = testing_path("late.db"), *empty = testing_file("still-empty.db", "");
	struct run_info info = {0};
	struct summary sum = {0};
	struct stat st;
	struct err e;
	struct store *s = store_open(path, &e), *t = store_open(empty, &e);

	(void)state;
	assert_non_null(s);
	assert_non_null(t);
	assert_fine(stored_rows(s, 10, &e), e);
	store_close(t);
	assert_i64(stat(empty, &st), 0);
	assert_i64(st.st_size, 0);
	assert_i64(access(path, F_OK), -1);
	assert_fine(store_commit(s, &info, &sum, "", 0, &e), e);
	store_close(s);
	assert_query(path, "SELECT count(*) FROM request", "10");
}

static void test_schema_agrees_with_the_fields(void **state)
{
	const char *path = testing_path("schema.db");
	struct err e;
	struct store *s;

	(void)state;
	sqlite3_close(db_create(path, &e));
	check_columns(path, "run", "id|INTEGER", run_info_fields, NULL,
		      ";started|TEXT;wall_s|REAL");
	check_columns(path, "metric", "run_id|INTEGER", summary_fields, run_info_fields, "");
	check_columns(path, "summary", "", summary_fields, NULL,
		      ";rate_rps|REAL;tp|INTEGER;pp|INTEGER;instances|INTEGER;block_tok|INTEGER;"
		      "kv_blocks|INTEGER");
	/* what sqlite3 prints of it says what units are, what a row is and what a NULL is */
	assert_query(path,
		     "SELECT count(*), sum(sql LIKE '%-- One row a run%'), "
		     "sum(sql LIKE '%times in _s are seconds%NULL: not known%') "
		     "FROM sqlite_schema WHERE name IN ('run', 'metric')",
		     "2|2|1");
	assert_query(path,
		     "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') "
		     "AND name NOT LIKE 'sqlite%' AND sql NOT LIKE '%(%' || char(10, 9) || '-- %' "
		     "AND sql NOT LIKE '% AS' || char(10, 9) || '-- %'",
		     "");
	/* and it is opened again as ours: the ids in schema.sql and db.h are the same */
	s = store_open(path, &e);
	assert_non_null(s);
	store_close(s);
}

static void add(struct store *s, int64_t idx, int64_t ttft_ns, int64_t decode_ns, int64_t n,
		enum record_status status)
{
	bool done = status == RECORD_COMPLETED;
	struct record r = {.idx = idx,
			   .arrive_ns = 100 * idx,
			   .schedule_ns = done ? 100 * idx : -1,
			   .first_token_ns = done ? 100 * idx + ttft_ns : -1,
			   .finish_ns = done ? 100 * idx + ttft_ns + decode_ns : -1,
			   .prompt_tok = 1,
			   .output_tok = n,
			   .max_gap_ns = n > 1 && done ? (double)decode_ns : -1,
			   .status = status};
	struct err e;

	assert_fine(store_record(s, &r, &e), e);
}

/*
 * 10 arrivals, targets TTFT 50 ms, TPOT 10 ms: 6 good (among them values equal to their target, and
 * one token, which has no TPOT), 2 late (one in each), 1 rejected, 1 unfinished: 6/10, never 6/8.
 */
static void ten_requests(struct store *s)
{
	const int64_t ms = 1000000;

	add(s, 0, 50 * ms, 20 * ms, 3, RECORD_COMPLETED);
	add(s, 1, 50 * ms, 0, 1, RECORD_COMPLETED);
	for (int i = 2; i < 6; i++)
		add(s, i, 1 * ms, 9 * ms, 2, RECORD_COMPLETED);
	add(s, 6, 50 * ms + 1, 9 * ms, 2, RECORD_COMPLETED);
	add(s, 7, 50 * ms, 20 * ms + 1, 3, RECORD_COMPLETED);
	add(s, 8, 0, 0, 2, RECORD_REJECTED);
	add(s, 9, 0, 0, 2, RECORD_UNFINISHED);
}

static void store_targets(const char *path, double ttft_s, double tpot_s, bool rows)
{
	struct run_info info;
	struct summary sum = {.run_id = 0};
	struct err e;
	struct store *s = store_open(path, &e);

	assert_non_null(s);
	fields_clear(run_info_fields, &info);
	info.slo_ttft_s = ttft_s;
	info.slo_tpot_s = tpot_s;
	if (rows)
		ten_requests(s);
	assert_fine(store_commit(s, &info, &sum, "", 0, &e), e);
	store_close(s);
}

static void test_slo_view(void **state)
{
	static const char columns[] = "SELECT ttft_attainment, tpot_attainment, e2e_attainment, "
				      "maxgap_attainment, attainment, good, requests FROM slo "
				      "ORDER BY run_id";
	const char *path = testing_path("slo.db");

	(void)state;
	store_targets(path, 0.05, 0.01, true);
	store_targets(path, NAN, NAN, true);
	store_targets(path, 0.05, NAN, true);
	store_targets(path, 0.05, 0.01, false);
	assert_query(path, columns, "0.7|0.7|||0.6|6|10;||||||10;0.7||||0.7|7|10;||||||0");
	assert_query(path, "SELECT attainment FROM slo WHERE run_id = 3", "0.7");
	/* one output token: no TPOT, and not a zero; 2 in 20 ms: 10 ms each */
	assert_query(path,
		     "SELECT tpot_s, tpot_met FROM request_latency WHERE run_id = 1 AND idx < 2",
		     "0.01|1;|1");
}

static void refuse(const char *path, const char *part)
{
	struct err e;
	struct store *s = store_open(path, &e);

	assert_null(s);
	assert_refused(-1, e, part);
	assert_refused(-1, e, path);
}

static void test_files_that_are_not_ours(void **state)
{
	const char *text = testing_file("notes.txt", "this is not a database\n");
	const char *folder = testing_path("folder");
	const char *foreign = testing_file("foreign.db", "");
	const char *newer = testing_file("newer.db", "");
	const char *marked = testing_file("marked.db", "");
	const char *empty = testing_file("empty.db", "");
	struct err e;
	struct store *s;

	(void)state;
	refuse(text, "not a SQLite database");
	assert_i64(mkdir(folder, 0700), 0);
	refuse(folder, "Is a directory");
	refuse(testing_path("none/results.db"), "No such file or directory");
	refuse(":memory:", "no write-ahead log");
	assert_query(foreign, "CREATE TABLE run(id)", "");
	refuse(foreign, "of another program");
	assert_query(foreign, "PRAGMA journal_mode", "delete"); /* as it was */
	assert_query(marked, "PRAGMA application_id = 7", "");
	refuse(marked, "of another program");
	s = store_open(empty, &e); /* as `touch` or mktemp make it: ours to fill */
	assert_non_null(s);
	store_close(s);
	sqlite3_close(db_create(newer, &e));
	assert_query(newer, "PRAGMA user_version = 1000", "");
	refuse(newer, "newer omnibus");
	assert_query(newer, "PRAGMA user_version = 1", "");
	refuse(newer, "an older omnibus");
}

/* Permissions are checked as a user who has to keep to them. The exit code says what went wrong. */
static int try_as_nobody(const char *file, const char *new_file)
{
	struct stored_run *runs;
	size_t n;
	struct err e;
	pid_t child = fork();
	int status;

	if (child)
		return waitpid(child, &status, 0) == child && WIFEXITED(status)
			       ? WEXITSTATUS(status)
			       : -1;
	if (geteuid() == 0 && setuid(65534))
		_exit(1);
	if (store_open(file, &e) || !strstr(e.text, "read-only") || !strstr(e.text, file))
		_exit(2);
	if (store_open(new_file, &e) || !strstr(e.text, "Permission denied"))
		_exit(3);
	if (store_read(file, NULL, 0, &runs, &n, &e)) /* to read is allowed */
		_exit(4);
	_exit(n == 1 && runs[0].summary.run_id == 1 ? 0 : 5);
}

static void test_no_permission(void **state)
{
	const char *folder = testing_path("locked?#%"); /* what a URI would take apart */
	char file[512], new_file[512], parent[512];
	struct summary sum;
	struct err e;

	(void)state;
	snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(folder, '/') - folder), folder);
	snprintf(file, sizeof file, "%s/results.db", folder);
	snprintf(new_file, sizeof new_file, "%s/new.db", folder);
	assert_i64(mkdir(folder, 0755), 0);
	assert_fine(stored_run(file, 1, 1, &sum, &e), e);
	assert_i64(chmod(file, 0444) || chmod(folder, 0555) || chmod(parent, 0755), 0);
	assert_i64(try_as_nobody(file, new_file), 0);
	assert_i64(chmod(folder, 0755) || chmod(parent, 0700), 0);
}

/* What SQLite holds in memory does not grow with the rows. */
static void test_memory_is_flat(void **state)
{
	struct err e;
	struct store *s = store_open(testing_path("flat.db"), &e);
	struct run_info info = {0};
	struct summary sum = {0};

	(void)state;
	assert_non_null(s);
	sqlite3_memory_highwater(1);
	assert_fine(stored_rows(s, 100000, &e), e);
	assert_fine(store_commit(s, &info, &sum, "", 0, &e), e);
	assert_true(sqlite3_memory_highwater(0) < 8 << 20);
	store_close(s);
	assert_query(testing_path("flat.db"), "SELECT count(*) FROM request", "100000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_field_comes_back),
		cmocka_unit_test(test_nulls_and_infinity),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_no_file_before_the_commit),
		cmocka_unit_test(test_schema_agrees_with_the_fields),
		cmocka_unit_test(test_slo_view),
		cmocka_unit_test(test_files_that_are_not_ours),
		cmocka_unit_test(test_no_permission),
		cmocka_unit_test(test_memory_is_flat),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
