/* single.c: the step that is not part of a run, and steps with all their sequences. */
#include "sim/single.h"
#include "sim/decoding.h"
#include "sim/run.h"

/* Pairs within the window of q tokens after `prior` ones. */
static double window_pairs(double window, double prior, double q)
{
	double below = prior + q <= window ? q : prior < window ? window - prior : 0;

	return below * (prior + (below + 1) / 2) + (q - below) * window;
}

static void add_window(struct step *step, int64_t window_tok, int64_t prior_tok, int64_t q)
{
	step->window_pairs += window_pairs((double)window_tok, (double)prior_tok, (double)q);
	step->window_prior += prior_tok < window_tok ? prior_tok : window_tok;
}

static int64_t longest_prefill(const struct single *s)
{
	int64_t longest = 0;

	for (int64_t i = 0; i < s->n_prefill; i++)
		if (s->prefill_tok[i] > longest)
			longest = s->prefill_tok[i];
	return longest;
}

/* Tokens that prompt i of the step computes, padding included; the longest: longest_prefill(). */
static int64_t computed_tok(const struct single *s, int64_t i, int64_t longest)
{
	return s->padded ? longest : s->prefill_tok[i] + s->prefill[i]->pad_tok;
}

static bool completes(const struct single *s, int64_t i)
{
	return s->prefill[i]->done_tok + s->prefill_tok[i] == s->prefill[i]->seq_tok;
}

static void describe(const struct instance *in, struct step *step)
{
	const struct single *s = &in->b.single;
	int64_t longest = s->padded ? longest_prefill(s) : 0;

	*step = (struct step){.prefill_seq = s->n_prefill};
	for (int64_t i = 0; i < s->n_prefill; i++) {
		const struct job *j = s->prefill[i];
		int64_t q = computed_tok(s, i, longest);

		step->prefill_tok += q;
		step->prefill_pairs += (double)q * ((double)j->done_tok + (double)(q + 1) / 2);
		step->prefill_prior += j->done_tok;
		if (in->kv.window_tok > 0)
			add_window(step, in->kv.window_tok, j->done_tok, q);
		step->prefill_done_seq += completes(s, i);
	}
	if (s->decodes) {
		step->decode_seq = in->b.decode_b;
		step->decode_ctx = in->b.decode_ctx;
		step->decode_longest = decoding_longest(in);
		step->window_ctx = in->b.window_ctx;
	}
}

/* Sequences */

static void list_prefill(const struct single *s, struct step_seq *seq)
{
	int64_t longest = s->padded ? longest_prefill(s) : 0;

	for (int64_t i = 0; i < s->n_prefill; i++)
		seq[i] = (struct step_seq){.new_tok = computed_tok(s, i, longest),
					   .prior_tok = s->prefill[i]->done_tok,
					   .sampled = completes(s, i)};
}

/*
 * Those that decode, by admission, then the held ones of a padded batch, whose contexts are all the
 * same. Returns how many.
 */
static int64_t list_decode(const struct instance *in, const struct step *s, struct step_seq *seq)
{
	int64_t n = 0, held_ctx = s->decode_ctx;

	for (const struct job *j = in->b.running.first; j; j = j->next) {
		if (j->state != JOB_DECODING)
			continue;
		int64_t ctx = j->req.prompt_tok + j->pad_tok + job_generated(in, j);

		held_ctx -= ctx;
		seq[n++] = (struct step_seq){.new_tok = 1, .prior_tok = ctx - 1, .sampled = true};
	}
	for (int64_t i = 0; i < in->b.held.n; i++)
		seq[n++] = (struct step_seq){
			.new_tok = 1, .prior_tok = held_ctx / in->b.held.n - 1, .sampled = true};
	return n;
}

double step_take(struct instance *in, struct step *s, int64_t now_ns)
{
	int64_t n = s->prefill_seq + s->decode_seq;

	if (n > in->seqs_room) {
		in->seqs_room = 2 * n;
		in->seqs = xrealloc(in->seqs, (size_t)in->seqs_room * sizeof(*in->seqs));
	}
	if (s->prefill_seq > 0)
		list_prefill(&in->b.single, in->seqs);
	if (s->decode_seq > 0) {
		int64_t listed = list_decode(in, s, in->seqs + s->prefill_seq);

		CHECK(listed == s->decode_seq, "%lld sequences decode, not %lld", (long long)listed,
		      (long long)s->decode_seq);
	}
	s->seqs = in->seqs;
	s->n_seqs = n;
	return in->ops->take(in->ops->arg, in, s, now_ns);
}

/* The step */

/* Stages are servers, first in first out, each with its share of the step; nothing is fractional
 * here: gaps are between ends of steps. */
static void pass_stages(struct instance *in, struct single *s)
{
	int64_t stage_ns = round_ns(s->cost_ns / (double)in->pp);

	s->end_ns = s->start_ns;
	for (int64_t i = 0; i < in->pp; i++) {
		if (in->stage_share)
			stage_ns = round_ns(s->cost_ns * in->stage_share[i]);
		if (in->stage_ns[i] > s->end_ns)
			s->end_ns = in->stage_ns[i];
		if (s->end_ns <=
		    TIME_MAX_NS) /* beyond it, where the engine stops, nothing adds up */
			s->end_ns += stage_ns;
		in->stage_ns[i] = s->end_ns;
	}
	s->cost_ns = (double)(s->end_ns - s->start_ns);
}

static double ask(struct instance *in, const struct step *s)
{
	const struct executor *x = in->executor;

	if (!in->stats.outside && x->ops->outside)
		in->stats.outside = x->ops->outside(x, s);
	return x->ops->step_ns(x, s);
}

void single_start(struct instance *in, bool decodes, int64_t moved_blocks, int64_t now_ns)
{
	struct single *s = &in->b.single;

	s->decodes = decodes;
	s->moved_blocks = moved_blocks;
	describe(in, &s->step);
	s->cost_ns = in->singly ? step_take(in, &s->step, now_ns) : ask(in, &s->step);
	if (moved_blocks > 0 && in->pcie_bytes_s > 0)
		s->cost_ns += (double)in->pp * ((double)moved_blocks * (double)in->block_bytes *
						1e9 / in->pcie_bytes_s);
	s->start_ns = now_ns;
	if (in->pp == 1)
		s->end_ns = now_ns + round_ns(s->cost_ns);
	else
		pass_stages(in, s);
	in->b.run.active = false;
	in->b.busy = in->b.in_single = true;
	in->stats.steps++;
	in->stats.batch_sum += s->step.decode_seq + s->n_prefill;
	stats_sum_add(&in->stats.kv_sum, in->kv.used);
}
