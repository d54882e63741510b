/* Rows that no run can have: a file that was damaged, or written by somebody else. */
#include "results/db.h"

#include <string.h>

/* Far above all that a run can have; below what would make a picture of it need all memory. */
enum { MAX_INSTANCES = 1000000, MAX_BATCHES = 1000 };

/* SQL: ns and bytes up to 2^62, tokens, blocks and requests; those of the run are ?2 and ?3. */
#define TIME	 "4611686018427387904"
#define COUNT	 "1000000000000"
#define INSTANCE "?2 - 1"
#define BATCH	 "?3 - 1"

/* A good row has whole numbers from 0 to this in these columns. */
static const struct rule {
	const char *table, *column, *max;
	bool may_be_null;
} rules[] = {
	{"sample", "t_ns", TIME, false},	   {"sample", "instance", INSTANCE, false},
	{"sample", "running", COUNT, false},	   {"sample", "waiting", COUNT, false},
	{"sample", "kv_blocks", COUNT, false},	   {"step", "instance", INSTANCE, false},
	{"step", "batch", BATCH, false},	   {"step", "start_ns", "end_ns", false},
	{"step", "end_ns", TIME, false},	   {"step", "steps", COUNT, false},
	{"step", "prefill_tok", COUNT, false},	   {"step", "decode_seq", COUNT, false},
	{"step", "decode_ctx", COUNT, false},	   {"step", "kv_blocks", COUNT, false},
	{"step", "moved_bytes", TIME, false},	   {"request", "idx", TIME, false},
	{"request", "arrive_ns", TIME, false},	   {"request", "schedule_ns", TIME, true},
	{"request", "first_token_ns", TIME, true}, {"request", "finish_ns", TIME, true},
	{"request", "prompt_tok", COUNT, false},   {"request", "output_tok", COUNT, false},
	{"request", "instance", INSTANCE, true},   {"histogram", "count", COUNT, false},
};

/* How many rows of run ?1 break a rule. */
static char *count_bad(const char *table)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);

	sqlite3_str_appendf(sql, "SELECT count(*) FROM %s WHERE run_id = ?1 AND (", table);
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
		const struct rule *r = &rules[i];

		if (strcmp(r->table, table) != 0)
			continue;
		sqlite3_str_appendf(sql, "(typeof(%s) <> 'integer' OR %s NOT BETWEEN 0 AND %s)",
				    r->column, r->column, r->max);
		if (r->may_be_null)
			sqlite3_str_appendf(sql, "AND %s IS NOT NULL", r->column);
		sqlite3_str_appendall(sql, " OR ");
	}
	sqlite3_str_appendall(sql, strcmp(table, "step") != 0
					   ? "false)"
					   : "kind NOT IN ('prefill', 'decode', 'mixed'))");
	return sqlite3_str_finish(sql);
}

static int64_t at_most(int64_t given, int64_t max)
{
	return given > 0 && given < max ? given : max;
}

int db_check_rows(sqlite3 *db, const char *path, const struct stored_run *run, const char *table,
		  struct err *e)
{
	const struct run_info *i = &run->info;
	int64_t id = run->summary.run_id, bad = 0;
	sqlite3_stmt *s;
	char *sql;
	int rc;

	if (i->decode_instances > 0 && i->decode_instances >= i->instances)
		return err_set(e,
			       "%s: the database is damaged: run %lld has %lld decode instances "
			       "of %lld",
			       path, (long long)id, (long long)i->decode_instances,
			       (long long)(i->instances > 0 ? i->instances : 0));
	sql = count_bad(table);
	rc = db_prepare(db, sql, &s);
	sqlite3_free(sql);
	if (rc)
		return db_fail(db, path, "cannot be read", e);
	sqlite3_bind_int64(s, 1, id);
	sqlite3_bind_int64(s, 2, at_most(i->instances, MAX_INSTANCES));
	if (sqlite3_bind_parameter_count(s) > 2)
		sqlite3_bind_int64(s, 3, at_most(i->pp, MAX_BATCHES));
	if (sqlite3_step(s) == SQLITE_ROW)
		bad = sqlite3_column_int64(s, 0);
	if (sqlite3_finalize(s))
		return db_fail(db, path, "cannot be read", e);
	if (bad == 0)
		return 0;
	return err_set(e,
		       "%s: the database is damaged: %lld rows of run %lld in table %s are none "
		       "that it can have",
		       path, (long long)bad, (long long)id, table);
}
