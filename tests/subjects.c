#include "tests/subjects.h"
#include "calibrate/cost.h"
#include "sim/rng.h"
#include "tests/measured.h"
#include <math.h>
#include <string.h>

struct subject *subjects_all(size_t *n)
{
	size_t room = 1;

	for (size_t i = 0; policies[i]; i++)
		room++;
	for (size_t i = 0; presets[i].name; i++)
		room++;
	struct subject *all = xcalloc(room, sizeof(*all));

	*n = 0;
	for (size_t i = 0; policies[i]; i++)
		snprintf(all[(*n)++].name, sizeof(all->name), "%s", policies[i]->name);
	for (size_t i = 0; presets[i].name; i++)
		snprintf(all[(*n)++].name, sizeof(all->name), "%s", presets[i].name);
	snprintf(all[(*n)++].name, sizeof(all->name), "%s", shape_disaggregated.name);
	return all;
}

static int64_t from_to(gsl_rng *rng, int64_t a, int64_t b)
{
	return a + (int64_t)gsl_rng_uniform_int(rng, (unsigned long)(b - a + 1));
}

static bool one_in(gsl_rng *rng, int64_t n)
{
	return from_to(rng, 1, n) == 1;
}

/* Parameters */

static void random_int(gsl_rng *rng, const struct param *p, char *value, size_t size)
{
	static const int64_t large[] = {16, 64, 512};
	bool few = p->max <= 10000; /* instances, devices */
	int64_t v = (int64_t)p->min + from_to(rng, 0, few ? 2 : 8);

	if (!few && one_in(rng, 3))
		v = large[from_to(rng, 0, 2)];
	snprintf(value, size, "%lld", (long long)v);
}

static void random_real(gsl_rng *rng, const struct param *p, char *value, size_t size)
{
	static const double some[] = {1e-6, 1e-5, 1e-4, 1e-3, 0.02, 0.1, 0.5, 1, 30};
	double v = some[from_to(rng, 0, 8)];

	snprintf(value, size, "%.17g", v < p->min ? p->min : v > p->max ? p->max : v);
}

/* ",name=value" of about every second parameter of a table. */
static void random_params(gsl_rng *rng, const struct param *table, char *buf, size_t size)
{
	for (const struct param *p = table; p && p->name; p++) {
		char value[PARAM_TEXT_MAX];
		size_t choices = 0, at = strlen(buf);

		if (one_in(rng, 2) || p->kind == PARAM_TEXT)
			continue;
		if (p->kind == PARAM_INT) {
			random_int(rng, p, value, sizeof(value));
		} else if (p->kind == PARAM_REAL) {
			random_real(rng, p, value, sizeof(value));
		} else {
			while (p->choices[choices])
				choices++;
			snprintf(value, sizeof(value), "%s",
				 p->choices[from_to(rng, 0, (int64_t)choices - 1)]);
		}
		snprintf(buf + at, size - at, "%s%s=%s", *buf ? "," : "", p->name, value);
	}
}

static size_t n_policies(void)
{
	size_t n = 0;

	while (policies[n])
		n++;
	return n;
}

/* Parameters that contradict each other are drawn again. */
static void parse(struct random_run *r, gsl_rng *rng, const struct subject *s, bool plain)
{
	const struct policy_ops *inner = policies[from_to(rng, 0, (int64_t)n_policies() - 1)];
	char text[sizeof(r->params) + 80], error[256] = "";
	struct err e;

	for (int tries = 0; tries < 1000; tries++) {
		struct choice bare;

		CHECK(choice_parse(&bare, s->name, &e) == 0, "%s: %s", s->name, e.text);
		r->params[0] = '\0';
		if (!plain && bare.disaggregated && strcmp(s->name, "disaggregated") == 0)
			snprintf(r->params, sizeof(r->params), "policy=%s", inner->name);
		else
			inner = bare.policy;
		if (!plain && bare.disaggregated)
			random_params(rng, disaggregated_params, r->params, sizeof(r->params));
		if (!plain)
			random_params(rng, inner->params, r->params, sizeof(r->params));
		if (!plain && one_in(rng, 3))
			random_params(rng, common_params, r->params, sizeof(r->params));
		choice_release(&bare);
		snprintf(text, sizeof(text), "%s%s%s", s->name, *r->params ? ":" : "", r->params);
		if (choice_parse(&r->choice, text, &e) == 0)
			return;
		snprintf(error, sizeof(error), "%.255s", e.text);
	}
	CHECK(0, "no parameters for %s in %d tries: %s", s->name, 1000, error);
}

static void random_choice(struct random_run *r, gsl_rng *rng, const struct subject *s, bool plain)
{
	struct err e;

	if (!s->ops) {
		parse(r, rng, s, plain);
		return;
	}
	r->choice = (struct choice){.policy = s->ops, .state = policy_state_new(s->ops)};
	snprintf(r->choice.name, sizeof(r->choice.name), "%s", s->ops->name);
	param_defaults(common_params, &r->choice.common);
	while (!plain && s->ops->params) {
		struct param_set set = {s->ops->params, r->choice.state};

		r->params[0] = '\0';
		random_params(rng, s->ops->params, r->params, sizeof(r->params));
		if (param_parse(&set, 1, s->ops->name, r->params, &e) == 0)
			break;
	}
}

/* Executors */

enum { PIECE_TOK = 256 };

/* How much the longest context exceeds the mean: the same in all steps of a batch. */
static double beyond_mean(const struct decode_batch *b)
{
	return b->seq > 0 ? (double)(b->longest * b->seq - b->ctx) / (double)b->seq : 0;
}

/* Decode steps in pieces: from every PIECE_TOK tokens of context on, other constants. */
static void pieces_decode(const struct executor *x, const struct decode_batch *b,
			  struct decode_cost *c)
{
	int64_t piece = b->ctx / PIECE_TOK;

	(void)x;
	*c = (struct decode_cost){.step_ns = 900.7 + 11.3 * (double)b->seq + 70.1 * (double)piece +
					     0.7 * beyond_mean(b),
				  .ctx_ns = piece % 3 == 2 ? 0 : 0.37 / (double)(piece + 1),
				  .ctx_max = (piece + 1) * PIECE_TOK - 1};
}

static double pieces_step_ns(const struct executor *x, const struct step *s)
{
	struct decode_cost c;

	pieces_decode(x,
		      &(struct decode_batch){.seq = s->decode_seq,
					     .ctx = s->decode_ctx,
					     .longest = s->decode_longest},
		      &c);
	double decode = c.step_ns + c.ctx_ns * (double)s->decode_ctx;

	return s->prefill_tok == 0
		       ? decode
		       : decode + 17.9 * (double)s->prefill_tok + 0.026 * s->prefill_pairs;
}

static void pieces_free(struct executor *x)
{
	free(x);
}

static const struct executor_ops pieces_ops = {
	.name = "pieces",
	.summary = "affine in pieces",
	.times = "fixed",
	.step_ns = pieces_step_ns,
	.decode = pieces_decode,
	.free = pieces_free,
};

static struct executor *pieces_new(void)
{
	struct executor *x = xcalloc(1, sizeof(*x));

	*x = (struct executor){.ops = &pieces_ops, .notes = "", .longest = true};
	return x;
}

static struct executor *predict_new(void)
{
	static struct device d; /* read once, with its profile: that takes long */
	struct model m;
	struct err e;

	CHECK(model_load(&m, "llama-3-8b", &e) == 0, "%s", e.text);
	CHECK(d.profile || device_load(&d, "h200", &e) == 0, "%s", e.text);
	return cost_predict_new(&m, &d, &(struct cost_want){.tp = 1, .kv_bits = 16}, &e);
}

/* From a device that was measured, by hand. */
static struct executor *measured_new(gsl_rng *rng)
{
	struct measured of;
	struct model m;
	struct err e;

	measured_init(&of);
	if (one_in(rng, 2))
		measured_add(&of, OP_MIXED, 16);
	if (one_in(rng, 4))
		of.device.scope_cell_ns = 1;
	CHECK(model_load(&m, "llama-3-8b", &e) == 0, "%s", e.text);
	return cost_predict_new(&m, &of.device, &(struct cost_want){.tp = 1, .kv_bits = 16}, &e);
}

/* *step_ns: about how long a step takes. */
static struct executor *random_executor(gsl_rng *rng, int64_t *step_ns)
{
	static const char *const fixed[] = {
		"step_ns=1000", "step_ns=7.5,decode_seq_ns=0.1,ctx_tok_ns=0.3",
		("step_ns=333.3,prefill_tok_ns=0.7,decode_seq_ns=1.9,ctx_tok_ns=0.01,"
		 "window_tok_ns=0.7")};
	char canon[256];
	struct err e;
	int64_t which = from_to(rng, 0, 6);

	*step_ns = which >= 5 ? 5000000 : 1000;
	if (which == 6)
		return measured_new(rng);
	if (which == 5)
		return predict_new();
	if (which >= 3)
		return pieces_new();
	return executor_fixed_new(fixed[which], canon, sizeof(canon), &e);
}

/* The rest */

static void random_rows(struct random_run *r, gsl_rng *rng, int64_t step_ns)
{
	int64_t prompts = one_in(rng, 2) ? 40 : 400, outputs = one_in(rng, 2) ? 12 : 90;
	int64_t gap = step_ns * (one_in(rng, 2) ? 2 : 20), at = 0;

	r->n = (size_t)from_to(rng, 2, 50);
	r->sessions = one_in(rng, 4);
	r->row = xcalloc(r->n, sizeof(*r->row));
	for (size_t i = 0; i < r->n; i++) {
		r->row[i] = (struct trace_row){.arrive_ns = at,
					       .prompt_tok = from_to(rng, 1, prompts),
					       .output_tok = from_to(rng, 1, outputs)};
		if (one_in(rng, 4))
			r->row[i].max_tok = r->row[i].output_tok + from_to(rng, 0, outputs);
		if (one_in(rng, 3))
			r->row[i].priority = from_to(rng, -2, 2);
		if (r->sessions) {
			r->row[i].session = from_to(rng, 0, 4);
			r->row[i].think_ns = one_in(rng, 3) ? 0 : from_to(rng, 0, gap);
		}
		if (!one_in(rng, 4)) /* else a tie */
			at += one_in(rng, 3) ? step_ns : from_to(rng, 0, gap);
	}
}

/*
 * Hash ids of blocks that are a multiple of KV blocks, or parts of them: every row shares a start,
 * that may be empty, with one before it. Half of the time the last one is of a whole block.
 */
static void random_ids(struct random_run *r, gsl_rng *rng)
{
	int64_t block = r->options.block_tok, used = 0, fresh = 1;
	bool whole = one_in(rng, 2);
	int64_t hash = block * from_to(rng, 1, 3);

	if (one_in(rng, 3))
		for (hash = from_to(rng, 1, block); block % hash != 0;)
			hash--;
	r->options.hash_block = hash;
	for (size_t i = 0; i < r->n; i++)
		used += r->row[i].prompt_tok / hash + 1;
	r->ids = xcalloc((size_t)used, sizeof(*r->ids));
	uint64_t *id = r->ids;

	for (size_t i = 0; i < r->n; i++) {
		struct trace_row *row = &r->row[i];
		const struct trace_row *like = &r->row[from_to(rng, 0, (int64_t)i)];
		int64_t n = (row->prompt_tok + (whole ? 0 : hash - 1)) / hash;
		int64_t most = n < like->n_hash_ids ? n : like->n_hash_ids;
		int64_t shared = from_to(rng, 0, most);

		for (int64_t k = 0; k < n; k++)
			id[k] = k < shared ? like->hash_ids[k] : (uint64_t)fresh++;
		row->hash_ids = id;
		row->n_hash_ids = n;
		id += n;
	}
}

static int64_t random_pool(const struct random_run *r, gsl_rng *rng)
{
	int64_t largest = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->row[i].prompt_tok + r->row[i].output_tok > largest)
			largest = r->row[i].prompt_tok + r->row[i].output_tok;
	if (one_in(rng, 8)) /* too small for some */
		largest = 2 * largest / 3;
	if (one_in(rng, 2))
		largest *= from_to(rng, 1, 6);
	return largest / r->options.block_tok + 1;
}

static void random_options(struct random_run *r, gsl_rng *rng, int64_t step_ns)
{
	struct harness_options *o = &r->options;
	size_t n_routers = 0;

	while (routers[n_routers])
		n_routers++;
	*o = harness_default(NULL, NULL);
	o->choice = &r->choice;
	o->executor = r->executor;
	o->instances = from_to(rng, 1, 3);
	o->router = routers[from_to(rng, 0, (int64_t)n_routers - 1)]->name;
	o->block_tok = one_in(rng, 3) ? 16 : from_to(rng, 1, 20);
	o->kv_blocks = random_pool(r, rng);
	o->decode_kv_blocks = random_pool(r, rng);
	o->token_bytes = one_in(rng, 3) ? 131072 : from_to(rng, 0, 9);
	o->pcie_bytes_s = one_in(rng, 2) ? 55e9 : 3e8;
	if (!r->choice.common.async) {
		o->pp = one_in(rng, 3) ? from_to(rng, 2, 4) : 1;
		o->decode_pp = one_in(rng, 3) ? from_to(rng, 2, 3) : 1;
	}
	if (one_in(rng, 4) && !choice_remembers(&r->choice)) {
		o->window_tok = from_to(rng, 1, 60);
		o->window_only = one_in(rng, 3);
		o->window_share = o->window_only ? 1 : from_to(rng, 1, 3);
		o->kv_blocks *= 2;
		o->decode_kv_blocks *= 2;
	}
	o->context = one_in(rng, 2) ? 0 : 500;
	o->max_tokens_rule = (enum max_tokens_rule)from_to(rng, MAX_TOKENS_MODEL, MAX_TOKENS_N);
	o->max_tokens = from_to(rng, 1, 100);
	if (one_in(rng, 8)) {
		o->max_model_len = 200;
		o->truncate = one_in(rng, 2);
	}
	o->closed_loop = one_in(rng, 5) ? from_to(rng, 1, 9) : 0;
	o->horizon_ns = one_in(rng, 5) ? from_to(rng, 0, 100 * step_ns) : -1;
	o->queue_limit = one_in(rng, 6) ? from_to(rng, 1, 8) : 0;
	o->timeout_ns = one_in(rng, 3) ? from_to(rng, 1, 60 * step_ns) : 0;
	o->sessions_open = one_in(rng, 4);
	o->seed = (uint64_t)from_to(rng, 0, 1 << 20);
	o->slo = (struct slo){20.0 * (double)step_ns, 2.0 * (double)step_ns, NAN, NAN};
	o->histograms = one_in(rng, 3);
}

void random_run_init(struct random_run *r, const struct subject *s, uint64_t i)
{
	gsl_rng *rng = rng_new(i, s->ops ? s->ops->name : s->name);
	int64_t step_ns;

	*r = (struct random_run){0};
	random_choice(r, rng, s, i % 8 == 0);
	r->executor = random_executor(rng, &step_ns);
	random_rows(r, rng, step_ns);
	random_options(r, rng, step_ns);
	if (choice_remembers(&r->choice))
		random_ids(r, rng);
	gsl_rng_free(rng);
}

void random_run_release(struct random_run *r)
{
	choice_release(&r->choice);
	executor_free(r->executor);
	free(r->row);
	free(r->ids);
	*r = (struct random_run){0};
}

void random_run_print(FILE *out, const struct random_run *r)
{
	const struct harness_options *o = &r->options;

	if (o->hash_block > 0)
		fprintf(out, "hash_block=%lld ", (long long)o->hash_block);
	fprintf(out,
		"-p %s:%s executor=%s instances=%lld router=%s kv_blocks=%lld "
		"decode_kv_blocks=%lld "
		"block=%lld token_bytes=%lld pcie=%g pp=%lld,%lld window=%lld,%lld%s context=%lld "
		"max_tokens=%d(%lld) "
		"max_model_len=%lld%s closed_loop=%lld horizon_ns=%lld queue_limit=%lld "
		"timeout_ns=%lld sessions=%s seed=%llu\n",
		r->choice.name, r->choice.params, r->executor->ops->name, (long long)o->instances,
		o->router, (long long)o->kv_blocks, (long long)o->decode_kv_blocks,
		(long long)o->block_tok, (long long)o->token_bytes, o->pcie_bytes_s,
		(long long)o->pp, (long long)o->decode_pp, (long long)o->window_tok,
		(long long)o->window_share, o->window_only ? "(only)" : "", (long long)o->context,
		(int)o->max_tokens_rule, (long long)o->max_tokens, (long long)o->max_model_len,
		o->truncate ? "(truncate)" : "", (long long)o->closed_loop,
		(long long)o->horizon_ns, (long long)o->queue_limit, (long long)o->timeout_ns,
		o->sessions_open ? "open" : "closed", (unsigned long long)o->seed);
	for (size_t i = 0; i < r->n; i++) {
		fprintf(out,
			"  %zu: arrive=%lld prompt=%lld output=%lld max_tok=%lld priority=%lld "
			"session=%lld think=%lld",
			i, (long long)r->row[i].arrive_ns, (long long)r->row[i].prompt_tok,
			(long long)r->row[i].output_tok, (long long)r->row[i].max_tok,
			(long long)r->row[i].priority, (long long)r->row[i].session,
			(long long)r->row[i].think_ns);
		for (int64_t k = 0; k < r->row[i].n_hash_ids; k++)
			fprintf(out, "%s%llu",
				k > 0 ? "," : " ids=", (unsigned long long)r->row[i].hash_ids[k]);
		fputc('\n', out);
	}
}
