#include "calibrate/cost_parts.h"
#include <math.h>

/* How many experts n tokens reach, each choosing `active` of them evenly. */
static double experts_read(const struct cost *c, double n)
{
	return c->expert_count * (1 - exp(n * c->log_miss));
}

/* What rows count as in a step that is captured in a graph. */
static int64_t padded(const struct cost *c, int64_t rows)
{
	int64_t size = rows <= 2 ? rows : rows <= 4 ? 4 : (rows + 7) / 8 * 8;
	return size < c->graph ? size : c->graph;
}

/* What goes by tokens. */
static double tok_ns(const struct cost *c, int64_t tok)
{
	double rows = (double)tok, ns = curve_at(&c->linear, rows);
	if (c->n_experts) {
		double read = experts_read(c, rows);
		for (int i = 0; i < c->n_experts; i++)
			ns += gemm_ns(&c->experts[i], rows, read);
	}
	return ns;
}

static double head_ns(const struct cost *c, int64_t sampled)
{
	return sampled < COST_KNOWN_SEQS ? c->seqs[sampled].head_ns
					 : curve_at(&c->head, (double)sampled);
}

/* Everything of a step but attention. */
static double rows_ns(const struct cost *c, int64_t tok, int64_t sampled)
{
	if (tok <= c->graph) {
		tok = padded(c, tok);
		sampled = padded(c, sampled);
	}
	return tok_ns(c, tok) + head_ns(c, sampled);
}

static void make_seqs(const struct cost *c, int64_t n, struct cost_seqs *seqs)
{
	*seqs = (struct cost_seqs){
		.rows_ns = rows_ns(c, n, n),
		.head_ns = curve_at(&c->head, (double)n),
	};
	if (c->decode)
		decode_table_seqs(c->decode, n, seqs);
}

/* `other` is room for a number that is not among those found once. */
static const struct cost_seqs *seqs_of(const struct cost *c, int64_t n, struct cost_seqs *other)
{
	if (n < COST_KNOWN_SEQS)
		return &c->seqs[n];
	make_seqs(c, n, other);
	return other;
}

/* Attention of a step */

/* Adds that of the decodes, and says how far this piece goes. */
static void add_decode(const struct cost *c, const struct cost_seqs *seqs,
		       const struct decode_batch *b, struct decode_cost *d)
{
	struct decode_piece piece;
	if (!c->decode) {
		d->step_ns += c->attend.call_ns;
		d->ctx_ns = c->attend.ctx_ns;
		d->window_ns = c->attend.window_ns;
		d->ctx_max = INT64_MAX;
		return;
	}
	decode_table_piece(c->decode, seqs, b->seq, b->ctx, b->longest, &piece);
	d->step_ns += c->full_layers * piece.line.at0;
	d->ctx_ns = c->full_layers * piece.line.slope;
	d->ctx_max = piece.ctx_max;
	d->outside = d->outside || piece.outside;
	if (c->window_layers <= 0)
		return;
	decode_table_piece(c->decode, seqs, b->seq, b->window_ctx, 0, &piece);
	d->step_ns += c->window_layers * piece.line.at0;
	d->window_ns = c->window_layers * piece.line.slope;
	if (piece.ctx_max == INT64_MAX || b->window_seq == 0)
		return;
	int64_t more = (piece.ctx_max - b->window_ctx) / b->window_seq;
	if (b->ctx + more * b->seq < d->ctx_max)
		d->ctx_max = b->ctx + more * b->seq;
}

static struct alike alike_of(const struct step *s)
{
	return cost_alike((double)s->prefill_tok, (double)s->prefill_seq, s->prefill_pairs,
			  (double)s->prefill_prior);
}

static struct alike alike_within(const struct step *s)
{
	return cost_alike((double)s->prefill_tok, (double)s->prefill_seq, s->window_pairs,
			  (double)s->window_prior);
}

/* Attention of the prompts: their arithmetic, or the context before them, read once a sequence. */
static double prompts_ns(const struct cost *c, const struct step *s)
{
	const struct cost_attend *a = &c->attend;
	double compute_ns =
		a->call_ns + a->pair_ns * s->prefill_pairs + a->window_pair_ns * s->window_pairs;
	double memory_ns =
		a->read_ns * (double)s->prefill_prior + a->window_read_ns * (double)s->window_prior;
	if (c->prefill) {
		const struct alike all = alike_of(s);
		compute_ns = c->full_layers * prefill_table_ns(c->prefill, &all);
	} else {
		memory_ns += a->call_ns;
	}
	if (c->prefill && c->window_layers > 0) {
		const struct alike within = alike_within(s);
		compute_ns += c->window_layers * prefill_table_ns(c->prefill, &within);
	}
	return larger(compute_ns, memory_ns);
}

static double decodes_ns(const struct cost *c, int64_t seqs, int64_t ctx, int64_t longest)
{
	struct cost_seqs other;
	struct decode_piece piece;
	decode_table_piece(c->decode, seqs_of(c, seqs, &other), seqs, ctx, longest, &piece);
	return piece.line.at0 + piece.line.slope * (double)ctx;
}

/*
 * Of one layer, prompts and decodes in one step: as was measured, at the sizes nearest to these;
 * what is more costs what it does alone. Never less than one of both alone.
 */
static double mixed_layer_ns(const struct cost *c, const struct alike *a, const struct step *s,
			     int64_t ctx, int64_t longest)
{
	double at[4] = {a->tok, a->prior + 1, (double)s->decode_seq,
			(double)ctx / (double)s->decode_seq};
	double prompts = prefill_table_ns(c->prefill, a);
	double decodes = decodes_ns(c, s->decode_seq, ctx, longest);
	mixed_table_limit(c->mixed, at);
	const struct alike one = {1, at[0], at[1] - 1};
	double more = prompts - prefill_table_ns(c->prefill, &one) + decodes -
		      decodes_ns(c, (int64_t)at[2], (int64_t)(at[2] * at[3] + 0.5), 0);
	return larger(mixed_table_ns(c->mixed, at) + more, larger(prompts, decodes));
}

static double mixed_ns(const struct cost *c, const struct step *s)
{
	const struct alike all = alike_of(s);
	double ns = c->full_layers * mixed_layer_ns(c, &all, s, s->decode_ctx, s->decode_longest);
	if (c->window_layers > 0) {
		const struct alike within = alike_within(s);
		ns += c->window_layers * mixed_layer_ns(c, &within, s, s->window_ctx, 0);
	}
	double read_ns = c->attend.read_ns * (double)(s->prefill_prior + s->decode_ctx) +
			 c->attend.window_read_ns * (double)(s->window_prior + s->window_ctx);
	return larger(ns, read_ns);
}

static const struct cost *cost_of(const struct executor *x)
{
	return (const struct cost *)(const void *)x;
}

static void predict_decode(const struct executor *x, const struct decode_batch *b,
			   struct decode_cost *d)
{
	const struct cost *c = cost_of(x);
	struct cost_seqs other;
	const struct cost_seqs *seqs = seqs_of(c, b->seq, &other);
	*d = (struct decode_cost){
		.step_ns = seqs->rows_ns,
		.outside = (double)b->seq > c->seqs_max,
	};
	add_decode(c, seqs, b, d);
}

static struct decode_batch batch_of(const struct step *s)
{
	return (struct decode_batch){
		.seq = s->decode_seq,
		.ctx = s->decode_ctx,
		.window_ctx = s->window_ctx,
		.longest = s->decode_longest,
	};
}

static double predict_step_ns(const struct executor *x, const struct step *s)
{
	const struct cost *c = cost_of(x);
	const struct decode_batch b = batch_of(s);
	struct decode_cost d = {.step_ns = 0};
	if (s->prefill_tok == 0 && s->decode_seq == 0)
		return 0;
	if (s->prefill_tok == 0) {
		predict_decode(x, &b, &d);
	} else {
		d.step_ns = rows_ns(c, s->prefill_tok + s->decode_seq,
				    s->prefill_done_seq + s->decode_seq);
		if (c->mixed && s->decode_seq > 0)
			return d.step_ns + mixed_ns(c, s);
		struct cost_seqs other;
		if (s->decode_seq > 0)
			add_decode(c, seqs_of(c, s->decode_seq, &other), &b, &d);
		d.step_ns += prompts_ns(c, s);
	}
	return d.step_ns + d.ctx_ns * (double)s->decode_ctx + d.window_ns * (double)s->window_ctx;
}

/* A step of no more tokens and sequences than were measured, and attention likewise. */
static bool predict_outside(const struct executor *x, const struct step *s)
{
	const struct cost *c = cost_of(x);
	int64_t sampled = s->prefill_done_seq + s->decode_seq;
	if ((double)(s->prefill_tok + s->decode_seq) > c->tok_max ||
	    (double)sampled > c->sampled_max)
		return true;
	if (c->decode && s->decode_seq > 0) {
		struct cost_seqs other;
		struct decode_piece piece;
		decode_table_piece(c->decode, seqs_of(c, s->decode_seq, &other), s->decode_seq,
				   s->decode_ctx, 0, &piece);
		if (piece.outside)
			return true;
	}
	if (!c->prefill || s->prefill_tok == 0)
		return false;
	const struct alike a = alike_of(s);
	return a.seqs > c->prefill->seqs_max || a.tok > c->prefill->tok_max ||
	       a.prior > c->prefill->prior_max;
}

/* Attention over all cells in use: tokens x cells */

static double unified_step_ns(const struct executor *x, const struct step *s)
{
	const struct cost *c = cost_of(x);
	int64_t tok = s->prefill_tok + s->decode_seq;
	if (tok == 0)
		return 0;
	double cells = (double)(s->decode_ctx + s->prefill_prior + s->prefill_tok);
	return rows_ns(c, tok, s->prefill_done_seq + s->decode_seq) +
	       c->cell_ns * (double)tok * cells;
}

static void unified_decode(const struct executor *x, const struct decode_batch *b,
			   struct decode_cost *d)
{
	const struct cost *c = cost_of(x);
	*d = (struct decode_cost){
		.step_ns = rows_ns(c, b->seq, b->seq),
		.ctx_ns = c->cell_ns * (double)b->seq,
		.ctx_max = INT64_MAX,
		.outside = (double)b->seq > c->seqs_max,
	};
}

static void predict_free(struct executor *x)
{
	const struct cost *c = cost_of(x);
	free(c->decode);
	free(c->prefill);
	free(c->mixed);
	free(x);
}

static const char summary[] = "a cost model of MODEL on DEVICE, from what was measured on it, and "
			      "its peaks for the rest (-m, -d, --tp)";

static const struct executor_ops roofline_ops = {
	.name = "predict",
	.summary = summary,
	.times = "predicted",
	.step_ns = predict_step_ns,
	.decode = predict_decode,
	.free = predict_free,
};

static const struct executor_ops measured_ops = {
	.name = "predict",
	.summary = summary,
	.times = "predicted",
	.step_ns = predict_step_ns,
	.decode = predict_decode,
	.outside = predict_outside,
	.free = predict_free,
};

static const struct executor_ops unified_ops = {
	.name = "predict",
	.summary = summary,
	.times = "predicted",
	.step_ns = unified_step_ns,
	.decode = unified_decode,
	.outside = predict_outside,
	.free = predict_free,
};

void cost_note(char notes[COST_NOTES], const char *note)
{
	size_t n = strlen(notes);
	snprintf(notes + n, COST_NOTES - n, "%s%s", n ? " " : "", note);
}

static void find_seqs(struct cost *c)
{
	c->seqs_max = smaller(c->tok_max, c->sampled_max);
	for (int64_t n = 1; n < COST_KNOWN_SEQS; n++)
		c->seqs[n].head_ns = curve_at(&c->head, (double)n);
	for (int64_t n = 1; n < COST_KNOWN_SEQS; n++)
		make_seqs(c, n, &c->seqs[n]);
}

static bool has_steps_alone(const struct device *d)
{
	return d->profile && d->profile->n_steps > 0 && d->profile->n_fits == 0;
}

int cost_predict_check(const struct model *m, const struct device *d, const struct cost_want *w,
		       struct err *e)
{
	return has_steps_alone(d) && !cost_steps_find(m, d, w, e) ? -1 : 0;
}

struct executor *cost_predict_new(const struct model *m, const struct device *d,
				  const struct cost_want *w, struct err *e)
{
	struct cost_build b = {.m = m, .d = d, .p = d->profile, .w = w};
	if (has_steps_alone(d))
		return cost_steps_new(&b, e);
	b.c = xcalloc(1, sizeof(*b.c));
	b.c->graph = w->graph;
	b.c->tok_max = b.c->sampled_max = INFINITY;
	b.c->x = (struct executor){.ops = &roofline_ops, .notes = b.c->notes};
	cost_list_matrices(&b);
	cost_roofline(&b);
	if (b.p)
		cost_measured(&b);
	if (b.measured) {
		b.c->x.ops = &measured_ops;
	} else {
		b.c->notes[0] = '\0'; /* it stands for those of all parts */
		cost_note(b.c->notes, "roofline");
	}
	if (b.c->cell_ns > 0)
		b.c->x.ops = &unified_ops;
	find_seqs(b.c);
	return &b.c->x;
}
