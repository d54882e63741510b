/* What a run runs on, from outside: pipelines, windows, host overhead, memory, devices of one's
 * own. */

#include "tests/run_rows.h"
#include "tests/stored.h"
#include <stdlib.h>
#include <string.h>

/* Ten requests a second apart, 10 tokens in and 5 out, at `-x fixed` 10 ms a step: 50 ms each. */
#define TEN "synth:constant,n=10,rate=1,prompt=10,output=5 " FAST

static void expect_e2e(const char *args, double e2e_s)
{
	assert_row(args, (const struct expect[]){{"completed", 10},
						 {"e2e_mean_s", e2e_s},
						 {"makespan_s", 9 + e2e_s},
						 {.name = NULL}});
}

/* 2 ms a step are added, or hidden behind its 10; 20 ms are not hidden; 1 ms for its one sequence.
 */
static void test_host_overhead(void **state)
{
	(void)state;
	expect_e2e(TEN "-p paged", 0.05);
	expect_e2e(TEN "-p paged:host_us=2000", 0.06);
	expect_e2e(TEN "-p paged:host_us=2000,async=1", 0.05);
	expect_e2e(TEN "-p paged:host_us=20000,async=1", 0.1);
	expect_e2e(TEN "-p paged:host_us=20000", 0.15);
	expect_e2e(TEN "-p paged:host_seq_us=1000", 0.055);
	expect_e2e(TEN "-p paged:host_us=2000,host_seq_us=1000", 0.065);
}

#define DEVICE                                                                                     \
	"{\"memory_bytes\": 85899345920, \"peak_bytes_s\": 2e12, \"peak_flops\": 3e14,"            \
	"\"pcie_bytes_s\": 25e9, \"host_us\": 2000}"

/* A device says what the scheduler takes there; a parameter overrules it. */
static void test_a_device_of_ones_own(void **state)
{
	(void)state;
	char args[1024];
	const char *path = testing_file("npu.json", DEVICE);
	snprintf(args, sizeof(args), TEN "-m llama-3-8b -d %s -p paged", path);
	expect_e2e(args, 0.06);
	snprintf(args, sizeof(args), TEN "-m llama-3-8b -d %s -p paged:host_us=4000", path);
	expect_e2e(args, 0.07);
	snprintf(args, sizeof(args), "synth:constant,n=3 -m llama-3-8b -d %s -p paged", path);
	struct results r = run_rows(args);
	assert_string_equal(row_text(&r, 0, "device"), "npu");
	assert_string_equal(row_text(&r, 0, "times"), "predicted");
	free_rows(&r);
}

/*
 * Two stages of 5 ms: a request alone takes as long as before. Four at once, 1 token each and one a
 * step: 10, then one more every 5 ms, for both batches are always there: 25 ms in all, not 40.
 */
static void test_stages(void **state)
{
	(void)state;
	assert_row(TEN "-p paged --pp 2",
		   (const struct expect[]){{"e2e_mean_s", 0.05}, {"devices", 2}, {.name = NULL}});
	assert_row("synth:constant,n=4,rate=inf,prompt=10,output=1 " FAST
		   "-p paged:max_seqs=1 --pp 2",
		   (const struct expect[]){{"makespan_s", 0.025}, {.name = NULL}});
	assert_row(TEN "-p paged -m llama-3-8b --tp 2 --pp 4 --instances 3",
		   (const struct expect[]){{"devices", 24}, {.name = NULL}});
}

/*
 * Of two stages of Llama-3-8B the second reads 16 layers and the head, 0.535 of the weights. A
 * request alone has a step at a time; two share the stages, and the second is busy throughout: each
 * has a token every 2 x 0.535 of a step. Four stages: one in 4 x 0.302. Fixed times are halved, and
 * both have a token every step.
 */
static void test_stages_are_unequal(void **state)
{
	(void)state;
#define MANY ",rate=inf,prompt=10,output=400 "
	static const struct {
		const char *what, *n;
		double stretch;
	} cases[] = {
		{MANY HW "-p paged --pp 2", "2", 2 * 0.53500},
		{MANY HW "-p paged --pp 4", "4", 4 * 0.30250},
		{MANY HW "-p disaggregated:decode_pp=2", "2", 2 * 0.53500},
		{MANY FAST HW "-p paged --pp 2", "2", 1},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char alone[256], all[256];
		snprintf(alone, sizeof(alone), "synth:constant,n=1%s", cases[i].what);
		snprintf(all, sizeof(all), "synth:constant,n=%s%s", cases[i].n, cases[i].what);
		struct results one = run_rows(alone), many = run_rows(all);
		double stretch =
			row_number(&many, 0, "tpot_p50_s") / row_number(&one, 0, "tpot_p50_s");
		assert_near(stretch, cases[i].stretch, 0.003);
		free_rows(&one);
		free_rows(&many);
	}
#undef MANY
}

/* Slots 10,000: 625 blocks of 16 in layers without a window, 8 more for the last 128 in the others;
 * where each layer has a window of 4096, 256 in all. */
static void test_windows_bound_the_cache(void **state)
{
	(void)state;
#define LONG "synth:constant,n=2,prompt=10000,output=1 -p paged:max_batched_tokens=16384 " FAST
	static const struct {
		const char *args;
		double completed;
	} cases[] = {
		{LONG "-m gpt-oss-20b --kv-blocks 633", 2},
		{LONG "-m gpt-oss-20b --kv-blocks 632", 0},
		{LONG "-m mistral-7b-v0.1 --kv-blocks 256", 2},
		{LONG "-m mistral-7b-v0.1 --kv-blocks 255", 0},
		{LONG "-m mistral-7b --kv-blocks 625", 2},
		{LONG "-m mistral-7b --kv-blocks 624", 0},
	};
#undef LONG
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_row(cases[i].args,
			   (const struct expect[]){{"completed", cases[i].completed},
						   {"rejected", 2 - cases[i].completed},
						   {.name = NULL}});
}

/*
 * What moves of 10,000 tokens of Mistral v0.1 is its window: 4096 x 131,072 bytes, 10.737 ms at 50
 * GB/s, between two steps of 10 ms; of the later release all, 26.214 ms.
 */
static void test_windows_bound_a_transfer(void **state)
{
	(void)state;
#define MOVE "synth:constant,n=1,prompt=10000,output=2 -p disaggregated:max_batched_tokens=16384 "
	assert_row(MOVE FAST "-m mistral-7b-v0.1",
		   (const struct expect[]){{"e2e_mean_s", 0.030737418}, {.name = NULL}});
	assert_row(MOVE FAST "-m mistral-7b",
		   (const struct expect[]){{"e2e_mean_s", 0.0462144}, {.name = NULL}});
#undef MOVE
}

/* The blocks are those that `capacity` says, and the settings are stored. */
static void test_memory_options(void **state)
{
	(void)state;
#define GPT "-m gpt-oss-20b -d h100 --tp 2 --pp 2 --memory 40 --kv-bits 8 --reserve 1"
	char args[1024], want[256];
	const char *db = testing_path("hardware.db");
	struct run_output o = testing_run("capacity " GPT " -o csv");
	assert_exit(o, 0);
	const char *blocks = strchr(o.out, '\n');
	for (int k = 0; k < 9; k++)
		blocks = strchr(blocks, ',') + 1;
	/* 6 layers of each kind, 4 of 8 KV heads: 2 x 6 x 4 x 64 bytes */
	snprintf(want, sizeof(want), "2|2|8|3072|3072|128|42949672960|%ld|300.0|2.5",
		 strtol(blocks, NULL, 10));
	snprintf(args, sizeof(args),
		 "synth:constant,n=3 -p paged:host_us=300,host_seq_us=2.5 " GPT " --db %s", db);
	struct results r = run_rows(args);
	free_rows(&r);
	assert_query(db,
		     "SELECT tp, pp, kv_bits, kv_token_bytes, kv_window_bytes, window_tok, "
		     "memory_bytes, kv_blocks, host_us, host_seq_us FROM run",
		     want);
	testing_run_free(&o);
#undef GPT
}

/* Fewer bits of weights (8 of 6,979,321,856, and 4.5) take shorter steps, and are stored. */
static void test_weight_bits(void **state)
{
	(void)state;
	const char *db = testing_path("bits.db");
	static const char *const bits[] = {"", "--weight-bits 16 ", "--weight-bits 8 ",
					   "--weight-bits 4 "};
	double itl[4];
	for (int i = 0; i < 4; i++) {
		char args[512];
		snprintf(args, sizeof(args), "synth:constant,n=3 -p paged %s%s--db %s", HW, bits[i],
			 db);
		struct results r = run_rows(args);
		itl[i] = row_number(&r, 0, "itl_p50_s");
		free_rows(&r);
	}
	assert_true(itl[0] == itl[1] && itl[2] < 0.8 * itl[1] && itl[3] < 0.8 * itl[2]);
	assert_query(db,
		     "SELECT group_concat(weight_bits), min(kv_blocks) = max(kv_blocks), "
		     "count(DISTINCT weights_bytes) FROM run WHERE weight_bits = 16",
		     "16,16|1|1");
	assert_query(
		db, "SELECT weight_bits, weights_bytes FROM run WHERE weight_bits < 16 ORDER BY id",
		"8|9081200640;4|6027747328");
}

/* Prompts of the H200's tables are of 16,384 tokens at most, after none. */
static void test_beyond_what_was_measured(void **state)
{
	(void)state;
	static const struct {
		const char *args;
		bool beyond;
	} cases[] = {
		{"-p paged prompt=16000", false},
		{"-p paged prompt=18000", true},
		{"-p vllm-v1:chunk=4000 prompt=4000", false},
		{"-p vllm-v1:chunk=4000 prompt=4001", true},
		{"-p paged:host_us=500 prompt=18000", true},
		{"-p paged:host_us=500,async=1 prompt=16000", false},
		{"-p disaggregated prompt=18000", true},
		{"-p paged --no-fast-forward prompt=18000", true},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *prompt = strstr(cases[i].args, "prompt=");
		struct run_output o = testing_run(
			"run synth:constant,n=3,output=5,%s %.*s -m llama-3.1-8b -d h200 -o jsonl",
			prompt, (int)(prompt - cases[i].args), cases[i].args);
		assert_exit(o, 0);
		assert_true(!strstr(o.err, "extrapolated\n") == !cases[i].beyond);
		assert_true(!strstr(o.out, "mixed-sum extrapolated\"") == !cases[i].beyond);
		testing_run_free(&o);
	}
}

/* Three requests decode as four, for the price of which see test_cost; fixed times do not change.
 */
static void test_graphs_reach_the_cost_model(void **state)
{
	(void)state;
#define THREE "synth:constant,n=3,rate=inf,prompt=100,output=50 "
	struct results r = run_rows(THREE HW "-p vllm-v1 -p vllm-v1:graph=8");
	struct results fixed = run_rows(THREE FAST "-p vllm-v1 -p vllm-v1:graph=8");
	double plain = row_number(&r, 0, "tpot_p50_s"), padded = row_number(&r, 1, "tpot_p50_s");
	assert_true(padded > plain && padded < 1.01 * plain);
	assert_near(row_number(&fixed, 0, "tpot_p50_s"), row_number(&fixed, 1, "tpot_p50_s"), 0);
	free_rows(&r);
	free_rows(&fixed);
#undef THREE
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host_overhead),
		cmocka_unit_test(test_a_device_of_ones_own),
		cmocka_unit_test(test_stages),
		cmocka_unit_test(test_stages_are_unequal),
		cmocka_unit_test(test_windows_bound_the_cache),
		cmocka_unit_test(test_windows_bound_a_transfer),
		cmocka_unit_test(test_memory_options),
		cmocka_unit_test(test_weight_bits),
		cmocka_unit_test(test_beyond_what_was_measured),
		cmocka_unit_test(test_graphs_reach_the_cost_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
