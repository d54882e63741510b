/* Random small cases, and a case in print. */
#include "tests/reference_state.h"
#include "tests/reference_text.h"

#include <inttypes.h>

static int64_t from_to(gsl_rng *rng, int64_t a, int64_t b)
{
	return a + (int64_t)gsl_rng_uniform_int(rng, (unsigned long)(b - a + 1));
}

static bool one_in(gsl_rng *rng, int64_t n)
{
	return from_to(rng, 1, n) == 1;
}

/* Zero, whole, halves (which llround() rounds away from zero) and fractions without an exact
 * double. */
static double cost(gsl_rng *rng)
{
	static const double costs[] = {0,   0,	  1,   2,   3,	 10,  0.5,
				       1.5, 10.5, 0.1, 0.3, 7.7, 1e3, 1234.567};

	return costs[gsl_rng_uniform_int(rng, sizeof costs / sizeof *costs)];
}

static void random_paged(gsl_rng *rng, struct ref_policy *p)
{
	static const double watermarks[] = {0, 0.01, 0.1, 0.2, 0.29, 0.5, 1};

	p->chunk = one_in(rng, 2) ? from_to(rng, p->seats, p->seats + 12) : 0;
	p->max_batched_tok = from_to(rng, 1, 50);
	p->watermark = watermarks[gsl_rng_uniform_int(rng, 7)];
	p->swap = one_in(rng, 2);
	p->prefix = !p->swap && !one_in(rng, 3);
	if (p->chunk > 0)
		return;
	p->mixed = one_in(rng, 3);
	if (one_in(rng, 4))
		p->max_paddings = from_to(rng, 0, 12);
}

static struct ref_policy random_policy(gsl_rng *rng, enum ref_kind kind, size_t n)
{
	static const double errors[] = {0, 0, 0.1, 0.5, 1};
	struct ref_policy p = {
		.kind = kind, .seats = from_to(rng, 1, n > 25 ? 20 : 6), .max_paddings = -1};

	if (kind == REF_STATIC) {
		p.wait_ns = one_in(rng, 2) ? 0 : from_to(rng, 1, 60);
		p.reply_batch = one_in(rng, 3);
	} else if (kind == REF_CONTINUOUS) {
		p.reserve = (enum ref_reserve)from_to(rng, REF_MAX, REF_ORACLE);
		p.buddy = one_in(rng, 3);
	} else {
		random_paged(rng, &p);
		p.order = one_in(rng, 2) ? (enum ref_order)from_to(rng, REF_FCFS, REF_PRIORITY)
					 : REF_FCFS;
		p.predict_error = errors[gsl_rng_uniform_int(rng, 5)];
	}
	return p;
}

/* --- requests --- */

/* The first ids of an earlier request, and then others: equal ids have the same before them. */
static void random_hashes(gsl_rng *rng, int64_t block, struct ref_request *q, size_t r)
{
	const struct ref_request *from = &q[r > 0 ? from_to(rng, 0, (int64_t)r - 1) : 0];
	int64_t ids = one_in(rng, 2) ? q[r].prompt_tok / block : ref_ceil(q[r].prompt_tok, block);
	int64_t shared = r == 0 ? 0 : from_to(rng, 0, from->hash_n);

	if (r > 0 && one_in(rng, 2))
		shared = from->hash_n;
	q[r].hash_n = ref_min(ids, REF_HASHES);
	for (int64_t k = 0; k < q[r].hash_n; k++)
		q[r].hash[k] = k < shared ? from->hash[k] : 1000 * (r + 1) + (uint64_t)k;
}

static void random_requests(gsl_rng *rng, int64_t hash_block, bool sessions, struct ref_request *q,
			    size_t n)
{
	int64_t prompts = n > 25 ? 200 : one_in(rng, 4) ? 40 : 12;
	int64_t outputs = n > 25 ? 100 : one_in(rng, 4) ? 30 : 9;
	int64_t gap = one_in(rng, 3) ? 2 : one_in(rng, 2) ? 15 : 80, at = 0;
	bool seen[4] = {false};

	for (size_t r = 0; r < n; r++) {
		if (r > 0 && !one_in(rng, 3))
			at += from_to(rng, 0, gap);
		q[r] = (struct ref_request){
			.arrive_ns = at,
			.prompt_tok = from_to(rng, 1, prompts),
			.output_tok = one_in(rng, 6) ? 1 : from_to(rng, 1, outputs),
			.max_tok = one_in(rng, 3) ? from_to(rng, 1, outputs + 8) : 0,
			.priority = one_in(rng, 2) ? from_to(rng, -2, 2) : 0,
			.session = sessions ? from_to(rng, 0, 3) : 0,
			.think_ns = -1,
		};
		if (q[r].session > 0 && seen[q[r].session])
			q[r].think_ns = one_in(rng, 2) ? 0 : from_to(rng, 0, 40);
		seen[q[r].session] = true;
		if (hash_block > 0 && !one_in(rng, 6))
			random_hashes(rng, hash_block, q, r);
	}
}

/* --- configurations --- */

static int64_t blocks_of(const struct ref_config *c, int64_t slots)
{
	return ref_blocks(&(struct sim){.cfg = c}, slots);
}

/* A pool for most of the requests, or for the largest and a little more. */
static int64_t random_pool(gsl_rng *rng, const struct ref_config *c, const struct ref_request *q,
			   size_t n)
{
	int64_t largest = 1;

	for (size_t r = 0; r < n; r++)
		largest = ref_max(largest, blocks_of(c, q[r].prompt_tok + q[r].output_tok - 1));
	if (one_in(rng, 6))
		return ref_max(1, largest - from_to(rng, 1, 3));
	return largest + (one_in(rng, 4) ? from_to(rng, 0, 4 * largest) : from_to(rng, 0, 3));
}

static void random_bounds(gsl_rng *rng, struct ref_config *c, size_t n)
{
	c->model_context = one_in(rng, 2) ? 0 : from_to(rng, 8, 60);
	c->max_tok_rule = (enum ref_max_tok)from_to(rng, REF_MAX_TOK_MODEL, REF_MAX_TOK_N);
	c->max_tok = from_to(rng, 1, 20);
	if (one_in(rng, 6)) {
		c->max_model_len = from_to(rng, 5, 40);
		c->truncate = one_in(rng, 2);
	}
	c->horizon_ns = one_in(rng, 6) ? from_to(rng, 0, 300) : -1;
	c->closed_loop = one_in(rng, 5) ? from_to(rng, 1, (int64_t)n + 1) : 0;
	c->stream = one_in(rng, 5) ? from_to(rng, 2, 7) : 1;
	c->queue_limit = one_in(rng, 6) ? from_to(rng, 1, 4) : 0;
	c->timeout_ns = one_in(rng, 4) ? from_to(rng, 1, one_in(rng, 2) ? 60 : 600) : 0;
	c->sessions_open = one_in(rng, 6);
}

static void random_split(gsl_rng *rng, struct ref_config *c, const struct ref_request *q, size_t n)
{
	c->disaggregated = true;
	c->policy = random_policy(rng, (enum ref_kind)from_to(rng, REF_STATIC, REF_PAGED), n);
	c->instances = from_to(rng, 1, 3);
	c->decode = random_policy(rng, REF_PAGED, n);
	c->decode.swap = true;
	c->decode.prefix = false;
	c->decode_instances = from_to(rng, 1, 3);
	c->decode_blocks = random_pool(rng, c, q, n);
	c->decode_pp = c->async || !one_in(rng, 4) ? 1 : from_to(rng, 2, 4);
	c->latency_ns = cost(rng);
	c->ttft_decode = one_in(rng, 3);
}

static void random_hardware(gsl_rng *rng, struct ref_config *c)
{
	static const double hosts[] = {0, 0.001, 0.0105, 0.003, 0.25, 1.2345};

	if (one_in(rng, 3)) {
		c->host_us = hosts[gsl_rng_uniform_int(rng, 6)];
		c->host_seq_us = one_in(rng, 2) ? hosts[gsl_rng_uniform_int(rng, 6)] : 0;
	}
	c->async = one_in(rng, 4);
	c->pp = c->async || !one_in(rng, 4) ? 1 : from_to(rng, 2, 4);
	c->window_share = 1;
	if (one_in(rng, 5)) {
		c->window_tok = from_to(rng, 1, 12);
		c->window_share = from_to(rng, 1, 3);
		c->window_only = one_in(rng, 3);
		c->window_tok_ns = cost(rng);
		c->window_token_bytes = from_to(rng, 0, 3);
	}
}

/* 0: the trace has none; else a multiple of the block, or a part of it. */
static int64_t random_hash_block(gsl_rng *rng, int64_t block_tok)
{
	int64_t h = from_to(rng, 1, 3) * block_tok;

	if (one_in(rng, 8))
		return 0;
	if (one_in(rng, 4))
		for (h = block_tok / 2; h > 1 && block_tok % h != 0;)
			h--;
	return ref_max(1, h);
}

void reference_random_case(gsl_rng *rng, enum ref_kind kind, struct ref_config *c,
			   struct ref_request **req, size_t *n)
{
	static const double speeds[] = {1e9, 5e8, 2e9, 1e8, 3e8}; /* 1, 2, 0.5, 10, 3.3 ns a byte */

	*n = (size_t)(one_in(rng, 200) ? from_to(rng, 26, 60)
				       : from_to(rng, 1, one_in(rng, 5) ? 25 : 8));
	*req = xcalloc(*n, sizeof **req);
	*c = (struct ref_config){
		.instances = one_in(rng, 3) ? from_to(rng, 2, 3) : 1,
		.router = (enum ref_router)from_to(rng, REF_ROUND_ROBIN, REF_LEAST_KV),
		.block_tok = from_to(rng, 1, 8),
		.step_ns = cost(rng),
		.prefill_tok_ns = cost(rng),
		.decode_seq_ns = cost(rng),
		.ctx_tok_ns = cost(rng),
		.kv_token_bytes = from_to(rng, 0, 5),
		.pcie_bytes_s = speeds[gsl_rng_uniform_int(rng, 5)],
		.link_bytes_s = speeds[gsl_rng_uniform_int(rng, 5)],
		.host_blocks = from_to(rng, 0, 12),
		.seed = (uint64_t)from_to(rng, 0, 5),
		.keep_steps = true,
	};
	c->hash_block = random_hash_block(rng, c->block_tok);
	random_hardware(rng, c);
	random_requests(rng, c->hash_block, one_in(rng, 4), *req, *n);
	c->blocks = random_pool(rng, c, *req, *n);
	random_bounds(rng, c, *n);
	c->decode = ref_plain().decode;
	c->decode_blocks = c->decode_instances = c->decode_pp = 1;
	if (kind == REF_DISAGGREGATED)
		random_split(rng, c, *req, *n);
	else
		c->policy = random_policy(rng, kind, *n);
	ref_level(c, *req, *n);
}

/* --- in print --- */

static void print_outcome(FILE *out, const struct ref_outcome *o)
{
	static const char *const statuses[] = {"completed", "rejected", "unfinished", "aborted",
					       "not arrived"};

	fprintf(out,
		" -> %s arrive=%" PRId64 " s=%" PRId64 " f=%" PRId64 " c=%" PRId64
		" preempted=%" PRId64 " cached=%" PRId64 " instance=%" PRId64 "/%" PRId64
		" maxgap=%" PRId64 " tokens=",
		statuses[o->status], o->arrive_ns, o->s_ns, o->f_ns, o->c_ns, o->preemptions,
		o->cached_tok, o->instance, o->decode_instance, o->max_gap_ns);
	for (int64_t k = 0; k < o->tokens; k++)
		fprintf(out, "%s%" PRId64, k > 0 ? "," : "", o->token_ns[k]);
}

void reference_print_case(FILE *out, const struct ref_config *cfg, const struct ref_request *req,
			  size_t n, const struct ref_run *run)
{
	ref_print_line(out, cfg, req, n);
	fputc('\n', out);
	for (size_t r = 0; run && r < n; r++) {
		fprintf(out, "  %zu:", r);
		print_outcome(out, &run->outcome[r]);
		fputc('\n', out);
	}
	for (size_t i = 0; run && i < run->step_n && i < 60; i++) {
		const struct ref_step *t = &run->step[i];

		fprintf(out,
			"  step %" PRId64 ".%" PRId64 " [%" PRId64 ", %" PRId64 "] prefill=%" PRId64
			" decode=%" PRId64 " ctx=%" PRId64 " blocks=%" PRId64 "\n",
			t->instance, t->batch, t->start_ns, t->end_ns, t->prefill_tok,
			t->decode_seq, t->ctx, t->blocks_used);
	}
}
