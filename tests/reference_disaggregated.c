/* From the end of a prefill to the first decode step elsewhere; and the count after every event. */
#include "tests/reference_state.h"

#include <math.h>

/* Of the decode instances with a free seat and nothing swapped out, the one with the most free
 * blocks. */
int64_t ref_puller(const struct sim *s)
{
	int64_t best = -1;

	if (s->ready.n == 0)
		return -1;
	for (int64_t i = s->cfg->instances; i < s->inst_n; i++) {
		const struct inst *in = &s->inst[i];

		if (in->swapped.n > 0 || ref_seats_used(in) >= in->policy->seats)
			continue;
		if (best < 0 || in->free > s->inst[best].free)
			best = i;
	}
	if (best >= 0 && ref_blocks(s, s->job[s->ready.at[0]].prompt + 1) > s->inst[best].free)
		return -1;
	return best;
}

void ref_pull(struct sim *s, int64_t puller)
{
	const struct ref_config *c = s->cfg;
	struct inst *to = &s->inst[puller];
	int64_t r = s->ready.at[0];
	struct job *j = &s->job[r];
	double bytes = (double)(j->prompt * c->kv_token_bytes);

	ref_remove(&s->ready, r);
	ref_push(&to->inbound, r);
	j->place = puller;
	j->decode_instance = puller - c->instances;
	ref_take(to, j, ref_blocks(s, j->prompt + 1));
	to->link_end_ns = ref_max(s->now, to->link_end_ns) +
			  llround(c->latency_ns + bytes * 1e9 / c->link_bytes_s);
	to->inbound_end_ns[r] = to->link_end_ns;
}

void ref_transfer_end(struct sim *s, int64_t to)
{
	struct inst *in = &s->inst[to];
	int64_t r = in->inbound.at[0];
	struct job *j = &s->job[r];
	struct inst *from = &s->inst[j->source];

	ref_remove(&in->inbound, r);
	ref_push(&in->joining, r);
	in->due = true;
	from->free += j->kept;
	from->due = true;
	j->kept = 0;
	j->source = -1;
	j->limit = j->output;
}

void ref_join(struct sim *s, struct inst *in)
{
	while (in->joining.n > 0) {
		int64_t r = in->joining.at[0];

		ref_remove(&in->joining, r);
		ref_push(&in->running, r);
		in->run.n = 0;
		s->job[r].order = s->orders++;
	}
}

/* --- the count --- */

static void check_inst(const struct sim *s, int64_t i)
{
	const struct inst *in = &s->inst[i];
	int64_t used = 0, host = 0, there = 0;

	for (int64_t r = 0; r < s->n; r++) {
		const struct job *j = &s->job[r];

		used += j->place == i ? j->blocks : 0;
		used += j->source == i ? j->kept : 0;
		host += j->place == i ? j->host : 0;
		there += j->instance == i && !j->done;
	}
	if (in->prefill_only)
		there = in->waiting.n + in->running.n;
	CHECK(in->decode_only || in->outstanding == there, "%lld outstanding, not %lld",
	      (long long)in->outstanding, (long long)there);
	CHECK(in->free + used == in->total && in->free >= 0, "%lld free + %lld used of %lld",
	      (long long)in->free, (long long)used, (long long)in->total);
	CHECK(in->host_free + host == in->host_total && in->host_free >= 0,
	      "host: %lld free + %lld used of %lld", (long long)in->host_free, (long long)host,
	      (long long)in->host_total);
	CHECK(ref_seats_used(in) <= in->policy->seats, "%lld seats of %lld",
	      (long long)ref_seats_used(in), (long long)in->policy->seats);
}

/* Slots that a running request holds: what is prefilled, or P + g in a decode step, P + g - 1
 * between. */
static int64_t slots(const struct job *j)
{
	if (j->prefilled < j->seq)
		return j->prefilled + j->add;
	return j->prompt + j->got - (j->decodes ? 0 : 1);
}

static void check_running(const struct sim *s, const struct inst *in)
{
	for (int64_t i = 0; i < in->running.n; i++) {
		const struct job *j = &s->job[in->running.at[i]];
		int64_t need = ref_blocks(s, slots(j));

		CHECK(j->blocks >= need, "request %lld: %lld blocks of %lld",
		      (long long)in->running.at[i], (long long)j->blocks, (long long)need);
		if (in->policy->kind == REF_PAGED && !(in->decode_only && j->got == 1))
			CHECK(j->blocks == need, "request %lld: %lld blocks, not %lld",
			      (long long)in->running.at[i], (long long)j->blocks, (long long)need);
		if (i > 0)
			CHECK(s->job[in->running.at[i - 1]].order < j->order, "place %lld",
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
		gone += j->rejected ? j->arrived : j->done && j->place < 0;
	}
	for (int64_t i = 0; i < s->inst_n; i++) {
		const struct inst *in = &s->inst[i];

		there += in->waiting.n + in->running.n + in->swapped.n + in->inbound.n +
			 in->joining.n;
	}
	CHECK(arrived == gone + there, "%lld arrived, %lld gone, %lld there", (long long)arrived,
	      (long long)gone, (long long)there);
}

void ref_check(const struct sim *s)
{
	for (int64_t i = 0; i < s->inst_n; i++) {
		check_inst(s, i);
		check_running(s, &s->inst[i]);
	}
	check_places(s);
}
