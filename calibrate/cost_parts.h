/*
 * cost_parts.h: a compiled cost model, within calibrate/cost*.c: cost.c evaluates it,
 * cost_roofline.c and cost_profile.c fill it from a device's constants and from what was measured,
 * cost_attention.c makes the tables of measured attention and cost_table.c reads them, cost_steps.c
 * is the executor of devices whose whole steps were measured.
 */
#ifndef CALIBRATE_COST_PARTS_H
#define CALIBRATE_COST_PARTS_H

#include "calibrate/cost.h"
#include "calibrate/curve.h"
#include "calibrate/profile.h"

enum { COST_KNOWN_SEQS = 1025, COST_MATRICES = 16, COST_NOTES = 192, NODE_DEVICES = 8 };

/* `count` GEMMs of t0 + max(weight_ns + row_ns x rows, flop_ns x rows), weights k x n. */
struct gemm {
	double count, t0_ns, weight_ns, row_ns, flop_ns;
};

/* `count` weights of k x n numbers in so many bits; 16: the model's own type. */
struct matrix {
	int64_t count, k, n;
	double bits;
};

/* Roofline attention of all layers. */
struct cost_attend {
	double call_ns; /* constant of the kernels */
	double ctx_ns;	/* decode, a token of context */
	double pair_ns; /* prefill, a (query, key) pair */
	double read_ns; /* KV of a token that a prefill finds and reads */
	/* the same in the layers with a window, within it */
	double window_ns, window_pair_ns, window_read_ns;
};

enum {
	DECODE_BATCHES = 32,
	DECODE_LENGTHS = 40,
	PREFILL_SEQS = 6,
	PREFILL_TOKS = 30,
	PREFILL_PRIORS = 14,
	MIXED_TOKS = 16,
	MIXED_KNOTS = 10
};

/* at0 + slope x: of a piece. */
struct line {
	double at0, slope;
};

/*
 * Decode attention of one layer over sequences and their mean context: linear in sequences between
 * knots, and for the same sequences linear in the mean context between knots.
 */
struct decode_table {
	struct knots seqs, length;
	size_t inside; /* intervals of length that were measured; sequences up to seqs_max */
	double seqs_max;
	struct line line[DECODE_BATCHES][DECODE_LENGTHS]; /* ns by mean context */
	double beyond_ns[DECODE_BATCHES]; /* a token that the longest one is beyond the mean */
	bool uneven;			  /* some of that is not 0 */
};

/*
 * Prefill attention of one layer over equal sequences: how many, of how many tokens, after how
 * many. Linear in sequences, in prior tokens, and between two numbers of tokens in the pairs they
 * make.
 */
struct prefill_table {
	struct knots seqs, tok, prior;
	double seqs_max, tok_max, prior_max; /* measured */
	double ns[PREFILL_SEQS][PREFILL_TOKS][PREFILL_PRIORS];
};

/*
 * Attention of one layer where a prompt and decodes are in one step: by tokens of the prompt, the
 * context before them + 1, sequences that decode and their mean context. Linear between knots, in
 * the pairs of the prompt instead of its tokens.
 */
struct mixed_table {
	struct knots axis[4]; /* as far as was measured */
	double ns[MIXED_TOKS][MIXED_KNOTS][MIXED_KNOTS][MIXED_KNOTS];
};

/* What a number of sequences says by itself: found once for each below COST_KNOWN_SEQS. */
struct cost_seqs {
	double rows_ns; /* of a step of as many tokens, all sampled, but attention */
	double head_ns; /* of as many that are sampled */
	double per;	/* 1 / sequences */
	double share;	/* how far they are in interval i of decode_table.seqs */
	size_t i;
};

struct cost {
	struct executor x;
	char notes[COST_NOTES];
	int64_t graph;
	struct curve linear; /* all that goes by tokens, of all layers, but the experts */
	struct curve head;   /* all that goes by sampled sequences */
	struct gemm
		experts[2]; /* all of a layer in one grouped kernel; weight_ns is of one expert */
	int n_experts;
	double expert_count, log_miss; /* log(1 - active / experts): a token misses an expert */
	struct cost_attend attend;
	double cell_ns; /* > 0: attention of a token and a cell in use, instead of all else */
	/* NULL: roofline; owned */
	struct decode_table *decode;
	struct prefill_table *prefill;
	struct mixed_table *mixed; /* only with both */
	double full_layers, window_layers;
	double tok_max, sampled_max, seqs_max; /* measured; the smaller of both */
	struct cost_seqs seqs[COST_KNOWN_SEQS];
};

/* A cost model in the making. */
struct cost_build {
	struct cost *c;
	const struct model *m;
	const struct device *d;
	const struct profile *p; /* NULL: nothing was measured */
	const struct cost_want *w;
	struct matrix linear[COST_MATRICES], head;
	int n_linear;
	bool measured; /* some part was */
};

static inline double larger(double a, double b)
{
	return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
	return a < b ? a : b;
}

/* Beside the others, once. */
void cost_note(char notes[COST_NOTES], const char *note);

/* cost_roofline.c */

void cost_list_matrices(struct cost_build *b);
struct gemm cost_gemm(const struct cost_build *b, const struct matrix *w);
/* With `times` its weights read: the experts reached, or 1. */
static inline double gemm_ns(const struct gemm *g, double rows, double times)
{
	double memory_ns = g->weight_ns * times + g->row_ns * rows;
	double compute_ns = g->flop_ns * rows;
	return g->count * (g->t0_ns + (memory_ns > compute_ns ? memory_ns : compute_ns));
}
/* Everything as a roofline. */
void cost_roofline(struct cost_build *b);
/* Of so many tokens: all-reduces of all layers, and sends between stages. */
double cost_reduce_ns(const struct cost_build *b, double tok);
double cost_send_ns(const struct cost_build *b, double tok);

/* cost_profile.c: over it, whatever b->p has. */
void cost_measured(struct cost_build *b);
/*
 * The largest value of one size of this shape that is within what was measured; 0: none is, because
 * of another size. Below the smallest measured one counts as within.
 */
enum cost_size { COST_M, COST_BYTES, COST_SEQS, COST_CTX, COST_PROMPTS, COST_NEW, COST_PRIOR };
double cost_within(const struct profile *p, const struct point *shape, enum cost_size size);

/* cost_attention.c: the tables that b->p has points for; b->c->linear and head are there. */
void cost_attention(struct cost_build *b);

/*
 * cost_table.c: the tables as they are read.
 *
 * ns of attention of one layer: a line over the summed context ctx of seqs sequences, and up to
 * which sum it holds (INT64_MAX: no end). */
struct decode_piece {
	struct line line;
	int64_t ctx_max;
	bool outside;
};
void decode_table_piece(const struct decode_table *t, const struct cost_seqs *seqs, int64_t n,
			int64_t ctx, int64_t longest, struct decode_piece *piece);
/* Where so many are in the table; its rows_ns and head_ns are left alone. */
void decode_table_seqs(const struct decode_table *t, int64_t n, struct cost_seqs *seqs);

/* Prompts of a step as sequences that are all alike: as many tokens and pairs in all. */
struct alike {
	double seqs, tok, prior;
};
struct alike cost_alike(double tok, double seqs, double pairs, double prior);
double prefill_table_ns(const struct prefill_table *t, const struct alike *a);
/* Sizes beyond the table become its largest or smallest. */
void mixed_table_limit(const struct mixed_table *t, double at[4]);
double mixed_table_ns(const struct mixed_table *t, const double at[4]);

/* cost_steps.c: NULL: the device's profile has none of the model and tp, and the sentence lists
 * those it has; or they were measured in other bits. */
const struct whole_steps *cost_steps_find(const struct model *m, const struct device *d,
					  const struct cost_want *w, struct err *e);
struct executor *cost_steps_new(const struct cost_build *b, struct err *e);

#endif
