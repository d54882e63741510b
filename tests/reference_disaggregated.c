/* From the end of a prefill to the first decode step elsewhere; and the count after every event. */
#include "tests/reference_state.h"

#include <math.h>

static bool swapped_out(const struct inst *in)
{
	for (int64_t b = 0; b < in->pp; b++)
		if (in->batch[b].swapped.n > 0)
			return true;
	return false;
}

/* The batch that a pull would go to. */
static struct batch *emptiest(const struct sim *s, struct inst *in)
{
	struct batch *best = &in->batch[0];

	for (int64_t b = 1; b < in->pp; b++)
		if (ref_seats_used(s, &in->batch[b]) < ref_seats_used(s, best))
			best = &in->batch[b];
	return best;
}

/* Of the decode instances with a free seat and nothing swapped out, the one with the most free
 * blocks. */
int64_t ref_puller(const struct sim *s)
{
	int64_t best = -1;

	if (s->ready.n == 0)
		return -1;
	for (int64_t i = s->cfg->instances; i < s->inst_n; i++) {
		struct inst *in = &s->inst[i];

		if (swapped_out(in) || ref_seats_used(s, emptiest(s, in)) >= in->policy->seats)
			continue;
		if (best < 0 || in->free > s->inst[best].free)
			best = i;
	}
	if (best >= 0 && ref_blocks(s, s->job[s->ready.at[0]].prompt + 1) > s->inst[best].free)
		return -1;
	return best;
}

static void pull_head(struct sim *s, int64_t puller)
{
	const struct ref_config *c = s->cfg;
	struct inst *to = &s->inst[puller];
	int64_t r = s->ready.at[0];
	struct job *j = &s->job[r];
	double bytes = (double)(j->prompt * c->kv_token_bytes +
				ref_min(j->prompt, c->window_tok) * c->window_token_bytes);

	ref_remove(&s->ready, r);
	j->batch = emptiest(s, to)->index;
	ref_push(&to->inbound, r);
	j->place = puller;
	j->decode_instance = puller - c->instances;
	ref_take(s, to, j, ref_blocks(s, j->prompt + 1));
	to->link_end_ns = ref_max(s->now, to->link_end_ns) +
			  llround(c->latency_ns + bytes * 1e9 / c->link_bytes_s);
	j->transfer_end_ns = to->link_end_ns;
}

void ref_pull(struct sim *s)
{
	for (int64_t puller; (puller = ref_puller(s)) >= 0;)
		pull_head(s, puller);
}

void ref_transfer_end(struct sim *s, int64_t to)
{
	struct inst *in = &s->inst[to];
	int64_t r = in->inbound.at[0];
	struct job *j = &s->job[r];
	struct inst *from = &s->inst[j->source];
	struct batch *b = &in->batch[j->batch];

	ref_free(s, from, j, j->kept);
	ref_all_due(from);
	j->kept = 0;
	j->source = -1;
	if (j->doomed)
		ref_abort(s, r);
	else
		ref_push(&b->joining, r);
	ref_remove(&in->inbound, r);
	ref_all_due(in);
	j->limit = j->output;
}

void ref_join(struct sim *s, struct batch *b)
{
	while (b->joining.n > 0) {
		int64_t r = b->joining.at[0];

		ref_remove(&b->joining, r);
		ref_push(&b->running, r);
		b->run.n = 0;
		s->job[r].order = s->orders++;
	}
}
