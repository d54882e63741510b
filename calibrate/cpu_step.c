/* The forward pass, and what is decided before it. */

#include "calibrate/cpu_step.h"
#include "sim/rng.h"
#include <inttypes.h>
#include <omp.h>

static struct cpu_kv_want kv_want(const struct backend_want *w)
{
	int threads = w->threads ? (int)w->threads : omp_get_max_threads();
	int64_t block_tok = cpu_kv_block_tok(w->block_tok, w->kv_bits);
	int64_t blocks = (w->kv_tok + block_tok - 1) / block_tok;
	/* where blocks are larger than they were wanted, no sequence shall lack one for that */
	int64_t more = block_tok > w->block_tok ? w->max_seqs : 0;

	return (struct cpu_kv_want){
		.layers = w->model->layers,
		.kv_heads = model_local_kv_heads(w->model, w->tp),
		.head_dim = w->model->head_dim,
		.block_tok = block_tok,
		.blocks = blocks + more,
		.windows = w->max_seqs,
		.bits = w->kv_bits,
		.seed = w->seed,
		.threads = threads,
	};
}

/* Floats of the activations of a step. */
static int64_t activations(const struct backend_want *w)
{
	const struct model *m = w->model;
	int64_t heads = m->heads / w->tp, kv = model_local_kv_heads(m, w->tp);
	int64_t row = 3 * m->hidden + 2 * (heads + kv) * m->head_dim +
		      (m->gated ? 3 : 2) * (m->inter / w->tp);
	int64_t vocab = (m->vocab + w->tp - 1) / w->tp;

	return w->max_tok * row + w->max_seqs * (vocab + m->hidden);
}

int64_t cpu_step_bytes(const struct backend_want *w)
{
	struct cpu_kv_want kv = kv_want(w);
	return weights_bytes(w->model, w->tp) + cpu_kv_bytes(&kv) +
	       activations(w) * (int64_t)sizeof(float);
}

static float *floats(int64_t rows, int64_t n)
{
	return xcalloc((size_t)(rows * n), sizeof(float));
}

static int64_t *integers(int64_t n)
{
	return xcalloc((size_t)n, sizeof(int64_t));
}

void cpu_step_init(struct cpu_step *s, const struct backend_want *w)
{
	const struct cpu_kv_want kv = kv_want(w);
	int64_t tok = w->max_tok, seqs = w->max_seqs, slots = kv.blocks * kv.block_tok;
	struct weights *m = &s->weights;

	*s = (struct cpu_step){.max_tok = tok, .max_seqs = seqs, .draws = rng_mix(w->seed)};
	weights_make(m, w->model, w->tp, w->seed, kv.threads);
	cpu_ops_init(&s->ops, kv.threads, m->head_dim,
		     m->positions	  ? 0
		     : slots < m->context ? slots
					  : m->context);
	cpu_kv_init(&s->kv, &kv);
	cpu_attention_init(&s->attention, &s->ops, m->heads, m->kv_heads, m->head_dim, tok, seqs);
	s->x = floats(tok, m->hidden);
	s->norm = floats(tok > seqs ? tok : seqs, m->hidden);
	s->add = floats(tok, m->hidden);
	s->qkv = floats(tok, weights_qkv_width(m));
	s->out = floats(tok, m->heads * m->head_dim);
	s->up = floats(tok, weights_up_width(m));
	s->act = floats(tok, m->inter);
	s->logits = floats(seqs, m->vocab);
	s->token = integers(tok);
	s->position = integers(tok);
	s->last = integers(seqs);
	s->best = integers(seqs);
	s->seq = xcalloc((size_t)seqs, sizeof(*s->seq));
}

void cpu_step_release(struct cpu_step *s)
{
	void *all[] = {s->x,   s->norm,	  s->add,   s->qkv,	 s->out,  s->up,  s->act,
		       s->seq, s->logits, s->token, s->position, s->last, s->best};

	weights_release(&s->weights);
	cpu_ops_release(&s->ops);
	cpu_kv_release(&s->kv);
	cpu_attention_release(&s->attention);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]);
}

int cpu_step_check(const struct cpu_step *s, const struct cpu_kv *kv,
		   const struct backend_seq *seqs, size_t n, struct err *e)
{
	int64_t tok = 0, blocks = 0;

	if (n < 1 || n > (size_t)s->max_seqs)
		return err_set(e, "a step of %zu sequences: it must have from 1 to %" PRId64, n,
			       s->max_seqs);
	for (size_t i = 0; i < n; i++) {
		if (seqs[i].new_tok < 1 || seqs[i].prior_tok < 0)
			return err_set(e,
				       "a sequence of %" PRId64 " new tokens after %" PRId64
				       ": it must have at least 1 after at least 0",
				       seqs[i].new_tok, seqs[i].prior_tok);
		tok += seqs[i].new_tok;
		blocks += cpu_kv_blocks(kv, seqs[i].prior_tok + seqs[i].new_tok);
	}
	if (tok > s->max_tok)
		return err_set(e, "a step of %" PRId64 " tokens: there is room for %" PRId64, tok,
			       s->max_tok);
	if (blocks > kv->is.blocks)
		return err_set(e,
			       "the sequences of a step take %" PRId64 " KV blocks of %" PRId64
			       " tokens: the pool has %" PRId64,
			       blocks, kv->is.block_tok, kv->is.blocks);
	return 0;
}

static void take_tokens(struct cpu_step *s, const struct cpu_seq *q)
{
	for (int64_t i = 0; i < q->new_tok; i++) {
		uint64_t random = rng_mix(s->draws++);
		s->token[q->row + i] = (int64_t)(random % (uint64_t)s->weights.vocab);
		s->position[q->row + i] = q->prior_tok + i;
	}
}

int cpu_step_plan(struct cpu_step *s, const struct backend_seq *seqs, size_t n, struct err *e)
{
	const int64_t *block = s->kv.order;

	if (cpu_step_check(s, &s->kv, seqs, n, e) < 0)
		return -1;
	s->n_tok = s->n_sampled = 0;
	s->n_seqs = n;
	for (size_t i = 0; i < n; i++) {
		struct cpu_seq *q = &s->seq[i];
		*q = (struct cpu_seq){.row = s->n_tok,
				      .new_tok = seqs[i].new_tok,
				      .prior_tok = seqs[i].prior_tok,
				      .block = block,
				      .window = (int64_t)i};
		block += cpu_kv_blocks(&s->kv, q->prior_tok + q->new_tok);
		s->n_tok += q->new_tok;
		if (seqs[i].sampled)
			s->last[s->n_sampled++] = s->n_tok - 1;
		take_tokens(s, q);
	}
	cpu_attention_plan(&s->attention, s->seq, n);
	return 0;
}

static void gemm(const struct cpu_step *s, const float *x, const float *w, const float *bias,
		 float *y, int64_t n, int64_t k, bool add)
{
	const struct cpu_gemm g = {x, w, bias, y, s->n_tok, n, k, add};
	cpu_gemm(&s->ops, &g);
}

static void norm(const struct cpu_step *s, const float *add, const float *weight, const float *bias)
{
	const struct cpu_norm g = {.x = s->x,
				   .add = add,
				   .weight = weight,
				   .bias = bias,
				   .y = s->norm,
				   .m = s->n_tok,
				   .n = s->weights.hidden};
	cpu_norm(&s->ops, &g);
}

static void attention(struct cpu_step *s, const struct weights_layer *l, int64_t layer)
{
	const struct weights *w = &s->weights;
	int64_t width = weights_qkv_width(w), q = w->heads * w->head_dim;
	const struct cpu_rope rope = {s->qkv,	   s->n_tok,  width,	 w->heads,
				      w->kv_heads, l->q_norm, l->k_norm, s->position};
	const struct cpu_kv_rows rows = {.x = {s->qkv + q, s->qkv + q + w->kv_heads * w->head_dim},
					 .stride = width};

	gemm(s, s->norm, l->qkv, l->qkv_bias, s->qkv, width, w->hidden, false);
	cpu_rope(&s->ops, &rope);
	cpu_attention_run(&s->attention, &s->kv, layer, s->qkv, &rows, s->out);
	gemm(s, s->out, l->o, l->o_bias, s->add, w->hidden, q, false);
}

static void mlp(struct cpu_step *s, const struct weights_layer *l, bool add)
{
	const struct weights *w = &s->weights;

	gemm(s, s->norm, l->up, l->up_bias, s->up, weights_up_width(w), w->hidden, false);
	cpu_act(&s->ops, s->up, w->gated, s->n_tok, w->inter, s->act);
	gemm(s, s->act, l->down, l->down_bias, s->add, w->hidden, w->inter, add);
}

/* Only the last tokens of the sampled sequences: gathered one by one, each norm is a row. */
static void head(struct cpu_step *s)
{
	const struct weights *w = &s->weights;

	for (int64_t i = 0; i < s->n_sampled; i++) {
		int64_t row = s->last[i] * w->hidden;
		s->ops.kernels->norm(s->x + row, s->add + row, w->final_norm, w->final_norm_bias,
				     w->hidden, s->norm + i * w->hidden);
	}
	const struct cpu_gemm g = {.x = s->norm,
				   .w = w->head,
				   .bias = w->head_bias,
				   .y = s->logits,
				   .m = s->n_sampled,
				   .n = w->vocab,
				   .k = w->hidden};
	cpu_gemm(&s->ops, &g);
	cpu_argmax(&s->ops, s->logits, s->n_sampled, w->vocab, s->best);
}

void cpu_step_run(struct cpu_step *s)
{
	const struct weights *w = &s->weights;
	const struct cpu_embed embed = {.table = w->embed,
					.position = w->position,
					.token = s->token,
					.place = s->position,
					.m = s->n_tok,
					.n = w->hidden,
					.places = w->positions,
					.x = s->x};

	cpu_embed(&s->ops, &embed);
	for (int64_t i = 0; i < w->layers; i++) {
		const struct weights_layer *l = &w->layer[i];
		norm(s, i ? s->add : NULL, l->attention_norm, l->attention_norm_bias);
		attention(s, l, i);
		if (l->mlp_norm)
			norm(s, s->add, l->mlp_norm, l->mlp_norm_bias);
		mlp(s, l, !l->mlp_norm);
	}
	if (s->n_sampled)
		head(s);
}
