/* The count after every event. */
#include "tests/reference_state.h"

static void check_inst(const struct sim *s, int64_t i)
{
	const struct inst *in = &s->inst[i];
	int64_t host = 0, there = 0;

	for (int64_t r = 0; r < s->n; r++) {
		const struct job *j = &s->job[r];

		host += j->place == i ? j->host : 0;
		there += j->instance == i && !j->done && !j->aborted;
	}
	if (in->prefill_only)
		there = in->waiting.n;
	for (int64_t b = 0; b < in->pp; b++) {
		there += in->prefill_only ? in->batch[b].running.n : 0;
		CHECK(ref_seats_used(s, &in->batch[b]) <= in->policy->seats, "%lld seats of %lld",
		      (long long)ref_seats_used(s, &in->batch[b]), (long long)in->policy->seats);
	}
	CHECK(in->decode_only || in->outstanding == there, "%lld outstanding, not %lld",
	      (long long)in->outstanding, (long long)there);
	CHECK(in->host_free + host == in->host_total && in->host_free >= 0,
	      "host: %lld free + %lld used of %lld", (long long)in->host_free, (long long)host,
	      (long long)in->host_total);
	ref_pool_check(s, i);
}

/* Slots that a running request holds: what is prefilled, or P + g in a decode step, P + g - 1
 * between. */
static int64_t slots(const struct job *j)
{
	if (j->prefilled < j->seq)
		return j->prefilled + j->add;
	return j->prompt + j->got - (j->decodes || j->got == 0 ? 0 : 1);
}

static void check_running(const struct sim *s, const struct batch *b)
{
	for (int64_t i = 0; i < b->running.n; i++) {
		const struct job *j = &s->job[b->running.at[i]];
		int64_t need = ref_blocks(s, slots(j));

		CHECK(j->blocks >= need, "request %lld: %lld blocks of %lld",
		      (long long)b->running.at[i], (long long)j->blocks, (long long)need);
		if (b->in->policy->kind == REF_PAGED && !(b->in->decode_only && j->got <= 1))
			CHECK(j->blocks == need, "request %lld: %lld blocks, not %lld",
			      (long long)b->running.at[i], (long long)j->blocks, (long long)need);
		CHECK(j->place == b->in - s->inst && j->batch == b->index, "request %lld",
		      (long long)b->running.at[i]);
		if (i > 0)
			CHECK(s->job[b->running.at[i - 1]].order < j->order, "place %lld",
			      (long long)i);
	}
}

/* Every request that has arrived is in exactly one place. */
static void check_places(const struct sim *s)
{
	int64_t arrived = 0, gone = 0, there = s->ready.n;

	for (int64_t r = 0; r < s->n; r++) {
		const struct job *j = &s->job[r];

		arrived += j->arrived;
		gone += j->rejected ? j->arrived : (j->done || j->aborted) && j->place < 0;
	}
	for (int64_t i = 0; i < s->inst_n; i++) {
		const struct inst *in = &s->inst[i];

		there += in->waiting.n + in->inbound.n;
		for (int64_t k = 0; k < in->pp; k++) {
			const struct batch *b = &in->batch[k];

			there += b->running.n + b->swapped.n + b->joining.n + b->held.n;
		}
	}
	CHECK(arrived == gone + there, "%lld arrived, %lld gone, %lld there", (long long)arrived,
	      (long long)gone, (long long)there);
}

void ref_check(const struct sim *s)
{
	for (int64_t i = 0; i < s->inst_n; i++) {
		check_inst(s, i);
		for (int64_t b = 0; b < s->inst[i].pp; b++)
			check_running(s, &s->inst[i].batch[b]);
	}
	check_places(s);
}
