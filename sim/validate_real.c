/*
 * validate_real.c: `omnibus validate --real`: the requests of a real server's log, run again by the
 * simulator, and each held against itself.
 */
#include "sim/options.h"
#include "sim/validate.h"
#include <math.h>

/* When requests come: as the log says, or as it has to be told. */
static int settle_arrivals(struct run_options *r, const struct real_log *l, const char *path,
			   struct err *e)
{
	bool given = r->rate_texts.n > 0 || r->select.arrivals || r->closed_loop > 0 ||
		     r->select.speed > 0;

	if (l->has_arrivals) {
		if (!given)
			return 0;
		return err_set(e,
			       "%s says when its requests came: leave out --rate, --speed, "
			       "--arrivals and --closed-loop",
			       path);
	}
	if (given)
		return 0;
	if (isinf(l->rate_rps)) { /* all at once, or the next one at each completion */
		r->closed_loop = l->in_flight;
		return 0;
	}
	char was[64] = "";

	if (!isnan(l->rate_rps))
		snprintf(was, sizeof(was), " (its request_rate is %.15g)", l->rate_rps);
	return err_set(e,
		       "%s does not say when its requests came%s: it has no start_times; give "
		       "--arrivals poisson --rate R, --closed-loop N, or --rate inf where all "
		       "came at once",
		       path, was);
}

static int check_options(const struct run_options *r, struct err *e)
{
	if (r->policies.n > 1 || r->rate_texts.n > 1)
		return err_set(e, "--real is held against one forecast: give one -p and one --rate "
				  "at most");
	if (r->select.skip > 0 || r->select.limit > 0 || r->select.window)
		return err_set(e, "--real takes all requests of its log: leave out --skip, --limit "
				  "and --window");
	if (r->steps)
		return err_set(e, "--real stores no steps: leave out --steps");
	return 0;
}

static int check_stored(const struct validate_options *o, struct err *e)
{
	const struct run_options *r = &o->run;

	if (!o->argument == !r->db)
		return 0;
	if (r->db)
		return err_set(e, "--db is for a run that it holds: give its number, RUN (--real "
				  "with options of a run stores nothing)");
	return err_set(e, "'%.100s' is the number of a run in --db FILE, which is missing",
		       o->argument);
}

/* A stored run must be of the same requests, one by one. */
static int check_same(const struct real_log *l, const struct validate_run *v, const char *path,
		      int64_t run_id, struct err *e)
{
	if ((int64_t)v->n != l->n)
		return err_set(e, "%s has %lld requests, and run %lld %zu: it is no run of them",
			       path, (long long)l->n, (long long)run_id, v->n);
	for (int64_t i = 0; i < l->n; i++) {
		const struct real_request *q = &l->at[i];
		const struct record *r = &v->record[i];

		if (q->prompt_tok != r->prompt_tok || q->output_tok != r->output_tok)
			return err_set(e,
				       "%s:%lld: %lld prompt and %lld output tokens, and request "
				       "%lld of run %lld %lld and %lld: it is no run of these "
				       "requests",
				       path, (long long)q->line, (long long)q->prompt_tok,
				       (long long)q->output_tok, (long long)i, (long long)run_id,
				       (long long)r->prompt_tok, (long long)r->output_tok);
	}
	return 0;
}

/* The run of --db in place of one that is made now. */
static int read_run(struct validate_options *o, const struct real_log *l, struct err *e)
{
	struct validate_run v = {0};
	int64_t run_id;
	int format = format_parse(o->run.format_text), code = EXIT_USAGE;

	if (parse_int(o->argument, "RUN", 1, INT64_MAX, &run_id, e) < 0)
		return code;
	if (format < 0)
		err_set(e, "-o '%s' is not md, csv or jsonl", o->run.format_text);
	else if (validate_stored(&v, o->run.db, run_id, e) < 0 ||
		 check_same(l, &v, o->real, run_id, e) < 0)
		code = EXIT_FAILED;
	else {
		o->run.format = (enum format)format;
		code = validate_compare(o, l, &v, e);
	}
	validate_run_release(&v);
	return code;
}

static struct trace_row *rows_of(const struct real_log *l)
{
	struct trace_row *rows = xcalloc((size_t)l->n, sizeof(*rows));

	for (int64_t i = 0; i < l->n; i++)
		rows[i] = (struct trace_row){.arrive_ns = l->at[i].arrive_ns,
					     .prompt_tok = l->at[i].prompt_tok,
					     .output_tok = l->at[i].output_tok,
					     .line = l->at[i].line};
	return rows;
}

static int replay_log(struct validate_options *o, const struct real_log *l, struct err *e)
{
	struct validate_run v = {0};
	struct run_options *r = &o->run;
	int code = EXIT_USAGE;

	if (settle_arrivals(r, l, o->real, e) < 0)
		return code;
	struct trace_row *rows = rows_of(l);

	r->spec.rows = rows;
	r->spec.n_rows = l->n;
	if (run_options_understand(r, o->real, e) < 0)
		code = r->input_failed ? EXIT_FAILED : EXIT_USAGE;
	else if (executor_kinds[r->executor].measures)
		err_set(e,
			"--real holds a forecast against its log, and -x %s measures: leave it "
			"out, or run the requests by --backend %s",
			executor_kinds[r->executor].name, executor_kinds[r->executor].name);
	else if (validate_replay(&v, r, 0, r->rates[0], e) < 0)
		code = EXIT_FAILED;
	else
		code = validate_compare(o, l, &v, e);
	validate_run_release(&v);
	free(rows);
	return code;
}

int validate_real(struct validate_options *o, struct err *e)
{
	struct real_log log;

	if (check_options(&o->run, e) < 0 || check_stored(o, e) < 0)
		return EXIT_USAGE;
	if (real_log_read(&log, o->real, o->run.select.columns, e) < 0)
		return EXIT_FAILED;
	o->run.select.columns = NULL;
	int code = o->argument ? read_run(o, &log, e) : replay_log(o, &log, e);

	real_log_release(&log);
	return code;
}
