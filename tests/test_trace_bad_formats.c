/* Files in the form of published traces that are refused: one sentence with file and line. */
#include "tests/rows.h"

#define BURST "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
#define BURST_3                                                                                    \
	"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log " \
	"Type\n"
#define OWN	   "arrive_s,prompt_tok,output_tok"
#define LENGTHS	   "num_prefill_tokens,num_decode_tokens"
#define MOON(rest) "{\"timestamp\": 0, \"input_length\": 20, \"output_length\": 5" rest "}\n"
#define CHAT(id, parent, rest)                                                                     \
	"{\"chat_id\": " id ", \"parent_chat_id\": " parent                                        \
	", \"timestamp\": 1, \"input_length\": 40, \"output_length\": 4" rest "}\n"
#define RAG(time, rest)                                                                            \
	"{\"timestamp\": " time ", \"input_length\": 31, \"output_length\": 19, \"session_id\": "  \
	"\"a\"" rest "}\n"
#define VLLM(rest)    "{\"request_throughput\": 1, " rest "}"
#define LENS(in, out) "\"input_lens\": " in ", \"output_lens\": " out

static const struct bad {
	const char *content, *part;
} cases[] = {
	/* BurstGPT */
	{BURST "5,ChatGPT,1,2,3\n", "bad:2: column 6: the row has 5 columns, expected 6"},
	{BURST "5,ChatGPT,1,2,3,API log,x\n", "bad:2: column 7: the row has 7 columns"},
	{BURST "5,ChatGPT,1,2,3,Chat log\n",
	 "bad:2: column 6 (Log Type): 'Chat log' is neither Conversation log nor API log"},
	{BURST "5,,1,2,3,API log\n", "bad:2: column 2 (Model): is empty"},
	{BURST "5,ChatGPT,-1,2,3,API log\n", "bad:2: column 3 (Request tokens): '-1' is negative"},
	{BURST "5,ChatGPT,1,2,3.5,API log\n", "bad:2: column 5 (Total tokens): '3.5' is not whole"},
	{BURST "5,ChatGPT,1,2,4,API log\n",
	 "bad:2: column 5 (Total tokens): '4' is not the sum of the row's two: expected 3"},
	{BURST_3 "5,s,1,ChatGPT,1,2,0,API log\n", "bad:2: column 7 (Total tokens): '0' is not the"},
	{BURST "5,ChatGPT,1,2,,API log\n", "bad:2: column 5 (Total tokens): is empty"},
	{BURST "nan,ChatGPT,1,2,3,API log\n", "bad:2: column 1 (Timestamp): 'nan' is not a number"},
	{BURST "6,m,1,2,3,API log\n5,m,1,2,3,API log\n", "bad:3: arrives 1 s before"},
	{BURST "5,a\xff,1,2,3,API log\n",
	 "bad:2: column 2 (Model): 'a? API log' is no plain text: expected UTF-8"},
	{"Timestamp,Model,Request tokens,Response tokens,Total tokens\n5,m,1,2,3\n",
	 "bad:1: column 1: 'Timestamp,Model,"},
	{BURST_3 "1,s,-2,m,1,2,3,API log\n", "bad:2: column 3 (Elapsed time): '-2' is negative"},
	{BURST_3 "1,s,1e300,m,1,2,3,API log\n",
	 "bad:2: column 3 (Elapsed time): '1e300' is too large"},
	{BURST_3 "1,\xed\xa0\x80,1,m,1,2,3,API log\n", "bad:2: column 2 (Session ID): "},
	{BURST_3 "1,\xc0\x80,1,m,1,2,3,API log\n", "is no plain text"},
	{BURST_3 "1,\"a\nb\",1,m,1,2,3,API log\n", "is no plain text"},
	/* our own columns */
	{OWN ",max_tok,max_tok\n", "bad:1: column 5: max_tok is there twice"},
	{OWN ",prompt_tok\n", "bad:1: column 4: prompt_tok is there twice"},
	{OWN ",max_tokens\n", "unknown column of "},
	{"prompt_tok,arrive_s,output_tok\n", "no header that is known"},
	{OWN ",priority\n0,1,1,1.5\n", "bad:2: column 4 (priority): '1.5' is not whole"},
	{OWN ",priority\n0,1,1,--1\n", "bad:2: column 4 (priority): '--1' is not a number"},
	{OWN ",priority\n0,1,1,-\n", "bad:2: column 4 (priority): '-' is not a number"},
	{OWN ",priority\n0,1,1,1000000000000001\n", "is too large: expected a whole number from"},
	{OWN ",service_s\n0,1,1,x\n", "bad:2: column 4 (service_s): 'x' is not a number"},
	{OWN ",max_tok\n0,1,1,-1\n", "bad:2: column 4 (max_tok): '-1' is negative"},
	/* lengths */
	{LENGTHS ",pd_ratio\n1,2,3\n", "no header that is known"},
	{LENGTHS "\n1\n", "bad:2: column 2: the row has 1 columns, expected 2"},
	{LENGTHS "\n1,x\n", "bad:2: column 2 (num_decode_tokens): 'x' is not a number"},
	{LENGTHS ",num_total_tokens\n1,2,4\n", "bad:2: column 3 (num_total_tokens): '4' is not"},
	{LENGTHS ",num_total_tokens,pd_ratio\n1,2,3,nan\n",
	 "bad:2: column 4 (pd_ratio): 'nan' is no ratio: expected a number from 0 on, inf, or"},
	{LENGTHS ",num_total_tokens,pd_ratio\n1,2,3,-1\n", "column 4 (pd_ratio): '-1' is no"},
	{LENGTHS ",num_total_tokens,pd_ratio\n1,2,3,0.5x\n", "column 4 (pd_ratio): '0.5x' is no"},
	{LENGTHS ",num_total_tokens\n1,2,x\n", "bad:2: column 3 (num_total_tokens): 'x' is not"},
	/* Qwen-Bailian */
	{CHAT("1", "1", ""), "bad:1: field parent_chat_id: 1 follows from chat 1 itself"},
	{CHAT("1", "2", "") CHAT("2", "1", ""),
	 "bad:2: field parent_chat_id: 1 follows from chat 2 itself"},
	{CHAT("1", "2", "") CHAT("2", "3", "") CHAT("3", "1", ""),
	 "bad:3: field parent_chat_id: 1 follows from chat 3 itself"},
	{CHAT("1", "-1", "") CHAT("1", "-1", ""),
	 "bad:2: field chat_id: 1 is that of line 1 too: expected another"},
	{CHAT("-4", "-1", ""), "bad:1: field chat_id: is negative"},
	{CHAT("1", "-2", ""), "bad:1: field parent_chat_id: is negative"},
	{CHAT("1.5", "-1", ""), "bad:1: field chat_id: expected a whole number"},
	{CHAT("\"1\"", "-1", ""), "bad:1: field chat_id: expected a whole number"},
	{CHAT("1", "null", ""), "bad:1: field parent_chat_id: expected a whole number"},
	{CHAT("1", "-1", ", \"turn\": \"two\""), "bad:1: field turn: expected a whole number"},
	{CHAT("1", "-1", ", \"type\": [1]"), "bad:1: field type: expected a text"},
	{CHAT("1", "-1", ", \"type\": \"a\\nb\""), "bad:1: field type: 'a?b' is no plain text"},
	{CHAT("1", "-1", ", \"hash_ids\": [1, 2]"),
	 "bad:1: field hash_ids: 2 ids for 40 prompt tokens: expected 3, one a block"},
	{CHAT("1", "-1", ", \"hash_ids\": [1, 2, \"3\"]"), "expected an array of whole numbers"},
	{CHAT("1", "-1", ", \"user\": 3"), "bad:1: field user: is not part of this format"},
	{CHAT("1", "-1", "") "{\"parent_chat_id\": 1, \"timestamp\": 2, \"input_length\": 3, "
			     "\"output_length\": 3}\n",
	 "bad:2: field chat_id: is missing"},
	{CHAT("9223372036854775808", "-1", ""),
	 "bad:1: column 31: not valid JSON (too big integer"},
	/* RAGPulse */
	{RAG("\"x\"", ""), "bad:1: field timestamp: 'x' is not a number"},
	{RAG("\"\"", ""), "bad:1: field timestamp: is empty"},
	{RAG("[]", ""), "bad:1: field timestamp: expected a number"},
	{RAG("\"1\"", ", \"hash_ids\": [1]"),
	 "bad:1: field hash_ids: expected an object of arrays"},
	{RAG("\"1\"", ", \"hash_ids\": {\"a\": 1}"), "bad:1: field hash_ids: expected an object"},
	{RAG("\"1\"", ", \"hash_ids\": {\"a\": [1.5]}"),
	 "bad:1: field hash_ids: expected an object"},
	{RAG("\"100\"", "") RAG("\"99\"", ""), "bad:2: arrives 1 s before the row of line 1"},
	/* JSON lines of any kind */
	{MOON("") "{\"timestamp\": 0, \"input_length\": 20, \"output_le",
	 "bad:2: column 47: not valid"},
	{MOON(", \"a\": \"\xff\""), "bad:1: column 63: not valid JSON (unable to decode byte 0xff"},
	{MOON(", \"hash_ids\": [NaN]"), "bad:1: column 73: not valid JSON"},
	{MOON(", \"hash_ids\": [1], \"hash_ids\": [1]"), "duplicate object key"},
	{MOON(", \"hash_ids\": [[1]]"),
	 "bad:1: field hash_ids: expected an array of whole numbers"},
	{MOON(", \"hash_ids\": {\"0\": 1}"), "bad:1: field hash_ids: expected an array of whole"},
	{OWN ",max_tok\n0,1,1,0\n",
	 "bad:2: column 4 (max_tok): '0': expected a limit of at least 1, or none"},
	{MOON(", \"max_tokens\": 0"), "bad:1: field max_tokens: '0': expected a limit of at least"},
	{MOON(", \"max_tokens\": \"many\""), "bad:1: field max_tokens: 'many' is not a number"},
	{MOON(", \"hash_ids\": [00018446744073709551615]"), "not valid JSON"},
	{"{\"timestamp\": true, \"input_length\": 1, \"output_length\": 1}\n",
	 "bad:1: field timestamp: expected a number"},
	/* vLLM's result */
	{VLLM("\"completed\": 3"),
	 "bad:1: field input_lens: is missing: vllm bench serve writes it"},
	{VLLM("\"input_lens\": [1]"), "bad:1: field output_lens: is missing"},
	{VLLM(LENS("3", "[1]")), "bad:1: field input_lens: expected an array of numbers"},
	{VLLM(LENS("[3, 4]", "[1]")), "bad:1: field output_lens: has 1 numbers for 2 requests"},
	{VLLM(LENS("[3]", "[1]") ", \"start_times\": []"),
	 "field start_times: has 0 numbers for 1"},
	{VLLM(LENS("[3]", "[1]") ", \"start_times\": {}"), "field start_times: expected an array"},
	{VLLM(LENS("[3]", "[1]") ", \"start_times\": [null]"),
	 "bad:1: field start_times: expected a number for each request"},
	{VLLM(LENS("[3]", "[1]") ", \"start_times\": [-1]"),
	 "bad:1: field start_times: '-1' is negative"},
	{VLLM(LENS("[3, \"4\"]", "[1, 1]") ", \"start_times\": [0, 0]"),
	 "bad:2: field input_lens: expected a number for each request"},
	{VLLM(LENS("[3, 4.5]", "[1, 1]") ", \"start_times\": [0, 0]"),
	 "bad:2: field input_lens: '4.5' is not whole"},
	{VLLM(LENS("[3, 4]", "[1, 1]") ", \"start_times\": [1, 0.5]"),
	 "bad:2: arrives 0.5 s before"},
	{VLLM(LENS("[]", "[]") ", \"start_times\": []"), "bad: no rows: 0 read"},
	{VLLM(LENS("[3]", "[1]")) "\n" VLLM(LENS("[3]", "[1]")),
	 "bad:2: column 1: not valid JSON (end of file"},
	{"{\"request_throughput\": 1, \"input_lens\": [1", "bad:1: column 42: not valid JSON"},
	{VLLM(LENS("[3]", "[1]") ", \"mean_tpot_ms\": NaN"), "not valid JSON"},
	{VLLM(LENS("[3]", "[1]") ", \"input_lens\": [4]"), "duplicate object key"},
};

static void malformed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = {"untouched"};
		struct rows r;
		struct trace_spec spec = {.source = testing_file("bad", cases[i].content),
					  .lengths_will_do = true};
		int result = read_rows(&spec, &r, &e);
		if (result == 0 || !strstr(e.text, cases[i].part))
			print_error("case %zu: %s\n", i, cases[i].content);
		assert_refused(result, e, cases[i].part);
		assert_null(strchr(e.text, '\n'));
	}
}

/* Deeper than any trace, at once in a line and in a document. */
static void deep_nesting(void **state)
{
	(void)state;
	enum { DEEP = 100000 };
	static char text[DEEP + 200];
	static const char *const starts[] = {
		"{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 1, \"hash_ids\": ",
		"{\"input_lens\": ",
	};
	for (size_t i = 0; i < 2; i++) {
		struct err e;
		struct rows r;
		int n = sprintf(text, "%s", starts[i]);
		memset(text + n, '[', DEEP);
		text[n + DEEP] = '\0';
		struct trace_spec spec = {.source = testing_file("deep", text)};
		assert_refused(read_rows(&spec, &r, &e), e, "deep:1: column 2");
		assert_non_null(strstr(e.text, "not valid JSON (maximum parsing depth"));
	}
}

/* A byte order mark in front of every kind of text is no part of it. */
static void byte_order_marks(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"\xef\xbb\xbf" BURST "5,m,1,2,3,API log\n",
		"\xef\xbb\xbf" MOON(""),
		"\xef\xbb\xbf" VLLM(LENS("[3]", "[1]") ", \"start_times\": [1]"),
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct err e;
		struct rows r;
		struct trace_spec spec = {.source = testing_file("bom", texts[i])};
		assert_fine(read_rows(&spec, &r, &e), e);
		assert_i64(r.counts.rows, 1);
	}
}

static void documents_too_large(void **state)
{
	(void)state;
	enum { SIZE = (256 << 20) + 100 };
	struct err e;
	struct rows r;
	const char *path = testing_path("large");
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	fputs("{\"input_lens\": [1], \"x\": \"", f);
	assert_int_equal(fseek(f, SIZE, SEEK_SET), 0); /* a hole in the file */
	fputs("\"}", f);
	fclose(f);
	struct trace_spec spec = {.source = path};
	assert_refused(read_rows(&spec, &r, &e), e, "large: is larger than 256 MiB");
	remove(path);
}

static void names_too_long(void **state)
{
	(void)state;
	struct err e;
	struct rows r;
	char text[600];
	int n = sprintf(text, OWN ",session\n0,1,1,");
	memset(text + n, 's', 256);
	strcpy(text + n + 255, "\n");
	struct trace_spec spec = {.source = testing_file("long", text)};
	assert_fine(read_rows(&spec, &r, &e), e);
	strcpy(text + n + 255, "s\n");
	spec.source = testing_file("long", text);
	assert_refused(read_rows(&spec, &r, &e), e, "long:2: column 4 (session): 'ssss");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(malformed),	    cmocka_unit_test(deep_nesting),
		cmocka_unit_test(byte_order_marks), cmocka_unit_test(documents_too_large),
		cmocka_unit_test(names_too_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
