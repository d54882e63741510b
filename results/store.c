#include "results/store.h"

#include <string.h>

#include "results/db.h"

enum insert { INSERT_REQUEST, INSERT_CLIENT, INSERT_SAMPLE, INSERT_STEP, INSERT_BIN, N_INSERTS };

/* The tables of rows that spill, and how they come into the file: ?1 is the id of the run. */
static const struct spill {
	const char *table, *columns; /* but run_id */
	const char *order;	     /* that of the table in the file, which is then appended to */
	const char *key;	     /* keeps the rows in that order from the start */
	int n_columns;
} spills[N_INSERTS] = {
	[INSERT_REQUEST] = {.table = "request",
			    .columns = "idx,arrive_ns,schedule_ns,first_token_ns,finish_ns,"
				       "prompt_tok,output_tok,cached_tok,preemptions,instance,"
				       "max_gap_ns,client,session,priority,status",
			    .order = "idx",
			    .key = "idx INTEGER PRIMARY KEY",
			    .n_columns = 15},
	[INSERT_CLIENT] = {.table = "client",
			   .columns = "id,name",
			   .order = "id",
			   .key = "id INTEGER PRIMARY KEY",
			   .n_columns = 2},
	[INSERT_SAMPLE] = {.table = "sample",
			   .columns = "t_ns,instance,running,waiting,kv_blocks",
			   .order = "rowid",
			   .n_columns = 5},
	[INSERT_STEP] = {.table = "step",
			 .columns = "instance,batch,start_ns,end_ns,steps,kind,prefill_tok,"
				    "decode_seq,decode_ctx,kv_blocks,moved_bytes",
			 .order = "rowid",
			 .n_columns = 11},
	[INSERT_BIN] = {.table = "histogram",
			.columns = "metric,low_ns,high_ns,count",
			.order = "metric, low_ns",
			.n_columns = 4},
};

struct store {
	sqlite3 *db; /* the spill; the results file is attached to it as `file` for the commit */
	char *path;
	bool attached;
	sqlite3_stmt *inserts[N_INSERTS];
	bool failed;	/* the spilled rows are not complete: no commit any more */
	bool committed; /* nothing may follow */
};

/*
 * The database without a name is a temporary file that is already deleted: it goes with the
 * process. Memory holds 2 MB of it. Nothing needs to be rolled back in it: a failure is the end of
 * the run.
 */
static int open_spill(struct store *s, struct err *e)
{
	/* one by one: db_exec() may do a whole text again */
	static const char *const settings[] = {
		"PRAGMA temp_store = FILE",
		"PRAGMA main.journal_mode = OFF",
		"PRAGMA main.synchronous = OFF",
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof settings / sizeof settings[0] && !rc; i++)
		rc = db_exec(s->db, settings[i]);
	for (int i = 0; i < N_INSERTS && !rc; i++) {
		const struct spill *t = &spills[i];
		sqlite3_str *sql = sqlite3_str_new(s->db);
		char *text;

		sqlite3_str_appendf(sql, "CREATE TABLE main.%s(%s%s)", t->table,
				    t->key ? t->key : "",
				    t->key ? strchr(t->columns, ',') : t->columns);
		text = sqlite3_str_finish(sql);
		rc = db_exec(s->db, text);
		sqlite3_free(text);
		if (rc)
			break;
		sql = sqlite3_str_new(s->db);
		sqlite3_str_appendf(sql, "INSERT INTO main.%s VALUES (?", t->table);
		for (int k = 1; k < t->n_columns; k++)
			sqlite3_str_appendall(sql, ",?");
		sqlite3_str_appendall(sql, ")");
		text = sqlite3_str_finish(sql);
		rc = db_prepare(s->db, text, &s->inserts[i]);
		sqlite3_free(text);
	}
	if (!rc)
		rc = db_exec(s->db, "BEGIN"); /* ends in store_commit() */
	return rc ? db_fail(s->db, s->path, "its temporary database cannot be created", e) : 0;
}

struct store *store_open(const char *path, struct err *e)
{
	struct store *s = xcalloc(1, sizeof *s);

	s->path = xstrdup(path);
	if (!db_check(path, e)) {
		s->db = db_open("", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, e);
		if (s->db && !open_spill(s, e))
			return s;
	}
	store_close(s);
	return NULL;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	for (int i = 0; i < N_INSERTS; i++)
		sqlite3_finalize(s->inserts[i]);
	sqlite3_close(s->db); /* rolls back what was not committed */
	free(s->path);
	free(s);
}

/* --- rows on their way --------------------------------------------------------------------------
 */

/* -1 is NULL */
static void bind_time(sqlite3_stmt *insert, int i, int64_t v)
{
	if (v < 0)
		sqlite3_bind_null(insert, i);
	else
		sqlite3_bind_int64(insert, i, v);
}

/* 0 is NULL */
static void bind_given(sqlite3_stmt *insert, int i, int64_t v)
{
	if (v == 0)
		sqlite3_bind_null(insert, i);
	else
		sqlite3_bind_int64(insert, i, v);
}

static int spill_row(struct store *s, enum insert kind, struct err *e)
{
	sqlite3_stmt *insert = s->inserts[kind];

	CHECK(!s->committed, "%s: a row after the commit", s->path);
	sqlite3_step(insert);
	if (sqlite3_reset(insert) == SQLITE_OK && !s->failed)
		return 0;
	s->failed = true;
	return db_fail(s->db, s->path,
		       "a row cannot be kept in the temporary database, which SQLITE_TMPDIR puts "
		       "elsewhere",
		       e);
}

int store_record(struct store *s, const struct record *r, struct err *e)
{
	static const char *const status[] = {[RECORD_COMPLETED] = "completed",
					     [RECORD_REJECTED] = "rejected",
					     [RECORD_UNFINISHED] = "unfinished",
					     [RECORD_ABORTED] = "aborted"};
	sqlite3_stmt *insert = s->inserts[INSERT_REQUEST];

	sqlite3_bind_int64(insert, 1, r->idx);
	sqlite3_bind_int64(insert, 2, r->arrive_ns);
	bind_time(insert, 3, r->schedule_ns);
	bind_time(insert, 4, r->first_token_ns);
	bind_time(insert, 5, r->finish_ns);
	sqlite3_bind_int64(insert, 6, r->prompt_tok);
	sqlite3_bind_int64(insert, 7, r->output_tok);
	sqlite3_bind_int64(insert, 8, r->cached_tok);
	sqlite3_bind_int64(insert, 9, r->preemptions);
	bind_time(insert, 10, r->instance);
	if (r->max_gap_ns < 0)
		sqlite3_bind_null(insert, 11);
	else
		sqlite3_bind_double(insert, 11, r->max_gap_ns);
	bind_given(insert, 12, r->client);
	bind_given(insert, 13, r->session);
	sqlite3_bind_int64(insert, 14, r->priority);
	sqlite3_bind_text(insert, 15, status[r->status], -1, SQLITE_STATIC);
	return spill_row(s, INSERT_REQUEST, e);
}

int store_client(struct store *s, int64_t id, const char *name, struct err *e)
{
	sqlite3_stmt *insert = s->inserts[INSERT_CLIENT];

	sqlite3_bind_int64(insert, 1, id);
	sqlite3_bind_text(insert, 2, name, -1, SQLITE_TRANSIENT);
	return spill_row(s, INSERT_CLIENT, e);
}

int store_sample(struct store *s, const struct sample *p, struct err *e)
{
	sqlite3_stmt *insert = s->inserts[INSERT_SAMPLE];

	sqlite3_bind_int64(insert, 1, p->t_ns);
	sqlite3_bind_int64(insert, 2, p->instance);
	sqlite3_bind_int64(insert, 3, p->running);
	sqlite3_bind_int64(insert, 4, p->waiting);
	sqlite3_bind_int64(insert, 5, p->kv_blocks);
	return spill_row(s, INSERT_SAMPLE, e);
}

int store_step(struct store *s, const struct step_row *r, struct err *e)
{
	static const char *const kinds[] = {
		[STEP_PREFILL] = "prefill", [STEP_DECODE] = "decode", [STEP_MIXED] = "mixed"};
	sqlite3_stmt *insert = s->inserts[INSERT_STEP];

	sqlite3_bind_int64(insert, 1, r->instance);
	sqlite3_bind_int64(insert, 2, r->batch);
	sqlite3_bind_int64(insert, 3, r->start_ns);
	sqlite3_bind_int64(insert, 4, r->end_ns);
	sqlite3_bind_int64(insert, 5, r->steps);
	sqlite3_bind_text(insert, 6, kinds[r->kind], -1, SQLITE_STATIC);
	sqlite3_bind_int64(insert, 7, r->prefill_tok);
	sqlite3_bind_int64(insert, 8, r->decode_seq);
	sqlite3_bind_int64(insert, 9, r->decode_ctx);
	sqlite3_bind_int64(insert, 10, r->kv_blocks);
	sqlite3_bind_int64(insert, 11, r->moved_bytes);
	return spill_row(s, INSERT_STEP, e);
}

int store_bin(struct store *s, const struct histogram_bin *b, struct err *e)
{
	sqlite3_stmt *insert = s->inserts[INSERT_BIN];

	sqlite3_bind_text(insert, 1, b->metric, -1, SQLITE_STATIC);
	sqlite3_bind_double(insert, 2, b->low_ns);
	sqlite3_bind_double(insert, 3, b->high_ns);
	sqlite3_bind_int64(insert, 4, b->count);
	return spill_row(s, INSERT_BIN, e);
}

/* --- the commit ---------------------------------------------------------------------------------
 */

static const struct field *find_field(const struct field *fields, const char *name)
{
	for (const struct field *f = fields; f->name; f++) {
		if (!strcmp(f->name, name))
			return f;
	}
	return NULL;
}

/* What the summary shares with the settings is stored once, in `run`; run_id has its own place. */
static bool not_in_metric(const char *name)
{
	return !strcmp(name, "run_id") || find_field(run_info_fields, name);
}

/* Where the summary has the field too, its value is the one. */
static int bind_run(sqlite3_stmt *insert, const struct run_info *info, const struct summary *sum)
{
	int i = 1;

	for (const struct field *f = run_info_fields; f->name; f++) {
		const struct field *shared = find_field(summary_fields, f->name);

		if (shared)
			db_bind(insert, i++, shared, sum);
		else
			db_bind(insert, i++, f, info);
	}
	return i;
}

/* Executes an INSERT of which parameters are bound, and forgets it. SQLite's code. */
static int finish(sqlite3_stmt *insert)
{
	sqlite3_step(insert);
	return sqlite3_finalize(insert);
}

static int prepare_insert(struct store *s, const char *table, const char *more,
			  const struct field *fields, bool (*skip)(const char *),
			  sqlite3_stmt **insert)
{
	sqlite3_str *sql = sqlite3_str_new(s->db);
	char *text;
	int rc, n = more[0] != '\0';

	for (const char *p = more; *p; p++)
		n += *p == ',';
	for (const struct field *f = fields; f->name; f++)
		n += !skip || !skip(f->name);
	sqlite3_str_appendf(sql, "INSERT INTO file.%s (", table);
	db_names(sql, fields, skip);
	sqlite3_str_appendf(sql, ",%s) VALUES (?", more);
	while (--n > 0)
		sqlite3_str_appendall(sql, ",?");
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	rc = db_prepare(s->db, text, insert);
	sqlite3_free(text);
	return rc;
}

static int insert_run(struct store *s, const struct run_info *info, const struct summary *sum,
		      const char *started, double wall_s)
{
	sqlite3_stmt *insert;
	int i, rc = prepare_insert(s, "run", "started,wall_s", run_info_fields, NULL, &insert);

	if (rc)
		return rc;
	i = bind_run(insert, info, sum);
	sqlite3_bind_text(insert, i, started, -1, SQLITE_STATIC);
	sqlite3_bind_double(insert, i + 1, wall_s);
	return finish(insert);
}

static int insert_metric(struct store *s, int64_t run_id, const struct summary *sum)
{
	sqlite3_stmt *insert;
	int i = 1,
	    rc = prepare_insert(s, "metric", "run_id", summary_fields, not_in_metric, &insert);

	if (rc)
		return rc;
	for (const struct field *f = summary_fields; f->name; f++) {
		if (!not_in_metric(f->name))
			db_bind(insert, i++, f, sum);
	}
	sqlite3_bind_int64(insert, i, run_id);
	return finish(insert);
}

static int copy_rows(struct store *s, int64_t run_id)
{
	int rc = SQLITE_OK;

	for (int i = 0; i < N_INSERTS && !rc; i++) {
		const struct spill *t = &spills[i];
		char *sql = sqlite3_mprintf("INSERT INTO file.%s (run_id,%s) "
					    "SELECT %lld,%s FROM main.%s ORDER BY %s",
					    t->table, t->columns, (long long)run_id, t->columns,
					    t->table, t->order);

		rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
		sqlite3_free(sql);
	}
	return rc;
}

/* Creates the results file where it is not there yet. */
static int attach_file(struct store *s, struct err *e)
{
	sqlite3 *db = s->attached ? NULL : db_create(s->path, e);
	char *sql;

	if (s->attached)
		return 0;
	if (!db)
		return -1;
	sql = sqlite3_mprintf("ATTACH %Q AS file", s->path);
	s->attached = db_exec(s->db, sql) == SQLITE_OK;
	sqlite3_free(sql);
	sqlite3_close(db);
	return s->attached ? 0 : db_fail(s->db, s->path, "cannot be opened", e);
}

int store_commit(struct store *s, const struct run_info *info, struct summary *sum,
		 const char *started, double wall_s, struct err *e)
{
	int64_t run_id;
	int rc = 0;

	CHECK(!s->committed, "%s: a second commit of run %lld", s->path, (long long)sum->run_id);
	if (s->failed)
		return err_set(e, "%s: the run is not stored: rows of it were lost before",
			       s->path);
	if (!sqlite3_get_autocommit(s->db))
		rc = db_exec(s->db, "COMMIT"); /* of the spill */
	if (!rc && attach_file(s, e))
		return -1;
	if (!rc)
		rc = db_exec(s->db, "BEGIN IMMEDIATE");
	if (!rc)
		rc = insert_run(s, info, sum, started, wall_s);
	run_id = sqlite3_last_insert_rowid(s->db);
	if (!rc)
		rc = insert_metric(s, run_id, sum);
	if (!rc)
		rc = copy_rows(s, run_id);
	if (!rc)
		rc = db_exec(s->db, "COMMIT");
	if (rc) {
		db_fail(s->db, s->path, "the run is not stored", e);
		if (!sqlite3_get_autocommit(s->db))
			sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		return -1;
	}
	s->committed = true;
	sum->run_id = run_id;
	return 0;
}
