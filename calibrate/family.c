/* Which keys each family of models (model_type) has in its config.json, and what they mean. */

#include "calibrate/config.h"
#include <string.h>

/* What a family calls its sizes. */
struct size_keys {
	const char *layers, *hidden, *inter, *heads, *kv_heads, *context;
};

/* Which layers attend to sliding_window tokens only, where no layer_types says so. */
enum window_rule {
	WINDOW_ALL,  /* all, unless use_sliding_window is false */
	WINDOW_FLAG, /* those from max_window_layers on, if use_sliding_window is true */
	WINDOW_EVEN, /* the first, the third, ... */
};

struct family {
	const char *type;
	const struct size_keys *keys;
	bool gated;
	bool tied;	    /* where tie_word_embeddings is absent */
	bool kv_heads_vary; /* their number must be there: it has no default */
	bool packed;	    /* quantization_config may be mxfp4, of the experts */
	enum window_rule windows;
	int64_t window;	       /* where sliding_window is absent; 0: none */
	int64_t head_dim;      /* where head_dim is absent; 0: hidden / heads */
	int64_t inter_hiddens; /* where the width is absent, so many times hidden; 0: required */
	int64_t context;       /* where that is absent; 0: required */
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
	m->norms = 1;
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

static void read_gemma2(struct config *c, struct model *m)
{
	m->norms = 4;
	m->qkv_bias = m->o_bias = config_bool_or(c, "attention_bias", false);
}

static void read_gpt_oss(struct config *c, struct model *m)
{
	const char *active =
		config_has(c, "num_experts_per_tok") ? "num_experts_per_tok" : "experts_per_token";
	m->experts = config_int(c, "num_local_experts", MAX_EXPERTS);
	m->experts_active = config_int(c, active, MAX_EXPERTS);
	m->expert_inter = m->inter;
	m->qkv_bias = m->o_bias = config_bool_or(c, "attention_bias", true);
	m->mlp_bias = m->router_bias = m->sinks = true;
	check_active(c, m, "num_local_experts");
}

static void read_gpt2(struct config *c, struct model *m)
{
	(void)c;
	m->positions = m->context;
	m->qkv_bias = m->o_bias = m->mlp_bias = m->norm_bias = true;
}

/* One KV head for all (multi_query) in the first releases, num_kv_heads in those after. */
static void read_falcon(struct config *c, struct model *m)
{
	bool grouped = config_bool_or(c, "new_decoder_architecture", false);
	m->qkv_bias = m->o_bias = m->mlp_bias = config_bool_or(c, "bias", false);
	m->norm_bias = true;
	if (grouped) {
		m->kv_heads = config_int_or(c, "num_kv_heads", 1, MAX_HEADS, m->heads);
		m->norms = config_int_or(c, "num_ln_in_parallel_attn", 1, 2, 2);
	} else {
		m->kv_heads = config_bool_or(c, "multi_query", true) ? 1 : m->heads;
		m->norms = config_bool_or(c, "parallel_attn", true) ? 1 : 2;
	}
	if (!c->failed && m->heads % m->kv_heads)
		config_fail(c, "num_attention_heads, %lld, is no multiple of num_kv_heads, %lld",
			    (long long)m->heads, (long long)m->kv_heads);
}

static const struct size_keys usual = {
	.layers = "num_hidden_layers",
	.hidden = "hidden_size",
	.inter = "intermediate_size",
	.heads = "num_attention_heads",
	.kv_heads = "num_key_value_heads",
	.context = "max_position_embeddings",
};
static const struct size_keys opt_keys = {
	.layers = "num_hidden_layers",
	.hidden = "hidden_size",
	.inter = "ffn_dim",
	.heads = "num_attention_heads",
	.kv_heads = "num_key_value_heads",
	.context = "max_position_embeddings",
};
static const struct size_keys gpt2_keys = {
	.layers = "n_layer",
	.hidden = "n_embd",
	.inter = "n_inner",
	.heads = "n_head",
	.context = "n_positions",
};
static const struct size_keys falcon_keys = {
	.layers = "num_hidden_layers",
	.hidden = "hidden_size",
	.inter = "ffn_hidden_size",
	.heads = "num_attention_heads",
	.context = "max_position_embeddings",
};

/* clang-format off */
static const struct family families[] = {
	{.type = "llama", .keys = &usual, .gated = true, .read = read_biases},
	{.type = "mistral", .keys = &usual, .gated = true, .kv_heads_vary = true},
	{.type = "mixtral", .keys = &usual, .gated = true, .kv_heads_vary = true,
	 .read = read_mixtral},
	{.type = "qwen2", .keys = &usual, .gated = true, .kv_heads_vary = true,
	 .windows = WINDOW_FLAG, .read = read_qwen2},
	{.type = "qwen3", .keys = &usual, .gated = true, .kv_heads_vary = true,
	 .windows = WINDOW_FLAG, .head_dim = 128, .read = read_qwen3},
	{.type = "qwen3_moe", .keys = &usual, .gated = true, .kv_heads_vary = true,
	 .windows = WINDOW_FLAG, .read = read_qwen3_moe},
	{.type = "gemma2", .keys = &usual, .gated = true, .tied = true, .kv_heads_vary = true,
	 .windows = WINDOW_EVEN, .window = 4096, .head_dim = 256, .read = read_gemma2},
	{.type = "gpt_oss", .keys = &usual, .gated = true, .kv_heads_vary = true, .packed = true,
	 .windows = WINDOW_EVEN, .window = 128, .head_dim = 64, .read = read_gpt_oss},
	{.type = "opt", .keys = &opt_keys, .tied = true, .read = read_opt},
	{.type = "gpt2", .keys = &gpt2_keys, .tied = true, .inter_hiddens = 4, .read = read_gpt2},
	/* the head is in the files by itself, whatever the library's default says */
	{.type = "falcon", .keys = &falcon_keys, .inter_hiddens = 4, .context = 2048,
	 .read = read_falcon},
	{.type = "phi", .keys = &usual, .read = read_phi},
	{.type = "phi3", .keys = &usual, .gated = true},
	/* head_dim is set from the parts of MLA's heads */
	{.type = "deepseek_v2", .keys = &usual, .gated = true, .head_dim = 1,
	 .read = read_deepseek},
	{.type = "deepseek_v3", .keys = &usual, .gated = true, .head_dim = 1,
	 .read = read_deepseek_v3},
};
/* clang-format on */

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
	const struct size_keys *k = f->keys;
	m->heads = config_int(c, k->heads, MAX_HEADS);
	m->kv_heads = m->heads;
	if (k->kv_heads)
		m->kv_heads = f->kv_heads_vary
				      ? config_int(c, k->kv_heads, MAX_HEADS)
				      : config_int_or(c, k->kv_heads, 1, MAX_HEADS, m->heads);
	m->head_dim = config_int_or(c, "head_dim", 1, MAX_HEAD_DIM, f->head_dim);
	if (c->failed)
		return;
	if (m->heads % m->kv_heads)
		config_fail(c, "%s, %lld, is no multiple of %s, %lld", k->heads,
			    (long long)m->heads, k->kv_heads, (long long)m->kv_heads);
	if (m->head_dim)
		return;
	if (m->hidden % m->heads)
		config_fail(c, "%s, %lld, is no multiple of %s, %lld, and head_dim is missing",
			    k->hidden, (long long)m->hidden, k->heads, (long long)m->heads);
	m->head_dim = m->hidden / m->heads;
	if (m->head_dim > MAX_HEAD_DIM)
		config_fail(c, "%s / %s is %lld: it must be at most %d", k->hidden, k->heads,
			    (long long)m->head_dim, MAX_HEAD_DIM);
}

static bool is_mxfp4(const struct config *c)
{
	const json_t *q = c->failed ? NULL : json_object_get(c->root, "quantization_config");
	const char *method = json_string_value(json_object_get(q, "quant_method"));
	return method && strcmp(method, "mxfp4") == 0;
}

static void read_dtype(struct config *c, const struct family *f, struct model *m)
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
	if (f->packed && is_mxfp4(c))
		m->expert_bits = 4.25; /* 32 numbers of 4 bits with a scale of 8 */
	else if (config_has(c, "quantization_config"))
		config_fail(c,
			    "quantization_config is there: quantised weights are not supported; "
			    "without the key they count as %lld bytes each",
			    (long long)m->dtype_bytes);
}

/* How many layers have a window, by the family's rule. */
static int64_t windowed_by_rule(struct config *c, const struct family *f, const struct model *m)
{
	int64_t first = config_int_or(c, "max_window_layers", 0, MAX_CONTEXT, 0);
	bool on = config_bool_or(c, "use_sliding_window", f->windows != WINDOW_FLAG);
	if (!on)
		return 0;
	if (f->windows == WINDOW_EVEN)
		return (m->layers + 1) / 2;
	if (f->windows == WINDOW_FLAG)
		return first < m->layers ? m->layers - first : 0;
	return m->layers;
}

/* How many by the list. */
static int64_t windowed_by_type(struct config *c, const json_t *types, const struct model *m)
{
	int64_t n = 0;
	if ((int64_t)json_array_size(types) != m->layers)
		config_fail(c,
			    "layer_types has %zu entries: it must have one for each of the %lld "
			    "layers",
			    json_array_size(types), (long long)m->layers);
	for (size_t i = 0; i < json_array_size(types); i++) {
		const char *type = json_string_value(json_array_get(types, i));
		if (type && strcmp(type, "sliding_attention") == 0)
			n++;
		else if (!type || strcmp(type, "full_attention") != 0)
			config_fail(c,
				    "layer_types[%zu] is '%.40s': it must be full_attention or "
				    "sliding_attention",
				    i, type ? type : "no string");
	}
	return n;
}

/* A window as long as the context is none. */
static void read_windows(struct config *c, const struct family *f, struct model *m)
{
	const json_t *types = c->failed ? NULL : json_object_get(c->root, "layer_types");
	int64_t window = config_int_or(c, "sliding_window", 0, MAX_CONTEXT, f->window);
	if (c->failed)
		return;
	bool listed = types && !json_is_null(types);
	int64_t layers = listed ? windowed_by_type(c, types, m) : windowed_by_rule(c, f, m);
	if (listed && layers > 0 && window == 0)
		config_fail(c,
			    "sliding_window is missing: layer_types has sliding_attention in it");
	if (window == 0 || window >= m->context || layers == 0)
		return;
	m->window_layers = layers;
	m->window_tok = window;
}

void family_read(struct config *c, struct model *m)
{
	const struct family *f = find_family(c);
	if (!f)
		return;
	const struct size_keys *k = f->keys;
	m->gated = f->gated;
	m->layers = config_int(c, k->layers, MAX_LAYERS);
	m->hidden = config_int(c, k->hidden, MAX_HIDDEN);
	m->inter = f->inter_hiddens
			   ? config_int_or(c, k->inter, 1, MAX_INTER, f->inter_hiddens * m->hidden)
			   : config_int(c, k->inter, MAX_INTER);
	m->vocab = config_int(c, "vocab_size", MAX_VOCAB);
	m->context = f->context ? config_int_or(c, k->context, 1, MAX_CONTEXT, f->context)
				: config_int(c, k->context, MAX_CONTEXT);
	m->tied = config_bool_or(c, "tie_word_embeddings", f->tied);
	read_heads(c, f, m);
	read_dtype(c, f, m);
	read_windows(c, f, m);
	if (f->read && !c->failed)
		f->read(c, m);
}
