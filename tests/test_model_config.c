/* config.json files: each family gives the built-in shape, each mistake one sentence. */

#include "calibrate/model.h"
#include "tests/kv_token.h"
#include "tests/testing.h"
#include <string.h>

/* The keys of the published files that matter, and some that do not. */
#define LLAMA                                                                                      \
	"\"model_type\": \"llama\", \"hidden_size\": 4096, \"intermediate_size\": 14336,"          \
	"\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"num_hidden_layers\": 32,"      \
	"\"vocab_size\": 128256, \"max_position_embeddings\": 8192"
#define QWEN3                                                                                      \
	"\"hidden_size\": 2560, \"intermediate_size\": 9728, \"num_attention_heads\": 32,"         \
	"\"num_key_value_heads\": 8, \"num_hidden_layers\": 36, \"vocab_size\": 151936,"           \
	"\"max_position_embeddings\": 40960, \"tie_word_embeddings\": true"
#define MOE                                                                                        \
	"\"model_type\": \"qwen3_moe\", \"hidden_size\": 2048, \"intermediate_size\": 6144,"       \
	"\"num_attention_heads\": 32, \"num_key_value_heads\": 4, \"num_hidden_layers\": 48,"      \
	"\"vocab_size\": 151936, \"max_position_embeddings\": 40960, \"head_dim\": 128,"           \
	"\"num_experts\": 128, \"moe_intermediate_size\": 768"
#define MISTRAL                                                                                    \
	"\"model_type\": \"mistral\", \"hidden_size\": 4096, \"intermediate_size\": 14336,"        \
	"\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"num_hidden_layers\": 32,"      \
	"\"vocab_size\": 32000, \"max_position_embeddings\": 32768"
#define QWEN2                                                                                      \
	"\"model_type\": \"qwen2\", \"hidden_size\": 3584, \"intermediate_size\": 18944,"          \
	"\"num_attention_heads\": 28, \"num_key_value_heads\": 4, \"num_hidden_layers\": 28,"      \
	"\"vocab_size\": 152064, \"max_position_embeddings\": 32768"
#define OPT                                                                                        \
	"\"model_type\": \"opt\", \"hidden_size\": 5120, \"ffn_dim\": 20480,"                      \
	"\"num_attention_heads\": 40, \"num_hidden_layers\": 40, \"vocab_size\": 50272,"           \
	"\"max_position_embeddings\": 2048"
#define MIXTRAL                                                                                    \
	"\"model_type\": \"mixtral\", \"hidden_size\": 4096, \"intermediate_size\": 14336,"        \
	"\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"num_hidden_layers\": 32,"      \
	"\"vocab_size\": 32000, \"max_position_embeddings\": 32768, \"num_local_experts\": 8,"     \
	"\"num_experts_per_tok\": 2, \"sliding_window\": null"

static struct model read_config(const char *text)
{
	struct model m;
	struct err e;
	assert_fine(model_load(&m, testing_file("config.json", text), &e), e);
	return m;
}

static void same_shape(const char *text, const char *name)
{
	struct model got = read_config(text), want;
	struct err e;
	print_message("%s\n", name);
	assert_fine(model_load(&want, name, &e), e);
	assert_i64(model_params(&got), model_params(&want));
	assert_i64(model_active_params(&got), model_active_params(&want));
	assert_i64(model_streamed_bytes(&got, 1), model_streamed_bytes(&want, 1));
	assert_i64(kv_token_bytes(&got, 1, 16), kv_token_bytes(&want, 1, 16));
	assert_i64(model_weights_bytes(&got, 2), model_weights_bytes(&want, 2));
	assert_i64(got.context, want.context);
	assert_i64(got.head_dim, want.head_dim);
	assert_i64(got.attention, want.attention);
	assert_i64(got.window_layers, want.window_layers);
	assert_i64(got.window_tok, want.window_tok);
}

static void test_families_give_the_built_in_shapes(void **state)
{
	(void)state;
	same_shape("{" LLAMA ", \"attention_bias\": false, \"torch_dtype\": \"bfloat16\","
		   "\"rope_theta\": 5e5, \"eos_token_id\": [1, 2], \"tie_word_embeddings\": false}",
		   "llama-3-8b");
	same_shape("{" MISTRAL ", \"sliding_window\": null, \"dtype\": \"bfloat16\"}",
		   "mistral-7b");
	same_shape("{" QWEN2 ", \"sliding_window\": 131072, \"use_sliding_window\": false,"
		   "\"max_window_layers\": 28}",
		   "qwen2.5-7b");
	same_shape("{\"model_type\": \"qwen3\", \"head_dim\": 128," QWEN3 "}", "qwen3-4b");
	same_shape("{\"model_type\": \"qwen3\"," QWEN3 "}", "qwen3-4b"); /* 128 where absent */
	same_shape("{" MOE ", \"num_experts_per_tok\": 8, \"decoder_sparse_step\": 1,"
		   "\"mlp_only_layers\": [], \"norm_topk_prob\": true}",
		   "qwen3-30b-a3b");
	same_shape("{" OPT ", \"word_embed_proj_dim\": 5120, \"do_layer_norm_before\": true,"
		   "\"torch_dtype\": \"float16\"}",
		   "opt-13b");
}

static void test_phi_and_deepseek_give_the_built_in_shapes(void **state)
{
	(void)state;
	same_shape("{\"model_type\": \"phi\", \"hidden_size\": 2560, \"intermediate_size\": 10240,"
		   "\"num_attention_heads\": 32, \"num_key_value_heads\": null,"
		   "\"num_hidden_layers\": 32, \"vocab_size\": 51200, \"qk_layernorm\": false,"
		   "\"max_position_embeddings\": 2048, \"torch_dtype\": \"float16\"}",
		   "phi-2");
	same_shape("{\"model_type\": \"phi3\", \"hidden_size\": 5120, \"intermediate_size\": 17920,"
		   "\"num_attention_heads\": 40, \"num_key_value_heads\": 10,"
		   "\"num_hidden_layers\": 40, \"vocab_size\": 100352, \"sliding_window\": null,"
		   "\"max_position_embeddings\": 16384}",
		   "phi-4");
	same_shape("{\"model_type\": \"deepseek_v2\", \"hidden_size\": 2048,"
		   "\"intermediate_size\": 10944, \"num_attention_heads\": 16,"
		   "\"num_key_value_heads\": 16, \"num_hidden_layers\": 27, \"vocab_size\": 102400,"
		   "\"max_position_embeddings\": 163840, \"q_lora_rank\": null,"
		   "\"kv_lora_rank\": 512, \"qk_rope_head_dim\": 64, \"qk_nope_head_dim\": 128,"
		   "\"v_head_dim\": 128, \"n_routed_experts\": 64, \"num_experts_per_tok\": 6,"
		   "\"n_shared_experts\": 2, \"moe_intermediate_size\": 1408,"
		   "\"first_k_dense_replace\": 1, \"topk_method\": \"greedy\"}",
		   "deepseek-v2-lite");
	same_shape(
		"{\"model_type\": \"deepseek_v3\", \"hidden_size\": 7168,"
		"\"intermediate_size\": 18432, \"num_attention_heads\": 128,"
		"\"num_key_value_heads\": 128, \"num_hidden_layers\": 61, \"vocab_size\": 129280,"
		"\"max_position_embeddings\": 163840, \"q_lora_rank\": 1536,"
		"\"kv_lora_rank\": 512, \"qk_rope_head_dim\": 64, \"qk_nope_head_dim\": 128,"
		"\"v_head_dim\": 128, \"n_routed_experts\": 256, \"num_experts_per_tok\": 8,"
		"\"n_shared_experts\": 1, \"moe_intermediate_size\": 2048,"
		"\"first_k_dense_replace\": 3, \"num_nextn_predict_layers\": 1}",
		"deepseek-v3");
}

#define GEMMA2                                                                                     \
	"\"model_type\": \"gemma2\", \"hidden_size\": 3584, \"intermediate_size\": 14336,"         \
	"\"num_attention_heads\": 16, \"num_key_value_heads\": 8, \"num_hidden_layers\": 42,"      \
	"\"vocab_size\": 256000, \"max_position_embeddings\": 8192, \"attn_logit_softcapping\": "  \
	"50.0"
#define GPT_OSS                                                                                    \
	"\"model_type\": \"gpt_oss\", \"hidden_size\": 2880, \"intermediate_size\": 2880,"         \
	"\"num_attention_heads\": 64, \"num_key_value_heads\": 8, \"head_dim\": 64,"               \
	"\"vocab_size\": 201088, \"max_position_embeddings\": 131072, \"attention_bias\": true,"   \
	"\"quantization_config\": {\"quant_method\": \"mxfp4\"}"
#define FALCON "\"model_type\": \"falcon\", \"vocab_size\": 65024, \"bias\": false,"

static void test_families_with_windows(void **state)
{
	(void)state;
	same_shape("{" GEMMA2 ", \"head_dim\": 256, \"sliding_window\": 4096}", "gemma-2-9b");
	same_shape("{" GEMMA2 "}", "gemma-2-9b"); /* what the library assumes */
	same_shape("{" GPT_OSS ", \"num_hidden_layers\": 24, \"num_local_experts\": 32,"
		   "\"experts_per_token\": 4, \"num_experts_per_tok\": 4, \"sliding_window\": 128}",
		   "gpt-oss-20b");
	same_shape("{" GPT_OSS ", \"num_hidden_layers\": 36, \"num_local_experts\": 128,"
		   "\"experts_per_token\": 4}",
		   "gpt-oss-120b");
	same_shape("{" MISTRAL ", \"sliding_window\": 4096}", "mistral-7b-v0.1");
	same_shape("{" MIXTRAL ", \"num_experts_per_token\": 3}", "mixtral-8x7b");
	/* without the packing, 16 bits each */
	struct model m =
		read_config("{\"model_type\": \"gpt_oss\", \"hidden_size\": 2880,"
			    "\"intermediate_size\": 2880, \"num_attention_heads\": 64,"
			    "\"num_key_value_heads\": 8, \"vocab_size\": 201088,"
			    "\"max_position_embeddings\": 131072, \"num_hidden_layers\": 24,"
			    "\"num_local_experts\": 32, \"num_experts_per_tok\": 4}");
	assert_i64(model_weights_bytes(&m, 1), 2 * 20914757184);
}

/* Falcon-7B, published: 7,217,189,760 numbers in its files; one KV head for 71. GPT-2: 124,439,808.
 */
static void test_falcon_and_gpt2(void **state)
{
	(void)state;
	same_shape("{" FALCON "\"hidden_size\": 14848, \"num_hidden_layers\": 80,"
		   "\"num_attention_heads\": 232, \"num_kv_heads\": 8, \"multi_query\": true,"
		   "\"new_decoder_architecture\": true, \"parallel_attn\": true}",
		   "falcon-180b");
	struct model m = read_config("{" FALCON "\"hidden_size\": 4544, \"num_hidden_layers\": 32,"
				     "\"num_attention_heads\": 71, \"num_kv_heads\": 71,"
				     "\"multi_query\": true, \"parallel_attn\": true,"
				     "\"new_decoder_architecture\": false}");
	assert_i64(model_params(&m), 7217189760);
	assert_i64(kv_token_bytes(&m, 1, 16), 2 * 32 * 64 * 2);
	m = read_config("{\"model_type\": \"gpt2\", \"n_layer\": 12, \"n_embd\": 768,"
			"\"n_head\": 12, \"n_positions\": 1024, \"n_inner\": null,"
			"\"vocab_size\": 50257}");
	assert_i64(model_params(&m), 124439808);
	same_shape("{\"model_type\": \"gpt2\", \"n_layer\": 96, \"n_embd\": 12288,"
		   "\"n_head\": 96, \"n_positions\": 2048, \"n_inner\": 49152,"
		   "\"vocab_size\": 50257, \"torch_dtype\": \"float16\"}",
		   "gpt-3-175b");
}

/* Published: 46.7B parameters of which 12.9B are used (mistral.ai, Mixtral of experts). */
static void test_mixtral(void **state)
{
	(void)state;
	struct model m = read_config("{" MIXTRAL "}");
	assert_i64(model_params(&m), 46702792704);
	assert_near(model_active_params(&m) / 1e9, 12.9, 0.05);
	assert_i64(kv_token_bytes(&m, 1, 16), 131072);
}

/* Llama with biases: q, k and v of 4096 + 2 x 1024, o of 4096; two of 14336 and one of 4096. */
static void test_biases_and_types(void **state)
{
	(void)state;
	struct model m = read_config("{" LLAMA ", \"attention_bias\": true, \"mlp_bias\": true}");
	assert_i64(model_params(&m), 8030261248 + 32LL * (6144 + 4096 + 2 * 14336 + 4096));
	struct model wide = read_config("{" LLAMA ", \"torch_dtype\": \"float32\"}");
	assert_i64(model_weights_bytes(&wide, 1), 4 * 8030261248);
	assert_i64(kv_token_bytes(&wide, 1, 16), 2 * 131072);
	assert_i64(kv_token_bytes(&wide, 1, 8), 65536);
}

static void test_names_come_from_the_path(void **state)
{
	(void)state;
	struct model m;
	struct err e;
	const char *path = testing_file("my-model.json", "{" LLAMA "}");
	assert_fine(model_load(&m, path, &e), e);
	assert_string_equal(m.name, "my-model");
	testing_file("config.json", "{" LLAMA "}");
	char folder[512];
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	assert_fine(model_load(&m, folder, &e), e);
	assert_string_equal(m.name, strrchr(folder, '/') + 1);
}

#define LAYERS_4                                                                                   \
	"\"model_type\": \"llama\", \"hidden_size\": 64, \"intermediate_size\": 64,"               \
	"\"num_attention_heads\": 4, \"num_hidden_layers\": 4, \"vocab_size\": 64,"                \
	"\"max_position_embeddings\": 8192"

static void windows_of(const char *text, int64_t layers, int64_t tok)
{
	struct model m = read_config(text);
	assert_i64(m.window_layers, layers);
	assert_i64(m.window_tok, tok);
}

/* Which layers have a window, by the list or by the family's rule; one that is off or as long as
 * the context is none. */
static void test_windows(void **state)
{
	(void)state;
	windows_of("{" MISTRAL ", \"sliding_window\": 4096}", 32, 4096);
	windows_of("{" MISTRAL ", \"sliding_window\": 32768}", 0, 0);
	windows_of("{" MISTRAL ", \"sliding_window\": null}", 0, 0);
	windows_of("{" QWEN2 ", \"sliding_window\": 4096, \"use_sliding_window\": true,"
		   "\"max_window_layers\": 20}",
		   8, 4096);
	windows_of("{" QWEN2 ", \"sliding_window\": 4096, \"max_window_layers\": 20}", 0, 0);
	windows_of("{" QWEN2 ", \"sliding_window\": 4096, \"use_sliding_window\": true,"
		   "\"max_window_layers\": 28}",
		   0, 0);
	windows_of("{" LAYERS_4 ", \"sliding_window\": 512, \"layer_types\": [\"full_attention\","
		   "\"sliding_attention\", \"sliding_attention\", \"sliding_attention\"]}",
		   3, 512);
	windows_of("{" LAYERS_4 ", \"layer_types\": [\"full_attention\", \"full_attention\","
		   "\"full_attention\", \"full_attention\"]}",
		   0, 0);
}

/* One wrong key each; the sentence holds the file and what is given here. */
static const char *const mistakes[][2] = {
	{"", "not valid JSON"},
	{"{\"model_type\": ", "not valid JSON"},
	{"[]", "an array: it must be an object"},
	{"{" LLAMA ", \"vocab_size\": 1}", "not valid JSON"}, /* the same key twice */
	{"{}", "model_type is missing: it must be llama, "},
	{"{\"model_type\": 5}", "model_type is an integer"},
	{"{\"model_type\": \"mamba\"}", "unknown model_type 'mamba'"},
	{"{\"model_type\": \"qwen3_5\"}", "nearest is 'qwen3'"},
	{"{\"model_type\": \"llama\"}", "num_hidden_layers is missing"},
	{"{\"model_type\": \"llama\", \"num_hidden_layers\": 0}", "num_hidden_layers is 0"},
	{"{\"model_type\": \"llama\", \"num_hidden_layers\": \"32\"}", "is a string"},
	{"{\"model_type\": \"llama\", \"num_hidden_layers\": 32.0}", "is a real number"},
	{"{\"model_type\": \"llama\", \"num_hidden_layers\": -3}", "is -3"},
	{"{\"model_type\": \"llama\", \"num_hidden_layers\": 100000}", "from 1 to 500"},
	{"{" LLAMA ", \"head_dim\": 0}", "head_dim is 0"},
	{"{" LLAMA ", \"head_dim\": 99999999999}", "head_dim is 99999999999"},
	{"{" LLAMA ", \"attention_bias\": 0}", "attention_bias is an integer"},
	{"{" LLAMA ", \"torch_dtype\": \"int4\"}", "torch_dtype is 'int4'"},
	{"{" LLAMA ", \"torch_dtype\": 16}", "torch_dtype is an integer"},
	{"{" LLAMA ", \"quantization_config\": {\"quant_method\": \"fp8\"}}",
	 "quantization_config"},
	{"{" LAYERS_4 ", \"layer_types\": [\"full_attention\"]}",
	 "layer_types has 1 entries: it must have one for each of the 4 layers"},
	{"{" LAYERS_4
	 ", \"layer_types\": [\"full_attention\", \"linear_attention\", \"a\", \"b\"]}",
	 "layer_types[1] is 'linear_attention'"},
	{"{" LAYERS_4 ", \"layer_types\": [7, 7, 7, 7]}", "layer_types[0] is 'no string'"},
	{"{" LAYERS_4 ", \"layer_types\": [\"sliding_attention\", \"full_attention\","
	 "\"full_attention\", \"full_attention\"]}",
	 "sliding_window is missing"},
	{"{" GPT_OSS ", \"num_hidden_layers\": 24, \"num_local_experts\": 32}",
	 "experts_per_token is missing"},
	{"{" GEMMA2 ", \"quantization_config\": {\"quant_method\": \"mxfp4\"}}",
	 "quantization_config"},
	{"{" FALCON "\"hidden_size\": 64, \"num_hidden_layers\": 8, \"num_attention_heads\": 8,"
	 "\"num_kv_heads\": 3, \"new_decoder_architecture\": true}",
	 "no multiple of num_kv_heads, 3"},
	{"{\"model_type\": \"gpt2\", \"n_layer\": 12}", "n_embd is missing"},
	{"{" MOE "}", "num_experts_per_tok is missing"},
	{"{" MOE ", \"num_experts_per_tok\": 200}", "at most num_experts, 128"},
	{"{" MOE ", \"num_experts_per_tok\": 8, \"decoder_sparse_step\": 2}",
	 "decoder_sparse_step"},
	{"{" MOE ", \"num_experts_per_tok\": 8, \"mlp_only_layers\": [0]}", "mlp_only_layers"},
	{"{" OPT ", \"word_embed_proj_dim\": 512}", "word_embed_proj_dim"},
	{"{" OPT ", \"do_layer_norm_before\": false}", "do_layer_norm_before is false"},
	{"{\"model_type\": \"llama\", \"hidden_size\": 4096, \"intermediate_size\": 14336,"
	 "\"num_attention_heads\": 32, \"num_key_value_heads\": 5, \"num_hidden_layers\": 32,"
	 "\"vocab_size\": 128256, \"max_position_embeddings\": 8192}",
	 "no multiple of num_key_value_heads, 5"},
	{"{\"model_type\": \"llama\", \"hidden_size\": 4097, \"intermediate_size\": 14336,"
	 "\"num_attention_heads\": 32, \"num_hidden_layers\": 32,"
	 "\"vocab_size\": 128256, \"max_position_embeddings\": 8192}",
	 "hidden_size, 4097, is no multiple of num_attention_heads, 32"},
	{"{\"model_type\": \"mistral\", \"hidden_size\": 4096, \"intermediate_size\": 14336,"
	 "\"num_attention_heads\": 32, \"num_hidden_layers\": 32,"
	 "\"vocab_size\": 32000, \"max_position_embeddings\": 8192}",
	 "num_key_value_heads is missing"},
};

static void test_each_mistake_is_one_sentence(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		struct model m = {.layers = 77};
		struct err e;
		const char *path = testing_file("bad.json", mistakes[i][0]);
		assert_refused(model_load(&m, path, &e), e, mistakes[i][1]);
		assert_true(strstr(e.text, "bad.json") != NULL);
		assert_null(strchr(e.text, '\n'));
		assert_i64(m.layers, 77); /* untouched */
	}
}

/* The largest sizes that are let in overflow nothing. */
static void test_largest_sizes(void **state)
{
	(void)state;
	struct model m =
		read_config("{\"model_type\": \"qwen3_moe\", \"hidden_size\": 131072,"
			    "\"intermediate_size\": 1048576, \"num_attention_heads\": 4096,"
			    "\"num_key_value_heads\": 4096, \"num_hidden_layers\": 500, "
			    "\"vocab_size\": 16777216,"
			    "\"max_position_embeddings\": 1073741824, \"head_dim\": 4096, "
			    "\"num_experts\": 4096,"
			    "\"num_experts_per_tok\": 4096, \"moe_intermediate_size\": 1048576,"
			    "\"torch_dtype\": \"float32\"}");
	assert_true(model_weights_bytes(&m, 1) > 3LL * 1000000000000000000LL);
	assert_true(kv_token_bytes(&m, 1, 16) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_families_give_the_built_in_shapes),
		cmocka_unit_test(test_phi_and_deepseek_give_the_built_in_shapes),
		cmocka_unit_test(test_families_with_windows),
		cmocka_unit_test(test_falcon_and_gpt2),
		cmocka_unit_test(test_mixtral),
		cmocka_unit_test(test_biases_and_types),
		cmocka_unit_test(test_names_come_from_the_path),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_each_mistake_is_one_sentence),
		cmocka_unit_test(test_largest_sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
