#include "sim/resources.h"
#include "sim/backend_executor.h"
#include <string.h>

/* More blocks than anything needs, and sums of them still fit. */
static const int64_t UNLIMITED_BLOCKS = (int64_t)1 << 40;

/* What is made in turn. */
struct making {
	struct resources *res;
	const struct run_options *o;
	const struct choice *choice;
	const struct recording_facts *now;
	bool dry; /* nothing is opened */
};

struct host_want resources_host(const struct run_options *o, const struct common_params *p)
{
	double device_us = o->has_device ? o->device.host_us : 0;
	double device_seq_us = o->has_device ? o->device.host_seq_us : 0;

	if (o->wall)
		return (struct host_want){0};
	return (struct host_want){
		.host_us = p->host_us > 0 ? p->host_us : device_us,
		.host_seq_us = p->host_seq_us > 0 ? p->host_seq_us : device_seq_us,
		.async = p->async > 0,
	};
}

struct cost_want resources_cost(const struct choice *choice, const struct memory_want *want)
{
	return (struct cost_want){.tp = want->tp,
				  .pp = want->pp,
				  .kv_bits = want->kv_bits,
				  .graph = choice->common.graph,
				  .fused_quant = choice->common.fused_quant > 0};
}

/* Executors */

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/*
 * Room for what the policy's parameters let into a step, within reason: what turns out to need more
 * gets it.
 */
static struct backend_want backend_want(const struct making *m, const struct memory_want *want,
					int64_t kv_blocks)
{
	enum { MAX_TOK = 8192, MAX_SEQS = 1024, SOME_TOK = 2048, SOME_SEQS = 64 };
	const struct param *table = m->choice->policy->params;
	const void *values = m->choice->state;
	int64_t tok = param_int(table, values, "chunk", 0), seqs;

	if (tok <= 0)
		tok = param_int(table, values, "max_batched_tokens", SOME_TOK);
	seqs = param_int(table, values, "max_seqs", param_int(table, values, "size", SOME_SEQS));
	if (m->choice->disaggregated && m->choice->shape.decode_seqs > seqs)
		seqs = m->choice->shape.decode_seqs;
	return (struct backend_want){
		.model = &m->o->model,
		.tp = want->tp,
		.max_tok = smaller(tok > 0 ? tok : SOME_TOK, MAX_TOK),
		.max_seqs = smaller(seqs > 0 ? seqs : SOME_SEQS, MAX_SEQS),
		.kv_tok = kv_blocks * want->block_tok,
		.block_tok = want->block_tok,
		.kv_bits = (int)want->kv_bits,
		.seed = (uint64_t)m->o->select.seed,
		.if_short = "; give --kv-tokens N for a smaller KV pool",
	};
}

static struct executor *measured_new(const struct making *m, const struct memory_want *want,
				     int64_t kv_blocks, struct err *e)
{
	const struct backend_ops *ops = backend_find(executor_kinds[m->o->executor].name, e);
	const struct backend_want w = backend_want(m, want, kv_blocks);
	struct executor *x = ops ? backend_executor_new(ops, &w, e) : NULL;

	if (x)
		backend_executor_device(x, m->res->device, sizeof(m->res->device));
	return x;
}

static struct executor *replayed_new(const struct making *m, struct err *e)
{
	snprintf(m->res->executor_params, sizeof(m->res->executor_params), "%s",
		 m->o->executor_params);
	snprintf(m->res->device, sizeof(m->res->device), "%s", m->o->recorded.device);
	return executor_replay_new(m->o->executor_params, m->now, e);
}

static struct executor *forecast_new(const struct making *m, const struct memory_want *want,
				     struct err *e)
{
	if (m->o->has_device)
		snprintf(m->res->device, sizeof(m->res->device), "%s", m->o->device.name);
	if (m->o->executor == EXECUTOR_FIXED)
		return executor_fixed_new(m->o->executor_params, m->res->executor_params,
					  sizeof(m->res->executor_params), e);
	const struct cost_want cost = resources_cost(m->choice, want);

	return cost_predict_new(&m->o->model, &m->o->device, &cost, e);
}

/* Real ones are one at a time: prefill and decode instances share them where they can. */
static bool shares_first(const struct making *m, int which, const struct memory_want *want)
{
	int64_t prefill_tp = m->choice->shape.prefill_tp;

	return which == 1 && (m->o->executor == EXECUTOR_REPLAY ||
			      (executor_kinds[m->o->executor].measures &&
			       want->tp == (prefill_tp > 0 ? prefill_tp : m->o->memory.tp)));
}

static int make_executor(const struct making *m, int which, const struct memory_want *want,
			 int64_t kv_blocks, struct err *e)
{
	const struct host_want host = resources_host(m->o, &m->choice->common);
	bool measures = executor_kinds[m->o->executor].measures;
	struct executor *x;

	if (m->dry && m->o->executor == EXECUTOR_PREDICT) {
		const struct cost_want cost = resources_cost(m->choice, want);

		return cost_predict_check(&m->o->model, &m->o->device, &cost, e);
	}
	if (m->dry && measures)
		return backend_find(executor_kinds[m->o->executor].name, e) ? 0 : -1;
	if (shares_first(m, which, want)) {
		m->res->executor[1] = m->res->executor[0];
		return 0;
	}
	if (measures)
		x = measured_new(m, want, kv_blocks, e);
	else if (m->o->executor == EXECUTOR_REPLAY)
		x = replayed_new(m, e);
	else
		x = forecast_new(m, want, e);
	if (!x)
		return -1;
	/* what was recorded has the host's time in it */
	m->res->executor[which] = m->o->executor == EXECUTOR_REPLAY ? x : host_wrap(x, &host);
	return 0;
}

/* Pools */

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

/* What the instances want of the run's memory; a pool that nobody sized is as it was recorded. */
static struct memory_want want_of(const struct making *m, int which)
{
	const struct disaggregated_params *d = &m->choice->shape;
	int64_t tp = which ? d->decode_tp : d->prefill_tp;
	int64_t pp = which ? d->decode_pp : d->prefill_pp;
	struct memory_want want = m->o->memory;

	if (tp > 0)
		want.tp = tp;
	if (pp > 0)
		want.pp = pp;
	if (m->o->executor == EXECUTOR_REPLAY && !m->o->has_device && want.kv_blocks == 0 &&
	    want.kv_tokens == 0)
		want.kv_blocks = which ? m->o->recorded.decode_kv_blocks : m->o->recorded.kv_blocks;
	return want;
}

static int make_hardware(const struct making *m, int which, struct hardware *hw, struct err *e)
{
	const struct run_options *o = m->o;
	const struct memory_want want = want_of(m, which);
	struct resources *res = m->res;

	if (o->has_model && model_check_tp(&o->model, want.tp, e) < 0)
		return -1;
	if (size_pool(o, &res->budget[which], &want, hw, e) < 0 ||
	    make_executor(m, which, &want, hw->kv_blocks, e) < 0)
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

static int make_both(const struct making *m, struct hardware *hw, struct hardware *decode_hw,
		     struct err *e)
{
	*m->res = (struct resources){0};
	if (make_hardware(m, 0, hw, e) < 0)
		return -1;
	return m->choice->disaggregated ? make_hardware(m, 1, decode_hw, e) : 0;
}

int resources_make(struct resources *res, const struct run_options *o, const struct choice *choice,
		   const struct recording_facts *now, struct hardware *hw,
		   struct hardware *decode_hw, struct err *e)
{
	const struct making m = {.res = res, .o = o, .choice = choice, .now = now};

	return make_both(&m, hw, decode_hw, e);
}

void resources_release(struct resources *res)
{
	if (res->executor[1] != res->executor[0])
		executor_free(res->executor[1]);
	executor_free(res->executor[0]);
	free(res->stage_share[0]);
	free(res->stage_share[1]);
	*res = (struct resources){0};
}

int resources_check(const struct run_options *o, const struct choice *choice, struct err *e)
{
	struct resources res;
	struct hardware hw = {0}, decode_hw = {0};
	const struct making m = {.res = &res, .o = o, .choice = choice, .now = NULL, .dry = true};
	int result = make_both(&m, &hw, &decode_hw, e);

	resources_release(&res);
	return result;
}
