/*
 * testing.h: what every cmocka suite here uses: comparisons that print decimal numbers, the files
 * of a test, and the folder of real data that is not part of the project.
 */
#ifndef TESTS_TESTING_H
#define TESTS_TESTING_H

/* cmocka wants these before it, in this order */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/err.h"

/* Equal integers, printed in decimal. */
#define assert_i64(got, want) testing_i64((int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__)
/* |got - want| <= tolerance */
#define assert_near(got, want, tolerance)                                                          \
	testing_near((double)(got), (double)(want), (double)(tolerance), #got, __FILE__, __LINE__)
/* result is -1 and the sentence contains `part` */
#define assert_refused(result, e, part)                                                            \
	testing_refused((int)(result), &(e), part, #result, __FILE__, __LINE__)
/* result is 0 (or not negative); prints the sentence otherwise */
#define assert_fine(result, e)                                                                     \
	do {                                                                                       \
		int fine_result = (int)(result);                                                   \
		if (fine_result < 0)                                                               \
			testing_not_fine(fine_result, &(e), #result, __FILE__, __LINE__);          \
	} while (0)

void testing_i64(int64_t got, int64_t want, const char *what, const char *file, int line);
void testing_near(double got, double want, double tolerance, const char *what, const char *file,
		  int line);
void testing_refused(int result, const struct err *e, const char *part, const char *what,
		     const char *file, int line);
_Noreturn void testing_not_fine(int result, const struct err *e, const char *what, const char *file,
				int line);

/* A new file of the test's own with this content; the path is valid until the process ends. */
const char *testing_file(const char *name, const char *content);
const char *testing_path(const char *name); /* a path in the test's own folder, not created */

/* Files in the folder of `path` whose names begin with its name. */
int testing_count_files(const char *path);

const char *testing_source(const char *name); /* the path of a file of the project */

/*
 * The path of a file of real measurements and traces beside the project ($OMNIBUS_SHARED, else
 * ../shared beside the source folder), or NULL: then the test calls skip() and says so.
 */
const char *testing_shared(const char *name);
#define shared_or_skip(path, name)                                                                 \
	const char *path = testing_shared(name);                                                   \
	do {                                                                                       \
		if (!path) {                                                                       \
			print_message("skipped: %s is not here\n", name);                          \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

/* Runs the built program with sh, without input unless the line redirects it; `out` and `err` get
 * what it printed. Returns its exit code. */
struct run_output {
	char *out, *err;
	int code;
};
struct run_output testing_run(const char *args_fmt, ...) __attribute__((format(printf, 1, 2)));
void testing_run_free(struct run_output *o);
/* The exit code; prints what the program said on stderr otherwise. */
#define assert_exit(o, want) testing_exit(&(o), want, #o, __FILE__, __LINE__)
void testing_exit(const struct run_output *o, int want, const char *what, const char *file,
		  int line);

#endif
