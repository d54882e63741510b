/*
 * sql_guard.h: lets SQL of a user's read a database, and do nothing else.
 *
 * While it is set, preparing or executing anything but a SELECT over tables of the file, with the
 * functions named below, fails with SQLITE_AUTH; so do recursion, the schema, pragmas as tables.
 * Whatever takes more than max_steps instructions of SQLite's machine ends with SQLITE_INTERRUPT,
 * and no value grows beyond a megabyte.
 */
#ifndef RESULTS_SQL_GUARD_H
#define RESULTS_SQL_GUARD_H

#include <sqlite3.h>
#include <stdint.h>

struct sql_guard {
	sqlite3 *db;
	int64_t steps_left;
};

/* `g` stays in place until it is cleared. */
void sql_guard_set(struct sql_guard *g, sqlite3 *db, int64_t max_steps);
void sql_guard_clear(struct sql_guard *g);

/* The functions that are allowed, with commas between. */
extern const char sql_guard_functions[];

/*
 * Why the text cannot be one expression in brackets: it leaves them, is more than one statement, or
 * does not end its texts and comments. NULL: nothing of that kind.
 */
const char *sql_guard_expression(const char *text);

#endif
