/* What gnuplot is told: the place of everything is worked out here, in points. */
#include "results/gnuplot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAME_MAX_CHARS = 60,
	CHAR_W = 7,    /* about the widest that a character is on average, at 12 points */
	SAMPLE_W = 44, /* a piece of line in the legend */
	ROW_H = 18,
	RULES = 10000, /* their tags in gnuplot, above those of the legend */
	BANDS = 4,     /* as many lines have room for a band around each */
	MARKS = 12,    /* points on a line that has many more values */
	TICS = 5,      /* below a narrow panel: as many numbers have room */
};

struct style {
	int filled, hollow; /* gnuplot's point types */
	const char *colour, *dash;
};

static struct style style_of(size_t line)
{
	static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
					      "#000000", "#E69F00", "#56B4E9"};
	static const char *const dashes[] = {"solid", "(12,4)", "(2.5,3)", "(12,4,2.5,4)"};
	static const int points[] = {7, 5, 9, 13, 11};

	return (struct style){.filled = points[line % 5],
			      .hollow = points[line % 5] - 1,
			      .colour = colours[line % 7],
			      .dash = dashes[line % 4]};
}

/* A text between single quotes, in which gnuplot takes nothing but a quote for special. */
static void put_text(FILE *out, const char *text, size_t max)
{
	char *shown = gnuplot_name(text, max);

	fputc('\'', out);
	for (const char *p = shown; *p; p++) {
		if (*p == '\'')
			fputc('\'', out);
		fputc(*p, out);
	}
	fputc('\'', out);
	free(shown);
}

/* --- places -------------------------------------------------------------------------------------
 */

struct layout {
	double w, h; /* of all */
	double panel_w, panel_h, title_h, legend_h;
	size_t columns, rows; /* of the legend */
	double cell_w;
};

static size_t count_chars(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n < NAME_MAX_CHARS ? n : NAME_MAX_CHARS;
}

/* What the legend says of points and bands; empty: nothing. */
static const char *caption(const struct figure *f)
{
	if (f->has_range && f->n_lines <= BANDS)
		return "lines: means; bands: from the least to the most";
	for (size_t i = 0; i < f->n_panels * f->n_lines; i++) {
		const struct figure_curve *c = &f->panels[i / f->n_lines].curves[i % f->n_lines];

		for (size_t k = 0; k < c->n; k++) {
			if (c->at[k].hollow)
				return "hollow: saturated, or more than 1% of requests rejected, "
				       "aborted or unfinished";
		}
	}
	return "";
}

static struct layout lay_out(const struct figure *f)
{
	struct layout l = {.title_h = f->title[0] ? 26 : 6};
	size_t longest = 0;

	l.panel_w = f->stacked ? 760 : f->n_panels > 1 ? 340 : 600;
	l.panel_h = f->stacked ? 180 : f->n_panels > 1 ? 290 : 380;
	l.w = l.panel_w * (f->stacked ? 1 : (double)f->n_panels);
	for (size_t i = 0; i < f->n_lines; i++) {
		size_t n = count_chars(f->names[i]);

		longest = n > longest ? n : longest;
	}
	l.cell_w = SAMPLE_W + 24 + CHAR_W * (double)longest;
	l.columns = (size_t)(l.w / l.cell_w);
	if (l.columns < 1)
		l.columns = 1;
	if (l.columns > f->n_lines && f->n_lines > 0)
		l.columns = f->n_lines;
	l.rows = (f->n_lines + l.columns - 1) / l.columns;
	/* no column without an entry, and a legend in the middle */
	l.columns = l.rows ? (f->n_lines + l.rows - 1) / l.rows : 1;
	l.legend_h = ROW_H * (double)(l.rows + (caption(f)[0] != '\0')) + 10;
	l.h = l.title_h + l.panel_h * (f->stacked ? (double)f->n_panels : 1) + l.legend_h;
	return l;
}

/* --- axes ---------------------------------------------------------------------------------------
 */

struct axis {
	double low, high;
	bool log;
	bool narrow; /* its numbers stand beside each other, with little room */
};

static void span(const struct figure *f, const struct figure_panel *p, bool x, double *low,
		 double *high)
{
	*low = INFINITY;
	*high = -INFINITY;
	for (size_t k = 0; k < f->n_lines; k++) {
		for (size_t i = 0; i < p->curves[k].n; i++) {
			const struct figure_point *at = &p->curves[k].at[i];

			if (isnan(at->y))
				continue;
			*low = fmin(*low, x ? at->x : at->y);
			*high = fmax(*high, x ? at->x : f->has_range ? at->high : at->y);
		}
	}
	/* room for its name above it */
	for (size_t i = 0; !x && p == f->panels && i < f->n_rules; i++)
		*high = fmax(*high, 1.05 * f->rules[i].y);
}

static struct axis axis_of(const struct figure *f, const struct figure_panel *p, bool x)
{
	struct axis a = {0, 1, false, x && f->n_panels > 1 && !f->stacked};
	double low, high;

	span(f, p, x, &low, &high);
	if (!x && high > p->y_max / 4) { /* not where y_max is NaN */
		a.high = p->y_max * 1.03;
		return a;
	}
	if (!(low <= high))
		return a;
	if ((x ? p->may_log_x : p->may_log_y) && low > 0)
		a.log = f->scale == FIGURE_LOG || (f->scale == FIGURE_AUTO && high / low > 50);
	if (a.log) {
		a.low = low / 1.4;
		a.high = high * 1.4;
	} else if (high > 0) {
		a.high = high * 1.06;
	}
	return a;
}

/* Logarithmic: 1, 2 and 5 times powers of ten are named, or 1 and 3, or 1 alone, as there is room.
 */
static bool is_named(const struct axis *a, int power, int digit)
{
	double decades = log10(a->high / a->low);
	int step = decades > 16 ? 4 : decades > 8 ? 2 : 1;

	if (decades > 2.5)
		return digit == 1 && power % step == 0;
	if (a->narrow && decades > 1.2)
		return digit == 1 || digit == 3;
	return digit == 1 || digit == 2 || digit == 5;
}

static void put_log_tics(FILE *out, char axis, const struct axis *a)
{
	double decades = log10(a->high / a->low);
	const char *comma = "";

	fprintf(out, "set %ctics (", axis);
	for (int k = (int)floor(log10(a->low)); k <= (int)ceil(log10(a->high)); k++) {
		for (int i = 1; i < 10; i++) {
			double at = i * pow(10, k);
			bool named = is_named(a, k, i);

			if (at < a->low || at > a->high || (!named && decades > 6))
				continue;
			if (named)
				fprintf(out, "%s'%g' %.10g", comma, at, at);
			else
				fprintf(out, "%s'' %.10g 1", comma, at);
			comma = ",";
		}
	}
	fputs(")\n", out);
}

/* The least of 1, 2 and 5 times a power of ten of which there are at most TICS, 0 included. */
static double tic_step(const struct axis *a)
{
	double least = (a->high - a->low) / TICS, power = pow(10, floor(log10(least)));

	return power * (least < 2 * power ? 2 : least < 5 * power ? 5 : 10);
}

static void put_axis(FILE *out, char axis, const struct axis *a, const char *label, bool whole)
{
	char text[96];

	snprintf(text, sizeof text, "%s%s", label, a->log ? ", log" : "");
	fprintf(out, "set %clabel ", axis);
	put_text(out, text, sizeof text);
	fprintf(out, " noenhanced\nunset logscale %c\nset %ctics ", axis, axis);
	if (a->narrow)
		fprintf(out, "%.10g\n", tic_step(a));
	else
		fputs(whole && a->high < 6 ? "1\n" : "autofreq\n", out);
	if (a->log) {
		fprintf(out, "set logscale %c\n", axis);
		put_log_tics(out, axis, a);
	}
	fprintf(out, "set %crange [%.10g:%.10g]\n", axis, a->low, a->high);
}

/* --- data ---------------------------------------------------------------------------------------
 */

/* An empty line is where a line breaks. The third column: hollow; then low and high. */
static void put_curve(FILE *out, const struct figure *f, size_t panel, size_t line)
{
	const struct figure_curve *c = &f->panels[panel].curves[line];
	bool broken = true;

	fprintf(out, "$d%zu_%zu << EOD\n", panel, line);
	for (size_t i = 0; i < c->n; i++) {
		const struct figure_point *p = &c->at[i];

		if (isnan(p->y)) {
			fputs(broken ? "" : "\n", out);
			broken = true;
			continue;
		}
		if (f->from_zero && i == 0)
			fprintf(out, "%.10g 0 0 0 0\n", p->x);
		fprintf(out, "%.10g %.10g %d %.10g %.10g\n", p->x, p->y, p->hollow,
			f->has_range ? p->low : p->y, f->has_range ? p->high : p->y);
		broken = false;
	}
	fputs("EOD\n", out);
}

static size_t count_known(const struct figure_curve *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += !isnan(c->at[i].y);
	return n;
}

static void plot_curve(FILE *out, const struct figure *f, size_t panel, size_t line)
{
	struct style s = style_of(line);
	size_t n = count_known(&f->panels[panel].curves[line]) + f->from_zero;
	size_t every = n > 3 * MARKS ? n / MARKS : 1;
	/* marks of lines that lie upon each other stand side by side */
	size_t from = every > 1 ? line * every / f->n_lines : 0;

	if (from < f->from_zero)
		from = 1;
	if (f->has_range && f->n_lines <= BANDS)
		fprintf(out,
			"$d%zu_%zu using 1:4:5 with filledcurves fc rgb '%s' fs transparent "
			"solid 0.15 noborder, ",
			panel, line, s.colour);
	fprintf(out, "$d%zu_%zu using 1:2 with %s lc rgb '%s' dt %s lw %s, ", panel, line,
		f->steps ? "steps" : "lines", s.colour, s.dash, f->stacked ? "1" : "1.6");
	fprintf(out,
		"'' every %zu::%zu using 1:($3 == 0 ? $2 : NaN) with points pt %d ps 0.8 lc rgb "
		"'%s'",
		every, from, s.filled, s.colour);
	if (f->has_hollow)
		fprintf(out,
			", '' using 1:($3 == 1 ? $2 : NaN) with points pt %d ps 0.8 lc rgb 'white'"
			", '' using 1:($3 == 1 ? $2 : NaN) with points pt %d ps 0.9 lw 1.3 lc rgb "
			"'%s'",
			s.filled, s.hollow, s.colour);
}

static void put_rules(FILE *out, const struct figure *f, const struct axis *x)
{
	for (size_t i = 0; i < f->n_rules; i++) {
		fprintf(out,
			"set arrow %zu from first %.10g,%.10g to first %.10g,%.10g nohead "
			"lc rgb '#555555' dt (2,2) lw 1.2\nset label %zu ",
			RULES + i, x->low, f->rules[i].y, x->high, f->rules[i].y, RULES + i);
		put_text(out, f->rules[i].label, 64);
		fprintf(out, " at first %.10g,%.10g right offset -0.5,0.7 noenhanced\n", x->high,
			f->rules[i].y);
	}
}

static void put_margins(FILE *out, const struct layout *l, const struct figure *f, size_t panel)
{
	double left = f->stacked ? 0 : l->panel_w * (double)panel;
	double top = l->h - l->title_h - (f->stacked ? l->panel_h * (double)panel : 0);
	double bottom = f->stacked && panel + 1 < f->n_panels ? 12 : 44;

	fprintf(out,
		"set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
		"set tmargin at screen %.6f\nset bmargin at screen %.6f\n",
		(left + 72) / l->w, (left + l->panel_w - 14) / l->w, (top - 8) / l->h,
		(top - l->panel_h + bottom) / l->h);
}

static void put_panel(FILE *out, const struct layout *l, const struct figure *f, size_t panel)
{
	const struct figure_panel *p = &f->panels[panel];
	struct axis x = axis_of(f, p, true), y = axis_of(f, p, false);
	bool shares_x = f->stacked && panel + 1 < f->n_panels, any = false;

	put_margins(out, l, f, panel);
	put_axis(out, 'x', &x, shares_x ? "" : p->x_label, false);
	fprintf(out, "set format x '%s'\n", shares_x ? "" : "%g");
	put_axis(out, 'y', &y, p->y_label, p->whole);
	if (panel == 0)
		put_rules(out, f, &x);
	for (size_t k = 0; k < f->n_lines; k++) {
		if (count_known(&p->curves[k]) == 0)
			continue;
		put_curve(out, f, panel, k);
	}
	for (size_t k = 0; k < f->n_lines; k++) {
		if (count_known(&p->curves[k]) == 0)
			continue;
		fputs(any ? ", \\\n\t" : "plot ", out);
		plot_curve(out, f, panel, k);
		any = true;
	}
	if (!any)
		fputs("set label 1 'no values' at graph 0.5,0.5 center\nplot NaN\nunset label 1",
		      out);
	fputs("\nunset label\nunset arrow\n", out);
}

/* --- the legend ---------------------------------------------------------------------------------
 */

static void put_entry(FILE *out, const struct layout *l, double x, double y, const struct style *s,
		      const char *name)
{
	fprintf(out,
		"set arrow from screen %.6f,%.6f to screen %.6f,%.6f nohead lc rgb '%s' dt %s "
		"lw 1.6\nset label '' at screen %.6f,%.6f point pt %d ps 0.8 lc rgb '%s'\nset "
		"label ",
		x / l->w, y / l->h, (x + SAMPLE_W) / l->w, y / l->h, s->colour, s->dash,
		(x + SAMPLE_W / 2.0) / l->w, y / l->h, s->filled, s->colour);
	put_text(out, name, NAME_MAX_CHARS);
	fprintf(out, " at screen %.6f,%.6f left noenhanced\n", (x + SAMPLE_W + 8) / l->w, y / l->h);
}

static void put_legend(FILE *out, const struct layout *l, const struct figure *f)
{
	double left = (l->w - l->cell_w * (double)l->columns) / 2;

	left = left > 6 ? left : 6;
	for (size_t i = 0; i < f->n_lines; i++) {
		struct style s = style_of(i);
		double x = left + l->cell_w * (double)(i / l->rows);
		double y = l->legend_h - ROW_H * ((double)(i % l->rows) + 0.5);

		put_entry(out, l, x, y, &s, f->names[i]);
	}
	if (caption(f)[0])
		fprintf(out, "set label '%s' at screen 0.5,%.6f center noenhanced\n", caption(f),
			(ROW_H * 0.5 + 4) / l->h);
}

static void put_terminal(FILE *out, const struct layout *l, enum picture kind)
{
	switch (kind) {
	case PICTURE_SVG:
		fprintf(out,
			"set terminal svg size %.0f,%.0f font 'Helvetica,12' background "
			"rgb 'white'\n",
			l->w, l->h);
		break;
	case PICTURE_PDF:
		fprintf(out,
			"set terminal pdfcairo size %.4fin,%.4fin font 'Helvetica,12' "
			"linewidth 1.4\n",
			l->w / 72, l->h / 72);
		break;
	case PICTURE_PNG:
		fprintf(out,
			"set terminal pngcairo size %.0f,%.0f font 'Helvetica,12' fontscale 1.5 "
			"linewidth 2 pointscale 2\n",
			2 * l->w, 2 * l->h);
		break;
	}
}

int gnuplot_script(FILE *out, const struct figure *f, enum picture kind)
{
	struct layout l = lay_out(f);

	put_terminal(out, &l, kind);
	fputs("set encoding utf8\nset multiplot\nunset key\nset border 3 lw 0.8\n"
	      "set tics nomirror\nset format '%g'\nset samples 2\n"
	      "set grid xtics ytics lt 1 lc rgb '#e4e4e4' lw 0.5\n",
	      out);
	put_legend(out, &l, f);
	if (f->title[0]) {
		fputs("set label ", out);
		put_text(out, f->title, (size_t)(l.w / CHAR_W));
		fprintf(out, " at screen 0.5,%.6f center noenhanced\n", (l.h - 14) / l.h);
	}
	for (size_t i = 0; i < f->n_panels; i++)
		put_panel(out, &l, f, i);
	fputs("unset multiplot\n", out);
	return ferror(out) ? -1 : 0;
}
