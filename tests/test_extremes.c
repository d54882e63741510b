/* Huge, endless and closed: what once overflowed, hung or was lost. */
#include "tests/testing.h"
#include <stdbool.h>
#include <string.h>

/* The value of one csv column of the only row, as text; empty where there is none. */
static void column_text(const struct run_output *o, const char *name, char *buf, size_t size)
{
	const char *head = o->out, *row = strchr(o->out, '\n');
	bool quoted = false;

	buf[0] = '\0';
	if (!row)
		return;
	row++;
	while (strncmp(head, name, strlen(name)) != 0 || !strchr(",\n", head[strlen(name)])) {
		head = strchr(head, ',');
		assert_non_null(head);
		head++;
		for (; *row != ',' || quoted; row++)
			quoted ^= *row == '"';
		row++;
	}
	snprintf(buf, size, "%.*s", (int)strcspn(row, ",\n"), row);
}

static void assert_column(const struct run_output *o, const char *name, const char *want)
{
	char got[128];

	column_text(o, name, got, sizeof(got));
	if (strcmp(got, want) != 0)
		fail_msg("%s is '%s', not '%s'\n%s%s", name, got, want, o->out, o->err);
}

/* Ten prompts of 1e9 tokens: 5e18 pairs are more than an int64_t holds; the step takes too long. */
static void test_pairs_do_not_overflow(void **state)
{
	char rows[512] = "arrive_s,prompt_tok,output_tok\n";

	(void)state;
	for (int i = 0; i < 10; i++)
		strcat(rows, "0,1000000000,2\n");
	struct run_output o = testing_run("run %s -p static -m llama-3-8b -d h200 --kv-tokens "
					  "1000000000000 --max-tokens output -o csv",
					  testing_file("huge.csv", rows));

	assert_exit(o, 1);
	assert_string_equal(o.out, "");
	assert_non_null(strstr(o.err, "beyond 126 years"));
	testing_run_free(&o);
}

/* A prompt of 10 tokens, then 10^6 tokens in no time: f = c = 77 ns; found by halves, not one by
 * one. */
static void test_many_steps_of_no_length(void **state)
{
	struct run_output o = testing_run(
		"run %s -p continuous -x fixed:prefill_tok_ns=7.7 -o csv",
		testing_file("zero.csv", "arrive_s,prompt_tok,output_tok\n0,10,1000000\n"));

	(void)state;
	assert_exit(o, 0);
	assert_column(&o, "ttft_p50_s", "7.7e-08");
	assert_column(&o, "e2e_p50_s", "7.7e-08");
	testing_run_free(&o);
}

/* 10 instances idle for 1e9 s each: 1e19 ns of waiting for arrivals in all. */
static void test_idle_time_of_many_instances(void **state)
{
	struct run_output o = testing_run(
		"run %s -p paged -x fixed:step_ns=1 --rate 1e-9 --instances 10 -o csv",
		testing_file("idle.csv", "arrive_s,prompt_tok,output_tok\n0,10,5\n1,10,5\n"));

	(void)state;
	assert_exit(o, 0);
	assert_column(&o, "bound", "arrivals");
	testing_run_free(&o);
}

static void test_a_pool_beyond_all_bytes(void **state)
{
	struct run_output o = testing_run(
		"run synth:constant,n=1 -p paged -m opt-175b -d h200 --kv-blocks 1000000000 "
		"--block 1000000 -o csv");

	(void)state;
	assert_exit(o, 1);
	assert_string_equal(o.out, "");
	assert_non_null(strstr(o.err, "beyond 8 EiB"));
	testing_run_free(&o);
}

/* An input without end is refused at its first wrong line: nothing waits for its end. */
static void test_endless_input(void **state)
{
	struct run_output o = testing_run("run - -p paged -x fixed:step_ns=1 < /dev/zero");

	(void)state;
	assert_exit(o, 1);
	assert_string_equal(o.out, "");
	assert_non_null(strstr(o.err, "standard input"));
	testing_run_free(&o);
}

/* A closed standard output is an error, not a file of ours that happens to be opened as the first
 * one. */
static void test_closed_output(void **state)
{
	struct run_output o = testing_run("run synth:constant,n=3 -p paged -x fixed:step_ns=1 >&-");

	(void)state;
	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "cannot write to the standard output"));
	testing_run_free(&o);
	o = testing_run("--help > /dev/full");
	assert_exit(o, 1);
	testing_run_free(&o);
}

static void test_control_characters(void **state)
{
	struct run_output o =
		testing_run("run \"$(printf 'a\\033b\\nc')\" -p paged -x fixed:step_ns=1");

	(void)state;
	assert_exit(o, 1);
	assert_ptr_equal(strchr(o.err, '\n'), o.err + strlen(o.err) - 1);
	assert_null(strchr(o.err, '\033'));
	testing_run_free(&o);
}

/* A rush in the first half, one request a second of service: half of them wait at the end. */
static void test_a_backlog_that_stays_is_saturated(void **state)
{
	char rows[4096] = "arrive_s,prompt_tok,output_tok\n";

	(void)state;
	for (int i = 0; i < 40; i++) /* two a second, then one */
		snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows), "%g,1,1\n", i / 2.0);
	for (int i = 0; i < 20; i++)
		snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows), "%d,1,1\n", 20 + i);
	struct run_output o = testing_run("run %s -p paged:max_seqs=1 -x fixed:step_ns=1e9 -o csv",
					  testing_file("rush.csv", rows));

	assert_exit(o, 0);
	assert_column(&o, "saturated", "1");
	testing_run_free(&o);
}

/* llama-3-8b has a context of 8192: it is said, in the row and beside it. */
static void test_beyond_the_context(void **state)
{
	struct run_output o = testing_run(
		"run %s -p paged -m llama-3-8b -d l40s -o csv",
		testing_file("long.csv", "arrive_s,prompt_tok,output_tok\n0,8190,2\n1,8190,3\n"));

	(void)state;
	assert_exit(o, 0);
	assert_non_null(strstr(o.err, " 1 requests longer than the model's context"));
	assert_column(&o, "notes", "roofline beyond-context");
	testing_run_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs_do_not_overflow),
		cmocka_unit_test(test_many_steps_of_no_length),
		cmocka_unit_test(test_idle_time_of_many_instances),
		cmocka_unit_test(test_a_pool_beyond_all_bytes),
		cmocka_unit_test(test_endless_input),
		cmocka_unit_test(test_closed_output),
		cmocka_unit_test(test_control_characters),
		cmocka_unit_test(test_a_backlog_that_stays_is_saturated),
		cmocka_unit_test(test_beyond_the_context),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
