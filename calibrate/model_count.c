/* What a shape holds and caches, by arithmetic; tp = 1 counts the whole model. */

#include "calibrate/model.h"

static int64_t ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

int64_t model_local_kv_heads(const struct model *m, int64_t tp)
{
	return tp >= m->kv_heads ? 1 : m->kv_heads / tp;
}

static int64_t matrix(int64_t in, int64_t out, bool bias)
{
	return in * out + (bias ? out : 0);
}

static int64_t norm(const struct model *m, int64_t width)
{
	return m->norm_bias ? 2 * width : width;
}

static int64_t gqa_params(const struct model *m, int64_t tp)
{
	int64_t q = m->heads / tp * m->head_dim;
	int64_t kv = model_local_kv_heads(m, tp) * m->head_dim;
	int64_t n = matrix(m->hidden, q + 2 * kv, m->qkv_bias) + matrix(q, m->hidden, m->o_bias);
	return n + (m->qk_norm ? 2 * norm(m, m->head_dim) : 0) + (m->sinks ? m->heads / tp : 0);
}

/* The down-projections and their norms are on every device, what is made from them is split by
 * heads. */
static int64_t mla_params(const struct model *m, int64_t tp)
{
	int64_t heads = m->heads / tp, q = heads * (m->nope_dim + m->rope_dim);
	int64_t n = m->q_lora ? m->hidden * m->q_lora + norm(m, m->q_lora) + m->q_lora * q
			      : m->hidden * q;
	n += m->hidden * (m->kv_lora + m->rope_dim) + norm(m, m->kv_lora);
	n += m->kv_lora * heads * (m->nope_dim + m->v_dim);
	return n + heads * m->v_dim * m->hidden;
}

static int64_t mlp_params(const struct model *m, int64_t width)
{
	int64_t up = matrix(m->hidden, width, m->mlp_bias);
	return (m->gated ? 2 * up : up) + matrix(width, m->hidden, m->mlp_bias);
}

/* `experts` of the routed ones are counted: all, or those of one token. */
static int64_t moe_params(const struct model *m, int64_t tp, int64_t experts)
{
	int64_t router = m->hidden * m->experts + (m->router_bias ? m->experts : 0);
	int64_t n = router + experts * mlp_params(m, m->expert_inter / tp);
	if (m->experts_shared)
		n += mlp_params(m, m->experts_shared * m->expert_inter / tp);
	return n;
}

static int64_t layers_params(const struct model *m, int64_t tp, int64_t experts)
{
	int64_t attention = m->attention == ATTENTION_MLA ? mla_params(m, tp) : gqa_params(m, tp);
	int64_t every = attention + (m->norms ? m->norms : 2) * norm(m, m->hidden);
	int64_t dense = m->experts ? m->dense_layers : m->layers;
	int64_t n = m->layers * every + dense * mlp_params(m, m->inter / tp);
	if (m->layers > dense)
		n += (m->layers - dense) * moe_params(m, tp, experts);
	return n;
}

static int64_t embedding_params(const struct model *m, int64_t tp)
{
	return ceil_div(m->vocab, tp) * m->hidden;
}

/* Everything but what is only looked up: a separate embedding and learned positions. */
static int64_t streamed_params(const struct model *m, int64_t tp, int64_t experts)
{
	int64_t head_bias = m->head_bias ? ceil_div(m->vocab, tp) : 0;
	return layers_params(m, tp, experts) + norm(m, m->hidden) + embedding_params(m, tp) +
	       head_bias;
}

static int64_t all_params(const struct model *m, int64_t tp, int64_t experts)
{
	int64_t looked_up = m->positions * m->hidden + (m->tied ? 0 : embedding_params(m, tp));
	return streamed_params(m, tp, experts) + looked_up;
}

int64_t model_params(const struct model *m)
{
	return all_params(m, 1, m->experts);
}

int64_t model_active_params(const struct model *m)
{
	return all_params(m, 1, m->experts_active);
}

double model_linear_bits(const struct model *m)
{
	double own = (double)(8 * m->dtype_bytes);
	return m->weight_bits == 0 ? own : m->weight_bits == 4 ? 4.5 : (double)m->weight_bits;
}

double model_expert_bits(const struct model *m)
{
	double bits = model_linear_bits(m);
	return m->expert_bits > 0 && m->expert_bits < bits ? m->expert_bits : bits;
}

int64_t model_expert_layers(const struct model *m)
{
	return m->experts ? m->layers - m->dense_layers : 0;
}

/* Numbers in the matrices of the linear layers, without routed experts and routers. */
static int64_t linear_numbers(const struct model *m, int64_t tp)
{
	struct model bare = *m;
	bare.qkv_bias = bare.o_bias = bare.mlp_bias = bare.qk_norm = bare.sinks = false;
	int64_t every = gqa_params(&bare, tp);
	if (m->attention == ATTENTION_MLA)
		every = mla_params(m, tp) - norm(m, m->kv_lora) -
			(m->q_lora ? norm(m, m->q_lora) : 0);
	int64_t sparse = model_expert_layers(m), n = m->layers * every;
	n += (m->layers - sparse) * mlp_params(&bare, m->inter / tp);
	if (m->experts_shared)
		n += sparse * mlp_params(&bare, m->experts_shared * m->expert_inter / tp);
	return n;
}

/* What all matrices but the head take less than in the model's own type, `experts` of the routed
 * ones. */
static int64_t saved_bytes(const struct model *m, int64_t tp, int64_t experts)
{
	double own = (double)(8 * m->dtype_bytes), bits = 0;
	if (m->weight_bits > 0)
		bits += (double)linear_numbers(m, tp) * (own - model_linear_bits(m));
	if (model_expert_bits(m) < own) {
		int64_t matrices = (m->gated ? 3 : 2) * m->hidden * (m->expert_inter / tp);
		bits += (double)(model_expert_layers(m) * experts * matrices) *
			(own - model_expert_bits(m));
	}
	return (int64_t)(bits / 8);
}

int64_t model_weights_bytes(const struct model *m, int64_t tp)
{
	return all_params(m, tp, m->experts) * m->dtype_bytes - saved_bytes(m, tp, m->experts);
}

int64_t model_stage_weights_bytes(const struct model *m, int64_t tp, int64_t pp)
{
	if (pp == 1)
		return model_weights_bytes(m, tp);
	struct model stage = *m;
	int64_t experts = model_expert_layers(m);
	stage.layers = ceil_div(m->layers, pp);
	stage.dense_layers = stage.layers > experts ? stage.layers - experts : 0;
	int64_t first = m->positions * m->hidden + embedding_params(m, tp);
	int64_t last = streamed_params(m, tp, 0) - layers_params(m, tp, 0);
	int64_t ends = first > last ? first : last;
	return (layers_params(&stage, tp, m->experts) + ends) * m->dtype_bytes -
	       saved_bytes(&stage, tp, m->experts);
}

int64_t model_streamed_bytes(const struct model *m, int64_t tp)
{
	return streamed_params(m, tp, m->experts) * m->dtype_bytes - saved_bytes(m, tp, m->experts);
}

/* Layers with a window before this one. */
static int64_t window_before(const struct model *m, int64_t layer)
{
	return ceil_div(layer * m->window_layers, m->layers);
}

struct model_stage model_stage(const struct model *m, int64_t pp, int64_t i)
{
	int64_t more = m->layers % pp, first = i * (m->layers / pp) + (i < more ? i : more);
	int64_t layers = m->layers / pp + (i < more);
	int64_t dense = m->experts ? m->dense_layers - first : 0;
	return (struct model_stage){
		.first_layer = first,
		.layers = layers,
		.dense_layers = dense < 0	 ? 0
				: dense > layers ? layers
						 : dense,
		.window_layers = window_before(m, first + layers) - window_before(m, first),
	};
}

int64_t model_stage_streamed_bytes(const struct model *m, int64_t tp, int64_t pp, int64_t i)
{
	const struct model_stage s = model_stage(m, pp, i);
	struct model stage = *m;
	stage.layers = s.layers;
	stage.dense_layers = s.dense_layers;
	int64_t bytes = layers_params(&stage, tp, m->experts) * m->dtype_bytes -
			saved_bytes(&stage, tp, m->experts);
	int64_t head = streamed_params(m, tp, 0) - layers_params(m, tp, 0);
	return i == pp - 1 ? bytes + head * m->dtype_bytes : bytes;
}

int64_t model_streamed_token_bytes(const struct model *m, int64_t tp)
{
	return streamed_params(m, tp, m->experts_active) * m->dtype_bytes -
	       saved_bytes(m, tp, m->experts_active);
}

/* Bytes of a token in so many layers of one device. */
static int64_t kv_bytes(const struct model *m, int64_t layers, int64_t tp, int64_t kv_bits)
{
	int64_t elements = m->attention == ATTENTION_MLA
				   ? layers * (m->kv_lora + m->rope_dim)
				   : 2 * layers * model_local_kv_heads(m, tp) * m->head_dim;
	if (kv_bits == 16)
		return elements * m->dtype_bytes;
	int64_t scale_bits = kv_bits <= 4 ? ceil_div(elements, 32) * 32 : 0;
	return ceil_div(elements * kv_bits + scale_bits, 8);
}

void model_kv(const struct model *m, int64_t tp, int64_t pp, int64_t kv_bits, struct model_kv *kv)
{
	int64_t full = m->layers - m->window_layers, most_full = -1, most_window = 0;
	for (int64_t i = 0; i < pp; i++) {
		const struct model_stage s = model_stage(m, pp, i);
		int64_t f = s.layers - s.window_layers;
		if (f > most_full || (f == most_full && s.window_layers > most_window)) {
			most_full = f;
			most_window = s.window_layers;
		}
	}
	*kv = (struct model_kv){
		.full_bytes = kv_bytes(m, most_full, tp, kv_bits),
		.window_bytes = kv_bytes(m, most_window, tp, kv_bits),
		.window_only = full == 0,
	};
	kv->slot_bytes = kv->window_only ? kv->window_bytes : kv->full_bytes;
	kv->window_share = full > 0 ? ceil_div(m->window_layers, full) : 1;
}

static int64_t within_window(const struct model *m, int64_t tok)
{
	return tok < m->window_tok ? tok : m->window_tok;
}

int64_t model_kv_sequence_bytes(const struct model *m, const struct model_kv *kv, int64_t tok)
{
	return kv->full_bytes * tok + kv->window_bytes * within_window(m, tok);
}

int64_t model_kv_sequence_blocks(const struct model *m, const struct model_kv *kv,
				 int64_t block_tok, int64_t tok)
{
	int64_t window = ceil_div(within_window(m, tok), block_tok);
	return (kv->window_only ? 0 : ceil_div(tok, block_tok)) + kv->window_share * window;
}

int model_check_tp(const struct model *m, int64_t tp, struct err *e)
{
	if (tp < 1)
		return err_set(e, "tp is %lld: it must be at least 1", (long long)tp);
	const struct {
		const char *what;
		int64_t n;
	} split[] = {
		{"attention heads", m->heads},
		{"MLP width", m->experts && !m->dense_layers ? 0 : m->inter},
		{"expert width", m->experts ? m->expert_inter : 0},
	};
	for (size_t i = 0; i < sizeof(split) / sizeof(split[0]); i++)
		if (split[i].n % tp)
			return err_set(e, "tp %lld does not divide the %s of %s, %lld",
				       (long long)tp, split[i].what, m->name,
				       (long long)split[i].n);
	if (m->attention == ATTENTION_GQA && m->kv_heads % tp && tp % m->kv_heads)
		return err_set(e,
			       "tp %lld neither divides the KV heads of %s, %lld, nor is a "
			       "multiple of them",
			       (long long)tp, m->name, (long long)m->kv_heads);
	return 0;
}

int model_check_pp(const struct model *m, int64_t pp, struct err *e)
{
	if (pp >= 1 && pp <= m->layers)
		return 0;
	return err_set(e, "pp is %lld: %s has %lld layers, it can have from 1 to as many stages",
		       (long long)pp, m->name, (long long)m->layers);
}

int model_check_kv_bits(int64_t kv_bits, struct err *e)
{
	if (kv_bits == 16 || kv_bits == 8 || kv_bits == 4 || kv_bits == 2)
		return 0;
	return err_set(e, "KV bits are %lld: they must be 16, 8, 4 or 2", (long long)kv_bits);
}

int model_check_weight_bits(int64_t weight_bits, struct err *e)
{
	if (weight_bits == 16 || weight_bits == 8 || weight_bits == 4)
		return 0;
	return err_set(e, "weight bits are %lld: they must be 16, 8 or 4", (long long)weight_bits);
}
