/* Shapes: what is counted agrees with what is published, whichever way a shape comes in. */

#include "calibrate/model.h"
#include "tests/kv_token.h"
#include "tests/testing.h"
#include <string.h>

static struct model load(const char *name)
{
	struct model m;
	struct err e;
	assert_fine(model_load(&m, name, &e), e);
	return m;
}

/*
 * Numbers of parameters as the model's files on Hugging Face hold them (the sum over their
 * tensors); DeepSeek-V3 and R1 are the main model alone, 671B of the 685B there; those of gpt-oss
 * are in billions in its model card (20.91 and 116.83), where files count packed numbers: their
 * exact figures here are this arithmetic's, as are those of the two large OPTs and GPT-3, given in
 * billions by their papers (arXiv 2205.01068, 2005.14165).
 */
static void test_parameters_are_the_published_ones(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int64_t params;
	} published[] = {
		{"opt-125m", 125239296},
		{"opt-13b", 12853473280},
		{"llama-2-7b", 6738415616},
		{"llama-2-13b", 13015864320},
		{"llama-2-70b", 68976648192},
		{"llama-3-8b", 8030261248},
		{"llama-3-70b", 70553706496},
		{"llama-3.1-8b", 8030261248},
		{"llama-3.1-405b", 405853388800},
		{"mistral-7b", 7241732096},
		{"qwen2.5-7b", 7615616512},
		{"qwen2.5-14b", 14770033664},
		{"qwen3-4b", 4022468096},
		{"qwen3-14b", 14768307200},
		{"qwen3-32b", 32762123264},
		{"qwen3-30b-a3b", 30532122624},
		{"deepseek-v2-lite", 15706484224},
		{"deepseek-v3", 671026419200},
		{"deepseek-r1", 671026419200},
		{"llama-13b", 13015864320},
		{"vicuna-33b", 32528943616},
		{"mistral-7b-v0.1", 7241732096},
		{"mixtral-8x7b", 46702792704},
		{"mixtral-8x22b", 140620634112},
		{"yi-34b", 34388917248},
		{"falcon-180b", 179522565120},
		{"gemma-2-9b", 9241705984},
		{"gemma-2-27b", 27227128320},
		{"qwen2.5-32b", 32763876352},
		{"qwen2.5-72b", 72706203648},
		{"qwen3-8b", 8190735360},
		{"qwen3-235b-a22b", 235093634560},
		{"gpt-oss-20b", 20914757184},
		{"gpt-oss-120b", 116829156672},
		{"phi-2", 2779683840},
		{"phi-4", 14659507200},
	};
	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		struct model m = load(published[i].name);
		print_message("%s\n", m.name);
		assert_i64(model_params(&m), published[i].params);
	}
	struct model opt66 = load("opt-66b"), opt175 = load("opt-175b");
	assert_near(model_params(&opt66) / 1e9, 66, 0.5);
	assert_near(model_params(&opt175) / 1e9, 175, 0.5);
	struct model gpt3 = load("gpt-3-175b"), oss20 = load("gpt-oss-20b"),
		     oss120 = load("gpt-oss-120b");
	assert_near(model_params(&gpt3) / 1e9, 175, 0.5);
	assert_near(model_params(&oss20) / 1e9, 20.91, 0.005);
	assert_near(model_params(&oss120) / 1e9, 116.83, 0.005);
}

/*
 * Qwen and Mistral count the embedding (3.3B, 22B; 12.9B, 39B); DeepSeek does not (36.6B,
 * "including 0.9B for the head"; 2.4B), nor does gpt-oss (3.61B, 5.13B).
 */
static void test_active_parameters(void **state)
{
	(void)state;
	struct model qwen = load("qwen3-30b-a3b"), v3 = load("deepseek-v3");
	struct model lite = load("deepseek-v2-lite"), llama = load("llama-3-8b");
	assert_near(model_active_params(&qwen) / 1e9, 3.3, 0.06);
	assert_near((model_active_params(&v3) - v3.vocab * v3.hidden) / 1e9, 36.6, 0.05);
	assert_near((model_active_params(&lite) - lite.vocab * lite.hidden) / 1e9, 2.4, 0.06);
	assert_i64(model_active_params(&llama), model_params(&llama));
	struct model large = load("qwen3-235b-a22b"), mix7 = load("mixtral-8x7b"),
		     mix22 = load("mixtral-8x22b");
	assert_near(model_active_params(&large) / 1e9, 22, 0.2);
	assert_near(model_active_params(&mix7) / 1e9, 12.9, 0.05);
	assert_near(model_active_params(&mix22) / 1e9, 39, 0.2);
	struct model oss20 = load("gpt-oss-20b"), oss120 = load("gpt-oss-120b");
	assert_near((model_active_params(&oss20) - oss20.vocab * oss20.hidden) / 1e9, 3.61, 0.005);
	assert_near((model_active_params(&oss120) - oss120.vocab * oss120.hidden) / 1e9, 5.13,
		    0.005);
}

/* Published sizes of the checkpoints: 12.8 and 60.8 GiB; experts in MXFP4, the rest in 16 bits. */
static void test_weights_in_fewer_bits(void **state)
{
	(void)state;
	struct model small = load("gpt-oss-20b"), large = load("gpt-oss-120b");
	double gib = 1073741824;
	assert_near(model_weights_bytes(&small, 1) / gib, 12.8, 0.05);
	assert_near(model_weights_bytes(&large, 1) / gib, 60.8, 0.05);
	/* by hand: 24 x 32 x 3 x 2880 x 2880 numbers of 17 / 32 bytes */
	int64_t matrices = 24LL * 32 * 3 * 2880 * 2880;
	assert_i64(model_weights_bytes(&small, 1),
		   2 * (20914757184 - matrices) + matrices / 32 * 17);
	/* a token reads 4 of the 32, and no embedding */
	assert_i64(model_streamed_token_bytes(&small, 1),
		   2 * (20914757184 - matrices - 24LL * 28 * (3 * 2880) - 201088LL * 2880) +
			   matrices / 8 / 32 * 17);
}

/* case 22 */
static void test_kv_bytes_a_token(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int64_t bytes;
	} cases[] = {
		{"llama-3-8b", 131072},	 {"mistral-7b", 131072},  {"llama-2-7b", 524288},
		{"opt-13b", 819200},	 {"llama-2-13b", 819200}, {"llama-3-70b", 327680},
		{"qwen2.5-7b", 57344},	 {"qwen3-4b", 147456},	  {"deepseek-v3", 70272},
		{"qwen3-14b", 163840},	 {"opt-125m", 36864},	  {"phi-2", 327680},
		{"llama-2-70b", 327680},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model m = load(cases[i].name);
		print_message("%s\n", m.name);
		assert_i64(kv_token_bytes(&m, 1, 16), cases[i].bytes);
	}
}

/*
 * case 22: no single figure, two terms. Gemma-2-9B: 21 of 42 layers with a window of 4096, 2 x 21 x
 * 8 x 256 x 2 bytes each; Mistral v0.1: all 32; gpt-oss-20b: 12 of 24, 2 x 12 x 8 x 64 x 2.
 */
static void test_kv_bytes_with_windows(void **state)
{
	(void)state;
	struct model gemma = load("gemma-2-9b"), mistral = load("mistral-7b-v0.1"),
		     oss = load("gpt-oss-20b"), llama = load("llama-3-8b");
	struct model_kv kv;
	model_kv(&gemma, 1, 1, 16, &kv);
	assert_i64(kv.full_bytes, 172032);
	assert_i64(kv.window_bytes, 172032);
	assert_i64(kv_token_bytes(&gemma, 1, 16), 344064);
	assert_i64(kv.window_share, 1);
	assert_i64(kv.slot_bytes, 172032);
	assert_i64(model_kv_sequence_bytes(&gemma, &kv, 4096), 4096LL * 344064);
	assert_i64(model_kv_sequence_bytes(&gemma, &kv, 8192), (8192LL + 4096) * 172032);
	assert_i64(model_kv_sequence_blocks(&gemma, &kv, 16, 17), 4);
	assert_i64(model_kv_sequence_blocks(&gemma, &kv, 16, 8192), 512 + 256);
	model_kv(&oss, 8, 1, 8, &kv);
	assert_i64(kv.full_bytes, 24576 / 8 / 2);
	assert_i64(kv.window_bytes, 24576 / 8 / 2);
	model_kv(&mistral, 1, 1, 16, &kv);
	assert_i64(kv.full_bytes, 0);
	assert_i64(kv.window_bytes, 131072);
	assert_true(kv.window_only);
	assert_i64(kv.slot_bytes, 131072);
	assert_i64(model_kv_sequence_bytes(&mistral, &kv, 32768), 4096LL * 131072);
	assert_i64(model_kv_sequence_blocks(&mistral, &kv, 16, 4096), 256);
	assert_i64(model_kv_sequence_blocks(&mistral, &kv, 16, 32768), 256);
	model_kv(&llama, 1, 1, 16, &kv);
	assert_i64(kv.slot_bytes, 131072);
	assert_i64(kv.window_share, 0);
	assert_i64(model_kv_sequence_blocks(&llama, &kv, 16, 8192), 512);
	/* five with a window to one without, as other models have them: 10 of 62 are without */
	llama.layers = 62;
	llama.window_layers = 52;
	llama.window_tok = 1024;
	model_kv(&llama, 1, 1, 16, &kv);
	assert_i64(kv.window_share, 6); /* ceil(5.2): the last group is padded */
}

/*
 * Llama-3-8B in stages: half of the 32 layers and one of the two embeddings of 128256 x 4096, with
 * the last norm; at 3 stages 11 layers. Of DeepSeek-V3, 61 layers, 3 of them dense, at 8 stages: 8
 * layers with experts. A tied embedding is on the first and on the last stage.
 */
static void test_stages(void **state)
{
	(void)state;
	struct model llama = load("llama-3-8b"), v3 = load("deepseek-v3"), qwen = load("qwen3-4b");
	struct model_kv kv;
	int64_t head = 128256LL * 4096, layer = (8030261248 - 2 * head - 4096) / 32;
	assert_i64(model_stage_weights_bytes(&llama, 1, 1), model_weights_bytes(&llama, 1));
	assert_i64(model_stage_weights_bytes(&llama, 1, 2), 2 * (16 * layer + head + 4096));
	assert_i64(model_stage_weights_bytes(&llama, 1, 3), 2 * (11 * layer + head + 4096));
	model_kv(&llama, 2, 3, 16, &kv);
	assert_i64(kv.full_bytes, 131072 / 32 * 11 / 2);
	int64_t expert = 3 * 7168LL * 2048, v3_head = 129280LL * 7168;
	int64_t attention = 7168LL * 1536 + 1536 + 1536LL * 128 * 192 + 7168LL * 576 + 512 +
			    512LL * 128 * 256 + 128 * 128 * 7168LL + 2 * 7168;
	int64_t moe = attention + 257 * expert + 7168 * 256 + 256;
	assert_i64(model_stage_weights_bytes(&v3, 1, 8), 2 * (8 * moe + v3_head + 7168));
	/* one stage a layer: of these 36 the largest is still one and the tied head */
	int64_t qwen_head = 151936LL * 2560, one = (4022468096 - qwen_head - 2560) / 36;
	assert_i64(model_stage_weights_bytes(&qwen, 1, 36), 2 * (one + qwen_head + 2560));
	struct err e;
	assert_fine(model_check_pp(&qwen, 36, &e), e);
	assert_refused(model_check_pp(&qwen, 37, &e), e, "qwen3-4b has 36 layers");
	assert_refused(model_check_pp(&qwen, 0, &e), e, "pp is 0");
}

/*
 * What a stage reads. Llama-3-8B in 3: 11, 11 and 10 layers, and the head on the last. DeepSeek-V3
 * in 8: the three dense layers are on the first, with 5 others; layers 40 to 46 are on the sixth.
 */
static void test_what_stages_read(void **state)
{
	(void)state;
	struct model llama = load("llama-3-8b"), v3 = load("deepseek-v3");
	int64_t head = 128256LL * 4096, layer = (8030261248 - 2 * head - 4096) / 32;
	assert_i64(model_stage_streamed_bytes(&llama, 1, 3, 0), 2 * 11 * layer);
	assert_i64(model_stage_streamed_bytes(&llama, 1, 3, 1), 2 * 11 * layer);
	assert_i64(model_stage_streamed_bytes(&llama, 1, 3, 2), 2 * (10 * layer + head + 4096));
	struct model_stage s = model_stage(&v3, 8, 0);
	assert_i64(s.layers, 8);
	assert_i64(s.dense_layers, 3);
	s = model_stage(&v3, 8, 5);
	assert_i64(s.first_layer, 40);
	assert_i64(s.layers, 7);
	assert_i64(s.dense_layers, 0);
}

/* Stages hold each layer once: they add up to the model, of any built-in one, however it is split.
 * Rounding of weights in fewer bits to bytes is of each stage. */
static void test_stages_add_up(void **state)
{
	(void)state;
	size_t n;
	const struct model *list = model_list(&n);
	for (size_t i = 0; i < n; i++) {
		const struct model *m = &list[i];
		for (int64_t pp = 1; pp <= m->layers; pp++) {
			int64_t layers = 0, dense = 0, window = 0, bytes = 0;
			for (int64_t k = 0; k < pp; k++) {
				struct model_stage s = model_stage(m, pp, k);
				assert_i64(s.first_layer, layers);
				layers += s.layers;
				dense += s.dense_layers;
				window += s.window_layers;
				bytes += model_stage_streamed_bytes(m, 1, pp, k);
			}
			assert_i64(layers, m->layers);
			assert_i64(dense, m->experts ? m->dense_layers : 0);
			assert_i64(window, m->window_layers);
			assert_near(bytes, model_streamed_bytes(m, 1), m->expert_bits > 0 ? pp : 0);
		}
	}
}

/*
 * gpt-oss-120b: every other of 36 layers has a window, from the first on. In 4 stages of 9 the
 * first and third have 5 with and 4 without, the others 4 and 5: 2 x 8 x 64 numbers of 2 bytes a
 * layer. In 2 there are 9 of each.
 */
static void test_windows_in_stages(void **state)
{
	(void)state;
	struct model oss = load("gpt-oss-120b"), llama = load("llama-3-8b");
	struct model_kv kv;
	assert_i64(model_stage(&oss, 4, 0).window_layers, 5);
	assert_i64(model_stage(&oss, 4, 1).window_layers, 4);
	model_kv(&oss, 1, 4, 16, &kv);
	assert_i64(kv.full_bytes, 5 * 2048);
	assert_i64(kv.window_bytes, 4 * 2048);
	assert_i64(kv.slot_bytes, 5 * 2048);
	assert_i64(kv.window_share, 1);
	model_kv(&oss, 1, 2, 16, &kv);
	assert_i64(kv.full_bytes, 9 * 2048);
	assert_i64(kv.window_bytes, 9 * 2048);
	/* five with a window, then one without (Gemma-3): of 12 layers in 2 stages, one in each */
	llama.layers = 12;
	llama.window_layers = 10;
	llama.window_tok = 1024;
	model_kv(&llama, 1, 2, 16, &kv);
	assert_i64(kv.full_bytes, 4096);
	assert_i64(kv.window_bytes, 5 * 4096);
}

/* case 22: Qwen2.5-7B has 4 KV heads; MLA is not divided. */
static void test_kv_bytes_under_tensor_parallelism(void **state)
{
	(void)state;
	struct model qwen = load("qwen2.5-7b"), v3 = load("deepseek-v3"),
		     llama = load("llama-3-8b");
	assert_i64(kv_token_bytes(&qwen, 2, 16), 28672);
	assert_i64(kv_token_bytes(&qwen, 4, 16), 14336);
	assert_i64(kv_token_bytes(&qwen, 8, 16), 14336);
	assert_i64(kv_token_bytes(&v3, 8, 16), 70272);
	assert_i64(kv_token_bytes(&llama, 8, 16), 16384);
	assert_i64(kv_token_bytes(&llama, 16, 16), 16384);
}

/* Of 16 bits: 8 are a half; with 32 bits of scale and zero for 32 numbers 4 are 5 and 2 are 3. */
static void test_kv_in_fewer_bits(void **state)
{
	(void)state;
	struct model m = load("llama-2-7b"), qwen = load("qwen3-30b-a3b");
	assert_i64(kv_token_bytes(&m, 1, 8), 524288 / 2);
	assert_i64(kv_token_bytes(&m, 1, 4), 524288 / 16 * 5);
	assert_i64(kv_token_bytes(&m, 1, 2), 524288 / 16 * 3);
	assert_i64(kv_token_bytes(&qwen, 1, 8), 49152); /* case 23 */
	struct err e;
	assert_fine(model_check_kv_bits(2, &e), e);
	assert_refused(model_check_kv_bits(3, &e), e, "16, 8, 4 or 2");
}

/*
 * Llama-3-70B: 80 layers of 8192 x 10240 + 8192 x 8192 + 3 x 8192 x 28672 = 855,638,016 numbers in
 * linear layers, 68,451,041,280 of 70,553,706,496; 4 bits are 4.5 with a scale of 8 for each 16.
 */
static void test_linear_layers_in_fewer_bits(void **state)
{
	(void)state;
	struct model m = load("llama-3-70b"), oss = load("gpt-oss-20b"), v3 = load("deepseek-v3");
	int64_t linear = INT64_C(68451041280), all = 2 * INT64_C(70553706496);
	int64_t streamed = model_streamed_bytes(&m, 1), stage = model_stage_weights_bytes(&m, 1, 4);
	m.weight_bits = 8;
	assert_i64(model_weights_bytes(&m, 1), all - linear);
	assert_i64(model_streamed_bytes(&m, 1), streamed - linear);
	assert_i64(model_streamed_token_bytes(&m, 1), streamed - linear);
	assert_i64(model_stage_weights_bytes(&m, 1, 4), stage - linear / 4);
	assert_i64(model_stage_streamed_bytes(&m, 1, 4, 0), 20 * (INT64_C(855638016) + 4 * 8192));
	m.weight_bits = 4;
	assert_i64(model_weights_bytes(&m, 1), all - linear / 16 * 23);
	/* experts of fewer bits keep them, those of more do not; routers, norms and ends stay */
	int64_t was = model_weights_bytes(&oss, 1);
	oss.weight_bits = 8;
	assert_i64(model_weights_bytes(&oss, 1), was - 24 * (2880 * 5120 + 4096 * 2880));
	assert_near(model_expert_bits(&oss), 4.25, 0);
	was = model_weights_bytes(&v3, 8);
	v3.weight_bits = 8;
	assert_near(model_expert_bits(&v3), 8, 0);
	assert_true(model_weights_bytes(&v3, 8) > was / 2);
	assert_near(model_weights_bytes(&v3, 8), (double)was / 2, 0.01 * (double)was);
	struct err e;
	assert_fine(model_check_weight_bits(4, &e), e);
	assert_refused(model_check_weight_bits(2, &e), e, "16, 8 or 4");
}

/* case 14 */
static void test_transfer_sizes(void **state)
{
	(void)state;
	struct model llama = load("llama-3-8b"), opt = load("opt-66b");
	int64_t bytes = 4096 * kv_token_bytes(&llama, 1, 16);
	assert_i64(bytes, (int64_t)512 << 20);
	assert_near((double)bytes / 50e9 * 1e3, 10.737, 0.0005);
	assert_i64(512 * kv_token_bytes(&opt, 1, 16), ((int64_t)9 << 30) / 8);
}

/* Everything is split or replicated: tp devices hold at least the model, and little more. */
static void test_weights_of_one_device(void **state)
{
	(void)state;
	size_t n;
	struct err e;
	const struct model *list = model_list(&n);
	for (size_t i = 0; i < n; i++) {
		int64_t whole = model_weights_bytes(&list[i], 1);
		if (list[i].expert_bits <= 0)
			assert_i64(whole, model_params(&list[i]) * list[i].dtype_bytes);
		for (int64_t tp = 2; tp <= 8; tp *= 2) {
			if (model_check_tp(&list[i], tp, &e))
				continue;
			int64_t sum = tp * model_weights_bytes(&list[i], tp);
			assert_true(sum >= whole && (double)sum < 1.15 * (double)whole);
			assert_true(model_streamed_bytes(&list[i], tp) <
				    model_weights_bytes(&list[i], tp) + (list[i].tied ? 1 : 0));
		}
	}
	/* by hand: half of every matrix and of the embeddings, all of the 65 norms of 4096 */
	struct model m = load("llama-3-8b");
	int64_t norms = 65LL * 4096;
	assert_i64(model_weights_bytes(&m, 2), 8030261248 - norms + 2 * norms);
}

/* Read in a step: not the looked-up embedding; a tied one is the head, and is read. */
static void test_streamed_weights(void **state)
{
	(void)state;
	struct model llama = load("llama-3-8b"), qwen = load("qwen3-4b"), opt = load("opt-13b");
	assert_i64(model_streamed_bytes(&llama, 1), 2 * (8030261248 - 128256LL * 4096));
	assert_i64(model_streamed_bytes(&qwen, 1), 2 * 4022468096);
	assert_i64(model_streamed_bytes(&opt, 1), 2 * (12853473280 - 2050LL * 5120));
	struct model moe = load("qwen3-30b-a3b");
	assert_i64(model_streamed_token_bytes(&moe, 1),
		   2 * (model_active_params(&moe) - moe.vocab * moe.hidden));
	assert_i64(model_streamed_token_bytes(&llama, 1), model_streamed_bytes(&llama, 1));
}

static void test_tp_that_does_not_divide(void **state)
{
	(void)state;
	struct err e;
	struct model llama = load("llama-3-8b"), phi = load("phi-4"), qwen = load("qwen2.5-7b");
	assert_fine(model_check_tp(&llama, 16, &e), e);
	assert_refused(model_check_tp(&llama, 3, &e), e, "attention heads");
	assert_refused(model_check_tp(&llama, 0, &e), e, "at least 1");
	assert_refused(model_check_tp(&llama, -2, &e), e, "at least 1");
	assert_refused(model_check_tp(&phi, 4, &e), e, "KV heads"); /* 10 of them */
	assert_refused(model_check_tp(&qwen, 8, &e), e, "heads");   /* 28 of them */
	assert_refused(model_check_tp(&qwen, 7, &e), e, "MLP width");
}

static void test_unknown_names(void **state)
{
	(void)state;
	struct model m;
	struct err e;
	assert_refused(model_load(&m, "llama-3-8", &e), e, "llama-3-8b");
	assert_refused(model_load(&m, "", &e), e, "config.json");
	assert_refused(model_load(&m, "no/such/config.json", &e), e, "no/such/config.json");
	size_t n;
	const struct model *list = model_list(&n);
	for (size_t i = 0; i < n; i++)
		for (const char *p = list[i].name; *p; p++)
			assert_true(strchr("abcdefghijklmnopqrstuvwxyz0123456789.-", *p) != NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parameters_are_the_published_ones),
		cmocka_unit_test(test_active_parameters),
		cmocka_unit_test(test_kv_bytes_a_token),
		cmocka_unit_test(test_weights_in_fewer_bits),
		cmocka_unit_test(test_kv_bytes_with_windows),
		cmocka_unit_test(test_stages),
		cmocka_unit_test(test_what_stages_read),
		cmocka_unit_test(test_stages_add_up),
		cmocka_unit_test(test_windows_in_stages),
		cmocka_unit_test(test_kv_bytes_under_tensor_parallelism),
		cmocka_unit_test(test_kv_in_fewer_bits),
		cmocka_unit_test(test_linear_layers_in_fewer_bits),
		cmocka_unit_test(test_transfer_sizes),
		cmocka_unit_test(test_weights_of_one_device),
		cmocka_unit_test(test_streamed_weights),
		cmocka_unit_test(test_tp_that_does_not_divide),
		cmocka_unit_test(test_unknown_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
