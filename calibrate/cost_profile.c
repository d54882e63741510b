/* What was measured of a step but attention, over the roofline of the rest. */

#include "calibrate/cost_parts.h"
#include <math.h>

static void place(struct point *at, enum cost_size size, int64_t value)
{
	int64_t *const of[] = {
		[COST_M] = &at->m,
		[COST_BYTES] = &at->bytes,
		[COST_SEQS] = &at->decode_seq,
		[COST_CTX] = &at->decode_ctx,
		[COST_PROMPTS] = &at->prefill_seq,
		[COST_NEW] = &at->new_tok,
		[COST_PRIOR] = &at->prior_tok,
	};
	if (size == COST_SEQS) /* as many tokens each */
		at->decode_ctx = at->decode_ctx / at->decode_seq * value;
	*of[size] = value;
}

static bool is_within(const struct profile *p, struct point *at, enum cost_size size, int64_t value)
{
	enum profile_where where;
	place(at, size, value);
	profile_ns(p, at, &where);
	return where == PROFILE_INSIDE;
}

double cost_within(const struct profile *p, const struct point *shape, enum cost_size size)
{
	enum { LARGEST = 1 << 30 };
	struct point at = *shape;
	int64_t low = 0;
	for (int64_t v = 1; v <= LARGEST; v *= 2)
		if (is_within(p, &at, size, v))
			low = v;
	for (int64_t high = 2 * low; high - low > 1;) {
		int64_t mid = low + (high - low) / 2;
		if (is_within(p, &at, size, mid))
			low = mid;
		else
			high = mid;
	}
	return (double)low;
}

static struct point gemm_point(const struct cost_build *b, const struct matrix *w)
{
	double own = 8 * (double)b->m->dtype_bytes;
	int bits = w->bits >= own ? 16 : w->bits >= 8 ? 8 : 4;
	return (struct point){.op = OP_GEMM, .bits = bits, .n = w->n, .k = w->k};
}

/* The share of a GEMM's time that the kernel before does. */
static double left_out(const struct cost_build *b, const struct point *at)
{
	return b->w->fused_quant && at->bits < 16 ? profile_quantise_share(b->p, at) : 0;
}

static double matrix_ns(const struct cost_build *b, const struct matrix *w, double rows)
{
	struct point at = gemm_point(b, w);
	at.m = (int64_t)rows;
	if (profile_has(b->p, at.op, at.bits))
		return (double)w->count * profile_ns(b->p, &at, NULL) * (1 - left_out(b, &at));
	const struct gemm g = cost_gemm(b, w);
	double roofline_ns = gemm_ns(&g, rows, 1);
	at.bits = 16;
	if (!profile_has(b->p, at.op, at.bits))
		return roofline_ns;
	/* fewer bits: no slower than what was measured of more */
	return smaller(roofline_ns, (double)w->count * profile_ns(b->p, &at, NULL));
}

/* Elementwise kernels: what goes by tokens and is no GEMM */

struct row_op {
	enum op op;
	int64_t count, n;
	double numbers; /* of n: read and written */
};

enum { ROW_OPS = 5 };

static int list_row_ops(const struct cost_build *b, struct row_op *ops)
{
	const struct model *m = b->m;
	int64_t tp = b->w->tp, heads = m->heads / tp + model_local_kv_heads(m, tp);
	int64_t norms = (m->norms ? m->norms : 2) * m->layers + 1, sparse = model_expert_layers(m);
	double gate = m->gated ? 3 : 2;
	int n = 0;
	ops[n++] = (struct row_op){OP_NORM, norms, m->hidden, 4};
	ops[n++] = (struct row_op){OP_EMBED, 1, m->hidden, 2};
	if (m->positions == 0 && m->attention == ATTENTION_GQA)
		ops[n++] = (struct row_op){OP_ROPE, m->layers, heads * m->head_dim, 2};
	if (m->layers > sparse)
		ops[n++] = (struct row_op){OP_ACT, m->layers - sparse, m->inter / tp, gate};
	if (sparse > 0)
		ops[n++] = (struct row_op){
			OP_ACT, sparse,
			(m->experts_active + m->experts_shared) * m->expert_inter / tp, gate};
	return n;
}

/* What a small kernel takes whatever its size, in a graph: the median of norm, rotary embedding and
 * activation in the table of the RTX PRO 6000 (LLMServingSim 5daddb2: 2.2, 2.6, 2.1 us). */
static const double SMALL_KERNEL_NS = 2200;

/* At 0.9 of the peak bandwidth, and that constant, where it was not measured. */
static double row_ns(const struct cost_build *b, const struct row_op *r, double rows)
{
	const struct point at = {.op = r->op, .bits = 16, .m = (int64_t)rows, .n = r->n};
	double bytes = rows * (double)r->n * r->numbers * (double)b->m->dtype_bytes;
	if (profile_has(b->p, r->op, 16))
		return (double)r->count * profile_ns(b->p, &at, NULL);
	return (double)r->count * (SMALL_KERNEL_NS + bytes / (0.9 * b->d->peak_bytes_s) * 1e9);
}

static struct point reduce_point(const struct cost_build *b, double rows)
{
	int64_t bytes = (int64_t)rows * b->m->hidden * b->m->dtype_bytes;
	return (struct point){.op = OP_ALLREDUCE, .bits = 16, .devices = b->w->tp, .bytes = bytes};
}

static double reduce_ns(const struct cost_build *b, double rows)
{
	const struct point at = reduce_point(b, rows);
	if (b->w->tp == 1)
		return 0;
	if (!profile_has(b->p, OP_ALLREDUCE, 16))
		return cost_reduce_ns(b, rows);
	return 2 * (double)b->m->layers * profile_ns(b->p, &at, NULL);
}

static double linear_ns(const struct cost_build *b, double rows)
{
	const struct rest *rest = &b->p->rest;
	struct row_op ops[ROW_OPS];
	double ns = reduce_ns(b, rows) + cost_send_ns(b, rows);
	for (int i = 0; i < b->n_linear; i++)
		ns += matrix_ns(b, &b->linear[i], rows);
	for (int n = list_row_ops(b, ops), i = 0; i < n; i++)
		ns += row_ns(b, &ops[i], rows);
	double rest_ns = rest->layer_ns + rest->layer_tok_ns * rows;
	return ns + (double)b->m->layers * rest_ns * (1 + rest->tail);
}

static double head_ns(const struct cost_build *b, double rows)
{
	const struct row_op sample = {OP_SAMPLE, 1, b->head.n, 1};
	return matrix_ns(b, &b->head, rows) + row_ns(b, &sample, rows);
}

/* 1, 2, 3, 4, 5, 6, 7, 8, then four an octave. */
static double size_at(size_t i)
{
	return i < 8 ? (double)(i + 1)
		     : (double)(4 + (i - 8 + 1) % 4) * ldexp(2, (int)(i - 8 + 1) / 4);
}

/* Times never fall as sizes grow: where measured ones do, the larger one before stays. */
static void measured_curve(const struct cost_build *b,
			   double (*ns)(const struct cost_build *b, double rows),
			   struct curve *curve)
{
	enum { POINTS = 64 }; /* to 131072 */
	struct curve_point points[POINTS];
	for (size_t i = 0; i < POINTS; i++) {
		points[i] = (struct curve_point){size_at(i), ns(b, size_at(i))};
		if (i > 0 && points[i].ns < points[i - 1].ns)
			points[i].ns = points[i - 1].ns;
	}
	curve_init(curve, points, POINTS);
}

/* Notes and limits */

/* What a part is made of: nothing measured, or up to this size; a shape that is beyond all that was
 * measured has no limit, and a note of its own. */
struct part {
	bool roofline, outside;
	double max;
};

static void add_to_part(const struct cost_build *b, const struct point *shape, enum cost_size size,
			struct part *part)
{
	double max;
	if (!profile_has(b->p, shape->op, shape->bits)) {
		part->roofline = true;
		return;
	}
	max = cost_within(b->p, shape, size);
	if (max == 0)
		part->outside = true;
	else if (max < part->max)
		part->max = max;
}

static void note_part(struct cost_build *b, const struct part *part, const char *name)
{
	char note[48];
	snprintf(note, sizeof(note), "%s-%s", part->roofline ? "roofline" : "extrapolated", name);
	if (part->roofline || part->outside)
		cost_note(b->c->notes, note);
}

static void limit_linear(struct cost_build *b, struct part *rows)
{
	struct part gemm = {.max = INFINITY}, reduce = gemm;
	struct row_op ops[ROW_OPS];
	struct point at = reduce_point(b, 1);
	double token_bytes = (double)at.bytes;
	for (int i = 0; i < b->n_linear; i++) {
		at = gemm_point(b, &b->linear[i]);
		add_to_part(b, &at, COST_M, &gemm);
	}
	for (int n = list_row_ops(b, ops), i = 0; i < n; i++) {
		at = (struct point){.op = ops[i].op, .bits = 16, .n = ops[i].n};
		add_to_part(b, &at, COST_M, rows);
	}
	at = reduce_point(b, 1);
	if (b->w->tp > 1)
		add_to_part(b, &at, COST_BYTES, &reduce);
	note_part(b, &gemm, "gemm");
	note_part(b, &reduce, "allreduce");
	b->c->tok_max = fmin(gemm.max, fmin(rows->max, reduce.max / token_bytes));
}

static void limit_head(struct cost_build *b, struct part *rows)
{
	struct part head = {.max = INFINITY}, sample = head;
	struct point at = gemm_point(b, &b->head);
	add_to_part(b, &at, COST_M, &head);
	at = (struct point){.op = OP_SAMPLE, .bits = 16, .n = b->head.n};
	add_to_part(b, &at, COST_M, &sample);
	note_part(b, &head, "head");
	rows->roofline = rows->roofline || sample.roofline;
	rows->outside = rows->outside || sample.outside;
	b->c->sampled_max = fmin(head.max, sample.max);
}

void cost_measured(struct cost_build *b)
{
	struct point linear = gemm_point(b, &b->linear[0]);
	struct part rows = {.max = INFINITY};
	b->measured = profile_has(b->p, OP_GEMM, 16) || profile_has(b->p, OP_GEMM, linear.bits);
	if (b->measured) {
		measured_curve(b, linear_ns, &b->c->linear);
		measured_curve(b, head_ns, &b->c->head);
	}
	limit_linear(b, &rows);
	limit_head(b, &rows);
	note_part(b, &rows, "rows");
	linear.m = 1;
	if (left_out(b, &linear) > 0)
		cost_note(b->c->notes, "fused-quant");
	if (b->c->n_experts)
		cost_note(b->c->notes, "roofline-experts");
	if (b->w->pp > 1)
		cost_note(b->c->notes, "roofline-sends");
	if (b->c->cell_ns <= 0)
		cost_attention(b);
}
