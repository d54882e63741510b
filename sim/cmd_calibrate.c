/* cmd_calibrate.c: `omnibus calibrate`: its options, and which of them a mode takes. */
#include "calibrate/config.h"
#include "calibrate/import.h"
#include "sim/calibrate_import.h"
#include "sim/calibrate_options.h"
#include "sim/utf8.h"
#include "traces/number.h"
#include "traces/outfile.h"
#include <limits.h>
#include <string.h>
#include <time.h>

enum { IMPORT = 1, SHOW = 2, BACKEND = 4, CHECK_ONLY = 8 };

/* What the parser fills. */
struct parsed {
	struct calibrate_options o;
	const char *scope;
	int64_t seed;
	bool tp_given, kv_bits_given, budget_given, seed_given, threads_given, cell_given;
	char today[16];
};

static int mode_of(const struct parsed *p, struct err *e)
{
	int import = p->o.import.n > 0, show = p->o.show != NULL, backend = p->o.backend != NULL;

	if (import + show + backend != 1)
		return err_set(e,
			       "%s: --backend NAME times kernels, --import FILE reads tables of "
			       "them, --show PROFILE prints what was made",
			       import + show + backend ? "one of these is for a call"
						       : "one of these is missing");
	if (p->o.check && !backend)
		return err_set(e, "--check is for a backend: --backend NAME is missing");
	return import ? IMPORT : show ? SHOW : p->o.check ? CHECK_ONLY : BACKEND;
}

/* An option that the mode has no use for is a slip. */
static int check_modes(const struct parsed *p, int mode, struct err *e)
{
	const struct calibrate_options *o = &p->o;
	const struct {
		const char *name, *modes_text;
		bool given;
		int modes;
	} all[] = {
		{"-m", "--backend, --import and --show", o->model, BACKEND | IMPORT | SHOW},
		{"--tp", "--backend, --import and --show", p->tp_given, BACKEND | IMPORT | SHOW},
		{"--kv-bits", "--backend", p->kv_bits_given, BACKEND},
		{"--budget", "--backend", p->budget_given, BACKEND},
		{"-o", "--backend and --import", o->output, BACKEND | IMPORT},
		{"--db", "--backend", o->db, BACKEND},
		{"--seed", "--backend, --check and --import", p->seed_given,
		 BACKEND | CHECK_ONLY | IMPORT},
		{"--threads", "--backend", p->threads_given, BACKEND},
		{"--device", "--backend and --import", o->device, BACKEND | IMPORT},
		{"--source", "--backend and --import", o->source, BACKEND | IMPORT},
		{"--date", "--backend and --import", o->date, BACKEND | IMPORT},
		{"--server", "--backend and --import", o->server, BACKEND | IMPORT},
		{"--scope", "--import", p->scope, IMPORT},
		{"--cell-ns", "--import", p->cell_given, IMPORT},
		{"--plot", "--show", o->plot, SHOW},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!all[i].given || (all[i].modes & mode))
			continue;
		if (mode == CHECK_ONLY)
			return err_set(e,
				       "--check takes no %s: it holds kernels against a reference, "
				       "and times nothing",
				       all[i].name);
		return err_set(e, "%s is for %s", all[i].name, all[i].modes_text);
	}
	return 0;
}

static int check_text(const char *name, const char *text, size_t max, struct err *e)
{
	for (const char *c = text; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return err_set(e, "%s has a control character in it: it must be one line",
				       name);
	for (const char *c = text; c && *c; c += utf8_bytes(c))
		if (!utf8_bytes(c))
			return err_set(e, "%s has a byte in it that is no UTF-8", name);
	if (text && (strlen(text) == 0 || strlen(text) > max))
		return err_set(e, "%s has %zu bytes: it must have from 1 to %zu", name,
			       strlen(text), max);
	return 0;
}

/* The device of a profile is called like its file. */
static int check_profile_name(const char *output, struct err *e)
{
	char name[sizeof(((struct device *)0)->name)];

	config_name(name, sizeof(name), output ? output : "-");
	if (name[0])
		return 0;
	return err_set(e,
		       "-o '%s' has no name before .json, and the device is called like the file: "
		       "-o NAME.json",
		       output);
}

static int check_date(struct parsed *p, struct err *e)
{
	time_t now = time(NULL);
	char clock[32];
	int64_t ns;
	struct tm utc;

	if (!p->o.date) {
		gmtime_r(&now, &utc);
		strftime(p->today, sizeof(p->today), "%Y-%m-%d", &utc);
		p->o.date = p->today;
		return 0;
	}
	snprintf(clock, sizeof(clock), "%.16s 00:00:00", p->o.date);
	if (strlen(p->o.date) == 10 && number_clock(clock, strlen(clock), &ns) == NUMBER_OK)
		return 0;
	return err_set(e, "--date '%.40s' is not a day as in 2026-01-31", p->o.date);
}

static int check_scope(struct parsed *p, struct err *e)
{
	bool unified = p->scope && strcmp(p->scope, "unified") == 0;

	if (p->scope && !unified && strcmp(p->scope, "sequence") != 0)
		return err_set(e, "--scope '%.40s' must be sequence or unified", p->scope);
	if (unified != p->cell_given)
		return err_set(e, "--scope unified and --cell-ns NS, what a token and a cell take, "
				  "go together");
	if (p->cell_given && !(p->o.scope_cell_ns > 0))
		return err_set(e, "--cell-ns is %g: it must be above 0", p->o.scope_cell_ns);
	p->o.scope_given = p->scope != NULL;
	return 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && strcmp(text + n - m, end) == 0;
}

static int check(struct parsed *p, struct err *e)
{
	struct calibrate_options *o = &p->o;
	int mode = mode_of(p, e);

	if (mode < 0 || check_modes(p, mode, e) < 0)
		return -1;
	if (mode == IMPORT && !o->device)
		return err_set(e, "--device NAME is missing: of which device the times are "
				  "(omnibus list devices)");
	if (mode == IMPORT && !o->output)
		return err_set(e, "-o PROFILE is missing: the JSON file to write");
	if (o->plot && !ends_with(o->plot, ".svg"))
		return err_set(e, "--plot '%.200s' does not end with .svg: the picture is one",
			       o->plot);
	if (p->kv_bits_given && model_check_kv_bits(o->kv_bits, e) < 0)
		return -1;
	if (p->budget_given && !(o->budget_s > 0))
		return err_set(e, "--budget is %g s: it must be above 0", o->budget_s);
	o->seed = (uint64_t)p->seed;
	if (check_text("--source", o->source, sizeof(((struct profile *)0)->source) - 1, e) < 0 ||
	    check_text("--server", o->server, sizeof(((struct profile *)0)->server) - 1, e) < 0)
		return -1;
	if (check_profile_name(o->output, e) < 0 ||
	    check_text("--device", o->device, PATH_MAX, e) < 0)
		return -1;
	if (check_date(p, e) < 0 || check_scope(p, e) < 0)
		return -1;
	return mode;
}

enum { ABOUT_MAX = 4096 };

static void print_about(char about[ABOUT_MAX])
{
	int at =
		snprintf(about, ABOUT_MAX,
			 "Makes a profile of a device from times of its kernels: a formula for "
			 "each operation, with errors\nof its coefficients and of times that were "
			 "held out. A profile is a device: run -d PROFILE.\n\nTables that --import "
			 "knows by their headers, to the letter (calibrate/README.md):\n\n");

	for (size_t i = 0; import_formats[i] && at < ABOUT_MAX; i++)
		if (!import_formats[i]->no_points)
			at += snprintf(about + at, ABOUT_MAX - (size_t)at, "  %-15s %s\n      %s\n",
				       import_formats[i]->name, import_formats[i]->summary,
				       import_formats[i]->header);
}

/* clang-format off */
#define TEXT_ROW(option, letter_, to, arg_, help_)                                                 \
	{.name = option, .letter = letter_, .kind = OPTION_TEXT, .value = to, .arg = arg_, .help = help_}
#define INT_ROW(option, to, seen, arg_, low, high, help_)                                          \
	{.name = option, .kind = OPTION_INT, .value = to, .given = seen, .arg = arg_, .min = low,  \
	 .max = high, .help = help_}
/* clang-format on */

static int parse(struct parsed *p, int argc, char **argv, struct err *e)
{
	struct calibrate_options *o = &p->o;
	const struct option_row rows[] = {
		TEXT_ROW("backend", 0, &o->backend, "cpu|cuda", "times kernels of this backend"),
		{.name = "check",
		 .kind = OPTION_FLAG,
		 .value = &o->check,
		 .help = "holds each kernel of the backend against a reference in double precision "
			 "instead"},
		{.name = "import",
		 .kind = OPTION_LIST,
		 .value = &o->import,
		 .arg = "FILE",
		 .help = "a table of times measured by others, told by its header; may be given "
			 "several times"},
		TEXT_ROW("show", 0, &o->show, "PROFILE",
			 "prints a profile: a path, or the name of one that comes with omnibus"),
		TEXT_ROW("device", 0, &o->device, "NAME",
			 "whose data sheet counts: a device (omnibus list devices) or its JSON "
			 "file; with --backend any other name is just the name"),
		TEXT_ROW("model", 'm', &o->model, "MODEL",
			 "whose shapes are timed besides, of whose layers or steps a table is, or "
			 "which are drawn"),
		INT_ROW("tp", &o->tp, &p->tp_given, "N", 1, 4096,
			"devices that share each layer (default 1)"),
		INT_ROW("kv-bits", &o->kv_bits, &p->kv_bits_given, "16|8|4|2", 2, 16,
			"only this KV cache beside 16 and 8 bits"),
		{.name = "budget",
		 .kind = OPTION_REAL,
		 .value = &o->budget_s,
		 .given = &p->budget_given,
		 .arg = "SECONDS",
		 .max = 1e6,
		 .help = "how long to time (default: 60 of cpu, 120 of cuda; below 60 KV of 4 and "
			 "2 "
			 "bits is not timed, and too few points of an operation that a step needs "
			 "make no profile)"},
		TEXT_ROW("output", 'o', &o->output, "PROFILE",
			 "the profile to write, JSON; with --import the device is called like the "
			 "file"),
		TEXT_ROW("db", 0, &o->db, "FILE", "results database: points and fits as tables"),
		INT_ROW("threads", &o->threads, &p->threads_given, "N", 1, 4096,
			"of the cpu backend (default: all)"),
		INT_ROW("seed", &p->seed, &p->seed_given, "N", 0, 9e15,
			"of inputs, and of the points held out (default 0)"),
		TEXT_ROW("source", 0, &o->source, "TEXT",
			 "where the times come from, with their licence"),
		TEXT_ROW("server", 0, &o->server, "TEXT", "whose kernels they are: vLLM 0.24.0"),
		TEXT_ROW("date", 0, &o->date, "YYYY-MM-DD",
			 "instead of today, so that a profile can be made again to the byte"),
		TEXT_ROW("scope", 0, &p->scope, "sequence|unified",
			 "what a token attends to: its sequence (paged servers), or all cells in "
			 "use (llama.cpp's server)"),
		{.name = "cell-ns",
		 .kind = OPTION_REAL,
		 .value = &o->scope_cell_ns,
		 .given = &p->cell_given,
		 .arg = "NS",
		 .max = 1e9,
		 .help = "--scope unified: what a token takes for each cell, over all layers"},
		TEXT_ROW("plot", 0, &o->plot, "FILE.svg", "--show: draws it with gnuplot"),
		{.name = NULL},
	};
	char about[ABOUT_MAX];

	print_about(about);
	const struct option_usage usage = {
		.command = "calibrate",
		.synopsis = "omnibus calibrate --backend cpu|cuda [-m MODEL] [--tp N] [--budget "
			    "SECONDS] [-o PROFILE]\n"
			    "       omnibus calibrate --backend cpu|cuda --check\n"
			    "       omnibus calibrate --import FILE ... --device NAME -o PROFILE\n"
			    "       omnibus calibrate --show PROFILE [--plot FILE.svg]",
		.about = about,
		.rows = rows,
	};
	int first = options_parse(&usage, argc, argv, e);

	return first > 0 ? check(p, e) : first;
}

/* No file that is read, or stored into, is written over. */
static int check_outputs(const struct calibrate_options *o, struct err *e)
{
	const char *const others[] = {
		o->model && model_is_path(o->model) ? o->model : NULL,
		o->device && device_is_path(o->device) ? o->device : NULL,
		o->show && config_is_path(o->show) ? o->show : NULL,
		o->db,
	};
	const char *const outputs[] = {o->output, o->plot};

	for (int i = 0; i < 2; i++)
		if (outputs[i] &&
		    (outfile_check_all(outputs[i], others, sizeof(others) / sizeof(others[0]), e) <
			     0 ||
		     outfile_check_all(outputs[i], o->import.items, o->import.n, e) < 0))
			return -1;
	return 0;
}

static int dispatch(const struct calibrate_options *o, int mode, struct err *e)
{
	int code;

	if (check_outputs(o, e) < 0)
		return EXIT_USAGE;
	if (mode == SHOW)
		return calibrate_show(o, e);
	code = mode == IMPORT ? calibrate_import(o, e) : calibrate_backend(o, e);
	if (code == 0 && o->output && strcmp(o->output, "-") != 0)
		fprintf(stderr, "omnibus calibrate: wrote %s\n", o->output);
	return code;
}

int cmd_calibrate(int argc, char **argv)
{
	struct parsed p = {.o = {.tp = 1}};
	struct err e;
	int mode = parse(&p, argc, argv, &e);
	int code = mode < 0 ? EXIT_USAGE : mode == 0 ? 0 : dispatch(&p.o, mode, &e);

	if (code)
		fprintf(stderr, "omnibus calibrate: %s\n", e.text);
	free(p.o.import.items);
	return code;
}
