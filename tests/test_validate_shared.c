/*
 * Forecasts against real servers, from measured kernels alone: what they attain must not be lost.
 * Nothing here was fitted to these runs.
 */
#include "tests/testing.h"
#include <string.h>

/* vLLM 0.19, 300 requests that outrun it. */
#define RUN                                                                                        \
	"validate --real '%s' -m llama-3.1-8b -d rtx-pro-6000 -o csv "                             \
	"-p vllm-v1:chunk=2048,max_seqs=128,async=1%s --tolerance %s"

static void assert_within(const char *log, const char *settings, const char *tolerance)
{
	struct run_output o = testing_run(RUN, log, settings, tolerance);

	assert_exit(o, 0);
	assert_null(strstr(o.err, "roofline"));
	testing_run_free(&o);
}

static void test_a_server(void **state)
{
	shared_or_skip(log, "measured/vllm-rtxpro6000/e2e.RTXPRO6000.Llama-3.1-8B.requests.csv");

	(void)state;
	assert_within(log, "",
		      "ttft=0.05,tpot=0.02,e2e_p50=0.02,e2e_p90=0.04,throughput=0.02,"
		      "ttft_no_queue=0.1");
	/* beside the step, and shorter than it: the scheduler's time costs nothing */
	assert_within(log, ",host_us=1000", "ttft=0.05,tpot=0.02");
}

/* A forecast that is far off is said to be: the kernels of a device twice as fast. */
static void test_another_device(void **state)
{
	shared_or_skip(log, "measured/vllm-rtxpro6000/e2e.RTXPRO6000.Llama-3.1-8B.requests.csv");
	struct run_output o = testing_run("validate --real '%s' -m llama-3.1-8b -d h200 -p "
					  "vllm-v1:chunk=2048,max_seqs=128,async=1 --tolerance 0.2",
					  log);

	(void)state;
	assert_exit(o, 3);
	testing_run_free(&o);
}

/* Medians of |TPOT error| over the rows of each server. */
static void test_many_servers(void **state)
{
	shared_or_skip(rows, "measured/other/served_closed_loop_h200_b200.csv");
	struct run_output o =
		testing_run("validate --served '%s' -o csv --tolerance tpot=0.055,ttft=0.35", rows);

	(void)state;
	assert_exit(o, 0);
	assert_non_null(strstr(o.out, "\nvllm h200_sxm,58,2,"));
	assert_non_null(strstr(o.out, "\nvllm b200_sxm,60,60,"));
	assert_non_null(strstr(o.out, "no GEMM in nvfp4 was measured,72\n"));
	testing_run_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_server),
		cmocka_unit_test(test_another_device),
		cmocka_unit_test(test_many_servers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
