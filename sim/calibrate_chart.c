/* calibrate_chart.c: curves of a profile as text and as a picture. */
#include "calibrate/profile_chart.h"
#include "results/gnuplot.h"
#include "sim/calibrate_import.h"
#include "traces/outfile.h"
#include <math.h>
#include <string.h>

enum { WIDTH = 72, HEIGHT = 20 };

/* Both axes are logarithms. */
struct window {
	double x0, x1, y0, y1;
};

static void widen(struct window *w, double x, double y)
{
	w->x0 = fmin(w->x0, x);
	w->x1 = fmax(w->x1, x);
	w->y0 = fmin(w->y0, y);
	w->y1 = fmax(w->y1, y);
}

static struct window find_window(const struct chart *c)
{
	struct window w = {HUGE_VAL, -HUGE_VAL, HUGE_VAL, -HUGE_VAL};

	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->line[i].n; k++)
			widen(&w, log(c->line[i].x[k]), log(c->line[i].ns[k]));
	return w;
}

static int scale(double value, double from, double to, int cells)
{
	return to > from ? (int)lround((value - from) / (to - from) * (cells - 1)) : 0;
}

/* A letter a line where it was measured, a point where it is extrapolated. */
static void draw(char cells[HEIGHT][WIDTH + 1], const struct chart *c, const struct window *w)
{
	for (int row = 0; row < HEIGHT; row++) {
		memset(cells[row], ' ', WIDTH);
		cells[row][WIDTH] = '\0';
	}
	for (size_t i = 0; i < c->n; i++) {
		const struct chart_line *l = &c->line[i];

		for (size_t k = 0; k < l->n; k++) {
			int column = scale(log(l->x[k]), w->x0, w->x1, WIDTH);
			int row = scale(log(l->ns[k]), w->y0, w->y1, HEIGHT);

			cells[HEIGHT - 1 - row][column] = l->inside[k] ? (char)('a' + i) : '.';
		}
	}
}

static void print_chart(FILE *out, const struct chart *c)
{
	char cells[HEIGHT][WIDTH + 1];
	struct window w = find_window(c);

	draw(cells, c, &w);
	fprintf(out, "\n%s, predicted (a point: beyond what was measured)\n", c->title);
	for (int row = 0; row < HEIGHT; row++) {
		char label[32] = "";

		if (row == 0 || row == HEIGHT - 1)
			snprintf(label, sizeof(label), "%.4g us",
				 exp(row == 0 ? w.y1 : w.y0) / 1e3);
		int end = WIDTH;
		while (end > 0 && cells[row][end - 1] == ' ')
			end--;
		fprintf(out, "%11s |%.*s\n", label, end, cells[row]);
	}
	fprintf(out, "%11s +", "");
	for (int i = 0; i < WIDTH; i++)
		fputc('-', out);
	fprintf(out, "\n%13s%-30.6g%42.6g %s\n", "", exp(w.x0), exp(w.x1), c->x_label);
	for (size_t i = 0; i < c->n; i++)
		fprintf(out, "%13s%c: %s\n", "", (char)('a' + i), c->line[i].name);
}

void calibrate_chart(FILE *out, const struct profile *p, const struct model *m, int64_t tp)
{
	struct chart *charts = xcalloc(CHARTS, sizeof(*charts));

	profile_charts(charts, p, m, tp);
	for (int i = 0; i < CHARTS; i++)
		if (charts[i].n > 0)
			print_chart(out, &charts[i]);
	free(charts);
}

/* Panels are the charts that there are; a line is in one of them. */
static void fill(struct figure *f, const struct chart *charts)
{
	for (int i = 0; i < CHARTS; i++) {
		if (!charts[i].n)
			continue;
		struct figure_panel *panel = figure_panel(f, charts[i].y_label);

		snprintf(panel->x_label, sizeof(panel->x_label), "%s", charts[i].x_label);
		snprintf(panel->y_label, sizeof(panel->y_label), "%s, us, predicted",
			 charts[i].y_label);
		panel->may_log_x = panel->may_log_y = true;
	}
	for (int i = 0, panel = 0; i<CHARTS; panel += charts[i++].n> 0) {
		for (size_t k = 0; k < charts[i].n; k++) {
			const struct chart_line *l = &charts[i].line[k];
			size_t line = figure_line(f, l->name);

			for (size_t at = 0; at < l->n; at++) {
				const struct figure_point point = {.x = l->x[at],
								   .y = l->ns[at] / 1e3,
								   .low = NAN,
								   .high = NAN,
								   .saturated = NAN,
								   .hollow = !l->inside[at]};

				figure_add(f, (size_t)panel, line, &point);
			}
		}
	}
}

int calibrate_plot(const char *path, const struct profile *p, const struct model *m, int64_t tp,
		   struct err *e)
{
	struct figure f = {.scale = FIGURE_LOG,
			   .x_name = "size",
			   .y_name = "us",
			   .stacked = true,
			   .has_hollow = true};
	struct chart *charts = xcalloc(CHARTS, sizeof(*charts));
	struct outfile out;
	int rc;

	profile_charts(charts, p, m, tp);
	fill(&f, charts);
	free(charts);
	snprintf(f.title, sizeof(f.title), "%s, %s: hollow points are extrapolated", p->device.name,
		 m->name);
	rc = outfile_open(&out, path, e);
	if (rc == 0) {
		rc = gnuplot_draw(out.stream, &f, PICTURE_SVG, e);
		if (rc == 0)
			rc = outfile_commit(&out, e);
		else
			outfile_abandon(&out);
	}
	figure_release(&f);
	return rc;
}
