#include "sim/replay.h"
#include "calibrate/cost.h"
#include "sim/host.h"
#include "sim/link.h"
#include <math.h>
#include <string.h>
#include <time.h>

/* More blocks than anything needs, and sums of them still fit. */
static const int64_t UNLIMITED_BLOCKS = (int64_t)1 << 40;

/* What a replay holds while it runs. */
struct resources {
	struct trace *trace;
	struct executor *executor[2];
	struct memory_budget budget[2]; /* of the instances, or the prefill and the decode ones */
	double *stage_share[2];
	char executor_params[256];
};

/* The scheduler's own time: what the choice says, else the device. */
static struct host_want host_of(const struct run_options *o, const struct common_params *p)
{
	double device_us = o->has_device ? o->device.host_us : 0;
	double device_seq_us = o->has_device ? o->device.host_seq_us : 0;

	return (struct host_want){
		.host_us = p->host_us > 0 ? p->host_us : device_us,
		.host_seq_us = p->host_seq_us > 0 ? p->host_seq_us : device_seq_us,
		.async = p->async > 0,
	};
}

static int make_executor(const struct run_options *o, struct resources *res, int which,
			 const struct memory_want *want, const struct common_params *common,
			 struct err *e)
{
	const struct host_want host = host_of(o, common);
	struct executor *x;

	if (o->executor == EXECUTOR_FIXED)
		x = executor_fixed_new(o->executor_params, res->executor_params,
				       sizeof(res->executor_params), e);
	else
		x = cost_predict_new(&o->model, &o->device,
				     &(struct cost_want){.tp = want->tp,
							 .pp = want->pp,
							 .kv_bits = want->kv_bits,
							 .graph = common->graph},
				     e);
	if (!x)
		return -1;
	res->executor[which] = host_wrap(x, &host);
	return 0;
}

/* Of a predicted step each stage takes the share of the weights that it reads. */
static double *stage_shares(const struct model *m, int64_t tp, int64_t pp)
{
	double *share = xcalloc((size_t)pp, sizeof(*share));
	double all = 0;

	for (int64_t i = 0; i < pp; i++) {
		share[i] = (double)model_stage_streamed_bytes(m, tp, pp, i);
		all += share[i];
	}
	for (int64_t i = 0; i < pp; i++)
		share[i] /= all;
	return share;
}

/* Without a model and a device the pool is what was asked for, or without limit. */
static int size_pool(const struct run_options *o, struct memory_budget *b,
		     const struct memory_want *want, struct hardware *hw, struct err *e)
{
	if (o->has_model && o->has_device) {
		memory_budget(&o->model, &o->device, want, b);
		if (memory_check(&o->model, &o->device, want, b, e) < 0)
			return -1;
		hw->kv_blocks = b->blocks;
		return 0;
	}
	b->blocks = want->kv_blocks > 0 ? want->kv_blocks : want->kv_tokens / want->block_tok;
	hw->kv_unlimited = b->blocks == 0;
	hw->kv_blocks = hw->kv_unlimited ? UNLIMITED_BLOCKS : b->blocks;
	return 0;
}

/* What a slot takes on a device, and a token that moves, in the layers without a window and with.
 */
static void set_kv(const struct model *m, const struct memory_want *want, struct hardware *hw)
{
	struct model_kv kv;

	model_kv(m, want->tp, want->pp, want->kv_bits, &kv);
	hw->kv_token_bytes = kv.slot_bytes;
	hw->window_share = kv.window_share;
	hw->window_only = kv.window_only;
	hw->window_tok = m->window_tok;
	model_kv(m, 1, 1, want->kv_bits, &kv);
	hw->kv_move_bytes = kv.full_bytes;
	hw->window_move_bytes = kv.window_bytes;
}

static int make_hardware(const struct run_options *o, const struct choice *choice,
			 struct resources *res, int which, struct hardware *hw, struct err *e)
{
	const struct disaggregated_params *d = &choice->shape;
	int64_t tp = which ? d->decode_tp : d->prefill_tp;
	int64_t pp = which ? d->decode_pp : d->prefill_pp;
	struct memory_want want = o->memory;

	if (tp > 0)
		want.tp = tp;
	if (pp > 0)
		want.pp = pp;
	if (o->has_model && model_check_tp(&o->model, want.tp, e) < 0)
		return -1;
	if (make_executor(o, res, which, &want, &choice->common, e) < 0 ||
	    size_pool(o, &res->budget[which], &want, hw, e) < 0)
		return -1;
	hw->executor = res->executor[which];
	hw->block_tok = want.block_tok;
	hw->pp = want.pp;
	if (want.pp > 1 && o->executor != EXECUTOR_FIXED)
		res->stage_share[which] = stage_shares(&o->model, want.tp, want.pp);
	hw->stage_share = res->stage_share[which];
	if (o->has_model)
		set_kv(&o->model, &want, hw);
	if (o->has_device)
		hw->pcie_bytes_s = o->device.pcie_bytes_s;
	return 0;
}

/* The instances of a choice, or the prefill and the decode ones. */
static int make_both(const struct run_options *o, const struct choice *choice,
		     struct resources *res, struct hardware *hw, struct hardware *decode_hw,
		     struct err *e)
{
	if (make_hardware(o, choice, res, 0, hw, e) < 0)
		return -1;
	return choice->disaggregated ? make_hardware(o, choice, res, 1, decode_hw, e) : 0;
}

static void free_hardware(struct resources *res)
{
	for (int i = 0; i < 2; i++) {
		executor_free(res->executor[i]);
		free(res->stage_share[i]);
	}
}

int replay_check(const struct run_options *o, const struct choice *choice, struct err *e)
{
	struct resources res = {0};
	struct hardware hw = {0}, decode_hw = {0};
	int result = make_both(o, choice, &res, &hw, &decode_hw, e);

	free_hardware(&res);
	return result;
}

static struct trace_spec spec_at(const struct run_options *o, double rate)
{
	struct trace_spec spec = o->spec;

	spec.rate_inf = isinf(rate);
	spec.rate_rps = isfinite(rate) ? rate : 0;
	return spec;
}

static int check_hash_ids(const struct run_options *o, int64_t hash_block, struct err *e)
{
	for (size_t i = 0; i < o->n_choices; i++) {
		const struct sim_config c = {.choice = &o->choices[i],
					     .hardware.block_tok = o->memory.block_tok,
					     .hash_block = hash_block};

		if (sim_check(&c, e) < 0)
			return -1;
	}
	return 0;
}

int replay_check_trace(struct run_options *o, struct err *e)
{
	double slowest = o->rates[0];
	struct trace_row row;
	int more = 0;

	for (size_t i = 1; i < o->n_rates; i++)
		slowest = fmin(slowest, o->rates[i]);
	if (isfinite(slowest) && !o->spec.arrivals) {
		if (trace_measure(&o->spec, &o->span, e) < 0)
			return -1;
		o->spec.span = &o->span;
	}
	const struct trace_spec spec = spec_at(o, slowest);
	struct trace *t = trace_open(&spec, e);

	if (!t)
		return -1;
	int result = check_hash_ids(o, trace_hash_block(t), e);

	/* how long drawn arrivals last is known by drawing them */
	if (result == 0 && o->spec.arrivals && isfinite(slowest) && o->n_rates > 1)
		while ((more = trace_next(t, &row, e)) > 0)
			;
	trace_close(t);
	return result < 0 ? result : more;
}

static int next_row(void *arg, struct trace_row *row, struct err *e)
{
	return trace_next(arg, row, e);
}

static int to_record(void *arg, const struct record *r, struct err *e)
{
	return store_record(arg, r, e);
}

static int to_sample(void *arg, const struct sample *s, struct err *e)
{
	return store_sample(arg, s, e);
}

static int to_step(void *arg, const struct step_row *s, struct err *e)
{
	return store_step(arg, s, e);
}

static int to_bin(void *arg, const struct histogram_bin *b, struct err *e)
{
	return store_bin(arg, b, e);
}

/* The names of the clients that rows may have had. */
static int store_clients(struct store *store, const struct trace *t, struct err *e)
{
	const char *name;

	for (int64_t id = 1; *(name = trace_client_name(t, id)); id++)
		if (store_client(store, id, name, e) < 0)
			return -1;
	return 0;
}

struct watch {
	struct replay *r;
	struct resources *res;
};

static void watch(void *arg, int64_t now_ns, int64_t ended)
{
	struct watch *w = arg;

	atomic_store(&w->r->fraction, trace_progress(w->res->trace));
	atomic_store(&w->r->now_ns, now_ns);
	atomic_store(&w->r->ended, ended);
}

static int run(struct replay *r, struct resources *res, struct err *e)
{
	const struct run_options *o = r->options;
	struct trace_spec spec = spec_at(o, r->rate);
	struct watch w = {r, res};
	struct sim_config c = {
		.choice = r->choice,
		.instances = o->instances,
		.router = o->router,
		.context = o->has_model ? o->model.context : 0,
		.max_tokens_rule = o->max_tokens_rule,
		.max_tokens = o->max_tokens,
		.max_model_len = o->max_model_len,
		.too_long_truncate = o->truncate,
		.closed_loop = o->closed_loop,
		.sessions_open = o->sessions_open,
		.queue_limit = o->queue_limit,
		.timeout_ns = llround(o->timeout_s * 1e9),
		.horizon_ns = o->horizon_given ? llround(o->horizon_s * 1e9) : -1,
		.step_by_step = o->no_fast_forward,
		.seed = (uint64_t)o->select.seed,
		.slo = o->slo,
		.keep_all = o->keep_all,
		.next = next_row,
		.record = r->record,
		.step = r->step,
		.sink_arg = r->sink_arg,
		.progress = r->show_progress ? watch : NULL,
		.progress_arg = &w,
	};

	if (make_both(o, r->choice, res, &c.hardware, &c.decode_hardware, e) < 0 ||
	    link_bytes_s(r->choice, o->has_device ? &o->device : NULL, o->memory.tp,
			 &c.link_bytes_s, e) < 0)
		return -1;
	res->trace = trace_open(&spec, e);
	if (!res->trace)
		return -1;
	c.next_arg = res->trace;
	c.has_sessions = trace_has_sessions(res->trace);
	c.hash_block = trace_hash_block(res->trace);
	if (o->db) {
		r->store = store_open(o->db, e);
		if (!r->store)
			return -1;
		c.sink_arg = r->store;
		c.record = o->keep_all ? to_record : NULL;
		c.sample = to_sample;
		c.step = o->steps ? to_step : NULL;
		c.bin = to_bin;
	}
	if (sim_run(&c, &r->summary, &r->counts, e) < 0)
		return -1;
	return o->db && o->keep_all ? store_clients(r->store, res->trace, e) : 0;
}

/* What the row and the database say of the settings */

static int64_t given_int(int64_t value)
{
	return value > 0 ? value : FIELD_NULL_INT;
}

static double given_real(double value)
{
	return value > 0 ? value : NAN;
}

static void fill_trace_info(const struct replay *r, const struct resources *res, struct run_info *i)
{
	const struct run_options *o = r->options;
	const struct trace_counts *t = &r->trace;

	snprintf(i->trace, sizeof(i->trace), "%s", o->spec.source);
	snprintf(i->trace_format, sizeof(i->trace_format), "%s", trace_format(res->trace));
	snprintf(i->trace_hash, sizeof(i->trace_hash), "%016llx", (unsigned long long)t->hash);
	i->trace_rows = t->rows;
	snprintf(i->zero, sizeof(i->zero), "%s", trace_zero_names[o->spec.zero]);
	i->skipped_zero = t->skipped_zero;
	i->clamped_zero = t->clamped_zero;
	i->skipped_zero_prompt = t->skipped_zero_prompt;
	i->left_out = t->left_out;
	i->hash_block = given_int(trace_hash_block(res->trace));
	snprintf(i->hash_rule, sizeof(i->hash_rule), "%s",
		 trace_hash_names[trace_hash_rule(res->trace)]);
	snprintf(i->sessions, sizeof(i->sessions), "%s", o->sessions_text);
	i->session_count = t->sessions;
	i->overlapping_turns = t->overlapping;
	i->unknown_parents = t->unknown_parents;
	snprintf(i->arrivals, sizeof(i->arrivals), "%s", o->spec.arrivals ? o->spec.arrivals : "");
	i->cv = given_real(o->spec.cv);
	i->rate_rps = r->rate;
	i->speed = given_real(o->select.speed);
	i->closed_loop = given_int(o->closed_loop);
	i->skip = o->spec.skip;
	i->limit = given_int(o->spec.limit);
	i->window_from_s = i->window_to_s = NAN;
	if (o->spec.window) {
		i->window_from_s = (double)o->spec.window_from_ns / 1e9;
		i->window_to_s = (double)o->spec.window_to_ns / 1e9;
	}
}

static void fill_kv_info(const struct run_options *o, struct run_info *i)
{
	struct model_kv kv = {0};

	i->kv_bits = o->memory.kv_bits;
	if (o->has_model)
		model_kv(&o->model, o->memory.tp, o->memory.pp, o->memory.kv_bits, &kv);
	i->kv_token_bytes = o->has_model ? kv.full_bytes : FIELD_NULL_INT;
	i->kv_window_bytes = o->has_model ? kv.window_bytes : FIELD_NULL_INT;
	i->window_tok = o->has_model ? given_int(o->model.window_tok) : FIELD_NULL_INT;
}

static void fill_memory_info(const struct replay *r, const struct resources *res,
			     struct run_info *i)
{
	const struct run_options *o = r->options;
	bool both = o->has_model && o->has_device, budget = both && !res->budget[0].overridden;
	bool split = r->choice->disaggregated;

	i->kv_blocks = given_int(res->budget[0].blocks);
	i->block_tok = o->memory.block_tok;
	fill_kv_info(o, i);
	i->memory_bytes = both ? res->budget[0].memory_bytes : FIELD_NULL_INT;
	i->weights_bytes = both ? res->budget[0].weights_bytes : FIELD_NULL_INT;
	i->usable_bytes = both ? res->budget[0].usable_bytes : FIELD_NULL_INT;
	i->decode_instances = split ? r->choice->shape.decode : FIELD_NULL_INT;
	i->decode_kv_blocks = split ? given_int(res->budget[1].blocks) : FIELD_NULL_INT;
	i->utilization = budget ? o->memory.utilization : NAN;
	i->reserve_bytes = budget ? res->budget[0].reserve_bytes : FIELD_NULL_INT;
}

static int64_t count_devices(const struct replay *r)
{
	const struct disaggregated_params *d = &r->choice->shape;
	int64_t tp = r->options->memory.tp, pp = r->options->memory.pp;

	if (!r->choice->disaggregated)
		return r->options->instances * tp * pp;
	return d->prefill * (d->prefill_tp ? d->prefill_tp : tp) *
		       (d->prefill_pp ? d->prefill_pp : pp) +
	       d->decode * (d->decode_tp ? d->decode_tp : tp) * (d->decode_pp ? d->decode_pp : pp);
}

static void fill_info(struct replay *r, const struct resources *res)
{
	const struct run_options *o = r->options;
	const struct host_want host = host_of(o, &r->choice->common);
	struct run_info *i = &r->info;
	struct summary *s = &r->summary;

	snprintf(s->policy, sizeof(s->policy), "%s", r->choice->name);
	snprintf(s->params, sizeof(s->params), "%s", r->choice->params);
	snprintf(s->given, sizeof(s->given), "%s", r->choice->given);
	snprintf(i->given, sizeof(i->given), "%s", r->choice->given);
	snprintf(i->model_source, sizeof(i->model_source), "%s",
		 o->has_model ? o->hardware.model_name : "");
	snprintf(i->columns, sizeof(i->columns), "%s", o->select.columns ? o->select.columns : "");
	snprintf(s->model, sizeof(s->model), "%s", o->has_model ? o->model.name : "");
	snprintf(s->device, sizeof(s->device), "%s", o->has_device ? o->device.name : "");
	s->devices = count_devices(r);
	snprintf(i->policy, sizeof(i->policy), "%s", s->policy);
	snprintf(i->params, sizeof(i->params), "%s", s->params);
	snprintf(i->model, sizeof(i->model), "%s", s->model);
	snprintf(i->device, sizeof(i->device), "%s", s->device);
	snprintf(i->notes, sizeof(i->notes), "%s", s->notes);
	snprintf(i->executor, sizeof(i->executor), "%s", res->executor[0]->ops->name);
	snprintf(i->executor_params, sizeof(i->executor_params), "%s", res->executor_params);
	i->tp = o->memory.tp;
	i->pp = o->memory.pp;
	i->instances = r->choice->disaggregated ? r->choice->shape.prefill + r->choice->shape.decode
						: o->instances;
	snprintf(i->router, sizeof(i->router), "%s", o->router->name);
	fill_trace_info(r, res, i);
	fill_memory_info(r, res, i);
	i->host_us = host.host_us;
	i->host_seq_us = host.host_seq_us;
	i->seed = o->select.seed;
	i->horizon_s = o->horizon_given ? o->horizon_s : NAN;
	i->max_model_len = given_int(o->max_model_len);
	snprintf(i->too_long, sizeof(i->too_long), "%s", o->too_long_text);
	i->too_long_rejected = r->counts.too_long_rejected;
	i->too_long_truncated = r->counts.too_long_truncated;
	i->queue_limit = given_int(o->queue_limit);
	i->queue_full = r->counts.queue_full;
	i->timeout_s = given_real(o->timeout_s);
	snprintf(i->max_tokens, sizeof(i->max_tokens), "%s", o->max_tokens_text);
	i->slo_ttft_s = o->slo.ttft_ns / 1e9;
	i->slo_tpot_s = o->slo.tpot_ns / 1e9;
	i->slo_e2e_s = o->slo.e2e_ns / 1e9;
	i->slo_maxgap_s = o->slo.maxgap_ns / 1e9;
	snprintf(i->program_version, sizeof(i->program_version), "%s", OMNIBUS_VERSION);
}

static double wall_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void set_started(struct replay *r)
{
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(r->started, sizeof(r->started), "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void replay_run(struct replay *r)
{
	struct resources res = {0};
	double start_s = wall_now_s();

	set_started(r);
	r->result = run(r, &res, &r->err);
	if (r->result == 0) {
		r->trace = *trace_counts(res.trace);
		fill_info(r, &res);
	}
	r->wall_s = wall_now_s() - start_s;
	trace_close(res.trace);
	free_hardware(&res);
}

int replay_commit(struct replay *r, struct err *e)
{
	if (!r->store)
		return 0;
	int result = store_commit(r->store, &r->info, &r->summary, r->started, r->wall_s, e);

	replay_release(r);
	return result;
}

void replay_release(struct replay *r)
{
	store_close(r->store);
	r->store = NULL;
}
