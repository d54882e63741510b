/* Traces written in another format: every pair of formats, and published forms to the byte. */
#include "tests/resave.h"
#include "tests/rows.h"

static const char azure[] = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
			    "2023-11-16 18:17:03.9799600,4808,10\r\n"
			    "2023-11-16 18:17:04.0319600,3180,8";
static const char azure_2024[] = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
				 "2024-05-10 00:00:00.009930+00:00,2162,5\n"
				 "2024-05-10 00:00:01.000000+00:00,2399,6\n";
static const char own[] =
	"arrive_s,prompt_tok,output_tok,max_tok,priority,client,session,service_s\n"
	"0.000000001,12,3,,2,\"a, \"\"b\",s1,1.5\n"
	"0.500000000,7,1,9,0,,,\n"
	"4.250000000,20,2,64,-3,\" c\",s1,0.125\n";
static const char burstgpt[] =
	"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
	"5,ChatGPT,472,18,490,Conversation log\n"
	"45,GPT-4,10,23,33,API log\n";
static const char burstgpt_3[] =
	"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log "
	"Type\n"
	"19440110.0,1722ac82-0a46,43,GPT-4,906,446,1352,Conversation log\n"
	"19440161.5,d5983bf9-4b48,2,ChatGPT,36,29,65,API log\n";
static const char lengths[] = "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n"
			      "74,9,83,8.222222222222221\n"
			      "29,10,39,2.9\n"
			      "40,10,50,4.0\n"
			      "1000000000,1,1000000001,1000000000.0\n";
static const char mooncake[] =
	"{\"timestamp\": 0, \"input_length\": 513, \"output_length\": 5, \"hash_ids\": [7, -8]}\n"
	"{\"timestamp\": 27, \"input_length\": 12, \"output_length\": 5, \"max_tokens\": 9}\n";
static const char mooncake_unsigned[] =
	"{\"timestamp\": 3, \"input_length\": 513, \"output_length\": 5, \"hash_ids\": [7, "
	"18446744073709551615]}\n";
static const char ns[] = "{\"arrival_time_ns\":46926808,\"input_length\":33,\"output_length\":5,"
			 "\"hash_ids16\":[0,1]}\n"
			 "{\"arrival_time_ns\":46926809,\"input_length\":15,\"output_length\":5,"
			 "\"hash_ids16\":[]}\n";
static const char bailian[] =
	"{\"chat_id\": 0, \"parent_chat_id\": -1, \"timestamp\": 0.0, \"input_length\": 20, "
	"\"output_length\": 4, \"type\": \"text\", \"turn\": 1, \"hash_ids\": [1, 2]}\n"
	"{\"chat_id\": 1, \"parent_chat_id\": -1, \"timestamp\": 5.0, \"input_length\": 16, "
	"\"output_length\": 2, \"type\": \"image\", \"turn\": 1, \"hash_ids\": [5]}\n"
	"{\"chat_id\": 2, \"parent_chat_id\": 0, \"timestamp\": 61.114, \"input_length\": 40, "
	"\"output_length\": 2, \"type\": \"file\", \"turn\": 2, \"hash_ids\": [1, 5, 6]}\n";
static const char ragpulse[] =
	"{\"timestamp\": \"82\", \"input_length\": 31, \"output_length\": 19, \"session_id\": "
	"\"17-af\"}\n"
	"{\"timestamp\": \"83\", \"input_length\": 32, \"output_length\": 8, \"session_id\": "
	"\"\"}\n";
static const char vllm[] =
	"{\"num_prompts\": 2, \"input_lens\": [12, 30], \"output_lens\": [5, 3], "
	"\"start_times\": [1000.25, 1000.5]}";
static const char vllm_lengths[] =
	"{\"num_prompts\": 2, \"input_lens\": [12, 30], \"output_lens\": [5, 3]}";

static const struct form {
	const char *format, *content;
} forms[] = {
	{"azure-csv", azure},
	{"azure-2024-csv", azure_2024},
	{"csv", own},
	{"burstgpt-csv", burstgpt},
	{"burstgpt-3-csv", burstgpt_3},
	{"lengths-csv", lengths},
	{"mooncake-jsonl", mooncake},
	{"mooncake-jsonl", mooncake_unsigned},
	{"ns-jsonl", ns},
	{"bailian-jsonl", bailian},
	{"ragpulse-jsonl", ragpulse},
	{"vllm-json", vllm},
	{"vllm-json", vllm_lengths},
};
enum { N_FORMS = sizeof(forms) / sizeof(forms[0]) };

static char *content_of(const char *path)
{
	enum { SIZE = 4096 };
	char *text = xcalloc(SIZE, 1);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	size_t n = fread(text, 1, SIZE - 1, f);
	assert_true(n < SIZE - 1);
	fclose(f);
	return text;
}

/* As each is published: every byte comes back. */
static void to_the_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_FORMS; i++) {
		struct err e;
		struct writer w;
		char text[RESAVE_TEXT];
		struct trace_spec spec = {.source = testing_file("from", forms[i].content)};
		const char *to = testing_path("to");
		const struct writer_ops *ops = writer_find(forms[i].format, &e);
		assert_non_null(ops);
		assert_i64(resave(&spec, 0, ops, to, &w, text), 0);
		char *got = content_of(to);
		if (strcmp(ops->name, "csv") == 0)
			assert_string_equal(strchr(got, '\n'), strchr(forms[i].content, '\n'));
		else
			assert_string_equal(got, forms[i].content);
		free(got);
		assert_i64(w.rounded + w.lost_arrivals + w.renamed, 0);
		for (int x = 0; x < N_EXTRAS; x++)
			assert_i64(w.lost[x], 0);
	}
}

/* What a target holds is the same after every one of the pairs; what it does not is counted. */
static void every_pair(void **state)
{
	(void)state;
	struct writer w;
	char text[RESAVE_TEXT];
	for (size_t i = 0; i < N_FORMS; i++) {
		struct trace_spec spec = {.source = testing_file("from", forms[i].content)};
		for (size_t k = 0; writers[k]; k++) {
			int result = resave(&spec, 0, writers[k], testing_path("to"), &w, text);
			if (result != 0)
				print_error("%s: %s\n", forms[i].format, text);
			assert_i64(result, 0);
			assert_true(w.rows > 0);
		}
	}
}

static struct writer convert(const char *content, const char *format)
{
	struct err e;
	struct writer w;
	char text[RESAVE_TEXT];
	struct trace_spec spec = {.source = testing_file("from", content)};
	const struct writer_ops *ops = writer_find(format, &e);
	assert_non_null(ops);
	assert_i64(resave(&spec, 0, ops, testing_path("to"), &w, text), 0);
	return w;
}

static void losses_are_counted(void **state)
{
	(void)state;
	struct writer w = convert(own, "azure-csv");
	assert_i64(w.rounded, 2); /* 1 ns before they began */
	assert_i64(w.lost[EXTRA_MAX_TOK], 2);
	assert_i64(w.lost[EXTRA_PRIORITY], 2);
	assert_i64(w.lost[EXTRA_CLIENT], 2);
	assert_i64(w.lost[EXTRA_SESSION], 2);
	assert_i64(w.lost[EXTRA_SERVICE], 2);
	w = convert(own, "burstgpt-csv");
	assert_i64(w.lost[EXTRA_CLIENT], 0);
	assert_i64(w.renamed, 2);
	assert_i64(w.lost[EXTRA_SESSION], 2);
	w = convert(burstgpt, "burstgpt-3-csv");
	assert_i64(w.renamed, 0);
	w = convert(azure, "lengths-csv");
	assert_i64(w.lost_arrivals, 2);
	/* Ids go only where the block and the rule are the same. */
	assert_i64(convert(mooncake, "ns-jsonl").lost[EXTRA_HASH_IDS], 1);
	assert_i64(convert(ns, "bailian-jsonl").lost[EXTRA_HASH_IDS], 2);
	assert_i64(convert(bailian, "mooncake-jsonl").lost[EXTRA_HASH_IDS], 3);
	/* JSON numbers are doubles: nanoseconds end at 2^23 s, and so do those of seconds */
	w = convert("arrive_s,prompt_tok,output_tok\n0,1,1\n8388607.123456789,1,1\n", "vllm-json");
	assert_i64(w.rounded, 0);
	w = convert("arrive_s,prompt_tok,output_tok\n0,1,1\n8388608.123456789,1,1\n", "vllm-json");
	assert_i64(w.rounded, 1);
	w = convert("arrive_s,prompt_tok,output_tok\n0,1,1\n6307200000,1,1\n", "bailian-jsonl");
	assert_i64(w.rounded, 0);
}

/* Ids of the same block and rule, whatever file they are in. */
static void ids_move_between_formats(void **state)
{
	(void)state;
	struct err e;
	struct writer w;
	char text[RESAVE_TEXT];
	struct trace_spec spec = {
		.source = testing_file("ids", "{\"t\": 1, \"p\": 33, \"o\": 1, \"h\": [4, 5]}\n"),
		.columns = "arrival=t,prompt=p,output=o,hash_ids=h",
		.hash_block = 16,
		.hash_rule = TRACE_HASH_FLOOR,
	};
	assert_i64(resave(&spec, 0, writer_find("ns-jsonl", &e), testing_path("to"), &w, text), 0);
	assert_i64(w.lost[EXTRA_HASH_IDS], 0);
	char *got = content_of(testing_path("to"));
	assert_non_null(strstr(got, "\"hash_ids16\":[4,5]}"));
	free(got);
}

/* The names of a client that BurstGPT's two columns cannot hold become ones that they can. */
static void long_names(void **state)
{
	(void)state;
	char content[2048], name[256];
	for (size_t n = 230; n <= 255; n++) {
		memset(name, 'n', n);
		name[n] = '\0';
		memcpy(name + n - 24, "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 9);
		snprintf(content, sizeof(content),
			 "arrive_s,prompt_tok,output_tok,client\n0,1,1,%s\n", name);
		assert_i64(convert(content, "burstgpt-csv").renamed, 1);
	}
}

/* Of the published files, where they are at hand: fields equal, and bytes where ours are theirs. */
static void published(void **state)
{
	(void)state;
	static const struct {
		const char *file, *format;
	} files[] = {
		{"traces/AzureLLMInferenceTrace_code.csv", "azure-csv"},
		{"traces/mooncake_conversation_trace.jsonl", "mooncake-jsonl"},
		{"traces/llmservingsim_sharegpt-llama-3.1-8b-300-sps10.jsonl", "ns-jsonl"},
		{"traces/sharegpt_8k_filtered_stats_llama2_tokenizer.csv", "lengths-csv"},
		{"traces/arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv",
		 "lengths-csv"},
	};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		shared_or_skip(path, files[i].file);
		struct err e;
		struct writer w;
		char text[RESAVE_TEXT];
		struct trace_spec spec = {.source = path};
		int result = resave(&spec, 0, writer_find(files[i].format, &e), testing_path("to"),
				    &w, text);
		if (result != 0)
			print_error("%s: %s\n", path, text);
		assert_i64(result, 0);
		assert_i64(w.rounded + w.lost[EXTRA_HASH_IDS], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(to_the_byte),	      cmocka_unit_test(every_pair),
		cmocka_unit_test(losses_are_counted), cmocka_unit_test(ids_move_between_formats),
		cmocka_unit_test(long_names),	      cmocka_unit_test(published),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
