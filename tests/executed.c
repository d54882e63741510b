#include "tests/executed.h"
#include "tests/audit.h"

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void check_prefill(const struct step *s, int64_t window_tok)
{
	int64_t tok = 0, prior = 0, sampled = 0, pairs2 = 0, window_pairs2 = 0, window_prior = 0;

	for (int64_t i = 0; i < s->prefill_seq; i++) {
		const struct step_seq *q = &s->seqs[i];

		AT_MOST(1, q->new_tok);
		AT_MOST(0, q->prior_tok);
		tok += q->new_tok;
		prior += q->prior_tok;
		sampled += q->sampled;
		window_prior += smaller(q->prior_tok, window_tok);
		for (int64_t k = 1; k <= q->new_tok; k++) {
			pairs2 += 2 * (q->prior_tok + k);
			window_pairs2 += 2 * smaller(q->prior_tok + k, window_tok);
		}
	}
	EQUAL(s->prefill_tok, tok);
	EQUAL(s->prefill_prior, prior);
	EQUAL(s->prefill_done_seq, sampled);
	EQUAL((int64_t)(2 * s->prefill_pairs), pairs2);
	EQUAL((int64_t)(2 * s->window_pairs), window_pairs2);
	EQUAL(s->window_prior, window_prior);
}

static void check_decode(const struct step *s, int64_t window_tok)
{
	int64_t ctx = 0, window_ctx = 0;

	for (int64_t i = s->prefill_seq; i < s->n_seqs; i++) {
		const struct step_seq *q = &s->seqs[i];

		EQUAL(q->new_tok, 1);
		EQUAL(q->sampled, true);
		AT_MOST(0, q->prior_tok);
		ctx += q->prior_tok + 1;
		window_ctx += smaller(q->prior_tok + 1, window_tok);
	}
	EQUAL(s->decode_ctx, ctx);
	EQUAL(s->window_ctx, window_ctx);
}

void executed_check(const struct step *s, int64_t window_tok)
{
	EQUAL(s->n_seqs, s->prefill_seq + s->decode_seq);
	AT_MOST(1, s->n_seqs);
	check_prefill(s, window_tok);
	check_decode(s, window_tok);
}

static double executed_step_ns(const struct executor *x, const struct step *s)
{
	struct executed *e = (struct executed *)(uintptr_t)x; /* it is its first member */

	e->steps++;
	if (e->steps == e->fail_at)
		return err_set(&e->err, "step %lld: the device is gone", (long long)e->steps);
	executed_check(s, e->window_tok);
	e->prefill_seq += s->prefill_seq;
	e->decode_seq += s->decode_seq;
	for (int64_t i = 0; i < s->n_seqs; i++)
		e->sampled += s->seqs[i].sampled;
	double ns = e->inner->ops->step_ns(e->inner, s);

	if (e->clock_ns)
		*e->clock_ns += (int64_t)ns;
	return ns;
}

static void executed_free(struct executor *x)
{
	struct executed *e = (struct executed *)(void *)x;

	executor_free(e->inner);
	free(e);
}

static const struct executor_ops executed_ops = {
	.name = "executed",
	.summary = "runs each step by itself",
	.times = "fixed", /* so that results can be the same to the byte */
	.runs = true,
	.step_ns = executed_step_ns,
	.free = executed_free,
};

struct executed *executed_new(struct executor *inner, int64_t window_tok)
{
	struct executed *e = xcalloc(1, sizeof(*e));

	e->x = (struct executor){.ops = &executed_ops, .notes = inner->notes, .failure = &e->err};
	e->inner = inner;
	e->window_tok = window_tok;
	return e;
}
