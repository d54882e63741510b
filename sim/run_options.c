#include "sim/run_options.h"
#include "sim/execution_options.h"
#include "sim/link.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

static const double NS = 1e9;

/* The table points into `o`. Returns their number, without the end. */
static size_t fill_rows(struct run_options *o, struct option_row *rows)
{
	struct memory_want *m = &o->memory;
	const struct option_row all[] = {
		{"policy", 'p', OPTION_LIST, &o->policies, "NAME[:k=v,...]",
		 "policy, shape or preset (omnibus list policies); several are run in turn", 0, 0,
		 0},
		HARDWARE_ROWS(&o->hardware, m),
		{"instances", 0, OPTION_INT, &o->instances, "N", "copies of the model [1]", 1,
		 10000, &o->instances_given},
		{"router", 0, OPTION_TEXT, &o->router_name, "R",
		 "which instance gets an arrival [round-robin]", 0, 0, 0},
		{"executor", 'x', OPTION_TEXT, &o->executor_text, "X",
		 "where step times come from: predict, fixed:step_ns=.., cpu, cuda, replay:FILE "
		 "(omnibus list executors) [predict]",
		 0, 0, 0},
		{"clock", 0, OPTION_TEXT, &o->clock_text, "sim|wall",
		 "simulated time; or real time, where the steps are run (-x cpu, -x cuda) [sim]", 0,
		 0, 0},
		{"record", 0, OPTION_TEXT, &o->recording, "FILE",
		 "write every step and its time, one by one, for -x replay:FILE", 0, 0, 0},
		{"rate", 0, OPTION_LIST, &o->rate_texts, "RPS[,RPS...]",
		 "scale the gaps of the trace to this offered rate; inf: all at once", 0, 0, 0},
		TRACE_SELECT_ROWS(&o->select),
		{"sessions", 0, OPTION_TEXT, &o->sessions_text, "closed|open",
		 "turns of a session wait for the one before, or arrive as recorded [closed]", 0, 0,
		 0},
		{"closed-loop", 0, OPTION_INT, &o->closed_loop, "N",
		 "N requests in flight, the next one at each completion", 1, 1e9, 0},
		{"horizon", 0, OPTION_REAL, &o->horizon_s, "S",
		 "stop after S simulated seconds; what is not done is unfinished", 0, 1e9,
		 &o->horizon_given},
		{"queue-limit", 0, OPTION_INT, &o->queue_limit, "N",
		 "an arrival that finds N requests in its queue is rejected", 1, 1e9, 0},
		{"timeout", 0, OPTION_REAL, &o->timeout_s, "S",
		 "a request not done S seconds after its arrival is aborted", 1e-9, 1e9, 0},
		{"max-model-len", 0, OPTION_INT, &o->max_model_len, "N",
		 "longest prompt + output that the server takes", 1, 1e12, 0},
		{"too-long", 0, OPTION_TEXT, &o->too_long_text, "reject|truncate",
		 "beyond it: reject, or cut the output [reject]", 0, 0, 0},
		{"max-tokens", 0, OPTION_TEXT, &o->max_tokens_text, "N|model|output",
		 "the client's limit where the trace has none [model: the model's context]", 0, 0,
		 0},
		{"slo", 0, OPTION_TEXT, &o->slo_text, "ttft=S,tpot=S,e2e=S,maxgap=S",
		 "targets in seconds, all of which a good request meets", 0, 0, 0},
		{"db", 0, OPTION_TEXT, &o->db, "FILE", "store the runs in this SQLite file", 0, 0,
		 0},
		{"output", 'o', OPTION_TEXT, &o->format_text, "md|csv|jsonl", "format [md]", 0, 0,
		 0},
		{"requests", 0, OPTION_TEXT, &o->requests_text, "all|none",
		 "store each request and give exact percentiles, or use flat memory [all]", 0, 0,
		 0},
		{"steps", 0, OPTION_FLAG, &o->steps, NULL,
		 "store every step too, a run of equal decode steps as one row (omnibus timeline)",
		 0, 0, 0},
		{"no-fast-forward", 0, OPTION_FLAG, &o->no_fast_forward, NULL,
		 "one decode step at a time: slower, the same bytes", 0, 0, 0},
		{"jobs", 0, OPTION_INT, &o->jobs, "N",
		 "runs at once [the number of cores; 1 where steps are run]", 1, 1024, 0},
		{NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0, 0, 0},
	};

	CHECK(sizeof(all) / sizeof(all[0]) <= RUN_OPTION_ROWS, "%zu options",
	      sizeof(all) / sizeof(all[0]));
	memcpy(rows, all, sizeof(all));
	return sizeof(all) / sizeof(all[0]) - 1;
}

static void set_defaults(struct run_options *o)
{
	*o = (struct run_options){.select = TRACE_SELECT_INIT,
				  .executor_text = "predict",
				  .clock_text = "sim",
				  .router_name = "round-robin",
				  .max_tokens_text = "model",
				  .too_long_text = "reject",
				  .sessions_text = "closed",
				  .format_text = "md",
				  .requests_text = "all",
				  .instances = 1,
				  .slo = {NAN, NAN, NAN, NAN}};
	o->select.many_rates = true;
	memory_want_default(&o->memory);
	o->jobs = sysconf(_SC_NPROCESSORS_ONLN);
	if (o->jobs < 1)
		o->jobs = 1;
}

/* One option each */

static int add_rates(struct run_options *o, const char *text, struct err *e)
{
	char *copy = xstrdup(text);
	int result = 0;

	for (char *one = copy, *rest; one && result == 0; one = rest) {
		double rate = INFINITY;

		rest = strchr(one, ',');
		if (rest)
			*rest++ = '\0';
		if (strcmp(one, "inf") != 0)
			result = parse_real(one, "--rate", 1e-9, 1e9, &rate, e);
		o->rates = xrealloc(o->rates, (o->n_rates + 1) * sizeof(*o->rates));
		o->rates[o->n_rates++] = rate;
	}
	free(copy);
	return result;
}

static int set_rates(struct run_options *o, struct err *e)
{
	for (size_t i = 0; i < o->rate_texts.n; i++)
		if (add_rates(o, o->rate_texts.items[i], e) < 0)
			return -1;
	if ((o->n_rates > 0) + (o->select.speed > 0) + (o->closed_loop > 0) > 1)
		return err_set(e, "--rate, --speed and --closed-loop each say when requests "
				  "arrive; give one of them");
	if (o->select.arrivals && o->n_rates == 0)
		return err_set(e, "--arrivals %s needs --rate, requests a second, or inf",
			       o->select.arrivals);
	if (o->n_rates == 0) {
		o->rates = xrealloc(o->rates, sizeof(*o->rates));
		o->rates[o->n_rates++] = NAN;
	}
	return 0;
}

static int set_sessions(struct run_options *o, struct err *e)
{
	o->sessions_open = !strcmp(o->sessions_text, "open");
	if (!o->sessions_open && strcmp(o->sessions_text, "closed") != 0)
		return err_set(e, "--sessions '%s' is neither closed nor open", o->sessions_text);
	return 0;
}

static int set_choices(struct run_options *o, struct err *e)
{
	if (o->policies.n == 0)
		return err_set(e,
			       "no policy is given; -p POLICY names one (omnibus list policies)");
	o->choices = xcalloc(o->policies.n, sizeof(*o->choices));
	for (size_t i = 0; i < o->policies.n; i++) {
		if (choice_parse(&o->choices[i], o->policies.items[i], e) < 0)
			return -1;
		o->n_choices++;
		if (o->choices[i].disaggregated && o->instances_given)
			return err_set(e,
				       "--instances is not for %s: its prefill= and decode= say "
				       "how many there are",
				       o->choices[i].name);
	}
	return 0;
}

static int check_tp(const struct run_options *o, struct err *e)
{
	if (!o->has_model)
		return 0;
	for (size_t i = 0; i < o->n_choices; i++) {
		const struct disaggregated_params *d = &o->choices[i].shape;

		if (!o->choices[i].disaggregated)
			continue;
		if ((d->prefill_tp && model_check_tp(&o->model, d->prefill_tp, e) < 0) ||
		    (d->decode_tp && model_check_tp(&o->model, d->decode_tp, e) < 0) ||
		    (d->prefill_pp && model_check_pp(&o->model, d->prefill_pp, e) < 0) ||
		    (d->decode_pp && model_check_pp(&o->model, d->decode_pp, e) < 0))
			return -1;
	}
	if (model_check_pp(&o->model, o->memory.pp, e) < 0)
		return -1;
	return model_check_tp(&o->model, o->memory.tp, e);
}

static int check_async(const struct run_options *o, struct err *e)
{
	for (size_t i = 0; i < o->n_choices; i++) {
		const struct choice *c = &o->choices[i];
		const struct disaggregated_params *d = &c->shape;
		bool piped = (d->prefill_pp ? d->prefill_pp : o->memory.pp) > 1 ||
			     (d->decode_pp ? d->decode_pp : o->memory.pp) > 1;

		if (c->common.async && piped)
			return err_set(e,
				       "%s: async=1 plans one step ahead, which the batches in "
				       "flight of a pipeline (--pp) do already: leave out one of "
				       "the two",
				       c->name);
	}
	return 0;
}

static int set_hardware(struct run_options *o, struct err *e)
{
	o->has_model = o->hardware.model_name != NULL;
	o->has_device = o->hardware.device_name != NULL;
	if (o->has_model && model_load(&o->model, o->hardware.model_name, e) < 0) {
		o->input_failed = model_is_path(o->hardware.model_name);
		return -1;
	}
	if (o->has_device && device_load(&o->device, o->hardware.device_name, e) < 0) {
		o->input_failed = device_is_path(o->hardware.device_name);
		return -1;
	}
	if (execution_check_needs(o, e) < 0)
		return -1;
	if (check_tp(o, e) < 0 || check_async(o, e) < 0)
		return -1;
	if (hardware_options_check(&o->hardware, &o->memory, e) < 0)
		return -1;
	hardware_options_apply(&o->hardware, &o->model);
	if (o->memory.kv_tokens > 0 && o->memory.kv_tokens < o->memory.block_tok)
		return err_set(e, "--kv-tokens %lld is less than one block of %lld tokens",
			       (long long)o->memory.kv_tokens, (long long)o->memory.block_tok);
	for (size_t i = 0; i < o->n_choices; i++)
		if (choice_remembers(&o->choices[i]) && o->has_model && o->model.window_tok > 0)
			return err_set(e,
				       "%s: prefix=on is not for %s, whose layers attend to a "
				       "window of %lld tokens (prefix=off)",
				       o->choices[i].name, o->model.name,
				       (long long)o->model.window_tok);
	for (size_t i = 0; i < o->n_choices; i++)
		if (o->choices[i].disaggregated && !o->has_model)
			return err_set(e,
				       "%s moves KV between instances and needs -m MODEL to know "
				       "its size",
				       o->choices[i].name);
	for (size_t i = 0; i < o->n_choices; i++) {
		double bytes_s;

		if (link_bytes_s(&o->choices[i], o->has_device ? &o->device : NULL, o->memory.tp,
				 &bytes_s, e) < 0)
			return -1;
	}
	return router_find(&o->router, o->router_name, e);
}

static int set_lengths(struct run_options *o, struct err *e)
{
	if (!strcmp(o->too_long_text, "truncate"))
		o->truncate = true;
	else if (strcmp(o->too_long_text, "reject") != 0)
		return err_set(e, "--too-long '%s' is neither reject nor truncate",
			       o->too_long_text);
	if (!strcmp(o->max_tokens_text, "model")) {
		o->max_tokens_rule = MAX_TOKENS_MODEL;
		return 0;
	}
	if (!strcmp(o->max_tokens_text, "output")) {
		o->max_tokens_rule = MAX_TOKENS_OUTPUT;
		return 0;
	}
	o->max_tokens_rule = MAX_TOKENS_N;
	if (parse_int(o->max_tokens_text, "--max-tokens", 1, 1000000000, &o->max_tokens, e) < 0)
		return err_set(e,
			       "--max-tokens '%s' is not a whole number from 1 to 1000000000, "
			       "model or output",
			       o->max_tokens_text);
	return 0;
}

static int set_slo(struct run_options *o, struct err *e)
{
	static const struct param targets[] = {
		{.name = "ttft",
		 .kind = PARAM_REAL,
		 .offset = offsetof(struct slo, ttft_ns),
		 .max = 1e9},
		{.name = "tpot",
		 .kind = PARAM_REAL,
		 .offset = offsetof(struct slo, tpot_ns),
		 .max = 1e9},
		{.name = "e2e",
		 .kind = PARAM_REAL,
		 .offset = offsetof(struct slo, e2e_ns),
		 .max = 1e9},
		{.name = "maxgap",
		 .kind = PARAM_REAL,
		 .offset = offsetof(struct slo, maxgap_ns),
		 .max = 1e9},
		{.name = NULL},
	};
	struct param_set set = {targets, &o->slo};

	if (o->slo_text && !o->slo_text[0])
		return err_set(e, "--slo has no target in it; expected ttft=S, tpot=S, e2e=S or "
				  "maxgap=S");
	struct err inner;

	if (param_parse(&set, 1, "--slo", o->slo_text, &inner) < 0)
		return err_set(e, "%s (targets are seconds: ttft=0.5,tpot=0.05,e2e=10,maxgap=1)",
			       inner.text);
	o->slo.ttft_ns *= NS; /* seconds until here */
	o->slo.tpot_ns *= NS;
	o->slo.e2e_ns *= NS;
	o->slo.maxgap_ns *= NS;
	return 0;
}

static int set_output(struct run_options *o, struct err *e)
{
	int format = format_parse(o->format_text);

	if (format < 0)
		return err_set(e, "-o '%s' is not md, csv or jsonl", o->format_text);
	o->format = (enum format)format;
	if (o->db && !o->db[0])
		return err_set(e, "--db is empty; expected a file to store the runs in");
	if (o->steps && !o->db)
		return err_set(e,
			       "--steps stores steps, and --db FILE is missing, which says where");
	o->keep_all = !strcmp(o->requests_text, "all");
	if (!o->keep_all && strcmp(o->requests_text, "none") != 0)
		return err_set(e, "--requests '%s' is neither all nor none", o->requests_text);
	return 0;
}

static int set_trace(struct run_options *o, const char *source, struct err *e)
{
	const struct trace_row *rows = o->spec.rows;
	int64_t n_rows = o->spec.n_rows;

	if (trace_select_spec(&o->select, &o->spec, e) < 0)
		return -1;
	o->spec.source = source;
	o->spec.rows = rows;
	o->spec.n_rows = n_rows;
	return trace_check(&o->spec, e);
}

size_t run_options_rows(struct run_options *o, struct option_row *rows)
{
	set_defaults(o);
	return fill_rows(o, rows);
}

int run_options_parse(struct run_options *o, int argc, char **argv, struct err *e)
{
	struct option_row rows[RUN_OPTION_ROWS];
	const struct option_usage usage = {
		.command = "run",
		.synopsis = "omnibus run TRACE -p POLICY [-p POLICY ...] -m MODEL -d DEVICE "
			    "[option ...]",
		.about =
			"Replays a request trace (a file, - for standard input, or synth:NAME) "
			"under "
			"each policy and\neach --rate, and prints one row of latency and goodput a "
			"run.",
		.rows = rows,
		.min_args = 1,
		.max_args = 1,
	};

	run_options_rows(o, rows);
	int first = options_parse(&usage, argc, argv, e);

	if (first <= 0)
		return first;
	return run_options_understand(o, argv[first], e) < 0 ? -1 : 1;
}

int run_options_understand(struct run_options *o, const char *source, struct err *e)
{
	if (set_trace(o, source, e) < 0 || set_choices(o, e) < 0 ||
	    execution_set_executor(o, e) < 0 || set_hardware(o, e) < 0 || set_rates(o, e) < 0 ||
	    set_sessions(o, e) < 0 || set_lengths(o, e) < 0 || set_slo(o, e) < 0 ||
	    set_output(o, e) < 0 || execution_check(o, e) < 0)
		return -1;
	return 0;
}

const char *run_options_model(const struct run_options *o)
{
	if (o->has_model)
		return o->model.name;
	return o->executor == EXECUTOR_REPLAY ? o->recorded.model : "";
}

void run_options_release(struct run_options *o)
{
	for (size_t i = 0; i < o->n_choices; i++)
		choice_release(&o->choices[i]);
	device_release(&o->device);
	free(o->choices);
	free(o->rates);
	free(o->policies.items);
	free(o->rate_texts.items);
}
