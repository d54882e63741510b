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
		.first_slot = w->first_slot,
		.async = w->async,
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

/* Gaps between tokens */

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
	if (in->b.n_late == in->b.late_room) {
		in->b.late_room = in->b.late_room ? 2 * in->b.late_room : 16;
		in->b.late = xrealloc(in->b.late, (size_t)in->b.late_room * sizeof(*in->b.late));
	}
	in->b.late[in->b.n_late++] = j;
	in->b.prepaid += j->prepaid ? j->growth : 0;
}

/* True if j was among them, that is, has not decoded since it joined late. */
static bool late_remove(struct instance *in, struct job *j)
{
	for (int64_t i = 0; i < in->b.n_late; i++) {
		if (in->b.late[i] != j)
			continue;
		in->b.late[i] = in->b.late[--in->b.n_late];
		in->b.prepaid -= j->prepaid ? j->growth : 0;
		j->prepaid = false;
		return true;
	}
	return false;
}

void instance_first_gaps(struct instance *in, int64_t start_ns, double cost_ns, int64_t end_ns)
{
	gaps_step(&in->b.gaps, in->itl, start_ns, cost_ns, end_ns);
	for (int64_t i = 0; i < in->b.n_late; i++) {
		struct job *j = in->b.late[i];
		double gap_ns = (double)(start_ns - j->last_ns) + cost_ns;

		if (j->first_ns < 0) /* its first token: no gap ends with it */
			continue;
		hist_add(in->itl, gap_ns, 1);
		fold_gap(j, gap_ns);
		j->since_ns = end_ns;
		gaps_join(&in->b.gaps, end_ns);
	}
	in->b.n_late = 0;
}

double instance_max_gap(const struct instance *in, const struct job *j)
{
	if (j->state != JOB_DECODING || !instance_counts_gaps(in))
		return j->max_gap_ns;
	double gap_ns = gaps_max(&in->b.gaps, j->since_ns);

	return gap_ns > j->max_gap_ns ? gap_ns : j->max_gap_ns;
}

/* The decoding set */

/* Sliding windows */

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* With `gen` tokens j counts in decode steps: its context within the window does. */
static void enter_window(struct instance *in, struct job *j, int64_t gen)
{
	int64_t ctx = j->req.prompt_tok + j->pad_tok + gen, window = in->kv.window_tok;

	if (window == 0)
		return;
	j->below_window = ctx < window;
	in->b.window_b += j->below_window;
	in->b.window_ctx += smaller(ctx, window);
}

/* The next token of j with which its context, or its slots before the step, fill the window. */
static int64_t window_stop(const struct instance *in, const struct job *j, int64_t gen)
{
	int64_t full = in->kv.window_tok - j->req.prompt_tok - j->pad_tok;

	if (in->kv.window_tok == 0 || gen > full)
		return INT64_MAX;
	return gen < full ? full : full + 1;
}

/* j has `gen` tokens now: what its growing adds to sums may be another from here on. */
static void cross_window(struct instance *in, struct job *j, int64_t gen)
{
	int64_t held = j->req.prompt_tok + gen - 1, growth = kv_next_blocks(&in->kv, held);

	if (j->below_window && j->req.prompt_tok + j->pad_tok + gen >= in->kv.window_tok) {
		j->below_window = false;
		/* contexts of a padded batch are all the same, held ones included */
		in->b.window_b = in->b.batch_padded ? 0 : in->b.window_b - 1;
		in->b.run.active = false;
	}
	if (!j->reserved && growth != j->growth) {
		kv_grow_leave(&in->kv, held, in->b.clock, j->growth);
		kv_grow_join(&in->kv, held, in->b.clock, growth);
		j->growth = growth;
	}
}

/* The next token of j, of which `gen` are produced, at which something is to be done. */
static int64_t next_stop(const struct instance *in, const struct job *j, int64_t gen)
{
	int64_t next = smaller(j->stop_tok, window_stop(in, j, gen));

	if (gen == 0) /* it decodes its first token: first_decoded() */
		return 1;
	if (in->stream > 1 && !j->deferred && (gen / in->stream + 1) * in->stream < next)
		next = (gen / in->stream + 1) * in->stream;
	return next;
}

/* j, whose sequence is prefilled and whose state says what it was, decodes from now on. */
static void join_decoding(struct instance *in, struct job *j, bool late)
{
	int64_t ctx = j->req.prompt_tok + j->gen_tok;

	j->state = JOB_DECODING;
	j->join_clock = in->b.clock;
	in->b.n_decoding++;
	in->b.decode_b++;
	in->b.decode_ctx += ctx + j->pad_tok;
	enter_window(in, j, j->gen_tok);
	j->growth = j->reserved ? 0 : kv_next_blocks(&in->kv, ctx - 1);
	if (!j->reserved)
		kv_grow_join(&in->kv, ctx - 1, in->b.clock, j->growth);
	heap_push(&in->b.due, j, in->b.clock + next_stop(in, j, j->gen_tok) - j->gen_tok,
		  j->admit_seq);
	if (instance_counts_gaps(in)) {
		if (late) {
			j->since_ns = INT64_MAX; /* until its first step here */
			late_add(in, j);
		} else {
			j->since_ns = j->last_ns;
			gaps_join(&in->b.gaps, j->last_ns);
		}
	} else if (j->prepaid) {
		late_add(in, j);
	}
	in->b.run.active = false;
}

/* j leaves the decoding set but for its share of a padded batch's steps; gen, blocks become its
 * own. */
static void stop_decoding(struct instance *in, struct job *j)
{
	int64_t gen = job_generated(in, j), blocks = job_blocks(in, j);

	if (!j->reserved)
		kv_grow_leave(&in->kv, j->req.prompt_tok + gen - 1, in->b.clock, j->growth);
	if (instance_counts_gaps(in)) {
		fold_gap(j, gaps_max(&in->b.gaps, j->since_ns));
		if (!late_remove(in, j) && j->first_ns >= 0) {
			if (gen > j->gen_tok)
				j->last_ns = in->b.decode_end_ns;
			gaps_leave(&in->b.gaps, j->last_ns);
		}
	} else if (j->prepaid) {
		late_remove(in, j);
	}
	in->b.n_decoding--;
	if (in->b.n_decoding == 0)
		in->b.gaps.n_marks = 0;
	j->gen_tok = gen;
	j->blocks = blocks;
}

/* Nor does it count in decode steps any more. */
static void leave_decoding(struct instance *in, struct job *j)
{
	stop_decoding(in, j);
	in->b.decode_b--;
	int64_t ctx = j->req.prompt_tok + j->pad_tok + j->gen_tok;

	in->b.decode_ctx -= ctx;
	if (in->kv.window_tok > 0) {
		in->b.window_b -= j->below_window;
		in->b.window_ctx -= smaller(ctx, in->kv.window_tok);
	}
	in->b.run.active = false;
}

/* From place to place */

void instance_admit(struct instance *in, int64_t now_ns)
{
	struct job *j = queue_head(&in->waiting);

	queue_take_head(&in->waiting);
	in->moved_requests = true;
	j->state = JOB_PREFILLING;
	j->batch = in->at;
	j->admit_seq = in->admissions++;
	if (j->schedule_ns < 0)
		j->schedule_ns = now_ns;
	list_append(&in->b.running, j);
	in->b.n_partial++;
}

void instance_evict(struct instance *in, struct job *j, enum plan_evict_kind kind)
{
	in->preempted = in->moved_requests = true;
	if (j->state == JOB_DECODING) {
		heap_remove(&in->b.due, j);
		leave_decoding(in, j);
	} else {
		in->b.n_partial--;
	}
	list_remove(&in->b.running, j);
	instance_give_kv(in, j, j->blocks);
	j->preemptions++;
	in->stats.preemptions++;
	if (kind == PLAN_SWAP) {
		j->reserved = j->reserved && j->gen_tok > 0;
		j->state = JOB_SWAPPED;
		in->kv.host_used += j->blocks;
		list_insert_by_admission(&in->b.swapped, j);
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
	list_remove(&in->b.swapped, j);
	in->kv.host_used -= j->blocks;
	if (!j->reserved)
		j->blocks = kv_blocks(&in->kv, j->req.prompt_tok + j->gen_tok);
	kv_take(&in->kv, j->blocks);
	list_insert_by_admission(&in->b.running, j);
	join_decoding(in, j, true);
}

void instance_join(struct instance *in, struct job *j)
{
	j->instance = in->index;
	list_append(&in->b.joining, j);
}

void instance_join_waiting(struct instance *in)
{
	for (struct job *j; (j = in->b.joining.first);) {
		list_remove(&in->b.joining, j);
		j->admit_seq = in->admissions++;
		/* of a token that is still to be decoded here its two first steps are paid for */
		j->reserved = j->gen_tok == 0;
		j->prepaid = !j->reserved &&
			     (j->req.prompt_tok + j->gen_tok - 1) % in->kv.block_tok == 0;
		list_append(&in->b.running, j);
		join_decoding(in, j, true);
	}
}

/* The last one of a padded batch is done: seats and KV are free. */
static void end_batch(struct instance *in, int64_t t_ns)
{
	kv_give(&in->kv, in->b.held.blocks);
	in->b.decode_b = in->b.decode_ctx = 0;
	in->b.window_b = in->b.window_ctx = 0;
	in->b.held.n = in->b.held.blocks = 0;
	instance_unpad(in);
	in->b.run.active = false;
	for (struct job *j; (j = in->b.held.deferred.first);) {
		int64_t deliveries = job_deliveries(in, j, j->gen_tok);

		list_remove(&in->b.held.deferred, j);
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
	in->b.held.n++;
	j->pad_tok = 0; /* what its padding adds to the contexts of the batch stays counted */
	if (!j->keep_kv)
		in->b.held.blocks += j->blocks;
	if (j->deferred)
		list_append(&in->b.held.deferred, j);
}

/*
 * j, which is no longer in the heap, runs no more. `lags`: its seat and its blocks come free one
 * boundary later.
 */
static void retire(struct instance *in, struct job *j, bool lags)
{
	bool was_decoding = j->state == JOB_DECODING;

	list_remove(&in->b.running, j);
	if (in->b.batch_padded) {
		if (was_decoding) {
			stop_decoding(in, j);
		} else { /* it takes part in the decode steps of the others all the same */
			in->b.decode_b++;
			in->b.decode_ctx += j->req.prompt_tok + j->pad_tok + j->gen_tok;
			enter_window(in, j, j->gen_tok);
		}
		hold(in, j);
	} else {
		if (was_decoding)
			leave_decoding(in, j);
		in->lag_seats += lags;
		if (!j->keep_kv && lags)
			instance_give_kv_later(in, j);
		else if (!j->keep_kv)
			instance_give_kv(in, j, j->blocks);
	}
}

static void tell_end(struct instance *in, struct job *j)
{
	j->state = JOB_DONE;
	in->b.plan_due = true;
	in->ended = true;
	if (in->policy->on_finish)
		in->policy->on_finish(in->state, &j->req);
}

/* j has all its tokens: it is running, and no longer in the heap. */
static void finish(struct instance *in, struct job *j, int64_t t_ns)
{
	/* one that would go on elsewhere, but is out of time, leaves as aborted ones do */
	retire(in, j, in->async && !(j->doomed && j->keep_kv));
	tell_end(in, j);
	if (!j->deferred)
		in->ops->done(in->ops->arg, j, t_ns);
	if (in->b.batch_padded && in->b.running.n == 0)
		end_batch(in, t_ns);
}

/*
 * j came here with a prefilled sequence and no token, and has decoded its first. From now on it
 * grows as the others do, beginning with the block of its next token, where it has that already.
 */
static void first_decoded(struct instance *in, struct job *j, int64_t t_ns)
{
	leave_decoding(in, j);
	j->state = JOB_PREFILLING; /* as in prefilled() */
	if (in->stream == 1 || j->output_tok == 1)
		deliver(in, j, t_ns);
	if (j->stop_tok == 1) {
		finish(in, j, t_ns);
		return;
	}
	j->reserved = false;
	j->prepaid = j->blocks > kv_blocks(&in->kv, j->req.prompt_tok);
	join_decoding(in, j, true);
}

void instance_settle(struct instance *in, int64_t t_ns)
{
	while (in->b.due.n > 0 && in->b.due.at[0].key <= in->b.clock) {
		struct job *j = heap_pop(&in->b.due);
		int64_t gen = job_generated(in, j);

		if (j->gen_tok == 0) {
			first_decoded(in, j, t_ns);
			continue;
		}
		if (in->stream > 1 && !j->deferred && (gen % in->stream == 0 || gen == j->stop_tok))
			deliver(in, j, t_ns);
		if (in->kv.window_tok > 0)
			cross_window(in, j, gen);
		if (gen == j->stop_tok)
			finish(in, j, t_ns);
		else
			heap_push(&in->b.due, j, in->b.clock + next_stop(in, j, gen) - gen,
				  j->admit_seq);
	}
}

/* The step that ends now completed the sequence of j, and so produced a token. */
static void prefilled(struct instance *in, struct job *j, int64_t t_ns)
{
	in->b.n_partial--;
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
	struct single *s = &in->b.single;

	in->b.busy = in->b.in_single = false;
	in->b.plan_due = true;
	if (s->decodes) {
		in->b.clock++;
		in->b.decode_ctx += in->b.decode_b;
		in->b.window_ctx += in->b.window_b;
		if (instance_counts_gaps(in))
			instance_first_gaps(in, s->start_ns, s->cost_ns, s->end_ns);
		in->b.decode_end_ns = s->end_ns;
		instance_settle(in, s->end_ns);
	}
	for (int64_t i = 0; i < s->n_prefill; i++) {
		struct job *j = s->prefill[i];

		j->done_tok += s->prefill_tok[i];
		if (j->done_tok == j->seq_tok)
			prefilled(in, j, s->end_ns);
	}
}

static void leave_queue(struct instance *in, struct job *j)
{
	struct queue *q = &in->waiting;

	if (heap_has(&q->ranked, j))
		heap_remove(&q->ranked, j);
	else /* at the head are those that were preempted */
		list_remove(j->preemptions > 0 ? &q->front : &in->staged, j);
}

static void leave_running(struct instance *in, struct job *j)
{
	if (j->state == JOB_DECODING)
		heap_remove(&in->b.due, j);
	else
		in->b.n_partial--;
	j->keep_kv = j->deferred = false;
	retire(in, j, false);
}

void instance_abort(struct instance *in, struct job *j, int64_t t_ns)
{
	switch (j->state) {
	case JOB_WAITING:
		leave_queue(in, j);
		break;
	case JOB_SWAPPED:
		list_remove(&in->b.swapped, j);
		in->kv.host_used -= j->blocks;
		break;
	case JOB_MOVING:
		list_remove(&in->b.joining, j);
		instance_give_kv(in, j, j->blocks);
		break;
	case JOB_DONE:
		list_remove(&in->b.held.deferred, j);
		break;
	case JOB_PREFILLING:
	case JOB_DECODING:
		leave_running(in, j);
		break;
	case JOB_FREE:
		CHECK(0, "request %lld is nowhere", (long long)j->req.idx);
	}
	tell_end(in, j);
	if (in->b.batch_padded && in->b.running.n == 0)
		end_batch(in, t_ns);
}

void instance_account_bound(struct instance *in, int64_t now_ns)
{
	in->stats.bound_ns[in->bound] += now_ns - in->bound_since_ns;
	in->bound_since_ns = now_ns;
}
