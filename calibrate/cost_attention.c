/* Tables of measured attention, asked for at their knots. */

#include "calibrate/cost_parts.h"
#include <math.h>

/* A length knot is left out where the line past it stays within this share of a step's time. */
static const double tolerance = 0.003;

enum { LENGTHS = 64 };

static struct point shape_of(const struct cost_build *b, enum op op)
{
	const struct model *m = b->m;
	return (struct point){
		.op = op,
		.bits = (int)b->w->kv_bits,
		.heads = m->heads / b->w->tp,
		.kv_heads = model_local_kv_heads(m, b->w->tp),
		.head_dim = m->head_dim,
	};
}

/* Decode */

struct lengths {
	size_t n, n_seqs;
	double at[LENGTHS];
	double ns[DECODE_BATCHES][LENGTHS];
	double step_ns[DECODE_BATCHES]; /* the rest of a step of so many sequences */
};

/* 1, 2, 3, 4, 6, 8, 12, ...: two an octave. */
static int64_t two_an_octave(size_t i)
{
	return i < 2 ? (int64_t)i + 1 : (int64_t)(i % 2 ? 4 : 3) << (i / 2 - 1);
}

/* 1, then two an octave from 16 to a million; and `limit`. */
static void list_lengths(struct lengths *l, double limit)
{
	int64_t v = 1, next;
	for (size_t i = 8; v <= 1 << 20; v = next) {
		CHECK(l->n < LENGTHS, "%zu lengths", l->n);
		l->at[l->n++] = (double)v;
		next = v < 16 ? 16 : two_an_octave(i);
		if ((double)v < limit && limit < (double)next)
			next = (int64_t)limit;
		else
			i += v >= 16;
	}
}

/* 1, 2, 4, then two an octave from 8 to 1024, 2048, 4096. */
static size_t list_seqs(double *seqs)
{
	size_t n = 0;
	for (int64_t v = 1; v <= 4096; v = v < 8 || v >= 1024 ? 2 * v : two_an_octave(n + 2))
		seqs[n++] = (double)v;
	return n;
}

static void ask_lengths(const struct cost_build *b, const double *seqs, struct lengths *l)
{
	const struct cost *c = b->c;
	struct point at = shape_of(b, OP_DECODE);
	for (size_t i = 0; i < l->n_seqs; i++) {
		at.decode_seq = (int64_t)seqs[i];
		l->step_ns[i] = curve_at(&c->linear, seqs[i]) + curve_at(&c->head, seqs[i]);
		for (size_t j = 0; j < l->n; j++) {
			at.decode_ctx = at.decode_seq * (int64_t)l->at[j];
			double ns = profile_ns(b->p, &at, NULL);
			ns = i > 0 ? larger(ns, l->ns[i - 1][j]) : ns;
			l->ns[i][j] = j > 0 ? larger(ns, l->ns[i][j - 1]) : ns;
		}
	}
}

/* Whether lines from length i to length k come near all that is between. */
static bool straight(const struct lengths *l, size_t i, size_t k, double layers)
{
	for (size_t s = 0; s < l->n_seqs; s++) {
		const double *ns = l->ns[s];
		double slope = (ns[k] - ns[i]) / (l->at[k] - l->at[i]);
		for (size_t j = i + 1; j < k; j++) {
			double off = fabs(ns[i] + slope * (l->at[j] - l->at[i]) - ns[j]);
			if (layers * off > tolerance * (l->step_ns[s] + layers * ns[j]))
				return false;
		}
	}
	return true;
}

/* The fewest of them, as far as going on from each to the furthest finds them. */
static size_t choose_lengths(const struct lengths *l, double limit, double layers, size_t *chosen)
{
	size_t n = 0;
	for (size_t i = 0; i + 1 < l->n;) {
		size_t k = i + 1;
		chosen[n++] = i;
		while (k + 1 < l->n && l->at[k] != limit && straight(l, i, k + 1, layers))
			k++;
		i = k;
	}
	chosen[n++] = l->n - 1;
	return n;
}

static void fill_lines(struct decode_table *t, const struct lengths *l, const size_t *chosen)
{
	for (size_t i = 0; i < l->n_seqs; i++) {
		for (size_t j = 0; j + 1 < t->length.n; j++) {
			size_t from = chosen[j], to = chosen[j + 1];
			const double *ns = l->ns[i];
			double slope = (ns[to] - ns[from]) / (l->at[to] - l->at[from]);
			t->line[i][j] = (struct line){ns[from] - slope * l->at[from], slope};
		}
	}
}

/* What the longest sequence costs where it is not like the others, at a context as they have it. */
static void ask_uneven(const struct cost_build *b, struct decode_table *t)
{
	enum { MEAN = 1024, LONGEST = 5 * MEAN };
	struct point at = shape_of(b, OP_DECODE);
	for (size_t i = 0; i < t->seqs.n; i++) {
		at.decode_seq = (int64_t)t->seqs.at[i];
		at.decode_ctx = MEAN * at.decode_seq;
		at.longest = 0;
		double even_ns = profile_ns(b->p, &at, NULL);
		at.longest = LONGEST;
		double ns = profile_ns(b->p, &at, NULL);
		if (i > 0)
			t->beyond_ns[i] = larger(0, (ns - even_ns) / (LONGEST - MEAN));
		t->uneven = t->uneven || t->beyond_ns[i] > 0;
	}
}

static struct decode_table *decode_table_new(const struct cost_build *b)
{
	struct decode_table *t = xcalloc(1, sizeof(*t));
	struct lengths *l = xcalloc(1, sizeof(*l));
	struct point at = shape_of(b, OP_DECODE);
	double seqs[DECODE_BATCHES] = {0}, length[DECODE_LENGTHS], limit;
	size_t chosen[LENGTHS];
	at.decode_seq = 1;
	at.decode_ctx = 1024;
	t->seqs_max = cost_within(b->p, &at, COST_SEQS);
	limit = cost_within(b->p, &at, COST_CTX);
	l->n_seqs = list_seqs(seqs);
	list_lengths(l, limit);
	ask_lengths(b, seqs, l);
	size_t n = choose_lengths(l, limit, b->c->full_layers + b->c->window_layers, chosen);
	CHECK(n <= DECODE_LENGTHS, "%zu lengths, room for %d", n, DECODE_LENGTHS);
	for (size_t i = 0; i < n; i++) {
		length[i] = l->at[chosen[i]];
		t->inside += i > 0 && length[i] <= limit;
	}
	knots_init(&t->seqs, seqs, l->n_seqs);
	knots_init(&t->length, length, n);
	fill_lines(t, l, chosen);
	ask_uneven(b, t);
	b->c->x.longest = t->uneven;
	free(l);
	return t;
}

/* Prefill */

static const double prefill_seqs[] = {1, 2, 4, 8, 16, 64};
/* Of prior + 1. Where none was measured the formula is straight in it. */
static const double prefill_priors[] = {1,    65,    257,   513,   1025,   2049,  4097,
					8193, 16385, 32769, 65537, 131073, 262145};
static const double few_priors[] = {1, 262145};
enum {
	SEQS = sizeof(prefill_seqs) / sizeof(prefill_seqs[0]),
	PRIORS = sizeof(prefill_priors) / sizeof(prefill_priors[0]),
	TOKS = 29
};

static void ask_prefill(const struct cost_build *b, struct prefill_table *t)
{
	struct point at = shape_of(b, OP_PREFILL);
	for (size_t n = 0; n < t->seqs.n * t->tok.n * t->prior.n; n++) {
		size_t i = n / t->prior.n / t->tok.n, j = n / t->prior.n % t->tok.n;
		size_t k = n % t->prior.n;
		at.prefill_seq = (int64_t)t->seqs.at[i];
		at.new_tok = (int64_t)t->tok.at[j];
		at.prior_tok = (int64_t)t->prior.at[k] - 1;
		double ns = profile_ns(b->p, &at, NULL);
		ns = i > 0 ? larger(ns, t->ns[i - 1][j][k]) : ns;
		ns = j > 0 ? larger(ns, t->ns[i][j - 1][k]) : ns;
		t->ns[i][j][k] = k > 0 ? larger(ns, t->ns[i][j][k - 1]) : ns;
	}
}

static struct prefill_table *prefill_table_new(const struct cost_build *b)
{
	struct prefill_table *t = xcalloc(1, sizeof(*t));
	struct point at = shape_of(b, OP_PREFILL);
	double tok[TOKS] = {1, 8};
	for (size_t i = 2; i < TOKS; i++) /* 16 to 131072 */
		tok[i] = (double)two_an_octave(i + 5);
	at.prefill_seq = 1;
	t->tok_max = cost_within(b->p, &at, COST_NEW);
	at.new_tok = 512;
	t->seqs_max = cost_within(b->p, &at, COST_PROMPTS);
	t->prior_max = cost_within(b->p, &at, COST_PRIOR);
	knots_init(&t->seqs, prefill_seqs, SEQS);
	knots_init(&t->tok, tok, TOKS);
	if (t->prior_max > 0)
		knots_init(&t->prior, prefill_priors, PRIORS);
	else
		knots_init(&t->prior, few_priors, 2);
	ask_prefill(b, t);
	return t;
}

/* Both */

static const double mixed_toks[MIXED_TOKS] = {1,   16,	32,   64,   128,  192,	256,  384,
					      512, 768, 1024, 1536, 2048, 3072, 4096, 8192};
static const double mixed_knots[3][MIXED_KNOTS] = {
	{1, 129, 513, 1025, 2049, 4097, 8193, 16385, 32769, 65537}, /* prior + 1 */
	{1, 4, 8, 16, 32, 64, 128, 256, 512, 1024},		    /* sequences that decode */
	{16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768},   /* their mean context */
};

/* The largest of what is one knot less in one size. */
static double before(double (*ns)[MIXED_KNOTS][MIXED_KNOTS][MIXED_KNOTS], const size_t i[4])
{
	double most = 0;
	if (i[0] > 0)
		most = ns[i[0] - 1][i[1]][i[2]][i[3]];
	if (i[1] > 0)
		most = larger(most, ns[i[0]][i[1] - 1][i[2]][i[3]]);
	if (i[2] > 0)
		most = larger(most, ns[i[0]][i[1]][i[2] - 1][i[3]]);
	return i[3] > 0 ? larger(most, ns[i[0]][i[1]][i[2]][i[3] - 1]) : most;
}

static void ask_mixed(const struct cost_build *b, struct mixed_table *t)
{
	const size_t n[4] = {t->axis[0].n, t->axis[1].n, t->axis[2].n, t->axis[3].n};
	struct point at = shape_of(b, OP_MIXED);
	at.prefill_seq = 1;
	for (size_t k = 0; k < n[0] * n[1] * n[2] * n[3]; k++) {
		const size_t i[4] = {k / n[3] / n[2] / n[1], k / n[3] / n[2] % n[1],
				     k / n[3] % n[2], k % n[3]};
		at.new_tok = (int64_t)t->axis[0].at[i[0]];
		at.prior_tok = (int64_t)t->axis[1].at[i[1]] - 1;
		at.decode_seq = (int64_t)t->axis[2].at[i[2]];
		at.decode_ctx = at.decode_seq * (int64_t)t->axis[3].at[i[3]];
		t->ns[i[0]][i[1]][i[2]][i[3]] =
			larger(profile_ns(b->p, &at, NULL), before(t->ns, i));
	}
}

/* Those of the knots that were measured, two at least. */
static void init_axis(struct knots *axis, const double *knots, size_t most, double max)
{
	size_t n = 2;
	while (n < most && knots[n] <= max)
		n++;
	knots_init(axis, knots, n);
}

/* NULL: of such heads none were measured, and their sum is nearer than what others say. */
static struct mixed_table *mixed_table_new(const struct cost_build *b)
{
	static const enum cost_size sizes[4] = {[1] = COST_PRIOR, COST_SEQS, COST_CTX};
	struct point at = shape_of(b, OP_MIXED);
	at.prefill_seq = 1;
	at.new_tok = 256;
	at.decode_seq = 1;
	at.decode_ctx = 512;
	double most_tok = cost_within(b->p, &at, COST_NEW);
	if (most_tok == 0)
		return NULL;
	struct mixed_table *t = xcalloc(1, sizeof(*t));
	init_axis(&t->axis[0], mixed_toks, MIXED_TOKS, most_tok);
	for (size_t k = 1; k < 4; k++)
		init_axis(&t->axis[k], mixed_knots[k - 1], MIXED_KNOTS,
			  cost_within(b->p, &at, sizes[k]) + (sizes[k] == COST_PRIOR));
	ask_mixed(b, t);
	return t;
}

void cost_attention(struct cost_build *b)
{
	int bits = (int)b->w->kv_bits;
	if (b->m->attention == ATTENTION_MLA) {
		cost_note(b->c->notes, "roofline-mla");
		return;
	}
	if (profile_has(b->p, OP_DECODE, bits))
		b->c->decode = decode_table_new(b);
	else
		cost_note(b->c->notes, "roofline-decode");
	if (profile_has(b->p, OP_PREFILL, bits))
		b->c->prefill = prefill_table_new(b);
	else
		cost_note(b->c->notes, "roofline-prefill");
	b->measured = b->measured || b->c->decode || b->c->prefill;
	if (b->c->decode && b->c->prefill && profile_has(b->p, OP_MIXED, bits))
		b->c->mixed = mixed_table_new(b);
	if (!b->c->mixed)
		cost_note(b->c->notes, "mixed-sum");
	if (b->c->decode && (b->c->decode->seqs_max == 0 || b->c->decode->inside == 0))
		cost_note(b->c->notes, "extrapolated-decode");
	if (b->c->prefill && b->c->prefill->tok_max == 0)
		cost_note(b->c->notes, "extrapolated-prefill");
}
