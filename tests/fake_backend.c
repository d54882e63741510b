#include "tests/fake_backend.h"
#include <gsl/gsl_randist.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "sim/rng.h"

struct fake fake;

struct backend {
	int kv_bits;
	gsl_rng *rng;
};

static const double BYTES_NS = 20, FLOPS_NS = 100; /* GB/s, GF/s */

static double attention_flops(const struct point *p, double tok, double prior)
{
	return 4 * (double)(p->heads * p->head_dim) * tok * (prior + (tok + 1) / 2);
}

static double prefill_ns(const struct point *p)
{
	double seqs = (double)p->prefill_seq, tok = (double)p->new_tok;

	return 3000 + 20 * seqs * tok +
	       seqs * attention_flops(p, tok, (double)p->prior_tok) / (FLOPS_NS / 2);
}

static double decode_ns(const struct point *p)
{
	double bytes = 8 * (double)(p->kv_heads * p->head_dim) * p->bits / 16;

	return 2500 + 100 * (double)p->decode_seq + (double)p->decode_ctx * bytes / BYTES_NS;
}

static double gemm_ns(const struct point *p)
{
	double m = (double)p->m, n = (double)p->n, k = (double)p->k;

	return 2000 + fmax(4 * (n * k + m * (n + k)) / BYTES_NS, 2 * m * n * k / FLOPS_NS);
}

double fake_ns(const struct point *p)
{
	switch (p->op) {
	case OP_GEMM:
		return gemm_ns(p);
	case OP_PREFILL:
		return prefill_ns(p);
	case OP_DECODE:
		return decode_ns(p);
	case OP_MIXED:
		return 0.9 * (prefill_ns(p) + decode_ns(p));
	case OP_COPY_TO_HOST:
	case OP_COPY_FROM_HOST:
	case OP_COPY_DEVICE:
		return 1000 + (double)p->bytes / (BYTES_NS / 2);
	default:
		return 500 + 8 * (double)(p->m * p->n) / BYTES_NS;
	}
}

static double rows_ns(enum op op, int64_t m, int64_t n, int64_t k)
{
	return fake_ns(&(struct point){.op = op, .m = m, .n = n, .k = k});
}

/* Of sequences that are alike, prompts and decodes. */
static struct point attention_of(const struct backend_seq *seqs, size_t n)
{
	struct point p = {.op = OP_MIXED, .bits = 16, .heads = 4, .kv_heads = 2, .head_dim = 64};

	for (size_t i = 0; i < n; i++) {
		if (seqs[i].new_tok > 1) {
			p.prefill_seq++;
			p.new_tok = seqs[i].new_tok;
			p.prior_tok = seqs[i].prior_tok;
		} else {
			p.decode_seq++;
			p.decode_ctx += seqs[i].prior_tok + 1;
		}
	}
	if (p.decode_seq == 0 || p.prefill_seq == 0)
		p.op = p.decode_seq ? OP_DECODE : OP_PREFILL;
	return p;
}

double fake_step_ns(const struct backend_seq *seqs, size_t n)
{
	struct point a = attention_of(seqs, n);
	int64_t m = a.prefill_seq * a.new_tok + a.decode_seq;
	double layer = 2 * rows_ns(OP_NORM, m, 256, 0) + rows_ns(OP_GEMM, m, 512, 256) +
		       rows_ns(OP_ROPE, m, 384, 0) + fake_ns(&a) + rows_ns(OP_GEMM, m, 256, 256) +
		       rows_ns(OP_GEMM, m, 1536, 256) + rows_ns(OP_ACT, m, 768, 0) +
		       rows_ns(OP_GEMM, m, 256, 768);

	return (1 + fake.rest) *
	       (rows_ns(OP_EMBED, m, 256, 0) + 4 * layer + rows_ns(OP_NORM, m, 256, 0) +
		rows_ns(OP_GEMM, (int64_t)n, 4096, 256) + rows_ns(OP_SAMPLE, (int64_t)n, 4096, 0));
}

/* --- the backend --------------------------------------------------------------------------------
 */

static int fake_open(struct backend **b, const struct backend_want *w, struct err *e)
{
	if (fake.cannot_bits && w->kv_bits == fake.cannot_bits)
		return err_set(e, "there are no %d bits here", w->kv_bits);
	fake.opened++;
	*b = xcalloc(1, sizeof(**b));
	(*b)->kv_bits = w->kv_bits;
	(*b)->rng = rng_new(w->seed, "fake");
	return 0;
}

static void fake_close(struct backend *b)
{
	if (!b)
		return;
	fake.closed++;
	gsl_rng_free(b->rng);
	free(b);
}

static void fake_facts(struct backend *b, struct backend_facts *f)
{
	(void)b;
	*f = (struct backend_facts){.device = "a device of a formula",
				    .driver = "none",
				    .clocks = "1 GHz",
				    .memory_bytes = INT64_C(8) << 30,
				    .peak_bytes_s = 25e9,
				    .peak_flops = 120e9,
				    .seen = fake.seen};
}

static int fake_call(struct backend *b, double formula_ns, double *ns, struct err *e)
{
	fake.calls++;
	if (fake.calls == fake.raises_after)
		raise(SIGINT);
	if (fake.fails_after && fake.calls > fake.fails_after)
		return err_set(e, "the formula is out of order");
	*ns = formula_ns * exp(gsl_ran_gaussian(b->rng, fake.noise));
	if (fake.faster > 0)
		*ns /= fake.faster;
	if (fake.outlier_every > 0 && gsl_rng_uniform(b->rng) * fake.outlier_every < 1)
		*ns *= 10;
	return 0;
}

static int fake_step(struct backend *b, const struct backend_seq *seqs, size_t n, double *ns,
		     struct err *e)
{
	fake.op_calls[OP_STEP]++;
	return fake_call(b, fake_step_ns(seqs, n), ns, e);
}

static int fake_whole_step(struct backend *b, const struct point *p, double *ns, struct err *e)
{
	struct backend_seq *seqs = NULL;
	size_t n = 0;
	int rc;

	if (backend_seqs(p, &seqs, &n, e) < 0)
		return -1;
	rc = fake_step(b, seqs, n, ns, e);
	free(seqs);
	return rc;
}

static int fake_time(struct backend *b, const struct point *p, double *ns, struct err *e)
{
	if (p->op == fake.unknown)
		return 1;
	if (p->op == OP_GEMM && fake.most_rows > 0 && p->m > fake.most_rows) {
		err_set(e, "there is no memory for %" PRId64 " rows", p->m);
		return 1;
	}
	if (fake.only.ctx > 0 && p->op == fake.only.op && p->bits == fake.only.bits &&
	    p->decode_ctx != fake.only.ctx) {
		err_set(e, "no steps after %" PRId64 " tokens", p->decode_ctx);
		return 1;
	}
	if (p->bits != 16 && p->bits != b->kv_bits)
		return err_set(e, "there are no %d bits in this pool", p->bits);
	if (p->op == OP_STEP)
		return fake_whole_step(b, p, ns, e);
	fake.op_calls[p->op]++;
	return fake_call(b, fake_ns(p), ns, e);
}

static int fake_check(uint64_t seed, void (*say)(void *arg, const char *line), void *arg,
		      struct err *e)
{
	(void)seed;
	say(arg, "formula: 0 off, bound 1");
	return fake.fails_after ? err_set(e, "formula: 2 off, bound 1") : 0;
}

const struct backend_ops fake_backend = {
	.name = "fake",
	.summary = "a formula",
	.open = fake_open,
	.close = fake_close,
	.facts = fake_facts,
	.step = fake_step,
	.time = fake_time,
	.check = fake_check,
};
