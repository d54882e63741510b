/*
 * model.h: shapes of transformer models: what is multiplied, what is stored, what is cached.
 *
 * A model comes from the built-in list (calibrate/models/) or from a Hugging Face config.json.
 * Counts of parameters follow from the shape and agree with the published figures.
 */
#ifndef CALIBRATE_MODEL_H
#define CALIBRATE_MODEL_H

#include "sim/err.h"
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum attention_kind { ATTENTION_GQA, ATTENTION_MLA };

struct model {
	char name[64];
	int64_t layers, hidden, heads, kv_heads, head_dim;
	int64_t inter; /* width of a dense MLP layer */
	bool gated;    /* three MLP matrices (SwiGLU) instead of two */
	int64_t vocab, context;
	bool tied;	   /* head shares the embedding's weights */
	int64_t positions; /* rows of a learned position embedding (OPT), else 0 */
	bool qkv_bias;	   /* q, k and v have biases (Qwen2, OPT) */
	bool o_bias;	   /* the output projection of attention has one */
	bool mlp_bias;	   /* the MLP matrices have them */
	bool head_bias;	   /* the head has one (Phi-2) */
	bool norm_bias;	   /* LayerNorm: a bias beside the weight; else RMSNorm */
	int64_t norms;	   /* a layer; 0: two. Phi-2 has one, Gemma-2 four */
	bool qk_norm;	   /* per-head norms of q and k (Qwen3) */
	bool sinks;	   /* a number a head that the softmax adds (gpt-oss) */
	/* layers that attend to the last window_tok tokens only; 0: none */
	int64_t window_layers, window_tok;
	/* mixture of experts: layers from dense_layers on have it; experts == 0: dense throughout
	 */
	int64_t experts, experts_active, experts_shared, expert_inter, dense_layers;
	bool router_bias;   /* one number an expert beside the router (DeepSeek-V3) */
	double expert_bits; /* of a weight of the routed experts' matrices; 0: dtype_bytes */
	/* multi-head latent attention (DeepSeek): cached are kv_lora + rope_dim numbers a token */
	enum attention_kind attention;
	int64_t q_lora, kv_lora, rope_dim, nope_dim, v_dim;
	int64_t dtype_bytes; /* of weights, activations and the unquantised KV cache */
	/*
	 * Of a weight of the linear layers: 0: the model's own type; 8; or 4, which takes 4.5, for
	 * 16 numbers share a scale of 8 bits (NVFP4). Embedding, head, norms, biases and routers
	 * stay in the model's own type. No model comes with it: the user asks for it.
	 */
	int64_t weight_bits;
};

/*
 * `name` is a built-in name, or the path of a config.json (whatever contains a "/" or ends with
 * ".json"; m->name is then the file's folder or own name). -1: unknown (lists them) or malformed:
 * the sentence names the file and the key.
 */
int model_load(struct model *m, const char *name, struct err *e);
/* Whether model_load() would take this name, not being built in, for a path. */
bool model_is_path(const char *name);
/* The config.json part of it alone. */
int model_config_load(struct model *m, const char *path, struct err *e);

/* The built-in models, in list order; n is set to their number. */
const struct model *model_list(size_t *n);

/* 16 (weight_bits 0), 8 or 4. */
int model_check_weight_bits(int64_t weight_bits, struct err *e);
/* Bits that a weight takes: of the linear layers, and of the routed experts. */
double model_linear_bits(const struct model *m);
double model_expert_bits(const struct model *m);
/* Layers that have experts. */
int64_t model_expert_layers(const struct model *m);

/* All parameters. */
int64_t model_params(const struct model *m);
/*
 * Those that one token uses: all but the experts it is not routed to. The embedding counts in full,
 * as Qwen publishes it; DeepSeek's published figures leave the looked-up embedding (vocab x hidden)
 * out.
 */
int64_t model_active_params(const struct model *m);

/*
 * Bytes of weights that one device of a tensor-parallel group of `tp` holds: the embedding and head
 * split by vocabulary (rounded up), linear layers and experts split by heads and width, KV heads
 * replicated beyond their number; norms, routers, learned positions and MLA's down-projections
 * replicated.
 */
int64_t model_weights_bytes(const struct model *m, int64_t tp);

/*
 * Stage i of a pipeline of `pp` holds layers in their order, as many as any other or one more: the
 * first (layers mod pp) stages have one more. The last has the head besides, the first the
 * embedding.
 */
struct model_stage {
	int64_t first_layer, layers, dense_layers, window_layers;
};
/* Windowed layers count as spread evenly from the first on: of Gemma and gpt-oss that is exact. */
struct model_stage model_stage(const struct model *m, int64_t pp, int64_t i);

/*
 * Weights of one device in a pipeline of `pp` stages: of a stage with most layers (rounded up;
 * experts where some layers have none), and of the embedding or the head the larger one: the first
 * stage has one, the last the other, a tied one both.
 */
int64_t model_stage_weights_bytes(const struct model *m, int64_t tp, int64_t pp);

/*
 * Of them, those that a large decode step reads: without the looked-up embeddings (a tied one is
 * the head, and is read). Of a mixture of experts, all experts.
 */
int64_t model_streamed_bytes(const struct model *m, int64_t tp);
/* Of stage i alone: the sum over all stages is that figure. */
int64_t model_stage_streamed_bytes(const struct model *m, int64_t tp, int64_t pp, int64_t i);
/* The same for a single token: only the experts it is routed to. */
int64_t model_streamed_token_bytes(const struct model *m, int64_t tp);

/* KV heads on one device: at least one. */
int64_t model_local_kv_heads(const struct model *m, int64_t tp);

/*
 * KV bytes of a token on one device of the stage, of `pp`, that has most layers without a window,
 * and of those the one that has most with: 2 x layers x kv heads on the device x head_dim x bytes;
 * KV heads replicate once tp exceeds their number. MLA: layers x (kv_lora + rope_dim) x bytes, not
 * divided by tp. kv_bits 16 stands for the model's own type; 8, 4, 2 store that many bits an
 * element, and 4 and 2 add 32 bits of scale and zero for each group of 32 (KIVI, section 4.2).
 * Rounded up to whole bytes.
 *
 * With a sliding window there is no single figure: s tokens take s x full_bytes and min(s,
 * window_tok) x window_bytes.
 */
struct model_kv {
	int64_t full_bytes;   /* in the layers that attend to all */
	int64_t window_bytes; /* in those with a window, while it is within */
	/*
	 * A pool of blocks as servers make them (vLLM's hybrid cache manager): a block holds slots
	 * of the layers without a window, or of all layers if each has one (window_only); the
	 * others take window_share blocks for each block of min(s, window_tok), in groups as large
	 * as the first, the last of them padded (1 where window_only).
	 */
	int64_t slot_bytes; /* of a slot of such a block */
	int64_t window_share;
	bool window_only;
};
void model_kv(const struct model *m, int64_t tp, int64_t pp, int64_t kv_bits, struct model_kv *kv);

/* Bytes that one sequence of `tok` tokens takes, by the two terms. */
int64_t model_kv_sequence_bytes(const struct model *m, const struct model_kv *kv, int64_t tok);
/* Blocks of such a pool that it takes. */
int64_t model_kv_sequence_blocks(const struct model *m, const struct model_kv *kv,
				 int64_t block_tok, int64_t tok);

/* -1 and a sentence where tp cannot split the model (heads, inter, experts not divisible). */
int model_check_tp(const struct model *m, int64_t tp, struct err *e);

/* -1 and a sentence where there are fewer layers than stages. */
int model_check_pp(const struct model *m, int64_t pp, struct err *e);

/* 16, 8, 4 or 2. */
int model_check_kv_bits(int64_t kv_bits, struct err *e);

#ifdef __cplusplus
}
#endif

#endif
