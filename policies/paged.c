/*
 * paged: KV blocks taken as a request grows, preemption when they run out, as vLLM (SOSP'23,
 * section 4).
 *
 * chunk=0 is vLLM's first scheduler: waiting prompts go first, whole, in a step of their own.
 * chunk=N is Sarathi-Serve's (OSDI'24, section 4) and vLLM v1's: every step has a budget of N
 * tokens, decodes go first and prompts are cut to what is left. mixed=on is the system of the
 * paper: whole prompts join the decodes of a step. max_paddings=N is vLLM 0.2: the prompts of a
 * step are padded to the longest.
 *
 * order=sjf and ljf rank the queue by a prediction of the output length, as in "Efficient LLM
 * Scheduling by Learning to Rank" (NeurIPS'24).
 */
#include "sim/policy.h"
#include <math.h>

enum { PREEMPT_RECOMPUTE, PREEMPT_SWAP };
enum { MIXED_OFF, MIXED_ON };
enum { PREFIX_OFF, PREFIX_ON };
enum { ORDER_FCFS, ORDER_SJF, ORDER_LJF, ORDER_PRIORITY };
enum { NO_PADDING = -1 };

struct paged {
	int64_t chunk, max_seqs, max_batched_tok, preempt, order, mixed, max_paddings, prefix;
	double watermark, predict_error;
};

static const char *const preempts[] = {"recompute", "swap", NULL};
static const char *const orders[] = {"fcfs", "sjf", "ljf", "priority", NULL};
static const char *const switches[] = {"off", "on", NULL};

static const struct param params[] = {
	{.name = "chunk",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct paged, chunk),
	 .init = "0",
	 .min = 0,
	 .max = 1e9,
	 .help = "token budget of a step; 0: whole prompts in steps of their own"},
	{.name = "max_seqs",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct paged, max_seqs),
	 .init = "256",
	 .min = 1,
	 .max = 1e9,
	 .help = "running requests at most"},
	{.name = "max_batched_tokens",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct paged, max_batched_tok),
	 .init = "8192",
	 .min = 1,
	 .max = 1e9,
	 .help = "prompt tokens of a prefill step (chunk=0); a longer prompt runs alone"},
	{.name = "watermark",
	 .kind = PARAM_REAL,
	 .offset = offsetof(struct paged, watermark),
	 .init = "0.01",
	 .min = 0,
	 .max = 1,
	 .help = "share of the pool that an admission leaves free (chunk=0)"},
	{.name = "preempt",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct paged, preempt),
	 .init = "recompute",
	 .choices = preempts,
	 .help = "what happens to a request for which blocks run out"},
	{.name = "order",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct paged, order),
	 .init = "fcfs",
	 .choices = orders,
	 .help = "of the queue: arrival, shortest or longest output first (predicted), priority"},
	{.name = "predict_error",
	 .kind = PARAM_REAL,
	 .offset = offsetof(struct paged, predict_error),
	 .init = "0",
	 .min = 0,
	 .max = 1,
	 .help = "share that a predicted output length is off by at most"},
	{.name = "mixed",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct paged, mixed),
	 .init = "off",
	 .choices = switches,
	 .help = "whole prompts and decodes share a step (chunk=0)"},
	{.name = "max_paddings",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct paged, max_paddings),
	 .init = "-1",
	 .min = NO_PADDING,
	 .max = 1e9,
	 .help = "prompts of a step are padded, by so many tokens at most (chunk=0); -1: not"},
	{.name = "prefix",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct paged, prefix),
	 .init = "off",
	 .choices = switches,
	 .help = "blocks of prompts are remembered by the trace's hash ids, and shared"},
	{.name = NULL},
};

static int check(const void *state, struct err *e)
{
	const struct paged *s = state;

	if (s->chunk > 0 && s->chunk < s->max_seqs)
		return err_set(e,
			       "paged: chunk=%lld is less than max_seqs=%lld; a step must have a "
			       "token for every running request (chunk=0 turns chunks off)",
			       (long long)s->chunk, (long long)s->max_seqs);
	if (s->chunk > 0 && (s->mixed == MIXED_ON || s->max_paddings != NO_PADDING))
		return err_set(e,
			       "paged: chunk=%lld cuts prompts; mixed=on and max_paddings are for "
			       "whole ones (chunk=0)",
			       (long long)s->chunk);
	if (s->prefix == PREFIX_ON && s->preempt == PREEMPT_SWAP)
		return err_set(e, "paged: prefix=on and preempt=swap do not go together; blocks "
				  "that others hold cannot be swapped out (preempt=recompute)");
	return 0;
}

static enum policy_pool pool(const void *state)
{
	const struct paged *s = state;

	return s->prefix == PREFIX_ON ? POOL_PREFIX : POOL_COUNTED;
}

static int64_t rank(const void *state, const struct view *v, const struct request *r)
{
	const struct paged *s = state;

	switch (s->order) {
	case ORDER_PRIORITY:
		return r->priority;
	case ORDER_SJF:
		return llround(1024 * view_predicted_output(v, r, s->predict_error));
	case ORDER_LJF:
		return -llround(1024 * view_predicted_output(v, r, s->predict_error));
	default:
		return 0;
	}
}

static void preempt(const struct paged *s, const struct request *r, struct plan *p)
{
	plan_refuse(p, PLAN_KV);
	if (s->preempt != PREEMPT_SWAP || plan_evict(p, r, PLAN_SWAP) != PLAN_OK)
		plan_evict(p, r, PLAN_RECOMPUTE);
}

static void preempt_until_fit(const struct paged *s, const struct view *v, struct plan *p)
{
	do
		preempt(s, view_last(v), p);
	while (plan_decode(p) == PLAN_KV);
}

/* Decodes all running requests, without the last ones where blocks are short. True: some are out.
 */
static bool decode(const struct paged *s, const struct view *v, struct plan *p)
{
	if (plan_decode(p) != PLAN_KV)
		return false;
	preempt_until_fit(s, v, p);
	return true;
}

static void restore(const struct view *v, struct plan *p)
{
	const struct request *r;

	while ((r = view_swapped(v)) && plan_restore(p, r) == PLAN_OK)
		;
}

/* The prompts that a step has taken. */
struct taken {
	int64_t n, tok, longest;
};

/* The first always does; the budget counts padding too. */
static bool joins(const struct paged *s, const struct taken *t, int64_t rest, int64_t decode_tok)
{
	if (t->n == 0)
		return true;
	if (s->max_paddings == NO_PADDING)
		return decode_tok + t->tok + rest <= s->max_batched_tok;
	int64_t padded = (t->n + 1) * (rest > t->longest ? rest : t->longest);

	return decode_tok + padded <= s->max_batched_tok &&
	       padded - (t->tok + rest) <= s->max_paddings;
}

static void admit_whole(const struct paged *s, const struct view *v, struct plan *p)
{
	const struct request *r;
	struct taken t = {0};

	while ((r = view_head(v))) {
		int64_t rest = view_rest(v, r);

		if (!joins(s, &t, rest, plan_decode_tok(p))) {
			plan_refuse(p, PLAN_TOKENS);
			return;
		}
		if (plan_admit(p, r, 0) != PLAN_OK)
			return;
		plan_add(p, r, rest);
		t.n++;
		t.tok += rest;
		t.longest = rest > t.longest ? rest : t.longest;
	}
}

/* mixed=off: prompts first, and in steps of their own; on: decodes first, in one step with them. */
static void plan_whole(const struct paged *s, const struct view *v, struct plan *p)
{
	bool mixed = s->mixed == MIXED_ON, preempted = false;

	plan_limits(p, s->max_seqs, PLAN_NO_LIMIT,
		    (int64_t)(s->watermark * (double)view_kv_total(v)));
	if (s->max_paddings != NO_PADDING)
		plan_pad_step(p);
	if (mixed) {
		preempted = decode(s, v, p);
		if (!preempted)
			restore(v, p);
	}
	if (!preempted && !view_swapped(v))
		admit_whole(s, v, p);
	if (!mixed && plan_prompt_tok(p) == 0 && !decode(s, v, p))
		restore(v, p);
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void admit_chunks(const struct view *v, struct plan *p)
{
	const struct request *r;

	while ((r = view_head(v))) {
		if (plan_tok_left(p) == 0) {
			plan_refuse(p, PLAN_TOKENS);
			return;
		}
		if (plan_admit(p, r, 0) != PLAN_OK)
			return;
		plan_add(p, r, smaller(view_rest(v, r), plan_tok_left(p)));
	}
}

static void plan_chunked(const struct paged *s, const struct view *v, struct plan *p)
{
	const struct request *partial;

	plan_limits(p, s->max_seqs, s->chunk, 0);
	bool preempted = decode(s, v, p);

	while ((partial = view_partial(v)) &&
	       plan_add(p, partial, smaller(view_rest(v, partial), plan_tok_left(p))) == PLAN_KV) {
		preempt(s, partial, p);
		preempted = true;
	}
	if (preempted)
		return;
	restore(v, p);
	if (!view_swapped(v))
		admit_chunks(v, p);
}

static void plan(void *state, const struct view *v, struct plan *p)
{
	const struct paged *s = state;

	if (s->chunk > 0)
		plan_chunked(s, v, p);
	else
		plan_whole(s, v, p);
}

const struct policy_ops policy_paged = {
	.name = "paged",
	.summary = "KV blocks on demand with preemption, as vLLM; chunk=N as Sarathi-Serve and "
		   "vLLM v1",
	.params = params,
	.state_size = sizeof(struct paged),
	.check = check,
	.rank = rank,
	.pool = pool,
	.plan = plan,
};
