/* validate_ladder_steps.c: recorded steps, one by one, against what is predicted for them. */
#include "sim/recording_read.h"
#include "sim/validate_ladder_run.h"
#include <string.h>

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void add_prefill(struct step *s, const struct step_seq *q, int64_t window_tok)
{
	double n = (double)q->new_tok, prior = (double)q->prior_tok;

	s->prefill_seq++;
	s->prefill_tok += q->new_tok;
	s->prefill_done_seq += q->sampled;
	s->prefill_pairs += n * (prior + (n + 1) / 2);
	s->prefill_prior += q->prior_tok;
	s->window_prior += smaller(q->prior_tok, window_tok);
	for (int64_t i = 1; window_tok > 0 && i <= q->new_tok; i++)
		s->window_pairs += (double)smaller(q->prior_tok + i, window_tok);
}

static void add_decode(struct step *s, int64_t prior_tok, int64_t window_tok)
{
	int64_t ctx = prior_tok + 1; /* with the token that is written in this step */

	s->decode_seq++;
	s->decode_ctx += ctx;
	s->window_ctx += smaller(ctx, window_tok);
	if (ctx > s->decode_longest)
		s->decode_longest = ctx;
}

static struct step step_of(const struct recorded *r, int64_t window_tok)
{
	struct step s = {0};

	for (int64_t i = 0; i < r->n_prefill; i++)
		add_prefill(&s, &r->prefill[i], window_tok);
	for (int64_t i = 0; i < r->n_decode; i++)
		add_decode(&s, r->decode->at[i], window_tok);
	return s;
}

static int read_steps(struct error_pairs steps[N_LADDER_STEPS], struct reader *in,
		      const struct executor *x, int64_t window_tok, struct err *e)
{
	struct recording_facts facts;
	struct priors priors = {0};
	struct recorded row = {0};
	int result = reader_facts(in, &facts, e);

	for (int64_t i = 1; result == 0 && (result = reader_next(in, e)) == 0; i++) {
		if (!strncmp(in->line, "# end: ", 7))
			break;
		result = reader_row(in, &priors, i, &row, e);
		if (result < 0)
			break;
		const struct step s = step_of(&row, window_tok);
		int kind = s.decode_seq == 0	? LADDER_PREFILL
			   : s.prefill_seq == 0 ? LADDER_DECODE
						: LADDER_MIXED;

		error_add(&steps[kind], row.ns / 1e9, x->ops->step_ns(x, &s) / 1e9);
	}
	free(row.prefill);
	priors_release(&priors);
	return result;
}

int ladder_compare_steps(struct error_pairs steps[N_LADDER_STEPS], const char *recording,
			 const struct executor *x, int64_t window_tok, struct err *e)
{
	struct reader in;
	int result = reader_open(&in, recording, e);

	if (result == 0)
		result = read_steps(steps, &in, x, window_tok, e);
	reader_close(&in);
	return result;
}
