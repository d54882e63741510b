#include "results/db.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Called by SQLite while somebody else holds the lock: rests up to 20 ms, and never gives up. */
static int rest(void *unused, int n)
{
	struct timespec t = {.tv_nsec = 1000000L * (n < 20 ? n + 1 : 20)};

	(void)unused;
	nanosleep(&t, NULL);
	return 1;
}

/*
 * What passes when others are done. SQLite does not call the busy handler where waiting could be a
 * deadlock, and gives up itself on a crowd that opens a file (PROTOCOL).
 */
static bool is_busy(int rc)
{
	return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_PROTOCOL;
}

sqlite3 *db_open(const char *path, int flags, struct err *e)
{
	sqlite3 *db;

	if (sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK) {
		sqlite3_extended_result_codes(db, 1);
		sqlite3_busy_handler(db, rest, NULL);
		return db;
	}
	db_fail(db, path, "cannot be opened", e);
	sqlite3_close(db);
	return NULL;
}

int db_exec(sqlite3 *db, const char *sql)
{
	int rc;

	for (int n = 0; is_busy(rc = sqlite3_exec(db, sql, NULL, NULL, NULL)); n++)
		rest(NULL, n);
	return rc;
}

int db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **statement)
{
	int rc;

	for (int n = 0; is_busy(rc = sqlite3_prepare_v2(db, sql, -1, statement, NULL)); n++)
		rest(NULL, n);
	return rc;
}

int db_owner(sqlite3 *db, enum db_owner *owner)
{
	/* one statement, so that it is one moment */
	static const char sql[] = "SELECT application_id, user_version, "
				  "(SELECT count(*) FROM sqlite_schema) "
				  "FROM pragma_application_id, pragma_user_version";
	sqlite3_stmt *s;
	int rc = db_prepare(db, sql, &s);

	if (rc)
		return rc;
	for (int n = 0; is_busy(rc = sqlite3_step(s)); n++) {
		sqlite3_reset(s);
		rest(NULL, n);
	}
	if (rc == SQLITE_ROW) {
		int id = sqlite3_column_int(s, 0), version = sqlite3_column_int(s, 1);

		if (id == DB_APPLICATION_ID && version == DB_SCHEMA_VERSION)
			*owner = DB_OURS;
		else if (id == DB_APPLICATION_ID && version > DB_SCHEMA_VERSION)
			*owner = DB_NEWER;
		else if (id == DB_APPLICATION_ID && version > 0)
			*owner = DB_OLDER;
		else if (id == 0 && version == 0 && sqlite3_column_int(s, 2) == 0)
			*owner = DB_EMPTY;
		else
			*owner = DB_FOREIGN;
	}
	return sqlite3_finalize(s);
}

int db_refuse(const char *path, enum db_owner owner, struct err *e)
{
	if (owner == DB_NEWER)
		return err_set(e,
			       "%s: written by a newer omnibus: its schema is above version %d, "
			       "the one known here; take another file or the newer program",
			       path, DB_SCHEMA_VERSION);
	if (owner == DB_OLDER)
		return err_set(e,
			       "%s: written by an older omnibus: its schema is below version %d, "
			       "the one known here; take another file, or make its runs again",
			       path, DB_SCHEMA_VERSION);
	return err_set(e, "%s: a database of another program, not of omnibus; take another file",
		       path);
}

/* Of I/O errors, those that the lack of room brings. */
static bool is_write(int code)
{
	return code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_FSYNC ||
	       code == SQLITE_IOERR_TRUNCATE || code == SQLITE_IOERR_SHMSIZE ||
	       code == SQLITE_IOERR_SHMMAP || code == SQLITE_IOERR_CLOSE;
}

int db_fail(sqlite3 *db, const char *path, const char *what, struct err *e)
{
	struct stat st;
	int code = sqlite3_errcode(db), number = sqlite3_system_errno(db);

	switch (code & 0xff) {
	case SQLITE_FULL:
		return err_set(e, "%s: %s: no room is left on the disk", path, what);
	case SQLITE_READONLY:
		return err_set(e, "%s: %s: the file, or its folder, is read-only", path, what);
	case SQLITE_NOTADB:
		return err_set(e, "%s: %s: it is not a SQLite database", path, what);
	case SQLITE_CORRUPT:
		return err_set(e, "%s: %s: the database is damaged (%s)", path, what,
			       sqlite3_errmsg(db));
	case SQLITE_IOERR:
		if (is_write(sqlite3_extended_errcode(db)))
			return err_set(e,
				       "%s: %s: writing failed: a broken disk, or a limit on "
				       "the size of files",
				       path, what);
		break;
	case SQLITE_CANTOPEN:
		if (!stat(path, &st) && S_ISDIR(st.st_mode))
			number = EISDIR;
		if (number)
			return err_set(e, "%s: %s: %s", path, what, strerror(number));
	}
	return err_set(e, "%s: %s: %s", path, what, sqlite3_errmsg(db));
}

void db_names(sqlite3_str *sql, const struct field *fields, bool (*skip)(const char *name))
{
	const char *comma = "";

	for (const struct field *f = fields; f->name; f++) {
		if (skip && skip(f->name))
			continue;
		sqlite3_str_appendf(sql, "%s\"%w\"", comma, f->name);
		comma = ",";
	}
}

int db_bind(sqlite3_stmt *statement, int i, const struct field *f, const void *row)
{
	size_t len;

	if (field_is_null(f, row))
		return sqlite3_bind_null(statement, i);
	switch (f->kind) {
	case FIELD_INT:
		return sqlite3_bind_int64(statement, i, field_int(f, row));
	case FIELD_REAL:
		return sqlite3_bind_double(statement, i, field_real(f, row));
	case FIELD_TEXT: {
		const char *text = field_text(f, row, &len);

		return sqlite3_bind_text(statement, i, text, (int)len, SQLITE_STATIC);
	}
	}
	return SQLITE_MISUSE;
}

void db_column(sqlite3_stmt *statement, int i, const struct field *f, void *row)
{
	char *at = (char *)row + f->offset;
	bool null = sqlite3_column_type(statement, i) == SQLITE_NULL;

	if (f->kind == FIELD_INT) {
		int64_t v = null ? FIELD_NULL_INT : sqlite3_column_int64(statement, i);

		memcpy(at, &v, sizeof v);
	} else if (f->kind == FIELD_REAL) {
		double v = null ? (double)NAN : sqlite3_column_double(statement, i);

		memcpy(at, &v, sizeof v);
	} else {
		const char *text = (const char *)sqlite3_column_text(statement, i);

		snprintf(at, f->size, "%s", text ? text : "");
	}
}
