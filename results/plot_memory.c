/* What a device holds by the number of requests that run: weights, and KV as samples found it. */
#include "results/plot.h"

#include <math.h>

#include "results/db.h"

/* Of the height of the picture: less does not hold what a line says. */
static const double SAME_PLACE = 0.06;
static const double GIB = (double)((int64_t)1 << 30);

static bool is_known(const struct run_info *i)
{
	return i->weights_bytes >= 0 && i->block_tok > 0 && i->kv_token_bytes > 0 &&
	       !(i->decode_instances > 0);
}

static int add_run(const struct chosen *c, const struct stored_run *run, const char *name,
		   struct figure *f, struct err *e)
{
	static const char sql[] = "SELECT running, avg(kv_blocks), min(kv_blocks), max(kv_blocks) "
				  "FROM sample WHERE run_id = ?1 GROUP BY running ORDER BY running";
	double block = (double)run->info.block_tok * (double)run->info.kv_token_bytes / GIB;
	double weights = (double)run->info.weights_bytes / GIB;
	size_t line = figure_line(f, name);
	sqlite3_stmt *s;

	if (db_check_rows(c->db, c->path, run, "sample", e) ||
	    plot_prepare(c, sql, run->summary.run_id, &s, e))
		return -1;
	while (sqlite3_step(s) == SQLITE_ROW) {
		struct figure_point p = {
			.run_id = run->summary.run_id,
			.x = sqlite3_column_double(s, 0),
			.y = weights + block * sqlite3_column_double(s, 1),
			.low = weights + block * sqlite3_column_double(s, 2),
			.high = weights + block * sqlite3_column_double(s, 3),
		};

		figure_add(f, 0, line, &p);
	}
	return plot_finish(c, s, e);
}

/* Weights and the whole pool; NaN without a limit. */
static double full_gib(const struct run_info *i)
{
	double block = (double)i->block_tok * (double)i->kv_token_bytes;

	return i->kv_blocks > 0 ? ((double)i->weights_bytes + block * (double)i->kv_blocks) / GIB
				: NAN;
}

static double usable_gib(const struct run_info *i)
{
	return i->usable_bytes > 0 ? (double)i->usable_bytes / GIB : NAN;
}

/* Whether a line is as good as there, or so close that there is no room for a text. */
static bool has_rule(const struct figure *f, double y, double near)
{
	for (size_t i = 0; i < f->n_rules; i++) {
		if (fabs(f->rules[i].y - y) <= near)
			return true;
	}
	return false;
}

static void add_rule(struct figure *f, double y, const char *label)
{
	struct figure_rule *r = &f->rules[f->n_rules];

	if (f->n_rules == sizeof f->rules / sizeof f->rules[0])
		return;
	r->y = y;
	if (label)
		snprintf(r->label, sizeof r->label, "%s: %.1f GiB", label, y);
	f->n_rules++;
}

/*
 * Lines at weights and the whole pool, where curves end, each once; and at what weights, reserve
 * and pool together may take, where that is not in the same place.
 */
static void add_rules(const struct chosen *c, struct figure *f)
{
	double most = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (is_known(&c->runs[i].info))
			most = fmax(most,
				    fmax(full_gib(&c->runs[i].info), usable_gib(&c->runs[i].info)));
	}
	for (size_t i = 0; i < c->n; i++) {
		double y = full_gib(&c->runs[i].info);

		if (is_known(&c->runs[i].info) && !isnan(y) && !has_rule(f, y, 1e-9 * most))
			add_rule(f, y,
				 has_rule(f, y, SAME_PLACE * most)
					 ? NULL
					 : "weights and the whole KV pool");
	}
	for (size_t i = 0; i < c->n; i++) {
		double y = usable_gib(&c->runs[i].info);
		char label[48];

		snprintf(label, sizeof label, "usable memory of %.24s", c->runs[i].summary.device);
		if (is_known(&c->runs[i].info) && !isnan(y) && !has_rule(f, y, SAME_PLACE * most))
			add_rule(f, y, label);
	}
}

int plot_memory(const struct chosen *c, const struct plot_want *w, struct figure *f, struct err *e)
{
	char **names = choose_names(c->runs, c->n, false);
	struct figure_panel *p = figure_panel(f, "weights_kv_gib");
	size_t n_unknown = 0;
	int rc = 0;

	(void)w;
	f->x_name = "running";
	f->y_name = "mean_gib";
	f->has_range = true;
	snprintf(p->x_label, sizeof p->x_label, "requests running at an instance");
	snprintf(p->y_label, sizeof p->y_label, "weights and KV in use, one device (GiB)");
	for (size_t i = 0; i < c->n && !rc; i++) {
		if (!is_known(&c->runs[i].info)) {
			n_unknown++;
			continue;
		}
		rc = add_run(c, &c->runs[i], names[i], f, e);
	}
	add_rules(c, f);
	if (n_unknown > 0)
		figure_note(f,
			    "%zu of %zu runs left out: without a model and a device no bytes are "
			    "known, "
			    "and with prefill and decode apart there is no one kind of instance",
			    n_unknown, c->n);
	choose_names_free(names, c->n);
	return rc;
}
