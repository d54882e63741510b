/* shortest: a policy as one would be added to policies/: the shortest prompt first. */
#include "tests/shortest.h"

struct shortest {
	int64_t max_seqs;
};

static const struct param shortest_params[] = {
	{.name = "max_seqs",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct shortest, max_seqs),
	 .init = "4",
	 .min = 1,
	 .max = 1e9,
	 .help = "running requests at most"},
	{.name = NULL},
};

static int64_t shortest_rank(const void *state, const struct view *v, const struct request *r)
{
	(void)state;
	(void)v;
	return r->prompt_tok;
}

static int64_t shortest_need(const void *state, const struct view *v, const struct request *r)
{
	(void)state;
	(void)v;
	return r->prompt_tok + r->max_tok;
}

static void shortest_plan(void *state, const struct view *v, struct plan *p)
{
	const struct shortest *s = state;
	const struct request *r;

	plan_limits(p, s->max_seqs, PLAN_NO_LIMIT, 0);
	plan_decode(p);
	while ((r = view_head(v)) && plan_admit(p, r, r->prompt_tok + r->max_tok) == PLAN_OK)
		plan_add(p, r, view_rest(v, r));
}

const struct policy_ops policy_shortest = {
	.name = "shortest",
	.summary = "the shortest prompt first",
	.params = shortest_params,
	.state_size = sizeof(struct shortest),
	.rank = shortest_rank,
	.need = shortest_need,
	.plan = shortest_plan,
};
