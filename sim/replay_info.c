#include "sim/replay_info.h"
#include <math.h>

static int64_t given_int(int64_t value)
{
	return value > 0 ? value : FIELD_NULL_INT;
}

static double given_real(double value)
{
	return value > 0 ? value : NAN;
}

static void fill_trace_info(const struct replay *r, const struct trace *from, struct run_info *i)
{
	const struct run_options *o = r->options;
	const struct trace_counts *t = &r->trace;

	snprintf(i->trace, sizeof(i->trace), "%s", o->spec.source);
	snprintf(i->trace_format, sizeof(i->trace_format), "%s", trace_format(from));
	snprintf(i->trace_hash, sizeof(i->trace_hash), "%016llx", (unsigned long long)t->hash);
	i->trace_rows = t->rows;
	snprintf(i->zero, sizeof(i->zero), "%s", trace_zero_names[o->spec.zero]);
	i->skipped_zero = t->skipped_zero;
	i->clamped_zero = t->clamped_zero;
	i->skipped_zero_prompt = t->skipped_zero_prompt;
	i->left_out = t->left_out;
	i->hash_block = given_int(trace_hash_block(from));
	snprintf(i->hash_rule, sizeof(i->hash_rule), "%s", trace_hash_names[trace_hash_rule(from)]);
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

	i->weight_bits = hardware_options_weight_bits(&o->hardware);
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

void replay_info(struct replay *r, const struct resources *res, const struct trace *from)
{
	const struct run_options *o = r->options;
	const struct host_want host = resources_host(o, &r->choice->common);
	struct run_info *i = &r->info;
	struct summary *s = &r->summary;

	snprintf(s->policy, sizeof(s->policy), "%s", r->choice->name);
	snprintf(s->params, sizeof(s->params), "%s", r->choice->params);
	snprintf(s->given, sizeof(s->given), "%s", r->choice->given);
	snprintf(i->given, sizeof(i->given), "%s", r->choice->given);
	snprintf(i->model_source, sizeof(i->model_source), "%s",
		 o->has_model ? o->hardware.model_name : "");
	snprintf(i->columns, sizeof(i->columns), "%s", o->select.columns ? o->select.columns : "");
	snprintf(s->model, sizeof(s->model), "%s", run_options_model(o));
	snprintf(s->device, sizeof(s->device), "%.*s", (int)sizeof(s->device) - 1, res->device);
	s->devices = count_devices(r);
	snprintf(i->policy, sizeof(i->policy), "%s", s->policy);
	snprintf(i->params, sizeof(i->params), "%s", s->params);
	snprintf(i->model, sizeof(i->model), "%s", s->model);
	snprintf(i->device, sizeof(i->device), "%s", s->device);
	snprintf(i->notes, sizeof(i->notes), "%s", s->notes);
	snprintf(i->executor, sizeof(i->executor), "%s", res->executor[0]->ops->name);
	snprintf(i->executor_params, sizeof(i->executor_params), "%s", res->executor_params);
	snprintf(i->clock, sizeof(i->clock), "%s", o->clock_text);
	i->tp = o->memory.tp;
	i->pp = o->memory.pp;
	i->instances = r->choice->disaggregated ? r->choice->shape.prefill + r->choice->shape.decode
						: o->instances;
	snprintf(i->router, sizeof(i->router), "%s", o->router->name);
	fill_trace_info(r, from, i);
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
