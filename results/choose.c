#include "results/choose.h"

#include <string.h>

#include "results/db.h"
#include "results/sql_guard.h"

/* Ten seconds or so: what a question about thousands of runs takes is far below. */
static const int64_t MAX_STEPS = 1000000000;

/* The columns of both tables, as many as the sentence holds. */
static void list_columns(char *text, size_t size)
{
	size_t at = (size_t)snprintf(text, size, "run_id");

	for (int table = 0; table < 2; table++) {
		for (const struct field *f = table ? summary_fields : run_info_fields; f->name;
		     f++) {
			bool twice = false;

			for (const struct field *g = run_info_fields; table && g->name; g++)
				twice = twice || !strcmp(f->name, g->name);
			if (twice || !strcmp(f->name, "run_id"))
				continue;
			if (at + strlen(f->name) + 8 > size) {
				snprintf(text + at, size - at, ", ...");
				return;
			}
			at += (size_t)snprintf(text + at, size - at, ", %s", f->name);
		}
	}
}

static int refuse(struct chosen *c, int rc, const char *where, struct err *e)
{
	const char *why = sqlite3_errmsg(c->db);
	char columns[800];

	if ((rc & 0xff) == SQLITE_INTERRUPT)
		return err_set(e, "--where '%.100s': stopped, as it takes too long", where);
	if ((rc & 0xff) == SQLITE_AUTH || strstr(why, "not authorized") ||
	    strstr(why, "no such function"))
		return err_set(e,
			       "--where '%.100s': %s; it may read the tables of the file with the "
			       "functions %s, and nothing else",
			       where, why, sql_guard_functions);
	if ((rc & 0xff) != SQLITE_ERROR && (rc & 0xff) != SQLITE_TOOBIG)
		return db_fail(c->db, c->path, "cannot be read", e);
	list_columns(columns, sizeof columns);
	return err_set(e,
		       "--where '%.60s': %.60s; it is an expression, with texts in single quotes, "
		       "over the columns %s",
		       where, why, columns);
}

static int no_match(struct chosen *c, const char *where, struct err *e)
{
	sqlite3_stmt *s;
	long long n = 0;

	if (!db_prepare(c->db, "SELECT count(*) FROM run", &s) && sqlite3_step(s) == SQLITE_ROW)
		n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	if (n == 0)
		return err_set(e, "%s: it holds no run yet", c->path);
	return err_set(e, "%s: none of its %lld runs meets --where '%.200s'", c->path, n, where);
}

/* The ids that the expression chooses, on the heap. */
static int find_ids(struct chosen *c, const char *where, int64_t **ids, size_t *n, struct err *e)
{
	/* behind a comment at the end of the expression comes a new line */
	char *sql = sqlite3_mprintf("SELECT run_id FROM (SELECT metric.*, run.* FROM metric "
				    "JOIN run ON run.id = metric.run_id) WHERE (%s\n) "
				    "ORDER BY run_id",
				    where);
	struct sql_guard guard;
	sqlite3_stmt *s = NULL;
	int rc;

	sql_guard_set(&guard, c->db, MAX_STEPS);
	rc = db_prepare(c->db, sql, &s);
	while (!rc && sqlite3_step(s) == SQLITE_ROW) {
		*ids = xrealloc(*ids, (*n + 1) * sizeof **ids);
		(*ids)[(*n)++] = sqlite3_column_int64(s, 0);
	}
	if (!rc)
		rc = sqlite3_reset(s);
	rc = rc ? refuse(c, rc, where, e) : 0;
	sqlite3_finalize(s);
	sql_guard_clear(&guard);
	sqlite3_free(sql);
	return rc;
}

int choose_open(struct chosen *c, const char *path, const char *where, struct err *e)
{
	const char *wrong = where ? sql_guard_expression(where) : NULL;
	int64_t *ids = NULL;
	size_t n = 0;
	int rc = 0;

	*c = (struct chosen){.path = path};
	if (wrong)
		return err_set(e, "--where '%.200s': %s", where, wrong);
	c->db = db_open_to_read(path, e);
	if (!c->db)
		return -1;
	if (db_exec(c->db, "BEGIN"))
		return db_fail(c->db, path, "cannot be read", e);
	if (where)
		rc = find_ids(c, where, &ids, &n, e);
	if (!rc && where && n == 0)
		rc = no_match(c, where, e);
	if (!rc)
		rc = db_read_runs(c->db, path, ids, n, &c->runs, &c->n, e);
	free(ids);
	return rc;
}

void choose_close(struct chosen *c)
{
	sqlite3_close(c->db);
	free(c->runs);
	*c = (struct chosen){0};
}
