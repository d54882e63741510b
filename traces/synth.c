/* synth.c: generated traces: arrivals and lengths drawn from named streams of one seed. */
#include "traces/synth.h"
#include "sim/options.h"
#include "sim/param.h"
#include "sim/rng.h"
#include "traces/arrivals.h"
#include "traces/lengths.h"
#include "traces/number.h"
#include "traces/workloads.h"
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

struct side { /* lengths of the prompt or of the output */
	int64_t tok;
	double sd, p90;
	int64_t max;
};

struct synth_params {
	int64_t n, seed, arrivals;
	char rate[PARAM_TEXT_MAX], lengths[PARAM_TEXT_MAX];
	double cv, burst, burst_on, burst_period, swing, day, corr;
	struct side prompt, output;
};

#define AT(field) offsetof(struct synth_params, field)
#define TOK_MAX	  ((double)NUMBER_TOK_MAX)

const struct param synth_params_table[] = {
	{.name = "n",
	 .kind = PARAM_INT,
	 .offset = AT(n),
	 .init = "1000",
	 .min = 1,
	 .max = 1e15,
	 .help = "rows"},
	{.name = "rate",
	 .kind = PARAM_TEXT,
	 .offset = AT(rate),
	 .init = "1",
	 .help = "requests a second, or inf: all arrive at 0"},
	{.name = "arrivals",
	 .kind = PARAM_CHOICE,
	 .offset = AT(arrivals),
	 .init = "poisson",
	 .choices = arrivals_names,
	 .help = "gaps: exponential, gamma, Weibull, or all equal"},
	{.name = "cv",
	 .kind = PARAM_REAL,
	 .offset = AT(cv),
	 .init = "1",
	 .min = 0.01,
	 .max = 100,
	 .help = "standard deviation of gamma and Weibull gaps over their mean"},
	{.name = "burst",
	 .kind = PARAM_REAL,
	 .offset = AT(burst),
	 .init = "1",
	 .min = 1,
	 .max = 1e6,
	 .help = "rate within bursts over the rate outside them; 1: no bursts"},
	{.name = "burst_on",
	 .kind = PARAM_REAL,
	 .offset = AT(burst_on),
	 .init = "10",
	 .min = 1e-3,
	 .max = 1e9,
	 .help = "mean length of a burst, s (exponential)"},
	{.name = "burst_period",
	 .kind = PARAM_REAL,
	 .offset = AT(burst_period),
	 .init = "60",
	 .min = 1e-3,
	 .max = 1e9,
	 .help = "mean time from the start of a burst to the next one's, s"},
	{.name = "swing",
	 .kind = PARAM_REAL,
	 .offset = AT(swing),
	 .init = "0",
	 .min = 0,
	 .max = 1,
	 .help = "the rate is 1 + swing sin(2 pi t / day) times the mean; 0: it does not change"},
	{.name = "day",
	 .kind = PARAM_REAL,
	 .offset = AT(day),
	 .init = "86400",
	 .min = 1,
	 .max = 1e9,
	 .help = "period of swing, s"},
	{.name = "prompt",
	 .kind = PARAM_INT,
	 .offset = AT(prompt.tok),
	 .init = "0",
	 .min = 0,
	 .max = TOK_MAX,
	 .help = "prompt tokens: the length, the mean with prompt_sd, or the median with "
		 "prompt_p90; 0: from the quantiles, or 512 where there are none"},
	{.name = "prompt_sd",
	 .kind = PARAM_REAL,
	 .offset = AT(prompt.sd),
	 .init = "0",
	 .min = 0,
	 .max = TOK_MAX,
	 .help = "standard deviation of lognormal prompts; 0: not given"},
	{.name = "prompt_p90",
	 .kind = PARAM_REAL,
	 .offset = AT(prompt.p90),
	 .init = "0",
	 .min = 0,
	 .max = TOK_MAX,
	 .help = "90th percentile of lognormal prompts; 0: not given"},
	{.name = "prompt_max",
	 .kind = PARAM_INT,
	 .offset = AT(prompt.max),
	 .init = "1000000",
	 .min = 1,
	 .max = TOK_MAX,
	 .help = "longer prompts are cut to this"},
	{.name = "output",
	 .kind = PARAM_INT,
	 .offset = AT(output.tok),
	 .init = "0",
	 .min = 0,
	 .max = TOK_MAX,
	 .help = "output tokens, as prompt; 128 where there are no quantiles"},
	{.name = "output_sd",
	 .kind = PARAM_REAL,
	 .offset = AT(output.sd),
	 .init = "0",
	 .min = 0,
	 .max = TOK_MAX,
	 .help = "standard deviation of lognormal outputs; 0: not given"},
	{.name = "output_p90",
	 .kind = PARAM_REAL,
	 .offset = AT(output.p90),
	 .init = "0",
	 .min = 0,
	 .max = TOK_MAX,
	 .help = "90th percentile of lognormal outputs; 0: not given"},
	{.name = "output_max",
	 .kind = PARAM_INT,
	 .offset = AT(output.max),
	 .init = "1000000",
	 .min = 1,
	 .max = TOK_MAX,
	 .help = "longer outputs are cut to this"},
	{.name = "lengths",
	 .kind = PARAM_TEXT,
	 .offset = AT(lengths),
	 .init = "",
	 .help = "file of length quantiles, as omnibus trace fit writes it"},
	{.name = "corr",
	 .kind = PARAM_REAL,
	 .offset = AT(corr),
	 .init = "0",
	 .min = -1,
	 .max = 1,
	 .help = "Spearman's rank correlation of prompt and output"},
	{.name = "seed",
	 .kind = PARAM_INT,
	 .offset = AT(seed),
	 .init = "-1",
	 .min = -1,
	 .max = 1e18,
	 .help = "of the random streams; -1: the seed of the run"},
	{.name = NULL},
};

struct synth {
	struct source base;
	struct synth_params p;
	struct arrivals arrivals;
	gsl_rng *length;
	double own, shared; /* weights of the copula: output score = shared x prompt's + own */
	int64_t row;
	bool at_once; /* rate=inf */
	bool draws;   /* some length is random */
	struct lengths prompts, outputs;
};

static int synth_next(struct source *base, struct trace_row *row, struct err *e)
{
	struct synth *s = (struct synth *)base;
	if (s->row == s->p.n)
		return 0;
	int64_t now_ns = s->at_once ? 0 : arrivals_next(&s->arrivals);
	if (now_ns < 0)
		return err_set(e,
			       "%s: row %lld would arrive after more than 200 years: "
			       "give fewer rows or a higher rate",
			       trace_kinds[base->kind].name, (long long)s->row + 1);
	s->row++;
	double prompt = 0, output = 0;
	if (s->draws) {
		prompt = gsl_ran_gaussian_ziggurat(s->length, 1);
		output = gsl_ran_gaussian_ziggurat(s->length, s->own) + s->shared * prompt;
	}
	*row = (struct trace_row){
		.arrive_ns = now_ns,
		.prompt_tok = lengths_at(&s->prompts, prompt),
		.output_tok = lengths_at(&s->outputs, output),
	};
	return 1;
}

static double synth_progress(const struct source *base)
{
	const struct synth *s = (const struct synth *)base;
	return (double)s->row / (double)s->p.n;
}

static void synth_free(struct source *base)
{
	struct synth *s = (struct synth *)base;
	arrivals_release(&s->arrivals);
	gsl_rng_free(s->length);
	free(s);
}

static const struct source_ops synth_ops = {
	.next = synth_next,
	.progress = synth_progress,
	.free = synth_free,
};

static int set_arrivals(struct synth *s, const char *owner, uint64_t seed, struct err *e)
{
	struct arrivals_spec spec = {
		.kind = (enum arrivals_kind)s->p.arrivals,
		.cv = s->p.cv,
		.burst = s->p.burst,
		.burst_on_s = s->p.burst_on,
		.burst_period_s = s->p.burst_period,
		.swing = s->p.swing,
		.day_s = s->p.swing > 0 ? s->p.day : 0,
	};
	char what[128];
	s->at_once = strcmp(s->p.rate, "inf") == 0;
	if (s->at_once)
		return 0;
	snprintf(what, sizeof(what), "%s: rate (requests a second, or inf)", owner);
	if (parse_real(s->p.rate, what, 1e-9, 1e9, &spec.rate_rps, e))
		return -1;
	return arrivals_init(&s->arrivals, &spec, seed, owner, e);
}

/* The table for one side; `name` is "prompt" or "output". Without knots it is `otherwise` tokens.
 */
static int set_side(struct lengths *l, const struct side *side, const char *owner, const char *name,
		    const struct knot *knots, size_t n, int64_t otherwise, struct err *e)
{
	static const double z90 = 1.2815515655446004; /* Phi(z90) = 0.9 */
	double tok = (double)side->tok;
	if (side->sd > 0 && side->p90 > 0)
		return err_set(e, "%s: %s_sd and %s_p90 cannot both be given", owner, name, name);
	if (side->tok == 0 && (side->sd > 0 || side->p90 > 0))
		return err_set(e, "%s: %s_sd and %s_p90 need %s, the mean or median, at least 1",
			       owner, name, name, name);
	if (side->p90 > 0 && side->p90 < tok)
		return err_set(e, "%s: %s_p90=%g is below the median, %s=%lld", owner, name,
			       side->p90, name, (long long)side->tok);
	if (side->tok == 0 && n > 0) {
		lengths_knots(l, knots, n, side->max);
	} else if (side->sd > 0) {
		double variance = log1p(side->sd / tok * (side->sd / tok));
		lengths_lognormal(l, log(tok) - variance / 2, sqrt(variance), side->max);
	} else if (side->p90 > 0) {
		lengths_lognormal(l, log(tok), log(side->p90 / tok) / z90, side->max);
	} else {
		lengths_fixed(l, side->tok > 0 ? side->tok : otherwise, side->max);
	}
	return 0;
}

static int set_both(struct synth *s, const struct quantiles *q, const char *owner, struct err *e)
{
	struct knot *prompts = xcalloc(q->n + 1, sizeof(*prompts));
	struct knot *outputs = xcalloc(q->n + 1, sizeof(*outputs));
	for (size_t i = 0; i < q->n; i++) {
		prompts[i] = (struct knot){q->rows[i].p, q->rows[i].prompt_tok};
		outputs[i] = (struct knot){q->rows[i].p, q->rows[i].output_tok};
	}
	int result = set_side(&s->prompts, &s->p.prompt, owner, "prompt", prompts, q->n, 512, e);
	if (!result)
		result =
			set_side(&s->outputs, &s->p.output, owner, "output", outputs, q->n, 128, e);
	free(prompts);
	free(outputs);
	return result;
}

static int set_lengths(struct synth *s, const struct workload *w, const char *owner, struct err *e)
{
	struct quantiles file;
	if (s->p.lengths[0] == '\0')
		return set_both(s, &w->quantiles, owner, e);
	if (quantiles_read(s->p.lengths, &file, e))
		return -1;
	int result = set_both(s, &file, owner, e);
	free((void *)file.rows);
	return result;
}

static int start(struct synth *s, const struct workload *w, const char *owner, const char *params,
		 uint64_t seed, struct err *e)
{
	static const double pi = 3.14159265358979323846;
	struct param_set set = {synth_params_table, &s->p};
	param_defaults(synth_params_table, &s->p);
	if (param_parse(&set, 1, owner, w->init, e) || param_parse(&set, 1, owner, params, e) ||
	    set_lengths(s, w, owner, e))
		return -1;
	uint64_t own_seed = s->p.seed >= 0 ? (uint64_t)s->p.seed : seed;
	if (set_arrivals(s, owner, own_seed, e))
		return -1;
	s->length = rng_new(own_seed, "length");
	/* Pearson's correlation of two normal numbers whose ranks correlate by corr. */
	s->shared = 2 * sin(pi * s->p.corr / 6);
	s->own = sqrt(fmax(0, 1 - s->shared * s->shared));
	s->draws = s->prompts.tok[0] < s->prompts.tok[LENGTHS_CELLS] ||
		   s->outputs.tok[0] < s->outputs.tok[LENGTHS_CELLS];
	return 0;
}

struct source *synth_new(const char *text, uint64_t seed, struct err *e)
{
	char name[PARAM_TEXT_MAX], owner[PARAM_TEXT_MAX + 8];
	size_t len = strcspn(text, ",");
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	snprintf(owner, sizeof(owner), "synth:%s", name);
	const struct workload *w = workload_find(name, e);
	if (!w)
		return NULL;
	struct synth *s = xcalloc(1, sizeof(*s));
	s->base.ops = &synth_ops;
	s->base.kind = w->kind;
	if (start(s, w, owner, text[len] ? text + len + 1 : NULL, seed, e)) {
		synth_free(&s->base);
		return NULL;
	}
	return &s->base;
}
