/* Tables of measured times: each format by hand, what is left out, what is refused. */
#include "calibrate/import.h"
#include "testing.h"
#include <string.h>

struct fixture {
	struct import in;
	struct model model;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct err e;

	assert_fine(model_load(&f->model, "llama-3.1-8b", &e), e);
	f->in = (struct import){.model = &f->model, .tp = 1, .device = "h100"};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	import_release(&f->in);
	free(f);
	return 0;
}

static void read_text(struct fixture *f, const char *text)
{
	struct err e;

	assert_fine(import_read(&f->in, testing_file("table.csv", text), &e), e);
}

static void refuse(struct fixture *f, const char *text, const char *part)
{
	struct err e;

	assert_refused(import_read(&f->in, testing_file("table.csv", text), &e), e, part);
}

#define assert_real(got, want) assert_near(got, want, 1e-9 * (want))

/* Kernels */

static void test_gemm(void **state)
{
	struct fixture *f = *state;
	const struct point *p;

	read_text(f, "gemm_dtype,m,n,k,latency_ms\n"
		     "bfloat16,16,4096,14336,0.0375\n"
		     "fp8,1,6144,4096,0.01\n"
		     "int4_wo,1,6144,4096,0.01\n"
		     "int4_wo,2,6144,4096,0.01\n");
	p = f->in.points.at;
	assert_i64(f->in.points.n, 2);
	assert_i64(p[0].op, OP_GEMM);
	assert_i64(p[0].bits, 16);
	assert_i64(p[0].m, 16);
	assert_i64(p[0].n, 4096);
	assert_i64(p[0].k, 14336);
	assert_real(p[0].ns, 37500);
	assert_i64(p[1].bits, 8);
	assert_string_equal(f->in.files[0].format, "gemm");
	assert_i64(f->in.files[0].rows, 4);
	assert_i64(f->in.files[0].points, 2);
	assert_i64(f->in.files[0].n_skips, 1);
	assert_i64(f->in.files[0].skip[0].rows, 2);
	assert_non_null(strstr(f->in.files[0].skip[0].reason, "int4_wo"));
}

static void test_attention_kernels(void **state)
{
	struct fixture *f = *state;
	const struct point *p;

	read_text(f, "attn_dtype,kv_dtype,num_heads,num_kv_heads,batch,kv_len,latency_ms\n"
		     "bfloat16,fp8,32,8,64,1000,0.25\n");
	read_text(f, "attn_dtype,kv_dtype,num_heads,num_kv_heads,batch,seq_len,latency_ms\n"
		     "bfloat16,bfloat16,16,2,4,512,0.5\n"
		     "fp8,fp8,16,2,4,512,0.4\n");
	p = f->in.points.at;
	assert_i64(f->in.points.n, 2);
	assert_i64(p[0].op, OP_DECODE);
	assert_i64(p[0].bits, 8);
	assert_i64(p[0].heads, 32);
	assert_i64(p[0].kv_heads, 8);
	assert_i64(p[0].head_dim, 128);
	assert_i64(p[0].decode_seq, 64);
	assert_i64(p[0].decode_ctx, 64000);
	assert_i64(p[0].prefill_seq, 0);
	assert_real(p[0].ns, 250000);
	assert_i64(p[1].op, OP_PREFILL);
	assert_i64(p[1].bits, 16);
	assert_i64(p[1].prefill_seq, 4);
	assert_i64(p[1].new_tok, 512);
	assert_i64(p[1].prior_tok, 0);
	assert_i64(f->in.files[1].skip[0].rows, 1);
}

/* 128 elements of 16 bits are 256 bytes. */
static void test_collectives(void **state)
{
	struct fixture *f = *state;
	const struct point *p;

	read_text(f, "kernel,dtype,num_gpus,elements,latency_ms\n"
		     "vLLM_custom_eager,bfloat16,2,128,0.02\n"
		     "vLLM_custom_graph,bfloat16,2,128,0.006\n"
		     "vLLM_custom_graph,bfloat16,4,128,0.007\n");
	read_text(f, "op,dtype,num_gpus,elements,latency_ms\n"
		     "all_gather,half,2,128,0.001\n"
		     "all_reduce,int8,2,128,0.001\n"
		     "all_reduce,half,2,128,0.005\n"
		     "all_reduce,half,4,128,0.009\n");
	read_text(f, "num_workers,devices_per_node,size_bytes,median_ms,mean_ms,std_ms\n"
		     "2,1,256,0.001,0.001,0\n"
		     "2,2,2048,0.043,0.05,0.02\n");
	assert_i64(f->in.points.n, 5);
	assert_i64(f->in.files[0].skip[0].rows, 1);
	assert_i64(f->in.files[1].n_skips, 2);
	import_fastest(&f->in);
	p = f->in.points.at;
	assert_i64(f->in.points.n, 3);
	assert_i64(p[0].devices, 2);
	assert_i64(p[0].bytes, 256);
	assert_real(p[0].ns, 5000);
	assert_i64(p[1].bytes, 2048);
	assert_real(p[1].ns, 43000);
	assert_i64(p[2].devices, 4);
	assert_real(p[2].ns, 7000);
}

/* Layers of a model: Llama-3.1-8B has 32 heads of 128, 8 KV heads, 4096, 14336, 128256. */

static void test_attention_of_a_chunk(void **state)
{
	struct fixture *f = *state;
	const struct point *p;

	read_text(f, "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n"
		     "0,0,2,16,8.5\n"
		     "16,1024,0,0,20\n"
		     "16,1024,2,100,25\n");
	p = f->in.points.at;
	assert_i64(f->in.points.n, 3);
	assert_i64(p[0].op, OP_DECODE);
	assert_i64(p[0].decode_seq, 2);
	assert_i64(p[0].decode_ctx, 32);
	assert_i64(p[0].heads, 32);
	assert_i64(p[0].kv_heads, 8);
	assert_real(p[0].ns, 8500);
	assert_i64(p[1].op, OP_PREFILL);
	assert_i64(p[1].prefill_seq, 1);
	assert_i64(p[1].new_tok, 16);
	assert_i64(p[1].prior_tok, 1024);
	assert_i64(p[1].decode_seq, 0);
	assert_i64(p[2].op, OP_MIXED);
	assert_i64(p[2].prior_tok, 1024);
	assert_i64(p[2].decode_ctx, 200);
}

/* One of four sequences has 512 tokens, three have 128; a time of three layers. */
static void test_skew(void **state)
{
	struct fixture *f = *state;
	const struct point *p;

	read_text(f, "regime,n,nb,ratio,skew,pc,kp,kvs,kv_big,kv_mean,t_mean_us,t_max_us,t_skew_us,"
		     "alpha\n"
		     "pure,4,1,0.25,4,0,0,128,512,224,47.999,58.176,48,0.1322\n"
		     "mixed,4,1,0.25,4,16,0,128,512,224,47.999,58.176,48,0.1322\n");
	p = f->in.points.at;
	assert_i64(f->in.points.n, 1);
	assert_i64(p->op, OP_DECODE);
	assert_i64(p->decode_seq, 4);
	assert_i64(p->decode_ctx, 896);
	assert_i64(p->longest, 512);
	assert_real(p->ns, 16000);
}

static const struct point *find(const struct points *list, enum op op, int64_t n, int64_t k)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].op == op && list->at[i].n == n && list->at[i].k == k)
			return &list->at[i];
	fail_msg("no %s of n %lld, k %lld", op_names[op], (long long)n, (long long)k);
	return NULL;
}

static void test_dense_and_per_sequence(void **state)
{
	struct fixture *f = *state;
	const struct points *all = &f->in.points;

	read_text(f, "layer,tokens,time_us\n"
		     "qkv_proj,8,1\no_proj,8,2\ngate_up_proj,8,3\ndown_proj,8,4\nlayernorm,8,5\n"
		     "rotary_emb,8,6\nact_fn,8,7\nembedding,8,8\nfinal_layernorm,8,9\n"
		     "something,8,9\n");
	read_text(f, "layer,sequences,time_us\nlm_head,3,700\nsampler,3,25\n");
	assert_i64(all->n, 10);
	assert_real(find(all, OP_GEMM, 6144, 4096)->ns, 1000);
	assert_real(find(all, OP_GEMM, 4096, 4096)->ns, 2000);
	assert_real(find(all, OP_GEMM, 28672, 4096)->ns, 3000);
	assert_real(find(all, OP_GEMM, 4096, 14336)->ns, 4000);
	assert_real(find(all, OP_NORM, 4096, 0)->ns, 5000);
	assert_real(find(all, OP_ROPE, 5120, 0)->ns, 6000);
	assert_real(find(all, OP_ACT, 14336, 0)->ns, 7000);
	assert_real(find(all, OP_EMBED, 4096, 0)->ns, 8000);
	assert_real(find(all, OP_GEMM, 128256, 4096)->ns, 700000);
	assert_real(find(all, OP_SAMPLE, 128256, 0)->ns, 25000);
	assert_i64(find(all, OP_SAMPLE, 128256, 0)->m, 3);
	assert_i64(f->in.files[0].n_skips, 2);
}

/* Its own column tp splits heads, width and, of 8 KV heads, two a device. */
static void test_vidur_linear(void **state)
{
	struct fixture *f = *state;
	const struct points *all = &f->in.points;

	read_text(f, "tp,num_tokens,emb_ms,input_layernorm_ms,attn_pre_proj_ms,attn_rope_ms,"
		     "attn_post_proj_ms,post_attention_layernorm_ms,mlp_up_proj_ms,mlp_act_ms,"
		     "mlp_down_proj_ms,add_ms\n"
		     "4,16,0.003,0.005,0.033,0.004,0.025,0.006,0.142,0.011,0.076,0.002\n");
	assert_i64(all->n, 9);
	assert_real(find(all, OP_GEMM, 1536, 4096)->ns, 33000);
	assert_real(find(all, OP_GEMM, 4096, 1024)->ns, 25000);
	assert_real(find(all, OP_GEMM, 7168, 4096)->ns, 142000);
	assert_real(find(all, OP_GEMM, 4096, 3584)->ns, 76000);
	assert_real(find(all, OP_NORM, 4096, 0)->ns, 7000); /* and the residual, 2 */
	assert_real(find(all, OP_ROPE, 1280, 0)->ns, 4000);
	assert_real(find(all, OP_ACT, 3584, 0)->ns, 11000);
}

/* Whole steps */

/* Batches below 95 have the first set. */
static void test_published_coefficients(void **state)
{
	struct fixture *f = *state;
	const struct whole_steps *s;

	read_text(f, "model,tp,bs_threshold,prefill_a,prefill_b,prefill_c,dec_small_a,dec_small_b,"
		     "dec_small_c,dec_large_a,dec_large_b,dec_large_c\n"
		     "facebook/opt-13b,2,95,14.743,0.0685772,2.44957e-06,13.2948,0.000341092,"
		     "0.0629639,10.6387,0.000311834,0.0856291\n");
	assert_i64(f->in.n_fixed, 1);
	s = f->in.fixed;
	assert_string_equal(s->model, "opt-13b");
	assert_i64(s->tp, 2);
	assert_i64(s->small_max, 94);
	assert_real(s->prefill_ns[0], 14.743e6);
	assert_real(s->prefill_ns[2], 2.44957);
	assert_real(s->small_ns[1], 341.092);
	assert_real(s->large_ns[2], 85629.1);
	assert_real(s->mixed_share, 1);
	assert_i64(s->decode_held_out.folds, 0);
}

static void test_splitwise(void **state)
{
	struct fixture *f = *state;
	const struct points *p;

	read_text(f, "model,hardware,prompt_size,batch_size,token_size,peak_power,average_power,"
		     "prompt_time,token_time,e2e_time,tensor_parallel\n"
		     "llama2-70b,a100-80gb,512,2,128,1,0.7,196,54,7168,8\n"
		     "llama2-70b,h100-80gb,512,2,128,1,0.7,100,27,3600,8\n");
	assert_i64(f->in.n_steps, 1);
	assert_string_equal(f->in.steps[0].model, "llama-2-70b");
	assert_i64(f->in.steps[0].tp, 8);
	p = &f->in.steps[0].points;
	assert_i64(p->n, 2);
	assert_i64(p->at[0].op, OP_STEP);
	assert_i64(p->at[0].prefill_seq, 2);
	assert_i64(p->at[0].new_tok, 512);
	assert_real(p->at[0].ns, 100e6);
	assert_i64(p->at[1].decode_seq, 2);
	assert_i64(p->at[1].decode_ctx, 2 * (512 + 64));
	assert_i64(f->in.files[0].skip[0].rows, 1);
}

static void test_plain_steps(void **state)
{
	struct fixture *f = *state;
	const struct points *p;

	f->in.tp = 2;
	read_text(f, "phase,batch,prompt_tokens,context_tokens,seconds\n"
		     "prefill,2,1024,0,0.08\n"
		     "decode,8,0,8000,0.02\n"
		     "mixed,8,256,8000,0.03\n"
		     "prefill,1,1024,4096,0.08\n");
	assert_i64(f->in.n_steps, 1);
	assert_string_equal(f->in.steps[0].model, "llama-3.1-8b");
	assert_i64(f->in.steps[0].tp, 2);
	p = &f->in.steps[0].points;
	assert_i64(p->n, 3);
	assert_i64(p->at[0].prefill_seq, 2);
	assert_i64(p->at[0].new_tok, 512);
	assert_real(p->at[0].ns, 80e6);
	assert_i64(p->at[1].decode_seq, 8);
	assert_i64(p->at[1].decode_ctx, 8000);
	assert_i64(p->at[2].prefill_seq, 1);
	assert_i64(p->at[2].new_tok, 256);
	assert_i64(p->at[2].decode_seq, 8);
	assert_i64(f->in.files[0].skip[0].rows, 1);
}

/* What is refused */

#define GEMM  "gemm_dtype,m,n,k,latency_ms\n"
#define STEPS "phase,batch,prompt_tokens,context_tokens,seconds\n"

static void test_bad_rows(void **state)
{
	static const char *const bad[][2] = {
		{GEMM "bfloat16,1,2,3,0\n", ":2: latency_ms is 0"},
		{GEMM "bfloat16,1,2,3,-1\n", ":2: latency_ms: '-1' is not a number from 0 to"},
		{GEMM "bfloat16,1,2,3,nan\n", ":2: latency_ms: 'nan'"},
		{GEMM "bfloat16,1,2,3,inf\n", ":2: latency_ms: 'inf'"},
		{GEMM "bfloat16,1,2,3,1e999\n", ":2: latency_ms: '1e999'"},
		{GEMM "bfloat16,1,2,3,\n", ":2: latency_ms: ''"},
		{GEMM "bfloat16,1,2,3,1\nbfloat16,0,2,3,1\n", ":3: m: '0' is not a whole number"},
		{GEMM "bfloat16,1.5,2,3,1\n", ":2: m: '1.5' is not a whole number"},
		{GEMM "bfloat16,1,2,3\n", ":2: the row has 4 columns, the header 5"},
		{GEMM, "has a header and no rows"},
		{GEMM "int8,1,2,3,1\n", "none of its 1 rows can be taken: gemm_dtype int8"},
		{"attn_dtype,kv_dtype,num_heads,num_kv_heads,batch,kv_len,latency_ms\n"
		 "bfloat16,bfloat16,32,5,1,1,1\n",
		 ":2: num_kv_heads does not divide num_heads"},
		{"prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n0,0,0,16,8\n",
		 ":2: prefill_chunk and n_decode are both 0"},
		{"prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n0,0,1,0,8\n",
		 ":2: kv_decode is 0"},
		{STEPS "idle,1,0,1,1\n",
		 ":2: phase is 'idle': it must be prefill, decode or mixed"},
		{STEPS "prefill,3,1000,0,1\n", ":2: prompt_tokens is 1000 for 3 prompts"},
		{STEPS "prefill,1,0,0,1\n", ":2: prompt_tokens is 0"},
		{STEPS "decode,8,0,7,1\n", ":2: context_tokens is below batch"},
		{"nothing,known\n1,2\n",
		 ":1: 'nothing,known' is no header that is known; known are: gemm, "},
		{"phase,batch,prompt,context,seconds\n1,2\n",
		 "is no header that is known; nearest is whole-steps: "
		 "phase,batch,prompt_tokens,context_tokens,seconds; known are"},
		{"tp,num_tokens,emb_ms,other_ms\n1,2\n", "mlp_down_proj_ms,add_ms; known are"},
		{"", "is empty: a table begins with its header"},
		{"prefill_length,chunk_size,prefill_execution_time,prefill_execution_time_"
		 "relative\n"
		 "2047,512,435,1.15\n",
		 "is no time of one step"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuse(*state, bad[i][0], bad[i][1]);
}

static void test_needs_a_model(void **state)
{
	struct fixture *f = *state;

	f->in.model = NULL;
	refuse(f, "layer,tokens,time_us\nqkv_proj,8,1\n", "-m MODEL (and --tp N) is missing");
}

static void test_no_file(void **state)
{
	struct fixture *f = *state;
	struct err e;

	assert_refused(import_read(&f->in, testing_path("none.csv"), &e), e, "none.csv");
}

/* The published tables */

static void read_shared(struct fixture *f, const char *path)
{
	struct err e;

	assert_fine(import_read(&f->in, path, &e), e);
}

static void test_published_kernels(void **state)
{
	struct fixture *f = *state;
	shared_or_skip(gemm, "measured/kernels/a100_sxm.sglang-0.5.10.gemm.csv");
	shared_or_skip(reduce, "measured/kernels/a100_sxm.vllm-0.14.0.allreduce.csv");
	shared_or_skip(nccl, "measured/kernels/a100_sxm.nccl-2.27.3.csv");

	read_shared(f, gemm);
	assert_i64(f->in.points.n, 18870);
	read_shared(f, reduce);
	assert_i64(f->in.points.n, 18870 + 69);
	read_shared(f, nccl);
	assert_i64(f->in.points.n, 18870 + 69 + 63);
	import_fastest(&f->in);
	/* the sizes of both tables but the smallest, of one, are the same */
	assert_i64(f->in.points.n, 18870 + 3 * 23);
}

/* The table of unequal lengths is one of three layers: the same sizes are in both. */
static void test_published_skew_is_of_three_layers(void **state)
{
	struct fixture *f = *state;
	shared_or_skip(equal, "measured/vllm-rtxpro6000/RTXPRO6000.Llama-3.1-8B.tp1.attention.csv");
	shared_or_skip(skewed,
		       "measured/vllm-rtxpro6000/RTXPRO6000.Llama-3.1-8B.tp1.skew_decode.csv");
	struct err e;
	struct table *t = table_open(skewed, &e);
	size_t near = 0, both = 0;

	read_shared(f, equal);
	assert_non_null(t);
	while (table_next(t) > 0) {
		int64_t n = table_int(t, "n", 1, 1000), kv = table_int(t, "kv_big", 1, 100000);
		double ns = table_ns(t, "t_max_us", 1e3);

		for (size_t i = 0; i < f->in.points.n; i++) {
			const struct point *p = &f->in.points.at[i];

			if (p->op != OP_DECODE || p->decode_seq != n || p->decode_ctx != n * kv)
				continue;
			both++;
			near += ns > 2.85 * p->ns && ns < 3.15 * p->ns;
		}
	}
	table_close(t);
	assert_true(both > 300);
	assert_true(near > both * 9 / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
		TEST(test_gemm),
		TEST(test_attention_kernels),
		TEST(test_collectives),
		TEST(test_attention_of_a_chunk),
		TEST(test_skew),
		TEST(test_dense_and_per_sequence),
		TEST(test_vidur_linear),
		TEST(test_published_coefficients),
		TEST(test_splitwise),
		TEST(test_plain_steps),
		TEST(test_bad_rows),
		TEST(test_needs_a_model),
		TEST(test_no_file),
		TEST(test_published_kernels),
		TEST(test_published_skew_is_of_three_layers),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
