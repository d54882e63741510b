/*
 * run_rows.h: for suites that start `omnibus run` and look at what comes out of it.
 */
#ifndef TESTS_RUN_ROWS_H
#define TESTS_RUN_ROWS_H

#include "tests/testing.h"
#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#define FOUR "-p static -p continuous -p paged -p disaggregated "
#define HW   "-m llama-3-8b -d h200 "
#define FAST "-x fixed:step_ns=1e7 "

extern const char run_program[]; /* the path of the program */

/* `args` follow "omnibus run"; the exit code is 0, or the test fails. */
struct run_output run_well(const char *args);
void assert_says(const char *args, const char *part); /* on stderr */
pid_t run_start(const char *args);		      /* does not wait; nothing is printed */

/* The rows that it prints, as JSON. */
enum { ROWS_MAX = 32 };
struct results {
	json_t *row[ROWS_MAX];
	size_t n;
};
struct results run_rows(const char *args);
void free_rows(struct results *r);
double row_number(const struct results *r, size_t i, const char *name);
const char *row_text(const struct results *r, size_t i, const char *name);

/* One row; the fields are checked by the caller's list, which ends with NULL. */
struct expect {
	const char *name;
	double value;
};
void assert_row(const char *args, const struct expect *want);

size_t count_lines(const char *text);
bool have_tool(const char *name); /* an executable that the shell finds */

#endif
