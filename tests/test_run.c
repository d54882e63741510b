/* `omnibus run` from the outside: what goes in, what comes out, what each option does. */
#include "tests/run_rows.h"
#include <string.h>

static void test_cross_product(void **state)
{
	(void)state;
	static const char *const policies[] = {"sarathi", "paged", "static"};
	static const double rates[] = {2, 8, 4};
	struct results r = run_rows("synth:poisson,n=50,rate=1 -p sarathi -p paged -p static " HW
				    "--rate 2,8 --rate 4");
	assert_i64(r.n, 9);
	for (size_t i = 0; i < r.n; i++) {
		assert_i64(row_number(&r, i, "run_id"), i + 1);
		assert_string_equal(row_text(&r, i, "policy"), policies[i / 3]);
		assert_near(row_number(&r, i, "offered_rps"), rates[i % 3], 1e-6);
	}
	free_rows(&r);
}

static void assert_same_stdout(const char *a, const char *b)
{
	struct run_output x = run_well(a), y = run_well(b);
	assert_true(count_lines(x.out) > 1);
	assert_string_equal(x.out, y.out);
	testing_run_free(&x);
	testing_run_free(&y);
}

/* A trace of 200 rows. */
static const char *make_trace(void)
{
	const char *path = testing_path("trace.csv");
	struct run_output o =
		testing_run("trace generate azure-conv,n=200,rate=5,seed=9 -O %s", path);
	assert_exit(o, 0);
	testing_run_free(&o);
	return path;
}

static void test_standard_input(void **state)
{
	(void)state;
	const char *path = make_trace();
	char file[512], piped[512];
	snprintf(file, sizeof(file), "%s -p paged -p static " HW "--rate 2,4 -o csv", path);
	snprintf(piped, sizeof(piped), "- -p paged -p static " HW "--rate 2,4 -o csv < %s", path);
	assert_same_stdout(file, piped);
	/* from a pipe, which cannot be read twice */
	snprintf(piped, sizeof(piped),
		 "--help > /dev/null; cat %s | '%s' run - -p paged -p static " HW
		 "--rate 2,4 -o csv",
		 path, run_program);
	assert_same_stdout(file, piped);
}

static void test_packed(void **state)
{
	(void)state;
	static const char *const tools[][2] = {{"gzip", "gz"}, {"zstd", "zst"}};
	const char *path = make_trace();
	int n = 0;
	for (size_t i = 0; i < 2; i++) {
		char command[512], plain[512], packed[512];
		if (!have_tool(tools[i][0])) {
			print_message("%s is not here\n", tools[i][0]);
			continue;
		}
		snprintf(command, sizeof(command), "%s -c < %s > %s.%s", tools[i][0], path, path,
			 tools[i][1]);
		assert_int_equal(system(command), 0);
		snprintf(plain, sizeof(plain), "%s -p paged " HW "-o csv", path);
		snprintf(packed, sizeof(packed), "%s.%s -p paged " HW "-o csv", path, tools[i][1]);
		assert_same_stdout(plain, packed);
		n++;
	}
	if (n == 0)
		skip();
}

/* The columns that the manual promises, in order, before any other. */
static void test_columns_of_csv(void **state)
{
	(void)state;
	static const char promised[] =
		"run_id,policy,params,times,model,device,requests,completed,rejected,unfinished,"
		"offered_rps,throughput_rps,output_tps,goodput_rps,attainment,ttft_mean_s,"
		"ttft_p50_s,ttft_p90_s,ttft_p99_s,tpot_mean_s,tpot_p50_s,tpot_p90_s,tpot_p99_s,"
		"itl_mean_s,itl_p50_s,itl_p99_s,e2e_mean_s,e2e_p50_s,e2e_p99_s,"
		"norm_latency_mean_s,queue_mean_s,queue_p99_s,preemptions,steps,makespan_s,"
		"kv_util_mean,batch_mean,bound,saturated";
	struct run_output o = run_well("synth:constant,n=3,output=1 -p paged " FAST "-o csv");
	assert_i64(count_lines(o.out), 2);
	assert_memory_equal(o.out, promised, sizeof(promised) - 1);
	assert_true(o.out[sizeof(promised) - 1] == ',' || o.out[sizeof(promised) - 1] == '\n');
	/* no target and one token a request: NULL is an empty field */
	assert_non_null(strstr(o.out, ",fixed,,,3,3,0,0,"));
	testing_run_free(&o);
	struct results r = run_rows("synth:constant,n=3,output=1 -p paged " FAST);
	assert_i64(r.n, 1);
	assert_true(json_is_null(json_object_get(r.row[0], "attainment")));
	assert_true(json_is_null(json_object_get(r.row[0], "tpot_mean_s")));
	free_rows(&r);
}

/* Ten requests a second apart, 10 tokens in and 5 out; a step is 10 ms, so each takes 50 ms. */
#define TEN "synth:constant,n=10,rate=1,prompt=10,output=5 -p paged " FAST

static void test_selection(void **state)
{
	(void)state;
	assert_row(TEN, (const struct expect[]){{"requests", 10},
						{"completed", 10},
						{"makespan_s", 9.05},
						{.name = NULL}});
	assert_row(TEN "--limit 4",
		   (const struct expect[]){{"requests", 4}, {"makespan_s", 3.05}, {.name = NULL}});
	assert_row(TEN "--skip 7",
		   (const struct expect[]){{"requests", 3}, {"makespan_s", 2.05}, {.name = NULL}});
	assert_row(TEN "--skip 2 --limit 4",
		   (const struct expect[]){{"requests", 4}, {"makespan_s", 3.05}, {.name = NULL}});
	assert_row(TEN "--window 2:5",
		   (const struct expect[]){{"requests", 3}, {"makespan_s", 2.05}, {.name = NULL}});
	assert_row(
		TEN "--speed 2",
		(const struct expect[]){{"offered_rps", 2}, {"makespan_s", 4.55}, {.name = NULL}});
	assert_row(
		TEN "--rate 10",
		(const struct expect[]){{"offered_rps", 10}, {"makespan_s", 0.95}, {.name = NULL}});
}

/* At 3.02 s four have arrived and the last has 2 of its 5 tokens. */
static void test_horizon(void **state)
{
	(void)state;
	assert_row(TEN "--horizon 3.02", (const struct expect[]){{"requests", 4},
								 {"completed", 3},
								 {"unfinished", 1},
								 {"rejected", 0},
								 {.name = NULL}});
}

/* Two in flight, each 50 ms, in lock step: five rounds. */
static void test_closed_loop(void **state)
{
	(void)state;
	assert_row(TEN "--closed-loop 2", (const struct expect[]){{"completed", 10},
								  {"makespan_s", 0.25},
								  {"e2e_mean_s", 0.05},
								  {.name = NULL}});
	assert_row(TEN "--closed-loop 1",
		   (const struct expect[]){{"completed", 10}, {"makespan_s", 0.5}, {.name = NULL}});
}

/* Ten tokens in and five out are fifteen. */
static void test_max_model_len(void **state)
{
	(void)state;
	assert_row(TEN "--max-model-len 15",
		   (const struct expect[]){{"completed", 10}, {"rejected", 0}, {.name = NULL}});
	assert_row(TEN "--max-model-len 14",
		   (const struct expect[]){{"completed", 0}, {"rejected", 10}, {.name = NULL}});
	assert_row(
		TEN "--max-model-len 14 --too-long truncate",
		(const struct expect[]){{"completed", 10}, {"e2e_mean_s", 0.04}, {.name = NULL}});
	assert_row(TEN "--max-model-len 10 --too-long truncate",
		   (const struct expect[]){{"completed", 0}, {"rejected", 10}, {.name = NULL}});
	assert_says(TEN "--max-model-len 14", "10 requests longer than --max-model-len rejected\n");
	assert_says(TEN "--max-model-len 14 --too-long truncate",
		    "10 requests longer than --max-model-len had their output cut\n");
}

/* case 5: of 8,819 rows 1,257 are beyond 4096, 1,241 of them by their prompt alone. */
static void test_max_model_len_on_a_real_trace(void **state)
{
	(void)state;
	shared_or_skip(path, "traces/AzureLLMInferenceTrace_code.csv");
	char args[512];
	snprintf(args, sizeof(args), "%s -p paged " HW "--max-model-len 4096", path);
	assert_row(args,
		   (const struct expect[]){{"requests", 8819}, {"rejected", 1257}, {.name = NULL}});
	assert_says(args, "1257 requests longer than --max-model-len rejected\n");
	snprintf(args, sizeof(args), "%s -p paged " HW "--max-model-len 4096 --too-long truncate",
		 path);
	assert_row(args,
		   (const struct expect[]){{"requests", 8819}, {"rejected", 1241}, {.name = NULL}});
	assert_says(args, "16 requests longer than --max-model-len had their output cut\n");
}

/*
 * All at once, 10 tokens in and 5 out, blocks of 1: a pool of 40 has room for two reservations of
 * 10
 * + 10, and for one of 10 + 30. Two at a time is five rounds of 50 ms, one at a time ten.
 */
static void test_max_tokens(void **state)
{
	(void)state;
#define BURST "synth:constant,n=10,rate=inf,prompt=10,output=5 " FAST "--block 1 --kv-blocks 40 "
	assert_row(
		BURST "-p orca-max:alloc=count --max-tokens 10",
		(const struct expect[]){{"completed", 10}, {"makespan_s", 0.25}, {.name = NULL}});
	assert_row(BURST "-p orca-max:alloc=count --max-tokens 30",
		   (const struct expect[]){{"completed", 10}, {"makespan_s", 0.5}, {.name = NULL}});
	assert_row(BURST "-p orca-max:alloc=count --max-tokens 31",
		   (const struct expect[]){{"completed", 0}, {"rejected", 10}, {.name = NULL}});
	/* oracles in chunks of 16: two at a time in 32 + 8 blocks */
	assert_row(
		BURST "-p orca-oracle",
		(const struct expect[]){{"completed", 10}, {"makespan_s", 0.25}, {.name = NULL}});
	assert_says(BURST "-p orca-max --max-tokens 4",
		    "10 rows have more output than their limit of output tokens");
#undef BURST
}

static void test_counts(void **state)
{
	(void)state;
	char args[512];
	const char *path = testing_file("counts.csv", "arrive_s,prompt_tok,output_tok\n"
						      "0,9,1\n1,9,0\n2,0,5\n3,9,1\n4,9,1\n7,9,1\n");
	snprintf(args, sizeof(args), "%s -p paged " FAST "--skip 1", path);
	assert_says(args, "counts.csv: 3 rows over 4 s, 0.5 a second\n");
	assert_says(args, "1 rows without output tokens skipped\n");
	assert_says(args, "1 rows without prompt tokens skipped\n");
	assert_says(args, "1 rows left out by --skip and --window\n");
}

/* What needs a GPU's libraries is not linked in: they take 80 ms and 200 MiB to start. */
static void test_links_no_gpu_library(void **state)
{
	(void)state;
	if (!have_tool("ldd")) {
		print_message("skipped: ldd is not here\n");
		skip();
	}
	struct run_output o = testing_run("--version && ldd '%s'", run_program);
	assert_exit(o, 0);
	assert_non_null(strstr(o.out, "sqlite3"));
	assert_null(strstr(o.out, "cuda"));
	assert_null(strstr(o.out, "cublas"));
	assert_null(strstr(o.out, "nvidia"));
	testing_run_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cross_product),
		cmocka_unit_test(test_standard_input),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_columns_of_csv),
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_horizon),
		cmocka_unit_test(test_closed_loop),
		cmocka_unit_test(test_max_model_len),
		cmocka_unit_test(test_max_model_len_on_a_real_trace),
		cmocka_unit_test(test_max_tokens),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_links_no_gpu_library),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
