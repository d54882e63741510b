/*
 * run_options.h: what `omnibus run` was asked for, checked as far as it can be before anything
 * runs.
 */
#ifndef SIM_RUN_OPTIONS_H
#define SIM_RUN_OPTIONS_H

#include "results/field.h"
#include "sim/executor_kinds.h"
#include "sim/hardware_options.h"
#include "sim/recording.h"
#include "sim/sim.h"
#include "traces/select.h"

struct run_options {
	/* as given */
	struct option_list policies, rate_texts;
	struct hardware_options hardware;
	const char *executor_text, *router_name;
	const char *max_tokens_text, *too_long_text, *slo_text, *sessions_text;
	struct trace_select select;
	const char *db, *format_text, *requests_text;
	const char *recording, *clock_text; /* NULL: none is made */
	double horizon_s, timeout_s;
	int64_t jobs;
	bool steps, no_fast_forward, horizon_given, instances_given;

	/* as understood */
	struct trace_spec spec;
	struct trace_span span; /* the spec's, once it is measured */
	double *rates; /* offered rates to run at; one NaN where arrivals are as recorded */
	size_t n_rates;
	struct choice *choices;
	size_t n_choices;
	int executor;
	const char *executor_params;	 /* what follows "fixed:" or "replay:", or NULL */
	struct recording_facts recorded; /* of the latter */
	bool wall;			 /* real time */
	bool has_model, has_device;
	struct model model;
	struct device device;
	struct memory_want memory;
	const struct router_ops *router;
	enum max_tokens_rule max_tokens_rule;
	int64_t instances, max_tokens, max_model_len, closed_loop, queue_limit;
	bool truncate, keep_all;
	bool sessions_open;
	bool input_failed; /* what is wrong is in a file, not in the command line */
	struct slo slo;
	enum format format;
};

/*
 * 1: go on; 0: --help was printed; -1: a sentence (wrong usage). Release in every case.
 */
int run_options_parse(struct run_options *o, int argc, char **argv, struct err *e);
void run_options_release(struct run_options *o);
/* The name of the model, of -m or of the recording that is replayed; "": none. */
const char *run_options_model(const struct run_options *o);

/*
 * For commands that run in their own way, beside options of their own: defaults, and the rows that
 * write into `o`, RUN_OPTION_ROWS of them at most with the NULL name at the end. What was parsed is
 * then understood, for a trace of that name (spec.rows, where set before, in its place). -1: a
 * sentence (wrong usage, or input_failed).
 */
enum { RUN_OPTION_ROWS = 64 };
size_t run_options_rows(struct run_options *o, struct option_row *rows);
int run_options_understand(struct run_options *o, const char *source, struct err *e);

#endif
