/*
 * continuous: iteration-level batching with contiguous KV, as Orca (OSDI'22, section 3). A request
 * joins as soon as there is a seat and room for all the slots it may ever need; whole prompts and
 * decodes share a step.
 *
 * The three reservations are those of the PagedAttention paper's Orca baselines (SOSP'23,
 * section 6.1): max knows only the limit, pow2 and oracle know the output length, rounded up to a
 * power of two or not. There a reservation is a chunk of a buddy allocator (alloc=buddy).
 */
#include "sim/policy.h"

enum { RESERVE_MAX, RESERVE_POW2, RESERVE_ORACLE };
enum { ALLOC_COUNT, ALLOC_BUDDY };

struct continuous {
	int64_t max_seqs, reserve, alloc;
};

static const char *const reserves[] = {"max", "pow2", "oracle", NULL};
static const char *const allocs[] = {"count", "buddy", NULL};

static const struct param params[] = {
	{.name = "max_seqs",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct continuous, max_seqs),
	 .init = "256",
	 .min = 1,
	 .max = 1e9,
	 .help = "running requests at most"},
	{.name = "reserve",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct continuous, reserve),
	 .init = "max",
	 .choices = reserves,
	 .help = "slots for the output: the limit, or the true length (an oracle)"},
	{.name = "alloc",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct continuous, alloc),
	 .init = "count",
	 .choices = allocs,
	 .help = "free blocks are counted, or in chunks of a buddy allocator"},
	{.name = NULL},
};

static int64_t pow2_at_least(int64_t n)
{
	int64_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static int64_t reserve_tok(const void *state, const struct view *v, const struct request *r)
{
	const struct continuous *s = state;

	switch (s->reserve) {
	case RESERVE_POW2:
		return r->prompt_tok + pow2_at_least(view_true_output(v, r));
	case RESERVE_ORACLE:
		return r->prompt_tok + view_true_output(v, r);
	default:
		return r->prompt_tok + r->max_tok;
	}
}

static enum policy_pool pool(const void *state)
{
	const struct continuous *s = state;

	return s->alloc == ALLOC_BUDDY ? POOL_BUDDY : POOL_COUNTED;
}

static void plan(void *state, const struct view *v, struct plan *p)
{
	const struct continuous *s = state;
	const struct request *r;

	plan_limits(p, s->max_seqs, PLAN_NO_LIMIT, 0);
	plan_decode(p);
	while ((r = view_head(v)) && plan_admit(p, r, reserve_tok(s, v, r)) == PLAN_OK)
		plan_add(p, r, view_rest(v, r));
}

const struct policy_ops policy_continuous = {
	.name = "continuous",
	.summary = "iteration-level batches with reserved contiguous KV, as Orca",
	.params = params,
	.state_size = sizeof(struct continuous),
	.pool = pool,
	.need = reserve_tok,
	.plan = plan,
};
