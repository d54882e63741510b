/* Latency against the offered rate: a line a policy, a point a run. */
#include "results/plot.h"

#include <math.h>
#include <string.h>

struct rate_point {
	const struct stored_run *run;
	const char *name;
	size_t order; /* of the first run with this name */
};

/* By line, in the order of the runs; within it by rate. */
static int compare_points(const void *a, const void *b)
{
	const struct rate_point *p = a, *q = b;
	double x = p->run->summary.offered_rps, y = q->run->summary.offered_rps;

	if (p->order != q->order)
		return p->order < q->order ? -1 : 1;
	if (x < y || x > y)
		return x < y ? -1 : 1;
	return p->run->summary.run_id < q->run->summary.run_id ? -1 : 1;
}

static void make_panels(struct figure *f, enum plot_stat stat)
{
	static const char *const ttft[] = {"ttft_mean_s", "ttft_p50_s", "ttft_p99_s"};
	static const char *const tpot[] = {"tpot_mean_s", "tpot_p50_s", "tpot_p99_s"};
	static const char *const words[] = {"mean", "median", "p99"};
	const char *const quantities[] = {"norm_latency_mean_s", ttft[stat], tpot[stat]};

	for (size_t i = 0; i < 3; i++) {
		struct figure_panel *p = figure_panel(f, quantities[i]);

		snprintf(p->x_label, sizeof p->x_label, "offered rate (requests/s)");
		if (i == 0)
			snprintf(p->y_label, sizeof p->y_label,
				 "normalized latency, mean (s/token)");
		else
			snprintf(p->y_label, sizeof p->y_label, "%s, %s (s%s)",
				 i == 1 ? "TTFT" : "TPOT", words[stat], i == 1 ? "" : "/token");
		p->may_log_y = true;
	}
}

static double value_of(const struct summary *s, size_t panel, enum plot_stat stat)
{
	const double ttft[] = {s->ttft_mean_s, s->ttft_p50_s, s->ttft_p99_s};
	const double tpot[] = {s->tpot_mean_s, s->tpot_p50_s, s->tpot_p99_s};

	return panel == 0 ? s->norm_latency_mean_s : panel == 1 ? ttft[stat] : tpot[stat];
}

/* More than so many not served, and latencies are those of some other load. */
static const double LOST_MUCH = 0.01;

/* Share of the requests that were not completed; NaN: not known. */
static double lost_share(const struct summary *s)
{
	if (s->requests <= 0 || s->completed < 0)
		return NAN;
	return (double)(s->requests - s->completed) / (double)s->requests;
}

static void add_run(struct figure *f, size_t line, const struct summary *s, enum plot_stat stat)
{
	for (size_t i = 0; i < f->n_panels; i++) {
		struct figure_point p = {.run_id = s->run_id,
					 .x = s->offered_rps,
					 .y = value_of(s, i, stat),
					 .saturated =
						 s->saturated >= 0 ? (double)s->saturated : NAN,
					 .lost = lost_share(s)};

		p.hollow = p.saturated == 1 || p.lost > LOST_MUCH;

		figure_add(f, i, line, &p);
	}
}

int plot_rate(const struct chosen *c, const struct plot_want *w, struct figure *f, struct err *e)
{
	char **names = choose_names(c->runs, c->n, true);
	struct rate_point *points = xcalloc(c->n, sizeof *points);
	size_t n = 0, line = 0;

	(void)e;
	f->x_name = "offered_rps";
	f->y_name = "value_s";
	f->has_hollow = true;
	make_panels(f, w->stat);
	for (size_t i = 0; i < c->n; i++) {
		size_t first = 0;

		if (!isfinite(c->runs[i].summary.offered_rps))
			continue;
		while (strcmp(names[first], names[i]) != 0)
			first++;
		points[n++] = (struct rate_point){&c->runs[i], names[i], first};
	}
	if (n > 0)
		qsort(points, n, sizeof *points, compare_points);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || points[i].order != points[i - 1].order)
			line = figure_line(f, points[i].name);
		add_run(f, line, &points[i].run->summary, w->stat);
	}
	if (n < c->n)
		figure_note(f,
			    "%zu of %zu runs left out, as they have no offered rate: one request, "
			    "all at "
			    "once, or a closed loop",
			    c->n - n, c->n);
	free(points);
	choose_names_free(names, c->n);
	return 0;
}
