/* select.c: see select.h. */
#include "traces/select.h"
#include "traces/arrivals.h"
#include <string.h>

/* The place of the text in the table; `first` is the first that may be named. -1: a sentence. */
static int find(const char *option, const char *text, const char *const *names, int first, int n,
		struct err *e)
{
	for (int i = first; i < n; i++)
		if (strcmp(names[i], text) == 0)
			return i;
	return err_unknown(e, option, text, names + first, (size_t)(n - first));
}

static int set_names(const struct trace_select *o, struct trace_spec *spec, struct err *e)
{
	int zero = find("--zero", o->zero, trace_zero_names, 0, N_TRACE_ZERO, e);
	int rule = TRACE_HASH_OF_FORMAT;
	if (zero < 0)
		return -1;
	if (o->hash_rule && (rule = find("--hash-rule", o->hash_rule, trace_hash_names,
					 TRACE_HASH_CEIL, N_TRACE_HASH, e)) < 0)
		return -1;
	spec->zero = (enum trace_zero)zero;
	spec->hash_rule = (enum trace_hash_rule)rule;
	return 0;
}

static int set_arrivals(const struct trace_select *o, struct trace_spec *spec, struct err *e)
{
	int kind = o->arrivals ? find("--arrivals", o->arrivals, arrivals_names, 0, N_ARRIVALS, e)
			       : -1;
	if (o->arrivals && kind < 0)
		return -1;
	if (o->cv > 0 && kind != ARRIVALS_GAMMA && kind != ARRIVALS_WEIBULL)
		return err_set(e, "--cv is the spread of --arrivals gamma or weibull");
	if (o->arrivals && o->speed > 0)
		return err_set(e, "--arrivals are drawn at --rate; --speed is for those recorded");
	spec->arrivals = o->arrivals;
	spec->cv = o->cv;
	return 0;
}

int trace_select_spec(const struct trace_select *o, struct trace_spec *spec, struct err *e)
{
	*spec = (struct trace_spec){
		.sort = o->sort,
		.skip = o->skip,
		.limit = o->limit,
		.hash_block = o->hash_block,
		.seed = (uint64_t)o->seed,
		.speed = o->speed,
	};
	if (set_names(o, spec, e) || set_arrivals(o, spec, e))
		return -1;
	if (o->columns && trace_parse_columns(o->columns, spec, e))
		return -1;
	if (o->window && trace_parse_window(o->window, spec, e))
		return -1;
	if (o->rate && o->speed > 0)
		return err_set(e, "--rate and --speed cannot both be given");
	spec->rate_inf = o->rate && strcmp(o->rate, "inf") == 0;
	if (o->arrivals && !o->rate && !o->many_rates)
		return err_set(e, "--arrivals %s needs --rate, requests a second, or inf",
			       o->arrivals);
	if (o->rate && !spec->rate_inf)
		return parse_real(o->rate, "--rate", 1e-9, 1e9, &spec->rate_rps, e);
	return 0;
}
