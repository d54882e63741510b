/* The memory budget agrees with what real servers print. */

#include "calibrate/memory.h"
#include "sim/sim.h"
#include "tests/kv_token.h"
#include "tests/load.h"
#include "tests/testing.h"
#include <math.h>
#include <string.h>

static const int64_t gib = (int64_t)1 << 30;

static struct memory_want wants(void)
{
	struct memory_want w;
	memory_want_default(&w);
	return w;
}

static struct memory_budget budget(const char *model, const char *dev, const struct memory_want *w)
{
	struct model m = load_model(model);
	struct memory_budget b;
	memory_budget(&m, load_device(dev), w, &b);
	return b;
}

/*
 * case 11: Llama-3.1-8B on 24 GiB at 0.9. Without a reserve 54,400 tokens; the real server had
 * 41,408, which is a reserve of 1.586 GiB (12,992 tokens of 131,072 bytes), give or take a block.
 */
static void test_the_reserve_is_explicit(void **state)
{
	(void)state;
	struct memory_want w = wants();
	w.memory_bytes = 24 * gib;
	w.reserve_bytes = 0;
	assert_i64(budget("llama-3.1-8b", "a100-80g", &w).tokens, 54400);
	w.reserve_bytes = (int64_t)(54400 - 41408) * 131072;
	struct memory_budget b = budget("llama-3.1-8b", "a100-80g", &w);
	assert_i64(b.tokens, 41408);
	assert_i64(b.usable_bytes - b.weights_bytes - b.reserve_bytes, b.kv_bytes);
	/* the default reserve is near the real one, and on the safe side */
	w.reserve_bytes = -1;
	b = budget("llama-3.1-8b", "a100-80g", &w);
	assert_near(b.reserve_bytes / (double)gib, 1.586, 0.15);
	assert_near(b.tokens, 41408, 0.03 * 41408);
}

/* A real server printed `kv_gib` (rounded to 0.01) and `tokens`: some size that rounds so gives
 * them. */
static void printed(const char *model, int64_t kv_bits, double kv_gib, int64_t tokens)
{
	struct model m = load_model(model);
	struct memory_want w = wants();
	w.utilization = 1;
	w.reserve_bytes = 0;
	w.kv_bits = kv_bits;
	int64_t weights = model_weights_bytes(&m, 1), b = kv_token_bytes(&m, 1, kv_bits);
	w.memory_bytes = weights + (int64_t)ceil((kv_gib - 0.005) * (double)gib);
	int64_t fewest = budget(model, "h200", &w).tokens;
	w.memory_bytes = weights + (int64_t)floor((kv_gib + 0.005) * (double)gib);
	int64_t most = budget(model, "h200", &w).tokens;
	assert_true(fewest <= tokens && tokens <= most);
	assert_true((double)(most - fewest) < 0.011 * (double)gib / (double)b + 16);
	/* and its bytes give it exactly; one byte less is a block less */
	w.memory_bytes = weights + tokens * b;
	assert_i64(budget(model, "h200", &w).tokens, tokens);
	w.memory_bytes--;
	assert_i64(budget(model, "h200", &w).tokens, tokens - 16);
}

/* case 23 */
static void test_tokens_that_servers_printed(void **state)
{
	(void)state;
	printed("llama-3.1-8b", 16, 5.29, 43296);
	printed("qwen3-14b", 16, 6.51, 42656);
	printed("qwen3-30b-a3b", 8, 10.55, 230528);
	assert_near(42656 / 32768.0, 1.30, 0.005);
	assert_near(230528 / 100000.0, 2.31, 0.005);
}

/* case 23: blocks of 16 in 4 GiB of host memory, as an instance of a run has them */
static void test_swap_blocks(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int64_t blocks;
	} cases[] = {{"opt-125m", 7281}, {"llama-3-8b", 2048}, {"llama-2-7b", 512}, {"phi-2", 819}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct memory_want w = wants();
		struct memory_budget b = budget(cases[i].name, "h200", &w);
		struct hardware hw = {.block_tok = w.block_tok, .kv_token_bytes = b.kv_token_bytes};
		assert_i64(hardware_host_blocks(&hw, 4), cases[i].blocks);
		assert_i64(hardware_host_blocks(&hw, 0), 0);
	}
	/* nothing is known of the size */
	assert_i64(hardware_host_blocks(&(struct hardware){.block_tok = 16}, 4), INT64_MAX);
}

static void test_overrides_are_never_overwritten(void **state)
{
	(void)state;
	struct memory_want w = wants();
	w.kv_tokens = 1000;
	struct memory_budget b = budget("llama-3-8b", "h200", &w);
	assert_i64(b.blocks, 62); /* floor(1000 / 16) */
	assert_i64(b.tokens, 992);
	assert_i64(b.kv_bytes, 992 * 131072);
	assert_true(b.overridden);
	w = wants();
	w.kv_blocks = 1000000000; /* more than fits */
	b = budget("llama-3-8b", "h200", &w);
	assert_i64(b.blocks, 1000000000);
	assert_true(b.left_bytes < b.kv_bytes);
	w.kv_blocks = 7;
	assert_i64(budget("llama-3-70b", "h100", &w).blocks, 7); /* though the weights do not fit */
}

/* The lines add up, in bytes, for the H200 that reports 143,771 MiB. */
static void test_a_budget_by_hand(void **state)
{
	(void)state;
	struct memory_want w = wants();
	w.reserve_bytes = 2 * gib;
	struct memory_budget b = budget("llama-3-8b", "h200", &w);
	assert_i64(b.memory_bytes, 150754820096);
	assert_i64(b.usable_bytes, 135679338086); /* floor of nine tenths */
	assert_i64(b.weights_bytes, 16060522496);
	assert_i64(b.kv_bytes, 135679338086 - 16060522496 - 2147483648);
	assert_i64(b.blocks, 56014); /* 117,471,331,942 / 2,097,152 = 56,014.7 */
	assert_i64(b.tokens, 56014 * 16);
	w.block_tok = 1;
	assert_i64(budget("llama-3-8b", "h200", &w).tokens, 896235); /* 896,235.1 */
}

/* One GiB, and 8192 x (4 x 4096 + 2 x 14336) x 2 bytes */
static void test_default_reserve(void **state)
{
	(void)state;
	struct model m = load_model("llama-3-8b"), moe = load_model("qwen3-30b-a3b");
	assert_i64(memory_default_reserve(&m, 1), gib + 8192LL * 45056 * 2);
	assert_i64(memory_default_reserve(&m, 2), gib + 8192LL * (16384 + 14336) * 2);
	assert_i64(memory_default_reserve(&moe, 1), gib + 8192LL * (8192 + 2 * 8 * 768) * 2);
}

static void test_a_negative_budget_says_what_would_do(void **state)
{
	(void)state;
	struct err e;
	struct model m = load_model("llama-3-70b");
	struct memory_want w = wants();
	struct memory_budget b;
	memory_budget(&m, load_device("h100"), &w, &b);
	assert_true(b.kv_bytes < 0);
	assert_i64(b.blocks, 0);
	assert_i64(b.tokens, 0);
	assert_refused(memory_check(&m, load_device("h100"), &w, &b, &e), e, "--tp 2");
	/* what it says is true */
	w.tp = 2;
	memory_budget(&m, load_device("h100"), &w, &b);
	assert_fine(memory_check(&m, load_device("h100"), &w, &b, &e), e);
	/* Llama-2-7B in 0.17 of an A100: 13.5 GB of 14.6, less 1.6 GiB */
	struct model small = load_model("llama-2-7b");
	w = wants();
	w.utilization = 0.17;
	memory_budget(&small, load_device("a100-80g"), &w, &b);
	assert_refused(memory_check(&small, load_device("a100-80g"), &w, &b, &e), e, "-d h200");
	assert_refused(memory_check(&small, load_device("a100-80g"), &w, &b, &e), e,
		       "--utilization 0.18");
	w.utilization = 0.18;
	memory_budget(&small, load_device("a100-80g"), &w, &b);
	assert_fine(memory_check(&small, load_device("a100-80g"), &w, &b, &e), e);
	/* too large for anything */
	struct model huge = load_model("deepseek-v3");
	w = wants();
	w.memory_bytes = gib;
	memory_budget(&huge, load_device("a100-80g"), &w, &b);
	assert_refused(memory_check(&huge, load_device("a100-80g"), &w, &b, &e), e,
		       "no tp, pp, utilization");
	/* 52 heads are not split in 8, but 60 layers are: 65 GB of weights on cards of 24 GB */
	struct model vicuna = load_model("vicuna-33b");
	w = wants();
	w.tp = 4;
	w.memory_bytes = 14 * gib;
	memory_budget(&vicuna, load_device("rtx-4090"), &w, &b);
	assert_refused(memory_check(&vicuna, load_device("rtx-4090"), &w, &b, &e), e, "--pp 2");
	w.pp = 2;
	memory_budget(&vicuna, load_device("rtx-4090"), &w, &b);
	assert_fine(memory_check(&vicuna, load_device("rtx-4090"), &w, &b, &e), e);
}

/* DeepSeek-R1 on two stages of 8 H100s: what is proposed holds beside --pp 2. */
static void test_advice_holds_with_the_stages_given(void **state)
{
	(void)state;
	struct err e;
	struct model m = load_model("deepseek-r1");
	struct memory_want w = wants();
	struct memory_budget b;
	w.tp = 8;
	w.pp = 2;
	memory_budget(&m, load_device("h100"), &w, &b);
	assert_refused(memory_check(&m, load_device("h100"), &w, &b, &e), e,
		       "deepseek-r1 at tp 8, pp 2, on h100 leaves");
	assert_refused(memory_check(&m, load_device("h100"), &w, &b, &e), e,
		       "do: --tp 16, or -d h200");
	memory_budget(&m, load_device("h200"), &w, &b);
	assert_fine(memory_check(&m, load_device("h200"), &w, &b, &e), e);
	w.tp = 16;
	memory_budget(&m, load_device("h100"), &w, &b);
	assert_fine(memory_check(&m, load_device("h100"), &w, &b, &e), e);
	/* each is needed: without the stages neither does */
	w.pp = 1;
	memory_budget(&m, load_device("h100"), &w, &b);
	assert_refused(memory_check(&m, load_device("h100"), &w, &b, &e), e,
		       "deepseek-r1 at tp 16 on h100 leaves");
}

/* Two bits hold 16 / 3 as many tokens; whole blocks take a little off. */
static void test_more_room_never_holds_less(void **state)
{
	(void)state;
	size_t n;
	const struct model *list = model_list(&n);
	for (size_t i = 0; i < n; i++) {
		int64_t last = 0;
		for (int64_t g = 8; g <= 2048; g *= 2) {
			struct memory_want w = wants();
			struct memory_budget b;
			w.memory_bytes = g * gib;
			memory_budget(&list[i], load_device("h200"), &w, &b);
			assert_true(b.tokens >= last);
			last = b.tokens;
			w.kv_bits = 2;
			memory_budget(&list[i], load_device("h200"), &w, &b);
			assert_true(b.tokens >= last * 5); /* 16 / 3, rounded to blocks */
		}
		assert_true(last > 0);
	}
}

/*
 * gpt-oss-20b with 10 GiB for KV: a block is 16 slots of 12 layers, 393,216 bytes; Mistral v0.1: of
 * all 32 layers, 2 MiB.
 */
static void test_pools_with_windows(void **state)
{
	(void)state;
	struct memory_want w = wants();
	struct model oss = load_model("gpt-oss-20b"), mistral = load_model("mistral-7b-v0.1");
	w.utilization = 1;
	w.reserve_bytes = 0;
	w.memory_bytes = model_weights_bytes(&oss, 1) + 10 * gib;
	struct memory_budget b = budget("gpt-oss-20b", "h100", &w);
	assert_i64(b.kv_token_bytes, 24576);
	assert_i64(b.blocks, 27306); /* 10,737,418,240 / 393,216 = 27,306.7 */
	w.memory_bytes = model_weights_bytes(&mistral, 1) + 10 * gib;
	assert_i64(budget("mistral-7b-v0.1", "h100", &w).blocks, 5120);
}

/*
 * Llama-3-70B on two stages of an H100: half of the layers' weights and one of the embeddings, KV
 * of 40 layers: 163,840 bytes a token.
 */
static void test_a_stage(void **state)
{
	(void)state;
	struct memory_want w = wants();
	struct model m = load_model("llama-3-70b");
	w.pp = 2;
	struct memory_budget b = budget("llama-3-70b", "h100", &w);
	int64_t head = 128256LL * 8192;
	assert_i64(b.weights_bytes, 70553706496 - 8192 - 2 * head + 2 * (head + 8192));
	assert_i64(b.kv_token_bytes, 163840);
	assert_i64(b.reserve_bytes, memory_default_reserve(&m, 1));
	assert_true(b.blocks > 0);
}

static void test_devices(void **state)
{
	(void)state;
	struct device d;
	struct err e;
	assert_refused(device_load(&d, "h300", &e), e, "a100-80g, h100, h200");
	assert_i64(load_device("a100-80g")->memory_bytes, 85899345920); /* 80 GiB */
	size_t n;
	const struct device *list = device_list(&n);
	for (size_t i = 0; i < n; i++) {
		d = list[i];
		assert_true(d.gemm_bytes_s < d.peak_bytes_s && d.gemm_bytes_s > d.peak_bytes_s / 2);
		assert_true(d.gemm_flops < d.peak_flops && d.gemm_flops > d.peak_flops / 2);
		assert_true(d.pcie_bytes_s > 0 && d.network_bytes_s > 0 && d.summary[0]);
		assert_true(d.nvlink_bytes_s == 0 || d.nvlink_bytes_s > d.pcie_bytes_s);
	}
}

/* Data sheets: H100 900 GB/s both ways, PCIe 5; an L40S has no NVLink. */
static void test_links(void **state)
{
	(void)state;
	const struct device *h100 = load_device("h100"), *l40s = load_device("l40s");
	assert_near(device_link_bytes_s(h100, LINK_NVLINK), 450e9, 0);
	assert_near(device_link_bytes_s(h100, LINK_PCIE), 50e9, 0);
	assert_near(device_link_bytes_s(h100, LINK_NETWORK), 50e9, 0);
	assert_near(device_node_bytes_s(h100), 450e9, 0);
	assert_near(device_link_bytes_s(l40s, LINK_NVLINK), 0, 0);
	assert_near(device_node_bytes_s(l40s), 25e9, 0);
}

#define NEEDED                                                                                     \
	"\"memory_bytes\": 85899345920, \"peak_bytes_s\": 2e12, \"peak_flops\": 3e14,"             \
	" \"pcie_bytes_s\": 25000000000"

static void test_a_device_of_ones_own(void **state)
{
	(void)state;
	struct device d;
	struct err e;
	assert_fine(device_load(&d, testing_file("mine.json", "{" NEEDED "}"), &e), e);
	assert_string_equal(d.name, "mine");
	assert_i64(d.memory_bytes, 85899345920);
	assert_near(d.pcie_bytes_s, 25e9, 0); /* an integer is a number */
	assert_near(d.gemm_bytes_s, 0.85 * 2e12, 1);
	assert_near(d.gemm_flops, 0.8 * 3e14, 1);
	assert_near(d.nvlink_bytes_s, 0, 0);
	assert_near(d.host_us, 0, 0);
	assert_fine(
		device_load(&d,
			    testing_file("x.json",
					 "{" NEEDED ", \"name\": \"npu\", \"summary\": \"ours\","
					 "\"nvlink_bytes_s\": 1e11, \"gemm_flops\": 1e14,"
					 "\"host_us\": 800, \"host_seq_us\": 2.5}"),
			    &e),
		e);
	assert_string_equal(d.name, "npu");
	assert_string_equal(d.summary, "ours");
	assert_near(d.nvlink_bytes_s, 1e11, 0);
	assert_near(d.gemm_flops, 1e14, 0);
	assert_near(d.host_us, 800, 0);
	assert_near(d.host_seq_us, 2.5, 0);
}

/* The sentence names the file and the field. */
static void test_bad_devices(void **state)
{
	(void)state;
	static const char *const bad[][2] = {
		{"", "not valid JSON"},
		{"[1]", "an array: it must be an object"},
		{"{}", "memory_bytes is missing"},
		{"{\"memory_bytes\": 1000, \"peak_bytes_s\": 1e12}", "peak_flops is missing"},
		{"{" NEEDED ", \"peak_flop\": 1}",
		 "unknown field 'peak_flop', nearest is 'peak_flops'"},
		{"{" NEEDED ", \"memory_bytes\": 1}", "not valid JSON"}, /* twice */
		{"{" NEEDED ", \"host_us\": \"1\"}", "host_us is a string: it must be a number"},
		{"{" NEEDED ", \"host_us\": -1}", "host_us is -1: it must be from 0"},
		{"{" NEEDED ", \"host_us\": 1e9}",
		 "host_us is 1000000000: it must be from 0 to 1000000"},
		{"{" NEEDED ", \"network_bytes_s\": 0}", "network_bytes_s is 0"},
		{"{" NEEDED ", \"gemm_bytes_s\": 2.1e12}", "at most peak_bytes_s"},
		{"{" NEEDED ", \"gemm_flops\": 4e14}", "at most peak_flops"},
		{"{" NEEDED ", \"name\": \"\"}", "name has 0 bytes"},
		{"{" NEEDED ", \"name\": \"a\\nb\"}", "name has a control character"},
		{"{" NEEDED ", \"name\": 5}", "name is an integer"},
		{"{\"memory_bytes\": 8e10, \"peak_bytes_s\": 2e12, \"peak_flops\": 3e14,"
		 "\"pcie_bytes_s\": 1e9}",
		 "memory_bytes is a real number"},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct device d = {.name = "untouched"};
		struct err e;
		assert_refused(device_load(&d, testing_file("bad.json", bad[i][0]), &e), e,
			       bad[i][1]);
		assert_true(strstr(e.text, "bad.json") != NULL);
		assert_string_equal(d.name, "untouched");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_reserve_is_explicit),
		cmocka_unit_test(test_tokens_that_servers_printed),
		cmocka_unit_test(test_swap_blocks),
		cmocka_unit_test(test_overrides_are_never_overwritten),
		cmocka_unit_test(test_a_budget_by_hand),
		cmocka_unit_test(test_default_reserve),
		cmocka_unit_test(test_a_negative_budget_says_what_would_do),
		cmocka_unit_test(test_advice_holds_with_the_stages_given),
		cmocka_unit_test(test_more_room_never_holds_less),
		cmocka_unit_test(test_pools_with_windows),
		cmocka_unit_test(test_a_stage),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_a_device_of_ones_own),
		cmocka_unit_test(test_bad_devices),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
