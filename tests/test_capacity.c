/* omnibus capacity, as a user calls it. */

#include "tests/testing.h"
#include <stdlib.h>
#include <string.h>

#define HEADER                                                                                     \
	"model,device,tp,pp,memory_bytes,weights_bytes,reserve_bytes,kv_bytes,"                    \
	"kv_bytes_per_token,blocks,tokens,context,users,crossover_batch,"                          \
	"kv_full_bytes_per_token,kv_window_bytes_per_token,window_tok,weight_bits\n"

/* Runs with -o csv, expects this exit code, and gives the row in `row`. */
static void csv_row(const char *args, int code, char *row, size_t size)
{
	struct run_output o = testing_run("capacity %s -o csv", args);
	assert_i64(o.code, code);
	assert_int_equal(strncmp(o.out, HEADER, strlen(HEADER)), 0);
	snprintf(row, size, "%s", o.out + strlen(HEADER));
	char *end = strchr(row, '\n');
	assert_non_null(end);
	assert_i64(end[1], 0); /* one row */
	*end = '\0';
	if (code == 0)
		assert_string_equal(o.err, "");
	testing_run_free(&o);
}

/* Column k, from 0, of a row without quotes. */
static double column(const char *row, int k)
{
	for (; k > 0; k--)
		row = strchr(row, ',') + 1;
	return strtod(row, NULL);
}

/* The budget of test_memory.c; users 896,224 / 8192; 15,009,849,344 / (8192 x 131072) = 13.98. */
static void test_a_row_by_hand(void **state)
{
	(void)state;
	char row[1024];
	csv_row("-m llama-3-8b -d h200 --reserve 2", 0, row, sizeof(row));
	assert_string_equal(row,
			    "llama-3-8b,h200,1,1,150754820096,16060522496,2147483648,"
			    "117471331942,131072,56014,896224,8192,109.40234375,14,131072,0,,16");
}

/* cases 22 and 23 through the command */
static void test_published_figures(void **state)
{
	(void)state;
	char row[1024];
	csv_row("-m qwen3-14b -d h200 --kv-tokens 42656 --context 32768", 0, row, sizeof(row));
	assert_near(column(row, 12), 1.30, 0.005);
	csv_row("-m qwen3-30b-a3b -d h200 --kv-bits 8 --kv-tokens 230528 --context 100000", 0, row,
		sizeof(row));
	assert_i64(column(row, 8), 49152);
	assert_i64(column(row, 10), 230528);
	assert_near(column(row, 12), 2.31, 0.005);
	csv_row("-m qwen2.5-7b -d h100 --tp 4", 0, row, sizeof(row));
	assert_i64(column(row, 8), 14336);
	csv_row("-m llama-3.1-8b -d a100-80g --memory 24 --reserve 0", 0, row, sizeof(row));
	assert_i64(column(row, 10), 54400); /* case 11 */
}

/*
 * gpt-oss-20b, 1000 blocks of 16 slots: at 8192 tokens a user takes 512 + 8 of them; a batch of b
 * has b x (8192 + 128) x 24,576 bytes: 64 x that is less than the 13,761,264,768 - 1,158,266,880
 * that are read, 204,472,320 each: 61.6.
 */
static void test_windows_have_two_terms(void **state)
{
	(void)state;
	char row[1024];
	csv_row("-m gpt-oss-20b -d h100 --kv-blocks 1000 --context 8192", 0, row, sizeof(row));
	const char *rest = row;
	for (int k = 0; k < 8; k++)
		rest = strchr(rest, ',') + 1;
	assert_string_equal(rest, ",1000,16000,8192,1.92307692307692,62,24576,24576,128,16");
	struct run_output o = testing_run("capacity -m gpt-oss-20b -d h100");
	assert_exit(o, 0);
	assert_non_null(strstr(o.out, "no single figure of KV bytes a token"));
	assert_non_null(strstr(o.out, "and of each of the last 128"));
	testing_run_free(&o);
}

/* Mistral v0.1, every layer with a window of 4096: a user never has more than 256 blocks. */
static void test_a_bounded_cache(void **state)
{
	(void)state;
	char row[1024];
	static const struct {
		int context;
		double users;
	} cases[] = {{2048, 2000.0 / 128}, {4096, 2000.0 / 256}, {32768, 2000.0 / 256}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char args[128];
		snprintf(args, sizeof(args),
			 "-m mistral-7b-v0.1 -d h100 --kv-blocks 2000 --context %d",
			 cases[i].context);
		csv_row(args, 0, row, sizeof(row));
		assert_near(column(row, 12), cases[i].users, 1e-9);
	}
}

/* Two stages of Llama-3-70B fit where one does not; each caches 40 of 80 layers. */
static void test_stages(void **state)
{
	(void)state;
	char row[1024];
	csv_row("-m llama-3-70b -d h100 --pp 2", 0, row, sizeof(row));
	assert_i64(column(row, 3), 2);
	assert_i64(column(row, 5), 70553714688);
	assert_i64(column(row, 8), 163840);
}

static void test_pools_that_are_asked_for(void **state)
{
	(void)state;
	char row[1024];
	csv_row("-m llama-3-8b -d h200 --kv-blocks 50 --block 32 --context 400", 0, row,
		sizeof(row));
	assert_i64(column(row, 7), 50LL * 32 * 131072);
	assert_i64(column(row, 9), 50);
	assert_i64(column(row, 10), 1600);
	assert_near(column(row, 12), 4, 0);
	/* larger than the memory: it stands, and is said */
	struct run_output o = testing_run("capacity -m llama-3-8b -d h200 --kv-tokens 900000000");
	assert_i64(o.code, 0);
	assert_non_null(strstr(o.out, "900000000"));
	assert_non_null(strstr(o.err, "more than"));
	testing_run_free(&o);
}

static void test_a_negative_budget_has_its_row(void **state)
{
	(void)state;
	char row[1024];
	csv_row("-m llama-3-70b -d h100", 1, row, sizeof(row));
	assert_true(column(row, 7) < 0);
	assert_i64(column(row, 9), 0);
	assert_i64(column(row, 10), 0);
	assert_near(column(row, 12), 0, 0);
	struct run_output o = testing_run("capacity -m llama-3-70b -d h100");
	assert_i64(o.code, 1);
	assert_non_null(strstr(o.err, "--tp 2"));
	assert_ptr_equal(strchr(o.err, '\n'), o.err + strlen(o.err) - 1); /* one sentence */
	testing_run_free(&o);
	csv_row("-m llama-3-70b -d h100 --tp 2", 0, row, sizeof(row)); /* what it says is true */
}

static void test_the_budget_line_by_line(void **state)
{
	(void)state;
	struct run_output o = testing_run("capacity -m llama-3-8b -d h200 --reserve 2");
	assert_i64(o.code, 0);
	static const char *const parts[] = {
		"150754820096", "135679338086", "-16060522496", "-2147483648",
		"117471331942", "131072",	"56014",	"896224",
		"109.40",	"14",		"8030261248",
	};
	const char *at = o.out;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strstr(o.out, parts[i]))
			fail_msg("no %s in\n%s", parts[i], o.out);
	for (size_t i = 0; i < 8; i++, at++) { /* in this order */
		at = strstr(at, parts[i]);
		assert_non_null(at);
	}
	testing_run_free(&o);
	o = testing_run("capacity -m llama-3-8b -d h200 --reserve 2 -o jsonl");
	assert_non_null(strstr(o.out, "\"blocks\":56014"));
	testing_run_free(&o);
}

static void test_a_config_file(void **state)
{
	(void)state;
	const char *path = testing_file(
		"tiny.json", "{\"model_type\": \"llama\", \"hidden_size\": 4096, "
			     "\"intermediate_size\": 14336, \"num_attention_heads\": 32, "
			     "\"num_key_value_heads\": 8, \"num_hidden_layers\": 32, "
			     "\"vocab_size\": 128256, \"max_position_embeddings\": 8192}");
	char args[1024], row[1024], built_in[1024];
	snprintf(args, sizeof(args), "-m '%s' -d h200", path);
	csv_row(args, 0, row, sizeof(row));
	csv_row("-m llama-3-8b -d h200", 0, built_in, sizeof(built_in));
	assert_int_equal(strncmp(row, "tiny,", 5), 0);
	assert_string_equal(strchr(row, ','), strchr(built_in, ','));
}

/* A device is called as its file is: a bar in that, or a line break, which it has a ? for, ends no
 * cell. */
static void test_a_name_is_one_cell(void **state)
{
	static const char device[] = "{\"memory_bytes\": 85899345920, \"peak_bytes_s\": 2e12, "
				     "\"peak_flops\": 3e14, \"pcie_bytes_s\": 25e9}";
	(void)state;
	struct run_output o =
		testing_run("capacity -m llama-3-8b -d '%s'", testing_file("a|b\nc.json", device));
	assert_exit(o, 0);
	assert_non_null(strstr(o.out, " on a\\|b?c, tp 1"));
	assert_non_null(strstr(o.out, "\n| a\\|b?c  "));
	testing_run_free(&o);
}

static void test_help(void **state)
{
	(void)state;
	struct run_output o = testing_run("capacity --help");
	assert_i64(o.code, 0);
	assert_non_null(strstr(o.out, "crossover_batch is the smallest batch"));
	assert_string_equal(o.err, "");
	testing_run_free(&o);
}

#define FINE "-m llama-3-8b -d h200 "
static const struct {
	const char *args, *part;
	int code;
} wrong[] = {
	{"", "-m MODEL is missing", 2},
	{"-m llama-3-8b", "-d DEVICE is missing", 2},
	{"-m llama-3-9b -d h200", "llama-3-8b", 2},
	{"-m llama-3-8b -d b300", "a100-80g, h100, h200", 2},
	{"-m llama-3-8b -d no/device.json", "no/device.json", 1},
	{FINE "--pp 33", "llama-3-8b has 32 layers", 2},
	{FINE "--pp 0", "--pp", 2},
	{"-m no/config.json -d h200", "no/config.json", 1},
	{FINE "--tp 33", "attention heads", 2},
	{FINE "--tp 0", "--tp", 2},
	{FINE "--tp two", "--tp", 2},
	{FINE "--kv-bits 7", "16, 8, 4 or 2", 2},
	{FINE "--utilization 0", "--utilization", 2},
	{FINE "--utilization 1.5", "--utilization", 2},
	{FINE "--utilization nan", "--utilization", 2},
	{FINE "--utilization -0.5", "--utilization", 2},
	{FINE "--reserve 200", "--reserve", 2},
	{FINE "--reserve -1", "--reserve", 2},
	{FINE "--memory 0", "--memory", 2},
	{FINE "--memory inf", "--memory", 2},
	{FINE "--context 0", "--context", 2},
	{FINE "--block 0", "--block", 2},
	{FINE "--kv-tokens 0", "--kv-tokens", 2},
	{FINE "--kv-tokens 64 --kv-blocks 4", "one of them", 2},
	{FINE "--kv-tokens 15", "smaller than one block", 1},
	{FINE "-o xml", "md, csv or jsonl", 2},
	{FINE "--contxt 5", "--context", 2},
	{FINE "more", "more", 2},
};

/* Case 22: four KV heads over eight devices, one each; that 28 heads do not split is said beside
 * it. */
static void test_kv_heads_replicate(void **state)
{
	struct run_output o = testing_run("capacity -m qwen2.5-7b -d h100 --tp 8 -o csv");

	(void)state;
	assert_exit(o, 0);
	assert_i64(column(strchr(o.out, '\n') + 1, 8), 14336);
	assert_non_null(strstr(o.err, "tp 8 does not divide the attention heads"));
	testing_run_free(&o);
}

/* Weights of 70B in 8 bits leave 68,451,041,280 bytes more, of which tp 1 on an H200 lives. */
static void test_small_weights(void **state)
{
	(void)state;
	char row[1024];
	csv_row("-m llama-3-70b -d h200 --weight-bits 8", 0, row, sizeof(row));
	assert_i64(column(row, 5), INT64_C(141107412992) - INT64_C(68451041280));
	assert_i64(column(row, 17), 8);
	struct run_output o = testing_run("capacity -m llama-3-70b -d h200 --weight-bits 4");
	assert_exit(o, 0);
	assert_non_null(strstr(o.out, "2 bytes each (linear layers: 4.5 bits)\n"));
	testing_run_free(&o);
}

static void test_wrong_usage_is_one_sentence(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct run_output o = testing_run("capacity %s", wrong[i].args);
		if (!strstr(o.err, wrong[i].part) || o.code != wrong[i].code)
			fail_msg("capacity %s: exit %d, %s", wrong[i].args, o.code, o.err);
		assert_ptr_equal(strchr(o.err, '\n'), o.err + strlen(o.err) - 1);
		if (wrong[i].code == 2)
			assert_string_equal(o.out, "");
		testing_run_free(&o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_row_by_hand),
		cmocka_unit_test(test_published_figures),
		cmocka_unit_test(test_windows_have_two_terms),
		cmocka_unit_test(test_a_bounded_cache),
		cmocka_unit_test(test_stages),
		cmocka_unit_test(test_pools_that_are_asked_for),
		cmocka_unit_test(test_a_negative_budget_has_its_row),
		cmocka_unit_test(test_the_budget_line_by_line),
		cmocka_unit_test(test_a_config_file),
		cmocka_unit_test(test_a_name_is_one_cell),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_kv_heads_replicate),
		cmocka_unit_test(test_small_weights),
		cmocka_unit_test(test_wrong_usage_is_one_sentence),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
