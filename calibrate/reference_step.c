/* A whole step in double precision, one sequence at a time: they do not see each other. */

#include "calibrate/reference.h"

/* One sequence on its way through the layers. */
struct path {
	const struct weights *w;
	const struct reference_seq *seq;
	double *x, *add, *norm, *qkv, *wide; /* rows of its new tokens */
	double *k, *v;			     /* of all its tokens, in one layer */
};

static double *room(int64_t n)
{
	return xcalloc((size_t)n, sizeof(double));
}

static void path_init(struct path *p, const struct weights *w, const struct reference_seq *seq)
{
	int64_t m = seq->new_tok, ctx = seq->prior_tok + m, kv = w->kv_heads * w->head_dim;

	*p = (struct path){
		.w = w,
		.seq = seq,
		.x = room(m * w->hidden),
		.add = room(m * w->hidden),
		.norm = room(m * w->hidden),
		.qkv = room(m * weights_qkv_width(w)),
		.wide = room(m * (w->heads * w->head_dim + weights_up_width(w) + w->inter)),
		.k = room(ctx * kv),
		.v = room(ctx * kv),
	};
}

static void path_release(struct path *p)
{
	double *all[] = {p->x, p->add, p->norm, p->qkv, p->wide, p->k, p->v};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]);
}

static void embed(struct path *p)
{
	const struct weights *w = p->w;

	for (int64_t i = 0; i < p->seq->new_tok; i++)
		for (int64_t j = 0; j < w->hidden; j++) {
			int64_t at = p->seq->prior_tok + i;
			p->x[i * w->hidden + j] =
				(double)w->embed[p->seq->token[i] * w->hidden + j];
			if (w->position)
				p->x[i * w->hidden + j] +=
					(double)w->position[at % w->positions * w->hidden + j];
		}
}

static void norm_heads(const struct weights *w, double *head, int64_t n, const float *weight)
{
	if (weight)
		reference_norm(head, NULL, weight, NULL, n, w->head_dim, head);
}

/* Norms and rotation of q and k, q to the front of `wide`, k and v behind the cached ones. */
static void split(struct path *p, const struct weights_layer *l)
{
	const struct weights *w = p->w;
	int64_t q = w->heads * w->head_dim, kv = w->kv_heads * w->head_dim;

	for (int64_t i = 0; i < p->seq->new_tok; i++) {
		double *row = p->qkv + i * (q + 2 * kv);
		int64_t at = p->seq->prior_tok + i;

		norm_heads(w, row, w->heads, l->q_norm);
		norm_heads(w, row + q, w->kv_heads, l->k_norm);
		if (!w->positions)
			reference_rope(row, w->heads + w->kv_heads, w->head_dim, at % w->context);
		for (int64_t j = 0; j < q; j++)
			p->wide[i * q + j] = row[j];
		for (int64_t j = 0; j < kv; j++) {
			p->k[at * kv + j] = row[q + j];
			p->v[at * kv + j] = row[q + kv + j];
		}
	}
}

static void attention(struct path *p, const struct weights_layer *l)
{
	const struct weights *w = p->w;
	int64_t m = p->seq->new_tok, q = w->heads * w->head_dim;
	const struct reference_attention a = {
		.q = p->wide,
		.k = p->k,
		.v = p->v,
		.new_tok = m,
		.prior_tok = p->seq->prior_tok,
		.heads = w->heads,
		.kv_heads = w->kv_heads,
		.head_dim = w->head_dim,
	};

	reference_gemm(p->norm, l->qkv, l->qkv_bias, m, weights_qkv_width(w), w->hidden, p->qkv);
	split(p, l);
	reference_attention(&a, p->qkv); /* narrower than qkv */
	reference_gemm(p->qkv, l->o, l->o_bias, m, w->hidden, q, p->add);
}

static void mlp(struct path *p, const struct weights_layer *l, double *out)
{
	const struct weights *w = p->w;
	int64_t m = p->seq->new_tok;
	double *act = p->wide + m * weights_up_width(w);

	reference_gemm(p->norm, l->up, l->up_bias, m, weights_up_width(w), w->hidden, p->wide);
	reference_act(p->wide, w->gated, m, w->inter, act);
	reference_gemm(act, l->down, l->down_bias, m, w->hidden, w->inter, out);
}

static void layer(struct path *p, const struct weights_layer *l, bool first)
{
	const struct weights *w = p->w;
	int64_t m = p->seq->new_tok, n = m * w->hidden;

	reference_norm(p->x, first ? NULL : p->add, l->attention_norm, l->attention_norm_bias, m,
		       w->hidden, p->norm);
	attention(p, l);
	if (l->mlp_norm) {
		reference_norm(p->x, p->add, l->mlp_norm, l->mlp_norm_bias, m, w->hidden, p->norm);
		mlp(p, l, p->add);
		return;
	}
	double *out = room(n);
	mlp(p, l, out);
	for (int64_t i = 0; i < n; i++)
		p->add[i] += out[i];
	free(out);
}

void reference_step(const struct weights *w, const struct reference_seq *seqs, size_t n,
		    void (*cached)(void *arg, int64_t layer, size_t seq, double *k, double *v),
		    void *arg, double *logits)
{
	for (size_t i = 0; i < n; i++) {
		struct path p;
		int64_t last = (seqs[i].new_tok - 1) * w->hidden;

		path_init(&p, w, &seqs[i]);
		embed(&p);
		for (int64_t l = 0; l < w->layers; l++) {
			cached(arg, l, i, p.k, p.v);
			layer(&p, &w->layer[l], l == 0);
		}
		if (seqs[i].sampled) {
			reference_norm(p.x + last, p.add + last, w->final_norm, w->final_norm_bias,
				       1, w->hidden, p.norm);
			reference_gemm(p.norm, w->head, w->head_bias, 1, w->vocab, w->hidden,
				       logits);
			logits += w->vocab;
		}
		path_release(&p);
	}
}
