/* Distributions over the completed requests of runs: a line a run. */
#include "results/plot.h"

#include <math.h>

#include "results/db.h"

/* So many points of a line are drawn: all of them, or ranks at equal distances and both ends. */
enum { CDF_POINTS = 1000 };

static const struct cdf_panel {
	const char *quantity, *label;
	const char *metric; /* of the table histogram */
	const char *sql;    /* values from the request rows, from the lowest */
} cdf_panels[] = {
#define COMPLETED " FROM request WHERE run_id = ?1 AND status = 'completed'"
	{"ttft_s", "TTFT (s)", "ttft", "SELECT first_token_ns - arrive_ns" COMPLETED " ORDER BY 1"},
	{"tpot_s", "TPOT (s/token)", "tpot",
	 "SELECT (finish_ns - first_token_ns) * 1.0 / (output_tok - 1)" COMPLETED
	 " AND output_tok > 1 ORDER BY 1"},
	{"e2e_s", "E2E latency (s)", "e2e", "SELECT finish_ns - arrive_ns" COMPLETED " ORDER BY 1"},
};
enum { N_PANELS = sizeof cdf_panels / sizeof cdf_panels[0] };

struct cdf {
	struct figure *f;
	size_t panel, line;
	int64_t run_id, n; /* values in all */
};

static void add(const struct cdf *d, double ns, int64_t up_to)
{
	struct figure_point p = {
		.run_id = d->run_id, .x = ns / 1e9, .y = (double)up_to / (double)d->n};

	figure_add(d->f, d->panel, d->line, &p);
}

/* Of a rank, among as many as are drawn. */
static double place(const struct cdf *d, int64_t rank)
{
	return floor((double)rank * CDF_POINTS / (double)d->n);
}

static int count(const struct chosen *c, const char *sql, struct cdf *d, struct err *e)
{
	char *count_sql = sqlite3_mprintf("SELECT count(*) FROM (%s)", sql);
	sqlite3_stmt *s;
	int rc = plot_prepare(c, count_sql, d->run_id, &s, e);

	sqlite3_free(count_sql);
	if (rc)
		return -1;
	d->n = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
	return plot_finish(c, s, e);
}

/* One point a value that occurs, at the rank of the last request that has it. */
static int from_requests(const struct chosen *c, const char *sql, struct cdf *d, struct err *e)
{
	sqlite3_stmt *s;
	int64_t rank = 0, drawn = 0;
	double before = NAN;

	if (count(c, sql, d, e) || plot_prepare(c, sql, d->run_id, &s, e))
		return -1;
	while (sqlite3_step(s) == SQLITE_ROW) {
		double v = sqlite3_column_double(s, 0);

		/* of ranks so close together that they have one place, the first is enough */
		if (rank > 0 && v > before &&
		    (drawn == 0 || d->n <= CDF_POINTS || place(d, rank) > place(d, drawn))) {
			add(d, before, rank);
			drawn = rank;
		}
		before = v;
		rank++;
	}
	if (rank > 0)
		add(d, before, rank);
	return plot_finish(c, s, e);
}

/* Up to the upper end of each bin, within 0.1% of the values in it. */
static int from_histogram(const struct chosen *c, const char *metric, struct cdf *d, struct err *e)
{
	static const char sql[] = "SELECT high_ns, sum(count) OVER (ORDER BY low_ns), "
				  "sum(count) OVER () FROM histogram "
				  "WHERE run_id = ?1 AND metric = ?2 ORDER BY low_ns";
	sqlite3_stmt *s;
	int64_t drawn = 0;

	if (plot_prepare(c, sql, d->run_id, &s, e))
		return -1;
	sqlite3_bind_text(s, 2, metric, -1, SQLITE_STATIC);
	while (sqlite3_step(s) == SQLITE_ROW) {
		int64_t up_to = sqlite3_column_int64(s, 1);

		d->n = sqlite3_column_int64(s, 2);
		if (drawn == 0 || up_to == d->n || place(d, up_to) > place(d, drawn)) {
			add(d, sqlite3_column_double(s, 0), up_to);
			drawn = up_to;
		}
	}
	return plot_finish(c, s, e);
}

static int has_requests(const struct chosen *c, int64_t run_id, bool *has, struct err *e)
{
	sqlite3_stmt *s;

	if (plot_prepare(c, "SELECT 1 FROM request WHERE run_id = ?1 LIMIT 1", run_id, &s, e))
		return -1;
	*has = sqlite3_step(s) == SQLITE_ROW;
	return plot_finish(c, s, e);
}

static int add_run(const struct chosen *c, size_t i, const char *name, struct figure *f,
		   size_t *n_binned, struct err *e)
{
	struct cdf d = {.f = f, .line = figure_line(f, name), .run_id = c->runs[i].summary.run_id};
	bool exact;

	if (has_requests(c, d.run_id, &exact, e) ||
	    db_check_rows(c->db, c->path, &c->runs[i], exact ? "request" : "histogram", e))
		return -1;
	*n_binned += !exact;
	for (d.panel = 0; d.panel < N_PANELS; d.panel++) {
		const struct cdf_panel *p = &cdf_panels[d.panel];

		if (exact ? from_requests(c, p->sql, &d, e) : from_histogram(c, p->metric, &d, e))
			return -1;
	}
	return 0;
}

int plot_cdf(const struct chosen *c, const struct plot_want *w, struct figure *f, struct err *e)
{
	char **names = choose_names(c->runs, c->n, false);
	size_t n_binned = 0;
	int rc = 0;

	(void)w;
	f->x_name = "latency_s";
	f->y_name = "share";
	f->steps = f->from_zero = true;
	for (size_t i = 0; i < N_PANELS; i++) {
		struct figure_panel *p = figure_panel(f, cdf_panels[i].quantity);

		snprintf(p->x_label, sizeof p->x_label, "%s", cdf_panels[i].label);
		snprintf(p->y_label, sizeof p->y_label, "share of completed requests");
		p->may_log_x = true;
		p->y_max = 1;
	}
	for (size_t i = 0; i < c->n && !rc; i++)
		rc = add_run(c, i, names[i], f, &n_binned, e);
	if (n_binned > 0)
		figure_note(
			f,
			"%zu of %zu runs have no request rows: from their histograms, within 0.1%%",
			n_binned, c->n);
	choose_names_free(names, c->n);
	return rc;
}
