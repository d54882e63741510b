/* What instances did over time, as far as samples say: a line a run, or an instance. */
#include "results/plot.h"

#include <math.h>

#include "results/db.h"

enum { RUNNING, KV, WAITING, N_PANELS };

struct look { /* at one instance; zero before its first sample, as nothing was planned there yet */
	int64_t value[N_PANELS];
};

struct timeline {
	const struct chosen *c;
	struct figure *f;
	bool each_instance, kv_share;
};

/* KV blocks of an instance, or of all of them (-1); 0: not known. */
static double pool_of(const struct run_info *i, int64_t instance)
{
	int64_t decode = i->decode_instances > 0 ? i->decode_instances : 0;
	int64_t others = i->instances > 0 ? i->instances - decode : 0;

	if (i->kv_blocks <= 0 || (decode > 0 && i->decode_kv_blocks <= 0) || i->instances <= 0)
		return 0;
	if (instance < 0)
		return (double)others * (double)i->kv_blocks +
		       (decode ? (double)decode * (double)i->decode_kv_blocks : 0);
	return (double)(instance < others ? i->kv_blocks : i->decode_kv_blocks);
}

static void add_look(const struct timeline *t, size_t line, const struct stored_run *run,
		     int64_t instance, int64_t t_ns, const struct look *l)
{
	for (size_t i = 0; i < N_PANELS; i++) {
		struct figure_point p = {.run_id = run->summary.run_id,
					 .x = (double)t_ns / 1e9,
					 .y = (double)l->value[i]};

		if (i == KV && t->kv_share)
			p.y /= pool_of(&run->info, instance);
		figure_add(t->f, i, line, &p);
	}
}

static size_t line_of(const struct timeline *t, const char *name, int64_t instance)
{
	char text[1024];

	snprintf(text, sizeof text, "%s, instance %lld", name, (long long)instance);
	return figure_line(t->f, instance >= 0 ? text : name);
}

static struct look take_look(sqlite3_stmt *s)
{
	struct look l;

	for (int i = 0; i < N_PANELS; i++)
		l.value[i] = sqlite3_column_int64(s, 2 + i);
	return l;
}

static int each_instance(const struct timeline *t, const struct stored_run *run, const char *name,
			 struct err *e)
{
	static const char sql[] = "SELECT t_ns, instance, running, kv_blocks, waiting FROM sample "
				  "WHERE run_id = ?1 ORDER BY instance, t_ns, rowid";
	sqlite3_stmt *s;
	int64_t at = -1;
	size_t line = 0;

	if (plot_prepare(t->c, sql, run->summary.run_id, &s, e))
		return -1;
	while (sqlite3_step(s) == SQLITE_ROW) {
		int64_t instance = sqlite3_column_int64(s, 1);
		struct look l = take_look(s);

		if (instance != at)
			line = line_of(t, name, instance);
		at = instance;
		add_look(t, line, run, instance, sqlite3_column_int64(s, 0), &l);
	}
	return plot_finish(t->c, s, e);
}

/* At every time at which an instance was looked at, what was last seen of each. */
static int sum(const struct timeline *t, const struct stored_run *run, const char *name,
	       struct err *e)
{
	static const char sql[] = "SELECT t_ns, instance, running, kv_blocks, waiting FROM sample "
				  "WHERE run_id = ?1 ORDER BY t_ns, rowid";
	struct look all = {{0}}, *last = NULL;
	int64_t n = 0, before_ns = -1;
	size_t line = 0;
	sqlite3_stmt *s;

	if (plot_prepare(t->c, sql, run->summary.run_id, &s, e))
		return -1;
	while (sqlite3_step(s) == SQLITE_ROW) {
		int64_t t_ns = sqlite3_column_int64(s, 0), at = sqlite3_column_int64(s, 1);
		struct look l = take_look(s);

		if (before_ns < 0)
			line = line_of(t, name, -1);
		else if (t_ns > before_ns)
			add_look(t, line, run, -1, before_ns, &all);
		before_ns = t_ns;
		for (; n <= at; n++) {
			last = xrealloc(last, ((size_t)n + 1) * sizeof *last);
			last[n] = (struct look){{0}};
		}
		CHECK(last && at >= 0, "instance %lld", (long long)at); /* db_check_rows() */
		for (int i = 0; i < N_PANELS; i++)
			all.value[i] += l.value[i] - last[at].value[i];
		last[at] = l;
	}
	if (before_ns >= 0)
		add_look(t, line, run, -1, before_ns, &all);
	free(last);
	return plot_finish(t->c, s, e);
}

static void make_panels(struct timeline *t)
{
	const char *const quantities[] = {"running", t->kv_share ? "kv_share" : "kv_blocks",
					  "waiting"};
	const char *const labels[] = {
		"requests running", t->kv_share ? "share of KV blocks in use" : "KV blocks in use",
		"requests in queue"};

	for (size_t i = 0; i < N_PANELS; i++) {
		struct figure_panel *p = figure_panel(t->f, quantities[i]);

		snprintf(p->x_label, sizeof p->x_label, "simulated time (s)");
		snprintf(p->y_label, sizeof p->y_label, "%s", labels[i]);
		p->whole = i != KV || !t->kv_share;
		p->y_max = i == KV && t->kv_share ? 1 : NAN;
	}
}

int plot_timeline(const struct chosen *c, const struct plot_want *w, struct figure *f,
		  struct err *e)
{
	struct timeline t = {.c = c, .f = f, .each_instance = w->each_instance, .kv_share = true};
	char **names = choose_names(c->runs, c->n, false);
	size_t n_missing = 0;
	int rc = 0;

	f->x_name = "t_s";
	f->y_name = "value";
	f->steps = f->stacked = true;
	for (size_t i = 0; i < c->n; i++)
		t.kv_share = t.kv_share && pool_of(&c->runs[i].info, -1) > 0;
	make_panels(&t);
	for (size_t i = 0; i < c->n && !rc; i++) {
		size_t before = f->n_lines;

		rc = db_check_rows(c->db, c->path, &c->runs[i], "sample", e);
		if (rc)
			break;
		rc = (w->each_instance ? each_instance : sum)(&t, &c->runs[i], names[i], e);
		n_missing += f->n_lines == before;
	}
	if (n_missing > 0)
		figure_note(f, "%zu of %zu runs left out, as they have no samples", n_missing,
			    c->n);
	choose_names_free(names, c->n);
	return rc;
}
