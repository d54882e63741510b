/*
 * static: request-level batching, as FasterTransformer does it. A batch is taken when nothing runs,
 * its prompts are padded to the longest, and seats come free only when the longest output is done.
 */
#include "sim/policy.h"

struct batch {
	int64_t size;
	double wait_s;
	int64_t reply;
};

static const char *const replies[] = {"request", "batch", NULL};

static const struct param params[] = {
	{.name = "size",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct batch, size),
	 .init = "32",
	 .min = 1,
	 .max = 1e9,
	 .help = "requests in a batch at most"},
	{.name = "wait",
	 .kind = PARAM_REAL,
	 .offset = offsetof(struct batch, wait_s),
	 .init = "0",
	 .min = 0,
	 .max = 1e6,
	 .help = "seconds that the oldest waits for a batch to fill"},
	{.name = "reply",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct batch, reply),
	 .init = "request",
	 .choices = replies,
	 .help = "tokens are delivered as produced, or all at the end of the batch"},
	{.name = NULL},
};

static int64_t need(const void *state, const struct view *v, const struct request *r)
{
	(void)state;
	(void)v;
	return r->prompt_tok + r->max_tok;
}

static void plan(void *state, const struct view *v, struct plan *p)
{
	const struct batch *s = state;
	const struct request *r = view_head(v);

	if (!view_idle(v)) {
		plan_decode(p);
		return;
	}
	if (!r)
		return;
	int64_t until_ns = r->arrive_ns + (int64_t)(s->wait_s * 1e9 + 0.5);

	if (view_waiting(v) < s->size && view_now(v) < until_ns) {
		plan_wait(p, until_ns);
		return;
	}
	plan_limits(p, s->size, PLAN_NO_LIMIT, 0);
	plan_pad(p, s->reply == 0 ? PLAN_REPLY_REQUEST : PLAN_REPLY_BATCH);
	while ((r = view_head(v)) && plan_admit(p, r, r->prompt_tok + r->max_tok) == PLAN_OK)
		plan_add(p, r, view_rest(v, r));
}

const struct policy_ops policy_static = {
	.name = "static",
	.summary = "request-level batches, padded, as FasterTransformer",
	.params = params,
	.state_size = sizeof(struct batch),
	.need = need,
	.plan = plan,
};
