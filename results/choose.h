/*
 * choose.h: the runs of a results file that meet a condition of a user's, and what to call them
 * beside each other.
 */
#ifndef RESULTS_CHOOSE_H
#define RESULTS_CHOOSE_H

#include <sqlite3.h>

#include "results/store.h"

struct chosen {
	sqlite3 *db; /* in one read transaction */
	const char *path;
	struct stored_run *runs;
	size_t n; /* at least 1 */
};

/*
 * `where`: an SQL expression over the columns of the tables run and metric; NULL: all runs. It is
 * executed under sql_guard.h. -1 and a sentence: the file, the expression, or no run meets it.
 */
int choose_open(struct chosen *c, const char *path, const char *where, struct err *e);
void choose_close(struct chosen *c); /* also after a failure */

/*
 * Names for the runs, each on the heap as the array is: the policy with the parameters that were
 * written, and the settings that tell it from others. With `curves`, runs that differ in nothing
 * but the offered rate, or in random numbers, have the same name; else no two do.
 */
char **choose_names(const struct stored_run *runs, size_t n, bool curves);
void choose_names_free(char **names, size_t n);

/* What the runs have in common: model, device, trace, and what their times are. */
void choose_title(const struct stored_run *runs, size_t n, char *title, size_t size);

#endif
