/* cmd_trace.c: omnibus trace info|convert|generate|fit: look at, convert or make a trace. */
#include "sim/cmd_trace.h"
#include "traces/gapfit.h"
#include "traces/measure.h"
#include "traces/outfile.h"
#include "traces/quantiles.h"
#include "traces/select.h"
#include <math.h>
#include <string.h>

int cmd_trace_fail(const struct err *e, int code)
{
	fprintf(stderr, "omnibus trace: %s\n", e->text);
	return code;
}

int cmd_trace_check_output(const char *path, const char *source, struct err *e)
{
	static const char key[] = ",lengths=";
	const char *at = strstr(source, key);
	int result;
	if (!path)
		return 0;
	if (strncmp(source, "synth:", 6) != 0)
		return outfile_check(path, source, e);
	if (!at)
		return 0;
	char *lengths = xstrdup(at + strlen(key));
	lengths[strcspn(lengths, ",")] = '\0';
	result = outfile_check(path, lengths, e);
	free(lengths);
	return result;
}

struct info {
	struct trace_select in;
	const char *format_name;
	enum format format;
	int64_t block, max_model_len;
};

static int parse_info(struct info *o, int argc, char **argv, struct err *e)
{
	const struct option_row rows[] = {
		TRACE_SELECT_ROWS(&o->in),
		TRACE_RATE_ROW(&o->in),
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
	return cmd_trace_fail(&e, EXIT_FAILED);
}

static int cmd_info(int argc, char **argv)
{
	struct err e;
	struct info o = {.in = TRACE_SELECT_INIT, .format_name = "md", .block = 16};
	struct trace_spec spec;
	int first = parse_info(&o, argc, argv, &e);
	if (first == 0)
		return 0;
	if (first < 0 || trace_select_spec(&o.in, &spec, &e))
		return cmd_trace_fail(&e, EXIT_USAGE);
	spec.lengths_will_do = true;
	for (int i = first; i < argc; i++) {
		spec.source = argv[i];
		if (trace_check(&spec, &e))
			return cmd_trace_fail(&e, EXIT_USAGE);
	}
	int n = argc - first, done = 0;
	struct measure **m = xcalloc((size_t)n, sizeof(struct measure *));
	while (done < n) {
		m[done] = xcalloc(1, sizeof(struct measure));
		spec.source = argv[first + done];
		done++;
		if (measure_trace(&spec, o.block, o.max_model_len, m[done - 1], &e)) {
			release_all(m, done);
			return cmd_trace_fail(&e, EXIT_FAILED);
		}
	}
	int code = print_info(&o, m, n);
	release_all(m, n);
	return code;
}

struct fit {
	struct trace_select in;
	const char *path;
};

static int parse_fit(struct fit *o, int argc, char **argv, struct err *e)
{
	const struct option_row rows[] = {
		TRACE_SELECT_ROWS(&o->in),
		TRACE_RATE_ROW(&o->in),
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
			 "has them, its\nrate, the spread of its gaps (gamma or Weibull, whichever "
			 "is nearer) and the\ncorrelation of its lengths.",
		.rows = rows,
		.min_args = 1,
		.max_args = 1,
	};
	int first = options_parse(&usage, argc, argv, e);
	if (first > 0 && !o->path)
		return err_set(e, "trace fit: -O FILE is missing: the quantiles need a file");
	if (first > 0 && !strcmp(o->path, "-"))
		return err_set(e, "trace fit: -O -: the quantiles need a file, which the generator "
				  "printed on standard output names");
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

static bool gaps_vary(const struct measure *m)
{
	return !isnan(m->rate_rps) && m->gap_cv >= 0.01;
}

static void print_generator(const char *path, const struct measure *m, const struct gapfit *gaps)
{
	if (isnan(m->rate_rps))
		printf("synth:poisson,rate=inf");
	else if (!gaps_vary(m))
		printf("synth:constant,rate=%.6g", m->rate_rps);
	else
		printf("synth:%s,rate=%.6g,cv=%.6g", arrivals_names[gaps->nearest], m->rate_rps,
		       fmin(m->gap_cv, 100));
	if (!isnan(m->correlation))
		printf(",corr=%.4g", m->correlation);
	printf(",n=%lld,lengths=%s\n", (long long)m->rows, path);
}

static int cmd_fit(int argc, char **argv)
{
	struct err e;
	struct fit o = {.in = TRACE_SELECT_INIT};
	struct trace_spec spec;
	struct measure m;
	int first = parse_fit(&o, argc, argv, &e);
	if (first == 0)
		return 0;
	if (first < 0 || trace_select_spec(&o.in, &spec, &e))
		return cmd_trace_fail(&e, EXIT_USAGE);
	spec.source = argv[first];
	spec.lengths_will_do = true;
	if (trace_check(&spec, &e) || cmd_trace_check_output(o.path, spec.source, &e))
		return cmd_trace_fail(&e, EXIT_USAGE);
	if (measure_trace(&spec, 16, 0, &m, &e))
		return cmd_trace_fail(&e, EXIT_FAILED);
	struct gapfit gaps = {0};
	int failed = gaps_vary(&m) && gapfit_trace(&spec, m.rate_rps, m.gap_cv, &gaps, &e);
	if (!failed)
		failed = write_quantiles(o.path, &m, &e);
	if (!failed && gaps_vary(&m))
		fprintf(stderr,
			"omnibus trace: the parts of gaps below a length differ by at most %.2g "
			"from gamma's, %.2g from Weibull's\n",
			gaps.gamma, gaps.weibull);
	if (!failed)
		print_generator(o.path, &m, &gaps);
	measure_release(&m);
	return failed ? cmd_trace_fail(&e, EXIT_FAILED) : 0;
}

static const struct subcommand {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
} subcommands[] = {
	{"info", "print rows, span, rate, totals, quantiles and histograms", cmd_info},
	{"convert", "write a trace in another format", cmd_trace_convert},
	{"generate", "write a made-up trace", cmd_trace_generate},
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
	return cmd_trace_fail(&e, EXIT_USAGE);
}
