/* omnibus-fuzz from outside: what it prints, and that a case that aborts is one that fails. */
#include "tests/testing.h"
#include <string.h>
#include <sys/wait.h>

static int run(const char *args, char *out, size_t size)
{
	char line[1024];
	size_t n;
	FILE *p;

	snprintf(line, sizeof(line), "'%s' %s 2>&1", OMNIBUS_FUZZ_PROGRAM, args);
	p = popen(line, "r"); /* NOLINT(cert-env33-c): the path is our own */
	assert_non_null(p);
	n = fread(out, 1, size - 1, p);
	out[n] = '\0';
	return WEXITSTATUS(pclose(p));
}

static void check(const char *args, int code, const char *part)
{
	char out[16384];
	int got = run(args, out, sizeof(out));

	if (got != code || !strstr(out, part))
		fail_msg("omnibus-fuzz %s: exit code %d, not %d, or no '%s' in: %s", args, got,
			 code, part, out);
}

static void test_usage(void **state)
{
	(void)state;
	check("", 2, "usage: omnibus-fuzz");
	check("0", 2, "usage: omnibus-fuzz");
	check("ten", 2, "usage: omnibus-fuzz");
	check("1 seven", 2, "usage: omnibus-fuzz");
	check("1 2 3", 2, "usage: omnibus-fuzz");
	check("--case 'colour=red requests=0:1:1'", 2, "'colour=red' is no setting of a case");
}

/* A prefill of 10 and two decode steps of 10. */
static void test_one_case(void **state)
{
	(void)state;
	check("--case 'requests=0:5:3'", 0, "tokens=10,20,30");
	check("0.2 7", 0, "seed 7: ");
}

/* No policy has no seats: harness.c aborts. What has nothing to do with it is taken out. */
static void test_case_that_aborts(void **state)
{
	(void)state;
	check("--case 'seats=0 watermark=0.5 instances=3 requests=0:7:3,5:3:4,9:1:1'", 1,
	      "signal 6\nomnibus-fuzz --case 'seats=0 requests=0:1:1'\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_one_case),
		cmocka_unit_test(test_case_that_aborts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
