/* Random small cases, and a case in print. */
#include "tests/reference_state.h"

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

static struct ref_policy random_policy(gsl_rng *rng, enum ref_kind kind)
{
	static const double watermarks[] = {0, 0.01, 0.1, 0.2, 0.29, 0.5, 1};
	struct ref_policy p = {.kind = kind, .seats = from_to(rng, 1, 6)};

	if (kind == REF_STATIC) {
		p.wait_ns = one_in(rng, 2) ? 0 : from_to(rng, 1, 60);
		p.reply_batch = one_in(rng, 3);
	} else if (kind == REF_CONTINUOUS) {
		p.reserve = (enum ref_reserve)from_to(rng, REF_MAX, REF_ORACLE);
	} else {
		p.chunk = one_in(rng, 2) ? from_to(rng, p.seats, p.seats + 12) : 0;
		p.max_batched_tok = from_to(rng, 1, 50);
		p.watermark = watermarks[gsl_rng_uniform_int(rng, 7)];
		p.swap = one_in(rng, 3);
	}
	return p;
}

static void random_requests(gsl_rng *rng, struct ref_request *q, size_t n)
{
	int64_t prompts = one_in(rng, 4) ? 40 : 12, outputs = one_in(rng, 4) ? 30 : 9;
	int64_t gap = one_in(rng, 3) ? 2 : one_in(rng, 2) ? 15 : 80, at = 0;

	for (size_t r = 0; r < n; r++) {
		if (r > 0 && !one_in(rng, 3))
			at += from_to(rng, 0, gap);
		q[r] = (struct ref_request){
			.arrive_ns = at,
			.prompt_tok = from_to(rng, 1, prompts),
			.output_tok = one_in(rng, 6) ? 1 : from_to(rng, 1, outputs),
			.max_tok = one_in(rng, 3) ? from_to(rng, 1, outputs + 8) : 0,
		};
	}
}

/* A pool for most of the requests, or for the largest and a little more. */
static int64_t random_pool(gsl_rng *rng, const struct ref_config *c, const struct ref_request *q,
			   size_t n)
{
	int64_t largest = 1;

	for (size_t r = 0; r < n; r++)
		largest = ref_max(largest,
				  ref_ceil(q[r].prompt_tok + q[r].output_tok - 1, c->block_tok));
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
}

static void random_split(gsl_rng *rng, struct ref_config *c, const struct ref_request *q, size_t n)
{
	c->disaggregated = true;
	c->policy = random_policy(rng, (enum ref_kind)from_to(rng, REF_STATIC, REF_PAGED));
	c->instances = from_to(rng, 1, 3);
	c->decode = random_policy(rng, REF_PAGED);
	c->decode.swap = true;
	c->decode_instances = from_to(rng, 1, 3);
	c->decode_blocks = random_pool(rng, c, q, n);
	c->latency_ns = cost(rng);
}

void reference_random_case(gsl_rng *rng, enum ref_kind kind, struct ref_config *c,
			   struct ref_request **req, size_t *n)
{
	static const double speeds[] = {1e9, 5e8, 2e9, 1e8, 3e8}; /* 1, 2, 0.5, 10, 3.3 ns a byte */

	*n = (size_t)from_to(rng, 1, one_in(rng, 5) ? 25 : 8);
	*req = xcalloc(*n, sizeof **req);
	random_requests(rng, *req, *n);
	*c = (struct ref_config){
		.instances = one_in(rng, 3) ? from_to(rng, 2, 3) : 1,
		.router = one_in(rng, 2) ? REF_ROUND_ROBIN : REF_LEAST_OUTSTANDING,
		.block_tok = from_to(rng, 1, 8),
		.step_ns = cost(rng),
		.prefill_tok_ns = cost(rng),
		.decode_seq_ns = cost(rng),
		.ctx_tok_ns = cost(rng),
		.kv_token_bytes = from_to(rng, 0, 5),
		.pcie_bytes_s = speeds[gsl_rng_uniform_int(rng, 5)],
		.link_bytes_s = speeds[gsl_rng_uniform_int(rng, 5)],
		.host_blocks = from_to(rng, 0, 12),
		.keep_steps = true,
	};
	c->blocks = random_pool(rng, c, *req, *n);
	random_bounds(rng, c, *n);
	if (kind == REF_DISAGGREGATED)
		random_split(rng, c, *req, *n);
	else
		c->policy = random_policy(rng, kind);
}

/* --- in print --- */

static void print_policy(FILE *out, const char *what, const struct ref_policy *p)
{
	static const char *const reserves[] = {"max", "pow2", "oracle"};

	fprintf(out, "%s=", what);
	if (p->kind == REF_STATIC)
		fprintf(out, "static:size=%" PRId64 ",wait_ns=%" PRId64 ",reply=%s", p->seats,
			p->wait_ns, p->reply_batch ? "batch" : "request");
	else if (p->kind == REF_CONTINUOUS)
		fprintf(out, "continuous:max_seqs=%" PRId64 ",reserve=%s", p->seats,
			reserves[p->reserve]);
	else
		fprintf(out,
			"paged:max_seqs=%" PRId64 ",chunk=%" PRId64 ",max_batched_tokens=%" PRId64
			",watermark=%g,preempt=%s",
			p->seats, p->chunk, p->max_batched_tok, p->watermark,
			p->swap ? "swap" : "recompute");
}

static void print_config(FILE *out, const struct ref_config *c)
{
	static const char *const rules[] = {"model", "output", "N"};

	print_policy(out, "policy", &c->policy);
	fprintf(out, " instances=%" PRId64 " router=%s blocks=%" PRId64 " block=%" PRId64,
		c->instances, c->router == REF_ROUND_ROBIN ? "round-robin" : "least-outstanding",
		c->blocks, c->block_tok);
	fprintf(out, " fixed:%.17g,%.17g,%.17g,%.17g", c->step_ns, c->prefill_tok_ns,
		c->decode_seq_ns, c->ctx_tok_ns);
	fprintf(out, " token_bytes=%" PRId64 " pcie_bytes_s=%g host_blocks=%" PRId64,
		c->kv_token_bytes, c->pcie_bytes_s, c->host_blocks);
	if (c->disaggregated) {
		print_policy(out, " decode", &c->decode);
		fprintf(out,
			" decode_instances=%" PRId64 " decode_blocks=%" PRId64
			" latency_ns=%.17g link_bytes_s=%g",
			c->decode_instances, c->decode_blocks, c->latency_ns, c->link_bytes_s);
	}
	fprintf(out,
		" context=%" PRId64 " max_tokens=%s(%" PRId64 ") max_model_len=%" PRId64 "%s"
		" horizon_ns=%" PRId64 " closed_loop=%" PRId64 " stream=%" PRId64 "\n",
		c->model_context, rules[c->max_tok_rule], c->max_tok, c->max_model_len,
		c->truncate ? "(truncate)" : "(reject)", c->horizon_ns, c->closed_loop, c->stream);
}

static void print_outcome(FILE *out, const struct ref_outcome *o)
{
	static const char *const statuses[] = {"completed", "rejected", "unfinished",
					       "not arrived"};

	fprintf(out,
		" -> %s arrive=%" PRId64 " s=%" PRId64 " f=%" PRId64 " c=%" PRId64
		" preempted=%" PRId64 " instance=%" PRId64 "/%" PRId64 " maxgap=%" PRId64
		" tokens=",
		statuses[o->status], o->arrive_ns, o->s_ns, o->f_ns, o->c_ns, o->preemptions,
		o->instance, o->decode_instance, o->max_gap_ns);
	for (int64_t k = 0; k < o->tokens; k++)
		fprintf(out, "%s%" PRId64, k > 0 ? "," : "", o->token_ns[k]);
}

void reference_print_case(FILE *out, const struct ref_config *cfg, const struct ref_request *req,
			  size_t n, const struct ref_run *run)
{
	print_config(out, cfg);
	for (size_t r = 0; r < n; r++) {
		fprintf(out,
			"  %zu: arrive=%" PRId64 " prompt=%" PRId64 " output=%" PRId64
			" max_tok=%" PRId64,
			r, req[r].arrive_ns, req[r].prompt_tok, req[r].output_tok, req[r].max_tok);
		if (run)
			print_outcome(out, &run->outcome[r]);
		fputc('\n', out);
	}
}
