/* The reading side of store.h. */
#include "results/db.h"
#include "results/store.h"

/* Columns of summary, then those of run; ?1 is the id. */
static int prepare_read(sqlite3 *db, bool all, sqlite3_stmt **statement)
{
	sqlite3_str *sql = sqlite3_str_new(db);
	char *text;
	int rc;

	sqlite3_str_appendall(sql, "SELECT ");
	for (const struct field *f = summary_fields; f->name; f++)
		sqlite3_str_appendf(sql, "s.\"%w\",", f->name);
	for (const struct field *f = run_info_fields; f->name; f++)
		sqlite3_str_appendf(sql, "r.\"%w\"%s", f->name, f[1].name ? "," : "");
	sqlite3_str_appendf(sql, " FROM summary s JOIN run r ON r.id = s.run_id %s ORDER BY r.id",
			    all ? "" : "WHERE r.id = ?1");
	text = sqlite3_str_finish(sql);
	rc = db_prepare(db, text, statement);
	sqlite3_free(text);
	return rc;
}

struct reading {
	sqlite3 *db;
	const char *path;
	sqlite3_stmt *select;
	struct stored_run *runs;
	size_t n, room;
};

static void take_row(struct reading *r)
{
	struct stored_run *run;
	int i = 0;

	if (r->n == r->room) {
		r->room = r->room ? 2 * r->room : 16;
		r->runs = xrealloc(r->runs, r->room * sizeof *r->runs);
	}
	run = &r->runs[r->n++];
	for (const struct field *f = summary_fields; f->name; f++)
		db_column(r->select, i++, f, &run->summary);
	for (const struct field *f = run_info_fields; f->name; f++)
		db_column(r->select, i++, f, &run->info);
}

static int take_rows(struct reading *r, struct err *e)
{
	while (sqlite3_step(r->select) == SQLITE_ROW)
		take_row(r);
	return sqlite3_reset(r->select) ? db_fail(r->db, r->path, "cannot be read", e) : 0;
}

/* "results.db: there is no run 7; it holds 3 runs, 1 to 5" */
static int refuse_id(struct reading *r, int64_t id, struct err *e)
{
	sqlite3_stmt *s;
	int result = -1;

	if (db_prepare(r->db, "SELECT count(*), min(id), max(id) FROM run", &s))
		return db_fail(r->db, r->path, "cannot be read", e);
	if (sqlite3_step(s) != SQLITE_ROW)
		db_fail(r->db, r->path, "cannot be read", e);
	else if (sqlite3_column_int64(s, 0) == 0)
		err_set(e, "%s: it holds no run yet", r->path);
	else
		err_set(e, "%s: there is no run %lld; it holds %lld of them, ids %lld to %lld",
			r->path, (long long)id, (long long)sqlite3_column_int64(s, 0),
			(long long)sqlite3_column_int64(s, 1),
			(long long)sqlite3_column_int64(s, 2));
	sqlite3_finalize(s);
	return result;
}

static int read_all(struct reading *r, const int64_t *ids, size_t n, struct err *e)
{
	if (prepare_read(r->db, n == 0, &r->select))
		return db_fail(r->db, r->path, "cannot be read", e);
	if (n == 0) {
		if (take_rows(r, e))
			return -1;
		return r->n ? 0 : refuse_id(r, 0, e);
	}
	for (size_t i = 0; i < n; i++) {
		size_t before = r->n;

		sqlite3_bind_int64(r->select, 1, ids[i]);
		if (take_rows(r, e))
			return -1;
		if (r->n == before)
			return refuse_id(r, ids[i], e);
	}
	return 0;
}

int db_read_runs(sqlite3 *db, const char *path, const int64_t *ids, size_t n,
		 struct stored_run **runs, size_t *n_runs, struct err *e)
{
	struct reading r = {.path = path, .db = db};
	int rc = read_all(&r, ids, n, e);

	sqlite3_finalize(r.select);
	if (rc) {
		free(r.runs);
		return -1;
	}
	*runs = r.runs;
	*n_runs = r.n;
	return 0;
}

int store_read(const char *path, const int64_t *ids, size_t n, struct stored_run **runs,
	       size_t *n_runs, struct err *e)
{
	sqlite3 *db = db_open_to_read(path, e);
	int rc;

	if (!db)
		return -1;
	/* one moment for all statements */
	rc = db_exec(db, "BEGIN") ? db_fail(db, path, "cannot be read", e)
				  : db_read_runs(db, path, ids, n, runs, n_runs, e);
	sqlite3_close(db);
	return rc;
}
