#include "results/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "results/db.h"

#include "timeline_sql.h" /* results/timeline.sql, as bytes */

enum { PID_ARRIVALS = 1, PID_INSTANCES = 2, TIDS_A_PROCESS = 1000 };

/* As timeline.sql numbers them: at one time, slices come before what points into them. */
enum {
	EVENT_STEP,
	EVENT_ARRIVALS,
	EVENT_SAMPLE,
	EVENT_FLOW_START,
	EVENT_FLOW_STEP,
	EVENT_FLOW_END
};

struct writing {
	FILE *out;
	sqlite3 *db;
	const char *path;
	const struct stored_run *run;
	int64_t prefill_instances; /* 0: not disaggregated */
	struct timeline_counts *counts;
};

static void put_string(FILE *out, const char *text)
{
	json_t *s = json_string(text);

	if (!s) { /* no UTF-8 */
		fputs("\"?\"", out);
		return;
	}
	json_dumpf(s, out, JSON_ENCODE_ANY);
	json_decref(s);
}

/* Nanoseconds as microseconds, to the digit. */
static void put_us(FILE *out, const char *name, int64_t ns)
{
	fprintf(out, ",\"%s\":%" PRId64 ".%03d", name, ns / 1000, (int)(ns % 1000));
}

/* ,{"ph":"X","pid":2,"tid":2000,"ts":1.500 */
static void start_event(struct writing *w, char ph, int64_t pid, int64_t batch, int64_t t_ns)
{
	fprintf(w->out, ",\n{\"ph\":\"%c\",\"pid\":%" PRId64 ",\"tid\":%" PRId64, ph, pid,
		pid * TIDS_A_PROCESS + batch);
	put_us(w->out, "ts", t_ns);
}

static void put_step(struct writing *w, sqlite3_stmt *s)
{
	static const char *const names[] = {"steps",	  "prefill_tok", "decode_seq",
					    "decode_ctx", "kv_blocks",	 "moved_bytes"};

	start_event(w, 'X', PID_INSTANCES + sqlite3_column_int64(s, 2), sqlite3_column_int64(s, 3),
		    sqlite3_column_int64(s, 0));
	put_us(w->out, "dur", sqlite3_column_int64(s, 4));
	fprintf(w->out, ",\"cat\":\"step\",\"name\":\"%s\",\"args\":{",
		(const char *)sqlite3_column_text(s, 5));
	for (int i = 0; i < 6; i++)
		fprintf(w->out, "%s\"%s\":%lld", i ? "," : "", names[i],
			(long long)sqlite3_column_int64(s, 6 + i));
	fputs("}}", w->out);
	w->counts->steps++;
}

static void put_arrivals(struct writing *w, sqlite3_stmt *s)
{
	static const char *const names[] = {"requests", "first_idx", "prompt_tok", "output_tok"};

	start_event(w, 'X', PID_ARRIVALS, 0, sqlite3_column_int64(s, 0));
	put_us(w->out, "dur", sqlite3_column_int64(s, 4));
	fputs(",\"cat\":\"request\",\"name\":\"arrival\",\"args\":{", w->out);
	for (int i = 0; i < 4; i++)
		fprintf(w->out, "%s\"%s\":%lld", i ? "," : "", names[i],
			(long long)sqlite3_column_int64(s, 6 + i));
	fputs("}}", w->out);
	w->counts->requests += sqlite3_column_int64(s, 6);
}

static void put_sample(struct writing *w, sqlite3_stmt *s)
{
	static const char *const names[] = {"requests running", "requests in queue",
					    "KV blocks in use"};

	for (int i = 0; i < 3; i++) {
		start_event(w, 'C', PID_INSTANCES + sqlite3_column_int64(s, 2), 0,
			    sqlite3_column_int64(s, 0));
		fprintf(w->out, ",\"name\":\"%s\",\"args\":{\"n\":%lld}}", names[i],
			(long long)sqlite3_column_int64(s, 6 + i));
	}
}

static void put_flow(struct writing *w, sqlite3_stmt *s, int event)
{
	bool start = event == EVENT_FLOW_START;

	if (!start && sqlite3_column_type(s, 2) == SQLITE_NULL) {
		w->counts->unplaced++;
		return;
	}
	start_event(w,
		    start		       ? 's'
		    : event == EVENT_FLOW_STEP ? 't'
					       : 'f',
		    start ? PID_ARRIVALS : PID_INSTANCES + sqlite3_column_int64(s, 2),
		    sqlite3_column_int64(s, 3), sqlite3_column_int64(s, 0));
	fprintf(w->out, ",\"cat\":\"request\",\"name\":\"request\",\"id\":%lld%s}",
		(long long)sqlite3_column_int64(s, 6),
		event == EVENT_FLOW_END ? ",\"bp\":\"e\"" : "");
}

static int put_events(struct writing *w, struct err *e)
{
	sqlite3_stmt *s;

	if (db_prepare(w->db, timeline_sql, &s))
		return db_fail(w->db, w->path, "cannot be read", e);
	sqlite3_bind_int64(s, 1, w->run->summary.run_id);
	sqlite3_bind_int64(s, 2, w->prefill_instances);
	while (sqlite3_step(s) == SQLITE_ROW && !ferror(w->out)) {
		int event = sqlite3_column_int(s, 1);

		if (event == EVENT_STEP)
			put_step(w, s);
		else if (event == EVENT_ARRIVALS)
			put_arrivals(w, s);
		else if (event == EVENT_SAMPLE)
			put_sample(w, s);
		else
			put_flow(w, s, event);
	}
	if (ferror(w->out)) {
		sqlite3_finalize(s);
		return err_set(e, "the output cannot be written: %s", strerror(errno));
	}
	return sqlite3_finalize(s) ? db_fail(w->db, w->path, "cannot be read", e) : 0;
}

/* --- names --------------------------------------------------------------------------------------
 */

static void put_name(struct writing *w, const char *what, int64_t pid, int64_t tid,
		     const char *name)
{
	fprintf(w->out,
		",\n{\"ph\":\"M\",\"pid\":%" PRId64 ",\"tid\":%" PRId64
		",\"name\":\"%s\",\"args\":{\"name\":",
		pid, tid, what);
	put_string(w->out, name);
	fputs("}}", w->out);
}

static void name_batch(struct writing *w, int64_t instance, int64_t batch)
{
	int64_t pid = PID_INSTANCES + instance;
	const char *role = "";
	char name[64];

	if (w->prefill_instances > 0)
		role = instance < w->prefill_instances ? " (prefill)" : " (decode)";
	snprintf(name, sizeof name, "instance %" PRId64 "%s", instance, role);
	if (batch == 0)
		put_name(w, "process_name", pid, pid * TIDS_A_PROCESS, name);
	snprintf(name, sizeof name, "steps of batch %" PRId64, batch);
	put_name(w, "thread_name", pid, pid * TIDS_A_PROCESS + batch, name);
}

static int put_names(struct writing *w, struct err *e)
{
	static const char sql[] = "SELECT DISTINCT instance, batch FROM step WHERE run_id = ?1 "
				  "ORDER BY instance, batch";
	sqlite3_stmt *s;

	if (db_prepare(w->db, sql, &s))
		return db_fail(w->db, w->path, "cannot be read", e);
	sqlite3_bind_int64(s, 1, w->run->summary.run_id);
	put_name(w, "process_name", PID_ARRIVALS, PID_ARRIVALS * TIDS_A_PROCESS, "requests");
	put_name(w, "thread_name", PID_ARRIVALS, PID_ARRIVALS * TIDS_A_PROCESS, "arrivals");
	while (sqlite3_step(s) == SQLITE_ROW)
		name_batch(w, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1));
	return sqlite3_finalize(s) ? db_fail(w->db, w->path, "cannot be read", e) : 0;
}

/* Before the first byte is written, as that may be to the standard output. */
static int check_steps(const struct writing *w, struct err *e)
{
	int64_t id = w->run->summary.run_id;
	sqlite3_stmt *s;
	bool some;

	if (db_prepare(w->db, "SELECT 1 FROM step WHERE run_id = ?1 LIMIT 1", &s))
		return db_fail(w->db, w->path, "cannot be read", e);
	sqlite3_bind_int64(s, 1, id);
	some = sqlite3_step(s) == SQLITE_ROW;
	if (sqlite3_finalize(s))
		return db_fail(w->db, w->path, "cannot be read", e);
	return some ? 0
		    : err_set(e,
			      "%s: run %" PRId64 " has no steps; only those made with omnibus run "
			      "--steps have",
			      w->path, id);
}

static void put_settings(struct writing *w)
{
	static const char *const shown[] = {"policy", "params", "model", "device", "trace"};

	fprintf(w->out, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"run\":%" PRId64 ",\"times\":",
		w->run->summary.run_id);
	put_string(w->out, w->run->summary.times);
	for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
		for (const struct field *f = run_info_fields; f->name; f++) {
			char text[FIELD_TEXT_SIZE + 1];
			size_t len;

			if (strcmp(f->name, shown[i]) != 0)
				continue;
			snprintf(text, sizeof text, "%s", field_text(f, &w->run->info, &len));
			fprintf(w->out, ",\"%s\":", f->name);
			put_string(w->out, text);
		}
	}
	fputs("},\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"tid\":1000,\"name\":"
	      "\"process_sort_index\",\"args\":{\"sort_index\":-1}}",
	      w->out);
}

static int write_run(struct writing *w, struct err *e)
{
	const struct run_info *i = &w->run->info;

	if (db_check_rows(w->db, w->path, w->run, "step", e) ||
	    db_check_rows(w->db, w->path, w->run, "sample", e) ||
	    db_check_rows(w->db, w->path, w->run, "request", e))
		return -1;
	if (i->decode_instances > 0)
		w->prefill_instances = i->instances - i->decode_instances;
	if (check_steps(w, e))
		return -1;
	put_settings(w);
	if (put_names(w, e) || put_events(w, e))
		return -1;
	fputs("\n]}\n", w->out);
	return ferror(w->out) ? err_set(e, "the output cannot be written: %s", strerror(errno)) : 0;
}

int timeline_write(FILE *out, const char *path, int64_t run_id, struct timeline_counts *counts,
		   struct err *e)
{
	struct writing w = {.out = out, .path = path, .counts = counts};
	struct stored_run *runs = NULL;
	size_t n = 0;
	int rc;

	*counts = (struct timeline_counts){0};
	w.db = db_open_to_read(path, e);
	if (!w.db)
		return -1;
	rc = db_exec(w.db, "BEGIN") ? db_fail(w.db, path, "cannot be read", e)
				    : db_read_runs(w.db, path, &run_id, 1, &runs, &n, e);
	w.run = runs;
	if (!rc && n == 1)
		rc = write_run(&w, e);
	free(runs);
	sqlite3_close(w.db);
	return rc;
}
