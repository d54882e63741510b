/*
 * stored.h: a made-up run of `n` requests, for tests of the database. Every field of the settings
 * and of the summary is set from `seed`, so that a field that is lost or swapped shows.
 */
#ifndef TESTS_STORED_H
#define TESTS_STORED_H

#include "results/store.h"
#include "tests/testing.h"
#include <sqlite3.h>
#include <string.h>

static inline void stored_fields(const struct field *fields, void *row, int64_t seed)
{
	for (const struct field *f = fields; f->name; f++) {
		char *at = (char *)row + f->offset;
		int64_t whole = 1000 * seed + (f - fields);
		double real = (double)whole + 0.125;

		if (f->kind == FIELD_INT)
			memcpy(at, &whole, sizeof whole);
		else if (f->kind == FIELD_REAL)
			memcpy(at, &real, sizeof real);
		else
			snprintf(at, f->size, "%lld,'%.8s'", (long long)whole, f->name);
	}
}

static inline struct record stored_record(int64_t idx)
{
	return (struct record){
		.idx = idx,
		.arrive_ns = 10 * idx,
		.schedule_ns = 10 * idx + 1,
		.first_token_ns = 10 * idx + 2,
		.finish_ns = 10 * idx + 6,
		.prompt_tok = 100,
		.output_tok = 3,
		.instance = 0,
		.max_gap_ns = 2.5,
		.status = RECORD_COMPLETED,
	};
}

/* `n` rows of each table of rows. */
static inline int stored_rows(struct store *s, int64_t n, struct err *e)
{
	int rc = 0;

	for (int64_t i = 0; i < n && !rc; i++) {
		struct record r = stored_record(i);
		struct sample p = {.t_ns = i, .running = 2, .waiting = 3, .kv_blocks = 4};
		struct histogram_bin b = {
			.metric = "itl", .low_ns = (double)i, .high_ns = (double)i + 1, .count = 1};
		struct step_row t = {.start_ns = i, .end_ns = i + 1, .steps = 1, .decode_seq = 1};

		rc = store_record(s, &r, e) || store_sample(s, &p, e) || store_bin(s, &b, e) ||
		     store_step(s, &t, e);
	}
	return rc ? -1 : 0;
}

static inline int stored_run(const char *path, int64_t seed, int64_t n, struct summary *sum,
			     struct err *e)
{
	struct run_info info = {0};
	struct store *s = store_open(path, e);
	int rc;

	if (!s)
		return -1;
	stored_fields(run_info_fields, &info, seed);
	stored_fields(summary_fields, sum, seed);
	rc = stored_rows(s, n, e);
	if (!rc)
		rc = store_commit(s, &info, sum, "2026-01-02T03:04:05Z", 1.5, e);
	store_close(s);
	return rc;
}

/* What `sqlite3 path sql` prints, with ; for the end of a row but the last. The caller frees it. */
static inline char *stored_query(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *statement;
	sqlite3_str *text = sqlite3_str_new(NULL);
	const char *end = "";
	char *copy, *got;

	assert_i64(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	sqlite3_busy_timeout(db, 60000);
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	while (sqlite3_step(statement) == SQLITE_ROW) {
		sqlite3_str_appendall(text, end);
		end = ";";
		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			const char *cell = (const char *)sqlite3_column_text(statement, i);

			sqlite3_str_appendf(text, "%s%s", i ? "|" : "", cell ? cell : "");
		}
	}
	if (sqlite3_finalize(statement))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
	got = sqlite3_str_finish(text);
	copy = xstrdup(got ? got : "");
	sqlite3_free(got);
	return copy;
}

#define assert_query(path, sql, want)                                                              \
	do {                                                                                       \
		char *got_ = stored_query(path, sql);                                              \
		assert_string_equal(got_, want);                                                   \
		free(got_);                                                                        \
	} while (0)

#endif
