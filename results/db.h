/*
 * db.h: what the writing and the reading side of the results database share: waiting for others,
 * and the sentence for a failure. Inside results/ only.
 */
#ifndef RESULTS_DB_H
#define RESULTS_DB_H

#include <sqlite3.h>

#include "results/field.h"
#include "results/store.h"
#include "sim/err.h"

/* As schema.sql sets them. */
enum { DB_APPLICATION_ID = 0x6f6d6e69, DB_SCHEMA_VERSION = 5 };

enum db_owner {
	DB_EMPTY, /* no tables: ours to fill */
	DB_OURS,
	DB_OLDER, /* ours, of an earlier schema */
	DB_NEWER, /* ours, of a schema this program does not know */
	DB_FOREIGN,
};

/*
 * Opens with SQLite's flags; every wait for another process is without limit from here on. NULL and
 * a sentence on failure.
 */
sqlite3 *db_open(const char *path, int flags, struct err *e);

/*
 * Can the results file be written, or created? Looked at before hours go into a run; a file that is
 * not there does not come into being.
 */
int db_check(const char *path, struct err *e);

/*
 * Opens the results file to write it, or creates it; others that do the same at the same time are
 * waited for. The file of another program is refused and left as it is.
 */
sqlite3 *db_create(const char *path, struct err *e);

/*
 * Executes; where the file is busy the whole text is done again until it is not, so it is one
 * statement or stands inside a transaction. SQLite's code.
 */
int db_exec(sqlite3 *db, const char *sql);

/* Prepares; what fails here other than by the file's fault is a broken invariant. SQLite's code. */
int db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **statement);

/*
 * Opens a results file that exists to read it: its content stays as it is, and nothing is left
 * beside it. NULL and a sentence: not there, not ours, of another schema, or without a run yet.
 */
sqlite3 *db_open_to_read(const char *path, struct err *e);

/* As store_read() does, of a file that is open; `path` for sentences. */
int db_read_runs(sqlite3 *db, const char *path, const int64_t *ids, size_t n,
		 struct stored_run **runs, size_t *n_runs, struct err *e);

/*
 * Are the rows of a run in this table (sample, step, request or histogram) such as a run can have:
 * its instances and batches, times and counts of a size that sums of them hold? -1: a sentence.
 */
int db_check_rows(sqlite3 *db, const char *path, const struct stored_run *run, const char *table,
		  struct err *e);

/* Whose file it is; SQLite's code. */
int db_owner(sqlite3 *db, enum db_owner *owner);

/* The sentence for a file that is not ours. Always -1. */
int db_refuse(const char *path, enum db_owner owner, struct err *e);

/* "results.db: <what>: <why the last call failed>". Always -1. */
int db_fail(sqlite3 *db, const char *path, const char *what, struct err *e);

/*
 * A SELECT of, or INSERT of `?`s for, these fields: "a","b" or ?,?. `skip` says which ones to leave
 * out and may be NULL.
 */
void db_names(sqlite3_str *sql, const struct field *fields, bool (*skip)(const char *name));

/* Binds a field's value to a parameter, NULL as NULL; column `i` of a row into a field, and back.
 */
int db_bind(sqlite3_stmt *statement, int i, const struct field *f, const void *row);
void db_column(sqlite3_stmt *statement, int i, const struct field *f, void *row);

#endif
