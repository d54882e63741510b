/*
 * import_kernels.c: tables of single kernels at many sizes, one header a kind (those of NVIDIA's
 * aiconfigurator), and of collectives (the same, NCCL's tests, Vidur).
 */
#include "calibrate/import_formats.h"
#include <string.h>

enum { SIZE_MAX_TOK = 1 << 24 };
static const double ms = 1e6;

/* 16: the model's own type. 0: not taken, and counted. */
static int bits_of(struct import *in, const char *what, const char *type)
{
	static const struct {
		const char *name;
		int bits;
	} types[] = {{"bfloat16", 16}, {"float16", 16}, {"half", 16}, {"fp8", 8}};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].name, type) == 0)
			return types[i].bits;
	import_skip(in, "%s %.40s: taken are bfloat16, float16, half and fp8", what, type);
	return 0;
}

static void gemm_row(struct import *in, struct table *t)
{
	struct point p = {
		.op = OP_GEMM,
		.bits = bits_of(in, "gemm_dtype", table_text(t, "gemm_dtype")),
		.m = table_int(t, "m", 1, SIZE_MAX_TOK),
		.n = table_int(t, "n", 1, SIZE_MAX_TOK),
		.k = table_int(t, "k", 1, SIZE_MAX_TOK),
		.ns = table_ns(t, "latency_ms", ms),
	};

	if (p.bits && !table_failed(t))
		import_point(in, &p);
}

const struct import_format import_gemm = {
	.name = "gemm",
	.summary = "GEMMs y[m,n] = x[m,k] W[n,k]^T",
	.header = "gemm_dtype,m,n,k,latency_ms",
	.row = gemm_row,
};

/*
 * The heads of these tables are 128 wide: at 64 prompts of 2048 tokens and 32 heads an H200 would
 * otherwise be at 88 % or at 22 % of its peak, where it is at 44 %.
 */
enum { HEAD_DIM = 128 };

/* What both attention tables have. */
static struct point attention_point(struct import *in, struct table *t, enum op op)
{
	const char *type = table_text(t, "attn_dtype");
	struct point p = {
		.op = op,
		.bits = bits_of(in, "kv_dtype", table_text(t, "kv_dtype")),
		.heads = table_int(t, "num_heads", 1, MAX_HEADS),
		.kv_heads = table_int(t, "num_kv_heads", 1, MAX_HEADS),
		.head_dim = HEAD_DIM,
		.ns = table_ns(t, "latency_ms", ms),
	};

	if (!table_failed(t) && p.heads % p.kv_heads)
		table_fail(t, "num_kv_heads", "does not divide num_heads");
	if (p.bits && strcmp(type, "bfloat16") != 0 && strcmp(type, "float16") != 0) {
		import_skip(in, "attn_dtype %.40s: 16-bit arithmetic is taken", type);
		p.bits = 0;
	}
	return p;
}

static void decode_row(struct import *in, struct table *t)
{
	struct point p = attention_point(in, t, OP_DECODE);

	p.decode_seq = table_int(t, "batch", 1, SIZE_MAX_TOK);
	p.decode_ctx = p.decode_seq * table_int(t, "kv_len", 1, SIZE_MAX_TOK);
	if (p.bits && !table_failed(t))
		import_point(in, &p);
}

const struct import_format import_attn_decode = {
	.name = "attn_decode",
	.summary = "decode attention of one layer, sequences of equal length",
	.header = "attn_dtype,kv_dtype,num_heads,num_kv_heads,batch,kv_len,latency_ms",
	.row = decode_row,
};

static void prefill_row(struct import *in, struct table *t)
{
	struct point p = attention_point(in, t, OP_PREFILL);

	p.prefill_seq = table_int(t, "batch", 1, SIZE_MAX_TOK);
	p.new_tok = table_int(t, "seq_len", 1, SIZE_MAX_TOK);
	if (p.bits && !table_failed(t))
		import_point(in, &p);
}

const struct import_format import_attn_prefill = {
	.name = "attn_prefill",
	.summary = "causal attention of whole prompts, one layer",
	.header = "attn_dtype,kv_dtype,num_heads,num_kv_heads,batch,seq_len,latency_ms",
	.row = prefill_row,
};

static const int64_t bytes_max = INT64_C(1) << 50;

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* What both tables of elements have; those of 16 bits are taken. */
static struct point elements_point(struct table *t)
{
	return (struct point){
		.op = OP_ALLREDUCE,
		.bits = 16,
		.devices = table_int(t, "num_gpus", 2, MAX_HEADS),
		.bytes = 2 * table_int(t, "elements", 1, bytes_max / 2),
		.ns = table_ns(t, "latency_ms", ms),
	};
}

/* Servers reduce under captured graphs. */
static void allreduce_row(struct import *in, struct table *t)
{
	const char *kernel = table_text(t, "kernel");
	int bits = bits_of(in, "dtype", table_text(t, "dtype"));
	struct point p = elements_point(t);

	if (table_failed(t) || !bits)
		return;
	if (bits != 16)
		import_skip(in, "reduced in 8 bits: 16-bit elements are taken");
	else if (ends_with(kernel, "_eager"))
		import_skip(in, "kernel %.40s: captured ones are taken", kernel);
	else
		import_point(in, &p);
}

const struct import_format import_allreduce = {
	.name = "allreduce",
	.summary = "all-reduces of a server's own kernel",
	.header = "kernel,dtype,num_gpus,elements,latency_ms",
	.row = allreduce_row,
};

static void nccl_row(struct import *in, struct table *t)
{
	const char *op = table_text(t, "op"), *type = table_text(t, "dtype");
	struct point p = elements_point(t);

	if (table_failed(t))
		return;
	if (strcmp(op, "all_reduce") != 0)
		import_skip(in, "op %.40s: all_reduce is taken", op);
	else if (strcmp(type, "half") != 0)
		import_skip(in, "dtype %.40s: half is taken", type);
	else
		import_point(in, &p);
}

const struct import_format import_nccl = {
	.name = "nccl",
	.summary = "collectives of NCCL",
	.header = "op,dtype,num_gpus,elements,latency_ms",
	.row = nccl_row,
};

static void vidur_allreduce_row(struct import *in, struct table *t)
{
	int64_t node = table_int(t, "devices_per_node", 1, MAX_HEADS);
	struct point p = {
		.op = OP_ALLREDUCE,
		.bits = 16,
		.devices = table_int(t, "num_workers", 2, MAX_HEADS),
		.bytes = table_int(t, "size_bytes", 1, bytes_max),
		.ns = table_ns(t, "median_ms", ms),
	};

	if (table_failed(t))
		return;
	if (node < p.devices)
		import_skip(in, "over several nodes: those within one are taken");
	else
		import_point(in, &p);
}

const struct import_format import_vidur_allreduce = {
	.name = "vidur-allreduce",
	.summary = "all-reduces of Vidur's profiles",
	.header = "num_workers,devices_per_node,size_bytes,median_ms,mean_ms,std_ms",
	.row = vidur_allreduce_row,
};
