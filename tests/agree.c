#include "tests/agree.h"
#include <math.h>
#include <string.h>

/* The same case for both */

/* What only one of them can express is left out. */
void agree_level(struct ref_config *c)
{
	if (c->step_ns + c->prefill_tok_ns + c->decode_seq_ns + c->ctx_tok_ns == 0)
		c->step_ns = 1; /* the executor refuses steps that take no time */
	if (c->kv_token_bytes == 0)
		c->host_blocks = INT64_MAX / 2; /* any number of blocks of no bytes */
	c->latency_ns = c->latency_ns / 1e9 * 1e9;
	if (!c->disaggregated)
		return;
	c->decode.chunk = 0; /* the defaults of paged */
	c->decode.watermark = 0.01;
	c->decode.max_batched_tok = 8192;
}

static int print_policy(char *buf, size_t size, const struct ref_policy *p)
{
	static const char *const reserves[] = {"max", "pow2", "oracle"};

	if (p->kind == REF_STATIC)
		return snprintf(buf, size, "size=%lld,wait=%.17g,reply=%s", (long long)p->seats,
				(double)p->wait_ns / 1e9, p->reply_batch ? "batch" : "request");
	if (p->kind == REF_CONTINUOUS)
		return snprintf(buf, size, "max_seqs=%lld,reserve=%s", (long long)p->seats,
				reserves[p->reserve]);
	return snprintf(
		buf, size,
		"max_seqs=%lld,chunk=%lld,max_batched_tokens=%lld,watermark=%.17g,preempt=%s",
		(long long)p->seats, (long long)p->chunk, (long long)p->max_batched_tok,
		p->watermark, p->swap ? "swap" : "recompute");
}

static void print_choice(char *buf, size_t size, const struct ref_config *c)
{
	static const char *const names[] = {"static", "continuous", "paged"};
	double host_bytes = (double)c->host_blocks * (double)(c->block_tok * c->kv_token_bytes);
	const char *name = names[c->policy.kind];
	int n;

	if (c->disaggregated)
		n = snprintf(buf, size,
			     "disaggregated:policy=%s,prefill=%lld,decode=%lld,bandwidth=%.17g,"
			     "latency=%.17g,decode_seqs=%lld,",
			     name, (long long)c->instances, (long long)c->decode_instances,
			     c->link_bytes_s / 1e9, c->latency_ns / 1e9,
			     (long long)c->decode.seats);
	else
		n = snprintf(buf, size, "%s:", name);
	n += print_policy(buf + n, size - (size_t)n, &c->policy);
	snprintf(buf + n, size - (size_t)n, ",stream=%lld,swap_gib=%.17g", (long long)c->stream,
		 host_bytes / (double)((int64_t)1 << 30));
}

void agree_engine(const struct ref_config *c, const struct ref_request *req, size_t n,
		  bool step_by_step, struct harness_result *r)
{
	static const char *const router_names[] = {"round-robin", "least-outstanding"};
	static const enum max_tokens_rule rules[] = {MAX_TOKENS_MODEL, MAX_TOKENS_OUTPUT,
						     MAX_TOKENS_N};
	struct trace_row *rows = xcalloc(n + 1, sizeof(*rows));
	char policy[1024], fixed[256];
	struct harness_options o = harness_default(policy, fixed);

	print_choice(policy, sizeof(policy), c);
	snprintf(fixed, sizeof(fixed),
		 "step_ns=%.17g,prefill_tok_ns=%.17g,decode_seq_ns=%.17g,ctx_tok_ns=%.17g",
		 c->step_ns, c->prefill_tok_ns, c->decode_seq_ns, c->ctx_tok_ns);
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct trace_row){.arrive_ns = req[i].arrive_ns,
					     .prompt_tok = req[i].prompt_tok,
					     .output_tok = req[i].output_tok,
					     .max_tok = req[i].max_tok};
	o.instances = c->instances;
	o.router = router_names[c->router];
	o.kv_blocks = c->blocks;
	o.decode_kv_blocks = c->decode_blocks;
	o.block_tok = c->block_tok;
	o.token_bytes = c->kv_token_bytes;
	o.pcie_bytes_s = c->pcie_bytes_s;
	o.context = c->model_context;
	o.max_tokens_rule = rules[c->max_tok_rule];
	o.max_tokens = c->max_tok;
	o.max_model_len = c->max_model_len;
	o.truncate = c->truncate;
	o.closed_loop = c->closed_loop;
	o.horizon_ns = c->horizon_ns;
	o.step_by_step = step_by_step;
	harness_run(&o, rows, n, r);
	free(rows);
}

/* What differs */

static bool differs(struct verdict *v, const char *what, int64_t idx, double engine,
		    double reference)
{
	if (engine == reference)
		return false;
	snprintf(v->text, sizeof(v->text), "%s of %lld: engine %.17g, reference %.17g", what,
		 (long long)idx, engine, reference);
	return true;
}

/* A request's record names the instance that it is or was last at. */
static int64_t last_instance(const struct ref_config *c, const struct ref_outcome *o,
			     int64_t engine)
{
	int64_t decode = c->instances + o->decode_instance;

	if (o->decode_instance < 0)
		return o->instance;
	if (o->status == REF_UNFINISHED && o->tokens == 1) /* the transfer may go on */
		return engine == o->instance ? engine : decode;
	return decode;
}

static bool record_differs(struct verdict *v, const struct ref_config *c, int64_t idx,
			   const struct record *e, const struct ref_outcome *o)
{
	static const enum ref_status status[] = {REF_COMPLETED, REF_REJECTED, REF_UNFINISHED};

	if (differs(v, "index", idx, (double)e->idx,
		    o->status == REF_NOT_ARRIVED ? -1.0 : (double)idx))
		return true;
	if (o->status == REF_NOT_ARRIVED)
		return false;
	if (differs(v, "status", idx, status[e->status], o->status) ||
	    differs(v, "a", idx, (double)e->arrive_ns, (double)o->arrive_ns) ||
	    differs(v, "s", idx, (double)e->schedule_ns, (double)o->s_ns) ||
	    differs(v, "f", idx, (double)e->first_token_ns, (double)o->f_ns) ||
	    differs(v, "c", idx, (double)e->finish_ns, (double)o->c_ns) ||
	    differs(v, "preemptions", idx, (double)e->preemptions, (double)o->preemptions) ||
	    differs(v, "output", idx, (double)e->output_tok, (double)o->output_tok))
		return true;
	if (o->status != REF_REJECTED && differs(v, "instance", idx, (double)e->instance,
						 (double)last_instance(c, o, e->instance)))
		return true;
	/* the engine's gaps are not rounded, the reference's are between rounded times */
	double gap = e->max_gap_ns < 0 ? 0 : e->max_gap_ns;

	if (fabs(gap - (double)o->max_gap_ns) > 1)
		return differs(v, "longest gap", idx, gap, (double)o->max_gap_ns);
	return false;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Every gap between deliveries, sorted; the caller frees it. */
static int64_t *all_gaps(const struct ref_config *c, const struct ref_run *run, int64_t *n)
{
	int64_t room = 1;

	*n = 0;
	for (size_t r = 0; r < run->n; r++)
		room += run->outcome[r].tokens;
	int64_t *gap = xcalloc((size_t)room, sizeof(*gap));

	for (size_t r = 0; r < run->n; r++) {
		const struct ref_outcome *o = &run->outcome[r];
		int64_t last = -1;

		for (int64_t k = 1; k <= o->tokens; k++) {
			if (k % c->stream != 0 && k != o->output_tok)
				continue;
			if (last >= 0)
				gap[(*n)++] = o->token_ns[k - 1] - last;
			last = o->token_ns[k - 1];
		}
	}
	qsort(gap, (size_t)*n, sizeof(*gap), by_value);
	return gap;
}

/* As many gaps, the same mean, and the k-th smallest within a ns of the bin of the k-th. */
static bool gaps_differ(struct verdict *v, const struct ref_config *c,
			const struct harness_result *e, const struct ref_run *run)
{
	int64_t n, k = 0, sum = 0;
	int64_t *gap = all_gaps(c, run, &n);
	bool differ = false;

	for (size_t i = 0; i < e->n_bins && !differ; i++) {
		const struct harness_bin *b = &e->bin[i];

		if (strcmp(b->metric, "itl") != 0)
			continue;
		for (int64_t end = k + b->count; k < end && k < n && !differ; k++)
			if ((double)gap[k] < b->low_ns - 1 || (double)gap[k] > b->high_ns + 1)
				differ = differs(v, "gap in order", k, b->low_ns, (double)gap[k]);
		if (!differ && k == n && i + 1 < e->n_bins && !strcmp(b[1].metric, "itl"))
			differ = differs(v, "gaps, at least", n, (double)n + 1, (double)n);
	}
	differ = differ || differs(v, "gaps", n, (double)k, (double)n);
	for (int64_t i = 0; i < n; i++)
		sum += gap[i];
	double mean = n ? (double)sum / (double)n / 1e9 : NAN;

	if (!differ && fabs(e->summary.itl_mean_s - mean) > 1e-12 * mean)
		differ = differs(v, "mean gap", n, e->summary.itl_mean_s, mean);
	free(gap);
	return differ;
}

/* Share of the KV blocks in use, mean over steps. */
static bool use_differs(struct verdict *v, const struct ref_config *c,
			const struct harness_result *e, const struct ref_run *run)
{
	double sum = 0;

	for (size_t i = 0; i < run->step_n; i++)
		sum += (double)run->step[i].blocks_used /
		       (double)(run->step[i].instance < c->instances ? c->blocks
								     : c->decode_blocks);
	double mean = run->step_n ? sum / (double)run->step_n : NAN;

	return fabs(e->summary.kv_util_mean - mean) > 1e-12 * mean &&
	       differs(v, "share of blocks", -1, e->summary.kv_util_mean, mean);
}

struct verdict agree_compare(const struct ref_config *c, const struct harness_result *e,
			     const struct ref_run *run)
{
	static const struct record none = {.idx = -1};
	struct verdict v = {""};

	if (e->rc < 0) {
		snprintf(v.text, sizeof(v.text), "engine: %.200s", e->err.text);
		return v;
	}
	for (size_t r = 0; r < run->n; r++)
		if (record_differs(&v, c, (int64_t)r, r < e->n ? &e->record[r] : &none,
				   &run->outcome[r]))
			return v;
	if (differs(&v, "preemptions", -1, (double)e->summary.preemptions,
		    (double)run->preemptions) ||
	    gaps_differ(&v, c, e, run))
		return v;
	if (differs(&v, "steps started", -1, (double)e->summary.steps, (double)run->started))
		return v;
	if (c->horizon_ns >= 0) /* the engine counts what follows when a step starts */
		return v;
	if (!differs(&v, "recomputed tokens", -1, (double)e->summary.recomputed_tok,
		     (double)run->recomputed_tok))
		use_differs(&v, c, e, run);
	return v;
}
