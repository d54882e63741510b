/* The plans of paged batching, whole prompts and chunks, and preemption. */
#include "tests/reference_state.h"

#include <math.h>

static int64_t partial(const struct sim *s, const struct inst *in)
{
	int64_t found = -1;

	for (int64_t i = 0; i < in->running.n; i++) {
		const struct job *j = &s->job[in->running.at[i]];

		if (j->prefilled == j->seq)
			continue;
		CHECK(found < 0, "requests %lld and %lld are both partly prefilled",
		      (long long)found, (long long)in->running.at[i]);
		found = in->running.at[i];
	}
	return found;
}

static void insert_by_admission(const struct sim *s, struct list *l, int64_t r)
{
	int64_t at = 0;

	while (at < l->n && s->job[l->at[at]].order < s->job[r].order)
		at++;
	ref_insert(l, at, r);
}

/* A request that is partly prefilled has no next token to come back for: it is always recomputed.
 */
static void preempt(struct sim *s, struct inst *in, int64_t r)
{
	struct job *j = &s->job[r];
	bool swap = in->policy->swap && j->prefilled == j->seq && j->blocks <= in->host_free;

	CHECK(!j->decodes && j->add == 0, "request %lld is in this step already", (long long)r);
	j->preemptions++;
	in->free += j->blocks;
	ref_remove(&in->running, r);
	if (swap) {
		s->out->swaps++;
		in->host_free -= j->blocks;
		j->host = j->blocks;
		in->moved_blocks += j->blocks;
		insert_by_admission(s, &in->swapped, r);
	} else {
		j->seq = j->prompt + j->got;
		j->prefilled = 0;
		j->recomputed = true;
		ref_insert(&in->waiting, 0, r);
		j->place = -1;
	}
	j->blocks = 0;
}

/* Preempts the last admitted until all that are prefilled can decode. Returns whether it had to. */
static bool make_room(struct sim *s, struct inst *in)
{
	bool preempted = false;

	while (ref_decode_need(s, in) > in->free) {
		preempt(s, in, in->running.at[in->running.n - 1]);
		preempted = true;
	}
	return preempted;
}

/* Swapped requests come back, oldest admission first, and decode in this step. */
static void bring_back(struct sim *s, struct inst *in, int64_t *budget)
{
	while (in->swapped.n > 0 && ref_seats_used(in) < in->policy->seats && *budget > 0) {
		int64_t r = in->swapped.at[0];
		struct job *j = &s->job[r];
		int64_t need = ref_blocks(s, j->prompt + j->got);

		if (need > in->free)
			return;
		ref_remove(&in->swapped, r);
		insert_by_admission(s, &in->running, r);
		in->host_free += j->host;
		in->moved_blocks += j->host;
		j->host = 0;
		ref_take(in, j, need);
		ref_decode(in, j, j->prompt + j->got);
		--*budget;
	}
}

/* --- chunk=0 --- */

static bool can_admit(const struct sim *s, const struct inst *in, bool admitted)
{
	const struct job *j = &s->job[in->waiting.at[0]];
	int64_t after = in->free - ref_blocks(s, j->seq);
	int64_t spare = (int64_t)floor(in->policy->watermark * (double)in->total);

	if (ref_seats_used(in) >= in->policy->seats)
		return false;
	if (admitted && in->prefill_tok + j->seq > in->policy->max_batched_tok)
		return false;
	if (in->running.n == 0 && !admitted)
		spare = 0;
	return after >= spare;
}

static void plan_whole(struct sim *s, struct inst *in)
{
	bool admitted = false;
	int64_t no_budget = INT64_MAX;

	while (in->swapped.n == 0 && in->waiting.n > 0 && can_admit(s, in, admitted)) {
		struct job *j = &s->job[in->waiting.at[0]];

		ref_admit(s, in);
		ref_take(in, j, ref_blocks(s, j->seq));
		ref_add(in, j, j->seq);
		admitted = true;
	}
	if (admitted)
		return;
	if (make_room(s, in)) {
		ref_decode_all(s, in);
	} else {
		ref_decode_all(s, in);
		bring_back(s, in, &no_budget);
	}
}

/* --- chunk=N --- */

static void add_chunk(const struct sim *s, struct inst *in, struct job *j, int64_t *budget)
{
	int64_t tok = ref_min(j->seq - j->prefilled, *budget);

	ref_take(in, j, ref_blocks(s, j->prefilled + tok) - j->blocks);
	ref_add(in, j, tok);
	*budget -= tok;
}

/* The next chunk of the partial request, or its preemption. */
static bool go_on_with(struct sim *s, struct inst *in, int64_t r, int64_t *budget)
{
	struct job *j = &s->job[r];
	int64_t tok = ref_min(j->seq - j->prefilled, *budget);

	CHECK(tok > 0, "no budget for request %lld", (long long)r);
	if (ref_blocks(s, j->prefilled + tok) - j->blocks > in->free) {
		preempt(s, in, r);
		return true;
	}
	add_chunk(s, in, j, budget);
	return false;
}

static void admit_chunks(struct sim *s, struct inst *in, int64_t *budget)
{
	while (in->waiting.n > 0 && ref_seats_used(in) < in->policy->seats && *budget > 0) {
		struct job *j = &s->job[in->waiting.at[0]];

		if (ref_blocks(s, j->seq) > in->free)
			return;
		ref_admit(s, in);
		add_chunk(s, in, j, budget);
	}
}

static void plan_chunked(struct sim *s, struct inst *in)
{
	int64_t budget = in->policy->chunk, rest;
	bool preempted = make_room(s, in);

	rest = partial(s, in);
	ref_decode_all(s, in);
	budget -= in->decode_seq;
	if (rest >= 0 && go_on_with(s, in, rest, &budget))
		preempted = true;
	if (preempted)
		return;
	bring_back(s, in, &budget);
	if (in->swapped.n == 0)
		admit_chunks(s, in, &budget);
}

void ref_plan_paged(struct sim *s, struct inst *in)
{
	if (in->policy->chunk == 0)
		plan_whole(s, in);
	else
		plan_chunked(s, in);
}
