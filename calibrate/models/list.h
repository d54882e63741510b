/*
 * list.h: the built-in shapes, one entry each, included by model.c alone. They are the figures of
 * the models' own config.json files on Hugging Face, unless an entry says otherwise.
 */

#define RMS_GQA .gated = true, .dtype_bytes = 2, .attention = ATTENTION_GQA
#define OPT                                                                                        \
	.vocab = 50272, .context = 2048, .positions = 2050, .tied = true, .dtype_bytes = 2,        \
	.qkv_bias = true, .o_bias = true, .mlp_bias = true, .norm_bias = true
/* half of the layers, the even ones, attend to a window; experts in MXFP4: 32 numbers of 4 bits
 * with a scale of 8 */
#define GPT_OSS                                                                                    \
	RMS_GQA, .vocab = 201088, .context = 131072, .hidden = 2880, .heads = 64, .kv_heads = 8,   \
		 .head_dim = 64, .inter = 2880, .expert_inter = 2880, .experts_active = 4,         \
		 .qkv_bias = true, .o_bias = true, .mlp_bias = true, .router_bias = true,          \
		 .sinks = true, .expert_bits = 4.25, .window_tok = 128
/* half of the layers attend to a window; soft caps change no size */
#define GEMMA2                                                                                     \
	RMS_GQA, .vocab = 256000, .context = 8192, .tied = true, .norms = 4, .window_tok = 4096
#define DEEPSEEK_V3                                                                                \
	.gated = true, .dtype_bytes = 2, .attention = ATTENTION_MLA, .vocab = 129280,              \
	.context = 163840, .layers = 61, .hidden = 7168, .heads = 128, .kv_heads = 128,            \
	.head_dim = 192, .inter = 18432, .experts = 256, .experts_active = 8, .experts_shared = 1, \
	.expert_inter = 2048, .dense_layers = 3, .router_bias = true, .q_lora = 1536,              \
	.kv_lora = 512, .rope_dim = 64, .nope_dim = 128, .v_dim = 128
#define QWEN3 RMS_GQA, .vocab = 151936, .context = 40960, .head_dim = 128, .qk_norm = true

/* clang-format off */
static const struct model model_table[] = {
	{.name = "opt-125m", OPT,
	 .layers = 12, .hidden = 768, .heads = 12, .kv_heads = 12, .head_dim = 64, .inter = 3072},
	{.name = "opt-13b", OPT,
	 .layers = 40, .hidden = 5120, .heads = 40, .kv_heads = 40, .head_dim = 128, .inter = 20480},
	{.name = "opt-66b", OPT,
	 .layers = 64, .hidden = 9216, .heads = 72, .kv_heads = 72, .head_dim = 128, .inter = 36864},
	{.name = "opt-175b", OPT,
	 .layers = 96, .hidden = 12288, .heads = 96, .kv_heads = 96, .head_dim = 128, .inter = 49152},

	/* of the paper (arXiv 2005.14165): there is no file; the vocabulary is GPT-2's */
	{.name = "gpt-3-175b", .vocab = 50257, .context = 2048, .positions = 2048, .tied = true,
	 .dtype_bytes = 2, .qkv_bias = true, .o_bias = true, .mlp_bias = true, .norm_bias = true,
	 .layers = 96, .hidden = 12288, .heads = 96, .kv_heads = 96, .head_dim = 128, .inter = 49152},

	{.name = "llama-13b", RMS_GQA, .vocab = 32000, .context = 2048,
	 .layers = 40, .hidden = 5120, .heads = 40, .kv_heads = 40, .head_dim = 128, .inter = 13824},
	/* a LLaMA-33B */
	{.name = "vicuna-33b", RMS_GQA, .vocab = 32000, .context = 2048,
	 .layers = 60, .hidden = 6656, .heads = 52, .kv_heads = 52, .head_dim = 128, .inter = 17920},
	{.name = "llama-2-7b", RMS_GQA, .vocab = 32000, .context = 4096,
	 .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 32, .head_dim = 128, .inter = 11008},
	{.name = "llama-2-13b", RMS_GQA, .vocab = 32000, .context = 4096,
	 .layers = 40, .hidden = 5120, .heads = 40, .kv_heads = 40, .head_dim = 128, .inter = 13824},
	{.name = "llama-2-70b", RMS_GQA, .vocab = 32000, .context = 4096,
	 .layers = 80, .hidden = 8192, .heads = 64, .kv_heads = 8, .head_dim = 128, .inter = 28672},
	{.name = "llama-3-8b", RMS_GQA, .vocab = 128256, .context = 8192,
	 .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128, .inter = 14336},
	{.name = "llama-3-70b", RMS_GQA, .vocab = 128256, .context = 8192,
	 .layers = 80, .hidden = 8192, .heads = 64, .kv_heads = 8, .head_dim = 128, .inter = 28672},
	{.name = "llama-3.1-8b", RMS_GQA, .vocab = 128256, .context = 131072,
	 .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128, .inter = 14336},
	{.name = "llama-3.1-405b", RMS_GQA, .vocab = 128256, .context = 131072,
	 .layers = 126, .hidden = 16384, .heads = 128, .kv_heads = 8, .head_dim = 128, .inter = 53248},

	/* v0.2: no sliding window */
	{.name = "mistral-7b", RMS_GQA, .vocab = 32000, .context = 32768,
	 .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128, .inter = 14336},

	/* the first release: every layer attends to a window */
	{.name = "mistral-7b-v0.1", RMS_GQA, .vocab = 32000, .context = 32768,
	 .window_layers = 32, .window_tok = 4096,
	 .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128, .inter = 14336},
	{.name = "mixtral-8x7b", RMS_GQA, .vocab = 32000, .context = 32768,
	 .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128, .inter = 14336,
	 .experts = 8, .experts_active = 2, .expert_inter = 14336},
	{.name = "mixtral-8x22b", RMS_GQA, .vocab = 32000, .context = 65536,
	 .layers = 56, .hidden = 6144, .heads = 48, .kv_heads = 8, .head_dim = 128, .inter = 16384,
	 .experts = 8, .experts_active = 2, .expert_inter = 16384},
	{.name = "yi-34b", RMS_GQA, .vocab = 64000, .context = 4096,
	 .layers = 60, .hidden = 7168, .heads = 56, .kv_heads = 8, .head_dim = 128, .inter = 20480},
	/* attention and MLP side by side, each behind its own LayerNorm; no bias in linear layers */
	{.name = "falcon-180b", .vocab = 65024, .context = 2048, .dtype_bytes = 2, .norm_bias = true,
	 .layers = 80, .hidden = 14848, .heads = 232, .kv_heads = 8, .head_dim = 64, .inter = 59392},
	{.name = "gemma-2-9b", GEMMA2, .layers = 42, .window_layers = 21,
	 .hidden = 3584, .heads = 16, .kv_heads = 8, .head_dim = 256, .inter = 14336},
	{.name = "gemma-2-27b", GEMMA2, .layers = 46, .window_layers = 23,
	 .hidden = 4608, .heads = 32, .kv_heads = 16, .head_dim = 128, .inter = 36864},
	{.name = "gpt-oss-20b", GPT_OSS, .layers = 24, .window_layers = 12, .experts = 32},
	{.name = "gpt-oss-120b", GPT_OSS, .layers = 36, .window_layers = 18, .experts = 128},

	/* Instruct: 32,768 positions */
	{.name = "qwen2.5-7b", RMS_GQA, .vocab = 152064, .context = 32768, .qkv_bias = true,
	 .layers = 28, .hidden = 3584, .heads = 28, .kv_heads = 4, .head_dim = 128, .inter = 18944},
	{.name = "qwen2.5-14b", RMS_GQA, .vocab = 152064, .context = 32768, .qkv_bias = true,
	 .layers = 48, .hidden = 5120, .heads = 40, .kv_heads = 8, .head_dim = 128, .inter = 13824},
	{.name = "qwen2.5-32b", RMS_GQA, .vocab = 152064, .context = 32768, .qkv_bias = true,
	 .layers = 64, .hidden = 5120, .heads = 40, .kv_heads = 8, .head_dim = 128, .inter = 27648},
	{.name = "qwen2.5-72b", RMS_GQA, .vocab = 152064, .context = 32768, .qkv_bias = true,
	 .layers = 80, .hidden = 8192, .heads = 64, .kv_heads = 8, .head_dim = 128, .inter = 29568},

	{.name = "qwen3-4b", QWEN3, .tied = true,
	 .layers = 36, .hidden = 2560, .heads = 32, .kv_heads = 8, .inter = 9728},
	{.name = "qwen3-8b", QWEN3,
	 .layers = 36, .hidden = 4096, .heads = 32, .kv_heads = 8, .inter = 12288},
	{.name = "qwen3-14b", QWEN3,
	 .layers = 40, .hidden = 5120, .heads = 40, .kv_heads = 8, .inter = 17408},
	{.name = "qwen3-32b", QWEN3,
	 .layers = 64, .hidden = 5120, .heads = 64, .kv_heads = 8, .inter = 25600},
	{.name = "qwen3-30b-a3b", QWEN3,
	 .layers = 48, .hidden = 2048, .heads = 32, .kv_heads = 4, .inter = 6144,
	 .experts = 128, .experts_active = 8, .expert_inter = 768},
	{.name = "qwen3-235b-a22b", QWEN3,
	 .layers = 94, .hidden = 4096, .heads = 64, .kv_heads = 4, .inter = 12288,
	 .experts = 128, .experts_active = 8, .expert_inter = 1536},

	/* kv_heads and head_dim say nothing with MLA; head_dim is nope_dim + rope_dim */
	{.name = "deepseek-v2-lite", .gated = true, .dtype_bytes = 2, .attention = ATTENTION_MLA,
	 .vocab = 102400, .context = 163840,
	 .layers = 27, .hidden = 2048, .heads = 16, .kv_heads = 16, .head_dim = 192, .inter = 10944,
	 .experts = 64, .experts_active = 6, .experts_shared = 2, .expert_inter = 1408,
	 .dense_layers = 1, .kv_lora = 512, .rope_dim = 64, .nope_dim = 128, .v_dim = 128},
	/* the main model, without the module that predicts a second token; counted in 16 bits */
	{.name = "deepseek-v3", DEEPSEEK_V3},
	{.name = "deepseek-r1", DEEPSEEK_V3},

	{.name = "phi-2", .vocab = 51200, .context = 2048, .dtype_bytes = 2,
	 .qkv_bias = true, .o_bias = true, .mlp_bias = true, .norm_bias = true, .head_bias = true,
	 .norms = 1,
	 .layers = 32, .hidden = 2560, .heads = 32, .kv_heads = 32, .head_dim = 80, .inter = 10240},
	{.name = "phi-4", RMS_GQA, .vocab = 100352, .context = 16384,
	 .layers = 40, .hidden = 5120, .heads = 40, .kv_heads = 10, .head_dim = 128, .inter = 17920},

	/* of our own, for a CPU, in 32-bit floats: no such weights exist */
	{.name = "tiny", .gated = true, .dtype_bytes = 4, .attention = ATTENTION_GQA,
	 .vocab = 4096, .context = 4096, .tied = true,
	 .layers = 4, .hidden = 256, .heads = 4, .kv_heads = 2, .head_dim = 64, .inter = 768},
};
/* clang-format on */

#undef RMS_GQA
#undef OPT
#undef GPT_OSS
#undef GEMMA2
#undef DEEPSEEK_V3
#undef QWEN3
