#include "sim/run.h"
#include "sim/view.h"
#include <string.h>

void instance_init(struct instance *in, const struct instance_want *w)
{
	*in = (struct instance){
		.index = w->index,
		.policy_name = w->policy_name,
		.policy = w->policy,
		.state = xcalloc(1, w->policy->state_size + 1),
		.executor = w->executor,
		.ops = w->ops,
		.itl = w->itl,
		.stream = w->stream,
		.block_bytes = w->block_bytes,
		.pcie_bytes_s = w->pcie_bytes_s,
		.seed = w->seed,
		.seats = INT64_MAX,
		.step_tok = INT64_MAX,
		.pp = w->pp,
		.stage_share = w->stage_share,
		.first_slot = w->first_slot,
		.async = w->async,
		.singly = w->singly,
		.ended_ns = -1,
	};
	memcpy(in->state, w->state, w->policy->state_size);
	kv_init(&in->kv, w->block_tok, w->kv_blocks, w->host_blocks);
	in->kv.window_tok = w->window_tok;
	in->kv.window_share = w->window_share;
	in->kv.window_only = w->window_only;
	instance_set_pool(in, w->hash_tok);
	if (w->pp > 1) {
		in->stage_ns = xcalloc((size_t)w->pp, sizeof(*in->stage_ns));
		in->parked = xcalloc((size_t)w->pp, sizeof(*in->parked));
		for (int32_t k = 1; k < w->pp; k++)
			kv_growth_init(&in->parked[k].growth, w->block_tok);
	}
}

static void batch_release(struct batch *b)
{
	heap_release(&b->due);
	gaps_release(&b->gaps);
	free(b->late);
	free(b->single.prefill);
	free(b->single.prefill_tok);
}

void instance_release(struct instance *in)
{
	for (int32_t k = 0; in->parked && k < in->pp; k++) {
		if (k == in->at)
			continue;
		batch_release(&in->parked[k].b);
		kv_growth_release(&in->parked[k].growth);
	}
	free(in->parked);
	free(in->stage_ns);
	batch_release(&in->b);
	instance_give_lagging(in);
	free(in->lagging);
	kv_release(&in->kv);
	queue_release(&in->waiting);
	free(in->seqs);
	free(in->state);
}

void instance_switch(struct instance *in, int32_t batch)
{
	struct parked *from = &in->parked[in->at], *to = &in->parked[batch];

	from->b = in->b;
	from->growth = in->kv.growth;
	in->b = to->b;
	in->kv.growth = to->growth;
	in->at = batch;
}

const struct batch *instance_batch(const struct instance *in, int32_t k)
{
	return k == in->at ? &in->b : &in->parked[k].b;
}

int64_t instance_running(const struct instance *in)
{
	int64_t n = 0;

	if (in->pp == 1)
		return in->b.running.n;
	for (int32_t k = 0; k < in->pp; k++)
		n += instance_batch(in, k)->running.n;
	return n;
}

int64_t instance_swapped(const struct instance *in)
{
	int64_t n = 0;

	if (in->pp == 1)
		return in->b.swapped.n;
	for (int32_t k = 0; k < in->pp; k++)
		n += instance_batch(in, k)->swapped.n;
	return n;
}

int64_t job_generated(const struct instance *in, const struct job *j)
{
	return j->state == JOB_DECODING ? j->gen_tok + (in->b.clock - j->join_clock) : j->gen_tok;
}

int64_t job_blocks(const struct instance *in, const struct job *j)
{
	if (j->state != JOB_DECODING || j->reserved)
		return j->blocks;
	return kv_blocks(&in->kv, j->req.prompt_tok + job_generated(in, j) - 1 + j->prepaid);
}

int64_t job_deliveries(const struct instance *in, const struct job *j, int64_t gen)
{
	return gen / in->stream + (gen == j->output_tok && gen % in->stream > 0);
}

int64_t instance_seats_used(const struct instance *in)
{
	return in->b.running.n + in->b.held.n + in->b.joining.n + in->b.inbound + in->lag_seats;
}

int64_t instance_outstanding(const struct instance *in)
{
	int64_t n = instance_waiting(in);

	for (int32_t k = 0; k < in->pp; k++) {
		const struct batch *b = instance_batch(in, k);

		n += b->running.n + b->swapped.n + b->joining.n + b->held.deferred.n;
	}
	return n;
}

static void push_ranked(struct instance *in, struct job *j)
{
	struct view v = {in, j->req.arrive_ns};

	queue_push(&in->waiting, j,
		   in->policy->rank ? in->policy->rank(in->state, &v, &j->req) : 0);
}

void instance_enqueue(struct instance *in, struct job *j)
{
	j->instance = in->index;
	j->seq_tok = j->req.prompt_tok;
	if (in->async && (in->b.busy || in->ended_ns == j->req.arrive_ns))
		list_append(&in->staged, j);
	else
		push_ranked(in, j);
}

void instance_catch_up(struct instance *in, int64_t now_ns)
{
	instance_give_lagging(in);
	in->lag_seats = 0;
	in->ended_ns = now_ns;
}

bool instance_look_again(struct instance *in, int64_t now_ns)
{
	bool again = in->staged.n > 0 || in->lag_seats > 0;

	for (struct job *j; (j = in->staged.first);) {
		list_remove(&in->staged, j);
		push_ranked(in, j);
	}
	in->b.plan_due = in->b.plan_due || again;
	if (!in->b.busy)
		instance_catch_up(in, -1);
	else if (again && !in->b.in_single)
		run_cut(in, now_ns);
	return again && !in->b.busy;
}

void instance_account_bound(struct instance *in, int64_t now_ns)
{
	in->stats.bound_ns[in->bound] += now_ns - in->bound_since_ns;
	in->bound_since_ns = now_ns;
}
