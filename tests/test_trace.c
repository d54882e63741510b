/* Readers of traces. */
#include "tests/rows.h"
#include <unistd.h>

static void check_format(const char *content, const char *format, int64_t second_ns)
{
	struct err e;
	struct rows r;
	struct trace_spec spec = {.source = testing_file("t", content)};
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_string_equal(r.format, format);
	assert_i64(r.counts.rows, 2);
	assert_i64(r.row[0].arrive_ns, 0);
	assert_i64(r.row[1].arrive_ns, second_ns);
}

/* case 1: CR LF, 7 digits, no newline at the end. */
static void azure_2023(void **state)
{
	(void)state;
	static const char text[] = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
				   "2023-11-16 18:17:03.9799600,4808,10\r\n"
				   "2023-11-16 18:17:04.0319600,3180,8";
	struct err e;
	struct rows r;
	struct trace_spec spec = {.source = testing_file("azure.txt", text)};
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_string_equal(r.format, "azure-csv");
	assert_i64(r.row[0].arrive_ns, 0);
	assert_i64(r.row[1].arrive_ns, 52000000);
	assert_i64(r.row[0].prompt_tok, 4808);
	assert_i64(r.row[1].prompt_tok, 3180);
	assert_i64(r.row[0].output_tok, 10);
	assert_i64(r.row[1].output_tok, 8);
	assert_i64(r.row[1].line, 3);
	assert_i64(r.row[1].max_tok, 0);
	assert_null(r.row[1].hash_ids);
	assert_i64(r.counts.prompt_tok, 7988);
	assert_i64(r.counts.output_tok, 18);
	assert_i64(r.counts.last_ns, 52000000);
}

static void azure_2024(void **state)
{
	(void)state;
	static const char head[] = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
	static const struct {
		const char *first, *second;
		int64_t ns;
	} cases[] = {
		{"2024-05-10 00:00:00.009930+00:00", "2024-05-10 00:00:01.009931+00:00",
		 1000001000},
		{"2024-05-10 00:00:00+00:00", "2024-05-10 00:00:00.5+00:00", 500000000},
		{"2024-05-10 02:00:00+02:00", "2024-05-09 19:00:01-05:00", 1000000000},
		{"2024-02-28T23:59:59Z", "2024-03-01T00:00:00Z", 86401000000000}, /* leap year */
		{"2023-12-31 23:59:59.999999999", "2024-01-01 00:00:00", 1},
		{"2024-05-10 05:30:00+0530", "2024-05-10 01:00:00+01", 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[256];
		snprintf(text, sizeof(text), "%s%s,2162,5\n%s,7,9\n", head, cases[i].first,
			 cases[i].second);
		check_format(text, "azure-csv", cases[i].ns);
	}
}

/* case 3: the unit is the format's own. */
static void formats_by_content(void **state)
{
	(void)state;
	check_format("{\"timestamp\": 0, \"input_length\": 513, \"output_length\": 5, "
		     "\"hash_ids\": [7, 8]}\n"
		     "{\"timestamp\": 27, \"input_length\": 512, \"output_length\": 5, "
		     "\"hash_ids\": [7]}\n",
		     "mooncake-jsonl", 27000000);
	check_format("{\"timestamp\":0.1,\"input_length\":1,\"output_length\":1}\n"
		     "{\"timestamp\":1754006400000.3,\"input_length\":1,\"output_length\":1}\n",
		     "mooncake-jsonl", INT64_C(1754006400000200000));
	check_format("{\"arrival_time_ns\":46926808,\"input_length\":33,\"output_length\":5,"
		     "\"hash_ids16\":[0,1]}\n"
		     "{\"arrival_time_ns\":46926809,\"input_length\":15,\"output_length\":5,"
		     "\"hash_ids16\":[]}",
		     "ns-jsonl", 1);
	check_format("arrive_s,prompt_tok,output_tok\n1.5,10,20\n1.500000001,10,20\n", "csv", 1);
	check_format("\xef\xbb\xbf"
		     "arrive_s,prompt_tok,output_tok,max_tok\r\n\r\n0,1,2,3\r\n2,1,2,\r\n",
		     "csv", 2000000000);
	check_format("\n \narrive_s, prompt_tok ,\"output_tok\"\n0,\"1\",2\n1e-3, 1 ,2\n\n", "csv",
		     1000000);
}

static void hash_ids_are_kept(void **state)
{
	(void)state;
	static const char text[] =
		"{\"timestamp\": 0, \"input_length\": 1025, \"output_length\": 5, "
		"\"hash_ids\": [1, 2, 9223372036854775807], \"max_tokens\": 64}\n"
		"{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 5, "
		"\"hash_ids\": [-1]}\n";
	struct err e;
	struct rows r;
	struct trace_spec spec = {.source = testing_file("mooncake", text)};
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_i64(r.row[0].n_hash_ids, 3);
	assert_i64(r.last_hash[0], INT64_MAX);
	assert_true(r.last_hash[1] == UINT64_MAX);
	assert_i64(r.row[0].max_tok, 64);
	assert_i64(r.row[1].max_tok, 0);
	struct trace *t = trace_open(&spec, &e);
	assert_i64(trace_hash_block(t), 512);
	trace_close(t);
	spec.sort = true; /* the ids come along */
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_i64(r.last_hash[0], INT64_MAX);
	assert_true(r.last_hash[1] == UINT64_MAX);
}

/* case 4: the block can be set; the rule stays the format's. */
static void hash_block_is_settable(void **state)
{
	(void)state;
	struct err e;
	struct rows r;
	struct trace_spec spec = {
		.source =
			testing_file("mooncake", "{\"timestamp\": 0, \"input_length\": 20, "
						 "\"output_length\": 5, \"hash_ids\": [1, 2]}\n")};
	assert_refused(read_rows(&spec, &r, &e), e, "2 ids for 20 prompt tokens: expected 1");
	spec.hash_block = 16;
	assert_fine(read_rows(&spec, &r, &e), e);
	spec.source = testing_file("ns", "{\"arrival_time_ns\": 0, \"input_length\": 20, "
					 "\"output_length\": 5, \"hash_ids16\": [1, 2]}\n");
	assert_refused(read_rows(&spec, &r, &e), e, "2 ids for 20 prompt tokens: expected 1");
	spec.hash_block = 10;
	assert_fine(read_rows(&spec, &r, &e), e);
}

/* case 2 */
static void zero_rows_are_skipped_and_counted(void **state)
{
	(void)state;
	struct err e;
	struct rows r;
	struct trace_spec spec = {.source = testing_file("zero", "arrive_s,prompt_tok,output_tok\n"
								 "0,10,5\n1,10,0\n2,0,7\n3,10,7\n"
								 "4,0,0\n")};
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_i64(r.counts.rows, 2);
	assert_i64(r.counts.skipped_zero, 2);
	assert_i64(r.counts.skipped_zero_prompt, 1);
	assert_i64(r.row[1].arrive_ns, 3000000000);
	assert_i64(r.row[1].line, 5);
}

struct columns_case {
	const char *content, *columns;
	int64_t second_ns, prompt, output, max_tok;
};

static void any_csv_by_columns(void **state)
{
	(void)state;
	static const char burst[] =
		"Timestamp,Model,Request tokens,Response tokens,Total tokens\n"
		"5,ChatGPT,472,18,490\n45.25,\"GPT-4, \"\"new\"\"\",1087,230,1317\n";
	static const struct columns_case cases[] = {
		{burst, "arrival=Timestamp,prompt=Request tokens,output=Response tokens,unit=s",
		 40250000000, 1087, 230, 0},
		{burst, "arrival=1,prompt=3,output=4,max_tokens=5,unit=ms", 40250000, 1087, 230,
		 1317},
		{burst, "arrival=none,prompt=3,output=4", 0, 1087, 230, 0},
		{"0.1,1,2\n0.3,3,4\n", "arrival=1,prompt=2,output=3,unit=us", 200, 3, 4, 0},
		{"2024-01-01 00:00:00Z,1,2\n2024-01-01 00:00:00.1Z,3,4\n",
		 "arrival=1,prompt=2,output=3", 100000000, 3, 4, 0},
		{"0,1,2\n123456789012345678,3,4.0\n", "arrival=1,prompt=2,output=3,unit=ns",
		 INT64_C(123456789012345678), 3, 4, 0},
		{"{\"t\":\"1.5\",\"in\":1,\"out\":2,\"x\":[]}\n{\"t\":\"2.75\",\"in\":3,\"out\":4}"
		 "\n",
		 "arrival=t,prompt=in,output=out,unit=s", 1250000000, 3, 4, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e;
		struct rows r;
		struct trace_spec spec = {.source = testing_file("any", cases[i].content)};
		assert_fine(trace_parse_columns(cases[i].columns, &spec, &e), e);
		assert_fine(read_rows(&spec, &r, &e), e);
		assert_i64(r.counts.rows, 2);
		assert_i64(r.row[1].arrive_ns, cases[i].second_ns);
		assert_i64(r.row[1].prompt_tok, cases[i].prompt);
		assert_i64(r.row[1].output_tok, cases[i].output);
		assert_i64(r.row[1].max_tok, cases[i].max_tok);
	}
}

static void columns_text_is_checked(void **state)
{
	(void)state;
	static const struct {
		const char *text, *part;
	} cases[] = {
		{"prompt=1,output=2", "arrival is missing"},
		{"arrival=1,output=2", "prompt is missing"},
		{"arrival=1,prompt=2", "output is missing"},
		{"arrival=1,prompt=2,output=3,unit=h", "s, ms, us, ns"},
		{"arrival=1,prompt=2,outptu=3", "'output'"},
		{"arrival=0,prompt=2,output=3", "numbered from 1"},
		{"arrival=1,arrival=1,prompt=2,output=3", "given twice"},
		{"arrival=1,prompt=2,output=3,unit=s,unit=ns", "unit is given twice"},
		{"arrival=1,prompt=2,output=", "name=value"},
		{"", "name=value"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e;
		struct trace_spec spec = {0};
		assert_refused(trace_parse_columns(cases[i].text, &spec, &e), e, cases[i].part);
		assert_null(spec.columns);
	}
}

/* Every 10 s; prompts 1 to 6. */
static const char steady[] = "arrive_s,prompt_tok,output_tok\n"
			     "100,1,1\n110,2,1\n120,3,1\n130,4,1\n140,5,1\n150,6,1\n";

/* A row that goes into the hash changes it; the same rows in another format do not. */
static void hash_is_of_the_rows(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"arrive_s,prompt_tok,output_tok\n0,10,5\n1,11,6\n",
		("{\"timestamp\":7,\"input_length\":10,\"output_length\":5}\n"
		 "{\"timestamp\":1007,\"input_length\":11,\"output_length\":6}\n"),
		"arrive_s,prompt_tok,output_tok\n0,10,5\n1,11,7\n",
		"arrive_s,prompt_tok,output_tok\n0,10,5\n1.000000001,11,6\n",
		"arrive_s,prompt_tok,output_tok\n0,10,6\n1,11,5\n",
	};
	uint64_t hash[5];
	for (int i = 0; i < 5; i++) {
		struct err e;
		struct rows r;
		struct trace_spec spec = {.source = testing_file("hash", texts[i])};
		assert_fine(read_rows(&spec, &r, &e), e);
		hash[i] = r.counts.hash;
	}
	assert_true(hash[0] == hash[1]);
	for (int i = 1; i < 5; i++)
		for (int j = i + 1; j < 5; j++)
			assert_true(hash[i] != hash[j]);
}

/* Standard input is a pipe, and read by two traces at once. */
static void stdin_is_spooled(void **state)
{
	(void)state;
	struct err e;
	struct trace_row a, b;
	struct trace_spec spec = {.source = "-"};
	int ends[2], old = dup(0);
	assert_int_equal(pipe(ends), 0);
	assert_true(write(ends[1], steady, strlen(steady)) == (ssize_t)strlen(steady));
	close(ends[1]);
	dup2(ends[0], 0);
	close(ends[0]);
	struct trace *one = trace_open(&spec, &e), *two = trace_open(&spec, &e);
	dup2(old, 0);
	close(old);
	assert_non_null(one);
	assert_non_null(two);
	for (int i = 1; i <= 6; i++) {
		assert_int_equal(trace_next(one, &a, &e), 1);
		assert_int_equal(trace_next(two, &b, &e), 1);
		assert_i64(a.prompt_tok, i);
		assert_i64(b.prompt_tok, i);
	}
	assert_int_equal(trace_next(one, &a, &e), 0);
	assert_near(trace_progress(one), 1, 0);
	trace_close(one);
	trace_close(two);
	spec.rate_rps = 1; /* two passes */
	struct rows r;
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_i64(r.counts.last_ns, 5000000000);
}

/* Rows longer than a buffer, and rows that lie across two. */
static void long_lines(void **state)
{
	(void)state;
	enum { N = 3, SIZE = 200000 };
	char *text = xmalloc(N * SIZE + 100), *p = text;
	p += sprintf(p, "t,note,in,out\n");
	for (int i = 0; i < N; i++) {
		p += sprintf(p, "%d,\"", i);
		memset(p, 'x', SIZE - 20);
		p += SIZE - 20;
		p += sprintf(p, "\r\n\"\"\",%d,%d\n", i + 1, i + 2);
	}
	struct err e;
	struct rows r;
	struct trace_spec spec = {.source = testing_file("long", text),
				  .columns = "arrival=t,prompt=in,output=out"};
	free(text);
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_i64(r.counts.rows, N);
	assert_i64(r.row[2].prompt_tok, 3);
	assert_i64(r.row[2].line, 6); /* each row has two lines */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(azure_2023),
		cmocka_unit_test(azure_2024),
		cmocka_unit_test(formats_by_content),
		cmocka_unit_test(hash_ids_are_kept),
		cmocka_unit_test(hash_block_is_settable),
		cmocka_unit_test(zero_rows_are_skipped_and_counted),
		cmocka_unit_test(any_csv_by_columns),
		cmocka_unit_test(columns_text_is_checked),
		cmocka_unit_test(hash_is_of_the_rows),
		cmocka_unit_test(stdin_is_spooled),
		cmocka_unit_test(long_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
