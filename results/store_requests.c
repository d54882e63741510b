/* store_requests.c: the requests and steps of a stored run, read back as they were stored. */
#include "results/db.h"
#include <string.h>

static int64_t int_or(sqlite3_stmt *s, int i, int64_t absent)
{
	return sqlite3_column_type(s, i) == SQLITE_NULL ? absent : sqlite3_column_int64(s, i);
}

static enum record_status status_of(const char *text)
{
	if (strcmp(text, "completed") == 0)
		return RECORD_COMPLETED;
	if (strcmp(text, "rejected") == 0)
		return RECORD_REJECTED;
	return strcmp(text, "aborted") == 0 ? RECORD_ABORTED : RECORD_UNFINISHED;
}

static void take_request(sqlite3_stmt *s, const struct store_taker *to)
{
	const struct record r = {
		.idx = sqlite3_column_int64(s, 0),
		.arrive_ns = sqlite3_column_int64(s, 1),
		.schedule_ns = int_or(s, 2, -1),
		.first_token_ns = int_or(s, 3, -1),
		.finish_ns = int_or(s, 4, -1),
		.prompt_tok = sqlite3_column_int64(s, 5),
		.output_tok = sqlite3_column_int64(s, 6),
		.instance = int_or(s, 7, 0),
		.max_gap_ns =
			sqlite3_column_type(s, 8) == SQLITE_NULL ? -1 : sqlite3_column_double(s, 8),
		.status = status_of((const char *)sqlite3_column_text(s, 9)),
	};

	to->record(to->arg, &r);
}

static void take_step(sqlite3_stmt *s, const struct store_taker *to)
{
	const struct step_row row = {
		.instance = sqlite3_column_int64(s, 0),
		.start_ns = sqlite3_column_int64(s, 1),
		.end_ns = sqlite3_column_int64(s, 2),
		.steps = sqlite3_column_int64(s, 3),
	};

	to->step(to->arg, &row);
}

struct reading {
	sqlite3 *db;
	const char *path;
	int64_t run_id;
	const struct store_taker *to;
	int64_t n;
};

static int read_rows(struct reading *r, const char *sql,
		     void (*take)(sqlite3_stmt *s, const struct store_taker *to), struct err *e)
{
	sqlite3_stmt *s;

	if (db_prepare(r->db, sql, &s) != SQLITE_OK)
		return db_fail(r->db, r->path, "cannot be read", e);
	sqlite3_bind_int64(s, 1, r->run_id);
	for (r->n = 0; sqlite3_step(s) == SQLITE_ROW; r->n++)
		take(s, r->to);
	return sqlite3_finalize(s) ? db_fail(r->db, r->path, "cannot be read", e) : 0;
}

static int read_all(struct reading *r, const struct stored_run *run, struct err *e)
{
	if (db_check_rows(r->db, r->path, run, "request", e) < 0 ||
	    db_check_rows(r->db, r->path, run, "step", e) < 0 ||
	    read_rows(r,
		      "SELECT idx, arrive_ns, schedule_ns, first_token_ns, finish_ns, prompt_tok, "
		      "output_tok, instance, max_gap_ns, status FROM request WHERE run_id = ?1 "
		      "ORDER BY idx",
		      take_request, e) < 0)
		return -1;
	if (r->n == 0)
		return err_set(e,
			       "%s: run %lld has no requests: it was made with --requests none "
			       "(leave that out, and they are stored)",
			       r->path, (long long)r->run_id);
	return read_rows(r, "SELECT instance, start_ns, end_ns, steps FROM step WHERE run_id = ?1",
			 take_step, e);
}

int store_read_requests(const char *path, int64_t run_id, const struct store_taker *to,
			struct stored_run *run, struct err *e)
{
	struct reading r = {.path = path, .run_id = run_id, .to = to};
	struct stored_run *runs = NULL;
	size_t n = 0;
	int result = -1;

	r.db = db_open_to_read(path, e);
	if (!r.db)
		return -1;
	if (db_read_runs(r.db, path, &run_id, 1, &runs, &n, e) == 0) {
		*run = runs[0];
		result = read_all(&r, run, e);
	}
	free(runs);
	sqlite3_close(r.db);
	return result;
}
