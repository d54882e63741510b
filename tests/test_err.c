#include "tests/testing.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const policies[] = {"static", "continuous", "paged", "disaggregated"};

static void test_set_formats(void **state)
{
	(void)state;
	struct err e;
	assert_i64(err_set(&e, "%s:%d: expected %s", "a.csv", 7, "a number"), -1);
	assert_string_equal(e.text, "a.csv:7: expected a number");
}

static void test_set_may_quote_itself(void **state)
{
	(void)state;
	struct err e;
	err_set(&e, "column 3 is empty");
	err_set(&e, "a.csv: %s", e.text);
	assert_string_equal(e.text, "a.csv: column 3 is empty");
}

static void test_set_cuts_what_is_too_long(void **state)
{
	(void)state;
	struct {
		struct err e;
		char after;
	} s = {.after = 'x'};
	char text[3000];
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&s.e, "%s", text);
	assert_i64(strnlen(s.e.text, sizeof(s.e.text)), sizeof(s.e.text) - 1);
	assert_i64(s.after, 'x');
}

/* Names of files hold any byte; a sentence is one line of UTF-8 that no terminal obeys. */
static void test_set_is_one_clean_line(void **state)
{
	(void)state;
	struct err e;
	err_set(&e, "%s",
		"a\nb\x1b[31m\x7f \xff\xc3 \xc2\x9b \xed\xa0\x80 \xc3\xa9\xf0\x9f\x98\x80");
	assert_string_equal(e.text, "a?b?[31m? ?? ? ??? \xc3\xa9\xf0\x9f\x98\x80");
}

static void assert_nearest(const char *got, const char *want)
{
	struct err e;
	char part[64];
	snprintf(part, sizeof(part), "nearest is '%s';", want);
	assert_refused(err_unknown(&e, "policy", got, policies, 4), e, part);
}

static void test_unknown_names_all(void **state)
{
	(void)state;
	struct err e;
	assert_i64(err_unknown(&e, "policy", "pagd", policies, 4), -1);
	assert_string_equal(e.text, "unknown policy 'pagd', nearest is 'paged'; "
				    "valid: static, continuous, paged, disaggregated");
}

static void test_unknown_nearest(void **state)
{
	(void)state;
	assert_nearest("statik", "static");
	assert_nearest("Paged", "paged");
	assert_nearest("continous", "continuous");
	assert_nearest("paeg", "paged");
	assert_nearest("disagregated", "disaggregated");
	assert_nearest("tatic", "static");
	assert_nearest("", "paged"); /* 5 letters to add, the fewest */
}

/* By edits alone "dis" would be nearer to the short names. */
static void test_unknown_prefix_is_nearest(void **state)
{
	(void)state;
	assert_nearest("dis", "disaggregated");
	assert_nearest("con", "continuous");
}

static void test_unknown_of_nothing(void **state)
{
	(void)state;
	struct err e;
	assert_refused(err_unknown(&e, "preset", "x", policies, 0), e,
		       "unknown preset 'x': there are none");
}

static void test_unknown_survives_long_names(void **state)
{
	(void)state;
	char got[2000], name[200];
	const char *many[100];
	memset(got, 'g', sizeof(got) - 1);
	got[sizeof(got) - 1] = '\0';
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < 100; i++)
		many[i] = name;
	struct err e;
	assert_i64(err_unknown(&e, "name", got, many, 100), -1);
	assert_i64(strnlen(e.text, sizeof(e.text)), sizeof(e.text) - 1);
	assert_non_null(strstr(e.text, "; valid: nnn"));
}

static void test_memory(void **state)
{
	(void)state;
	char *s = xstrdup("text");
	assert_string_equal(s, "text");
	s = xrealloc(s, 1000);
	assert_string_equal(s, "text");
	s = xrealloc(s, 0); /* still memory to free once */
	assert_non_null(s);
	free(s);
	int64_t *zero = xcalloc(3, sizeof(*zero));
	assert_i64(zero[0] | zero[1] | zero[2], 0);
	free(zero);
	free(xmalloc(0));
	free(xcalloc(0, 8));
}

/* One sentence and exit code 1; what was to be printed is not. */
static void test_out_of_memory(void **state)
{
	(void)state;
	int to[2], code;
	char said[256];
	assert_int_equal(pipe(to), 0);
	pid_t child = fork();
	if (child == 0) {
		dup2(to[1], STDERR_FILENO);
		dup2(to[1], STDOUT_FILENO);
		printf("a result");
		no_memory(SIZE_MAX / 4, 16);
	}
	close(to[1]);
	ssize_t n = read(to[0], said, sizeof(said) - 1);
	assert_true(n > 0);
	said[n] = '\0';
	assert_int_equal(read(to[0], said + n, 1), 0);
	close(to[0]);
	assert_int_equal(waitpid(child, &code, 0), child);
	assert_true(WIFEXITED(code));
	assert_i64(WEXITSTATUS(code), 1);
	assert_string_equal(said, "omnibus: out of memory: 18446744073709551615 more bytes were "
				  "needed\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_formats),
		cmocka_unit_test(test_set_may_quote_itself),
		cmocka_unit_test(test_set_is_one_clean_line),
		cmocka_unit_test(test_set_cuts_what_is_too_long),
		cmocka_unit_test(test_unknown_names_all),
		cmocka_unit_test(test_unknown_nearest),
		cmocka_unit_test(test_unknown_prefix_is_nearest),
		cmocka_unit_test(test_unknown_of_nothing),
		cmocka_unit_test(test_unknown_survives_long_names),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_out_of_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
