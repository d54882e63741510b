/* cmd_trace.c: omnibus trace info|convert|generate|fit: look at, convert or make a trace. */
#include "sim/options.h"
#include "traces/measure.h"
#include "traces/outfile.h"
#include "traces/quantiles.h"
#include "traces/synth.h"
#include "traces/writer.h"
#include <math.h>
#include <string.h>

struct input_options { /* what is selected, and how its arrivals are scaled */
	const char *columns, *window, *rate;
	bool sort;
	int64_t skip, limit, hash_block, seed;
	double speed;
};

#define INPUT_ROWS(o)                                                                              \
	{.name = "columns",                                                                        \
	 .kind = OPTION_TEXT,                                                                      \
	 .value = &(o)->columns,                                                                   \
	 .arg = "arrival=C,prompt=C,output=C[,max_tokens=C][,unit=s|ms|us|ns]",                    \
	 .help = "the columns of any CSV (or fields of JSON lines), by name or number from 1"},    \
		{.name = "sort",                                                                   \
		 .kind = OPTION_FLAG,                                                              \
		 .value = &(o)->sort,                                                              \
		 .help = "sort by arrival (in memory) instead of refusing"},                       \
		{.name = "skip",                                                                   \
		 .kind = OPTION_INT,                                                               \
		 .value = &(o)->skip,                                                              \
		 .arg = "N",                                                                       \
		 .min = 0,                                                                         \
		 .max = 1e15,                                                                      \
		 .help = "leave out the first N rows"},                                            \
		{.name = "limit",                                                                  \
		 .kind = OPTION_INT,                                                               \
		 .value = &(o)->limit,                                                             \
		 .arg = "N",                                                                       \
		 .min = 1,                                                                         \
		 .max = 1e15,                                                                      \
		 .help = "read at most N rows"},                                                   \
		{.name = "window",                                                                 \
		 .kind = OPTION_TEXT,                                                              \
		 .value = &(o)->window,                                                            \
		 .arg = "FROM:TO",                                                                 \
		 .help = "only rows that arrive in these seconds after the file's first row"},     \
		{.name = "rate",                                                                   \
		 .kind = OPTION_TEXT,                                                              \
		 .value = &(o)->rate,                                                              \
		 .arg = "RPS",                                                                     \
		 .help = "scale the gaps to this rate; inf: all arrive at once"},                  \
		{.name = "speed",                                                                  \
		 .kind = OPTION_REAL,                                                              \
		 .value = &(o)->speed,                                                             \
		 .arg = "X",                                                                       \
		 .min = 1e-9,                                                                      \
		 .max = 1e9,                                                                       \
		 .help = "divide all arrivals by X"},                                              \
		{.name = "hash-block",                                                             \
		 .kind = OPTION_INT,                                                               \
		 .value = &(o)->hash_block,                                                        \
		 .arg = "N",                                                                       \
		 .min = 1,                                                                         \
		 .max = 1e9,                                                                       \
		 .help = "tokens a prefix hash stands for (default: the format's own)"},           \
	{                                                                                          \
		.name = "seed", .kind = OPTION_INT, .value = &(o)->seed, .arg = "S", .min = 0,     \
		.max = 1e18, .help = "of a generator (default 0)"                                  \
	}

static int complain(const struct err *e, int code)
{
	fprintf(stderr, "omnibus: %s\n", e->text);
	return code;
}

static int make_spec(const struct input_options *o, struct trace_spec *spec, struct err *e)
{
	*spec = (struct trace_spec){
		.sort = o->sort,
		.skip = o->skip,
		.limit = o->limit,
		.hash_block = o->hash_block,
		.seed = (uint64_t)o->seed,
		.speed = o->speed,
	};
	if (o->columns && trace_parse_columns(o->columns, spec, e))
		return -1;
	if (o->window && trace_parse_window(o->window, spec, e))
		return -1;
	if (o->rate && o->speed > 0)
		return err_set(e, "--rate and --speed cannot both be given");
	spec->rate_inf = o->rate && strcmp(o->rate, "inf") == 0;
	if (o->rate && !spec->rate_inf)
		return parse_real(o->rate, "--rate", 1e-9, 1e9, &spec->rate_rps, e);
	return 0;
}

struct info {
	struct input_options in;
	const char *format_name;
	enum format format;
	int64_t block, max_model_len;
};

static int parse_info(struct info *o, int argc, char **argv, struct err *e)
{
	const struct option_row rows[] = {
		INPUT_ROWS(&o->in),
		{.name = "block",
		 .kind = OPTION_INT,
		 .value = &o->block,
		 .arg = "N",
		 .min = 1,
		 .max = 1e9,
		 .help = "tokens a KV block (default 16)"},
		{.name = "max-model-len",
		 .kind = OPTION_INT,
		 .value = &o->max_model_len,
		 .arg = "N",
		 .min = 1,
		 .max = 1e12,
		 .help = "count the rows whose prompt + output is beyond N"},
		{.name = "output",
		 .letter = 'o',
		 .kind = OPTION_TEXT,
		 .value = &o->format_name,
		 .arg = "md|csv|jsonl",
		 .help = "format (default md: a list and histograms)"},
		{.name = NULL},
	};
	const struct option_usage usage = {
		.command = "trace info",
		.synopsis = "omnibus trace info TRACE ... [-o md|csv|jsonl]",
		.about = "Prints rows, span, rate, totals and quantiles of traces: files, - or "
			 "synth:NAME[,k=v...].",
		.rows = rows,
		.min_args = 1,
		.max_args = -1,
	};
	int first = options_parse(&usage, argc, argv, e);
	if (first > 0) {
		int format = format_parse(o->format_name);
		if (format < 0)
			return err_set(e, "-o %s: expected md, csv or jsonl", o->format_name);
		o->format = (enum format)format;
	}
	return first;
}

static void release_all(struct measure **m, int n)
{
	for (int i = 0; i < n; i++) {
		measure_release(m[i]);
		free(m[i]);
	}
	free(m);
}

static int print_info(const struct info *o, struct measure *const *m, int n)
{
	struct err e;
	const void **rows = xcalloc((size_t)n, sizeof(*rows));
	for (int i = 0; i < n; i++)
		rows[i] = m[i];
	int result = 0;
	if (o->format != FORMAT_MD)
		result = fields_print(stdout, o->format, measure_fields, rows, (size_t)n);
	for (int i = 0; o->format == FORMAT_MD && i < n; i++) {
		if (i > 0)
			putchar('\n');
		measure_print(m[i], stdout);
	}
	free(rows);
	if (!result && fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	err_set(&e, "cannot write to standard output");
	return complain(&e, EXIT_FAILED);
}

static int cmd_info(int argc, char **argv)
{
	struct err e;
	struct info o = {.format_name = "md", .block = 16};
	struct trace_spec spec;
	int first = parse_info(&o, argc, argv, &e);
	if (first == 0)
		return 0;
	if (first < 0 || make_spec(&o.in, &spec, &e))
		return complain(&e, EXIT_USAGE);
	int n = argc - first, done = 0;
	struct measure **m = xcalloc((size_t)n, sizeof(struct measure *));
	while (done < n) {
		m[done] = xcalloc(1, sizeof(struct measure));
		spec.source = argv[first + done];
		done++;
		if (measure_trace(&spec, o.block, o.max_model_len, m[done - 1], &e)) {
			release_all(m, done);
			return complain(&e, EXIT_FAILED);
		}
	}
	int code = print_info(&o, m, n);
	release_all(m, n);
	return code;
}

/* Says on stderr what the written format could not hold. */
static void report_losses(const struct writer *w)
{
	const struct {
		int64_t rows;
		const char *what;
	} losses[] = {
		{w->rounded, "arrival rounded to what the format can hold"},
		{w->lost_hash_ids, "hash ids left out"},
		{w->lost_max_tok, "max_tokens left out"},
		{trace_counts(w->trace)->skipped_zero, "skipped: no output tokens"},
		{trace_counts(w->trace)->skipped_zero_prompt, "skipped: no prompt tokens"},
	};
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		if (losses[i].rows > 0)
			fprintf(stderr, "omnibus: %lld rows: %s\n", (long long)losses[i].rows,
				losses[i].what);
}

/* Copies the selection of the spec into `path` (NULL: standard output). Returns the exit code. */
static int copy_trace(const struct trace_spec *spec, const struct writer_ops *format,
		      const char *path)
{
	struct err e;
	struct outfile out;
	struct writer w;
	struct trace *t = trace_open(spec, &e);
	if (!t)
		return complain(&e, EXIT_FAILED);
	if (outfile_open(&out, path, &e)) {
		trace_close(t);
		return complain(&e, EXIT_FAILED);
	}
	int failed = writer_copy(&w, format, t, out.stream, &e);
	if (failed)
		outfile_abandon(&out);
	else
		failed = outfile_commit(&out, &e);
	if (!failed)
		report_losses(&w);
	trace_close(t);
	return failed ? complain(&e, EXIT_FAILED) : 0;
}

struct output_options {
	const char *format, *path;
};

#define OUTPUT_ROWS(o)                                                                             \
	{.name = "format",                                                                         \
	 .letter = 'f',                                                                            \
	 .kind = OPTION_TEXT,                                                                      \
	 .value = &(o)->format,                                                                    \
	 .arg = "FORMAT",                                                                          \
	 .help = "what to write (default csv)"},                                                   \
	{                                                                                          \
		.name = "out", .letter = 'O', .kind = OPTION_TEXT, .value = &(o)->path,            \
		.arg = "FILE", .help = "where to (default: standard output)"                       \
	}

enum { ABOUT_SIZE = 8192 };

/* Appends the formats that can be written to `about`. */
static void list_formats(char about[ABOUT_SIZE])
{
	size_t n = strlen(about);
	n += (size_t)snprintf(about + n, ABOUT_SIZE - n, "\nFormats:\n");
	for (size_t i = 0; writers[i]; i++)
		n += (size_t)snprintf(about + n, ABOUT_SIZE - n, "  %-15s %s\n", writers[i]->name,
				      writers[i]->summary);
	CHECK(n < ABOUT_SIZE, "%zu bytes", n);
}

static void list_generators(char about[ABOUT_SIZE])
{
	size_t n = strlen(about);
	n += (size_t)snprintf(about + n, ABOUT_SIZE - n, "\nGenerators:\n");
	for (const struct trace_kind *k = trace_kinds; k->name; k++)
		if (strncmp(k->name, "synth:", 6) == 0)
			n += (size_t)snprintf(about + n, ABOUT_SIZE - n, "  %-16s %s\n",
					      k->name + 6, k->summary);
	n += (size_t)snprintf(about + n, ABOUT_SIZE - n, "\nParameters (and their defaults):\n");
	for (const struct param *p = synth_params_table; p->name; p++)
		n += (size_t)snprintf(about + n, ABOUT_SIZE - n, "  %-10s %-8s %s\n", p->name,
				      p->init, p->help);
	CHECK(n < ABOUT_SIZE, "%zu bytes", n);
}

struct convert {
	struct input_options in;
	struct output_options out;
};

static int cmd_convert(int argc, char **argv)
{
	struct err e;
	struct convert o = {.out.format = "csv"};
	const struct option_row rows[] = {INPUT_ROWS(&o.in), OUTPUT_ROWS(&o.out), {.name = NULL}};
	char about[ABOUT_SIZE] = "Writes a trace (or a part of it) in another format. What that "
				 "cannot hold is\ncounted on standard error.\n";
	list_formats(about);
	const struct option_usage usage = {
		.command = "trace convert",
		.synopsis = "omnibus trace convert TRACE [-f FORMAT] [-O FILE]",
		.about = about,
		.rows = rows,
		.min_args = 1,
		.max_args = 1,
	};
	struct trace_spec spec;
	const struct writer_ops *format = NULL;
	int first = options_parse(&usage, argc, argv, &e);
	if (first == 0)
		return 0;
	if (first < 0 || make_spec(&o.in, &spec, &e) || !(format = writer_find(o.out.format, &e)))
		return complain(&e, EXIT_USAGE);
	spec.source = argv[first];
	return copy_trace(&spec, format, o.out.path);
}

struct generate {
	int64_t seed;
	struct output_options out;
};

static int cmd_generate(int argc, char **argv)
{
	struct err e;
	struct generate o = {.out.format = "csv"};
	const struct option_row rows[] = {
		{.name = "seed",
		 .kind = OPTION_INT,
		 .value = &o.seed,
		 .arg = "S",
		 .min = 0,
		 .max = 1e18,
		 .help = "of the random streams (default 0); seed= in the generator wins"},
		OUTPUT_ROWS(&o.out),
		{.name = NULL},
	};
	char about[ABOUT_SIZE] = "Writes a made-up trace. The same text can stand wherever a "
				 "trace can, behind \"synth:\".\n";
	list_generators(about);
	list_formats(about);
	const struct option_usage usage = {
		.command = "trace generate",
		.synopsis = "omnibus trace generate NAME[,k=v...] [-f FORMAT] [-O FILE]",
		.about = about,
		.rows = rows,
		.min_args = 1,
		.max_args = 1,
	};
	const struct writer_ops *format = NULL;
	int first = options_parse(&usage, argc, argv, &e);
	if (first == 0)
		return 0;
	if (first < 0 || !(format = writer_find(o.out.format, &e)))
		return complain(&e, EXIT_USAGE);
	const char *name = argv[first];
	size_t size = strlen(name) + 8;
	char *source = xmalloc(size);
	snprintf(source, size, "%s%s", strncmp(name, "synth:", 6) == 0 ? "" : "synth:", name);
	struct trace_spec spec = {.source = source, .seed = (uint64_t)o.seed};
	int code = copy_trace(&spec, format, o.out.path);
	free(source);
	return code;
}

struct fit {
	struct input_options in;
	const char *path;
};

static int parse_fit(struct fit *o, int argc, char **argv, struct err *e)
{
	const struct option_row rows[] = {
		INPUT_ROWS(&o->in),
		{.name = "out",
		 .letter = 'O',
		 .kind = OPTION_TEXT,
		 .value = &o->path,
		 .arg = "FILE",
		 .help = "where the quantiles go"},
		{.name = NULL},
	};
	const struct option_usage usage = {
		.command = "trace fit",
		.synopsis = "omnibus trace fit TRACE -O FILE",
		.about = "Writes the length quantiles of a trace, and prints the generator that "
			 "has them, its\nrate, the spread of its gaps and the correlation of its "
			 "lengths.",
		.rows = rows,
		.min_args = 1,
		.max_args = 1,
	};
	int first = options_parse(&usage, argc, argv, e);
	if (first > 0 && !o->path)
		return err_set(e, "trace fit: -O FILE is missing: the quantiles need a file");
	return first;
}

static int write_quantiles(const char *path, const struct measure *m, struct err *e)
{
	struct outfile out;
	if (outfile_open(&out, path, e))
		return -1;
	quantiles_write(out.stream, &m->prompts, &m->outputs);
	return outfile_commit(&out, e);
}

static void print_generator(const char *path, const struct measure *m)
{
	if (isnan(m->rate_rps))
		printf("synth:poisson,rate=inf");
	else if (m->gap_cv < 0.01)
		printf("synth:constant,rate=%.6g", m->rate_rps);
	else
		printf("synth:gamma,rate=%.6g,cv=%.6g", m->rate_rps, m->gap_cv);
	if (!isnan(m->correlation))
		printf(",corr=%.4g", m->correlation);
	printf(",n=%lld,lengths=%s\n", (long long)m->rows, path);
}

static int cmd_fit(int argc, char **argv)
{
	struct err e;
	struct fit o = {0};
	struct trace_spec spec;
	struct measure m;
	int first = parse_fit(&o, argc, argv, &e);
	if (first == 0)
		return 0;
	if (first < 0 || make_spec(&o.in, &spec, &e))
		return complain(&e, EXIT_USAGE);
	spec.source = argv[first];
	if (measure_trace(&spec, 16, 0, &m, &e))
		return complain(&e, EXIT_FAILED);
	int failed = write_quantiles(o.path, &m, &e);
	if (!failed)
		print_generator(o.path, &m);
	measure_release(&m);
	return failed ? complain(&e, EXIT_FAILED) : 0;
}

static const struct subcommand {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
} subcommands[] = {
	{"info", "print rows, span, rate, totals, quantiles and histograms", cmd_info},
	{"convert", "write a trace in another format", cmd_convert},
	{"generate", "write a made-up trace", cmd_generate},
	{"fit", "print the generator that a trace looks like", cmd_fit},
};
enum { N_SUBCOMMANDS = sizeof(subcommands) / sizeof(subcommands[0]) };

static void print_usage(FILE *out)
{
	fputs("usage: omnibus trace COMMAND ... (omnibus trace COMMAND --help says more)\n\n", out);
	for (size_t i = 0; i < N_SUBCOMMANDS; i++)
		fprintf(out, "  %-9s %s\n", subcommands[i].name, subcommands[i].summary);
}

int cmd_trace(int argc, char **argv)
{
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_usage(stdout);
		return 0;
	}
	const char *names[N_SUBCOMMANDS];
	for (size_t i = 0; i < N_SUBCOMMANDS; i++) {
		names[i] = subcommands[i].name;
		if (strcmp(argv[1], names[i]) == 0)
			return subcommands[i].run(argc - 1, argv + 1);
	}
	struct err e;
	err_unknown(&e, "trace command", argv[1], names, N_SUBCOMMANDS);
	return complain(&e, EXIT_USAGE);
}
