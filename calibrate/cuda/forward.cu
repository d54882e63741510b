/* The layers of a step. */

#include "forward.h"

void activations_place(activations &a, const share &s, int64_t max_tok, int64_t max_seqs, arena &at)
{
	a.ids = at.take<int32_t>(max_tok);
	a.tokens = at.take<int32_t>(max_seqs);
	for (bf16 **x : {&a.x, &a.add, &a.norm})
		*x = at.take<bf16>(max_tok * s.hidden);
	a.qkv = at.take<bf16>(max_tok * s.qkv_width());
	a.attended = at.take<bf16>(max_tok * s.heads * s.head_dim);
	a.up = at.take<bf16>(max_tok * s.up_width());
	a.act = at.take<bf16>(max_tok * s.inter);
	a.last = at.take<bf16>(max_seqs * s.hidden);
	a.logits = at.take<bf16>(max_seqs * s.vocab);
}

/* The products of a layer, and the last one: forward_prepare() looks up what forward_run() runs. */
static gemm_args qkv_product(const forward &f, const share_layer &l, int64_t rows)
{
	const share &s = *f.model;

	return {f.on.norm, l.qkv, l.qkv_bias, f.on.qkv, rows, s.qkv_width(), s.hidden, false};
}

static gemm_args o_product(const forward &f, const share_layer &l, int64_t rows)
{
	const share &s = *f.model;

	return {f.on.attended,	      l.o,  l.o_bias, f.on.add, rows, s.hidden,
		s.heads * s.head_dim, false};
}

static gemm_args up_product(const forward &f, const share_layer &l, int64_t rows)
{
	const share &s = *f.model;

	return {f.on.norm, l.up, l.up_bias, f.on.up, rows, s.up_width(), s.hidden, false};
}

/* Side by side with attention: both are added. */
static gemm_args down_product(const forward &f, const share_layer &l, int64_t rows)
{
	const share &s = *f.model;

	return {f.on.act, l.down, l.down_bias, f.on.add, rows, s.hidden, s.inter, !l.mlp_norm};
}

static gemm_args head_product(const forward &f, int64_t sampled)
{
	const share &s = *f.model;

	return {f.on.last, s.head, s.head_bias, f.on.logits, sampled, s.vocab, s.hidden, false};
}

int forward_prepare(const forward &f, const plan_counts &n, err *e)
{
	for (const share_layer &l : f.model->layer)
		for (auto product : {qkv_product, o_product, up_product, down_product})
			if (gemm_prepare(f.multiply, product(f, l, n.rows), e) < 0)
				return -1;
	return n.sampled > 0 ? gemm_prepare(f.multiply, head_product(f, n.sampled), e) : 0;
}

/* Norms of heads, in place: `count` of them from number `first` of each row of qkv on. */
static void norm_heads(const forward &f, bf16 *weight, int64_t first, int64_t count, int64_t rows)
{
	const share &s = *f.model;
	bf16 *x = f.on.qkv + first;
	norm_args p = {x,	nullptr,	 weight,     nullptr,	    x,
		       nullptr, (int)s.head_dim, (int)count, s.qkv_width(), s.qkv_width()};

	if (weight)
		launch_norm(p, rows * count, f.attend.main);
}

static int attention_part(const forward &f, size_t i, const plan_arrays &p, const plan_counts &n,
			  err *e)
{
	const share &s = *f.model;
	const share_layer &l = s.layer[i];
	int64_t q = s.heads * s.head_dim;

	if (gemm_run(f.multiply, qkv_product(f, l, n.rows), f.attend.main, e) < 0)
		return -1;
	norm_heads(f, l.q_norm, 0, s.heads, n.rows);
	norm_heads(f, l.k_norm, q, s.kv_heads, n.rows);
	attention_run(f.attend, f.cache[i], p, n);
	return gemm_run(f.multiply, o_product(f, l, n.rows), f.attend.main, e);
}

static int mlp_part(const forward &f, size_t i, int64_t rows, err *e)
{
	const share &s = *f.model;
	const share_layer &l = s.layer[i];

	if (gemm_run(f.multiply, up_product(f, l, rows), f.attend.main, e) < 0)
		return -1;
	launch_activate(f.on.up, f.on.act, s.gated, rows, (int)s.inter, f.attend.main);
	return gemm_run(f.multiply, down_product(f, l, rows), f.attend.main, e);
}

static void norm(const forward &f, bool add, const bf16 *weight, const bf16 *bias, bf16 *out,
		 const int32_t *chosen, int64_t rows)
{
	int64_t n = f.model->hidden;
	norm_args p = {f.on.x, add ? f.on.add : nullptr, weight, bias, out, chosen, (int)n, 1, n,
		       n};

	launch_norm(p, rows, f.attend.main);
}

int forward_run(const forward &f, const plan_arrays &p, const plan_counts &n, err *e)
{
	const share &s = *f.model;
	const activations &a = f.on;
	stream on = f.attend.main;

	launch_embed(s.embed, s.position, a.ids, p.position, a.x, n.rows, (int)s.hidden, on);
	for (size_t i = 0; i < s.layer.size(); i++) {
		const share_layer &l = s.layer[i];

		norm(f, i > 0, l.attention_norm, l.attention_norm_bias, a.norm, nullptr, n.rows);
		if (attention_part(f, i, p, n, e) < 0)
			return -1;
		if (l.mlp_norm)
			norm(f, true, l.mlp_norm, l.mlp_norm_bias, a.norm, nullptr, n.rows);
		if (mlp_part(f, i, n.rows, e) < 0)
			return -1;
	}
	if (n.sampled == 0)
		return 0;
	norm(f, true, s.final_norm, s.final_norm_bias, a.last, p.sampled, n.sampled);
	if (gemm_run(f.multiply, head_product(f, n.sampled), on, e) < 0)
		return -1;
	launch_argmax(a.logits, a.tokens, n.sampled, (int)s.vocab, on);
	return 0;
}
