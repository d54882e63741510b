#include "results/store_points.h"

#include <string.h>

#include "calibrate/form.h"
#include "results/db.h"

enum { KEPT = 32 };

struct store_points {
	sqlite3 *db;
	char *path;
	int64_t id;
	struct {
		int64_t idx;
		struct point point;
	} kept[KEPT];
	int n_kept;
};

/* Sizes in the order of the columns of `point`, from m to bytes. */
static const size_t sizes[] = {
	offsetof(struct point, m),	     offsetof(struct point, n),
	offsetof(struct point, k),	     offsetof(struct point, heads),
	offsetof(struct point, kv_heads),    offsetof(struct point, head_dim),
	offsetof(struct point, prefill_seq), offsetof(struct point, new_tok),
	offsetof(struct point, prior_tok),   offsetof(struct point, decode_seq),
	offsetof(struct point, decode_ctx),  offsetof(struct point, longest),
	offsetof(struct point, devices),     offsetof(struct point, bytes),
};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static const char point_sql[] =
	"INSERT OR REPLACE INTO point VALUES (?,?,?,?, ?,?,?,?,?,?,?,?,?,?,?,?,?,?, ?,?,?,?,?)";
static const char fit_sql[] = "INSERT INTO fit VALUES (?,?,?,?,?, ?,?,?,?,?, ?,?,?,?,?,?)";
static const char coefficient_sql[] = "INSERT INTO coefficient VALUES (?,?,?,?,?)";
static const char end_sql[] =
	"UPDATE calibration SET status = ?, profile = ?, wall_s = ? WHERE id = ?";
static const char calibration_sql[] =
	"INSERT INTO calibration (backend,device,driver,clocks,model,tp,threads,budget_s,seed,"
	"program_version,status,started) VALUES (?,?,?,?,?,?,?,?,?,'" OMNIBUS_VERSION
	"','running',?)";

static int fail(struct store_points *s, const char *what, struct err *e)
{
	db_fail(s->db, s->path, what, e);
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}

static void bind_text(sqlite3_stmt *statement, int i, const char *text)
{
	if (text && text[0])
		sqlite3_bind_text(statement, i, text, -1, SQLITE_TRANSIENT);
	else
		sqlite3_bind_null(statement, i);
}

/* Executes what is bound, for the next row. SQLite's code. */
static int step(sqlite3_stmt *statement)
{
	sqlite3_step(statement);
	return sqlite3_reset(statement);
}

int store_points_check(const char *path, struct err *e)
{
	return db_check(path, e);
}

static int insert_calibration(struct store_points *s, const struct calibration_info *info)
{
	sqlite3_stmt *insert;
	int rc = db_prepare(s->db, calibration_sql, &insert);

	if (rc)
		return rc;
	bind_text(insert, 1, info->backend);
	bind_text(insert, 2, info->device);
	bind_text(insert, 3, info->driver);
	bind_text(insert, 4, info->clocks);
	bind_text(insert, 5, info->model);
	sqlite3_bind_int64(insert, 6, info->tp);
	sqlite3_bind_int64(insert, 7, info->threads);
	sqlite3_bind_double(insert, 8, info->budget_s);
	sqlite3_bind_int64(insert, 9, info->seed);
	bind_text(insert, 10, info->started);
	rc = step(insert);
	sqlite3_finalize(insert);
	return rc;
}

struct store_points *store_points_open(const char *path, const struct calibration_info *info,
				       struct err *e)
{
	struct store_points *s;
	sqlite3 *db;

	if (db_check(path, e))
		return NULL;
	db = db_create(path, e);
	if (!db)
		return NULL;
	s = xcalloc(1, sizeof *s);
	s->db = db;
	s->path = xstrdup(path);
	if (db_exec(db, "BEGIN IMMEDIATE") || insert_calibration(s, info)) {
		fail(s, "the calibration is not stored", e);
		store_points_close(s);
		return NULL;
	}
	s->id = sqlite3_last_insert_rowid(db);
	if (db_exec(db, "COMMIT")) {
		fail(s, "the calibration is not stored", e);
		store_points_close(s);
		return NULL;
	}
	return s;
}

int64_t store_points_id(const struct store_points *s)
{
	return s->id;
}

static int insert_point(sqlite3_stmt *insert, int64_t id, int64_t idx, const struct point *p)
{
	int at = 1;

	sqlite3_bind_int64(insert, at++, id);
	sqlite3_bind_int64(insert, at++, idx);
	sqlite3_bind_text(insert, at++, op_names[p->op], -1, SQLITE_STATIC);
	sqlite3_bind_int64(insert, at++, p->bits);
	for (int i = 0; i < N_SIZES; i++) {
		int64_t v;

		memcpy(&v, (const char *)p + sizes[i], sizeof v);
		sqlite3_bind_int64(insert, at++, v);
	}
	sqlite3_bind_double(insert, at++, p->ns);
	sqlite3_bind_double(insert, at++, p->min_ns);
	sqlite3_bind_double(insert, at++, p->mean_ns);
	sqlite3_bind_double(insert, at++, p->max_ns);
	sqlite3_bind_int64(insert, at, p->repeats);
	return step(insert);
}

/* Within a transaction. SQLite's code. */
static int write_kept(struct store_points *s)
{
	sqlite3_stmt *insert;
	int rc = s->n_kept ? db_prepare(s->db, point_sql, &insert) : SQLITE_OK;

	if (rc || !s->n_kept)
		return rc;
	for (int i = 0; i < s->n_kept && !rc; i++)
		rc = insert_point(insert, s->id, s->kept[i].idx, &s->kept[i].point);
	sqlite3_finalize(insert);
	return rc;
}

int store_points_flush(struct store_points *s, struct err *e)
{
	if (!s->n_kept)
		return 0;
	if (db_exec(s->db, "BEGIN IMMEDIATE") || write_kept(s) || db_exec(s->db, "COMMIT"))
		return fail(s, "points are not stored", e);
	s->n_kept = 0;
	return 0;
}

int store_points_put(struct store_points *s, int64_t idx, const struct point *p, struct err *e)
{
	if (s->n_kept == KEPT && store_points_flush(s, e))
		return -1;
	s->kept[s->n_kept].idx = idx;
	s->kept[s->n_kept++].point = *p;
	return 0;
}

static int insert_coefficients(struct store_points *s, int64_t idx, const struct fit *f)
{
	sqlite3_stmt *insert;
	int rc = db_prepare(s->db, coefficient_sql, &insert);

	if (rc)
		return rc;
	for (int i = 0; i < f->n_coefs && !rc; i++) {
		sqlite3_bind_int64(insert, 1, s->id);
		sqlite3_bind_int64(insert, 2, idx);
		sqlite3_bind_text(insert, 3, f->coef[i].name, -1, SQLITE_STATIC);
		sqlite3_bind_double(insert, 4, f->coef[i].value);
		sqlite3_bind_double(insert, 5, f->coef[i].error);
		rc = step(insert);
	}
	sqlite3_finalize(insert);
	return rc;
}

static int insert_fit(struct store_points *s, int64_t idx, const struct fit *f)
{
	const int64_t shape[] = {f->shape.n, f->shape.k, f->shape.heads, f->shape.kv_heads,
				 f->shape.head_dim};
	sqlite3_stmt *insert;
	int at = 1, rc = db_prepare(s->db, fit_sql, &insert);

	if (rc)
		return rc;
	sqlite3_bind_int64(insert, at++, s->id);
	sqlite3_bind_int64(insert, at++, idx);
	sqlite3_bind_text(insert, at++, op_names[f->op], -1, SQLITE_STATIC);
	sqlite3_bind_int64(insert, at++, f->bits);
	sqlite3_bind_text(insert, at++, f->form->name, -1, SQLITE_STATIC);
	for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
		sqlite3_bind_int64(insert, at++, shape[i]);
	sqlite3_bind_int64(insert, at++, (int64_t)f->points);
	sqlite3_bind_text(insert, at++, f->hash, -1, SQLITE_STATIC);
	sqlite3_bind_int64(insert, at++, f->held_out.folds);
	sqlite3_bind_double(insert, at++, f->held_out.median);
	sqlite3_bind_double(insert, at++, f->held_out.p90);
	sqlite3_bind_double(insert, at, f->held_out.max);
	rc = step(insert);
	sqlite3_finalize(insert);
	return rc;
}

int store_points_fit(struct store_points *s, int64_t idx, const struct fit *f, struct err *e)
{
	if (db_exec(s->db, "BEGIN IMMEDIATE") || insert_fit(s, idx, f) ||
	    insert_coefficients(s, idx, f) || db_exec(s->db, "COMMIT"))
		return fail(s, "a fit is not stored", e);
	return 0;
}

int store_points_end(struct store_points *s, const char *status, const char *profile, double wall_s,
		     struct err *e)
{
	sqlite3_stmt *update;
	int rc = store_points_flush(s, e);

	if (rc)
		return -1;
	if (db_exec(s->db, "BEGIN IMMEDIATE") || db_prepare(s->db, end_sql, &update))
		return fail(s, "the end of the calibration is not stored", e);
	bind_text(update, 1, status);
	bind_text(update, 2, profile);
	sqlite3_bind_double(update, 3, wall_s);
	sqlite3_bind_int64(update, 4, s->id);
	rc = step(update);
	sqlite3_finalize(update);
	if (rc || db_exec(s->db, "COMMIT"))
		return fail(s, "the end of the calibration is not stored", e);
	return 0;
}

void store_points_close(struct store_points *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	free(s->path);
	free(s);
}
