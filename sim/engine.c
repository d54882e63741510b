/* engine.c: time. Takes events off the agenda until there are none, or the horizon is reached. */
#include "sim/incoming.h"
#include "sim/outcome.h"
#include "sim/real.h"
#include "sim/rng.h"
#include "sim/run.h"
#include "sim/samples.h"
#include "sim/steps.h"
#include "sim/timeout.h"
#include <string.h>

static const int64_t GIB = (int64_t)1 << 30;

static int64_t block_bytes(const struct hardware *hw)
{
	return hw->block_tok * hw->kv_token_bytes;
}

int64_t hardware_host_blocks(const struct hardware *hw, double swap_gib)
{
	int64_t bytes = block_bytes(hw);

	return bytes > 0 ? (int64_t)(swap_gib * (double)GIB) / bytes : INT64_MAX;
}

/* For shapes */

void sim_make_instance(struct sim *s, uint32_t index, const struct policy_ops *policy,
		       const void *state, const struct hardware *hw)
{
	const struct common_params *common = &s->c->choice->common;
	struct instance_want want = {
		.index = (int32_t)index,
		.policy_name = policy->name,
		.policy = policy,
		.state = state,
		.executor = hw->executor,
		.ops = &s->instance_ops,
		.itl = &s->itl,
		.stream = common->stream,
		.block_tok = hw->block_tok,
		.kv_blocks = hw->kv_blocks,
		.host_blocks = hardware_host_blocks(hw, common->swap_gib),
		.block_bytes = block_bytes(hw),
		.hash_tok = s->c->hash_block,
		.pcie_bytes_s = hw->pcie_bytes_s,
		.window_tok = hw->window_tok,
		.window_share = hw->window_share,
		.window_only = hw->window_only,
		.seed = s->c->seed,
		.pp = hw->pp > 0 ? hw->pp : 1,
		.stage_share = hw->stage_share,
		.first_slot = (int32_t)s->n_slots,
		.async = common->async,
		.singly = hw->executor->ops->runs || s->c->taken,
	};

	instance_init(&s->instances[index], &want);
	s->n_slots += (uint32_t)want.pp;
}

/* Which instance each place on the agenda belongs to, where that is not its own number. */
static void number_slots(struct sim *s)
{
	if (s->n_slots == s->n)
		return;
	s->slot_instance = xcalloc(s->n_slots, sizeof(*s->slot_instance));
	for (uint32_t i = 0; i < s->n; i++)
		for (int64_t k = 0; k < s->instances[i].pp; k++)
			s->slot_instance[s->instances[i].first_slot + k] = i;
}

/* The instance of a place on the agenda, its batch at work. */
static struct instance *at_slot(struct sim *s, uint32_t slot)
{
	if (!s->slot_instance)
		return &s->instances[slot];
	struct instance *in = &s->instances[s->slot_instance[slot]];

	instance_use(in, (int32_t)slot - in->first_slot);
	return in;
}

/*
 * The end of the run in progress, or of its next step, goes on the agenda. Steps of less than a
 * nanosecond (two, with a margin) may end at one time, with other events in between: they are never
 * taken together.
 */
static void schedule_run(struct sim *s, struct instance *in)
{
	int64_t next = in->b.run.done + 1, end_ns = in->b.run.limit_ns;

	if (next < in->b.run.limit && (s->c->step_by_step || !run_step_is_long(&in->b.run, next)))
		end_ns = run_end_ns(&in->b.run, next);
	agenda_set(&s->agenda, EVENT_STEP, instance_slot(in), end_ns);
}

/*
 * The batch at work plans now, after whatever else happens now. The last one to ask waits beside
 * the agenda: most often nothing else comes first, and then it need not go through it.
 */
static void plan_soon(struct sim *s, const struct instance *in)
{
	int64_t slot = instance_slot(in);

	if (s->plan_now >= 0 && s->plan_now != slot)
		agenda_set(&s->agenda, EVENT_PLAN, (uint32_t)s->plan_now, s->now_ns);
	s->plan_now = slot;
}

/* Plans of now have come past this instance: a boundary that it has just now is over. */
static bool plan_is_over(const struct sim *s, const struct instance *in)
{
	return s->planned_ns == s->now_ns && s->planned > (int32_t)instance_slot(in);
}

void sim_sync(struct sim *s, struct instance *in)
{
	if (plan_is_over(s, in))
		run_pass(in, s->now_ns);
	else
		run_sync(in, s->now_ns);
}

/* The same for all batches of an instance that has several, where every step is a single one. */
static void notify_batches(struct sim *s, struct instance *in)
{
	for (int32_t k = 0; k < in->pp; k++) {
		struct batch *b = k == in->at ? &in->b : &in->parked[k].b;

		b->plan_due = true;
		if (!b->busy)
			agenda_set(&s->agenda, EVENT_PLAN, (uint32_t)(in->first_slot + k),
				   s->now_ns);
	}
}

void sim_notify(struct sim *s, struct instance *in)
{
	if (in->pp > 1) {
		notify_batches(s, in);
		return;
	}
	in->b.plan_due = true;
	if (!in->b.busy) {
		plan_soon(s, in);
	} else if (!in->b.in_single) {
		if (plan_is_over(s, in))
			run_pass(in, s->now_ns);
		run_cut(in, s->now_ns);
		schedule_run(s, in);
	}
}

void sim_kv_changed(struct sim *s, struct instance *in)
{
	if (!in->b.busy || in->b.in_single)
		return;
	run_set_limit(in);
	if (in->b.plan_due)
		run_cut(in, s->now_ns);
	schedule_run(s, in);
}

struct instance *sim_route(struct sim *s)
{
	struct router *r = &s->router;
	uint32_t n = s->n_entry;

	if (n > 1 && r->ops->reads_kv)
		for (uint32_t i = 0; i < n; i++)
			sim_sync(s, &s->instances[i]);
	uint32_t to = r->ops->pick(r, s->instances, n);

	r->arrivals++;
	return &s->instances[to];
}

/* Requests that end */

static void ended(struct sim *s, struct job *j)
{
	int64_t idx = j->req.idx;

	timeout_cancel(s, j);
	job_give(&s->jobs, j);
	incoming_ended(s, idx);
}

/* The hash ids of the row that arrives, where the pool that j goes to remembers prompts. */
static void take_prompt(struct sim *s, const struct instance *in, struct job *j)
{
	const struct trace_row *row = s->arriving;

	if (!row->hash_ids)
		return;
	s->counts.with_ids++;
	j->prompt = prompt_new(in->kv.prefix, row->hash_ids, row->n_hash_ids,
			       kv_div(&in->kv, j->req.prompt_tok));
}

void sim_enqueue(struct sim *s, struct instance *in, struct job *j)
{
	if (instance_too_small(in, j)) {
		sim_reject(s, j);
		return;
	}
	if (s->c->queue_limit > 0 && instance_waiting(in) >= s->c->queue_limit) {
		s->counts.queue_full++;
		sim_reject(s, j);
		return;
	}
	if (in->kv.prefix)
		take_prompt(s, in, j);
	instance_enqueue(in, j);
	sim_notify(s, in);
}

void sim_reject(struct sim *s, struct job *j)
{
	outcome_record(s, j, RECORD_REJECTED, -1);
	ended(s, j);
}

void sim_complete(struct sim *s, struct job *j, int64_t t_ns)
{
	CHECK(j->gen_tok == j->output_tok, "request %lld ends with %lld of %lld tokens",
	      (long long)j->req.idx, (long long)j->gen_tok, (long long)j->output_tok);
	outcome_record(s, j, RECORD_COMPLETED, t_ns);
	ended(s, j);
}

void sim_abort(struct sim *s, struct job *j)
{
	outcome_record(s, j, RECORD_ABORTED, -1);
	ended(s, j);
}

static void instance_done(void *arg, struct job *j, int64_t t_ns)
{
	struct sim *s = arg;

	s->shape->done(s, j, t_ns);
}

/* Instances */

static void audit(struct sim *s, const struct instance *in)
{
	if (s->c->audit)
		s->c->audit(s->c->audit_arg, s, in->index);
}

static void step_end(struct sim *s, struct instance *in)
{
	if (in->async)
		instance_catch_up(in, s->now_ns);
	if (!in->b.in_single)
		run_sync(in, s->now_ns);
	if (s->steps)
		steps_ended(s, in);
	if (in->b.in_single) {
		instance_end_single(in);
	} else {
		in->b.busy = false;
		instance_settle(in, s->now_ns);
	}
	if (in->b.doomed)
		timeout_boundary(s, in);
	plan_soon(s, in);
	if (in->pp > 1 && in->ended) {
		notify_batches(s, in);
		in->ended = false;
	}
	if (s->shape->moved)
		s->shape->moved(s, in);
	audit(s, in);
}

static void plan(struct sim *s, struct instance *in)
{
	int64_t wait_ns = -1, slot = instance_slot(in);

	if (s->planned_ns != s->now_ns || s->planned < slot)
		s->planned = (int32_t)slot;
	s->planned_ns = s->now_ns;
	if (!in->b.plan_due && in->b.decode_b > 0 && run_continue(in, s->now_ns)) {
		in->b.busy = true;
	} else {
		do
			instance_plan(in, s->now_ns, &wait_ns);
		while (in->async && instance_look_again(in, s->now_ns));
		samples_add(s, in);
		if (wait_ns >= 0)
			agenda_set(&s->agenda, EVENT_WAIT, (uint32_t)slot, wait_ns);
		else
			agenda_clear(&s->agenda, EVENT_WAIT, (uint32_t)slot);
	}
	if (s->steps)
		steps_planned(s, in);
	if (in->pp > 1 && in->moved_requests) {
		notify_batches(s, in);
		in->moved_requests = false;
	}
	if (in->b.in_single)
		agenda_set(&s->agenda, EVENT_STEP, (uint32_t)slot, in->b.single.end_ns);
	else if (in->b.busy)
		schedule_run(s, in);
	if (s->shape->moved)
		s->shape->moved(s, in);
	audit(s, in);
}

static void handle(struct sim *s, enum event_kind kind, uint32_t index)
{
	switch (kind) {
	case EVENT_STEP:
		step_end(s, at_slot(s, index));
		break;
	case EVENT_TRANSFER:
		s->shape->transfer(s, index);
		break;
	case EVENT_TIMEOUT:
		timeout_expire(s);
		break;
	case EVENT_ARRIVAL:
		incoming_next(s);
		break;
	case EVENT_WAIT:
		sim_notify(s, at_slot(s, index));
		break;
	case EVENT_PULL:
		s->shape->pull(s);
		break;
	case EVENT_PLAN:
		plan(s, at_slot(s, index));
		break;
	case N_EVENT_KINDS:
		break;
	}
}

/* The run */

/* The batch beside the agenda plans, or goes onto it where something else comes first. */
static void plan_or_wait(struct sim *s)
{
	uint32_t slot = (uint32_t)s->plan_now;

	s->plan_now = -1;
	if (agenda_time(&s->agenda) > s->now_ns) {
		s->counts.events++;
		plan(s, at_slot(s, slot));
	} else {
		agenda_set(&s->agenda, EVENT_PLAN, slot, s->now_ns);
	}
}

enum { PROGRESS_EVENTS = 1 << 16 };

static void loop(struct sim *s)
{
	int64_t horizon_ns = s->c->horizon_ns < 0 ? INT64_MAX : s->c->horizon_ns;
	bool wall = s->c->wall != NULL;
	enum event_kind kind;
	uint32_t index;

	if (wall)
		real_wait(s, horizon_ns);
	while (!s->failed && agenda_time(&s->agenda) <= horizon_ns &&
	       agenda_next(&s->agenda, &s->now_ns, &kind, &index)) {
		if (s->now_ns > TIME_MAX_NS) {
			s->failed = true;
			err_set(s->err,
				"policy %s: simulated time goes beyond 126 years; are arrivals, "
				"step "
				"costs or latencies in the right unit?",
				s->c->choice->name);
			break;
		}
		handle(s, kind, index);
		while (s->plan_now >= 0)
			plan_or_wait(s);
		if (++s->counts.events % PROGRESS_EVENTS == 0)
			real_progress(s);
		if (wall)
			real_wait(s, horizon_ns);
	}
	s->cut_off = agenda_time(&s->agenda) != INT64_MAX;
	if (s->cut_off)
		s->now_ns = horizon_ns;
}

/* Requests that the horizon cut off; if it cut nothing off there must be none. */
static void unfinished(struct sim *s)
{
	size_t n;

	for (uint32_t i = 0; i < s->n; i++) {
		run_pass(&s->instances[i], s->now_ns);
		instance_account_bound(&s->instances[i], s->now_ns);
	}
	steps_close(s);
	if (s->shape->close)
		s->shape->close(s);
	struct job **left = job_pool_all(&s->jobs, &n);

	if (n > 0 && !s->cut_off) {
		err_set(s->err,
			"policy %s plans no step although %zu requests are not done (the first is "
			"request %lld) and nothing else is to come",
			s->c->choice->name, n, (long long)left[0]->req.idx);
		s->failed = true;
	}
	for (size_t i = 0; i < n && !s->failed; i++)
		outcome_record(s, left[i], RECORD_UNFINISHED, -1);
	free(left);
}

static void start(struct sim *s)
{
	s->shape = s->c->choice->disaggregated ? &shape_disaggregated : &shape_single;
	s->instance_ops = (struct instance_ops){.done = instance_done, .take = real_take, .arg = s};
	router_init(&s->router, s->c->router, s->c->seed);
	metrics_init(&s->metrics, &s->c->slo, s->c->keep_all);
	s->shape->init(s);
	number_slots(s);
	agenda_init(&s->agenda, s->n_slots);
	samples_init(s);
	steps_init(s);
	incoming_start(s);
	real_start(s);
}

static void stop(struct sim *s)
{
	if (s->shape->release)
		s->shape->release(s);
	for (uint32_t i = 0; i < s->n; i++)
		instance_release(&s->instances[i]);
	free(s->instances);
	free(s->slot_instance);
	samples_release(s);
	steps_release(s);
	incoming_stop(s);
	agenda_release(&s->agenda);
	metrics_release(&s->metrics);
	router_release(&s->router);
	job_pool_release(&s->jobs);
	hist_release(&s->itl);
}

int sim_check(const struct sim_config *c, struct err *e)
{
	const struct choice *choice = c->choice;
	int64_t block_tok = c->hardware.block_tok;

	if (!choice_remembers(choice))
		return 0;
	if (c->hash_block > 0 && !prefix_divides(block_tok, c->hash_block))
		return err_set(
			e,
			"policy %s: the trace's hash ids are of %lld tokens, and KV blocks of "
			"%lld; with a prefix cache one must be a multiple of the other (--block)",
			choice->name, (long long)c->hash_block, (long long)block_tok);
	if (c->hardware.window_tok > 0)
		return err_set(
			e,
			"policy %s: a prefix cache is not for models with layers that attend "
			"to a window, here of %lld tokens",
			choice->name, (long long)c->hardware.window_tok);
	return 0;
}

int sim_run(const struct sim_config *c, struct summary *out, struct sim_counts *counts,
	    struct err *e)
{
	struct sim s = {.c = c, .err = e, .plan_now = -1, .planned_ns = -1};

	if (sim_check(c, e) < 0)
		return -1;
	start(&s);
	loop(&s);
	if (!s.failed)
		unfinished(&s);
	if (!s.failed) {
		outcome_summary(&s, out);
		samples_put(&s);
		outcome_histograms(&s);
	}
	*counts = s.counts;
	stop(&s);
	return s.failed ? -1 : 0;
}
