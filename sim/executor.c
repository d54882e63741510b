#include "sim/executor.h"

struct fixed_values {
	double step_ns, prefill_tok_ns, decode_seq_ns, ctx_tok_ns, window_tok_ns;
};

struct fixed {
	struct executor x;
	struct fixed_values v;
};

/* A step of a day and a token of 1000 s are far beyond any use, and keep sums within 63 bits. */
#define STEP_MAX_NS  86400e9
#define TOKEN_MAX_NS 1e12

static const struct param fixed_params[] = {
	{.name = "step_ns",
	 .kind = PARAM_REAL,
	 .offset = offsetof(struct fixed_values, step_ns),
	 .init = "0",
	 .max = STEP_MAX_NS,
	 .help = "ns of every step"},
	{.name = "prefill_tok_ns",
	 .kind = PARAM_REAL,
	 .offset = offsetof(struct fixed_values, prefill_tok_ns),
	 .init = "0",
	 .max = TOKEN_MAX_NS,
	 .help = "ns for each prompt token of the step"},
	{.name = "decode_seq_ns",
	 .kind = PARAM_REAL,
	 .offset = offsetof(struct fixed_values, decode_seq_ns),
	 .init = "0",
	 .max = TOKEN_MAX_NS,
	 .help = "ns for each sequence that decodes"},
	{.name = "ctx_tok_ns",
	 .kind = PARAM_REAL,
	 .offset = offsetof(struct fixed_values, ctx_tok_ns),
	 .init = "0",
	 .max = TOKEN_MAX_NS,
	 .help = "ns for each token of context of those sequences"},
	{.name = "window_tok_ns",
	 .kind = PARAM_REAL,
	 .offset = offsetof(struct fixed_values, window_tok_ns),
	 .init = "0",
	 .max = TOKEN_MAX_NS,
	 .help = "ns for each token of context within the model's sliding window"},
	{.name = NULL},
};

static const struct fixed_values *values_of(const struct executor *x)
{
	return &((const struct fixed *)(const void *)x)->v;
}

/* The order of the sums is part of the semantics: equal bits whichever way a step is computed. */
static double fixed_step_ns(const struct executor *x, const struct step *s)
{
	const struct fixed_values *v = values_of(x);
	double n = (double)s->prefill_tok, b = (double)s->decode_seq, ctx = (double)s->decode_ctx;
	double window = (double)s->window_ctx;
	return (((v->step_ns + v->prefill_tok_ns * n) + v->decode_seq_ns * b) +
		v->ctx_tok_ns * ctx) +
	       v->window_tok_ns * window;
}

static void fixed_decode(const struct executor *x, const struct decode_batch *b,
			 struct decode_cost *c)
{
	const struct fixed_values *v = values_of(x);
	c->step_ns = v->step_ns + v->decode_seq_ns * (double)b->seq;
	c->ctx_ns = v->ctx_tok_ns;
	c->window_ns = v->window_tok_ns;
	c->ctx_max = INT64_MAX;
	c->outside = false;
}

static void fixed_free(struct executor *x)
{
	free(x);
}

static const struct executor_ops fixed_ops = {
	.name = "fixed",
	.summary = "constants given on the command line",
	.times = "fixed",
	.step_ns = fixed_step_ns,
	.decode = fixed_decode,
	.free = fixed_free,
};

struct executor *executor_fixed_new(const char *text, char *canon, size_t canon_size, struct err *e)
{
	struct fixed_values v;
	const struct param_set set = {.table = fixed_params, .values = &v};
	param_defaults(fixed_params, &v);
	if (param_parse(&set, 1, "fixed", text, e))
		return NULL;
	if (v.step_ns <= 0 && v.prefill_tok_ns <= 0 && v.decode_seq_ns <= 0 && v.ctx_tok_ns <= 0 &&
	    v.window_tok_ns <= 0) {
		err_set(e, "executor fixed: every step would take no time; give step_ns, "
			   "prefill_tok_ns, decode_seq_ns or ctx_tok_ns a positive value, as in "
			   "fixed:step_ns=10000000");
		return NULL;
	}
	canon[0] = '\0';
	param_print(fixed_params, &v, canon, canon_size);
	struct fixed *f = xcalloc(1, sizeof(*f));
	f->x = (struct executor){.ops = &fixed_ops, .notes = ""};
	f->v = v;
	return &f->x;
}

void executor_free(struct executor *x)
{
	if (x)
		x->ops->free(x);
}
