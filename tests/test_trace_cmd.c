/* omnibus trace: what it prints and writes. */
#include "tests/rows.h"
#include "traces/measure.h"
#include <sys/stat.h>
#include <unistd.h>

#define OURS "arrive_s,prompt_tok,output_tok\n"

static void run_fine(struct run_output *o)
{
	if (o->code != 0)
		print_error("exit %d: %s\n", o->code, o->err);
	assert_i64(o->code, 0);
}

/* cases 9 and 30; the published trace's own totals. */
static void azure_conv(void **state)
{
	(void)state;
	shared_or_skip(path, "traces/AzureLLMInferenceTrace_conv.csv");
	struct err e;
	struct measure m;
	struct trace_spec spec = {.source = path};
	assert_fine(measure_trace(&spec, 16, 0, &m, &e), e);
	assert_i64(m.rows, 19366);
	assert_i64(m.prompt_tok, 22361870);
	assert_i64(m.output_tok, 4088665);
	assert_i64(m.kv_blocks, 1660963);
	measure_release(&m);
	struct run_output o = testing_run("trace info %s", path);
	run_fine(&o);
	assert_non_null(strstr(o.out, "rows           19366\n"));
	assert_non_null(strstr(o.out, "tokens         22361870 in, 4088665 out\n"));
	assert_non_null(strstr(o.out, "KV blocks      1660963 of 16"));
	testing_run_free(&o);
}

/* case 5 */
static void azure_code(void **state)
{
	(void)state;
	shared_or_skip(path, "traces/AzureLLMInferenceTrace_code.csv");
	struct run_output o = testing_run("trace info --max-model-len 4096 %s", path);
	run_fine(&o);
	assert_non_null(strstr(o.out, "1257 rows beyond 4096, 1241 of them with prompt >= 4096\n"));
	testing_run_free(&o);
}

static bool same_content(const char *a, const char *b)
{
	FILE *fa = fopen(a, "rb"), *fb = fopen(b, "rb");
	assert_non_null(fa);
	assert_non_null(fb);
	int ca, cb;
	do {
		ca = getc(fa);
		cb = getc(fb);
	} while (ca == cb && ca != EOF);
	fclose(fa);
	fclose(fb);
	return ca == cb;
}

/* A published file read and written again is the same file, to the byte. */
static void published_files_survive(void **state)
{
	(void)state;
	static const struct {
		const char *name, *format;
	} files[] = {
		{"traces/AzureLLMInferenceTrace_conv.csv", "azure-csv"},
		{"traces/AzureLLMInferenceTrace_code.csv", "azure-csv"},
		{"traces/mooncake_conversation_trace.jsonl", "mooncake-jsonl"},
		{"traces/llmservingsim_sharegpt-llama-3.1-8b-300-sps10.jsonl", "ns-jsonl"},
	};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		shared_or_skip(path, files[i].name);
		const char *copy = testing_path("copy");
		struct run_output o =
			testing_run("trace convert %s -f %s -O %s", path, files[i].format, copy);
		run_fine(&o);
		assert_string_equal(o.err, "");
		assert_string_equal(o.out, "");
		assert_true(same_content(path, copy));
		testing_run_free(&o);
	}
}

static void convert_transcripts(void **state)
{
	(void)state;
	static const struct {
		const char *content, *args, *out, *err;
	} cases[] = {
		{"TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 "
		 "18:17:03.9799600,4808,10\r\n"
		 "2023-11-16 18:17:04.0319600,3180,8",
		 "", OURS "0.000000000,4808,10\n0.052000000,3180,8\n", ""},
		{"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n"
		 "2023-11-16 18:17:04.0319612,3180,8",
		 "-f azure-2024-csv",
		 "TIMESTAMP,ContextTokens,GeneratedTokens\n"
		 "2023-11-16 18:17:03.979960+00:00,4808,10\n"
		 "2023-11-16 18:17:04.031961+00:00,3180,8\n",
		 "omnibus trace: 1 rows: arrival rounded to what the format can hold\n"},
		{OURS "2,1,2\n2.0006,1,2\n", "-f mooncake-jsonl",
		 "{\"timestamp\": 2000, \"input_length\": 1, \"output_length\": 2}\n"
		 "{\"timestamp\": 2001, \"input_length\": 1, \"output_length\": 2}\n",
		 "omnibus trace: 1 rows: arrival rounded to what the format can hold\n"},
		{"arrive_s,prompt_tok,output_tok,max_tok\n2,1,2,\n3,1,2,9\n", "",
		 "arrive_s,prompt_tok,output_tok,max_tok\n2.000000000,1,2,\n3.000000000,1,2,9\n",
		 ""},
		{"arrive_s,prompt_tok,output_tok,max_tok\n2,1,2,\n3,1,2,9\n", "-f azure-csv",
		 "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2024-01-01 00:00:00.0000000,1,2\r\n"
		 "2024-01-01 00:00:01.0000000,1,2",
		 "omnibus trace: 1 rows: max_tokens left out\n"},
		{"{\"timestamp\":0,\"input_length\":5,\"output_length\":1,\"hash_ids\":[-3]}\n"
		 "{\"timestamp\":1,\"input_length\":5,\"output_length\":0}\n",
		 "-f ns-jsonl", "{\"arrival_time_ns\":0,\"input_length\":5,\"output_length\":1}\n",
		 "omnibus trace: 1 rows: hash ids left out\n"
		 "omnibus trace: 1 rows: skipped: no output tokens\n"},
		{"{\"timestamp\":0,\"input_length\":5,\"output_length\":1,\"hash_ids\":[-3],"
		 "\"max_tokens\":7}\n",
		 "-f mooncake-jsonl",
		 "{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 1, \"max_tokens\": 7, "
		 "\"hash_ids\": [-3]}\n",
		 ""},
		{OURS "1,1,2\n2,3,4\n4,5,6\n", "--skip 1 --rate 0.25",
		 OURS "2.000000000,3,4\n6.000000000,5,6\n", ""},
		{OURS "1,1,2\n0.5,3,4\n", "--sort --speed 0.5",
		 OURS "0.500000000,3,4\n1.500000000,1,2\n", ""},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run_output o = testing_run("trace convert %s %s", cases[i].args,
						  testing_file("from", cases[i].content));
		run_fine(&o);
		assert_string_equal(o.out, cases[i].out);
		assert_string_equal(o.err, cases[i].err);
		testing_run_free(&o);
	}
}

static void a_failed_file_leaves_nothing(void **state)
{
	(void)state;
	const char *bad = testing_file("bad", OURS "1,1,1\n2,x,1\n"), *to = testing_path("target");
	struct run_output o = testing_run("trace convert %s -O %s", bad, to);
	assert_i64(o.code, 1);
	assert_non_null(strstr(o.err, "bad:3: column 2 (prompt_tok): 'x' is not a number"));
	assert_i64(testing_count_files(to), 0);
	testing_run_free(&o);
	to = testing_file("target", "old"); /* what was there stays */
	o = testing_run("trace convert %s -O %s", bad, to);
	assert_i64(o.code, 1);
	assert_i64(testing_count_files(to), 1);
	assert_true(same_content(to, testing_file("old", "old")));
	testing_run_free(&o);
	o = testing_run("trace generate poisson -O %s/no/such/place", to);
	assert_i64(o.code, 1);
	assert_non_null(strstr(o.err, "omnibus trace: cannot write "));
	testing_run_free(&o);
	o = testing_run("trace generate poisson,n=100000 > /dev/full");
	assert_i64(o.code, 1);
	assert_non_null(strstr(o.err, "cannot write"));
	testing_run_free(&o);
	o = testing_run("trace generate poisson -O /dev/null");
	run_fine(&o);
	struct stat st;
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode)); /* written to, not replaced */
	testing_run_free(&o);
}

static void generate(void **state)
{
	(void)state;
	struct run_output o = testing_run("trace generate constant,n=3,rate=2,prompt=7,output=5");
	run_fine(&o);
	assert_string_equal(o.out, OURS "0.000000000,7,5\n0.500000000,7,5\n1.000000000,7,5\n");
	testing_run_free(&o);
	struct run_output a =
		testing_run("trace generate synth:azure-conv,n=50 --seed 3 -f ns-jsonl");
	struct run_output b = testing_run("trace generate azure-conv,n=50,seed=3 -f ns-jsonl");
	run_fine(&a);
	assert_string_equal(a.out, b.out);
	testing_run_free(&a);
	testing_run_free(&b);
}

/* The sample is what its own line in the README makes. */
static void the_sample_is_generated(void **state)
{
	(void)state;
	const char *made = testing_path("sample");
	struct run_output o = testing_run(
		"trace generate azure-conv,n=1000,seed=1,prompt_max=7000 -f azure-csv -O %s", made);
	run_fine(&o);
	assert_true(same_content(made, testing_source("traces/sample-chat.csv")));
	testing_run_free(&o);
}

static void fit_prints_a_generator(void **state)
{
	(void)state;
	const char *from = testing_file("from", OURS "0,10,5\n1,20,6\n2,30,7\n"),
		   *to = testing_path("fit.csv");
	char want[512];
	struct run_output o = testing_run("trace fit %s -O %s", from, to);
	run_fine(&o);
	snprintf(want, sizeof(want), "synth:constant,rate=1,corr=1,n=3,lengths=%s\n", to);
	assert_string_equal(o.out, want);
	o.out[strlen(o.out) - 1] = '\0';
	struct err e;
	struct rows r;
	struct trace_spec spec = {.source = o.out};
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_i64(r.counts.rows, 3);
	assert_i64(r.counts.last_ns, 2000000000);
	testing_run_free(&o);
}

static void info_in_every_format(void **state)
{
	(void)state;
	const char *one = testing_file("one", OURS "0,16,1\n1,16,2\n3,15,2\n"); /* case 9 */
	struct run_output o = testing_run("trace info %s synth:poisson,n=2 -o csv", one);
	run_fine(&o);
	assert_true(strncmp(o.out, "source,format,rows,", 19) == 0);
	char row[256];
	snprintf(row, sizeof(row), "\n%s,csv,3,0,0,0,0,3,", one);
	assert_non_null(strstr(o.out, row));
	assert_non_null(strstr(o.out, "\n\"synth:poisson,n=2\",synth:poisson,2,"));
	testing_run_free(&o);
	o = testing_run("trace info %s -o jsonl", one);
	run_fine(&o);
	assert_non_null(strstr(o.out, "\"kv_blocks\":4,\"hash_block\":null,"));
	testing_run_free(&o);
	o = testing_run("trace info %s", one);
	run_fine(&o);
	assert_non_null(strstr(o.out, "span           3 s\n"
				      "rate           0.666667 requests/s, gap CV 0.3333\n"
				      "tokens         47 in, 5 out\n"));
	assert_non_null(strstr(o.out, "prompt tokens    rows\n"
				      "         8+         1 #########################\n"
				      "        16+         2 "
				      "##################################################\n"));
	testing_run_free(&o);
}

/* A pipe on standard input is read twice by info. */
static void info_of_a_pipe(void **state)
{
	(void)state;
	const char *file = testing_file("one", OURS "0,16,1\n1,16,2\n3,15,2\n");
	const char *fifo = testing_path("fifo");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	struct run_output a = testing_run("trace info - -o jsonl < %s", file);
	struct run_output b =
		testing_run("trace info - -o jsonl < %s & cat %s > %s; wait $!", fifo, file, fifo);
	run_fine(&a);
	run_fine(&b);
	assert_string_equal(a.out, b.out);
	assert_non_null(strstr(a.out, "\"rows\":3,"));
	testing_run_free(&a);
	testing_run_free(&b);
}

static void wrong_usage(void **state)
{
	(void)state;
	static const struct {
		const char *args, *part;
	} cases[] = {
		{"trace", "usage: omnibus trace COMMAND"},
		{"trace inof", "'info'"},
		{"trace info", ""},
		{"trace info x -o xml", "-o xml: expected md, csv or jsonl"},
		{"trace info x --windw 1:2", "window"},
		{"trace info x --window 2:1", "--window 2:1: is empty"},
		{"trace info x --columns arrival=1", "prompt is missing"},
		{"trace info x --rate 0", "--rate"},
		{"trace info x --rate 1 --speed 2", "--rate and --speed"},
		{"trace convert x -f azure", "azure-csv"},
		{"trace convert x y", ""},
		{"trace fit x", "-O FILE is missing"},
		{"trace generate", ""},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run_output o = testing_run("%s", cases[i].args);
		if (o.code != 2 || !strstr(o.err, cases[i].part))
			print_error("%s: exit %d: %s\n", cases[i].args, o.code, o.err);
		assert_i64(o.code, 2);
		assert_string_equal(o.out, "");
		assert_true(strlen(o.err) > 0);
		assert_non_null(strstr(o.err, cases[i].part));
		testing_run_free(&o);
	}
}

static void help(void **state)
{
	(void)state;
	static const char *const args[] = {"trace --help", "trace info --help", "trace fit --help",
					   "trace convert --help", "trace generate -h"};
	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
		struct run_output o = testing_run("%s", args[i]);
		run_fine(&o);
		assert_non_null(strstr(o.out, "usage: omnibus trace"));
		assert_string_equal(o.err, "");
		testing_run_free(&o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(azure_conv),
		cmocka_unit_test(azure_code),
		cmocka_unit_test(published_files_survive),
		cmocka_unit_test(convert_transcripts),
		cmocka_unit_test(a_failed_file_leaves_nothing),
		cmocka_unit_test(generate),
		cmocka_unit_test(the_sample_is_generated),
		cmocka_unit_test(fit_prints_a_generator),
		cmocka_unit_test(info_in_every_format),
		cmocka_unit_test(info_of_a_pipe),
		cmocka_unit_test(wrong_usage),
		cmocka_unit_test(help),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
