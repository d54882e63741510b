/* cmd_validate.c: `omnibus validate`: forecasts held against what was measured. */
#include "sim/options.h"
#include "sim/validate.h"
#include <string.h>

enum { OWN_ROWS = 2 };

static int parse(struct validate_options *o, int argc, char **argv, struct err *e)
{
	struct option_row rows[RUN_OPTION_ROWS + OWN_ROWS] = {
		{"real", 0, OPTION_TEXT, &o->real, "FILE",
		 "the log of a real server: its requests are run again, and each compared", 0, 0,
		 0},
		{"tolerance", 0, OPTION_TEXT, &o->tolerance_text, "X|METRIC=X,...",
		 "what means may be off by (0.05 is 5 %), or METRIC_p50 and METRIC_p90 of a "
		 "request; beyond it the exit code is 3",
		 0, 0, 0},
	};
	const struct option_usage usage = {
		.command = "validate",
		.synopsis = "omnibus validate --real FILE -p POLICY -m MODEL -d DEVICE "
			    "[option of run ...]",
		.about = "Runs the requests of a real server's log under the same settings, and "
			 "prints how far the\nforecast is off: per request, of means, of "
			 "throughput; and the worst ten requests.\nFILE is what vllm bench serve "
			 "--save-result --save-detailed wrote, the requests of vLLM's engine, or\n"
			 "any CSV with --columns arrival=C,prompt=C,output=C,last=C[,first=C]"
			 "[,scheduled=C][,unit=s|ms|us|ns].",
		.rows = rows,
		.min_args = 0,
		.max_args = 0,
	};

	run_options_rows(&o->run, rows + OWN_ROWS);
	int first = options_parse(&usage, argc, argv, e);

	if (first <= 0)
		return first;
	if (!o->real)
		return err_set(e, "nothing to hold a forecast against: --real FILE names the log "
				  "of a real server");
	return tolerance_parse(&o->tolerance, o->tolerance_text, e) < 0 ? -1 : 1;
}

int cmd_validate(int argc, char **argv)
{
	struct validate_options o = {0};
	struct err e = {""};
	int go = parse(&o, argc, argv, &e);
	int code = go < 0 ? EXIT_USAGE : go > 0 ? validate_real(&o, &e) : 0;

	if (code == EXIT_FAILED || code == EXIT_USAGE)
		fprintf(stderr, "omnibus validate: %s\n", e.text);
	run_options_release(&o.run);
	return code;
}
