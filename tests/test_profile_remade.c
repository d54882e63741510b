/*
 * The commands of calibrate/profiles/README.md give the profiles that the program has, to the byte.
 * Two of them: one of published coefficients, and one of every kind of fit, which takes some
 * seconds, as it tries all forms on 20,000 points.
 */
#include "testing.h"
#include <string.h>

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = xcalloc(1, 1 << 20);

	if (f && fread(text, 1, (1 << 20) - 1, f) == 0)
		text[0] = '\0';
	if (f)
		fclose(f);
	return text;
}

/* A command of calibrate/profiles/README.md, its last paths taken from `measured` and to `to`. */
static char *command_of(const char *name, const char *measured, const char *to)
{
	char *readme = read_file(testing_source("calibrate/profiles/README.md")), needle[128];
	char *line = xcalloc(1, 1 << 14), *out = line;

	snprintf(needle, sizeof(needle), "-o calibrate/profiles/%s.json", name);
	const char *at = strstr(readme, needle);
	assert_non_null(at);
	while (at > readme && strncmp(at, "omnibus ", 8) != 0)
		at--;
	for (at += 8; *at && !(at[0] == '\n' && at[-1] != '\\'); at++) {
		if (strncmp(at, needle, strlen(needle)) == 0) {
			out += sprintf(out, "-o %s", to);
			at += strlen(needle) - 1;
		} else if (strncmp(at, "measured/", 9) == 0) {
			out += sprintf(out, "%s/", measured);
			at += 8;
		} else if (*at != '\\' && *at != '\n') {
			*out++ = *at;
		}
	}
	free(readme);
	return line;
}

static void remade(const char *name)
{
	shared_or_skip(measured, "measured");
	char file[64], built_in[96];

	snprintf(file, sizeof(file), "%s.json", name);
	snprintf(built_in, sizeof(built_in), "calibrate/profiles/%s.json", name);
	const char *path = testing_path(file);
	char *args = command_of(name, measured, path);
	struct run_output o = testing_run("%s", args);
	char *want = read_file(testing_source(built_in)), *got = read_file(path);

	assert_exit(o, 0);
	assert_true(want[0] == '{');
	assert_string_equal(got, want);
	testing_run_free(&o);
	free(args);
	free(want);
	free(got);
}

static void test_distserve_is_made_again(void **state)
{
	(void)state;
	remade("a100-80g-distserve");
}

static void test_rtx_is_made_again(void **state)
{
	(void)state;
	remade("rtx-pro-6000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distserve_is_made_again),
		cmocka_unit_test(test_rtx_is_made_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
