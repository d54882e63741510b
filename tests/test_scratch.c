/* Folders of a command: gone with it, whatever ends it. */
#include "sim/scratch.h"
#include "tests/testing.h"
#include "traces/outfile.h"
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* TMPDIR of a name as long as any; what folders of a command in it begin with. */
static const char *make_tmpdir(void)
{
	static char path[1024], begin[1100];
	char name[201];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(path, sizeof(path), "%s", testing_path(name));
	mkdir(path, 0700);
	snprintf(begin, sizeof(begin), "%s/omnibus-", path);
	assert_i64(setenv("TMPDIR", path, 1), 0);
	return begin;
}

static bool write_file(const char *path)
{
	FILE *f = fopen(path, "w");

	return f && fputs("x", f) >= 0 && fclose(f) == 0;
}

static void gone_at_the_end(void **state)
{
	const char *begin = make_tmpdir();
	struct err e;

	(void)state;
	for (int i = 0; i < 2; i++) { /* one after the other */
		assert_fine(scratch_open(&e), e);
		const char *a = scratch_file("a"), *b = scratch_file("b");
		assert_true(write_file(a) && write_file(b));
		assert_i64(strncmp(a, begin, strlen(begin)), 0);
		assert_i64(testing_count_files(a), 1);
		assert_i64(testing_count_files(begin), 1);
		scratch_file("not there");
		scratch_close();
		assert_i64(testing_count_files(begin), 0);
	}
}

/* With one file that is there, and one that is being written. */
static void gone_with_a_signal(void **state)
{
	static const int endings[] = {SIGINT, SIGTERM, SIGHUP};
	const char *begin = make_tmpdir();

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		int status;
		pid_t child = fork();

		if (!child) {
			struct outfile o;
			struct err e;

			signal(endings[i], SIG_DFL);
			if (scratch_open(&e) || !write_file(scratch_file("a")) ||
			    outfile_open(&o, scratch_file("b"), &e) ||
			    testing_count_files(begin) != 1)
				_exit(1);
			raise(endings[i]);
			_exit(2);
		}
		assert_i64(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		assert_i64(WTERMSIG(status), endings[i]);
		assert_i64(testing_count_files(begin), 0);
	}
}

static void no_folder(void **state)
{
	struct err e;

	(void)state;
	assert_i64(setenv("TMPDIR", testing_path("nowhere"), 1), 0);
	assert_refused(scratch_open(&e), e, "(TMPDIR): No such file or directory");
	unsetenv("TMPDIR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gone_at_the_end),
		cmocka_unit_test(gone_with_a_signal),
		cmocka_unit_test(no_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
