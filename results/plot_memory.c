/* What a device holds by the number of requests that run: weights, and KV as samples found it. */
#include "results/plot.h"

#include <math.h>

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
	double block = (double)(run->info.block_tok * run->info.kv_token_bytes) / GIB;
	double weights = (double)run->info.weights_bytes / GIB;
	size_t line = figure_line(f, name);
	sqlite3_stmt *s;

	if (plot_prepare(c, sql, run->summary.run_id, &s, e))
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

/* A line at what weights, reserve and KV may take; one line where several runs have the same. */
static void add_rule(struct figure *f, const struct stored_run *run)
{
	double y = (double)run->info.usable_bytes / GIB;
	struct figure_rule *r = &f->rules[f->n_rules];

	if (run->info.usable_bytes <= 0)
		return;
	for (size_t i = 0; i < f->n_rules; i++) {
		if (fabs(f->rules[i].y - y) < 1e-9)
			return;
	}
	if (f->n_rules == sizeof f->rules / sizeof f->rules[0])
		return;
	r->y = y;
	snprintf(r->label, sizeof r->label, "usable memory of %.24s: %.1f GiB", run->summary.device,
		 y);
	f->n_rules++;
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
		add_rule(f, &c->runs[i]);
	}
	if (n_unknown > 0)
		figure_note(f,
			    "%zu of %zu runs left out: without a model and a device no bytes are "
			    "known, "
			    "and with prefill and decode apart there is no one kind of instance",
			    n_unknown, c->n);
	choose_names_free(names, c->n);
	return rc;
}
