/* The rungs of a ladder: errors, the noise floor and the verdict, with runs made up. */
#include "sim/validate_ladder.h"
#include "tests/testing.h"
#include <math.h>
#include <string.h>

static struct summary run(double ttft_s, double tpot_s)
{
	struct summary s = {.policy = "paged"};

	s.ttft_mean_s = s.ttft_p50_s = ttft_s;
	s.tpot_mean_s = s.tpot_p50_s = tpot_s;
	s.e2e_mean_s = s.e2e_p50_s = s.throughput_rps = NAN;
	return s;
}

static struct ladder_row row_of(const struct ladder_round *rounds, size_t n, const char *tolerance,
				enum ladder_metric m, char *outside)
{
	struct ladder_row rows[N_LADDER];
	struct tolerance t;
	struct err e;
	char text[512] = "";

	assert_fine(tolerance_parse(&t, tolerance, NULL, 0, &e), e);
	ladder_rows(rows, rounds, n, &t, text, sizeof(text));
	if (outside)
		memcpy(outside, text, sizeof(text));
	return rows[m];
}

/* Medians over rounds, each against the runs of its own round. */
static void test_medians(void **state)
{
	const struct ladder_round rounds[] = {
		{run(1, 0.1), run(1.2, 0.1), run(1, 0.1), run(2, 0.1)},
		{run(2, 0.1), run(2.2, 0.1), run(2, 0.1), run(2, 0.1)},
		{run(9, 0.1), run(9, 0.1), run(9, 0.1), run(8, 0.1)},
	};
	struct ladder_row r = row_of(rounds, 3, "1", LADDER_TTFT_MEAN, NULL);

	(void)state;
	assert_string_equal(r.policy, "paged");
	assert_string_equal(r.metric, "ttft_mean");
	assert_i64(r.rounds, 3);
	assert_near(r.measured, 2, 0);
	assert_near(r.predicted, 2.2, 0);
	assert_near(r.wall, 2, 0);
	assert_near(r.model_error, 0.1, 1e-12); /* of 0.2, 0.1, 0 */
	assert_near(r.wall_error, 0.1, 1e-12);	/* of -0.4, 0.1, 0.125 */
	assert_near(r.floor, 0, 0);
	assert_string_equal(r.within, "yes");
}

/* The forecast is held against the mean of the runs before and after it. */
static void test_drift(void **state)
{
	const struct ladder_round round = {run(1, 1), run(1.1, 1), run(1.2, 1), run(1.1, 1)};
	struct ladder_row r = row_of(&round, 1, "1", LADDER_TTFT_MEAN, NULL);

	(void)state;
	assert_near(r.floor, 0.2, 1e-12);
	assert_near(r.model_error, 0, 1e-12);
}

/* No verdict is finer than two runs of the machine are alike. */
static void test_floor(void **state)
{
	static const struct {
		double again, predicted, wall;
		const char *tolerance, *within, *says;
		double limit;
	} cases[] = {
		{1, 1.05, 1.05, "0.0501", "yes", NULL, 0.0501},
		{1, 1.05, 1.05, "0.0499", "no", "paged: ttft_mean is off by 0.05, limit 0.0499",
		 0.0499},
		/* the floor is 0.2; 1.32 / 1.1 - 1 = 0.2 */
		{1.2, 1.31, 1.31, "0.05", "yes", NULL, 0.2},
		{1.2, 1.33, 1.33, "0.05", "no", "ttft_mean is off by 0.2091, limit 0.2", 0.2},
		{0.8, 1.07, 1.07, "0.05", "yes", NULL, 0.25}, /* against 0.9 */
		/* noise of a factor of 3 does not excuse one of 10 */
		{3, 0.2, 0.2, "0.05", "no", "ttft_mean is off by -0.9, limit 2", 2},
		{1, 1, 2, "0.05", "yes", NULL, 0.05}, /* real time is beside it */
		{1, 2, 2, "tpot=0.1", "", NULL, NAN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct ladder_round round = {run(1, 1), run(cases[i].predicted, 1),
						   run(cases[i].again, 1), run(cases[i].wall, 1)};
		char outside[512];
		struct ladder_row r =
			row_of(&round, 1, cases[i].tolerance, LADDER_TTFT_MEAN, outside);

		assert_string_equal(r.within, cases[i].within);
		assert_true(isnan(r.limit) == isnan(cases[i].limit));
		if (!isnan(r.limit))
			assert_near(r.limit, cases[i].limit, 1e-12);
		if (cases[i].says ? !strstr(outside, cases[i].says) : outside[0] != '\0')
			fail_msg("case %zu: %s", i, outside);
	}
}

/* A median of a request has a tolerance of its own; what is not known is not judged. */
static void test_metrics(void **state)
{
	const struct ladder_round round = {run(1, 1), run(2, 1), run(1, 1), run(1, 1)};
	char outside[512];

	(void)state;
	row_of(&round, 1, "ttft_p50=0.5", LADDER_TTFT_P50, outside);
	assert_non_null(strstr(outside, "ttft_p50 is off by 1, limit 0.5"));
	assert_null(strstr(outside, "ttft_mean"));
	assert_string_equal(row_of(&round, 1, "0.5", LADDER_E2E_MEAN, NULL).within, "");
	assert_true(isnan(row_of(&round, 1, "0.5", LADDER_E2E_MEAN, NULL).measured));
}

static void test_steps(void **state)
{
	struct error_pairs p = {0};
	struct ladder_steps s;

	(void)state;
	error_add(&p, 1, 0.5);
	error_add(&p, 2, 2);
	error_add(&p, 4, 5);
	error_add(&p, 0, 5); /* no relative error */
	const struct summary of = {.policy = "paged", .given = "chunk=256"};

	ladder_steps_make(&s, &of, "decode", &p);
	assert_string_equal(s.given, "chunk=256");
	assert_i64(s.steps, 3);
	assert_i64(p.zeros, 1);
	assert_string_equal(s.kind, "decode");
	assert_near(s.measured_s, 2, 0);
	assert_near(s.predicted_s, 2, 0);
	assert_near(s.error, 0.5 / 7, 1e-12);
	assert_near(s.signed_p50, 0, 0);
	assert_near(s.abs_p50, 0.25, 0);
	assert_near(s.abs_p90, 0.45, 1e-12); /* rank 1.8 of 0, 0.25, 0.5 */
	error_release(&p);
}

/*
 * Real layers of the smallest model against the profile of another device altogether: the runs are
 * made, every rung has its figures, and the verdict is what it must be. One round, three requests.
 */
static void test_on_this_machine(void **state)
{
	const char *trace = testing_file("few.csv", "arrive_s,prompt_tok,output_tok\n0,30,3\n"
						    "0.001,20,4\n0.002,10,2\n");
	struct run_output o = testing_run("validate --backend cpu -m tiny '%s' --profile h200 "
					  "-p vllm-v1:chunk=64,max_seqs=8 --kv-tokens 256 "
					  "--rounds 1 -o csv",
					  trace);
	int lines = 0;

	(void)state;
	assert_exit(o, 3); /* it is no H200 */
	assert_non_null(strstr(o.err, "requests a second, 0.6 of the "));
	assert_non_null(strstr(o.err, "vllm-v1: tpot_mean is off by -"));
	for (const char *c = o.out; *c; c++)
		lines += *c == '\n';
	assert_non_null(strstr(o.out, "\nvllm-v1,\"chunk=64,max_seqs=8\",tpot_p50,1,"));
	assert_non_null(strstr(o.out, "\n\npolicy,given,kind,steps,"));
	assert_non_null(strstr(o.out, "\nvllm-v1,\"chunk=64,max_seqs=8\",decode,"));
	assert_true(lines >= 1 + N_LADDER + 1 + 1 + 2);
	testing_run_free(&o);
}

static void test_refused(void **state)
{
	static const struct {
		const char *args;
		int code;
		const char *says;
	} cases[] = {
		{"-m tiny -p paged", 2, "--backend runs the requests of a trace: it is missing"},
		{"-p paged x.csv", 2, "-m MODEL is missing"},
		{"-m tiny x.csv", 2, "no policy is given"},
		{"-m tiny -p paged -d h200 x.csv", 2, "leave out -d"},
		{"-m tiny -p paged -x cpu x.csv", 2, "leave out -x"},
		{"-m tiny -p paged --db y.db x.csv", 2, "leave out --db"},
		{"-m tiny -p paged --record y x.csv", 2, "leave out --db, --steps and --record"},
		{"-m tiny -p paged --rate 1,2 synth:poisson,n=2", 2, "--backend takes one --rate"},
		{"-m tiny -p paged --tolerance ttft=1,e2e_p90=0.1 synth:poisson,n=2", 2,
		 "of those that are judged here, 'e2e_p90', nearest is 'e2e_p50'"},
		{"-m tiny -p paged --clock wall x.csv", 2, "leave out --clock"},
		{"-m tiny -p paged --rounds 0 x.csv", 2, "--rounds"},
		{"-m tiny -p paged --load 0 x.csv", 2, "--load"},
		{"-m tiny -p paged -o xml x.csv", 2, "-o 'xml'"},
		{"-m tiny -p pagd --profile h200 x.csv", 2, "nearest is 'paged'"},
		{"-m tiny -p paged --profile h2 synth:poisson,n=2", 2, "nearest is 'h200'"},
		{"-m tiny -p paged --profile h200 x.csv", 1, "x.csv: No such file"},
		{"-m tiny -p paged --profile h200 --real y x.csv", 2, "give one of them"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run_output o = testing_run("validate --backend cpu %s", cases[i].args);

		if (!strstr(o.err, cases[i].says))
			fail_msg("%s: %s", cases[i].args, o.err);
		assert_exit(o, cases[i].code);
		assert_string_equal(o.out, "");
		testing_run_free(&o);
	}
	struct run_output o = testing_run("validate --backend gpu -m tiny -p paged --rate 1 "
					  "--profile h200 '%s'",
					  testing_file("t.csv", "arrive_s,prompt_tok,output_tok\n"
								"0,3,1\n1,3,1\n"));

	assert_exit(o, 2);
	assert_non_null(strstr(o.err, "'gpu'"));
	testing_run_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_medians), cmocka_unit_test(test_drift),
		cmocka_unit_test(test_floor),	cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_steps),	cmocka_unit_test(test_on_this_machine),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
