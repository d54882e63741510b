/* Places of weights, and what comes there. */

#include "launches.h"
#include "share.h"
#include <cinttypes>
#include <cmath>
#include <functional>

/* One array of a share: where, how many, and the even spread of its numbers about a center. */
struct weight_array {
	bf16 **at;
	float *from; /* of struct weights, where there is one */
	int64_t n;
	float center, spread;
};

typedef std::function<void(const weight_array &)> visitor;

static void visit_if(bool has, const visitor &f, const weight_array &a)
{
	if (has)
		f(a);
	else
		*a.at = nullptr;
}

static float matrix_spread(int64_t in)
{
	return sqrtf(3.0F / (float)in);
}

static void visit_layer(const share &s, const model *m, share_layer &l, const weights_layer &w,
			const visitor &f)
{
	int64_t q = s.heads * s.head_dim, qkv = s.qkv_width(), up = s.up_width();
	bool two = m->norms != 1;

	f({&l.attention_norm, w.attention_norm, s.hidden, 1, 0.1F});
	visit_if(s.layer_norm, f,
		 {&l.attention_norm_bias, w.attention_norm_bias, s.hidden, 0, 0.1F});
	f({&l.qkv, w.qkv, qkv * s.hidden, 0, matrix_spread(s.hidden)});
	visit_if(m->qkv_bias, f, {&l.qkv_bias, w.qkv_bias, qkv, 0, 0.1F});
	visit_if(m->qk_norm, f, {&l.q_norm, w.q_norm, s.head_dim, 1, 0.1F});
	visit_if(m->qk_norm, f, {&l.k_norm, w.k_norm, s.head_dim, 1, 0.1F});
	f({&l.o, w.o, s.hidden * q, 0, matrix_spread(q)});
	visit_if(m->o_bias, f, {&l.o_bias, w.o_bias, s.hidden, 0, 0.1F});
	visit_if(two, f, {&l.mlp_norm, w.mlp_norm, s.hidden, 1, 0.1F});
	visit_if(two && s.layer_norm, f, {&l.mlp_norm_bias, w.mlp_norm_bias, s.hidden, 0, 0.1F});
	f({&l.up, w.up, up * s.hidden, 0, matrix_spread(s.hidden)});
	visit_if(m->mlp_bias, f, {&l.up_bias, w.up_bias, up, 0, 0.1F});
	f({&l.down, w.down, s.hidden * s.inter, 0, matrix_spread(s.inter)});
	visit_if(m->mlp_bias, f, {&l.down_bias, w.down_bias, s.hidden, 0, 0.1F});
}

static void visit_all(share &s, const model *m, const weights *w, const visitor &f)
{
	const weights none = {};
	const weights_layer no_layer = {};
	const weights &from = w ? *w : none;

	/* a tied embedding is the head, whose rows may be a few more */
	f({&s.embed, from.embed, s.vocab * s.hidden, 0, sqrtf(3)});
	visit_if(s.positions > 0, f, {&s.position, from.position, s.positions * s.hidden, 0, 0.5F});
	for (size_t i = 0; i < s.layer.size(); i++)
		visit_layer(s, m, s.layer[i], w ? w->layer[i] : no_layer, f);
	f({&s.final_norm, from.final_norm, s.hidden, 1, 0.1F});
	visit_if(s.layer_norm, f, {&s.final_norm_bias, from.final_norm_bias, s.hidden, 0, 0.1F});
	if (m->tied)
		s.head = s.embed;
	else
		f({&s.head, from.head, s.vocab * s.hidden, 0, matrix_spread(s.hidden)});
	visit_if(m->head_bias, f, {&s.head_bias, from.head_bias, s.vocab, 0, 0.1F});
}

int share_check(const model *m, int64_t tp, int kv_bits, err *e)
{
	if (weights_check(m, tp, e) < 0)
		return -1;
	if (!launch_has(m->head_dim, kv_bits))
		return err_set(e,
			       "%s has heads of %" PRId64 " numbers: with %d KV bits there are "
			       "kernels for %s",
			       m->name, m->head_dim, kv_bits, kv_bits < 8 ? "128" : "64 and 128");
	if (m->hidden % 8 || m->inter / tp % 8)
		return err_set(e,
			       "%s has layers of %" PRId64 " and %" PRId64 " numbers on a device: "
			       "kernels take multiples of 8",
			       m->name, m->hidden, m->inter / tp);
	return 0;
}

void share_place(share &s, const model *m, int64_t tp, arena &a)
{
	s = share();
	s.layers = m->layers;
	s.hidden = m->hidden;
	s.heads = m->heads / tp;
	s.kv_heads = model_local_kv_heads(m, tp);
	s.head_dim = m->head_dim;
	s.inter = m->inter / tp;
	s.vocab = ((m->vocab + tp - 1) / tp + 7) / 8 * 8;
	s.positions = m->positions;
	s.context = m->context;
	s.gated = m->gated;
	s.layer_norm = m->norm_bias;
	s.layer.resize((size_t)m->layers);
	visit_all(s, m, nullptr, [&](const weight_array &w) { *w.at = a.take<bf16>(w.n); });
}

void share_fill(share &s, const model *m, uint64_t seed, stream on)
{
	visit_all(s, m, nullptr, [&](const weight_array &w) {
		launch_fill(*w.at, w.n, seed++, w.spread / sqrtf(3), w.center, on);
	});
}

static float rounded(float x)
{
	uint32_t bits = (uint32_t)to_bf16(x).bits << 16;
	float y;

	memcpy(&y, &bits, sizeof(y));
	return y;
}

void share_copy(share &s, const model *m, weights &w)
{
	visit_all(s, m, &w, [&](const weight_array &a) {
		bool rows = a.at == &s.embed || a.at == &s.head;
		int64_t n = rows ? w.vocab * w.hidden : a.at == &s.head_bias ? w.vocab : a.n;
		std::vector<bf16> to((size_t)a.n, bf16{0});

		for (int64_t i = 0; i < n; i++) {
			a.from[i] = rounded(a.from[i]);
			to[(size_t)i] = to_bf16(a.from[i]);
		}
		memory_write(*a.at, to.data(), to.size() * sizeof(bf16));
	});
}
