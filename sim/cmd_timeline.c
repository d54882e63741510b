/* cmd_timeline.c: `omnibus timeline`: the steps of a stored run for Perfetto or chrome://tracing.
 */
#include "results/timeline.h"
#include "sim/options.h"
#include "traces/outfile.h"
#include <inttypes.h>

static int write_timeline(const char *db, int64_t run_id, const char *output, struct err *e)
{
	struct timeline_counts counts;
	struct outfile out;

	if (outfile_open(&out, output, e))
		return -1;
	if (timeline_write(out.stream, db, run_id, &counts, e)) {
		outfile_abandon(&out);
		return -1;
	}
	if (outfile_commit(&out, e))
		return -1;
	fprintf(stderr,
		"omnibus timeline: %" PRId64 " steps and runs of steps, %" PRId64 " requests\n",
		counts.steps, counts.requests);
	if (counts.requests == 0)
		fputs("omnibus timeline: no request is shown, as the run has no request rows\n",
		      stderr);
	if (counts.unplaced > 0)
		fprintf(stderr,
			"omnibus timeline: %" PRId64 " ends of arrows left out, as several steps "
			"start or end just then\n",
			counts.unplaced);
	return 0;
}

int cmd_timeline(int argc, char **argv)
{
	const char *db = NULL, *output = NULL;
	const struct option_row rows[] = {
		{.name = "db",
		 .kind = OPTION_TEXT,
		 .value = &db,
		 .arg = "FILE",
		 .help = "results database, as written by omnibus run --steps --db"},
		{.name = "output",
		 .letter = 'o',
		 .kind = OPTION_TEXT,
		 .value = &output,
		 .arg = "FILE",
		 .help = "the trace, JSON [standard output]"},
		{.name = NULL},
	};
	const struct option_usage usage = {
		.command = "timeline",
		.synopsis = "omnibus timeline RUN --db FILE [-o FILE.json]",
		.about =
			"Writes the steps of the run with this id, what its instances held and the "
			"way of\neach request through them as trace events, which ui.perfetto.dev "
			"and chrome://tracing\nshow.",
		.rows = rows,
		.min_args = 1,
		.max_args = 1,
	};
	struct err e;
	int64_t run_id;
	int code = EXIT_USAGE, first = options_parse(&usage, argc, argv, &e);

	if (first == 0)
		return 0;
	if (first > 0 && !parse_int(argv[first], "the id of a run", 1, INT64_MAX, &run_id, &e)) {
		if (!db)
			err_set(&e, "--db FILE is missing: the results database to read");
		else if (!output || !outfile_check(output, db, &e))
			code = write_timeline(db, run_id, output, &e) ? EXIT_FAILED : 0;
	}
	if (code)
		fprintf(stderr, "omnibus timeline: %s\n", e.text);
	return code;
}
