/* From one step boundary to the next: what a step costs, when it ends, and what it delivers. */
#include "tests/reference_state.h"

#include <math.h>

/* --- cost --- */

static double host_ns(const struct sim *s, const struct batch *b)
{
	return s->cfg->host_us * 1e3 +
	       s->cfg->host_seq_us * 1e3 * (double)(b->prefill_seq + b->decode_seq);
}

/* `constant` is part of A, in a step that only decodes. */
static double device_and(const struct sim *s, const struct batch *b, double constant)
{
	const struct ref_config *c = s->cfg;
	double cost = c->step_ns + c->prefill_tok_ns * (double)b->prefill_tok;

	cost = cost + c->decode_seq_ns * (double)b->decode_seq;
	cost = cost + constant;
	cost = cost + c->ctx_tok_ns * (double)b->ctx;
	return cost + c->window_tok_ns * (double)b->window_ctx;
}

static double device_ns(const struct sim *s, const struct batch *b)
{
	return device_and(s, b, 0);
}

static bool host_is_slower(const struct sim *s, const struct batch *b)
{
	return s->cfg->async && device_ns(s, b) < host_ns(s, b);
}

static double single_ns(struct sim *s, const struct batch *b)
{
	const struct ref_config *c = s->cfg;
	double cost = device_ns(s, b), host = host_ns(s, b);

	if (c->async)
		cost = cost >= host ? cost : host;
	else
		cost = b->prefill_tok == 0 ? device_and(s, b, host) : cost + host;
	if (b->moved_blocks > 0)
		cost += (double)(b->in->pp * b->moved_blocks * c->block_tok * c->kv_token_bytes) *
			1e9 / c->pcie_bytes_s;
	return cost;
}

/* The stages take it one after another, each in the order of the plans. */
static int64_t staged_end(struct sim *s, struct batch *b)
{
	struct inst *in = b->in;
	int64_t d = llround(single_ns(s, b) / (double)in->pp), at = s->now;

	for (int64_t i = 0; i < in->pp; i++) {
		s->out->seen.stage_waits += at < in->stage_end_ns[i];
		at = ref_max(at, in->stage_end_ns[i]) + d;
		in->stage_end_ns[i] = at;
	}
	return at;
}

static bool same_as_run(const struct sim *s, const struct batch *b)
{
	if (b->run.n == 0 || b->run.n != b->running.n || b->run_step == 1 << 20)
		return false;
	for (int64_t i = 0; i < b->run.n; i++)
		if (b->run.at[i] != b->running.at[i])
			return false;
	return b->below == b->run_below && host_is_slower(s, b) == b->run_host;
}

/* The end of a pure decode step: the j-th of its run. */
static int64_t decode_end(struct sim *s, struct batch *b)
{
	const struct ref_config *c = s->cfg;
	double fixed = c->step_ns + c->decode_seq_ns * (double)b->decode_seq;
	int64_t k, pairs, sum, window_sum;

	if (!same_as_run(s, b)) {
		s->out->seen.window_turns += b->run.n > 0 && b->below != b->run_below;
		b->run.n = 0;
		for (int64_t i = 0; i < b->running.n; i++)
			ref_push(&b->run, b->running.at[i]);
		b->run_start_ns = s->now;
		b->run_step = 0;
		b->run_ctx = b->ctx;
		b->run_window_ctx = b->window_ctx;
		b->run_below = b->below;
		b->run_host = host_is_slower(s, b);
	}
	k = ++b->run_step;
	pairs = k * (k - 1) / 2;
	sum = k * b->run_ctx + b->decode_seq * pairs;
	window_sum = k * b->run_window_ctx + b->run_below * pairs;
	if (b->run_host)
		return b->run_start_ns + llround((double)k * host_ns(s, b));
	if (!c->async)
		fixed += host_ns(s, b);
	return b->run_start_ns + llround((double)k * fixed + c->ctx_tok_ns * (double)sum +
					 c->window_tok_ns * (double)window_sum);
}

/* --- a step starts --- */

/* No step is over its budget, and a pure decode is one of all that run. */
static void check_step(const struct sim *s, const struct batch *b)
{
	const struct ref_policy *p = b->in->policy;
	int64_t prompts = 0;

	for (int64_t i = 0; i < b->running.n; i++)
		prompts += s->job[b->running.at[i]].add > 0;
	CHECK(prompts == b->prefill_seq, "%lld prompts, not %lld", (long long)prompts,
	      (long long)b->prefill_seq);
	if (p->kind == REF_PAGED && p->chunk > 0)
		CHECK(b->prefill_tok + b->decode_seq <= p->chunk, "%lld + %lld tokens of %lld",
		      (long long)b->prefill_tok, (long long)b->decode_seq, (long long)p->chunk);
	if (p->kind == REF_PAGED && p->chunk == 0)
		CHECK(prompts <= 1 || b->prefill_tok + b->decode_seq <= p->max_batched_tok,
		      "%lld tokens of %lld", (long long)b->prefill_tok,
		      (long long)p->max_batched_tok);
	if (p->kind == REF_PAGED && p->chunk == 0 && !p->mixed)
		CHECK(b->prefill_tok == 0 || b->decode_seq == 0, "%lld decodes with a prefill",
		      (long long)b->decode_seq);
	if (b->prefill_tok == 0)
		CHECK(b->decode_seq == b->running.n, "%lld of %lld decode",
		      (long long)b->decode_seq, (long long)b->running.n);
}

static void step_start(struct sim *s, struct batch *b)
{
	if (b->prefill_tok == 0 && b->decode_seq == 0) {
		CHECK(b->running.n == 0, "%lld requests run, and nothing is planned",
		      (long long)b->running.n);
		b->run.n = 0;
		return; /* idle; blocks that were moved cost nothing, since no step is longer by it
			 */
	}
	for (int64_t i = 0; i < b->running.n; i++) {
		struct job *j = &s->job[b->running.at[i]];

		if (j->s_ns < 0 && j->add > 0)
			j->s_ns = s->now;
	}
	check_step(s, b);
	b->busy = true;
	s->out->started++;
	s->out->seen.host_steps += host_is_slower(s, b);
	b->start_ns = s->now;
	b->used = b->in->total - b->in->free;
	if (b->prefill_tok > 0 || b->moved_blocks > 0)
		b->run.n = 0;
	b->due = b->due || b->prefill_tok > 0 || b->moved_blocks > 0 || b->preempted;
	b->preempted = false;
	if (b->in->pp > 1)
		b->end_ns = staged_end(s, b);
	else if (b->prefill_tok > 0 || b->moved_blocks > 0)
		b->end_ns = s->now + llround(single_ns(s, b));
	else
		b->end_ns = decode_end(s, b);
}

static void step_clear(struct batch *b)
{
	b->prefill_tok = b->prefill_seq = b->longest = b->moved_blocks = 0;
	b->decode_seq = b->ctx = b->window_ctx = b->below = 0;
}

/* What this plan did not see yet, the next one does. */
static bool see_all(struct sim *s, struct batch *b)
{
	bool any = false;

	for (int64_t i = 0; i < b->in->waiting.n; i++) {
		struct job *j = &s->job[b->in->waiting.at[i]];

		any = any || j->late;
		s->out->seen.late_sights += j->late;
		j->late = false;
	}
	b->due = b->due || any;
	return any;
}

static void plan_once(struct sim *s, struct batch *b)
{
	b->due = false;
	b->wait_ns = -1;
	step_clear(b);
	ref_join(s, b);
	if (b->in->policy->kind == REF_STATIC)
		ref_plan_static(s, b);
	else if (b->in->policy->kind == REF_CONTINUOUS)
		ref_plan_continuous(s, b);
	else
		ref_plan_paged(s, b);
}

/* async: where nothing is to run, nothing is late any more, and it plans again. */
static void plan(struct sim *s, struct batch *b)
{
	bool more = true;

	while (more) {
		plan_once(s, b);
		more = see_all(s, b);
		if (b->prefill_tok > 0 || b->decode_seq > 0)
			return;
		more = ref_free_held(s, b) || more;
	}
}

/* A step boundary: plan() if something was due, else the same decode step goes on. */
void ref_boundary(struct sim *s, struct batch *b)
{
	bool wait_over = b->wait_ns >= 0 && b->wait_ns <= s->now;

	b->at_end = false;
	if (s->cfg->plan_always || b->due || wait_over || ref_decode_need(s, b) > b->in->free) {
		plan(s, b);
	} else {
		step_clear(b);
		ref_decode_all(s, b);
	}
	step_start(s, b);
}

/* --- a step ends --- */

static void record_step(struct sim *s, const struct batch *b)
{
	struct ref_run *out = s->out;

	out->steps++;
	if (!s->cfg->keep_steps)
		return;
	if (out->step_n == out->step_size) {
		out->step_size = out->step_size ? 2 * out->step_size : 64;
		out->step = xrealloc(out->step, out->step_size * sizeof *out->step);
	}
	out->step[out->step_n++] = (struct ref_step){
		.instance = b->in - s->inst,
		.batch = b->index,
		.start_ns = b->start_ns,
		.end_ns = b->end_ns,
		.prefill_tok = b->prefill_tok,
		.decode_seq = b->decode_seq,
		.ctx = b->ctx,
		.window_ctx = b->window_ctx,
		.moved_blocks = b->moved_blocks,
		.blocks_used = b->used,
	};
}

/* The running request at place i of the batch; whether it is still there. */
static bool goes_on(struct sim *s, struct batch *b, int64_t i)
{
	int64_t r = b->running.at[i];
	struct job *j = &s->job[r];
	bool token = j->decodes;

	if (j->add > 0) {
		s->out->recomputed_tok += ref_max(0, ref_min(j->add, j->redo - j->prefilled));
		j->prefilled += j->add;
		token = j->prefilled == j->seq;
	}
	j->add = 0;
	j->decodes = false;
	if (token)
		ref_deliver(s, b, r);
	if (token && j->got == 1 && s->cfg->ttft_decode)
		b->run.n = 0; /* a new run starts then */
	if (j->got == j->output) {
		ref_leave(s, b, r);
		ref_job_done(s, r);
		return false;
	}
	if (!ref_over(b, j))
		return true;
	if (j->doomed)
		ref_abort(s, r);
	else
		ref_leave(s, b, r);
	return false;
}

/* What the step has brought about comes first. */
static void abort_doomed(struct sim *s, const struct list *l)
{
	for (int64_t i = 0; i < l->n;) {
		if (s->job[l->at[i]].doomed)
			ref_abort(s, l->at[i]); /* the next one moves to its place */
		else
			i++;
	}
}

void ref_step_end(struct sim *s, struct batch *b)
{
	record_step(s, b);
	b->busy = false;
	b->at_end = true;
	ref_free_held(s, b);
	if (b->in->policy->kind == REF_STATIC) {
		ref_static_step_end(s, b);
		return;
	}
	for (int64_t i = 0; i < b->running.n;)
		i += goes_on(s, b, i); /* else the next one moves to place i */
	abort_doomed(s, &b->running);
	abort_doomed(s, &b->joining);
}
