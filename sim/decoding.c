#include "sim/decoding.h"

/* Gaps between tokens */

void decoding_fold_gap(struct job *j, double gap_ns)
{
	if (gap_ns > j->max_gap_ns)
		j->max_gap_ns = gap_ns;
}

/* One delivery that is not part of a bulk of decode steps. */
void decoding_deliver(struct instance *in, struct job *j, int64_t t_ns)
{
	if (j->first_ns < 0) {
		j->first_ns = t_ns;
	} else {
		hist_add(in->itl, (double)(t_ns - j->last_ns), 1);
		decoding_fold_gap(j, (double)(t_ns - j->last_ns));
	}
	j->last_ns = t_ns;
}

static void late_add(struct instance *in, struct job *j)
{
	if (in->b.n_late == in->b.late_room) {
		in->b.late_room = in->b.late_room ? 2 * in->b.late_room : 16;
		in->b.late = xrealloc(in->b.late, (size_t)in->b.late_room * sizeof(*in->b.late));
	}
	in->b.late[in->b.n_late++] = j;
	in->b.prepaid += j->prepaid ? j->growth : 0;
}

/* True if j was among them, that is, has not decoded since it joined late. */
static bool late_remove(struct instance *in, struct job *j)
{
	for (int64_t i = 0; i < in->b.n_late; i++) {
		if (in->b.late[i] != j)
			continue;
		in->b.late[i] = in->b.late[--in->b.n_late];
		in->b.prepaid -= j->prepaid ? j->growth : 0;
		j->prepaid = false;
		return true;
	}
	return false;
}

void instance_first_gaps(struct instance *in, int64_t start_ns, double cost_ns, int64_t end_ns)
{
	gaps_step(&in->b.gaps, in->itl, start_ns, cost_ns, end_ns);
	for (int64_t i = 0; i < in->b.n_late; i++) {
		struct job *j = in->b.late[i];
		double gap_ns = (double)(start_ns - j->last_ns) + cost_ns;

		if (j->first_ns < 0) /* its first token: no gap ends with it */
			continue;
		hist_add(in->itl, gap_ns, 1);
		decoding_fold_gap(j, gap_ns);
		j->since_ns = end_ns;
		gaps_join(&in->b.gaps, end_ns);
	}
	in->b.n_late = 0;
}

double instance_max_gap(const struct instance *in, const struct job *j)
{
	if (j->state != JOB_DECODING || !instance_counts_gaps(in))
		return j->max_gap_ns;
	double gap_ns = gaps_max(&in->b.gaps, j->since_ns);

	return gap_ns > j->max_gap_ns ? gap_ns : j->max_gap_ns;
}

/* Sliding windows */

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void decoding_enter_window(struct instance *in, struct job *j, int64_t gen)
{
	int64_t ctx = j->req.prompt_tok + j->pad_tok + gen, window = in->kv.window_tok;

	if (window == 0)
		return;
	j->below_window = ctx < window;
	in->b.window_b += j->below_window;
	in->b.window_ctx += smaller(ctx, window);
}

/* The next token of j with which its context, or its slots before the step, fill the window. */
static int64_t window_stop(const struct instance *in, const struct job *j, int64_t gen)
{
	int64_t full = in->kv.window_tok - j->req.prompt_tok - j->pad_tok;

	if (in->kv.window_tok == 0 || gen > full)
		return INT64_MAX;
	return gen < full ? full : full + 1;
}

void decoding_cross_window(struct instance *in, struct job *j, int64_t gen)
{
	int64_t held = j->req.prompt_tok + gen - 1, growth = kv_next_blocks(&in->kv, held);

	if (j->below_window && j->req.prompt_tok + j->pad_tok + gen >= in->kv.window_tok) {
		j->below_window = false;
		/* contexts of a padded batch are all the same, held ones included */
		in->b.window_b = in->b.batch_padded ? 0 : in->b.window_b - 1;
		in->b.run.active = false;
	}
	if (!j->reserved && growth != j->growth) {
		kv_grow_leave(&in->kv, held, in->b.clock, j->growth);
		kv_grow_join(&in->kv, held, in->b.clock, growth);
		j->growth = growth;
	}
}

/* The longest context: all of them grow by one a step, so each differs from the clock by what stays
 * the same. */

static int64_t context_at(const struct job *j)
{
	return j->req.prompt_tok + j->gen_tok - j->join_clock;
}

static void longest_join(struct instance *in, const struct job *j)
{
	if (in->b.n_decoding == 1 || context_at(j) > in->b.longest_at)
		in->b.longest_at = context_at(j);
}

/* Seldom it is the longest that leaves, and then all others are looked at. */
static void longest_leave(struct instance *in, const struct job *gone)
{
	if (context_at(gone) < in->b.longest_at)
		return;
	in->b.longest_at = INT64_MIN;
	for (const struct job *j = in->b.running.first; j; j = j->next)
		if (j != gone && j->state == JOB_DECODING && context_at(j) > in->b.longest_at)
			in->b.longest_at = context_at(j);
}

int64_t decoding_longest(const struct instance *in)
{
	if (!in->executor->longest || in->b.decode_b == 0)
		return 0;
	if (in->b.batch_padded)
		return in->b.decode_ctx / in->b.decode_b;
	return in->b.longest_at + in->b.clock;
}

/* The decoding set */

int64_t decoding_next_stop(const struct instance *in, const struct job *j, int64_t gen)
{
	int64_t next = smaller(j->stop_tok, window_stop(in, j, gen));

	if (gen == 0) /* it decodes its first token: first_decoded() */
		return 1;
	if (in->stream > 1 && !j->deferred && (gen / in->stream + 1) * in->stream < next)
		next = (gen / in->stream + 1) * in->stream;
	return next;
}

/* j, whose sequence is prefilled and whose state says what it was, decodes from now on. */
void decoding_join(struct instance *in, struct job *j, bool late)
{
	int64_t ctx = j->req.prompt_tok + j->gen_tok;

	j->state = JOB_DECODING;
	j->join_clock = in->b.clock;
	in->b.n_decoding++;
	in->b.decode_b++;
	in->b.decode_ctx += ctx + j->pad_tok;
	decoding_enter_window(in, j, j->gen_tok);
	if (in->executor->longest)
		longest_join(in, j);
	j->growth = j->reserved ? 0 : kv_next_blocks(&in->kv, ctx - 1);
	if (!j->reserved)
		kv_grow_join(&in->kv, ctx - 1, in->b.clock, j->growth);
	heap_push(&in->b.due, j, in->b.clock + decoding_next_stop(in, j, j->gen_tok) - j->gen_tok,
		  j->admit_seq);
	if (instance_counts_gaps(in)) {
		if (late) {
			j->since_ns = INT64_MAX; /* until its first step here */
			late_add(in, j);
		} else {
			j->since_ns = j->last_ns;
			gaps_join(&in->b.gaps, j->last_ns);
		}
	} else if (j->prepaid) {
		late_add(in, j);
	}
	in->b.run.active = false;
}

/* j leaves the decoding set but for its share of a padded batch's steps; gen, blocks become its
 * own. */
void decoding_stop(struct instance *in, struct job *j)
{
	int64_t gen = job_generated(in, j), blocks = job_blocks(in, j);

	if (!j->reserved)
		kv_grow_leave(&in->kv, j->req.prompt_tok + gen - 1, in->b.clock, j->growth);
	if (instance_counts_gaps(in)) {
		decoding_fold_gap(j, gaps_max(&in->b.gaps, j->since_ns));
		if (!late_remove(in, j) && j->first_ns >= 0) {
			if (gen > j->gen_tok)
				j->last_ns = in->b.decode_end_ns;
			gaps_leave(&in->b.gaps, j->last_ns);
		}
	} else if (j->prepaid) {
		late_remove(in, j);
	}
	in->b.n_decoding--;
	if (in->b.n_decoding == 0)
		in->b.gaps.n_marks = 0;
	j->gen_tok = gen;
	j->blocks = blocks;
}

void decoding_leave(struct instance *in, struct job *j)
{
	if (in->executor->longest)
		longest_leave(in, j);
	decoding_stop(in, j);
	in->b.decode_b--;
	int64_t ctx = j->req.prompt_tok + j->pad_tok + j->gen_tok;

	in->b.decode_ctx -= ctx;
	if (in->kv.window_tok > 0) {
		in->b.window_b -= j->below_window;
		in->b.window_ctx -= smaller(ctx, in->kv.window_tok);
	}
	in->b.run.active = false;
}
