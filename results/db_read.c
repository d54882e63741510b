/* The results file to be read. */
#include "results/db.h"

#include <string.h>
#include <unistd.h>

/*
 * A file in a folder where nothing may be written, and that nobody is writing (there is no log
 * beside it), can be read only as one that never changes.
 */
static sqlite3 *open_immutable(const char *path, struct err *e)
{
	sqlite3_str *uri = sqlite3_str_new(NULL);
	sqlite3 *db;
	char *text;

	sqlite3_str_appendall(uri, "file:");
	for (const char *p = path; *p; p++) {
		if (strchr("?#%", *p))
			sqlite3_str_appendf(uri, "%%%02x", *p);
		else
			sqlite3_str_appendchar(uri, 1, *p);
	}
	sqlite3_str_appendall(uri, "?immutable=1");
	text = sqlite3_str_finish(uri);
	db = db_open(text, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, e);
	sqlite3_free(text);
	return db;
}

static bool has_log(const char *path)
{
	char *log = sqlite3_mprintf("%s-wal", path);
	bool has = !access(log, F_OK);

	sqlite3_free(log);
	return has;
}

/*
 * Opened for writing where that is allowed, as only then SQLite takes its own -wal and -shm files
 * away again; query_only keeps the content as it is.
 */
sqlite3 *db_open_to_read(const char *path, struct err *e)
{
	enum db_owner owner = DB_FOREIGN;
	sqlite3 *db = db_open(path, SQLITE_OPEN_READWRITE, e);
	int rc;

	if (!db)
		return NULL;
	rc = db_owner(db, &owner);
	if ((rc & 0xff) == SQLITE_READONLY || (rc & 0xff) == SQLITE_CANTOPEN) {
		if (!has_log(path)) {
			sqlite3_close(db);
			db = open_immutable(path, e);
			if (!db)
				return NULL;
			rc = db_owner(db, &owner);
		}
	}
	if (!rc)
		rc = db_exec(db, "PRAGMA query_only = ON");
	if (rc)
		db_fail(db, path, "cannot be read", e);
	else if (owner == DB_EMPTY)
		err_set(e, "%s: it holds no run yet", path);
	else if (owner != DB_OURS)
		db_refuse(path, owner, e);
	else
		return db;
	sqlite3_close(db);
	return NULL;
}
