/* cmd_trace_write.c: omnibus trace convert|generate: write a trace. */
#include "sim/cmd_trace.h"
#include "traces/outfile.h"
#include "traces/select.h"
#include "traces/synth.h"
#include "traces/writer.h"
#include <string.h>

/* Says on stderr what the written format could not hold. */
static void report_losses(const struct writer *w)
{
	const struct trace_counts *c = trace_counts(w->trace);
	const struct {
		int64_t rows;
		const char *what;
	} losses[] = {
		{w->lost_arrivals, "arrival left out"},
		{w->rounded, "arrival rounded to what the format can hold"},
		{w->lost[EXTRA_HASH_IDS], "hash ids left out"},
		{c->unusable_ids, "hash ids stand for no block of a fixed length and are left out"},
		{w->lost[EXTRA_MAX_TOK], "max_tokens left out"},
		{w->lost[EXTRA_PRIORITY], "priority left out"},
		{w->lost[EXTRA_CLIENT], "client left out"},
		{w->renamed, "client renamed to what the format can hold"},
		{w->lost[EXTRA_SESSION], "session left out"},
		{w->lost[EXTRA_SERVICE], "time of service left out"},
		{c->skipped_zero, "skipped: no output tokens"},
		{c->clamped_zero, "1 output token in place of none"},
		{c->skipped_zero_prompt, "skipped: no prompt tokens"},
	};
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		if (losses[i].rows > 0)
			fprintf(stderr, "omnibus trace: %lld rows: %s\n", (long long)losses[i].rows,
				losses[i].what);
}

/* Copies the selection of the spec into `path` (NULL: standard output). Returns the exit code. */
static int copy_trace(const struct trace_spec *spec, const struct writer_ops *format,
		      const char *path)
{
	struct err e;
	struct outfile out;
	struct writer w;
	if (trace_check(spec, &e) || cmd_trace_check_output(path, spec->source, &e))
		return cmd_trace_fail(&e, EXIT_USAGE);
	struct trace *t = trace_open(spec, &e);
	if (!t)
		return cmd_trace_fail(&e, EXIT_FAILED);
	if (outfile_open(&out, path, &e)) {
		trace_close(t);
		return cmd_trace_fail(&e, EXIT_FAILED);
	}
	int failed = writer_copy(&w, format, t, out.stream, &e);
	if (failed)
		outfile_abandon(&out);
	else
		failed = outfile_commit(&out, &e);
	if (!failed)
		report_losses(&w);
	trace_close(t);
	return failed ? cmd_trace_fail(&e, EXIT_FAILED) : 0;
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

enum { ABOUT_SIZE = 16384 };

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
		n += (size_t)snprintf(about + n, ABOUT_SIZE - n, "  %-12s %-8s %s\n", p->name,
				      p->init, p->help);
	CHECK(n < ABOUT_SIZE, "%zu bytes", n);
}

struct convert {
	struct trace_select in;
	struct output_options out;
};

int cmd_trace_convert(int argc, char **argv)
{
	struct err e;
	struct convert o = {.in = TRACE_SELECT_INIT, .out.format = "csv"};
	const struct option_row rows[] = {TRACE_SELECT_ROWS(&o.in),
					  TRACE_RATE_ROW(&o.in),
					  OUTPUT_ROWS(&o.out),
					  {.name = NULL}};
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
	if (first < 0 || trace_select_spec(&o.in, &spec, &e) ||
	    !(format = writer_find(o.out.format, &e)))
		return cmd_trace_fail(&e, EXIT_USAGE);
	spec.source = argv[first];
	spec.raw_hash_ids = true;
	spec.lengths_will_do = format->step_ns == 0 || !strcmp(format->name, "vllm-json");
	return copy_trace(&spec, format, o.out.path);
}

struct generate {
	int64_t seed;
	struct output_options out;
};

int cmd_trace_generate(int argc, char **argv)
{
	struct err e;
	struct generate o = {.seed = 1, .out.format = "csv"};
	const struct option_row rows[] = {
		{.name = "seed",
		 .kind = OPTION_INT,
		 .value = &o.seed,
		 .arg = "S",
		 .min = 0,
		 .max = 1e18,
		 .help = "of the random streams (default 1); seed= in the generator wins"},
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
		return cmd_trace_fail(&e, EXIT_USAGE);
	const char *name = argv[first];
	size_t size = strlen(name) + 8;
	char *source = xmalloc(size);
	snprintf(source, size, "%s%s", strncmp(name, "synth:", 6) == 0 ? "" : "synth:", name);
	struct trace_spec spec = {.source = source, .seed = (uint64_t)o.seed};
	int code = copy_trace(&spec, format, o.out.path);
	free(source);
	return code;
}
