/* Which keys each family of models (model_type) has in its config.json, and what they mean. */

#include "calibrate/config.h"
#include <string.h>

struct family {
	const char *type;
	const char *inter_key;
	bool gated;
	bool tied;	     /* where tie_word_embeddings is absent */
	bool kv_heads_vary;  /* num_key_value_heads must be there: it has no default */
	bool window_by_flag; /* sliding_window counts only with use_sliding_window: true */
	int64_t head_dim;    /* where head_dim is absent; 0: hidden / heads */
	void (*read)(struct config *c, struct model *m); /* the rest; may be NULL */
};

static void must_be(struct config *c, const char *key, bool want, bool init)
{
	if (config_bool_or(c, key, init) != want)
		config_fail(c, "%s is %s: only %s is supported", key, want ? "false" : "true",
			    want ? "true" : "false");
}

static void read_biases(struct config *c, struct model *m)
{
	m->qkv_bias = m->o_bias = config_bool_or(c, "attention_bias", false);
	m->mlp_bias = config_bool_or(c, "mlp_bias", false);
}

static void read_qwen2(struct config *c, struct model *m)
{
	(void)c;
	m->qkv_bias = true;
}

static void read_qwen3(struct config *c, struct model *m)
{
	m->qk_norm = true;
	m->qkv_bias = m->o_bias = config_bool_or(c, "attention_bias", false);
}

static void check_active(struct config *c, const struct model *m, const char *experts_key)
{
	if (m->experts_active > m->experts)
		config_fail(c, "num_experts_per_tok is %lld: it must be at most %s, %lld",
			    (long long)m->experts_active, experts_key, (long long)m->experts);
}

static void read_qwen3_moe(struct config *c, struct model *m)
{
	read_qwen3(c, m);
	m->experts = config_int(c, "num_experts", MAX_EXPERTS);
	m->experts_active = config_int(c, "num_experts_per_tok", MAX_EXPERTS);
	m->expert_inter = config_int(c, "moe_intermediate_size", MAX_INTER);
	check_active(c, m, "num_experts");
	if (config_int_or(c, "decoder_sparse_step", 0, MAX_LAYERS, 1) != 1)
		config_fail(c, "decoder_sparse_step is not 1: only experts in every layer are "
			       "supported");
	if (!c->failed && json_array_size(json_object_get(c->root, "mlp_only_layers")) > 0)
		config_fail(c, "mlp_only_layers is not empty: only experts in every layer are "
			       "supported");
}

static void read_mixtral(struct config *c, struct model *m)
{
	m->experts = config_int(c, "num_local_experts", MAX_EXPERTS);
	m->experts_active = config_int(c, "num_experts_per_tok", MAX_EXPERTS);
	m->expert_inter = m->inter;
	check_active(c, m, "num_local_experts");
}

/* The learned positions have two rows more than positions. */
static void read_opt(struct config *c, struct model *m)
{
	must_be(c, "do_layer_norm_before", true, true);
	if (config_int_or(c, "word_embed_proj_dim", 1, MAX_HIDDEN, m->hidden) != m->hidden)
		config_fail(c,
			    "word_embed_proj_dim is not hidden_size, %lld: projected "
			    "embeddings are not supported",
			    (long long)m->hidden);
	m->positions = m->context + 2;
	m->norm_bias = true;
	m->qkv_bias = m->o_bias = m->mlp_bias = config_bool_or(c, "enable_bias", true);
}

static void read_phi(struct config *c, struct model *m)
{
	must_be(c, "qk_layernorm", false, false);
	m->qkv_bias = m->o_bias = m->mlp_bias = m->head_bias = m->norm_bias = true;
	m->one_norm = true;
}

static void read_deepseek_experts(struct config *c, struct model *m)
{
	m->experts = config_int(c, "n_routed_experts", MAX_EXPERTS);
	m->experts_active = config_int(c, "num_experts_per_tok", MAX_EXPERTS);
	m->experts_shared = config_int_or(c, "n_shared_experts", 0, MAX_EXPERTS, 0);
	m->expert_inter = config_int(c, "moe_intermediate_size", MAX_INTER);
	m->dense_layers = config_int_or(c, "first_k_dense_replace", 0, m->layers, 0);
	check_active(c, m, "n_routed_experts");
	if (config_int_or(c, "moe_layer_freq", 0, MAX_LAYERS, 1) != 1)
		config_fail(c, "moe_layer_freq is not 1: only experts in every layer after the "
			       "dense ones are supported");
	const char *method = config_text(c, "topk_method");
	m->router_bias = method && strcmp(method, "noaux_tc") == 0;
}

static void read_deepseek(struct config *c, struct model *m)
{
	must_be(c, "attention_bias", false, false);
	m->attention = ATTENTION_MLA;
	m->q_lora = config_int_or(c, "q_lora_rank", 0, MAX_HIDDEN, 0);
	m->kv_lora = config_int(c, "kv_lora_rank", MAX_HIDDEN);
	m->rope_dim = config_int(c, "qk_rope_head_dim", MAX_HEAD_DIM);
	m->nope_dim = config_int(c, "qk_nope_head_dim", MAX_HEAD_DIM);
	m->v_dim = config_int(c, "v_head_dim", MAX_HEAD_DIM);
	m->head_dim = m->nope_dim + m->rope_dim;
	if (config_has(c, "n_routed_experts"))
		read_deepseek_experts(c, m);
}

/* Of V3 the method is the default. */
static void read_deepseek_v3(struct config *c, struct model *m)
{
	read_deepseek(c, m);
	if (m->experts && !config_has(c, "topk_method"))
		m->router_bias = true;
}

#define INTER .inter_key = "intermediate_size"
static const struct family families[] = {
	{.type = "llama", INTER, .gated = true, .read = read_biases},
	{.type = "mistral", INTER, .gated = true, .kv_heads_vary = true},
	{.type = "mixtral", INTER, .gated = true, .kv_heads_vary = true, .read = read_mixtral},
	{.type = "qwen2",
	 INTER,
	 .gated = true,
	 .kv_heads_vary = true,
	 .window_by_flag = true,
	 .read = read_qwen2},
	{.type = "qwen3",
	 INTER,
	 .gated = true,
	 .kv_heads_vary = true,
	 .window_by_flag = true,
	 .head_dim = 128,
	 .read = read_qwen3},
	{.type = "qwen3_moe",
	 INTER,
	 .gated = true,
	 .kv_heads_vary = true,
	 .window_by_flag = true,
	 .read = read_qwen3_moe},
	{.type = "opt", .inter_key = "ffn_dim", .tied = true, .read = read_opt},
	{.type = "phi", INTER, .read = read_phi},
	{.type = "phi3", INTER, .gated = true},
	/* head_dim is set from the parts of MLA's heads */
	{.type = "deepseek_v2", INTER, .gated = true, .head_dim = 1, .read = read_deepseek},
	{.type = "deepseek_v3", INTER, .gated = true, .head_dim = 1, .read = read_deepseek_v3},
};
#undef INTER

enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

static const struct family *find_family(struct config *c)
{
	const char *names[FAMILIES];
	const char *type = config_text(c, "model_type");
	for (size_t i = 0; i < FAMILIES; i++) {
		names[i] = families[i].type;
		if (type && strcmp(names[i], type) == 0)
			return &families[i];
	}
	struct err unknown;
	err_unknown(&unknown, "model_type", type ? type : "", names, FAMILIES);
	if (type)
		config_fail(c, "%s", unknown.text);
	else
		config_fail(c, "model_type is missing: it must be %s",
			    strstr(unknown.text, names[0]));
	return NULL;
}

static void read_heads(struct config *c, const struct family *f, struct model *m)
{
	m->heads = config_int(c, "num_attention_heads", MAX_HEADS);
	m->kv_heads = f->kv_heads_vary
			      ? config_int(c, "num_key_value_heads", MAX_HEADS)
			      : config_int_or(c, "num_key_value_heads", 1, MAX_HEADS, m->heads);
	m->head_dim = config_int_or(c, "head_dim", 1, MAX_HEAD_DIM, f->head_dim);
	if (c->failed)
		return;
	if (m->heads % m->kv_heads)
		config_fail(c,
			    "num_attention_heads, %lld, is no multiple of num_key_value_heads, "
			    "%lld",
			    (long long)m->heads, (long long)m->kv_heads);
	if (m->head_dim)
		return;
	if (m->hidden % m->heads)
		config_fail(c,
			    "hidden_size, %lld, is no multiple of num_attention_heads, %lld, "
			    "and head_dim is missing",
			    (long long)m->hidden, (long long)m->heads);
	m->head_dim = m->hidden / m->heads;
	if (m->head_dim > MAX_HEAD_DIM)
		config_fail(c, "hidden_size / num_attention_heads is %lld: it must be at most %d",
			    (long long)m->head_dim, MAX_HEAD_DIM);
}

static void read_dtype(struct config *c, struct model *m)
{
	static const struct {
		const char *name;
		int64_t bytes;
	} types[] = {{"bfloat16", 2}, {"float16", 2}, {"float32", 4}, {"auto", 2}};
	const char *key = config_has(c, "torch_dtype") ? "torch_dtype" : "dtype";
	const char *name = config_text(c, key);
	m->dtype_bytes = name ? 0 : 2;
	for (size_t i = 0; name && i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].name, name) == 0)
			m->dtype_bytes = types[i].bytes;
	if (!m->dtype_bytes)
		config_fail(c, "%s is '%.40s': it must be bfloat16, float16, float32 or auto", key,
			    name);
	if (config_has(c, "quantization_config"))
		config_fail(c,
			    "quantization_config is there: quantised weights are not supported; "
			    "without the key they count as %lld bytes each",
			    (long long)m->dtype_bytes);
}

/* Whether some layers attend to a window only: then KV bytes a token are no single figure. */
static void refuse_windows(struct config *c, const struct family *f, const struct model *m)
{
	int64_t window = config_int_or(c, "sliding_window", 0, MAX_CONTEXT, 0);
	int64_t first = config_int_or(c, "max_window_layers", 0, MAX_CONTEXT, 0);
	bool on = config_bool_or(c, "use_sliding_window", !f->window_by_flag);
	if (f->window_by_flag && first >= m->layers)
		on = false;
	if (on && window > 0 && window < m->context)
		config_fail(c,
			    "sliding_window is %lld, below max_position_embeddings, %lld: layers "
			    "with a window have no single KV figure a token and are not "
			    "supported; null counts them as full attention",
			    (long long)window, (long long)m->context);
}

static void refuse_layer_types(struct config *c, const struct model *m)
{
	int64_t window = config_int_or(c, "sliding_window", 0, MAX_CONTEXT, 0);
	const json_t *types = c->failed ? NULL : json_object_get(c->root, "layer_types");
	for (size_t i = 0; i < json_array_size(types); i++) {
		const char *type = json_string_value(json_array_get(types, i));
		if (type && strcmp(type, "full_attention") == 0)
			continue;
		if (type && strcmp(type, "sliding_attention") == 0 && window >= m->context)
			continue;
		config_fail(c,
			    "layer_types[%zu] is '%.40s': such layers have no single KV figure a "
			    "token; only full_attention is supported",
			    i, type ? type : "no string");
	}
}

void family_read(struct config *c, struct model *m)
{
	const struct family *f = find_family(c);
	if (!f)
		return;
	m->gated = f->gated;
	m->layers = config_int(c, "num_hidden_layers", MAX_LAYERS);
	m->hidden = config_int(c, "hidden_size", MAX_HIDDEN);
	m->inter = config_int(c, f->inter_key, MAX_INTER);
	m->vocab = config_int(c, "vocab_size", MAX_VOCAB);
	m->context = config_int(c, "max_position_embeddings", MAX_CONTEXT);
	m->tied = config_bool_or(c, "tie_word_embeddings", f->tied);
	read_heads(c, f, m);
	read_dtype(c, m);
	refuse_windows(c, f, m);
	refuse_layer_types(c, m);
	if (f->read && !c->failed)
		f->read(c, m);
}
