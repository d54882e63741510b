/* From one step boundary to the next: what a step costs, when it ends, and what it delivers. */
#include "tests/reference_state.h"

#include <math.h>

static bool same_as_run(const struct inst *in)
{
	if (in->run.n == 0 || in->run.n != in->running.n || in->run_step == 1 << 20)
		return false;
	for (int64_t i = 0; i < in->run.n; i++)
		if (in->run.at[i] != in->running.at[i])
			return false;
	return true;
}

/* The end of a pure decode step: the j-th of its run. */
static int64_t decode_end(struct sim *s, struct inst *in)
{
	const struct ref_config *c = s->cfg;
	double fixed = c->step_ns + c->decode_seq_ns * (double)in->decode_seq;
	int64_t k, sum;

	if (!same_as_run(in)) {
		in->run.n = 0;
		for (int64_t i = 0; i < in->running.n; i++)
			ref_push(&in->run, in->running.at[i]);
		in->run_start_ns = s->now;
		in->run_step = 0;
		in->run_ctx = in->ctx;
	}
	k = ++in->run_step;
	sum = k * in->run_ctx + in->decode_seq * (k * (k - 1) / 2);
	return in->run_start_ns + llround((double)k * fixed + c->ctx_tok_ns * (double)sum);
}

static int64_t single_end(struct sim *s, struct inst *in)
{
	const struct ref_config *c = s->cfg;
	double cost = c->step_ns + c->prefill_tok_ns * (double)in->prefill_tok;

	cost = cost + c->decode_seq_ns * (double)in->decode_seq;
	cost = cost + c->ctx_tok_ns * (double)in->ctx;
	if (in->moved_blocks > 0)
		cost += (double)(in->moved_blocks * c->block_tok * c->kv_token_bytes) * 1e9 /
			c->pcie_bytes_s;
	in->run.n = 0;
	return s->now + llround(cost);
}

/* No step is over its budget, and a pure decode is one of all that run. */
static void check_step(const struct sim *s, const struct inst *in)
{
	const struct ref_policy *p = in->policy;
	int64_t prompts = 0;

	for (int64_t i = 0; i < in->running.n; i++)
		prompts += s->job[in->running.at[i]].add > 0;
	if (p->kind == REF_PAGED && p->chunk > 0)
		CHECK(in->prefill_tok + in->decode_seq <= p->chunk, "%lld + %lld tokens of %lld",
		      (long long)in->prefill_tok, (long long)in->decode_seq, (long long)p->chunk);
	if (p->kind == REF_PAGED && p->chunk == 0)
		CHECK(prompts <= 1 || in->prefill_tok <= p->max_batched_tok, "%lld tokens of %lld",
		      (long long)in->prefill_tok, (long long)p->max_batched_tok);
	if (p->kind == REF_PAGED && p->chunk == 0)
		CHECK(in->prefill_tok == 0 || in->decode_seq == 0, "%lld decodes with a prefill",
		      (long long)in->decode_seq);
	if (in->prefill_tok == 0)
		CHECK(in->decode_seq == in->running.n, "%lld of %lld decode",
		      (long long)in->decode_seq, (long long)in->running.n);
}

static void step_start(struct sim *s, struct inst *in)
{
	if (in->prefill_tok == 0 && in->decode_seq == 0) {
		CHECK(in->running.n == 0, "%lld requests run, and nothing is planned",
		      (long long)in->running.n);
		in->run.n = 0;
		return; /* idle; blocks that were moved cost nothing, since no step is longer by it
			 */
	}
	for (int64_t i = 0; i < in->running.n; i++) {
		struct job *j = &s->job[in->running.at[i]];

		if (j->s_ns < 0 && j->add > 0)
			j->s_ns = s->now;
	}
	check_step(s, in);
	in->busy = true;
	s->out->started++;
	in->start_ns = s->now;
	in->used = in->total - in->free;
	if (in->prefill_tok == 0 && in->moved_blocks == 0) {
		in->end_ns = decode_end(s, in);
	} else {
		in->end_ns = single_end(s, in);
		in->due = true;
	}
}

static void step_clear(struct inst *in)
{
	in->prefill_tok = in->decode_seq = in->ctx = in->moved_blocks = 0;
}

static void plan(struct sim *s, struct inst *in)
{
	in->due = false;
	in->wait_ns = -1;
	step_clear(in);
	ref_join(s, in);
	if (in->policy->kind == REF_STATIC)
		ref_plan_static(s, in);
	else if (in->policy->kind == REF_CONTINUOUS)
		ref_plan_continuous(s, in);
	else
		ref_plan_paged(s, in);
}

/* A step boundary: plan() if something was due, else the same decode step goes on. */
void ref_boundary(struct sim *s, struct inst *in)
{
	bool wait_over = in->wait_ns >= 0 && in->wait_ns <= s->now;

	if (s->cfg->plan_always || in->due || wait_over || ref_decode_need(s, in) > in->free) {
		plan(s, in);
	} else {
		step_clear(in);
		ref_decode_all(s, in);
	}
	step_start(s, in);
}

void ref_deliver(struct sim *s, struct inst *in, int64_t r)
{
	struct job *j = &s->job[r];

	CHECK(j->got < j->limit, "request %lld has %lld tokens", (long long)r, (long long)j->got);
	j->token_ns[j->got++] = s->now;
	in->due = in->due || j->got == j->limit;
}

void ref_leave(struct sim *s, struct inst *in, int64_t r)
{
	struct job *j = &s->job[r];

	ref_remove(&in->running, r);
	in->outstanding -= in->prefill_only;
	if (j->got < j->output) { /* prefilled here, decoded elsewhere */
		j->source = j->place;
		j->kept = j->blocks;
		ref_push(&s->ready, r);
	} else {
		in->free += j->blocks;
	}
	j->blocks = 0;
	j->place = -1;
}

static void record_step(struct sim *s, const struct inst *in)
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
		.instance = in - s->inst,
		.start_ns = in->start_ns,
		.end_ns = in->end_ns,
		.prefill_tok = in->prefill_tok,
		.decode_seq = in->decode_seq,
		.ctx = in->ctx,
		.blocks_used = in->used,
	};
}

void ref_step_end(struct sim *s, struct inst *in)
{
	record_step(s, in);
	in->busy = false;
	if (in->policy->kind == REF_STATIC) {
		ref_static_step_end(s, in);
		return;
	}
	for (int64_t i = 0; i < in->running.n;) {
		int64_t r = in->running.at[i];
		struct job *j = &s->job[r];
		bool token = j->decodes;

		if (j->add > 0) {
			j->prefilled += j->add;
			s->out->recomputed_tok += j->recomputed ? j->add : 0;
			token = j->prefilled == j->seq;
		}
		j->add = 0;
		j->decodes = false;
		if (token)
			ref_deliver(s, in, r);
		if (j->got < j->limit) {
			i++;
			continue;
		}
		ref_leave(s, in, r); /* the next one moves to place i */
		if (j->got == j->output)
			ref_job_done(s, r);
	}
}
