/* cmd_plot.c: `omnibus plot`: pictures of runs of a results database, or their numbers. */
#include "results/gnuplot.h"
#include "results/plot.h"
#include "sim/options.h"
#include "traces/outfile.h"
#include <string.h>

enum { FORMAT_TSV = PICTURE_PNG + 1, N_FORMATS };
enum { MANY_LINES = 12 };
static const char *const format_names[N_FORMATS] = {"svg", "pdf", "png", "tsv"};

struct plot_options {
	const char *db, *where, *output, *format_text, *stat_text, *scale_text, *title;
	const struct plot_kind *kind;
	struct plot_want want;
	enum figure_scale scale;
	int format;
};

static int find_name(const char *kind, const char *got, const char *const *names, size_t n,
		     struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(got, names[i]))
			return (int)i;
	}
	return err_unknown(e, kind, got, names, n);
}

static int find_kind(struct plot_options *o, const char *name, struct err *e)
{
	const char *names[16];
	size_t n = 0;
	int i;

	for (; plot_kinds[n].name; n++)
		names[n] = plot_kinds[n].name;
	i = find_name("plot", name, names, n, e);
	o->kind = &plot_kinds[i < 0 ? 0 : i];
	return i < 0 ? -1 : 0;
}

/* More would not stand above any picture, and is no slip to be passed over. */
static int check_title(const struct plot_options *o, struct err *e)
{
	size_t n = o->title ? strlen(o->title) : 0, max = sizeof((struct figure *)NULL)->title - 1;

	return n <= max ? 0 : err_set(e, "--title has %zu bytes; %zu is the most", n, max);
}

/* From --format, else from how the file is called. */
static int find_format(struct plot_options *o, struct err *e)
{
	const char *dot = o->output ? strrchr(o->output, '.') : NULL;

	if (!o->format_text && !o->output)
		return err_set(e, "-o FILE is missing: the picture to write, .svg, .pdf or .png; "
				  "or --format tsv for the numbers");
	if (!o->format_text && !dot)
		return err_set(e, "-o '%.200s' does not end with .svg, .pdf, .png or .tsv",
			       o->output);
	o->format = find_name("format", o->format_text ? o->format_text : dot + 1, format_names,
			      N_FORMATS, e);
	if (o->format < 0)
		return -1;
	if (o->format != FORMAT_TSV && (!o->output || !strcmp(o->output, "-")))
		return err_set(e, "-o FILE is missing: a picture is not for the standard output");
	return 0;
}

static int check(struct plot_options *o, const char *kind, struct err *e)
{
	static const char *const stats[] = {"mean", "p50", "p99"};
	static const char *const scales[] = {"auto", "linear", "log"};
	int stat, scale;

	if (find_kind(o, kind, e) || check_title(o, e))
		return -1;
	if (!o->db)
		return err_set(e, "--db FILE is missing: the results database to read");
	if ((stat = find_name("statistic", o->stat_text, stats, 3, e)) < 0 ||
	    (scale = find_name("scale", o->scale_text, scales, 3, e)) < 0)
		return -1;
	o->want.stat = (enum plot_stat)stat;
	o->scale = (enum figure_scale)scale;
	if (find_format(o, e))
		return -1;
	return o->output ? outfile_check(o->output, o->db, e) : 0;
}

static int parse(struct plot_options *o, int argc, char **argv, struct err *e)
{
	const struct option_row rows[] = {
		{.name = "db",
		 .kind = OPTION_TEXT,
		 .value = &o->db,
		 .arg = "FILE",
		 .help = "results database, as written by omnibus run --db"},
		{.name = "where",
		 .kind = OPTION_TEXT,
		 .value = &o->where,
		 .arg = "SQL",
		 .help = "only runs for which this expression over the columns of the tables run "
			 "and metric is true: \"policy = 'paged' AND rate_rps < 8\""},
		{.name = "output",
		 .letter = 'o',
		 .kind = OPTION_TEXT,
		 .value = &o->output,
		 .arg = "FILE",
		 .help = "the picture: .svg, .pdf or .png"},
		{.name = "format",
		 .kind = OPTION_TEXT,
		 .value = &o->format_text,
		 .arg = "svg|pdf|png|tsv",
		 .help = "whatever the file is called; tsv: the numbers, without -o on standard "
			 "output"},
		{.name = "stat",
		 .kind = OPTION_TEXT,
		 .value = &o->stat_text,
		 .arg = "mean|p50|p99",
		 .help = "latency-rate: of TTFT and TPOT [mean]"},
		{.name = "scale",
		 .kind = OPTION_TEXT,
		 .value = &o->scale_text,
		 .arg = "auto|linear|log",
		 .help = "of latencies; auto: log where they differ by more than 50 times [auto]"},
		{.name = "each-instance",
		 .kind = OPTION_FLAG,
		 .value = &o->want.each_instance,
		 .help = "timeline: a line an instance, not their sum"},
		{.name = "title",
		 .kind = OPTION_TEXT,
		 .value = &o->title,
		 .arg = "TEXT",
		 .help = "above the picture, at most 255 bytes, may be empty [what the runs have "
			 "in common]"},
		{.name = NULL},
	};
	char about[1024];
	int at = snprintf(about, sizeof about, "Draws runs with gnuplot:\n\n");

	for (const struct plot_kind *k = plot_kinds; k->name; k++)
		at += snprintf(about + at, sizeof about - (size_t)at, "  %-13s %s\n", k->name,
			       k->summary);
	const struct option_usage usage = {
		.command = "plot",
		.synopsis = "omnibus plot latency-rate|cdf|timeline|memory --db FILE [--where SQL] "
			    "-o FILE",
		.about = about,
		.rows = rows,
		.min_args = 1,
		.max_args = 1,
	};
	int first = options_parse(&usage, argc, argv, e);

	if (first > 0 && check(o, argv[first], e))
		return -1;
	return first;
}

static int write_figure(const struct plot_options *o, const struct figure *f, struct err *e)
{
	struct outfile out;
	int rc;

	if (outfile_open(&out, o->output, e))
		return -1;
	if (o->format == FORMAT_TSV)
		rc = figure_print_tsv(out.stream, f) ? err_set(e, "the output cannot be written")
						     : 0;
	else
		rc = gnuplot_draw(out.stream, f, (enum picture)o->format, e);
	if (!rc)
		return outfile_commit(&out, e);
	outfile_abandon(&out);
	return rc;
}

static void print_notes(const struct plot_options *o, const struct figure *f)
{
	for (size_t i = 0; i < f->n_notes; i++)
		fprintf(stderr, "omnibus plot: %s\n", f->notes[i]);
	if (o->format != FORMAT_TSV && f->n_lines > MANY_LINES)
		fprintf(stderr,
			"omnibus plot: %zu lines are hard to tell apart; --where chooses runs\n",
			f->n_lines);
}

static int plot(const struct plot_options *o, struct err *e)
{
	struct figure f = {.scale = o->scale};
	struct chosen c;
	int rc = choose_open(&c, o->db, o->where, e);

	if (!rc)
		rc = o->kind->fill(&c, &o->want, &f, e);
	if (!rc) {
		choose_title(c.runs, c.n, f.title, sizeof f.title);
		if (o->title)
			snprintf(f.title, sizeof f.title, "%s", o->title);
	}
	choose_close(&c);
	if (!rc && figure_is_empty(&f))
		rc = err_set(e, "%s: its chosen runs have no values for %s%s%s", o->db,
			     o->kind->name, f.n_notes > 0 ? ": " : "",
			     f.n_notes > 0 ? f.notes[0] : "");
	if (!rc)
		rc = write_figure(o, &f, e);
	if (!rc)
		print_notes(o, &f);
	figure_release(&f);
	return rc;
}

int cmd_plot(int argc, char **argv)
{
	struct plot_options o = {.stat_text = "mean", .scale_text = "auto"};
	struct err e;
	int code = 0, first = parse(&o, argc, argv, &e);

	if (first < 0)
		code = EXIT_USAGE;
	else if (first > 0 && plot(&o, &e))
		code = EXIT_FAILED;
	if (code)
		fprintf(stderr, "omnibus plot: %s\n", e.text);
	return code;
}
