/* Shapes: what is counted agrees with what is published, whichever way a shape comes in. */

#include "calibrate/model.h"
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
 * tensors); DeepSeek-V3 is the main model alone, 671B of the 685B there. The two large OPTs are
 * given in billions by their paper (arXiv 2205.01068): their exact figures here are this
 * arithmetic's.
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
}

/* Qwen counts the embedding (3.3B); DeepSeek does not (36.6B, "including 0.9B for the head"; 2.4B).
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
		assert_i64(model_kv_token_bytes(&m, 1, 16), cases[i].bytes);
	}
}

/* case 22: Qwen2.5-7B has 4 KV heads; MLA is not divided. */
static void test_kv_bytes_under_tensor_parallelism(void **state)
{
	(void)state;
	struct model qwen = load("qwen2.5-7b"), v3 = load("deepseek-v3"),
		     llama = load("llama-3-8b");
	assert_i64(model_kv_token_bytes(&qwen, 2, 16), 28672);
	assert_i64(model_kv_token_bytes(&qwen, 4, 16), 14336);
	assert_i64(model_kv_token_bytes(&qwen, 8, 16), 14336);
	assert_i64(model_kv_token_bytes(&v3, 8, 16), 70272);
	assert_i64(model_kv_token_bytes(&llama, 8, 16), 16384);
	assert_i64(model_kv_token_bytes(&llama, 16, 16), 16384);
}

/* Of 16 bits: 8 are a half; with 32 bits of scale and zero for 32 numbers 4 are 5 and 2 are 3. */
static void test_kv_in_fewer_bits(void **state)
{
	(void)state;
	struct model m = load("llama-2-7b"), qwen = load("qwen3-30b-a3b");
	assert_i64(model_kv_token_bytes(&m, 1, 8), 524288 / 2);
	assert_i64(model_kv_token_bytes(&m, 1, 4), 524288 / 16 * 5);
	assert_i64(model_kv_token_bytes(&m, 1, 2), 524288 / 16 * 3);
	assert_i64(model_kv_token_bytes(&qwen, 1, 8), 49152); /* case 23 */
	struct err e;
	assert_fine(model_check_kv_bits(2, &e), e);
	assert_refused(model_check_kv_bits(3, &e), e, "16, 8, 4 or 2");
}

/* case 14 */
static void test_transfer_sizes(void **state)
{
	(void)state;
	struct model llama = load("llama-3-8b"), opt = load("opt-66b");
	int64_t bytes = 4096 * model_kv_token_bytes(&llama, 1, 16);
	assert_i64(bytes, (int64_t)512 << 20);
	assert_near((double)bytes / 50e9 * 1e3, 10.737, 0.0005);
	assert_i64(512 * model_kv_token_bytes(&opt, 1, 16), ((int64_t)9 << 30) / 8);
}

/* Everything is split or replicated: tp devices hold at least the model, and little more. */
static void test_weights_of_one_device(void **state)
{
	(void)state;
	size_t n;
	struct err e;
	const struct model *list = model_list(&n);
	for (size_t i = 0; i < n; i++) {
		int64_t whole = model_params(&list[i]) * list[i].dtype_bytes;
		assert_i64(model_weights_bytes(&list[i], 1), whole);
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
		cmocka_unit_test(test_kv_bytes_under_tensor_parallelism),
		cmocka_unit_test(test_kv_in_fewer_bits),
		cmocka_unit_test(test_transfer_sizes),
		cmocka_unit_test(test_weights_of_one_device),
		cmocka_unit_test(test_streamed_weights),
		cmocka_unit_test(test_tp_that_does_not_divide),
		cmocka_unit_test(test_unknown_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
