/* instance_move.c: requests from place to place of an instance, and out of it. */
#include "sim/decoding.h"

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
	int64_t computed_tok = j->done_tok;

	in->preempted = in->moved_requests = true;
	if (j->state == JOB_DECODING) {
		heap_remove(&in->b.due, j);
		decoding_leave(in, j);
		computed_tok = j->req.prompt_tok + j->gen_tok;
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
	if (computed_tok > j->redo_tok)
		j->redo_tok = computed_tok;
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
	decoding_join(in, j, true);
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
		decoding_join(in, j, true);
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
			decoding_fold_gap(j, 0);
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
			decoding_stop(in, j);
		} else { /* it takes part in the decode steps of the others all the same */
			in->b.decode_b++;
			in->b.decode_ctx += j->req.prompt_tok + j->pad_tok + j->gen_tok;
			decoding_enter_window(in, j, j->gen_tok);
		}
		hold(in, j);
	} else {
		if (was_decoding)
			decoding_leave(in, j);
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
	decoding_leave(in, j);
	j->state = JOB_PREFILLING; /* as in prefilled() */
	if (in->stream == 1 || j->output_tok == 1)
		decoding_deliver(in, j, t_ns);
	if (j->stop_tok == 1) {
		finish(in, j, t_ns);
		return;
	}
	j->reserved = false;
	j->prepaid = j->blocks > kv_blocks(&in->kv, j->req.prompt_tok);
	decoding_join(in, j, true);
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
			decoding_deliver(in, j, t_ns);
		if (in->kv.window_tok > 0)
			decoding_cross_window(in, j, gen);
		if (gen == j->stop_tok)
			finish(in, j, t_ns);
		else
			heap_push(&in->b.due, j, in->b.clock + decoding_next_stop(in, j, gen) - gen,
				  j->admit_seq);
	}
}

/* The step that ends now completed the sequence of j, and so produced a token. */
static void prefilled(struct instance *in, struct job *j, int64_t t_ns)
{
	in->b.n_partial--;
	j->gen_tok++;
	if (!j->deferred && (j->gen_tok % in->stream == 0 || j->gen_tok == j->output_tok))
		decoding_deliver(in, j, t_ns);
	if (j->gen_tok == j->stop_tok)
		finish(in, j, t_ns);
	else
		decoding_join(in, j, false);
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
