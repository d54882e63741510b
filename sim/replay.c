#include "sim/replay.h"
#include "sim/link.h"
#include "sim/replay_info.h"
#include <math.h>
#include <string.h>
#include <time.h>

int replay_check(const struct run_options *o, const struct choice *choice, struct err *e)
{
	return resources_check(o, choice, e);
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

/* What a replay holds while it runs. */
struct holdings {
	struct trace *trace;
	struct resources on;
	struct recorder *recorder;
	struct recording_facts facts; /* of this run */
};

struct watch {
	struct replay *r;
	const struct holdings *has;
};

static void watch(void *arg, int64_t now_ns, int64_t ended)
{
	struct watch *w = arg;

	atomic_store(&w->r->fraction, trace_progress(w->has->trace));
	atomic_store(&w->r->now_ns, now_ns);
	atomic_store(&w->r->ended, ended);
}

static struct sim_config config_of(const struct replay *r)
{
	const struct run_options *o = r->options;

	return (struct sim_config){
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
		.wall = o->wall ? &wall_monotonic : NULL,
		.step_by_step = o->no_fast_forward,
		.seed = (uint64_t)o->select.seed,
		.slo = o->slo,
		.keep_all = o->keep_all,
		.next = next_row,
		.record = r->record,
		.step = r->step,
		.sink_arg = r->sink_arg,
	};
}

static int open_trace(struct replay *r, struct holdings *has, struct sim_config *c, struct err *e)
{
	struct trace_spec spec = spec_at(r->options, r->rate);

	has->trace = trace_open(&spec, e);
	if (!has->trace)
		return -1;
	c->next_arg = has->trace;
	c->has_sessions = trace_has_sessions(has->trace);
	c->hash_block = trace_hash_block(has->trace);
	return 0;
}

static int open_store(struct replay *r, struct sim_config *c, struct err *e)
{
	const struct run_options *o = r->options;

	if (!o->db)
		return 0;
	r->store = store_open(o->db, e);
	if (!r->store)
		return -1;
	c->sink_arg = r->store;
	c->record = o->keep_all ? to_record : NULL;
	c->sample = to_sample;
	c->step = o->steps ? to_step : NULL;
	c->bin = to_bin;
	return 0;
}

/* Recordings */

/* What one of this run would say, as far as it is known before there is an executor. */
static void fill_facts(const struct replay *r, struct recording_facts *f)
{
	const struct run_options *o = r->options;

	snprintf(f->program, sizeof(f->program), "%s", OMNIBUS_VERSION);
	snprintf(f->policy, sizeof(f->policy), "%s", r->choice->name);
	snprintf(f->params, sizeof(f->params), "%s", r->choice->params);
	snprintf(f->model, sizeof(f->model), "%s", run_options_model(o));
	snprintf(f->trace, sizeof(f->trace), "%s", o->spec.source);
	snprintf(f->clock, sizeof(f->clock), "%s", o->clock_text);
	f->tp = o->memory.tp;
	f->kv_bits = o->memory.kv_bits;
	f->weight_bits = hardware_options_weight_bits(&o->hardware);
	snprintf(f->data_sheet, sizeof(f->data_sheet), "%s", o->has_device ? o->device.name : "");
}

static int open_recorder(struct replay *r, struct holdings *has, struct sim_config *c,
			 struct err *e)
{
	struct recording_facts *f = &has->facts;
	const struct executor *x = c->hardware.executor;

	if (!r->options->recording)
		return 0;
	snprintf(f->device, sizeof(f->device), "%s", has->on.device);
	snprintf(f->executor, sizeof(f->executor), "%s", x->ops->name);
	snprintf(f->times, sizeof(f->times), "%s", x->ops->times);
	snprintf(f->notes, sizeof(f->notes), "%s", x->notes);
	f->kv_blocks = has->on.budget[0].blocks;
	f->decode_kv_blocks = has->on.budget[1].blocks;
	has->recorder = recorder_new(r->options->recording, e);
	if (!has->recorder)
		return -1;
	recorder_begin(has->recorder, f);
	c->taken = recorder_take;
	c->taken_arg = has->recorder;
	return 0;
}

/* A recording that was replayed has come to its end, and one that was made is there. */
static int end_recordings(struct replay *r, struct holdings *has, struct err *e)
{
	char hash[24];

	snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)trace_counts(has->trace)->hash);
	if (r->options->executor == EXECUTOR_REPLAY &&
	    executor_replay_end(has->on.executor[0], hash, e) < 0)
		return -1;
	return has->recorder ? recorder_commit(has->recorder, hash, e) : 0;
}

static int run(struct replay *r, struct holdings *has, struct err *e)
{
	const struct run_options *o = r->options;
	struct sim_config c = config_of(r);
	struct watch w = {r, has};

	c.progress = r->show_progress ? watch : NULL;
	c.progress_arg = &w;
	fill_facts(r, &has->facts);
	if (resources_make(&has->on, o, r->choice, &has->facts, &c.hardware, &c.decode_hardware,
			   e) < 0 ||
	    link_bytes_s(r->choice, o->has_device ? &o->device : NULL, o->memory.tp,
			 &c.link_bytes_s, e) < 0)
		return -1;
	if (open_trace(r, has, &c, e) < 0 || open_store(r, &c, e) < 0 ||
	    open_recorder(r, has, &c, e) < 0 || sim_run(&c, &r->summary, &r->counts, e) < 0)
		return -1;
	if (o->db && o->keep_all && store_clients(r->store, has->trace, e) < 0)
		return -1;
	return end_recordings(r, has, e);
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
	struct holdings has = {0};
	double start_s = wall_now_s();

	set_started(r);
	r->result = run(r, &has, &r->err);
	if (r->result == 0) {
		r->trace = *trace_counts(has.trace);
		replay_info(r, &has.on, has.trace);
	}
	r->wall_s = wall_now_s() - start_s;
	trace_close(has.trace);
	recorder_free(has.recorder);
	resources_release(&has.on);
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
