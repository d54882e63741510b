/* instance_kv.c: what requests need and hold of the pool of their instance. */
#include "sim/instance.h"
#include "sim/view.h"

void instance_set_pool(struct instance *in, int64_t hash_tok)
{
	enum policy_pool pool = in->policy->pool ? in->policy->pool(in->state) : POOL_COUNTED;

	if (pool == POOL_PREFIX)
		kv_remember(&in->kv, hash_tok);
	else if (pool == POOL_BUDDY)
		kv_use_chunks(&in->kv);
}

int64_t instance_need_tok(struct instance *in, const struct job *j)
{
	struct view v = {in, j->req.arrive_ns};
	int64_t tok = j->req.prompt_tok + j->stop_tok - 1;
	int64_t need = in->policy->need ? in->policy->need(in->state, &v, &j->req) : 0;

	return need > tok ? need : tok;
}

bool instance_too_small(struct instance *in, const struct job *j)
{
	return !kv_holds(&in->kv, kv_blocks(&in->kv, instance_need_tok(in, j)));
}

void instance_give_kv(struct instance *in, struct job *j, int64_t blocks)
{
	if (in->kv.prefix || in->kv.buddy)
		kv_give_back(&in->kv, &(struct kv_hold){blocks, j->address, j->prompt});
	else
		kv_give(&in->kv, blocks);
}

void instance_release_kv(struct instance *in, struct job *j, int64_t blocks)
{
	instance_give_kv(in, j, blocks);
	j->keep_kv = false;
}

int64_t instance_find(const struct instance *in, struct job *j)
{
	if (!in->kv.prefix || !j->prompt)
		return 0;
	return prefix_find(in->kv.prefix, j->prompt, kv_div(&in->kv, j->seq_tok - 1));
}

int64_t instance_take_known(struct instance *in, struct job *j)
{
	if (instance_find(in, j) > 0)
		j->blocks = kv_take_found(&in->kv, j->prompt);
	j->done_tok = j->blocks * in->kv.block_tok;
	return j->done_tok;
}

void instance_fill(struct instance *in, struct job *j, int64_t tok)
{
	if (j->prompt)
		prefix_fill(in->kv.prefix, j->prompt, kv_div(&in->kv, tok));
}

void instance_give_kv_later(struct instance *in, struct job *j)
{
	if (in->n_lagging == in->lagging_room) {
		in->lagging_room = in->lagging_room ? 2 * in->lagging_room : 16;
		in->lagging =
			xrealloc(in->lagging, (size_t)in->lagging_room * sizeof(*in->lagging));
	}
	in->lagging[in->n_lagging++] = (struct kv_hold){j->blocks, j->address, j->prompt};
	j->prompt = NULL;
}

void instance_give_lagging(struct instance *in)
{
	for (int64_t i = 0; i < in->n_lagging; i++) {
		kv_give_back(&in->kv, &in->lagging[i]);
		free(in->lagging[i].prompt);
	}
	in->n_lagging = 0;
}
