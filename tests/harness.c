#include "tests/harness.h"
#include "sim/host.h"
#include <math.h>
#include <string.h>

struct harness_options harness_default(const char *policy, const char *fixed)
{
	return (struct harness_options){
		.policy = policy,
		.fixed = fixed,
		.instances = 1,
		.router = "round-robin",
		.kv_blocks = 1000,
		.decode_kv_blocks = 1000,
		.block_tok = 16,
		.pcie_bytes_s = 1e9,
		.max_tokens_rule = MAX_TOKENS_MODEL,
		.horizon_ns = -1,
		.slo = {NAN, NAN, NAN, NAN},
	};
}

struct rows {
	const struct trace_row *at;
	size_t n, next;
};

static int next_row(void *arg, struct trace_row *row, struct err *e)
{
	struct rows *rows = arg;

	(void)e;
	if (rows->next == rows->n)
		return 0;
	*row = rows->at[rows->next++];
	return 1;
}

/* Room for one more of `size` bytes in *at. */
static void *one_more(void *at, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return at;
	*room = *room ? 2 * *room : 64;
	return xrealloc(at, *room * size);
}

static int on_record(void *arg, const struct record *rec, struct err *e)
{
	struct harness_result *r = arg;

	(void)e;
	r->ended = one_more(r->ended, r->n_ended, &r->room_ended, sizeof(*r->ended));
	r->ended[r->n_ended++] = *rec;
	return 0;
}

static int on_sample(void *arg, const struct sample *s, struct err *e)
{
	struct harness_result *r = arg;

	(void)e;
	r->sample = one_more(r->sample, r->n_samples, &r->room_samples, sizeof(*r->sample));
	r->sample[r->n_samples++] = *s;
	return 0;
}

static int on_bin(void *arg, const struct histogram_bin *b, struct err *e)
{
	struct harness_result *r = arg;
	struct harness_bin *bin;

	(void)e;
	r->bin = one_more(r->bin, r->n_bins, &r->room_bins, sizeof(*r->bin));
	bin = &r->bin[r->n_bins++];
	*bin = (struct harness_bin){.low_ns = b->low_ns, .high_ns = b->high_ns, .count = b->count};
	snprintf(bin->metric, sizeof(bin->metric), "%s", b->metric);
	return 0;
}

static int on_step(void *arg, const struct step_row *s, struct err *e)
{
	struct harness_result *r = arg;

	(void)e;
	r->step = one_more(r->step, r->n_steps, &r->room_steps, sizeof(*r->step));
	r->step[r->n_steps++] = *s;
	return 0;
}

static void on_audit(void *arg, const struct sim *s, int32_t instance)
{
	struct harness_result *r = arg;

	audit_sim(&r->audit, s, instance);
	if (r->options->look)
		r->options->look(r->options->look_arg, s);
}

/* Every request that ended has one record. */
static void sort_records(struct harness_result *r)
{
	r->n = 0;
	for (size_t i = 0; i < r->n_ended; i++)
		if ((size_t)r->ended[i].idx >= r->n)
			r->n = (size_t)r->ended[i].idx + 1;
	r->record = xcalloc(r->n + 1, sizeof(*r->record));
	for (size_t i = 0; i < r->n; i++)
		r->record[i].idx = -1;
	for (size_t i = 0; i < r->n_ended; i++) {
		struct record *to = &r->record[r->ended[i].idx];

		CHECK(to->idx == -1, "request %lld ends in place %zu and before",
		      (long long)r->ended[i].idx, i);
		*to = r->ended[i];
	}
}

static struct hardware hardware_of(const struct harness_options *o, const struct executor *x,
				   int64_t kv_blocks, int64_t pp)
{
	return (struct hardware){
		.executor = x,
		.kv_blocks = kv_blocks,
		.block_tok = o->block_tok,
		.kv_token_bytes = o->token_bytes,
		.kv_move_bytes = o->token_bytes,
		.pcie_bytes_s = o->pcie_bytes_s,
		.pp = pp,
		.stage_share = o->stage_share,
		.window_tok = o->window_tok,
		.window_share = o->window_share,
		.window_only = o->window_only,
		.window_move_bytes = o->window_token_bytes,
	};
}

/* The executor `fixed`, with the host's overhead of the choice around it. */
static struct executor *fixed_with_host(const char *fixed, const struct common_params *p)
{
	struct host_want host = {p->host_us, p->host_seq_us, p->async > 0};
	char canon[256];
	struct err e;
	struct executor *x = executor_fixed_new(fixed, canon, sizeof(canon), &e);

	CHECK(x, "fixed:%s: %s", fixed, e.text);
	return host_wrap(x, &host);
}

static struct sim_config config_of(const struct harness_options *o, struct rows *rows,
				   struct harness_result *r)
{
	struct sim_config c = {
		.instances = o->instances,
		.context = o->context,
		.hash_block = o->hash_block,
		.max_tokens_rule = o->max_tokens_rule,
		.max_tokens = o->max_tokens,
		.max_model_len = o->max_model_len,
		.too_long_truncate = o->truncate,
		.closed_loop = o->closed_loop,
		.horizon_ns = o->horizon_ns,
		.queue_limit = o->queue_limit,
		.timeout_ns = o->timeout_ns,
		.sessions_open = o->sessions_open,
		.link_bytes_s = o->link_bytes_s,
		.step_by_step = o->step_by_step,
		.seed = o->seed,
		.slo = o->slo,
		.keep_all = !o->histograms,
		.next = o->next ? o->next : next_row,
		.next_arg = o->next ? o->next_arg : rows,
		.record = on_record,
		.sample = on_sample,
		.bin = on_bin,
		.step = o->steps ? on_step : NULL,
		.sink_arg = r,
		.wall = o->wall,
		.taken = o->taken,
		.taken_arg = o->taken_arg,
		.audit = o->no_audit ? NULL : on_audit,
		.audit_arg = r,
	};

	return c;
}

void harness_run(const struct harness_options *o, const struct trace_row *rows, size_t n,
		 struct harness_result *r)
{
	struct rows from = {.at = rows, .n = n};
	struct choice parsed = {0};
	const struct choice *choice = o->choice;
	const struct executor *x = o->executor;
	struct executor *own = NULL;

	*r = (struct harness_result){.options = o};
	struct sim_config c = config_of(o, &from, r);

	for (size_t i = 0; i < n; i++)
		c.has_sessions = c.has_sessions || rows[i].session > 0;
	if (!choice) {
		CHECK(choice_parse(&parsed, o->policy, &r->err) == 0, "-p %s: %s", o->policy,
		      r->err.text);
		choice = &parsed;
	}
	if (!x) {
		own = fixed_with_host(o->fixed, &choice->common);
		x = own;
	}
	CHECK(router_find(&c.router, o->router, &r->err) == 0, "%s", r->err.text);
	c.choice = choice;
	c.hardware = hardware_of(o, x, o->kv_blocks, o->pp);
	c.decode_hardware = hardware_of(o, x, o->decode_kv_blocks, o->decode_pp);
	fields_clear(summary_fields, &r->summary);
	r->rc = sim_run(&c, &r->summary, &r->counts, &r->err);
	r->summary.run_id = 1;
	snprintf(r->summary.policy, sizeof(r->summary.policy), "%s", choice->name);
	snprintf(r->summary.params, sizeof(r->summary.params), "%s", choice->params);
	sort_records(r);
	r->options = NULL;
	executor_free(own);
	choice_release(&parsed);
}

void harness_release(struct harness_result *r)
{
	free(r->record);
	free(r->ended);
	free(r->sample);
	free(r->bin);
	free(r->step);
	*r = (struct harness_result){0};
}

static void print_record(FILE *out, const struct record *r)
{
	fprintf(out, "request %lld %lld %lld %lld %lld %lld %lld %lld %lld %lld %a %d\n",
		(long long)r->idx, (long long)r->arrive_ns, (long long)r->schedule_ns,
		(long long)r->first_token_ns, (long long)r->finish_ns, (long long)r->prompt_tok,
		(long long)r->output_tok, (long long)r->cached_tok, (long long)r->preemptions,
		(long long)r->instance, r->max_gap_ns, (int)r->status);
}

char *harness_text(const struct harness_result *r)
{
	const void *row = &r->summary;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out, "no memory stream for %zu records", r->n_ended);
	for (size_t i = 0; i < r->n_ended; i++)
		print_record(out, &r->ended[i]);
	for (size_t i = 0; i < r->n_samples; i++)
		fprintf(out, "sample %lld %lld %lld %lld %lld\n", (long long)r->sample[i].t_ns,
			(long long)r->sample[i].instance, (long long)r->sample[i].running,
			(long long)r->sample[i].waiting, (long long)r->sample[i].kv_blocks);
	for (size_t i = 0; i < r->n_steps; i++)
		fprintf(out, "step %lld %lld %lld %lld %lld %d %lld %lld %lld %lld %lld\n",
			(long long)r->step[i].instance, (long long)r->step[i].batch,
			(long long)r->step[i].start_ns, (long long)r->step[i].end_ns,
			(long long)r->step[i].steps, (int)r->step[i].kind,
			(long long)r->step[i].prefill_tok, (long long)r->step[i].decode_seq,
			(long long)r->step[i].decode_ctx, (long long)r->step[i].kv_blocks,
			(long long)r->step[i].moved_bytes);
	for (size_t i = 0; i < r->n_bins; i++)
		fprintf(out, "bin %s %.17g %.17g %lld\n", r->bin[i].metric, r->bin[i].low_ns,
			r->bin[i].high_ns, (long long)r->bin[i].count);
	fields_print(out, FORMAT_CSV, summary_fields, &row, 1);
	fclose(out);
	return text;
}
