/* The plan of static batching, and the ends of its steps. */
#include "tests/reference_state.h"

/* How many of the queue make the batch; *pmax is the longest prompt among them. */
static int64_t batch_size(struct sim *s, struct batch *b, int64_t *pmax)
{
	int64_t taken = 0;

	*pmax = 0;
	for (int64_t k = 1; k <= b->in->policy->seats && ref_seen(s, b, k - 1) >= 0; k++) {
		int64_t longest = ref_max(*pmax, s->job[ref_seen(s, b, k - 1)].prompt), blocks = 0;

		if (ref_has_share(s, b, taken))
			break;
		for (int64_t i = 0; i < k; i++)
			blocks += ref_blocks(s, longest + s->job[ref_seen(s, b, i)].max_tok);
		if (blocks > b->in->free)
			break;
		taken = k;
		*pmax = longest;
	}
	return taken;
}

static void take_batch(struct sim *s, struct batch *b)
{
	int64_t size = batch_size(s, b, &b->pmax);

	b->batch_got = 0;
	for (int64_t i = 0; i < size; i++) {
		int64_t r = ref_seen(s, b, 0);
		struct job *j = &s->job[r];

		ref_admit(s, b, r);
		ref_reserve(s, b->in, j, ref_blocks(s, b->pmax + j->max_tok));
		ref_add(b, j, j->seq);
	}
	b->prefill_tok = size * b->pmax; /* each counts as the longest */
}

void ref_plan_static(struct sim *s, struct batch *b)
{
	int64_t until, full = b->in->policy->seats;

	if (b->running.n > 0) {
		ref_decode_all(s, b);
		return;
	}
	if (ref_seen(s, b, 0) < 0)
		return;
	until = s->job[ref_seen(s, b, 0)].arrive_ns + b->in->policy->wait_ns;
	if (ref_seen(s, b, full - 1) < 0 && s->now < until)
		b->wait_ns = until;
	else
		take_batch(s, b);
}

static bool batch_over(const struct sim *s, const struct batch *b)
{
	for (int64_t i = 0; i < b->running.n; i++)
		if (!ref_over(b, &s->job[b->running.at[i]]))
			return false;
	return true;
}

/* All leave where none is to go on; with reply=batch that is when their tokens are delivered. */
void ref_static_over(struct sim *s, struct batch *b)
{
	bool late = b->in->policy->reply_batch;

	if (b->running.n == 0 || !batch_over(s, b))
		return;
	while (b->running.n > 0) {
		int64_t r = b->running.at[0];
		struct job *j = &s->job[r];

		for (int64_t k = 0; late && k < j->got; k++)
			j->token_ns[k] = s->now;
		ref_leave(s, b, r);
		if (late && !j->aborted && j->got == j->output)
			ref_job_done(s, r);
	}
	ref_all_due(b->in);
}

void ref_static_step_end(struct sim *s, struct batch *b)
{
	bool late = b->in->policy->reply_batch, over;

	b->batch_got++;
	for (int64_t i = 0; i < b->running.n; i++) {
		int64_t r = b->running.at[i];
		struct job *j = &s->job[r];
		bool was_over = ref_over(b, j);

		j->prefilled += j->add;
		j->add = 0;
		j->decodes = false;
		if (!was_over) /* else it only keeps its seat */
			ref_deliver(s, b, r);
		if (!was_over && !late && j->got == j->output)
			ref_job_done(s, r);
	}
	over = batch_over(s, b);
	for (int64_t i = 0; i < b->running.n; i++) {
		const struct job *j = &s->job[b->running.at[i]];

		if (j->doomed && !j->done && !j->aborted && !(late && over && j->got == j->output))
			ref_abort(s, b->running.at[i]);
	}
	ref_static_over(s, b);
}
