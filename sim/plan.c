/* plan.c: what policies ask for, checked; and the kind of step that comes of it. */
#include "sim/run.h"
#include "sim/single.h"
#include "sim/view.h"

static enum plan_result refuse(struct plan *p, enum plan_result why)
{
	p->refused = why;
	return why;
}

static int64_t limit_of(int64_t limit)
{
	return limit == PLAN_NO_LIMIT ? INT64_MAX : limit;
}

void plan_limits(struct plan *p, int64_t seats, int64_t step_tok, int64_t spare_blocks)
{
	p->in->seats = limit_of(seats);
	p->in->step_tok = limit_of(step_tok);
	p->in->spare = spare_blocks;
}

void plan_refuse(struct plan *p, enum plan_result why)
{
	p->refused = why;
}

int64_t plan_prompt_tok(const struct plan *p)
{
	return p->prompt_tok;
}

int64_t plan_decode_tok(const struct plan *p)
{
	return p->decode_tok;
}

void plan_pad_step(struct plan *p)
{
	p->in->b.single.padded = true;
}

int64_t plan_tok_left(const struct plan *p)
{
	if (p->in->step_tok == INT64_MAX)
		return INT64_MAX;
	return p->in->step_tok - p->prompt_tok - p->decode_tok;
}

void plan_wait(struct plan *p, int64_t until_ns)
{
	CHECK(until_ns > p->now_ns, "policy %s waits until %lld at %lld", p->in->policy_name,
	      (long long)until_ns, (long long)p->now_ns);
	p->wait_ns = until_ns;
}

void plan_pad(struct plan *p, enum plan_reply reply)
{
	CHECK(p->in->b.running.n == 0, "policy %s pads a batch while %lld requests run",
	      p->in->policy_name, (long long)p->in->b.running.n);
	CHECK(!p->in->kv.prefix && !p->in->kv.buddy, "policy %s pads, and its pool is not counted",
	      p->in->policy_name);
	p->in->b.batch_padded = true;
	p->in->b.batch_reply = reply;
	p->in->replied_batch = p->in->replied_batch || reply == PLAN_REPLY_BATCH;
	p->pad_tok = 0;
}

/* Blocks that the padded batch takes beyond what it has, if its prompts were padded to pad_tok. */
static int64_t pad_blocks(const struct plan *p, int64_t pad_tok)
{
	int64_t more = 0;

	if (pad_tok == p->pad_tok)
		return 0;
	for (const struct job *j = p->in->b.running.first; j; j = j->next)
		more += kv_blocks(&p->in->kv, pad_tok + j->extra_tok) - j->blocks;
	return more;
}

static void pad_to(struct plan *p, int64_t pad_tok)
{
	struct instance *in = p->in;

	for (struct job *j = in->b.running.first; j; j = j->next) {
		int64_t blocks = kv_blocks(&in->kv, pad_tok + j->extra_tok);

		kv_take(&in->kv, blocks - j->blocks);
		j->blocks = blocks;
		j->pad_tok = pad_tok - j->req.prompt_tok;
	}
	p->pad_tok = pad_tok;
}

static enum plan_result admit_padded(struct plan *p, struct job *j, int64_t reserve_tok)
{
	struct instance *in = p->in;
	int64_t pad_tok = j->seq_tok > p->pad_tok ? j->seq_tok : p->pad_tok;
	int64_t extra_tok = reserve_tok - j->seq_tok;
	int64_t own = kv_blocks(&in->kv, pad_tok + extra_tok);

	CHECK(extra_tok >= 0, "policy %s reserves %lld slots for a prompt of %lld", in->policy_name,
	      (long long)reserve_tok, (long long)j->seq_tok);
	if (own + pad_blocks(p, pad_tok) > kv_free(&in->kv))
		return refuse(p, PLAN_KV);
	instance_admit(in, p->now_ns);
	j->extra_tok = extra_tok;
	j->reserved = true;
	j->blocks = 0;
	j->deferred = in->b.batch_reply == PLAN_REPLY_BATCH;
	pad_to(p, pad_tok);
	return PLAN_OK;
}

/* With several batches, this one has its share of all requests. */
static bool batch_is_full(const struct instance *in)
{
	if (in->pp == 1)
		return false;
	int64_t all = instance_running(in) + queue_len(&in->waiting);

	return in->b.running.n >= (all + in->pp - 1) / in->pp;
}

static int64_t spare(const struct instance *in)
{
	return in->b.running.n == 0 && instance_running(in) == 0 ? 0 : in->spare;
}

static bool reserve(const struct plan *p, struct job *j, int64_t reserve_tok)
{
	struct kv *kv = &p->in->kv;
	int64_t blocks = kv_rounded(kv, kv_blocks(kv, reserve_tok));

	CHECK(!kv->prefix, "policy %s reserves, and its pool remembers prompts",
	      p->in->policy_name);
	if (blocks + spare(p->in) > kv_free(kv) || !kv_take_chunk(kv, blocks, &j->address))
		return false;
	j->reserved = true;
	j->blocks = blocks;
	return true;
}

/* For the whole sequence, but nothing of it is taken. */
static bool has_room(const struct plan *p, struct job *j)
{
	const struct kv *kv = &p->in->kv;
	int64_t blocks = kv_blocks(kv, j->seq_tok);

	CHECK(!kv->buddy, "policy %s reserves nothing for request %lld, and its pool is in chunks",
	      p->in->policy_name, (long long)j->req.idx);
	j->reserved = false;
	j->blocks = 0;
	if (blocks + spare(p->in) <= kv_free(kv))
		return true;
	if (instance_find(p->in, j) > 0) /* what others hold need not be free */
		blocks -= prefix_shared(kv->prefix, j->prompt);
	return blocks + spare(p->in) <= kv_free(kv);
}

static void start_from_known(struct instance *in, struct job *j)
{
	int64_t tok = instance_take_known(in, j);

	if (j->preemptions > 0) /* saves work again, and is not counted */
		return;
	j->cached_tok = tok;
	in->stats.cached_tok += tok;
	in->stats.queried_tok += j->req.prompt_tok;
}

enum plan_result plan_admit(struct plan *p, const struct request *r, int64_t reserve_tok)
{
	struct instance *in = p->in;
	struct job *j = job_of(r);

	CHECK(queue_head(&in->waiting) == j, "policy %s admits request %lld, not the head",
	      in->policy_name, (long long)r->idx);
	if (instance_seats_used(in) >= in->seats || batch_is_full(in))
		return refuse(p, PLAN_SEATS);
	if (in->b.batch_padded)
		return admit_padded(p, j, reserve_tok);
	if (reserve_tok > 0 ? !reserve(p, j, reserve_tok) : !has_room(p, j))
		return refuse(p, PLAN_KV);
	instance_admit(in, p->now_ns);
	if (in->kv.prefix)
		start_from_known(in, j);
	return PLAN_OK;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void add_prefill(struct single *s, struct job *j, int64_t n_tok)
{
	if (s->n_prefill == s->room) {
		s->room = s->room ? 2 * s->room : 16;
		s->prefill = xrealloc(s->prefill, (size_t)s->room * sizeof(*s->prefill));
		s->prefill_tok =
			xrealloc(s->prefill_tok, (size_t)s->room * sizeof(*s->prefill_tok));
	}
	s->prefill[s->n_prefill] = j;
	s->prefill_tok[s->n_prefill++] = n_tok;
}

enum plan_result plan_add(struct plan *p, const struct request *r, int64_t n_tok)
{
	struct instance *in = p->in;
	struct job *j = job_of(r);

	CHECK(j->state == JOB_PREFILLING && n_tok >= 1 && n_tok <= j->seq_tok - j->done_tok,
	      "policy %s prefills %lld tokens of request %lld, which has %lld left",
	      in->policy_name, (long long)n_tok, (long long)r->idx,
	      (long long)(j->seq_tok - j->done_tok));
	if (n_tok > plan_tok_left(p))
		return PLAN_TOKENS;
	if (!j->reserved) {
		int64_t more = kv_blocks(&in->kv, j->done_tok + n_tok) - j->blocks;

		if (more > kv_free(&in->kv))
			return PLAN_KV;
		kv_take(&in->kv, more);
		j->blocks += more;
		if (in->kv.prefix) {
			instance_fill(in, j, j->done_tok + n_tok);
			in->moved_requests = true; /* what is known now may let others in */
		}
	}
	add_prefill(&in->b.single, j, n_tok);
	p->prompt_tok += n_tok;
	if (j->redo_tok > j->done_tok)
		in->stats.recomputed_tok += smaller(n_tok, j->redo_tok - j->done_tok);
	return PLAN_OK;
}

enum plan_result plan_decode(struct plan *p)
{
	struct instance *in = p->in;

	CHECK(!p->decode, "policy %s decodes twice in a step", in->policy_name);
	if (in->b.n_decoding > plan_tok_left(p))
		return PLAN_TOKENS;
	if (!run_take_blocks(in))
		return PLAN_KV;
	p->decode = true;
	p->decode_tok = in->b.n_decoding;
	return PLAN_OK;
}

enum plan_result plan_evict(struct plan *p, const struct request *r, enum plan_evict_kind kind)
{
	struct instance *in = p->in;
	struct job *j = job_of(r);

	CHECK(j->state == JOB_PREFILLING || (j->state == JOB_DECODING && !p->decode),
	      "policy %s evicts request %lld, which is part of this step or does not run",
	      in->policy_name, (long long)r->idx);
	for (int64_t i = 0; j->state == JOB_PREFILLING && i < in->b.single.n_prefill; i++)
		CHECK(in->b.single.prefill[i] != j, "policy %s evicts request %lld of this step",
		      in->policy_name, (long long)r->idx);
	if (kind == PLAN_SWAP) {
		int64_t blocks = job_blocks(in, j);

		CHECK(!in->kv.prefix && !in->kv.buddy,
		      "policy %s swaps, and its pool is not counted", in->policy_name);
		if (j->state == JOB_PREFILLING || blocks > in->kv.host_total - in->kv.host_used)
			return PLAN_HOST;
		p->moved_blocks += blocks;
	}
	instance_evict(in, j, kind);
	return PLAN_OK;
}

enum plan_result plan_restore(struct plan *p, const struct request *r)
{
	struct instance *in = p->in;
	struct job *j = job_of(r);

	CHECK(j->state == JOB_SWAPPED && p->decode,
	      "policy %s restores request %lld, which is not swapped out, or before plan_decode()",
	      in->policy_name, (long long)r->idx);
	if (instance_seats_used(in) >= in->seats)
		return refuse(p, PLAN_SEATS);
	if (plan_tok_left(p) < 1)
		return refuse(p, PLAN_TOKENS);
	if (kv_blocks(&in->kv, r->prompt_tok + j->gen_tok) > kv_free(&in->kv))
		return refuse(p, PLAN_KV);
	p->moved_blocks += j->blocks;
	instance_restore(in, j);
	p->decode_tok++;
	return PLAN_OK;
}

/* The step */

/*
 * Why the head of the queue waits from now on. A plan that did not try to admit it (a static batch
 * goes on) leaves it waiting for what it was last refused for.
 */
static enum bound bound_of(const struct instance *in, const struct plan *p)
{
	static const enum bound of[] = {[PLAN_OK] = BOUND_SEATS,
					[PLAN_SEATS] = BOUND_SEATS,
					[PLAN_KV] = BOUND_KV,
					[PLAN_TOKENS] = BOUND_TOKENS,
					[PLAN_HOST] = BOUND_KV};

	bool fills_up = p->wait_ns >= 0 && in->b.running.n == 0; /* for others to arrive */

	if (queue_len(&in->waiting) + in->b.swapped.n == 0 || fills_up)
		return BOUND_ARRIVALS;
	if (p->refused == PLAN_OK && in->bound != BOUND_ARRIVALS)
		return in->bound;
	return of[p->refused];
}

void instance_plan(struct instance *in, int64_t now_ns, int64_t *wait_ns)
{
	struct view v = {in, now_ns};
	struct plan p = {.in = in, .now_ns = now_ns, .wait_ns = -1};

	instance_account_bound(in, now_ns);
	instance_join_waiting(in);
	in->b.single.n_prefill = 0;
	in->b.single.padded = false;
	in->b.plan_due = in->preempted = false;
	in->policy->plan(in->state, &v, &p);
	if (in->b.running.n == 0)
		instance_unpad(in);
	*wait_ns = p.wait_ns;
	in->bound = bound_of(in, &p);
	bool decodes = p.decode && in->b.decode_b > 0;

	if (in->b.single.n_prefill > 0 || (decodes && (p.moved_blocks > 0 || in->pp > 1))) {
		single_start(in, decodes, p.moved_blocks, now_ns);
	} else if (decodes) {
		in->b.busy = true;
		run_next(in, now_ns);
		if (in->preempted) { /* what made room may not be needed any more: plans again */
			in->b.plan_due = true;
			run_cut(in, now_ns);
		}
	} else { /* nothing to compute: no step, even where everybody was swapped out */
		in->b.run.active = false;
	}
}
