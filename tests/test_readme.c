/*
 * The READMEs are transcripts: every command of their ```console blocks is run, and what it prints
 * is what stands there, to the byte. The policy of policies/README.md is really added.
 */
#include "tests/testing.h"
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct transcript {
	FILE *in;
	const char *name;
	int line_no, n_run, n_wrong;
	bool has_sqlite3;
	char line[4096];
};

static bool next_line(struct transcript *t)
{
	if (!fgets(t->line, sizeof(t->line), t->in))
		return false;
	char *end = strchr(t->line, '\n');
	CHECK(end, "%s:%d: a line of more than %zu bytes", t->name, t->line_no + 1,
	      sizeof(t->line));
	*end = '\0';
	t->line_no++;
	return true;
}

static bool at_fence(const struct transcript *t)
{
	return strncmp(t->line, "```", 3) == 0;
}

/* On to the next line that opens a block, where there is one. */
static bool next_block(struct transcript *t)
{
	while (next_line(t))
		if (at_fence(t))
			return true;
	return false;
}

static void skip_block(struct transcript *t)
{
	while (next_line(t) && !at_fence(t))
		;
}

static FILE *open_readme(const char *name)
{
	char path[1024];
	snprintf(path, sizeof(path), "%s/%s", OMNIBUS_SOURCE, name);
	FILE *in = fopen(path, "r");
	if (!in)
		print_error("%s: %s\n", path, strerror(errno));
	assert_non_null(in);
	return in;
}

static bool shell(const char *command)
{
	int status = system(command);
	return status == 0;
}

/* A folder in which the commands of a README find what they name. */
static void make_folder(const char *name, const char *trace)
{
	const char *path = testing_path(name);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chdir(path), 0);
	assert_int_equal(mkdir("build", 0700), 0);
	assert_int_equal(symlink(OMNIBUS_PROGRAM, "build/omnibus"), 0);
	assert_int_equal(symlink(OMNIBUS_BENCH, "build/omnibus-bench"), 0);
	/* links to the files in a folder of its own: no command can change those of the project */
	assert_int_equal(mkdir("traces", 0700), 0);
	assert_true(shell("ln -s '" OMNIBUS_SOURCE "'/traces/* traces/"));
	if (!trace)
		return;
	/* this one and those beside it, and what was measured */
	char command[4096];
	int len = (int)(strrchr(trace, '/') - trace);
	int n = snprintf(command, sizeof(command), "ln -s '%.*s'/* . && ln -s '%.*s/../measured' .",
			 len, trace, len, trace);
	assert_true(n > 0 && (size_t)n < sizeof(command) && shell(command));
}

/* Reads what the command printed beside what the README has, up to the next command or the fence.
 */
static void compare_output(struct transcript *t, const char *command, FILE *got, bool skipped)
{
	char line[sizeof(t->line)];
	bool wrong = skipped; /* then nothing is compared */
	int start = t->line_no;
	while (next_line(t) && !at_fence(t) && strncmp(t->line, "$ ", 2) != 0) {
		const char *printed = wrong ? NULL : fgets(line, sizeof(line), got);
		if (printed)
			line[strcspn(line, "\n")] = '\0';
		if (wrong || (printed && strcmp(printed, t->line) == 0))
			continue;
		wrong = true;
		print_error("%s:%d: $ %s\n  there: %s\n  now:   %s\n", t->name, t->line_no, command,
			    t->line, printed ? printed : "(the end)");
	}
	if (!wrong && fgets(line, sizeof(line), got)) {
		wrong = true;
		print_error("%s:%d: $ %s\n  there: (the end)\n  now:   %s\n", t->name, start,
			    command, line);
	}
	t->n_wrong += wrong && !skipped;
}

static bool is_skipped(const struct transcript *t, const char *command)
{
	if (t->has_sqlite3 || strncmp(command, "sqlite3 ", 8) != 0)
		return false;
	print_message("skipped, sqlite3 is not here: %s\n", command);
	return true;
}

/* At a line that starts with "$ "; afterwards behind the output of the command. */
static void run_command(struct transcript *t)
{
	char command[sizeof(t->line) * 2], whole[sizeof(command) + 64];
	size_t n = (size_t)snprintf(command, sizeof(command), "%s", t->line + 2);
	while (n > 0 && command[n - 1] == '\\' && next_line(t)) /* goes on in the next line */
		n += (size_t)snprintf(command + n - 1, sizeof(command) - n, "%s", t->line) - 1;
	assert_true(n < sizeof(command));
	bool skipped = is_skipped(t, command);
	snprintf(whole, sizeof(whole), "{ %s\n} >.stdout 2>.stderr </dev/null",
		 skipped ? ":" : command);
	int status = system(whole);
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 2) {
		print_error("%s:%d: $ %s\n  ended with %d\n", t->name, t->line_no, command, status);
		shell("cat .stderr >&2");
		t->n_wrong++;
	}
	FILE *got = fopen(".stdout", "r");
	assert_non_null(got);
	compare_output(t, command, got, skipped);
	fclose(got);
	t->n_run++;
}

static void run_block(struct transcript *t)
{
	bool inside = next_line(t);
	while (inside && !at_fence(t)) {
		if (strncmp(t->line, "$ ", 2) != 0) {
			print_error("%s:%d: '%s' is no command\n", t->name, t->line_no, t->line);
			t->n_wrong++;
			inside = next_line(t);
			continue;
		}
		run_command(t);
		inside = !feof(t->in);
	}
}

/* Blocks of real traces have a folder of their own: the other blocks do not depend on them. */
static void run_blocks(struct transcript *t, const char *info, const char *folder,
		       const char *trace)
{
	t->in = open_readme(t->name);
	t->line_no = 0;
	make_folder(folder, trace);
	while (next_block(t)) {
		if (strcmp(t->line + 3, info) == 0)
			run_block(t);
		else
			skip_block(t);
	}
	fclose(t->in);
}

static const char *const readmes[] = {
	"README.md",	     "policies/README.md",  "traces/README.md",
	"results/README.md", "calibrate/README.md",
};
enum { N_READMES = sizeof(readmes) / sizeof(*readmes) };

static void run_readmes(const char *info, const char *folder, const char *trace, int at_least)
{
	int n_run = 0, n_wrong = 0;
	for (size_t i = 0; i < N_READMES; i++) {
		char own[64];
		struct transcript t = {.name = readmes[i],
				       .has_sqlite3 = shell("command -v sqlite3 >/dev/null")};
		snprintf(own, sizeof(own), "%s%zu", folder, i);
		run_blocks(&t, info, own, trace);
		n_run += t.n_run;
		n_wrong += t.n_wrong;
	}
	print_message("%d commands\n", n_run);
	assert_true(n_run >= at_least);
	assert_i64(n_wrong, 0);
}

static void test_transcripts(void **state)
{
	(void)state;
	run_readmes("console", "plain", NULL, 10);
}

static void test_transcripts_of_a_real_trace(void **state)
{
	(void)state;
	shared_or_skip(trace, "traces/AzureLLMInferenceTrace_conv.csv");
	if (trace[0] != '/') {
		print_message("skipped: %s is no absolute path\n", trace);
		skip();
	}
	run_readmes("console real-trace", "real", trace, 1);
}

/* A cell of a table that is nothing but a number. */
static bool has_number_cell(const char *line)
{
	for (const char *cell = line; (cell = strchr(cell, '|'));) {
		cell++;
		size_t len = strcspn(cell, "|");
		const char *from = cell + strspn(cell, " ");
		size_t n = strspn(from, "0123456789.,+-%");
		size_t end = n + strspn(from + n, " ");
		if (from + end == cell + len && strcspn(from, "0123456789") < n)
			return true;
	}
	return false;
}

/* Results in the main README stand under the command that prints them, not in tables by hand. */
static void test_no_numbers_by_hand(void **state)
{
	(void)state;
	struct transcript t = {.name = readmes[0], .in = open_readme(readmes[0])};
	while (next_line(&t)) {
		if (at_fence(&t))
			skip_block(&t);
		else if (t.line[0] == '|' && has_number_cell(t.line)) {
			print_error("%s:%d: %s\n", t.name, t.line_no, t.line);
			t.n_wrong++;
		}
	}
	fclose(t.in);
	assert_i64(t.n_wrong, 0);
}

/* The n-th block of C in policies/README.md, into a file, after what is in `before`. */
static void extract(int n, const char *path, const char *before)
{
	struct transcript t = {.name = readmes[1], .in = open_readme(readmes[1])};
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	if (before) {
		FILE *in = open_readme(before);
		for (int c; (c = getc(in)) != EOF;)
			putc(c, out);
		fclose(in);
	}
	while (next_block(&t) && (strcmp(t.line, "```c") != 0 || n-- > 0))
		skip_block(&t);
	while (next_line(&t) && !at_fence(&t))
		fprintf(out, "%s\n", t.line);
	fclose(t.in);
	assert_int_equal(fclose(out), 0);
}

static void compile(const char *args)
{
	char command[4096];
	int n = snprintf(command, sizeof(command), "%s -std=c11 %s %s >.cc 2>&1", OMNIBUS_CC,
			 OMNIBUS_CC_FLAGS, args);
	assert_true(n > 0 && (size_t)n < sizeof(command));
	if (shell(command))
		return;
	print_error("%s\n", command);
	shell("head -50 .cc >&2");
	fail();
}

static void assert_first_tokens(FILE *rows, const char *policy, double mean_s)
{
	json_error_t e;
	json_t *row = json_loadf(rows, JSON_DISABLE_EOF_CHECK, &e);
	assert_non_null(row);
	assert_string_equal(json_string_value(json_object_get(row, "policy")), policy);
	assert_near(json_real_value(json_object_get(row, "ttft_mean_s")), mean_s, 1e-12);
	json_decref(row);
}

/*
 * One file and one line in the list, nothing else: the program is linked anew with both, and has
 * the policy. Three prompts of 30, 20 and 10 tokens at once, one seat, 1 ms a token: the shortest
 * first has its token after 10, 30 and 60 ms; in the order of arrival it would be 30, 50 and 60.
 */
static void test_the_policy_is_added(void **state)
{
	(void)state;
	make_folder("added", NULL);
	assert_int_equal(mkdir("policies", 0700), 0);
	extract(0, "policies/shortest.c", NULL);
	extract(1, "policies/list.h", "policies/list.h");
	compile("-fsyntax-only -Wall -Wextra -Wpedantic -Werror -I " OMNIBUS_SOURCE
		" policies/shortest.c");
	compile("-O1 -D_POSIX_C_SOURCE=200809L -DOMNIBUS_VERSION='\"0\"' -I . -I " OMNIBUS_SOURCE
		" policies/shortest.c " OMNIBUS_SOURCE "/sim/choice.c " OMNIBUS_SOURCE
		"/sim/main.c -o omnibus " OMNIBUS_CORE " " OMNIBUS_LIBS);
	assert_true(
		shell("./omnibus list policies | grep -q '^shortest  *shortest prompt first$'"));
	assert_true(shell("printf 'arrive_s,prompt_tok,output_tok\\n0,30,1\\n0,20,1\\n0,10,1\\n' "
			  "> three.csv"));
	assert_true(shell("./omnibus run three.csv -p shortest:max_seqs=1 -p paged:max_seqs=1 "
			  "-x fixed:prefill_tok_ns=1e6 -o jsonl >out 2>.stderr"));
	FILE *out = fopen("out", "r");
	assert_non_null(out);
	assert_first_tokens(out, "shortest", (0.010 + 0.030 + 0.060) / 3);
	assert_first_tokens(out, "paged", (0.030 + 0.050 + 0.060) / 3);
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_transcripts),
		cmocka_unit_test(test_transcripts_of_a_real_trace),
		cmocka_unit_test(test_no_numbers_by_hand),
		cmocka_unit_test(test_the_policy_is_added),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
