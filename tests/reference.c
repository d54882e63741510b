#include "tests/reference_state.h"

/* What can happen at one time, in the order in which it does. */
enum kind { FINISH, TRANSFER, ARRIVAL, PULL, PLAN };

struct event {
	int64_t at_ns;
	enum kind kind;
	int64_t instance;
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
	j->s_ns = j->c_ns = -1;
	j->place = j->source = j->instance = j->decode_instance = -1;
	j->token_ns = xcalloc((size_t)output, sizeof *j->token_ns);
}

/* Closed loop: the next request of the trace arrives now. */
static void release_next(struct sim *s)
{
	if (s->cfg->closed_loop > 0 && s->released < s->n)
		s->job[s->released++].arrive_ns = s->now;
}

void ref_job_done(struct sim *s, int64_t r)
{
	struct job *j = &s->job[r];

	CHECK(j->got == j->output && !j->done, "request %lld: %lld of %lld", (long long)r,
	      (long long)j->got, (long long)j->output);
	CHECK(j->host == 0, "host %lld", (long long)j->host);
	j->done = true;
	j->c_ns = s->now;
	if (!s->cfg->disaggregated)
		s->inst[j->instance].outstanding--;
	release_next(s);
}

static int64_t route(const struct sim *s)
{
	int64_t best = 0;

	if (s->cfg->router == REF_ROUND_ROBIN)
		return s->arrivals % s->cfg->instances;
	for (int64_t i = 1; i < s->cfg->instances; i++)
		if (s->inst[i].outstanding < s->inst[best].outstanding)
			best = i;
	return best;
}

int64_t ref_blocks(const struct sim *s, int64_t slots)
{
	return ref_ceil(slots, s->cfg->block_tok);
}

/* The whole pool is too small for it. `j` is as its instance sees it: limit and max_tok are 1 on
 * prefill. */
static bool too_large(const struct sim *s, const struct job *j)
{
	const struct ref_config *c = s->cfg;
	int64_t slots = j->prompt + j->limit - 1;

	if (ref_blocks(s, ref_max(slots, ref_reservation(&c->policy, j))) > c->blocks)
		return true;
	return c->disaggregated && ref_blocks(s, j->prompt + j->output - 1) > c->decode_blocks;
}

static void arrive(struct sim *s)
{
	int64_t r = s->next++, to = route(s);
	struct job *j = &s->job[r];

	s->arrivals++;
	j->arrived = true;
	j->limit = s->cfg->disaggregated ? 1 : j->output;
	if (s->cfg->disaggregated)
		j->max_tok = 1;
	if (j->rejected || too_large(s, j)) {
		j->rejected = true;
		release_next(s);
		return;
	}
	j->instance = to;
	s->inst[to].outstanding++;
	s->inst[to].due = true;
	ref_push(&s->inst[to].waiting, r);
}

/* --- the loop --- */

static void earlier(struct event *best, int64_t at_ns, enum kind kind, int64_t instance)
{
	if (at_ns < 0)
		return;
	if (best->at_ns >= 0 &&
	    (at_ns > best->at_ns || (at_ns == best->at_ns && kind >= best->kind)))
		return; /* equal instances do not occur: they are looked at in order */
	*best = (struct event){at_ns, kind, instance};
}

static struct event next_event(const struct sim *s)
{
	struct event best = {.at_ns = -1};

	for (int64_t i = 0; i < s->inst_n; i++)
		if (s->inst[i].busy)
			earlier(&best, s->inst[i].end_ns, FINISH, i);
	for (int64_t i = 0; i < s->inst_n; i++)
		if (s->inst[i].inbound.n > 0)
			earlier(&best, s->inst[i].inbound_end_ns[s->inst[i].inbound.at[0]],
				TRANSFER, i);
	if (s->next < s->n)
		earlier(&best, s->job[s->next].arrive_ns, ARRIVAL, 0);
	if (ref_puller(s) >= 0)
		earlier(&best, s->now, PULL, ref_puller(s));
	for (int64_t i = 0; i < s->inst_n; i++) {
		const struct inst *in = &s->inst[i];

		if (in->busy)
			continue;
		if (in->due || in->running.n > 0)
			earlier(&best, s->now, PLAN, i);
		else if (in->wait_ns >= 0)
			earlier(&best, ref_max(in->wait_ns, s->now), PLAN, i);
	}
	return best;
}

static void happen(struct sim *s, struct event e)
{
	switch (e.kind) {
	case FINISH:
		ref_step_end(s, &s->inst[e.instance]);
		break;
	case TRANSFER:
		ref_transfer_end(s, e.instance);
		break;
	case ARRIVAL:
		arrive(s);
		break;
	case PULL:
		ref_pull(s, e.instance);
		break;
	case PLAN:
		ref_boundary(s, &s->inst[e.instance]);
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
		if (!s->job[r].done && !s->job[r].rejected)
			s->out->stuck = true;
}

/* --- set-up and results --- */

static void inst_init(struct sim *s, int64_t i)
{
	const struct ref_config *c = s->cfg;
	struct inst *in = &s->inst[i];
	struct list *lists[] = {&in->waiting, &in->running, &in->swapped, &in->inbound,
				&in->joining, &in->run,	    NULL};

	in->decode_only = i >= c->instances;
	in->prefill_only = c->disaggregated && !in->decode_only;
	in->policy = in->decode_only ? &c->decode : &c->policy;
	in->total = in->free = in->decode_only ? c->decode_blocks : c->blocks;
	in->host_total = in->host_free = c->host_blocks;
	in->wait_ns = -1;
	in->inbound_end_ns = xcalloc((size_t)s->n, sizeof *in->inbound_end_ns);
	for (struct list **l = lists; *l; l++)
		(*l)->at = xcalloc((size_t)s->n, sizeof *(*l)->at);
	CHECK(in->policy->chunk == 0 || in->policy->chunk >= in->policy->seats, "chunk %lld",
	      (long long)in->policy->chunk);
}

static void inst_release(struct inst *in)
{
	free(in->waiting.at);
	free(in->running.at);
	free(in->swapped.at);
	free(in->inbound.at);
	free(in->joining.at);
	free(in->run.at);
	free(in->inbound_end_ns);
}

/* Deliveries are every `stream` tokens, and the last one. */
static void deliveries(const struct sim *s, const struct job *j, struct ref_outcome *o)
{
	int64_t last = -1;

	for (int64_t k = 1; k <= o->tokens; k++) {
		int64_t at = j->token_ns[k - 1];

		if (k % s->cfg->stream != 0 && k != j->output)
			continue;
		if (o->f_ns < 0)
			o->f_ns = at;
		else
			o->max_gap_ns = ref_max(o->max_gap_ns, at - last);
		last = at;
	}
}

static void outcome(struct sim *s, int64_t r)
{
	struct job *j = &s->job[r];
	struct ref_outcome *o = &s->out->outcome[r];
	const struct ref_policy *p = &s->cfg->policy;
	/* the tokens of a batch that was not over at the horizon */
	bool kept_back =
		!j->done && !s->cfg->disaggregated && p->kind == REF_STATIC && p->reply_batch;

	*o = (struct ref_outcome){
		.status = !j->arrived	? REF_NOT_ARRIVED
			  : j->rejected ? REF_REJECTED
			  : j->done	? REF_COMPLETED
					: REF_UNFINISHED,
		.arrive_ns = j->arrived ? j->arrive_ns : -1,
		.s_ns = j->s_ns,
		.f_ns = -1,
		.c_ns = j->c_ns,
		.output_tok = j->output,
		.preemptions = j->preemptions,
		.instance = j->instance,
		.decode_instance = j->decode_instance,
		.token_ns = j->token_ns, /* now the outcome's */
		.tokens = kept_back ? 0 : j->got,
	};
	deliveries(s, j, o);
	s->out->preemptions += j->preemptions;
	if (j->done)
		s->out->makespan_ns = ref_max(s->out->makespan_ns, j->c_ns - s->job[0].arrive_ns);
}

void reference_run(const struct ref_config *cfg, const struct ref_request *req, size_t n,
		   struct ref_run *run)
{
	struct sim s = {.cfg = cfg, .n = (int64_t)n, .out = run};

	*run = (struct ref_run){.n = n, .outcome = xcalloc(n, sizeof *run->outcome)};
	s.job = xcalloc(n, sizeof *s.job);
	s.inst_n = cfg->instances + (cfg->disaggregated ? cfg->decode_instances : 0);
	s.inst = xcalloc((size_t)s.inst_n, sizeof *s.inst);
	s.ready.at = xcalloc(n, sizeof *s.ready.at);
	for (size_t r = 0; r < n; r++)
		job_init(cfg, &req[r], &s.job[r]);
	for (int64_t i = 0; i < s.inst_n; i++)
		inst_init(&s, i);
	for (int64_t k = 0; k < cfg->closed_loop; k++)
		release_next(&s);
	loop(&s);
	for (size_t r = 0; r < n; r++)
		outcome(&s, (int64_t)r);
	for (int64_t i = 0; i < s.inst_n; i++)
		inst_release(&s.inst[i]);
	free(s.ready.at);
	free(s.inst);
	free(s.job);
}

void reference_release(struct ref_run *run)
{
	for (size_t r = 0; r < run->n; r++)
		free(run->outcome[r].token_ns);
	free(run->outcome);
	free(run->step);
	*run = (struct ref_run){0};
}
