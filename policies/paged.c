/*
 * paged: KV blocks taken as a request grows, preemption when they run out, as vLLM (SOSP'23,
 * section 4).
 *
 * chunk=0 is vLLM's first scheduler: waiting prompts go first, whole, in a step of their own.
 * chunk=N is Sarathi-Serve's (OSDI'24, section 4) and vLLM v1's: every step has a budget of N
 * tokens, decodes go first and prompts are cut to what is left.
 */
#include "sim/policy.h"

enum { PREEMPT_RECOMPUTE, PREEMPT_SWAP };

struct paged {
	int64_t chunk, max_seqs, max_batched_tok, preempt;
	double watermark;
};

static const char *const preempts[] = {"recompute", "swap", NULL};

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
	return 0;
}

static void preempt(const struct paged *s, const struct request *r, struct plan *p)
{
	plan_refuse(p, PLAN_KV);
	if (s->preempt != PREEMPT_SWAP || plan_evict(p, r, PLAN_SWAP) != PLAN_OK)
		plan_evict(p, r, PLAN_RECOMPUTE);
}

/* Decodes all running requests, without the last ones where blocks are short. True: some are out.
 */
static bool decode(const struct paged *s, const struct view *v, struct plan *p)
{
	bool preempted = false;

	while (plan_decode(p) == PLAN_KV) {
		preempt(s, view_last(v), p);
		preempted = true;
	}
	return preempted;
}

static void restore(const struct view *v, struct plan *p)
{
	const struct request *r;

	while ((r = view_swapped(v)) && plan_restore(p, r) == PLAN_OK)
		;
}

static void admit_whole(const struct paged *s, const struct view *v, struct plan *p)
{
	const struct request *r;

	while ((r = view_head(v))) {
		int64_t rest = view_rest(v, r), before = plan_prompt_tok(p);

		if (before > 0 && before + rest > s->max_batched_tok) {
			plan_refuse(p, PLAN_TOKENS);
			return;
		}
		if (plan_admit(p, r, 0) != PLAN_OK)
			return;
		plan_add(p, r, rest);
	}
}

static void plan_whole(const struct paged *s, const struct view *v, struct plan *p)
{
	plan_limits(p, s->max_seqs, PLAN_NO_LIMIT,
		    (int64_t)(s->watermark * (double)view_kv_total(v)));
	if (!view_swapped(v))
		admit_whole(s, v, p);
	if (plan_prompt_tok(p) == 0 && !decode(s, v, p))
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
	.plan = plan,
};
