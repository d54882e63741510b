/* The results file to be written: found or created, checked, with its tables. */
#include "results/db.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema_sql.h" /* results/schema.sql, as bytes */

/* In one transaction, so that others see no schema or all of it. -1 and a sentence. */
static int create_schema(sqlite3 *db, const char *path, struct err *e)
{
	enum db_owner owner = DB_FOREIGN;

	if (db_exec(db, "BEGIN IMMEDIATE") || db_owner(db, &owner))
		return db_fail(db, path, "cannot be written", e);
	if (owner == DB_EMPTY && db_exec(db, schema_sql))
		return db_fail(db, path, "its tables cannot be created", e);
	if (owner != DB_EMPTY && owner != DB_OURS)
		return db_refuse(path, owner, e);
	if (db_exec(db, "COMMIT"))
		return db_fail(db, path, "cannot be written", e);
	return 0;
}

/* Switches to write-ahead logging: readers and the one writer then do not wait for each other. */
static int switch_to_wal(sqlite3 *db, const char *path, struct err *e)
{
	sqlite3_stmt *mode;
	int rc = db_exec(db, "PRAGMA journal_mode = WAL");
	bool wal = false;

	if (!rc)
		rc = db_prepare(db, "PRAGMA journal_mode", &mode);
	if (rc)
		return db_fail(db, path, "cannot be written", e);
	if (sqlite3_step(mode) == SQLITE_ROW)
		wal = !strcmp((const char *)sqlite3_column_text(mode, 0), "wal");
	sqlite3_finalize(mode);
	if (!wal)
		return err_set(e,
			       "%s: no write-ahead log is possible there; name a file on a disk of "
			       "this machine",
			       path);
	return 0;
}

/* SQLite's own sentence for a file that cannot be created is about reading it. */
static int check_folder(const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	int number;

	if (!access(path, F_OK))
		return 0;
	folder = xstrdup(slash ? path : ".");
	if (slash)
		folder[slash == path ? 1 : slash - path] = '\0';
	number = access(folder, W_OK | X_OK) ? errno : 0;
	if (number)
		err_set(e, "%s: cannot be created: folder %s: %s", path, folder, strerror(number));
	free(folder);
	return number ? -1 : 0;
}

/* Before anything that would change a file of somebody else's. */
static int check_owner(sqlite3 *db, const char *path, struct err *e)
{
	enum db_owner owner = DB_FOREIGN;

	if (db_owner(db, &owner))
		return db_fail(db, path, "cannot be read", e);
	if (owner != DB_EMPTY && owner != DB_OURS)
		return db_refuse(path, owner, e);
	if (sqlite3_db_readonly(db, "main") == 1)
		return err_set(e, "%s: cannot be written: the file is read-only", path);
	return 0;
}

static int check_writing(sqlite3 *db, const char *path, struct err *e)
{
	if (check_owner(db, path, e))
		return -1;
	if (db_exec(db, "BEGIN IMMEDIATE") || db_exec(db, "ROLLBACK"))
		return db_fail(db, path, "cannot be written", e);
	return 0;
}

int db_check(const char *path, struct err *e)
{
	struct stat st;
	sqlite3 *db;
	int rc;

	if (!path[0] || !strcmp(path, ":memory:"))
		return err_set(e, "'%s': no write-ahead log is possible there; name a file", path);
	if (check_folder(path, e))
		return -1;
	if (stat(path, &st))
		return 0; /* db_create() makes it when there is something to write */
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return err_set(e, "%s: cannot be written: it is no regular file", path);
	db = db_open(path, SQLITE_OPEN_READWRITE, e);
	if (!db)
		return -1;
	rc = check_writing(db, path, e);
	sqlite3_close(db);
	return rc;
}

sqlite3 *db_create(const char *path, struct err *e)
{
	sqlite3 *db;

	if (check_folder(path, e))
		return NULL;
	db = db_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, e);
	if (!db)
		return NULL;
	if (!check_owner(db, path, e) && !switch_to_wal(db, path, e) && !create_schema(db, path, e))
		return db;
	sqlite3_close(db);
	return NULL;
}
