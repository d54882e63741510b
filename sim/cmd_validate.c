/* cmd_validate.c: `omnibus validate`: forecasts held against what was measured. */
#include "sim/options.h"
#include "sim/validate.h"
#include <string.h>

enum { OWN_ROWS = 7 };

/* What a row of --served does not say itself. */
static bool is_of_served(const char *option)
{
	static const char *const all[] = {"served", "tolerance", "seed", "output"};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i], option))
			return true;
	return false;
}

/* Any other option would change nothing, and who gives it thinks that it does. */
static int check_served(const struct option_row *rows, const bool *given, const char *argument,
			struct err *e)
{
	for (size_t i = 0; rows[i].name; i++)
		if (given[i] && !is_of_served(rows[i].name))
			return err_set(e,
				       "--%s is not for --served, which takes policy, model, "
				       "device and all other settings from its rows: -o, --seed "
				       "and --tolerance are",
				       rows[i].name);
	return argument ? err_set(e, "--served FILE takes no argument beside it: '%.100s' is one",
				  argument)
			: 0;
}

/* As options_parse(), and which rows were given, those too that have no place for it. */
static int parse_seen(const struct option_usage *u, struct option_row *rows, bool *given, int argc,
		      char **argv, struct err *e)
{
	bool *own[RUN_OPTION_ROWS + OWN_ROWS] = {NULL};

	for (size_t i = 0; rows[i].name; i++) {
		own[i] = rows[i].given;
		rows[i].given = &given[i];
	}
	int first = options_parse(u, argc, argv, e);

	for (size_t i = 0; rows[i].name; i++)
		if (own[i])
			*own[i] = given[i];
	return first;
}

/* What each kind judges. */
static int read_tolerance(struct validate_options *o, struct err *e)
{
	static const char *const served[] = {"ttft", "ttft_p50", "ttft_p90",
					     "tpot", "tpot_p50", "tpot_p90"};
	static const char *const backend[] = {"ttft", "ttft_p50", "tpot",      "tpot_p50",
					      "e2e",  "e2e_p50",  "throughput"};
	const char *const *judged = o->served ? served : backend;
	size_t n = o->served	? sizeof(served) / sizeof(served[0])
		   : o->backend ? sizeof(backend) / sizeof(backend[0])
				: 0;

	return tolerance_parse(&o->tolerance, o->tolerance_text, judged, n, e);
}

int validate_parse(struct validate_options *o, int argc, char **argv, struct err *e)
{
	struct option_row rows[RUN_OPTION_ROWS + OWN_ROWS] = {
		{"real", 0, OPTION_TEXT, &o->real, "FILE",
		 "the log of a real server: its requests are run again, and each compared", 0, 0,
		 0},
		{"served", 0, OPTION_TEXT, &o->served, "FILE",
		 "rows of means of servers under a closed loop, each run with its own settings", 0,
		 0, 0},
		{"backend", 0, OPTION_TEXT, &o->backend, "cpu|cuda",
		 "run the trace by real layers on this machine, and compare", 0, 0, 0},
		{"profile", 0, OPTION_TEXT, &o->profile, "FILE",
		 "with --backend: what forecasts, in place of a calibration in each round", 0, 0,
		 0},
		{"budget", 0, OPTION_REAL, &o->budget_s, "S",
		 "with --backend: seconds of a round's calibration [as omnibus calibrate takes]",
		 0.1, 1e5, 0},
		{"rounds", 0, OPTION_INT, &o->rounds, "N",
		 "with --backend: medians over so many [3]", 1, 1000, 0},
		{"load", 0, OPTION_REAL, &o->load, "X",
		 "with --backend: offered share of what the first policy completes a second where "
		 "all requests are there at once [0.6]",
		 0.01, 100, 0},
	};
	static const char about[] =
		"Holds forecasts against what was measured: the requests of a real server's log, "
		"each run again and\ncompared; means of many servers; or real layers on this "
		"machine. Prints errors, the worst cases, and\nwhether they are within "
		"--tolerance; beyond it the exit code is 3.\n\n--backend runs each policy under "
		"the simulated clock, before and after the kernels are timed (the noise\nfloor is "
		"how far the two runs are apart, the error is of their mean), and in real time "
		"(columns that say\nso). The forecast is by each round's calibration, or by "
		"--profile. The limit of the model's error is\nthe tolerance, or the noise floor "
		"where that is larger; without --tolerance it is 5 % of means and\nmedians.\n\n"
		"A log is what "
		"vllm bench serve "
		"--save-result --save-detailed wrote, the requests of vLLM's engine, or\nany CSV "
		"with --columns arrival=C,prompt=C,output=C,last=C[,first=C][,scheduled=C]"
		"[,unit=s|ms|us|ns].\n"
		"first, last and scheduled are times on the same clock as arrival, not durations "
		"since it.";
	const struct option_usage usage = {
		.command = "validate",
		.synopsis =
			"omnibus validate --real FILE -p POLICY -m MODEL -d DEVICE "
			"[option of run ...]\n"
			"       omnibus validate --real FILE --db DB RUN\n"
			"       omnibus validate --served FILE\n"
			"       omnibus validate --backend cpu -m MODEL -p POLICY [-p POLICY ...] "
			"TRACE",
		.about = about,
		.rows = rows,
		.min_args = 0,
		.max_args = 1,
	};

	*o = (struct validate_options){.rounds = 3, .load = 0.6};
	size_t n = run_options_rows(&o->run, rows + OWN_ROWS);

	rows[OWN_ROWS + n] = (struct option_row){
		"tolerance",
		0,
		OPTION_TEXT,
		&o->tolerance_text,
		"X|METRIC=X,...",
		"what means may be off by (0.05 is 5 %), or METRIC_p50 and METRIC_p90 of a request",
		0,
		0,
		0};
	rows[OWN_ROWS + n + 1] =
		(struct option_row){NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0, 0, 0};
	bool given[RUN_OPTION_ROWS + OWN_ROWS] = {false};
	int first = parse_seen(&usage, rows, given, argc, argv, e);

	if (first <= 0)
		return first;
	o->argument = argv[first];
	if ((o->real != NULL) + (o->served != NULL) + (o->backend != NULL) != 1)
		return err_set(e, "what is a forecast held against? --real FILE names the log of a "
				  "real server, --served FILE means of many, --backend cpu this "
				  "machine; give one of them");
	if (o->served && check_served(rows, given, o->argument, e) < 0)
		return -1;
	return read_tolerance(o, e) < 0 ? -1 : 1;
}

/* The options of run that the rows of --served do not have themselves. */
static int settle_served(struct validate_options *o, struct err *e)
{
	struct run_options *r = &o->run;
	int format = format_parse(r->format_text);

	if (format < 0)
		return err_set(e, "-o '%s' is not md, csv or jsonl", r->format_text);
	r->format = (enum format)format;
	return 0;
}

static int validate(struct validate_options *o, int argc, char **argv, struct err *e)
{
	if (o->real)
		return validate_real(o, e);
	if (o->backend)
		return validate_ladder(o, argc, argv, e);
	return settle_served(o, e) < 0 ? EXIT_USAGE : validate_served(o, e);
}

int cmd_validate(int argc, char **argv)
{
	struct validate_options o;
	struct err e = {""};
	int go = validate_parse(&o, argc, argv, &e);
	int code = go < 0 ? EXIT_USAGE : go > 0 ? validate(&o, argc, argv, &e) : 0;

	if (code == EXIT_FAILED || code == EXIT_USAGE)
		fprintf(stderr, "omnibus validate: %s\n", e.text);
	run_options_release(&o.run);
	return code;
}
