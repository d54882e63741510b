/* The plans of paged batching, whole prompts and chunks, and preemption. */
#include "tests/reference_state.h"

#include <math.h>

static int64_t partial(const struct sim *s, const struct batch *b)
{
	int64_t found = -1;

	for (int64_t i = 0; i < b->running.n; i++) {
		const struct job *j = &s->job[b->running.at[i]];

		if (j->prefilled == j->seq)
			continue;
		CHECK(found < 0, "requests %lld and %lld are both partly prefilled",
		      (long long)found, (long long)b->running.at[i]);
		found = b->running.at[i];
	}
	return found;
}

/* A request that is partly prefilled has no next token to come back for: it is always recomputed.
 */
static void preempt(struct sim *s, struct batch *b, int64_t r)
{
	struct inst *in = b->in;
	struct job *j = &s->job[r];
	bool swap = in->policy->swap && j->prefilled == j->seq && j->blocks <= in->host_free;

	CHECK(!j->decodes && j->add == 0, "request %lld is in this step already", (long long)r);
	j->preemptions++;
	b->preempted = true;
	ref_remove(&b->running, r);
	ref_free(s, in, j, j->blocks);
	if (in->pp > 1)
		ref_all_due(in);
	if (swap) {
		s->out->swaps++;
		in->host_free -= j->blocks;
		j->host = j->blocks;
		b->moved_blocks += j->blocks;
		ref_insert_by_admission(s, &b->swapped, r);
	} else {
		j->redo = ref_max(j->redo,
				  j->prefilled == j->seq ? j->prompt + j->got : j->prefilled);
		j->seq = j->prompt + j->got;
		j->prefilled = 0;
		j->place = -1;
		ref_queue_preempted(s, in, r);
	}
	j->blocks = 0;
}

/* Preempts the last admitted until all that are prefilled can decode. Returns whether it had to. */
static bool make_room(struct sim *s, struct batch *b)
{
	bool preempted = false;

	while (ref_decode_need(s, b) > b->in->free) {
		preempt(s, b, b->running.at[b->running.n - 1]);
		preempted = true;
	}
	return preempted;
}

/* Swapped requests come back, oldest admission first, and decode in this step. */
static void bring_back(struct sim *s, struct batch *b, int64_t *budget)
{
	struct inst *in = b->in;

	while (b->swapped.n > 0 && ref_seats_used(s, b) < in->policy->seats && *budget > 0) {
		int64_t r = b->swapped.at[0];
		struct job *j = &s->job[r];
		int64_t need = ref_blocks(s, j->prompt + j->got);

		if (need > in->free)
			return;
		ref_remove(&b->swapped, r);
		ref_insert_by_admission(s, &b->running, r);
		if (in->pp > 1)
			ref_all_due(in);
		in->host_free += j->host;
		b->moved_blocks += j->host;
		j->host = 0;
		ref_take(s, in, j, need);
		ref_decode(s, b, j, j->prompt + j->got);
		--*budget;
	}
}

/* Free blocks that an admission needs. */
static int64_t admission_need(const struct sim *s, const struct inst *in, int64_t r)
{
	int64_t held;

	ref_prefix_find(s, in, r, &held);
	return ref_blocks(s, s->job[r].seq) - held;
}

/* Prompt tokens into this step, and blocks for them. */
static void prefill(struct sim *s, struct batch *b, int64_t r, int64_t tok)
{
	struct job *j = &s->job[r];

	ref_take(s, b->in, j, ref_blocks(s, j->prefilled + tok) - j->blocks);
	ref_add(b, j, tok);
	ref_prefix_know(s, b->in, r);
}

/* --- chunk=0 --- */

/* Whether so many prompt tokens more fit into this step; what comes first always does. */
static bool fits_step(const struct batch *b, int64_t tok)
{
	const struct ref_policy *p = b->in->policy;
	int64_t product = (b->prefill_seq + 1) * ref_max(b->longest, tok);

	if (b->prefill_seq == 0)
		return true;
	if (p->max_paddings < 0)
		return b->prefill_tok + b->decode_seq + tok <= p->max_batched_tok;
	return product + b->decode_seq <= p->max_batched_tok &&
	       product - (b->prefill_tok + tok) <= p->max_paddings;
}

static bool can_admit(struct sim *s, struct batch *b, int64_t r)
{
	const struct inst *in = b->in;
	int64_t after = in->free - admission_need(s, in, r), held;
	int64_t spare = (int64_t)floor(in->policy->watermark * (double)in->total);
	int64_t rest = s->job[r].seq - ref_prefix_find(s, in, r, &held) * s->cfg->block_tok;
	bool first = true; /* those admitted in this step run */

	for (int64_t k = 0; k < in->pp; k++)
		first = first && in->batch[k].running.n == 0;

	return ref_may_admit(s, b) && fits_step(b, rest) && after >= (first ? 0 : spare);
}

static void admit_whole(struct sim *s, struct batch *b)
{
	for (int64_t r; b->swapped.n == 0 && (r = ref_seen(s, b, 0)) >= 0 && can_admit(s, b, r);) {
		ref_admit(s, b, r);
		prefill(s, b, r, s->job[r].seq - s->job[r].prefilled);
	}
	s->out->seen.mixed_steps += b->prefill_seq > 0 && b->decode_seq > 0;
	if (b->in->policy->max_paddings < 0 || b->prefill_seq == 0)
		return;
	s->out->seen.paddings += b->prefill_tok < b->prefill_seq * b->longest;
	b->prefill_tok = b->prefill_seq * b->longest;
}

static void plan_whole(struct sim *s, struct batch *b)
{
	int64_t no_budget = INT64_MAX;
	bool preempted;

	if (!b->in->policy->mixed)
		admit_whole(s, b);
	if (b->prefill_seq > 0)
		return;
	preempted = make_room(s, b);
	ref_decode_all(s, b);
	if (preempted)
		return;
	bring_back(s, b, &no_budget);
	if (b->in->policy->mixed)
		admit_whole(s, b);
}

/* --- chunk=N --- */

/* The next chunk of the partial request, or its preemption. */
static bool go_on_with(struct sim *s, struct batch *b, int64_t r, int64_t *budget)
{
	struct job *j = &s->job[r];
	int64_t tok = ref_min(j->seq - j->prefilled, *budget);

	CHECK(tok > 0, "no budget for request %lld", (long long)r);
	if (ref_blocks(s, j->prefilled + tok) - j->blocks > b->in->free) {
		preempt(s, b, r);
		return true;
	}
	prefill(s, b, r, tok);
	*budget -= tok;
	return false;
}

static void admit_chunks(struct sim *s, struct batch *b, int64_t *budget)
{
	for (int64_t r; *budget > 0 && (r = ref_seen(s, b, 0)) >= 0 && ref_may_admit(s, b);) {
		struct job *j = &s->job[r];
		int64_t tok;

		if (admission_need(s, b->in, r) > b->in->free)
			return;
		ref_admit(s, b, r);
		tok = ref_min(j->seq - j->prefilled, *budget);
		prefill(s, b, r, tok);
		*budget -= tok;
	}
}

static void plan_chunked(struct sim *s, struct batch *b)
{
	int64_t budget = b->in->policy->chunk, rest;
	bool preempted = make_room(s, b);

	rest = partial(s, b);
	ref_decode_all(s, b);
	budget -= b->decode_seq;
	if (rest >= 0 && go_on_with(s, b, rest, &budget))
		preempted = true;
	if (preempted)
		return;
	bring_back(s, b, &budget);
	if (b->swapped.n == 0)
		admit_chunks(s, b, &budget);
}

void ref_plan_paged(struct sim *s, struct batch *b)
{
	if (b->in->policy->chunk == 0)
		plan_whole(s, b);
	else
		plan_chunked(s, b);
}
