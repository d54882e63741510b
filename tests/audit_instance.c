/* The recount of one instance. */
#include "sim/decoding.h"
#include "tests/audit.h"

static int64_t ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

/* Blocks that the slot after so many takes where their last block is full. */
static int64_t next_blocks(const struct kv *kv, int64_t slots)
{
	return !kv->window_only + (slots < kv->window_tok ? kv->window_share : 0);
}

/* What is found by walking the running requests. */
struct found {
	int64_t n, partial, decoding, growers;
	int64_t blocks, ctx, longest;
	int64_t window_b, window_ctx;
};

/* Blocks of so many slots, by the two terms where the model has windows. */
static int64_t blocks_for(const struct kv *kv, int64_t slots)
{
	int64_t within = slots < kv->window_tok ? slots : kv->window_tok;
	int64_t all = kv->window_only ? 0 : ceil_div(slots, kv->block_tok);

	return all + kv->window_share * ceil_div(within, kv->block_tok);
}

/* Decode steps that go on now: their blocks are taken, their tokens are not there yet. */
static int64_t going_on(const struct instance *in)
{
	if (in->b.in_single)
		return in->b.single.decodes;
	return in->b.busy ? in->b.run.begun - in->b.run.done : 0;
}

static int64_t tok_in_step(const struct instance *in, const struct job *j)
{
	int64_t tok = 0;

	for (int64_t i = 0; in->b.in_single && i < in->b.single.n_prefill; i++)
		if (in->b.single.prefill[i] == j)
			tok += in->b.single.prefill_tok[i];
	return tok;
}

/* Slots that a running request needs now. */
static int64_t slots(const struct instance *in, const struct job *j)
{
	if (j->state == JOB_PREFILLING)
		return j->done_tok + tok_in_step(in, j);
	int64_t steps = going_on(in);

	AT_MOST(steps, 1);
	return j->req.prompt_tok + j->gen_tok + (in->b.clock - j->join_clock) - 1 + steps +
	       j->prepaid;
}

static int64_t blocks_of(const struct instance *in, const struct job *j)
{
	int64_t blocks = blocks_for(&in->kv, slots(in, j));

	if (!j->reserved)
		return blocks;
	AT_MOST(blocks, j->blocks);
	return j->blocks;
}

static void check_decoding(const struct instance *in, const struct job *j)
{
	int64_t gen = j->gen_tok + in->b.clock - j->join_clock;

	EQUAL(in->b.due.at[j->heap_pos].job == j, true);
	AT_MOST(in->b.clock + 1, in->b.due.at[j->heap_pos].key);
	AT_MOST(in->b.due.at[j->heap_pos].key, in->b.clock + j->stop_tok - gen);
	AT_MOST(j->first_ns < 0 ? 0 : 1, gen); /* 0: ttft=decode */
	AT_MOST(gen + 1, j->stop_tok);
}

/* Of the blocks of its prompt that can be known, it holds those that are filled. */
static void check_filled(const struct instance *in, const struct job *j)
{
	int64_t tok = j->state == JOB_PREFILLING ? slots(in, j) : j->req.prompt_tok;
	int64_t filled = tok / in->kv.block_tok;

	EQUAL(j->prompt->held, filled < j->prompt->n ? filled : j->prompt->n);
}

static void check_running(const struct instance *in, struct found *f)
{
	int64_t before = -1;

	*f = (struct found){0};
	for (const struct job *j = in->b.running.first; j; j = j->next) {
		EQUAL(j->state == JOB_PREFILLING || j->state == JOB_DECODING, true);
		EQUAL(j->instance, in->index);
		AT_MOST(before + 1, j->admit_seq);
		before = j->admit_seq;
		f->n++;
		f->blocks += blocks_of(in, j);
		if (in->kv.prefix && j->prompt)
			check_filled(in, j);
		if (j->state == JOB_PREFILLING) {
			f->partial++;
			continue;
		}
		check_decoding(in, j);
		int64_t ctx = j->req.prompt_tok + j->gen_tok + (in->b.clock - j->join_clock);

		f->decoding++;
		if (!j->reserved)
			f->growers += next_blocks(&in->kv, ctx - 1);
		f->ctx += ctx;
		f->longest = ctx > f->longest ? ctx : f->longest;
		if (in->kv.window_tok > 0) {
			f->window_b += ctx < in->kv.window_tok;
			f->window_ctx += ctx < in->kv.window_tok ? ctx : in->kv.window_tok;
		}
	}
	EQUAL(in->b.running.n, f->n);
	EQUAL(in->b.n_partial, f->partial);
	EQUAL(in->b.n_decoding, f->decoding);
	EQUAL(in->b.due.n, f->decoding);
	EQUAL(in->kv.growth.growers, f->growers);
	AT_MOST(f->n + in->b.held.n, in->seats);
}

/* How many grow at each offset in their last block. */
static void check_offsets(const struct instance *in)
{
	int64_t b = in->kv.block_tok, sum = 0;

	for (int64_t at = 0; at < b; at++) {
		int64_t n = 0;

		for (const struct job *j = in->b.running.first; j; j = j->next) {
			int64_t held = j->req.prompt_tok + j->gen_tok - 1 - j->join_clock;

			if (j->state == JOB_DECODING && !j->reserved && ((held % b) + b) % b == at)
				n += next_blocks(&in->kv, held + in->b.clock);
		}
		EQUAL(in->kv.growth.grow[at], n);
		sum += n;
	}
	EQUAL(in->kv.growth.growers, sum);
}

/* Those that are done count on in a padded batch, with contexts from the padded prompt. */
static void check_batch(struct audit_batch *b, const struct instance *in, const struct found *f)
{
	if (!b->on || f->partial > 0) { /* one that ended by an abort may be followed at once */
		*b = (struct audit_batch){.on = true, .n = f->n, .clock = in->b.clock};
		b->blocks = f->blocks;
		EQUAL(in->b.held.n, 0);
		if (in->b.running.first)
			b->pad_tok =
				in->b.running.first->req.prompt_tok + in->b.running.first->pad_tok;
	}
	for (const struct job *j = in->b.running.first; j; j = j->next)
		EQUAL(j->req.prompt_tok + j->pad_tok, b->pad_tok);
	EQUAL(f->n + in->b.held.n, b->n);
	EQUAL(f->blocks + in->b.held.blocks, b->blocks);
	if (f->partial > 0) {
		EQUAL(f->partial, b->n);
		EQUAL(in->b.decode_b, 0);
		return;
	}
	EQUAL(in->b.decode_b, b->n);
	EQUAL(in->b.decode_ctx, b->n * (b->pad_tok + 1 + in->b.clock - b->clock));
}

static void check_single(const struct instance *in)
{
	const struct single *s = &in->b.single;
	int64_t tok = 0, computed = 0, pairs2 = 0, whole = 0, longest = 0;
	int64_t window = in->kv.window_tok, window_pairs2 = 0, prior = 0, window_prior = 0;

	for (int64_t i = 0; i < s->n_prefill; i++)
		longest = s->prefill_tok[i] > longest ? s->prefill_tok[i] : longest;
	for (int64_t i = 0; i < s->n_prefill; i++) {
		const struct job *j = s->prefill[i];
		int64_t q = s->padded ? longest : s->prefill_tok[i] + j->pad_tok;

		EQUAL(j->state, JOB_PREFILLING);
		tok += s->prefill_tok[i];
		computed += q;
		whole += j->done_tok + s->prefill_tok[i] == j->seq_tok;
		prior += j->done_tok;
		window_prior += j->done_tok < window ? j->done_tok : window;
		for (int64_t k = 1; k <= q; k++) { /* token k attends to all before and itself */
			int64_t keys = j->done_tok + k;

			pairs2 += 2 * keys;
			window_pairs2 += 2 * (keys < window ? keys : window);
		}
	}
	EQUAL(s->step.prefill_tok, computed);
	EQUAL(s->step.prefill_seq, s->n_prefill);
	EQUAL(s->step.prefill_done_seq, whole);
	EQUAL((int64_t)(2 * s->step.prefill_pairs), pairs2);
	EQUAL((int64_t)(2 * s->step.window_pairs), window_pairs2);
	EQUAL(s->step.prefill_prior, prior);
	EQUAL(s->step.window_prior, window_prior);
	EQUAL(s->step.decode_seq, s->decodes ? in->b.decode_b : 0);
	EQUAL(s->step.decode_ctx, s->decodes ? in->b.decode_ctx : 0);
	EQUAL(s->step.decode_longest, s->decodes ? decoding_longest(in) : 0);
	AT_MOST(tok + (s->decodes ? in->b.n_decoding : 0), in->step_tok);
	AT_MOST(s->start_ns, s->end_ns);
}

static void check_step(const struct instance *in)
{
	const struct run *r = &in->b.run;

	if (in->b.in_single) {
		EQUAL(in->b.busy, true);
		EQUAL(r->active, false);
		check_single(in);
	} else if (in->b.busy || r->active) {
		EQUAL(r->active, true);
		EQUAL(r->b, in->b.decode_b);
		EQUAL(r->ctx + r->done * r->b, in->b.decode_ctx);
		EQUAL(r->clock + r->done, in->b.clock);
		EQUAL(in->b.n_partial, 0);
		AT_MOST(r->done, r->begun);
		AT_MOST(r->begun, r->limit);
		if (in->b.busy)
			AT_MOST(in->b.n_decoding, in->step_tok);
	}
}

static int64_t swapped_blocks(const struct instance *in)
{
	int64_t host = 0, n = 0, before = -1;

	for (const struct job *j = in->b.swapped.first; j; j = j->next) {
		EQUAL(j->state, JOB_SWAPPED);
		EQUAL(j->instance, in->index);
		AT_MOST(before + 1, j->admit_seq);
		before = j->admit_seq;
		host += j->blocks;
		n++;
	}
	EQUAL(in->b.swapped.n, n);
	return host;
}

/* Everybody that decodes is in one group of last tokens, or joined late. */
static void check_gaps(const struct instance *in)
{
	int64_t n = in->b.n_late, prepaid = 0;

	for (int64_t i = 0; i < in->b.n_late; i++) {
		EQUAL(in->b.late[i]->state, JOB_DECODING);
		prepaid += in->b.late[i]->prepaid ? in->b.late[i]->growth : 0;
	}
	EQUAL(in->b.prepaid, prepaid);
	if (!instance_counts_gaps(in))
		return;
	for (int64_t i = 0; i < in->b.gaps.n_groups; i++)
		n += in->b.gaps.group[i].n;
	EQUAL(n, in->b.n_decoding);
}

/* The batch at work: blocks that its requests hold. */
static int64_t audit_batch(struct audit_batch *batch, const struct instance *in)
{
	struct found f;
	int64_t own;

	check_running(in, &f);
	check_offsets(in);
	check_gaps(in);
	check_step(in);
	if (in->b.batch_padded) {
		check_batch(batch, in, &f);
	} else {
		batch->on = false;
		EQUAL(in->b.held.n + in->b.held.blocks + in->b.held.deferred.n, 0);
		EQUAL(in->b.decode_b, f.decoding);
		EQUAL(in->b.decode_ctx, f.ctx);
		EQUAL(decoding_longest(in), in->executor->longest ? f.longest : 0);
		EQUAL(in->b.window_b, f.window_b);
		EQUAL(in->b.window_ctx, f.window_ctx);
	}
	own = f.blocks + in->b.held.blocks;
	for (const struct job *j = in->b.joining.first; j; j = j->next)
		own += j->blocks;
	return own;
}

int64_t audit_instance(struct audit *a, struct instance *in)
{
	int64_t own = 0, host = 0;
	int32_t at = in->at;

	for (int32_t k = 0; k < in->pp; k++) {
		instance_use(in, k);
		own += audit_batch(&a->batch[in->first_slot + k], in);
		host += swapped_blocks(in);
	}
	instance_use(in, at);
	for (int64_t i = 0; i < in->n_lagging; i++)
		own += in->lagging[i].blocks;
	if (in->kv.prefix)
		own -= audit_prefix(a, in);
	if (in->kv.buddy)
		audit_buddy(a, in);
	if (!in->async)
		EQUAL(in->staged.n + in->lag_seats + in->n_lagging, 0);
	EQUAL(in->kv.host_used, host);
	AT_MOST(host, in->kv.host_total);
	AT_MOST(own, in->kv.used);
	AT_MOST(in->kv.used, in->kv.total);
	EQUAL(in->kv.used + kv_free(&in->kv), in->kv.total);
	return in->kv.used - own;
}
