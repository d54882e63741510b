/*
 * import_layers.c: tables of the layers of one model, by their names: sizes come from the model.
 * Those of LLMServingSim's profiler (vLLM), and Vidur's.
 */
#include "calibrate/import_formats.h"
#include <string.h>

enum { TOK_MAX = 1 << 24 };
static const double us = 1e3, ms = 1e6;

/* Widths of one device's share of a layer. */
struct widths {
	int64_t hidden, heads, kv_heads, head_dim, qkv, rotated, inter, up, vocab;
};

static struct widths widths_of(const struct model *m, int64_t tp)
{
	int64_t heads = m->heads / tp, kv_heads = model_local_kv_heads(m, tp);
	int64_t inter = m->inter / tp;

	return (struct widths){
		.hidden = m->hidden,
		.heads = heads,
		.kv_heads = kv_heads,
		.head_dim = m->head_dim,
		.qkv = (heads + 2 * kv_heads) * m->head_dim,
		.rotated = (heads + kv_heads) * m->head_dim,
		.inter = inter,
		.up = m->gated ? 2 * inter : inter,
		.vocab = (m->vocab + tp - 1) / tp,
	};
}

static struct point gemm(int64_t m, int64_t n, int64_t k, double ns)
{
	return (struct point){.op = OP_GEMM, .bits = 16, .m = m, .n = n, .k = k, .ns = ns};
}

static struct point by_width(enum op op, int64_t m, int64_t n, double ns)
{
	return (struct point){.op = op, .bits = 16, .m = m, .n = n, .ns = ns};
}

static void add(struct import *in, struct point p)
{
	import_point(in, &p);
}

/* LLMServingSim: attention of one layer */

static void attention_row(struct import *in, struct table *t)
{
	struct widths w = widths_of(in->model, in->tp);
	int64_t chunk = table_int(t, "prefill_chunk", 0, TOK_MAX);
	int64_t prior = table_int(t, "kv_prefill", 0, TOK_MAX);
	int64_t seqs = table_int(t, "n_decode", 0, TOK_MAX);
	int64_t context = table_int(t, "kv_decode", 0, TOK_MAX);
	struct point p = {
		.op = !chunk  ? OP_DECODE
		      : !seqs ? OP_PREFILL
			      : OP_MIXED,
		.bits = 16,
		.heads = w.heads,
		.kv_heads = w.kv_heads,
		.head_dim = w.head_dim,
		.prefill_seq = chunk > 0,
		.new_tok = chunk,
		.prior_tok = chunk ? prior : 0,
		.decode_seq = seqs,
		.decode_ctx = seqs * context,
		.ns = table_ns(t, "time_us", us),
	};

	if (table_failed(t))
		return;
	if (!chunk && !seqs)
		table_fail(t, "prefill_chunk",
			   "and n_decode are both 0: one of them must be above 0");
	else if (seqs && !context)
		table_fail(t, "kv_decode", "is 0: sequences that decode have a context");
	else
		add(in, p);
}

const struct import_format import_attention = {
	.name = "attention",
	.summary = "attention of one layer, a chunk of a prompt beside decoding sequences",
	.header = "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us",
	.needs_model = true,
	.row = attention_row,
};

/*
 * Unequal contexts: nb of n sequences have kv_big tokens, the others kvs. Times are of three
 * layers: t_max_us, all n at kv_big, is three times what the table of attention has for the same
 * sizes.
 */
enum { SKEW_LAYERS = 3 };

static void skew_row(struct import *in, struct table *t)
{
	struct widths w = widths_of(in->model, in->tp);
	int64_t n = table_int(t, "n", 2, TOK_MAX), many = table_int(t, "nb", 1, TOK_MAX);
	int64_t small = table_int(t, "kvs", 1, TOK_MAX), big = table_int(t, "kv_big", 1, TOK_MAX);
	struct point p = {
		.op = OP_DECODE,
		.bits = 16,
		.heads = w.heads,
		.kv_heads = w.kv_heads,
		.head_dim = w.head_dim,
		.decode_seq = n,
		.decode_ctx = many * big + (n - many) * small,
		.longest = big,
		.ns = table_ns(t, "t_skew_us", us / SKEW_LAYERS),
	};

	if (table_failed(t))
		return;
	if (many >= n)
		table_fail(t, "nb", "is not below n: some sequences are shorter");
	else if (big <= small)
		table_fail(t, "kv_big", "is not above kvs");
	else if (strcmp(table_text(t, "regime"), "pure") != 0)
		import_skip(in, "regime %.40s: pure decoding is taken", table_text(t, "regime"));
	else
		add(in, p);
}

const struct import_format import_skew = {
	.name = "skew_decode",
	.summary = "decode attention of sequences of unequal length",
	.header = "regime,n,nb,ratio,skew,pc,kp,kvs,kv_big,kv_mean,t_mean_us,t_max_us,t_skew_us,"
		  "alpha",
	.needs_model = true,
	.row = skew_row,
};

/* LLMServingSim: the other layers */

static void dense_row(struct import *in, struct table *t)
{
	struct widths w = widths_of(in->model, in->tp);
	const char *name = table_text(t, "layer");
	int64_t m = table_int(t, "tokens", 1, TOK_MAX);
	double ns = table_ns(t, "time_us", us);
	const struct {
		const char *name;
		struct point point;
	} layers[] = {
		{"qkv_proj", gemm(m, w.qkv, w.hidden, ns)},
		{"o_proj", gemm(m, w.hidden, w.heads * w.head_dim, ns)},
		{"gate_up_proj", gemm(m, w.up, w.hidden, ns)},
		{"down_proj", gemm(m, w.hidden, w.inter, ns)},
		{"layernorm", by_width(OP_NORM, m, w.hidden, ns)},
		{"rotary_emb", by_width(OP_ROPE, m, w.rotated, ns)},
		{"act_fn", by_width(OP_ACT, m, w.inter, ns)},
		{"embedding", by_width(OP_EMBED, m, w.hidden, ns)},
	};

	if (table_failed(t))
		return;
	for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
		if (strcmp(layers[i].name, name) == 0) {
			add(in, layers[i].point);
			return;
		}
	}
	if (strcmp(name, "final_layernorm") == 0)
		import_skip(in, "final_layernorm: norms of layers are taken");
	else
		import_skip(in, "layer %.40s: not known", name);
}

const struct import_format import_dense = {
	.name = "dense",
	.summary = "linear and elementwise layers by tokens",
	.header = "layer,tokens,time_us",
	.needs_model = true,
	.row = dense_row,
};

static void per_sequence_row(struct import *in, struct table *t)
{
	struct widths w = widths_of(in->model, in->tp);
	const char *name = table_text(t, "layer");
	int64_t m = table_int(t, "sequences", 1, TOK_MAX);
	double ns = table_ns(t, "time_us", us);

	if (table_failed(t))
		return;
	if (strcmp(name, "lm_head") == 0)
		add(in, gemm(m, w.vocab, w.hidden, ns));
	else if (strcmp(name, "sampler") == 0)
		add(in, by_width(OP_SAMPLE, m, w.vocab, ns));
	else
		import_skip(in, "layer %.40s: not known", name);
}

const struct import_format import_per_sequence = {
	.name = "per_sequence",
	.summary = "head and sampler by sequences",
	.header = "layer,sequences,time_us",
	.needs_model = true,
	.row = per_sequence_row,
};

/*
 * Vidur times each operator of a layer with a profiler, in whole microseconds. Its norm does not
 * add the residual, as ours does: the two are one kernel in servers, and their sum here.
 */
static void vidur_linear_row(struct import *in, struct table *t)
{
	int64_t tp = table_int(t, "tp", 1, MAX_HEADS), m = table_int(t, "num_tokens", 1, TOK_MAX);
	double add_ns = table_ns(t, "add_ms", ms);
	struct err e;

	if (table_failed(t))
		return;
	if (model_check_tp(in->model, tp, &e) < 0) {
		table_fail(t, "tp", "is %lld: %.300s", (long long)tp, e.text);
		return;
	}
	struct widths w = widths_of(in->model, tp);
	const struct point points[] = {
		by_width(OP_EMBED, m, w.hidden, table_ns(t, "emb_ms", ms)),
		by_width(OP_NORM, m, w.hidden, add_ns + table_ns(t, "input_layernorm_ms", ms)),
		gemm(m, w.qkv, w.hidden, table_ns(t, "attn_pre_proj_ms", ms)),
		by_width(OP_ROPE, m, w.rotated, table_ns(t, "attn_rope_ms", ms)),
		gemm(m, w.hidden, w.heads * w.head_dim, table_ns(t, "attn_post_proj_ms", ms)),
		by_width(OP_NORM, m, w.hidden,
			 add_ns + table_ns(t, "post_attention_layernorm_ms", ms)),
		gemm(m, w.up, w.hidden, table_ns(t, "mlp_up_proj_ms", ms)),
		by_width(OP_ACT, m, w.inter, table_ns(t, "mlp_act_ms", ms)),
		gemm(m, w.hidden, w.inter, table_ns(t, "mlp_down_proj_ms", ms)),
	};

	if (table_failed(t))
		return;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		import_point(in, &points[i]);
}

const struct import_format import_vidur_linear = {
	.name = "vidur-linear",
	.summary = "operators of a layer by tokens, of Vidur's profiles",
	.header = "tp,num_tokens,emb_ms,input_layernorm_ms,attn_pre_proj_ms,attn_rope_ms,"
		  "attn_post_proj_ms,post_attention_layernorm_ms,mlp_up_proj_ms,mlp_act_ms,"
		  "mlp_down_proj_ms,add_ms",
	.needs_model = true,
	.row = vidur_linear_row,
};
