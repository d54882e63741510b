/* Lists, the waiting queue, what plans are made of, and the plan of continuous batching. */
#include "tests/reference_state.h"

#include <math.h>

void ref_push(struct list *l, int64_t x)
{
	l->at[l->n++] = x;
}

void ref_insert(struct list *l, int64_t at, int64_t x)
{
	for (int64_t i = l->n++; i > at; i--)
		l->at[i] = l->at[i - 1];
	l->at[at] = x;
}

void ref_remove(struct list *l, int64_t x)
{
	int64_t kept = 0;

	for (int64_t i = 0; i < l->n; i++)
		if (l->at[i] != x)
			l->at[kept++] = l->at[i];
	CHECK(kept == l->n - 1, "%lld of %lld left", (long long)kept, (long long)l->n);
	l->n = kept;
}

void ref_insert_by_admission(const struct sim *s, struct list *l, int64_t r)
{
	int64_t at = 0;

	while (at < l->n && s->job[l->at[at]].order < s->job[r].order)
		at++;
	ref_insert(l, at, r);
}

void ref_all_due(struct inst *in)
{
	for (int64_t b = 0; b < in->pp; b++)
		in->batch[b].due = true;
}

/* --- the waiting queue --- */

static uint64_t splitmix64(uint64_t x)
{
	uint64_t z = x + 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static int64_t rank(const struct sim *s, const struct ref_policy *p, int64_t r)
{
	double u = (double)(splitmix64(s->cfg->seed + (uint64_t)r) >> 11) / 9007199254740992.0;
	double predicted = (double)s->job[r].limit * (1 + p->predict_error * (2 * u - 1));

	switch (p->order) {
	case REF_FCFS:
		return 0;
	case REF_SJF:
		return llround(1024 * predicted);
	case REF_LJF:
		return -llround(1024 * predicted);
	case REF_PRIORITY:
		return s->req[r].priority;
	}
	return 0;
}

/* With async=1 one that comes while a step goes on is not seen by the plan at its end. */
void ref_queue_arrival(struct sim *s, struct inst *in, int64_t r)
{
	int64_t at = 0;

	s->job[r].rank = rank(s, in->policy, r);
	s->job[r].in_front = false;
	s->job[r].late = s->cfg->async && (in->batch[0].busy || in->batch[0].at_end);
	while (at < in->waiting.n && (s->job[in->waiting.at[at]].in_front ||
				      s->job[in->waiting.at[at]].rank <= s->job[r].rank))
		at++;
	s->out->seen.order_changes += at < in->waiting.n;
	ref_insert(&in->waiting, at, r);
	ref_all_due(in);
}

void ref_queue_preempted(struct sim *s, struct inst *in, int64_t r)
{
	s->job[r].in_front = true;
	ref_insert(&in->waiting, 0, r);
}

int64_t ref_seen(const struct sim *s, const struct batch *b, int64_t k)
{
	const struct list *w = &b->in->waiting;

	for (int64_t i = 0; i < w->n; i++)
		if (!s->job[w->at[i]].late && k-- == 0)
			return w->at[i];
	return -1;
}

/* --- what plans are made of --- */

int64_t ref_seats_used(const struct sim *s, const struct batch *b)
{
	int64_t used = b->running.n + b->joining.n + b->held.n + b->held_seats;

	for (int64_t i = 0; i < b->in->inbound.n; i++)
		used += s->job[b->in->inbound.at[i]].batch == b->index;
	return used;
}

static int64_t going_on(const struct sim *s, const struct batch *b)
{
	int64_t n = 0;

	for (int64_t i = 0; i < b->running.n; i++)
		n += !ref_over(b, &s->job[b->running.at[i]]);
	return n;
}

bool ref_has_share(struct sim *s, const struct batch *b, int64_t more)
{
	const struct inst *in = b->in;
	int64_t all = in->waiting.n;

	if (in->pp == 1)
		return false;
	for (int64_t k = 0; k < in->pp; k++)
		all += going_on(s, &in->batch[k]);
	if (going_on(s, b) + more < ref_ceil(all, in->pp))
		return false;
	s->out->seen.share_refusals++;
	return true;
}

bool ref_may_admit(struct sim *s, const struct batch *b)
{
	int64_t used = ref_seats_used(s, b);

	if (used >= b->in->policy->seats) {
		s->out->seen.late_seats += used - b->held.n - b->held_seats < b->in->policy->seats;
		return false;
	}
	return !ref_has_share(s, b, 0);
}

int64_t ref_reservation(const struct ref_policy *p, const struct job *j)
{
	if (p->kind == REF_PAGED)
		return 0;
	if (p->kind == REF_STATIC || p->reserve == REF_MAX)
		return j->prompt + j->max_tok;
	if (p->reserve == REF_POW2)
		return j->prompt + ref_power_up(j->limit);
	return j->prompt + j->limit;
}

void ref_admit(struct sim *s, struct batch *b, int64_t r)
{
	struct inst *in = b->in;
	struct job *j = &s->job[r];

	CHECK(ref_seats_used(s, b) < in->policy->seats, "%lld seats of %lld",
	      (long long)ref_seats_used(s, b), (long long)in->policy->seats);
	ref_remove(&in->waiting, r);
	ref_push(&b->running, r);
	j->order = s->orders++;
	j->place = in - s->inst;
	j->batch = b->index;
	if (in->policy->prefix)
		ref_prefix_hold(s, in, r);
	j->admitted = true;
	if (in->pp > 1)
		ref_all_due(in);
}

void ref_add(struct batch *b, struct job *j, int64_t tok)
{
	CHECK(tok >= 1 && j->prefilled + tok <= j->seq && !j->decodes, "%lld tokens",
	      (long long)tok);
	j->add = tok;
	b->prefill_tok += tok;
	b->prefill_seq++;
	b->longest = ref_max(b->longest, tok);
}

void ref_decode(struct sim *s, struct batch *b, struct job *j, int64_t ctx)
{
	CHECK(j->prefilled == j->seq && j->add == 0, "%lld of %lld prefilled",
	      (long long)j->prefilled, (long long)j->seq);
	j->decodes = true;
	b->decode_seq++;
	b->ctx += ctx;
	b->window_ctx += ref_min(ctx, s->cfg->window_tok);
	b->below += ctx < s->cfg->window_tok;
}

/* Blocks that request r has to be given before it can decode. */
static int64_t short_of(const struct sim *s, const struct job *j)
{
	return ref_max(0, ref_blocks(s, j->prompt + j->got) - j->blocks);
}

int64_t ref_decode_need(const struct sim *s, const struct batch *b)
{
	int64_t need = 0;

	for (int64_t i = 0; i < b->running.n; i++) {
		const struct job *j = &s->job[b->running.at[i]];

		if (j->prefilled == j->seq)
			need += short_of(s, j);
	}
	return need;
}

void ref_decode_all(struct sim *s, struct batch *b)
{
	for (int64_t i = 0; i < b->running.n; i++) {
		struct job *j = &s->job[b->running.at[i]];

		if (j->prefilled != j->seq || j->add > 0)
			continue;
		ref_take(s, b->in, j, short_of(s, j));
		ref_decode(s, b, j,
			   b->in->policy->kind == REF_STATIC ? b->pmax + b->batch_got
							     : j->prompt + j->got);
	}
}

/* --- continuous --- */

void ref_plan_continuous(struct sim *s, struct batch *b)
{
	for (int64_t r; (r = ref_seen(s, b, 0)) >= 0 && ref_may_admit(s, b);) {
		struct job *j = &s->job[r];
		int64_t need = ref_blocks(s, ref_reservation(b->in->policy, j));

		if (!ref_reserve_fits(s, b->in, need))
			break;
		ref_admit(s, b, r);
		ref_reserve(s, b->in, j, need);
		ref_add(b, j, j->seq);
	}
	ref_decode_all(s, b);
}
