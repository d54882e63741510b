/* Lists, what plans are made of, and the plans of static and continuous batching. */
#include "tests/reference_state.h"

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

int64_t ref_seats_used(const struct inst *in)
{
	return in->running.n + in->inbound.n + in->joining.n;
}

static int64_t power_of_two(int64_t n)
{
	int64_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

int64_t ref_reservation(const struct ref_policy *p, const struct job *j)
{
	if (p->kind == REF_PAGED)
		return 0;
	if (p->kind == REF_STATIC || p->reserve == REF_MAX)
		return j->prompt + j->max_tok;
	if (p->reserve == REF_POW2)
		return j->prompt + power_of_two(j->limit);
	return j->prompt + j->limit;
}

void ref_take(struct inst *in, struct job *j, int64_t blocks)
{
	CHECK(blocks >= 0 && blocks <= in->free, "%lld blocks of %lld", (long long)blocks,
	      (long long)in->free);
	in->free -= blocks;
	j->blocks += blocks;
}

void ref_admit(struct sim *s, struct inst *in)
{
	int64_t r = in->waiting.at[0];

	CHECK(ref_seats_used(in) < in->policy->seats, "%lld seats of %lld",
	      (long long)ref_seats_used(in), (long long)in->policy->seats);
	ref_remove(&in->waiting, r);
	ref_push(&in->running, r);
	s->job[r].order = s->orders++;
	s->job[r].place = in - s->inst;
}

void ref_add(struct inst *in, struct job *j, int64_t tok)
{
	CHECK(tok >= 1 && j->prefilled + tok <= j->seq && !j->decodes, "%lld tokens",
	      (long long)tok);
	j->add = tok;
	in->prefill_tok += tok;
}

void ref_decode(struct inst *in, struct job *j, int64_t ctx)
{
	CHECK(j->prefilled == j->seq && j->add == 0, "%lld of %lld prefilled",
	      (long long)j->prefilled, (long long)j->seq);
	j->decodes = true;
	in->decode_seq++;
	in->ctx += ctx;
}

/* Blocks that request r has to be given before it can decode. */
static int64_t short_of(const struct sim *s, const struct job *j)
{
	return ref_max(0, ref_blocks(s, j->prompt + j->got) - j->blocks);
}

int64_t ref_decode_need(const struct sim *s, const struct inst *in)
{
	int64_t need = 0;

	for (int64_t i = 0; i < in->running.n; i++) {
		const struct job *j = &s->job[in->running.at[i]];

		if (j->prefilled == j->seq)
			need += short_of(s, j);
	}
	return need;
}

void ref_decode_all(struct sim *s, struct inst *in)
{
	for (int64_t i = 0; i < in->running.n; i++) {
		struct job *j = &s->job[in->running.at[i]];

		if (j->prefilled != j->seq || j->add > 0)
			continue;
		ref_take(in, j, short_of(s, j));
		ref_decode(in, j,
			   in->policy->kind == REF_STATIC ? in->pmax + in->batch_got
							  : j->prompt + j->got);
	}
}

/* --- static --- */

/* How many of the queue make the batch; *pmax is the longest prompt among them. */
static int64_t batch_size(const struct sim *s, const struct inst *in, int64_t *pmax)
{
	int64_t taken = 0;

	*pmax = 0;
	for (int64_t k = 1; k <= in->waiting.n && k <= in->policy->seats; k++) {
		int64_t longest = ref_max(*pmax, s->job[in->waiting.at[k - 1]].prompt), blocks = 0;

		for (int64_t i = 0; i < k; i++)
			blocks += ref_blocks(s, longest + s->job[in->waiting.at[i]].max_tok);
		if (blocks > in->free)
			break;
		taken = k;
		*pmax = longest;
	}
	return taken;
}

static void take_batch(struct sim *s, struct inst *in)
{
	int64_t size = batch_size(s, in, &in->pmax);

	in->batch_got = 0;
	for (int64_t i = 0; i < size; i++) {
		struct job *j = &s->job[in->waiting.at[0]];

		ref_admit(s, in);
		ref_take(in, j, ref_blocks(s, in->pmax + j->max_tok));
		ref_add(in, j, j->seq);
	}
	in->prefill_tok = size * in->pmax; /* each counts as the longest */
}

void ref_plan_static(struct sim *s, struct inst *in)
{
	int64_t until;

	if (in->running.n > 0) {
		ref_decode_all(s, in);
		return;
	}
	if (in->waiting.n == 0)
		return;
	until = s->job[in->waiting.at[0]].arrive_ns + in->policy->wait_ns;
	if (in->waiting.n < in->policy->seats && s->now < until)
		in->wait_ns = until;
	else
		take_batch(s, in);
}

static bool batch_over(const struct sim *s, const struct inst *in)
{
	for (int64_t i = 0; i < in->running.n; i++)
		if (s->job[in->running.at[i]].got < s->job[in->running.at[i]].limit)
			return false;
	return true;
}

void ref_static_step_end(struct sim *s, struct inst *in)
{
	bool late = in->policy->reply_batch, over;

	in->batch_got++;
	for (int64_t i = 0; i < in->running.n; i++) {
		int64_t r = in->running.at[i];
		struct job *j = &s->job[r];

		j->prefilled += j->add;
		j->add = 0;
		j->decodes = false;
		if (j->got == j->limit)
			continue; /* it only keeps its seat */
		ref_deliver(s, in, r);
		if (!late && j->got == j->output)
			ref_job_done(s, r);
	}
	over = batch_over(s, in);
	while (over && in->running.n > 0) {
		int64_t r = in->running.at[0];
		struct job *j = &s->job[r];

		for (int64_t k = 0; late && k < j->got; k++)
			j->token_ns[k] = s->now;
		ref_leave(s, in, r);
		if (late && j->got == j->output)
			ref_job_done(s, r);
	}
	in->due = in->due || over;
}

/* --- continuous --- */

void ref_plan_continuous(struct sim *s, struct inst *in)
{
	while (in->waiting.n > 0 && ref_seats_used(in) < in->policy->seats) {
		struct job *j = &s->job[in->waiting.at[0]];
		int64_t need = ref_blocks(s, ref_reservation(in->policy, j));

		if (need > in->free)
			break;
		ref_admit(s, in);
		ref_take(in, j, need);
		ref_add(in, j, j->seq);
	}
	ref_decode_all(s, in);
}
