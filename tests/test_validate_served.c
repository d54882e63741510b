/* `omnibus validate --served`: which rows count, with which settings, and what errors come to. */
#include "tests/testing.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

#define HEADER                                                                                     \
	"backend,model,system,precision,gemm_quant_mode,isl,osl,concurrency,tp_size,ttft_ms,"      \
	"tpot_ms\n"
#define VLLM "vllm,meta-llama/Llama-3.1-8B,h200_sxm,bf16,bf16,"

static struct run_output served(const char *rows, const char *args)
{
	char text[4096];

	snprintf(text, sizeof(text), HEADER "%s", rows);
	return testing_run("validate --served '%s' %s", testing_file("served.csv", text), args);
}

/* The line of the output whose key has that value; the caller owns it. */
static json_t *line_of(const struct run_output *o, const char *key, const char *value)
{
	for (const char *line = o->out, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		json_t *row = json_loadb(line, (size_t)(end - line), 0, NULL);
		const char *got = json_string_value(json_object_get(row, key));

		if (got && strcmp(got, value) == 0)
			return row;
		json_decref(row);
	}
	fail_msg("no line with %s %s", key, value);
	return NULL;
}

static double number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

/*
 * Measured as 1 us, what is forecast is the error and 1; measured as that, there is no error; as
 * 0.8 of it, it is a quarter.
 */
static void test_errors(void **state)
{
	struct run_output o = served(VLLM "512,64,4,1,0.001,0.001\n", "-o jsonl");
	char rows[512];
	double ttft_ms, tpot_ms;
	json_t *row;

	(void)state;
	assert_exit(o, 0);
	row = line_of(&o, "server", "vllm h200_sxm");
	assert_i64(json_integer_value(json_object_get(row, "rows")), 1);
	tpot_ms = (number(row, "tpot_p50") + 1) * 0.001;
	ttft_ms = (number(row, "ttft_p50") + 1) * 0.001;
	assert_true(tpot_ms > 4 && tpot_ms < 8); /* 16 GB at 4.8 TB/s are 3.3 ms */
	json_decref(row);
	testing_run_free(&o);
	snprintf(rows, sizeof(rows),
		 VLLM "512,64,4,1,%.15g,%.15g\n" VLLM "512,64,4,1,%.15g,%.15g\n", ttft_ms,
		 0.8 * tpot_ms, ttft_ms, tpot_ms / 0.8);
	o = served(rows, "-o jsonl --tolerance ttft=1e-9,tpot=0.2251,tpot_p90=0.2451");
	assert_exit(o, 0);
	row = line_of(&o, "server", "all");
	assert_near(number(row, "ttft_abs_p90"), 0, 1e-9);
	assert_near(number(row, "tpot_p50"), 0.025, 1e-9); /* of 0.25 and -0.2 */
	assert_near(number(row, "tpot_abs_p50"), 0.225, 1e-9);
	assert_near(number(row, "tpot_abs_p90"), 0.245, 1e-9);
	json_decref(row);
	testing_run_free(&o);
	o = served(rows, "--tolerance tpot=0.2249");
	assert_exit(o, 3);
	assert_non_null(strstr(o.err, "vllm h200_sxm: tpot_p50 is 0.225, tolerance 0.2249"));
	testing_run_free(&o);
}

/*
 * What a row of omnibus run with the same settings says: requests of one length are those of a
 * synthetic trace. 5 of 4 x 5 / 5 = 4 to 5: lengths of 1 are drawn from 1 to 1.
 */
static void test_settings(void **state)
{
	static const struct {
		const char *row, *server, *settings;
	} cases[] = {
		{VLLM, "vllm h200_sxm",
		 "-p vllm-v1:chunk=8192,max_seqs=8,async=1 -m llama-3.1-8b -d h200"},
		{"vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,fp8,", "vllm h200_sxm",
		 "-p vllm-v1:chunk=8192,max_seqs=8,async=1 -m llama-3-70b -d h200 --weight-bits 8 "
		 "--kv-bits 8"},
		{"trtllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,fp8,", "trtllm h200_sxm",
		 "-p vllm-v1:chunk=8192,max_seqs=8,async=1,fused_quant=1 -m llama-3-70b "
		 "-d h200-trtllm --weight-bits 8 --kv-bits 8"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char rows[256];

		snprintf(rows, sizeof(rows), "%s1,1,8,1,1,1\n", cases[i].row);
		struct run_output o = served(rows, "-o jsonl"), run;
		json_t *row = line_of(&o, "server", cases[i].server), *want;

		assert_exit(o, 0);
		run = testing_run("run synth:constant,n=80,prompt=1,output=1 --closed-loop 8 %s "
				  "-o jsonl",
				  cases[i].settings);
		assert_exit(run, 0);
		want = json_loads(run.out, JSON_DISABLE_EOF_CHECK, NULL);
		assert_near(number(row, "ttft_p50"), number(want, "ttft_mean_s") / 0.001 - 1, 1e-9);
		json_decref(want);
		json_decref(row);
		testing_run_free(&run);
		testing_run_free(&o);
	}
}

static void test_left_out(void **state)
{
	static const struct {
		const char *row, *why;
	} cases[] = {
		{"vllm,meta-llama/Llama-3.1-70B,b200_sxm,fp4,nvfp4,1024,1024,4,1,1,1\n",
		 "no GEMM in nvfp4 was measured"},
		{"sglang,meta-llama/Llama-3.1-8B,h200_sxm,bf16,bf16,1024,1024,4,1,1,1\n",
		 "no kernels of this server and system"},
		{"vllm,meta-llama/Llama-4,h200_sxm,bf16,bf16,1024,1024,4,1,1,1\n", "no such model"},
		{VLLM "8192,8192,128,1,1,1\n", "its requests need more KV than the pool has"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run_output o = served(cases[i].row, "-o jsonl");
		json_t *row = line_of(&o, "left_out", cases[i].why), *all;

		assert_exit(o, 0);
		assert_i64(json_integer_value(json_object_get(row, "rows")), 1);
		all = line_of(&o, "server", "all");
		assert_i64(json_integer_value(json_object_get(all, "rows")), 0);
		assert_i64(json_integer_value(json_object_get(all, "left_out")), 1);
		assert_true(json_is_null(json_object_get(all, "tpot_p50")));
		json_decref(all);
		json_decref(row);
		testing_run_free(&o);
		o = served(cases[i].row, "--tolerance 1");
		assert_exit(o, 3);
		assert_non_null(strstr(o.err, "no row counts"));
		testing_run_free(&o);
	}
}

/* Lines are those of the file, blank ones counted. */
static void test_lines(void **state)
{
	static const char text[] =
		"\n" HEADER "\n" VLLM "512,64,4,1,1,1\n\n\n" VLLM "512,64,4,1,2,2\n";
	struct run_output o =
		testing_run("validate --served '%s' -o jsonl", testing_file("served.csv", text));
	int64_t sum = 0, n = 0;

	(void)state;
	assert_exit(o, 0);
	for (const char *at = o.out; (at = strstr(at, "\"line\":")); n++) {
		at += strlen("\"line\":");
		sum += strtoll(at, NULL, 10) == 4 ? 4 : strtoll(at, NULL, 10) == 7 ? 7 : 100;
	}
	assert_i64(n, 2);
	assert_i64(sum, 4 + 7);
	testing_run_free(&o);
	o = testing_run("validate --served '%s'",
			testing_file("served.csv", "\nbackend,model\nvllm,x\n"));
	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "served.csv:2: column system is missing"));
	testing_run_free(&o);
	o = testing_run("validate --served '%s'",
			testing_file("served.csv", "backend,backend,model\nvllm,trtllm,x\n"));
	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "served.csv:1: column backend is there twice"));
	testing_run_free(&o);
}

static void test_refused(void **state)
{
	static const struct {
		const char *rows, *args;
		int code;
		const char *says;
	} cases[] = {
		{VLLM "512,64,4,1,1,1\n", "-p paged", 2, "--policy is not for --served"},
		{VLLM "512,64,4,1,1,1\n", "-d h200", 2, "--device is not for --served"},
		{VLLM "512,64,4,1,1,1\n", "--tp 2", 2, "--tp is not for --served"},
		{VLLM "512,64,4,1,1,1\n", "--weight-bits 8", 2, "--weight-bits is not for"},
		{VLLM "512,64,4,1,1,1\n", "-x fixed:1", 2, "--executor is not for --served"},
		{VLLM "512,64,4,1,1,1\n", "--rate 1", 2, "--rate is not for --served"},
		{VLLM "512,64,4,1,1,1\n", "--rounds 1", 2, "--rounds is not for --served"},
		{VLLM "512,64,4,1,1,1\n", "--record x", 2, "--record is not for --served"},
		{VLLM "512,64,4,1,1,1\n", "trace.csv", 2, "takes no argument beside it"},
		{"vllm,meta-llama/Llama-3.1-8B,h200_sxm,int7,bf16,512,64,4,1,1,1\n", "", 1,
		 "served.csv:2: precision 'int7' is not known: expected bf16, "},
		{VLLM "512,64,4,1,1,1\n", "--tolerance itl=0.05", 2,
		 "of those that are judged here, 'itl'"},
		{VLLM "512,64,4,1,1,1\n", "--real x", 2, "give one of them"},
		{VLLM "512,64,4,1,1,1\n", "-o xml", 2, "-o 'xml'"},
		{VLLM "512,64,0,1,1,1\n", "", 1, "served.csv:2"},
		{VLLM "512,64,4,1,1,x\n", "", 1, "served.csv:2"},
		{"", "", 1, "served.csv: has no rows"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run_output o = served(cases[i].rows, cases[i].args);

		assert_exit(o, cases[i].code);
		assert_string_equal(o.out, "");
		if (!strstr(o.err, cases[i].says))
			fail_msg("%s: %s", cases[i].says, o.err);
		testing_run_free(&o);
	}
	struct run_output o = testing_run("validate --served '%s'",
					  testing_file("served.csv", "backend,model\nvllm,x\n"));

	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "served.csv:1: column system is missing"));
	testing_run_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),	 cmocka_unit_test(test_settings),
		cmocka_unit_test(test_left_out), cmocka_unit_test(test_lines),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
