/* `omnibus compare`, as people call it. */
#include "tests/stored.h"

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
	store_close(store_open(no_runs, &e));
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
		cmocka_unit_test(test_unknown_runs),
		cmocka_unit_test(test_wrong_usage),
		cmocka_unit_test(test_reads_only),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_full_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
