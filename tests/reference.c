#include "tests/reference_state.h"

/* What can happen at one time, in the order in which it does. */
enum kind { FINISH, TRANSFER, TIMEOUT, ARRIVAL, PULL, PLAN };

struct event {
	int64_t at_ns;
	enum kind kind;
	int64_t at; /* an instance, or a request */
	int64_t batch;
};

/* --- requests come and go --- */

static int64_t allowed_tok(const struct ref_config *c, const struct ref_request *q, int64_t output)
{
	int64_t max = q->max_tok;

	if (max == 0) {
		if (c->max_tok_rule == REF_MAX_TOK_N)
			max = c->max_tok;
		else if (c->max_tok_rule == REF_MAX_TOK_MODEL && c->model_context > 0)
			max = c->model_context - q->prompt_tok;
	}
	return ref_max(max, output);
}

static void job_init(const struct ref_config *c, const struct ref_request *q, struct job *j)
{
	int64_t output = q->output_tok;

	if (c->max_model_len > 0 && q->prompt_tok + output > c->max_model_len) {
		output = c->max_model_len - q->prompt_tok;
		j->rejected = !c->truncate || output < 1; /* takes effect when it arrives */
	}
	if (j->rejected)
		output = q->output_tok;
	j->prompt = q->prompt_tok;
	j->output = output;
	j->max_tok = allowed_tok(c, q, output);
	j->seq = j->prompt;
	j->arrive_ns = c->closed_loop > 0 ? -1 : q->arrive_ns;
	j->s_ns = j->c_ns = j->next = -1;
	j->place = j->source = j->instance = j->decode_instance = -1;
	j->token_ns = xcalloc((size_t)output, sizeof *j->token_ns);
	j->block = xcalloc((size_t)(c->policy.prefix ? c->blocks : 1), sizeof *j->block);
}

/* The request after r in its session arrives after it. */
static void job_link(struct sim *s, int64_t r)
{
	const struct ref_config *c = s->cfg;

	if (c->closed_loop > 0 || c->sessions_open || s->req[r].session == 0)
		return;
	for (int64_t next = r + 1; next < s->n; next++) {
		if (s->req[next].session != s->req[r].session)
			continue;
		s->job[r].next = next;
		s->job[next].arrive_ns = -1;
		return;
	}
}

/* Of equals the first. */
static int64_t route(const struct sim *s)
{
	int64_t best = 0;

	if (s->cfg->router == REF_ROUND_ROBIN)
		return s->arrivals % s->cfg->instances;
	for (int64_t i = 1; i < s->cfg->instances; i++) {
		const struct inst *in = &s->inst[i], *to = &s->inst[best];

		if (s->cfg->router == REF_LEAST_KV ? in->free > to->free
						   : in->outstanding < to->outstanding)
			best = i;
	}
	return best;
}

/* The whole pool is too small for it. `j` is as its instance sees it: limit and max_tok are 1 on
 * prefill. */
static bool too_large(const struct sim *s, const struct job *j)
{
	const struct ref_config *c = s->cfg;
	int64_t slots = j->prompt + j->limit - 1, reserved = ref_reservation(&c->policy, j);
	int64_t there = j->prompt + j->output - 1;

	if (ref_blocks(s, slots) > c->blocks)
		return true;
	if (reserved > 0 && ref_reserve_never(&c->policy, c->blocks, ref_blocks(s, reserved)))
		return true;
	if (c->ttft_decode) /* it is pulled with room for one token */
		there = ref_max(there, j->prompt + 1);
	return c->disaggregated && ref_blocks(s, there) > c->decode_blocks;
}

static void arrive(struct sim *s, int64_t r)
{
	struct job *j = &s->job[r];
	struct inst *to = &s->inst[route(s)];
	bool no_room = s->cfg->queue_limit > 0 && to->waiting.n >= s->cfg->queue_limit;

	s->arrivals++;
	j->arrived = true;
	j->limit = s->cfg->disaggregated ? 1 : j->output;
	if (s->cfg->disaggregated)
		j->max_tok = 1;
	if (j->rejected || too_large(s, j) || no_room) {
		s->out->seen.queue_limited += no_room;
		ref_rejected(s, r);
		return;
	}
	j->instance = to - s->inst;
	to->outstanding++;
	ref_queue_arrival(s, to, r);
}

/* --- the loop --- */

static void earlier(struct event *best, int64_t at_ns, enum kind kind, int64_t at, int64_t batch)
{
	if (at_ns < 0)
		return;
	if (best->at_ns >= 0 &&
	    (at_ns > best->at_ns || (at_ns == best->at_ns && kind >= best->kind)))
		return; /* of one kind: they are looked at in order */
	*best = (struct event){at_ns, kind, at, batch};
}

static void plan_event(const struct sim *s, int64_t i, int64_t k, struct event *best)
{
	const struct batch *b = &s->inst[i].batch[k];

	if (b->busy)
		return;
	if (b->due || b->running.n > 0)
		earlier(best, s->now, PLAN, i, k);
	else if (b->wait_ns >= 0)
		earlier(best, ref_max(b->wait_ns, s->now), PLAN, i, k);
}

static struct event next_event(const struct sim *s)
{
	struct event best = {.at_ns = -1};
	int64_t who = 0, at;

	for (int64_t i = 0; i < s->inst_n; i++) {
		struct inst *in = &s->inst[i];

		for (int64_t k = 0; k < in->pp; k++) {
			if (in->batch[k].busy)
				earlier(&best, in->batch[k].end_ns, FINISH, i, k);
			plan_event(s, i, k, &best);
		}
		if (in->inbound.n > 0)
			earlier(&best, s->job[in->inbound.at[0]].transfer_end_ns, TRANSFER, i, 0);
	}
	at = ref_next_timeout(s, &who);
	earlier(&best, at, TIMEOUT, who, 0);
	for (int64_t r = 0; r < s->n; r++)
		if (!s->job[r].arrived)
			earlier(&best, s->job[r].arrive_ns, ARRIVAL, r, 0);
	if (ref_puller(s) >= 0)
		earlier(&best, s->now, PULL, 0, 0);
	return best;
}

static void happen(struct sim *s, struct event e)
{
	switch (e.kind) {
	case FINISH:
		ref_step_end(s, &s->inst[e.at].batch[e.batch]);
		break;
	case TRANSFER:
		ref_transfer_end(s, e.at);
		break;
	case TIMEOUT:
		ref_timeout(s, e.at);
		break;
	case ARRIVAL:
		arrive(s, e.at);
		break;
	case PULL:
		ref_pull(s);
		break;
	case PLAN:
		ref_boundary(s, &s->inst[e.at].batch[e.batch]);
		break;
	}
}

/* More events than any run of this size can need: it goes round in circles. */
static int64_t event_limit(const struct sim *s)
{
	int64_t tok = 0;

	for (int64_t r = 0; r < s->n; r++)
		tok += s->job[r].prompt + s->job[r].output;
	return 1000 + 100 * (tok + s->n) * (s->n + 1);
}

static void loop(struct sim *s)
{
	int64_t limit = event_limit(s);

	for (int64_t k = 0;; k++) {
		struct event e = next_event(s);

		if (e.at_ns < 0)
			break;
		if (s->cfg->horizon_ns >= 0 && e.at_ns > s->cfg->horizon_ns)
			return;
		if (k == limit) {
			s->out->stuck = true;
			return;
		}
		CHECK(e.at_ns >= s->now, "%lld after %lld", (long long)e.at_ns, (long long)s->now);
		s->now = e.at_ns;
		happen(s, e);
		ref_check(s);
	}
	for (int64_t r = 0; r < s->n; r++)
		if (!s->job[r].done && !s->job[r].rejected && !s->job[r].aborted)
			s->out->stuck = true;
}

/* --- set-up and results --- */

static void batch_init(struct sim *s, struct inst *in, int64_t k)
{
	struct batch *b = &in->batch[k];
	struct list *lists[] = {&b->running, &b->swapped, &b->joining, &b->held, &b->run, NULL};

	b->in = in;
	b->index = k;
	b->wait_ns = -1;
	for (struct list **l = lists; *l; l++)
		(*l)->at = xcalloc((size_t)s->n, sizeof *(*l)->at);
}

static void inst_init(struct sim *s, int64_t i)
{
	const struct ref_config *c = s->cfg;
	struct inst *in = &s->inst[i];

	in->decode_only = i >= c->instances;
	in->prefill_only = c->disaggregated && !in->decode_only;
	in->policy = in->decode_only ? &c->decode : &c->policy;
	in->total = in->decode_only ? c->decode_blocks : c->blocks;
	/* any number of blocks of no bytes */
	in->host_total = in->host_free = c->kv_token_bytes == 0 ? INT64_MAX / 2 : c->host_blocks;
	in->pp = ref_max(1, in->decode_only ? c->decode_pp : c->pp);
	CHECK(in->pp <= REF_PP_MAX && (in->pp == 1 || !c->async), "%lld batches",
	      (long long)in->pp);
	CHECK(in->policy->chunk == 0 || in->policy->chunk >= in->policy->seats, "chunk %lld",
	      (long long)in->policy->chunk);
	in->waiting.at = xcalloc((size_t)s->n, sizeof *in->waiting.at);
	in->inbound.at = xcalloc((size_t)s->n, sizeof *in->inbound.at);
	for (int64_t k = 0; k < in->pp; k++)
		batch_init(s, in, k);
	ref_pool_init(s, in);
}

static void inst_release(struct inst *in)
{
	for (int64_t k = 0; k < in->pp; k++) {
		free(in->batch[k].running.at);
		free(in->batch[k].swapped.at);
		free(in->batch[k].joining.at);
		free(in->batch[k].held.at);
		free(in->batch[k].run.at);
	}
	free(in->waiting.at);
	free(in->inbound.at);
	ref_pool_release(in);
}

void reference_run(const struct ref_config *cfg, const struct ref_request *req, size_t n,
		   struct ref_run *run)
{
	struct sim s = {.cfg = cfg, .req = req, .n = (int64_t)n, .out = run};

	*run = (struct ref_run){.n = n, .outcome = xcalloc(n, sizeof *run->outcome)};
	s.job = xcalloc(n, sizeof *s.job);
	s.inst_n = cfg->instances + (cfg->disaggregated ? cfg->decode_instances : 0);
	s.inst = xcalloc((size_t)s.inst_n, sizeof *s.inst);
	s.ready.at = xcalloc(n, sizeof *s.ready.at);
	for (size_t r = 0; r < n; r++)
		job_init(cfg, &req[r], &s.job[r]);
	for (int64_t i = 0; i < s.inst_n; i++)
		inst_init(&s, i);
	for (size_t r = 0; r < n; r++)
		job_link(&s, (int64_t)r);
	for (; s.released < cfg->closed_loop && s.released < s.n; s.released++)
		s.job[s.released].arrive_ns = 0;
	loop(&s);
	for (size_t r = 0; r < n; r++)
		ref_outcome(&s, (int64_t)r);
	for (int64_t i = 0; i < s.inst_n; i++)
		inst_release(&s.inst[i]);
	for (size_t r = 0; r < n; r++)
		free(s.job[r].block);
	free(s.ready.at);
	free(s.inst);
	free(s.job);
}
