#include "sim/instance.h"
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
		.seats = INT64_MAX,
		.step_tok = INT64_MAX,
	};
	memcpy(in->state, w->state, w->policy->state_size);
	kv_init(&in->kv, w->block_tok, w->kv_blocks, w->host_blocks);
}

void instance_release(struct instance *in)
{
	kv_release(&in->kv);
	queue_release(&in->waiting);
	heap_release(&in->due);
	gaps_release(&in->gaps);
	free(in->late);
	free(in->single.prefill);
	free(in->single.prefill_tok);
	free(in->state);
}

int64_t job_generated(const struct instance *in, const struct job *j)
{
	return j->state == JOB_DECODING ? j->gen_tok + (in->clock - j->join_clock) : j->gen_tok;
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
	return in->running.n + in->held.n + in->joining.n + in->inbound;
}

int64_t instance_outstanding(const struct instance *in)
{
	return queue_len(&in->waiting) + in->running.n + in->swapped.n + in->joining.n +
	       in->held.deferred.n;
}

void instance_enqueue(struct instance *in, struct job *j)
{
	struct view v = {in, j->req.arrive_ns};

	j->instance = in->index;
	j->seq_tok = j->req.prompt_tok;
	queue_push(&in->waiting, j,
		   in->policy->rank ? in->policy->rank(in->state, &v, &j->req) : 0);
}

int64_t instance_need_tok(struct instance *in, const struct job *j)
{
	struct view v = {in, j->req.arrive_ns};
	int64_t tok = j->req.prompt_tok + j->stop_tok - 1;
	int64_t need = in->policy->need ? in->policy->need(in->state, &v, &j->req) : 0;

	return need > tok ? need : tok;
}

void instance_release_kv(struct instance *in, struct job *j, int64_t blocks)
{
	kv_give(&in->kv, blocks);
	j->keep_kv = false;
}

/* Gaps between tokens */

bool instance_counts_gaps(const struct instance *in)
{
	return in->stream == 1 && !(in->batch_padded && in->batch_reply == PLAN_REPLY_BATCH);
}

static void fold_gap(struct job *j, double gap_ns)
{
	if (gap_ns > j->max_gap_ns)
		j->max_gap_ns = gap_ns;
}

/* One delivery that is not part of a bulk of decode steps. */
static void deliver(struct instance *in, struct job *j, int64_t t_ns)
{
	if (j->first_ns < 0) {
		j->first_ns = t_ns;
	} else {
		hist_add(in->itl, (double)(t_ns - j->last_ns), 1);
		fold_gap(j, (double)(t_ns - j->last_ns));
	}
	j->last_ns = t_ns;
}

static void late_add(struct instance *in, struct job *j)
{
	if (in->n_late == in->late_room) {
		in->late_room = in->late_room ? 2 * in->late_room : 16;
		in->late = xrealloc(in->late, (size_t)in->late_room * sizeof(*in->late));
	}
	in->late[in->n_late++] = j;
	in->prepaid += j->prepaid;
}

/* True if j was among them, that is, has not decoded since it joined late. */
static bool late_remove(struct instance *in, struct job *j)
{
	for (int64_t i = 0; i < in->n_late; i++) {
		if (in->late[i] != j)
			continue;
		in->late[i] = in->late[--in->n_late];
		in->prepaid -= j->prepaid;
		j->prepaid = false;
		return true;
	}
	return false;
}

void instance_first_gaps(struct instance *in, int64_t start_ns, double cost_ns, int64_t end_ns)
{
	gaps_step(&in->gaps, in->itl, start_ns, cost_ns, end_ns);
	for (int64_t i = 0; i < in->n_late; i++) {
		struct job *j = in->late[i];
		double gap_ns = (double)(start_ns - j->last_ns) + cost_ns;

		hist_add(in->itl, gap_ns, 1);
		fold_gap(j, gap_ns);
		j->since_ns = end_ns;
		gaps_join(&in->gaps, end_ns);
	}
	in->n_late = 0;
}

double instance_max_gap(const struct instance *in, const struct job *j)
{
	if (j->state != JOB_DECODING || !instance_counts_gaps(in))
		return j->max_gap_ns;
	double gap_ns = gaps_max(&in->gaps, j->since_ns);

	return gap_ns > j->max_gap_ns ? gap_ns : j->max_gap_ns;
}

/* The decoding set */

/* The next token of j, of which `gen` are produced, at which something is to be done. */
static int64_t next_stop(const struct instance *in, const struct job *j, int64_t gen)
{
	int64_t next = j->stop_tok;

	if (in->stream > 1 && !j->deferred && (gen / in->stream + 1) * in->stream < next)
		next = (gen / in->stream + 1) * in->stream;
	return next;
}

/* j, whose sequence is prefilled and whose state says what it was, decodes from now on. */
static void join_decoding(struct instance *in, struct job *j, bool late)
{
	int64_t ctx = j->req.prompt_tok + j->gen_tok;

	j->state = JOB_DECODING;
	j->join_clock = in->clock;
	in->n_decoding++;
	in->decode_b++;
	in->decode_ctx += ctx + j->pad_tok;
	if (!j->reserved)
		kv_grow_join(&in->kv, ctx - 1, in->clock);
	heap_push(&in->due, j, in->clock + next_stop(in, j, j->gen_tok) - j->gen_tok, j->admit_seq);
	if (instance_counts_gaps(in)) {
		if (late) {
			j->since_ns = INT64_MAX; /* until its first step here */
			late_add(in, j);
		} else {
			j->since_ns = j->last_ns;
			gaps_join(&in->gaps, j->last_ns);
		}
	} else if (j->prepaid) {
		late_add(in, j);
	}
	in->run.active = false;
}

/* j leaves the decoding set but for its share of a padded batch's steps; gen, blocks become its
 * own. */
static void stop_decoding(struct instance *in, struct job *j)
{
	int64_t gen = job_generated(in, j), blocks = job_blocks(in, j);

	if (!j->reserved)
		kv_grow_leave(&in->kv, j->req.prompt_tok + gen - 1, in->clock);
	if (instance_counts_gaps(in)) {
		fold_gap(j, gaps_max(&in->gaps, j->since_ns));
		if (!late_remove(in, j)) {
			if (gen > j->gen_tok)
				j->last_ns = in->decode_end_ns;
			gaps_leave(&in->gaps, j->last_ns);
		}
	} else if (j->prepaid) {
		late_remove(in, j);
	}
	in->n_decoding--;
	if (in->n_decoding == 0)
		in->gaps.n_marks = 0;
	j->gen_tok = gen;
	j->blocks = blocks;
}

/* Nor does it count in decode steps any more. */
static void leave_decoding(struct instance *in, struct job *j)
{
	stop_decoding(in, j);
	in->decode_b--;
	in->decode_ctx -= j->req.prompt_tok + j->pad_tok + j->gen_tok;
	in->run.active = false;
}

/* From place to place */

void instance_admit(struct instance *in, int64_t now_ns)
{
	struct job *j = queue_head(&in->waiting);

	queue_take_head(&in->waiting);
	j->state = JOB_PREFILLING;
	j->admit_seq = in->admissions++;
	if (j->schedule_ns < 0)
		j->schedule_ns = now_ns;
	list_append(&in->running, j);
	in->n_partial++;
}

void instance_evict(struct instance *in, struct job *j, enum plan_evict_kind kind)
{
	if (j->state == JOB_DECODING) {
		heap_remove(&in->due, j);
		leave_decoding(in, j);
	} else {
		in->n_partial--;
	}
	list_remove(&in->running, j);
	kv_give(&in->kv, j->blocks);
	j->preemptions++;
	in->stats.preemptions++;
	if (kind == PLAN_SWAP) {
		j->state = JOB_SWAPPED;
		in->kv.host_used += j->blocks;
		list_insert_by_admission(&in->swapped, j);
		return;
	}
	j->blocks = 0;
	j->reserved = false;
	j->done_tok = 0;
	j->seq_tok = j->req.prompt_tok + j->gen_tok;
	queue_push_front(&in->waiting, j);
}

void instance_restore(struct instance *in, struct job *j)
{
	list_remove(&in->swapped, j);
	in->kv.host_used -= j->blocks;
	if (!j->reserved)
		j->blocks = kv_blocks(&in->kv, j->req.prompt_tok + j->gen_tok);
	kv_take(&in->kv, j->blocks);
	list_insert_by_admission(&in->running, j);
	join_decoding(in, j, true);
}

void instance_join(struct instance *in, struct job *j)
{
	j->instance = in->index;
	list_append(&in->joining, j);
}

void instance_join_waiting(struct instance *in)
{
	for (struct job *j; (j = in->joining.first);) {
		list_remove(&in->joining, j);
		j->admit_seq = in->admissions++;
		j->reserved = false;
		j->prepaid = (j->req.prompt_tok + j->gen_tok - 1) % in->kv.block_tok == 0;
		list_append(&in->running, j);
		join_decoding(in, j, true);
	}
}

/* The last one of a padded batch is done: seats and KV are free. */
static void end_batch(struct instance *in, int64_t t_ns)
{
	kv_give(&in->kv, in->held.blocks);
	in->decode_b = in->decode_ctx = 0;
	in->held.n = in->held.blocks = 0;
	in->batch_padded = false;
	in->run.active = false;
	for (struct job *j; (j = in->held.deferred.first);) {
		int64_t deliveries = job_deliveries(in, j, j->gen_tok);

		list_remove(&in->held.deferred, j);
		j->deferred = false;
		if (deliveries > 0)
			j->first_ns = j->last_ns = t_ns;
		if (deliveries > 1) {
			hist_add(in->itl, 0, deliveries - 1);
			fold_gap(j, 0);
		}
		in->ops->done(in->ops->arg, j, t_ns);
	}
}

static void hold(struct instance *in, struct job *j)
{
	in->held.n++;
	j->pad_tok = 0; /* what its padding adds to the contexts of the batch stays counted */
	if (!j->keep_kv)
		in->held.blocks += j->blocks;
	if (j->deferred)
		list_append(&in->held.deferred, j);
}

/* j has all its tokens: it is running, and no longer in the heap. */
static void finish(struct instance *in, struct job *j, int64_t t_ns)
{
	bool was_decoding = j->state == JOB_DECODING;

	list_remove(&in->running, j);
	if (in->batch_padded) {
		if (was_decoding) {
			stop_decoding(in, j);
		} else { /* it takes part in the decode steps of the others all the same */
			in->decode_b++;
			in->decode_ctx += j->req.prompt_tok + j->pad_tok + j->gen_tok;
		}
		hold(in, j);
	} else {
		if (was_decoding)
			leave_decoding(in, j);
		if (!j->keep_kv)
			kv_give(&in->kv, j->blocks);
	}
	j->state = JOB_DONE;
	in->plan_due = true;
	if (in->policy->on_finish)
		in->policy->on_finish(in->state, &j->req);
	if (!j->deferred)
		in->ops->done(in->ops->arg, j, t_ns);
	if (in->batch_padded && in->running.n == 0)
		end_batch(in, t_ns);
}

void instance_settle(struct instance *in, int64_t t_ns)
{
	while (in->due.n > 0 && in->due.at[0].key <= in->clock) {
		struct job *j = heap_pop(&in->due);
		int64_t gen = job_generated(in, j);

		if (in->stream > 1 && !j->deferred)
			deliver(in, j, t_ns);
		if (gen == j->stop_tok)
			finish(in, j, t_ns);
		else
			heap_push(&in->due, j, in->clock + next_stop(in, j, gen) - gen,
				  j->admit_seq);
	}
}

/* The step that ends now completed the sequence of j, and so produced a token. */
static void prefilled(struct instance *in, struct job *j, int64_t t_ns)
{
	in->n_partial--;
	j->gen_tok++;
	if (!j->deferred && (j->gen_tok % in->stream == 0 || j->gen_tok == j->output_tok))
		deliver(in, j, t_ns);
	if (j->gen_tok == j->stop_tok)
		finish(in, j, t_ns);
	else
		join_decoding(in, j, false);
}

void instance_end_single(struct instance *in)
{
	struct single *s = &in->single;

	in->busy = in->in_single = false;
	in->plan_due = true;
	if (s->decodes) {
		in->clock++;
		in->decode_ctx += in->decode_b;
		if (instance_counts_gaps(in))
			instance_first_gaps(in, s->start_ns, s->cost_ns, s->end_ns);
		in->decode_end_ns = s->end_ns;
		instance_settle(in, s->end_ns);
	}
	for (int64_t i = 0; i < s->n_prefill; i++) {
		struct job *j = s->prefill[i];

		j->done_tok += s->prefill_tok[i];
		if (j->done_tok == j->seq_tok)
			prefilled(in, j, s->end_ns);
	}
}

void instance_account_bound(struct instance *in, int64_t now_ns)
{
	in->stats.bound_ns[in->bound] += now_ns - in->bound_since_ns;
	in->bound_since_ns = now_ns;
}
