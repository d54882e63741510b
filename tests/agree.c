#include "tests/agree.h"
#include "tests/reference_text.h"
#include <string.h>

/* The same case for both */

/* What only one of them can express is left out. */
void agree_level(struct ref_config *c, struct ref_request *req, size_t n)
{
	ref_level(c, req, n);
	if (c->step_ns + c->prefill_tok_ns + c->decode_seq_ns + c->ctx_tok_ns == 0)
		c->step_ns = 1; /* the executor refuses steps that take no time */
	c->latency_ns = c->latency_ns / 1e9 * 1e9;
	if (c->policy.mixed)
		c->policy.max_paddings = -1;
	if (!c->disaggregated)
		return;
	/* the defaults of paged */
	c->decode = (struct ref_policy){.kind = REF_PAGED,
					.seats = c->decode.seats,
					.watermark = 0.01,
					.max_batched_tok = 8192,
					.swap = true,
					.max_paddings = -1};
}

static void print_paged(FILE *out, const struct ref_policy *p)
{
	static const char *const orders[] = {"fcfs", "sjf", "ljf", "priority"};

	fprintf(out, "max_seqs=%lld,chunk=%lld,max_batched_tokens=%lld,watermark=%.17g,preempt=%s",
		(long long)p->seats, (long long)p->chunk, (long long)p->max_batched_tok,
		p->watermark, p->swap ? "swap" : "recompute");
	if (p->order != REF_FCFS)
		fprintf(out, ",order=%s,predict_error=%.17g", orders[p->order], p->predict_error);
	if (p->mixed)
		fputs(",mixed=on", out);
	if (p->max_paddings >= 0)
		fprintf(out, ",max_paddings=%lld", (long long)p->max_paddings);
	if (p->prefix)
		fputs(",prefix=on", out);
}

static void print_policy(FILE *out, const struct ref_policy *p)
{
	static const char *const reserves[] = {"max", "pow2", "oracle"};

	if (p->kind == REF_STATIC)
		fprintf(out, "size=%lld,wait=%.17g,reply=%s", (long long)p->seats,
			(double)p->wait_ns / 1e9, p->reply_batch ? "batch" : "request");
	else if (p->kind == REF_CONTINUOUS)
		fprintf(out, "max_seqs=%lld,reserve=%s%s", (long long)p->seats,
			reserves[p->reserve], p->buddy ? ",alloc=buddy" : "");
	else
		print_paged(out, p);
}

/* The text of -p; the caller frees it. */
static char *print_choice(const struct ref_config *c)
{
	static const char *const names[] = {"static", "continuous", "paged"};
	double host_bytes = (double)c->host_blocks * (double)(c->block_tok * c->kv_token_bytes);
	const char *name = names[c->policy.kind];
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out, "no memory stream for %s", name);
	if (c->disaggregated)
		fprintf(out,
			"disaggregated:policy=%s,prefill=%lld,decode=%lld,bandwidth=%.17g,"
			"latency=%.17g,decode_seqs=%lld,ttft=%s,",
			name, (long long)c->instances, (long long)c->decode_instances,
			c->link_bytes_s / 1e9, c->latency_ns / 1e9, (long long)c->decode.seats,
			c->ttft_decode ? "decode" : "prefill");
	else
		fprintf(out, "%s:", name);
	print_policy(out, &c->policy);
	fprintf(out, ",stream=%lld,swap_gib=%.17g,async=%d", (long long)c->stream,
		host_bytes / (double)((int64_t)1 << 30), c->async);
	if (c->host_us > 0 || c->host_seq_us > 0)
		fprintf(out, ",host_us=%.17g,host_seq_us=%.17g", c->host_us, c->host_seq_us);
	fclose(out);
	return text;
}

static struct harness_options options_of(const struct ref_config *c, const char *policy,
					 const char *fixed)
{
	static const char *const router_names[] = {"round-robin", "least-outstanding", "least-kv"};
	static const enum max_tokens_rule rules[] = {MAX_TOKENS_MODEL, MAX_TOKENS_OUTPUT,
						     MAX_TOKENS_N};
	struct harness_options o = harness_default(policy, fixed);

	o.instances = c->instances;
	o.router = router_names[c->router];
	o.kv_blocks = c->blocks;
	o.decode_kv_blocks = c->decode_blocks;
	o.block_tok = c->block_tok;
	o.token_bytes = c->kv_token_bytes;
	o.pcie_bytes_s = c->pcie_bytes_s;
	o.pp = c->pp;
	o.decode_pp = c->decode_pp;
	o.window_tok = c->window_tok;
	o.window_share = c->window_share;
	o.window_only = c->window_only;
	o.window_token_bytes = c->window_token_bytes;
	o.context = c->model_context;
	o.max_tokens_rule = rules[c->max_tok_rule];
	o.max_tokens = c->max_tok;
	o.max_model_len = c->max_model_len;
	o.truncate = c->truncate;
	o.closed_loop = c->closed_loop;
	o.horizon_ns = c->horizon_ns;
	o.queue_limit = c->queue_limit;
	o.timeout_ns = c->timeout_ns;
	o.sessions_open = c->sessions_open;
	o.hash_block = c->hash_block;
	o.seed = c->seed;
	return o;
}

void agree_engine(const struct ref_config *c, const struct ref_request *req, size_t n,
		  bool step_by_step, struct harness_result *r)
{
	struct trace_row *rows = xcalloc(n + 1, sizeof(*rows));
	char *policy = print_choice(c), fixed[256];
	struct harness_options o = options_of(c, policy, fixed);

	snprintf(fixed, sizeof(fixed),
		 "step_ns=%.17g,prefill_tok_ns=%.17g,decode_seq_ns=%.17g,ctx_tok_ns=%.17g,"
		 "window_tok_ns=%.17g",
		 c->step_ns, c->prefill_tok_ns, c->decode_seq_ns, c->ctx_tok_ns, c->window_tok_ns);
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct trace_row){.arrive_ns = req[i].arrive_ns,
					     .prompt_tok = req[i].prompt_tok,
					     .output_tok = req[i].output_tok,
					     .max_tok = req[i].max_tok,
					     .priority = req[i].priority,
					     .session = req[i].session,
					     .think_ns = req[i].think_ns,
					     .hash_ids = req[i].hash_n ? req[i].hash : NULL,
					     .n_hash_ids = req[i].hash_n};
	o.step_by_step = step_by_step;
	o.steps = true;
	harness_run(&o, rows, n, r);
	free(policy);
	free(rows);
}
