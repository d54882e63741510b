#include "tests/run_rows.h"
#include <string.h>
#include <unistd.h>

/* Five requests in the form of the Azure 2023 traces; the figures are made up. */
static const char *small_trace(void)
{
	return testing_file("small.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n"
					 "2023-11-16 18:15:46.0000000,374,44\n"
					 "2023-11-16 18:15:46.5000000,396,109\n"
					 "2023-11-16 18:15:46.5000000,879,55\n"
					 "2023-11-16 18:15:47.2500000,91,16\n"
					 "2023-11-16 18:15:49.0000000,91,1\n");
}

static void assert_contains(const char *text, const char *part, const char *what)
{
	if (strstr(text, part))
		return;
	print_error("%s: no '%s' in: %s\n", what, part, text);
	fail();
}

/* Exit code `code`, nothing on stdout, one line on stderr with all of `parts` (NULL-terminated). */
static void assert_complaint(const char *args, int code, const char *const *parts)
{
	struct run_output o = testing_run("%s", args);
	if (o.code != code || o.out[0] || count_lines(o.err) != 1)
		print_error("omnibus %s: exit %d, stdout '%s', stderr '%s'\n", args, o.code, o.out,
			    o.err);
	assert_i64(o.code, code);
	assert_string_equal(o.out, "");
	assert_i64(count_lines(o.err), 1);
	for (; *parts; parts++)
		assert_contains(o.err, *parts, args);
	testing_run_free(&o);
}

static void test_version(void **state)
{
	(void)state;
	struct run_output o = testing_run("--version");
	assert_exit(o, 0);
	assert_string_equal(o.out, "omnibus " OMNIBUS_VERSION "\n");
	assert_string_equal(o.err, "");
	testing_run_free(&o);
}

static const char *const commands[] = {"run", "compare", "capacity", "trace", "list"};
enum { N_COMMANDS = sizeof(commands) / sizeof(*commands) };

static void test_usage(void **state)
{
	(void)state;
	struct run_output help = testing_run("--help"), none = testing_run(" ");
	assert_exit(help, 0);
	assert_string_equal(help.err, "");
	for (size_t i = 0; i < N_COMMANDS; i++)
		assert_contains(help.out, commands[i], "--help");
	assert_exit(none, 2);
	assert_string_equal(none.out, "");
	assert_string_equal(none.err, help.out);
	testing_run_free(&help);
	testing_run_free(&none);
}

/* What the manual promises of each command. */
static const struct {
	const char *command, *options; /* separated by blanks */
} promised[] = {
	{"run",
	 "--policy --model --device --tp --instances --router --executor --rate --speed "
	 "--closed-loop --skip --limit --window --seed --horizon --max-model-len --too-long "
	 "--max-tokens --kv-tokens --kv-blocks --utilization --reserve --block --memory --pp "
	 "--kv-bits --slo --db "
	 "--output --requests --no-fast-forward --jobs --help"},
	{"compare", "--db --output --help"},
	{"capacity",
	 "--model --device --memory --tp --pp --kv-bits --context --utilization --reserve "
	 "--output --help"},
	{"trace info", "--columns --sort --help"},
	{"trace convert", "--columns --sort --help"},
	{"trace generate", "--help"},
	{"list", "--help"},
};

static void test_help_of_every_command(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(promised) / sizeof(*promised); i++) {
		struct run_output o = testing_run("%s --help", promised[i].command);
		assert_exit(o, 0);
		assert_string_equal(o.err, "");
		assert_contains(o.out, "usage: omnibus ", promised[i].command);
		char copy[512], *rest = NULL;
		snprintf(copy, sizeof(copy), "%s", promised[i].options);
		for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
			char entry[80]; /* as an entry of the table, not within a text */
			snprintf(entry, sizeof(entry), " %s", w);
			assert_contains(o.out, entry, promised[i].command);
		}
		testing_run_free(&o);
	}
}

static void test_unknown_command(void **state)
{
	(void)state;
	static const char *const parts[] = {"unknown command 'rnu'", "nearest is 'run'",
					    "valid: run, compare", NULL};
	assert_complaint("rnu", 2, parts);
}

static void test_unknown_option_of_every_command(void **state)
{
	(void)state;
	static const char *const parts[] = {"'--hlep'", "nearest is '--help'", "valid: --", NULL};
	for (size_t i = 0; i < sizeof(promised) / sizeof(*promised); i++) {
		char args[80];
		snprintf(args, sizeof(args), "%s --hlep", promised[i].command);
		assert_complaint(args, 2, parts);
	}
}

/* Names: what is asked for, the nearest and another of the valid ones. */
static void test_unknown_names(void **state)
{
	(void)state;
	static const struct {
		const char *before, *after; /* of the trace */
		const char *parts[4];
	} rows[] = {
		{"run",
		 "-p pagd -m llama-3-8b -d h200",
		 {"unknown policy 'pagd'", "nearest is 'paged'", "disaggregated"}},
		{"run",
		 "-p vllm-v -m llama-3-8b -d h200",
		 {"unknown policy 'vllm-v'", "nearest is 'vllm-v0'", "sarathi"}},
		{"run",
		 "-p paged:chnk=5 -m llama-3-8b -d h200",
		 {"unknown parameter of paged 'chnk'", "nearest is 'chunk'", "watermark"}},
		{"run",
		 "-p disaggregated:prefil=2 -m llama-3-8b -d h200",
		 {"unknown parameter of disaggregated 'prefil'", "nearest is 'prefill'", "decode"}},
		{"run",
		 "-p paged -m llama-3-8 -d h200",
		 {"unknown model 'llama-3-8'", "nearest is 'llama-3-8b'", "deepseek-v3"}},
		{"run",
		 "-p paged -m llama-3-8b -d h2000",
		 {"unknown device 'h2000'", "nearest is 'h200'", "a100-80g"}},
		{"run",
		 "-p paged -m llama-3-8b -d h200 --router least-kx",
		 {"unknown router 'least-kx'", "nearest is 'least-kv'", "power-of-two"}},
		{"run",
		 "-p paged -m llama-3-8b -d h200 -x fxed",
		 {"unknown executor 'fxed'", "nearest is 'fixed'", "predict"}},
		{"run",
		 "-p paged -m llama-3-8b -d h200 --slo ttf=1",
		 {"unknown parameter of --slo 'ttf'", "nearest is 'ttft'", "maxgap"}},
		{"trace convert",
		 "-f mooncake",
		 {"unknown format 'mooncake'", "nearest is 'mooncake-jsonl'", "azure-csv"}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char args[512];
		snprintf(args, sizeof(args), "%s %s %s", rows[i].before, small_trace(),
			 rows[i].after);
		assert_complaint(args, 2, rows[i].parts);
	}
}

static void test_unknown_names_without_trace(void **state)
{
	(void)state;
	static const struct {
		const char *args, *parts[4];
	} rows[] = {
		{"capacity -m llama-3-8 -d h200",
		 {"unknown model", "nearest is 'llama-3-8b'", "phi-4"}},
		{"capacity -m phi-4 -d h10", {"unknown device", "nearest is 'h100'", "a100-80g"}},
		{"list polices", {"unknown list", "nearest is 'policies'", "executors"}},
		{"trace inf", {"unknown trace command", "nearest is 'info'", "generate"}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_complaint(rows[i].args, 2, rows[i].parts);
}

/* Each is refused with one sentence before anything is written. */
static void test_wrong_usage_of_run(void **state)
{
	(void)state;
	static const struct {
		const char *options, *part;
	} rows[] = {
		{"-m llama-3-8b -d h200", "no policy"},
		{"-p paged", "-m MODEL and -d DEVICE"},
		{"-p paged -m llama-3-8b", "-d DEVICE"},
		{"-p '' -m llama-3-8b -d h200", "unknown policy ''"},
		{"-p paged:max_seqs -m llama-3-8b -d h200", "name=value"},
		{"-p paged:max_seqs=0 -m llama-3-8b -d h200", "'0' is not a whole number from 1"},
		{"-p paged:max_seqs=1,max_seqs=2 -m llama-3-8b -d h200", "given twice"},
		{"-p paged:preempt=kill -m llama-3-8b -d h200", "valid: recompute, swap"},
		{"-p paged:watermark=nan -m llama-3-8b -d h200", "'nan' is not a number"},
		{"-p paged -m llama-3-8b -d h200 --tp 0", "--tp: '0'"},
		{"-p paged -m llama-3-8b -d h200 --instances -1", "--instances: '-1'"},
		{"-p paged -m llama-3-8b -d h200 --rate 0", "--rate: '0'"},
		{"-p paged -m llama-3-8b -d h200 --rate 1,x", "'x'"},
		{"-p paged -m llama-3-8b -d h200 --rate 2 --speed 2", "give one"},
		{"-p paged -m llama-3-8b -d h200 --window 5", "FROM:TO"},
		{"-p paged -m llama-3-8b -d h200 --limit 1e3", "'1e3' is not a whole number"},
		{"-p paged -m llama-3-8b -d h200 --seed 1.5", "'1.5' is not a whole number"},
		{"-p paged -m llama-3-8b -d h200 --horizon inf", "'inf' is not a number"},
		{"-p paged -m llama-3-8b -d h200 --too-long cut", "reject"},
		{"-p paged -m llama-3-8b -d h200 --max-tokens x", "model or output"},
		{"-p paged -m llama-3-8b -d h200 --kv-tokens 99 --kv-blocks 3", "give one"},
		{"-p paged -m llama-3-8b -d h200 --utilization 1.5", "'1.5' is not a number"},
		{"-p paged -m llama-3-8b -d h200 --block 0", "--block: '0'"},
		{"-p paged -m llama-3-8b -d h200 --slo ttft=-1", "'-1' is not a number"},
		{"-p paged -m llama-3-8b -d h200 -o xml", "csv"},
		{"-p paged -m llama-3-8b -d h200 --requests some", "none"},
		{"-p paged -m llama-3-8b -d h200 --jobs 0", "--jobs: '0'"},
		{"-p paged -m llama-3-8b -m phi-4 -d h200", "--model is given twice"},
		{"-p paged -m llama-3-8b -d", "--device needs a value"},
		{"-p paged -m llama-3-8b -d h200 --no-fast-forward=1", "takes no value"},
		{"-p paged -m llama-3-8b -d h200 another.csv", "one argument too many"},
	};
	const char *db = testing_path("refused.db");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char args[512];
		snprintf(args, sizeof(args), "run %s --db %s %s", small_trace(), db,
			 rows[i].options);
		const char *parts[] = {rows[i].part, NULL};
		assert_complaint(args, 2, parts);
		assert_i64(access(db, F_OK), -1);
	}
}

/* Right usage, but it cannot be done: exit code 1. */
static void test_failures(void **state)
{
	(void)state;
	static const struct {
		const char *args, *part;
	} rows[] = {
		{"run /no/such.csv -p paged -m llama-3-8b -d h200", "/no/such.csv"},
		{"compare --db /no/such.db", "/no/such.db"},
		{"trace info /no/such.csv", "/no/such.csv"},
		{"capacity -m /no/config.json -d h200", "/no/config.json"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *parts[] = {rows[i].part, NULL};
		assert_complaint(rows[i].args, 1, parts);
	}
}

static const char *const run_options = "-p static -p continuous -p paged -p disaggregated "
				       "-m llama-3-8b -d h200 --rate 1,4 -o csv";

/* stdout is the table alone: a header, and a line for each policy at each rate, to the byte. */
static void test_stdout_is_the_result(void **state)
{
	(void)state;
	const char *trace = small_trace();
	struct run_output one = testing_run("run %s %s --jobs 1", trace, run_options);
	struct run_output two = testing_run("run %s %s --jobs 2", trace, run_options);
	struct run_output piped = testing_run("run - %s < %s", run_options, trace);
	assert_exit(one, 0);
	assert_i64(count_lines(one.out), 1 + 4 * 2);
	assert_i64(strncmp(one.out, "run_id,policy,params,times,model,device,requests,", 49), 0);
	assert_string_equal(two.out, one.out);
	assert_string_equal(piped.out, one.out);
	assert_null(strchr(one.err, '\r')); /* no progress line: that is for a terminal */
	assert_null(strstr(one.err, "run_id"));
	testing_run_free(&one);
	testing_run_free(&two);
	testing_run_free(&piped);
}

/* What a file is called stays on one line, and is no order to a terminal. */
static void test_names_of_files(void **state)
{
	(void)state;
	const char *path =
		testing_file("a\nb\xff\x1b.csv", "arrive_s,prompt_tok,output_tok\n0,1,1\n");
	struct run_output all[] = {
		testing_run("run '%s' -x fixed:step_ns=1e6 -p paged", path),
		testing_run("run '%s.not' -x fixed:step_ns=1e6 -p paged", path),
		testing_run("trace convert '%s' -O '%s/x'", path, path),
		testing_run("plot cdf --db '%s' --format tsv", path),
		testing_run("trace info '%s' >&2", path),
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_non_null(strstr(all[i].err, "/a?b??.csv"));
		if (i < 4)
			assert_i64(count_lines(all[i].err), 1);
		testing_run_free(&all[i]);
	}
}

/* Nobody reads the result: a failure, not a crash and not a success. */
static void test_full_disk(void **state)
{
	(void)state;
	if (access("/dev/full", W_OK) != 0) {
		print_message("skipped: /dev/full is not here\n");
		skip();
	}
	struct run_output o = testing_run("list models > /dev/full");
	assert_exit(o, 1);
	assert_i64(count_lines(o.err), 1);
	testing_run_free(&o);
}

/*
 * A limit on the size of files stands for a disk that is full when the first run is stored. What
 * stays holds no run, whatever it has of a database by then, and the next run is its first.
 */
static void test_no_room_for_the_first_run(void **state)
{
	static const int blocks[] = {1, 4, 12, 60, 200}; /* of 512 bytes */
	(void)state;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		static const char run[] = "run synth:poisson,rate=5,n=3000 -x fixed:step_ns=1e7 "
					  "-p paged --db";
		char name[32], command[2048];
		snprintf(name, sizeof(name), "room%d.db", blocks[i]);
		const char *path = testing_path(name);
		snprintf(command, sizeof(command),
			 "ulimit -f %d; %s %s %s 2>&1 | /bin/grep -q 'writing failed: '", blocks[i],
			 run_program, run, path);
		assert_i64(system(command), 0);
		struct run_output o = testing_run("compare --db %s", path);
		assert_exit(o, 1);
		assert_string_equal(o.out, "");
		assert_non_null(strstr(o.err, "it holds no run yet"));
		testing_run_free(&o);
		o = testing_run("%s %s", run, path);
		assert_exit(o, 0);
		assert_non_null(strstr(o.out, "|   1 | paged"));
		testing_run_free(&o);
		snprintf(command, sizeof(command), "ls %s-* 2>/dev/null", path);
		assert_true(system(command) != 0);
	}
}

static void test_run_then_compare(void **state)
{
	(void)state;
	const char *db = testing_path("runs.db");
	struct run_output run = testing_run("run %s %s --db %s", small_trace(), run_options, db);
	struct run_output compare = testing_run("compare --db %s -o csv", db);
	assert_exit(run, 0);
	assert_exit(compare, 0);
	assert_string_equal(compare.out, run.out);
	testing_run_free(&run);
	testing_run_free(&compare);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_help_of_every_command),
		cmocka_unit_test(test_unknown_command),
		cmocka_unit_test(test_unknown_option_of_every_command),
		cmocka_unit_test(test_unknown_names),
		cmocka_unit_test(test_unknown_names_without_trace),
		cmocka_unit_test(test_wrong_usage_of_run),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_stdout_is_the_result),
		cmocka_unit_test(test_names_of_files),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_no_room_for_the_first_run),
		cmocka_unit_test(test_run_then_compare),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
