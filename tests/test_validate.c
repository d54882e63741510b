/* `omnibus validate --real`: errors by hand, the verdict, and what is refused. */
#include "tests/testing.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

/* 10 ms a step, whatever is in it: TTFT 10 ms, TPOT 10 ms where nothing waits. */
#define STEPS	"-p paged -x fixed:step_ns=1e7 "
#define COLUMNS "--columns arrival=a,prompt=p,output=o,first=f,last=l "
#define HEADER	"a,p,o,f,l\n"
/* TTFT 20 and 10 ms, TPOT 10 and 15 ms, E2E 120 and 160 ms */
#define TWO HEADER "0,100,11,0.02,0.12\n10,100,11,10.01,10.16\n"

static struct run_output validate(const char *log, const char *args)
{
	return testing_run("validate --real '%s' %s", testing_file("log", log), args);
}

enum { MAX_LINES = 32 };
struct lines {
	json_t *at[MAX_LINES];
	int n;
};

static struct lines read_lines(const char *text)
{
	struct lines l = {0};

	for (const char *line = text, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		assert_non_null(end);
		assert_true(l.n < MAX_LINES);
		l.at[l.n] = json_loadb(line, (size_t)(end - line), 0, NULL);
		assert_non_null(l.at[l.n++]);
	}
	return l;
}

static void free_lines(struct lines *l)
{
	for (int i = 0; i < l->n; i++)
		json_decref(l->at[i]);
}

/* The row of a metric; NULL: there is none. */
static const json_t *metric(const struct lines *l, const char *name)
{
	for (int i = 0; i < l->n; i++) {
		const char *m = json_string_value(json_object_get(l->at[i], "metric"));

		if (m && strcmp(m, name) == 0)
			return l->at[i];
	}
	return NULL;
}

/* measured, predicted, error, signed_mean, abs_p50, abs_p90, abs_max; NaN: null */
static void assert_metric(const struct lines *l, const char *name, int64_t pairs,
			  const double want[7])
{
	static const char *const fields[] = {"measured", "predicted", "error",	"signed_mean",
					     "abs_p50",	 "abs_p90",   "abs_max"};
	const json_t *row = metric(l, name);

	if (!row)
		fail_msg("no row of %s", name);
	assert_i64(json_integer_value(json_object_get(row, "pairs")), pairs);
	for (int i = 0; i < 7; i++) {
		const json_t *v = json_object_get(row, fields[i]);

		if (isnan(want[i]) != json_is_null(v))
			fail_msg("%s of %s", fields[i], name);
		if (!isnan(want[i]))
			assert_near(json_number_value(v), want[i], 1e-9);
	}
}

static void test_by_hand(void **state)
{
	struct run_output o = validate(TWO, STEPS COLUMNS "-o jsonl");
	struct lines l;

	(void)state;
	assert_exit(o, 0);
	l = read_lines(o.out);
	assert_metric(&l, "ttft", 2, (double[]){0.015, 0.01, -1 / 3.0, -0.25, 0.25, 0.45, 0.5});
	assert_metric(&l, "tpot", 2,
		      (double[]){0.0125, 0.01, -0.2, -1 / 6.0, 1 / 6.0, 0.3, 1 / 3.0});
	assert_metric(&l, "e2e", 2,
		      (double[]){0.14, 0.11, 0.11 / 0.14 - 1, -(1 / 12.0 + 0.3125) / 2,
				 (1 / 12.0 + 0.3125) / 2, 1 / 12.0 + 0.9 * (0.3125 - 1 / 12.0),
				 0.3125});
	assert_metric(&l, "throughput", 1,
		      (double[]){2 / 10.16, 2 / 10.11, 10.16 / 10.11 - 1, NAN, NAN, NAN, NAN});
	/* what the log does not have is not there; the worst request comes first */
	assert_null(metric(&l, "itl"));
	assert_null(metric(&l, "ttft_no_queue"));
	assert_i64(l.n, 4 + 2);
	assert_i64(json_integer_value(json_object_get(l.at[4], "line")), 3);
	assert_near(json_number_value(json_object_get(l.at[4], "e2e_error")), -0.3125, 1e-9);
	assert_i64(json_integer_value(json_object_get(l.at[5], "line")), 2);
	free_lines(&l);
	testing_run_free(&o);
}

/* Of twelve requests ten, those that took much longer than 20 ms first. */
static void test_worst_ten(void **state)
{
	char log[1024] = HEADER;
	size_t n = strlen(log);
	struct run_output o;
	struct lines l;

	(void)state;
	for (int i = 0; i < 12; i++)
		n += (size_t)snprintf(log + n, sizeof(log) - n, "%d,9,2,%d.01,%d.0%d\n", 10 * i,
				      10 * i, 10 * i, i % 6 + 2);
	o = validate(log, STEPS COLUMNS "-o jsonl");
	assert_exit(o, 0);
	l = read_lines(o.out);
	assert_i64(l.n, 4 + 10);
	/* 70 ms, 60, ...; equal ones as in the file: lines 7, 13, 6, 12, ... */
	for (int i = 0; i < 10; i++)
		assert_i64(json_integer_value(json_object_get(l.at[4 + i], "line")),
			   7 - i / 2 + (i % 2) * 6);
	free_lines(&l);
	testing_run_free(&o);
}

/* Gaps of a client, requests that failed, and what the client's clock says of arrivals. */
static void test_bench(void **state)
{
	struct run_output o =
		validate("{\"input_lens\": [9, 9, 9], \"output_lens\": [3, 3, 3],"
			 " \"ttfts\": [0.01, 0.01, 0], \"itls\": [[0.02, 0.03], [0.01, 0.01], []],"
			 " \"errors\": [\"\", \"\", \"x\"], \"start_times\": [5, 7, 8]}",
			 STEPS "-o jsonl");
	struct lines l;

	(void)state;
	assert_exit(o, 0);
	assert_non_null(strstr(o.err, "vllm-json, 2 requests, 1 more that failed are left out"));
	l = read_lines(o.out);
	assert_metric(&l, "ttft", 2, (double[]){0.01, 0.01, 0, 0, 0, 0, 0});
	assert_metric(&l, "itl", 2, (double[]){0.0175, 0.01, -3 / 7.0, -0.3, 0.3, 0.54, 0.6});
	assert_metric(&l, "max_gap", 2,
		      (double[]){0.02, 0.01, -0.5, -1 / 3.0, 1 / 3.0, 0.6, 2 / 3.0});
	assert_metric(&l, "e2e", 2, (double[]){0.045, 0.03, -1 / 3.0, -0.25, 0.25, 0.45, 0.5});
	free_lines(&l);
	testing_run_free(&o);
}

/*
 * Where the scheduler plans one step ahead it chose a request a step before that starts: of the
 * second one at 35 ms, when a step from 30 to 40 goes on, the plan at 40 is for the step from 50 to
 * 60. Without, it is chosen at 40 for the step that ends at 50.
 */
static void test_no_queue(void **state)
{
	static const char log[] = "a,s,p,o,f,l\n0,0,9,20,0.01,0.2\n0.035,0.04,9,2,0.06,0.07\n";
	static const char columns[] =
		"--columns arrival=a,scheduled=s,prompt=p,output=o,first=f,last=l -o jsonl ";
	struct run_output o;
	struct lines l;
	char args[256];

	(void)state;
	snprintf(args, sizeof(args), "-p vllm-v1:async=1 -x fixed:step_ns=1e7 %s", columns);
	o = validate(log, args);
	assert_exit(o, 0);
	l = read_lines(o.out);
	assert_metric(&l, "ttft_no_queue", 2, (double[]){0.015, 0.015, 0, 0, 0, 0, 0});
	assert_metric(&l, "ttft", 2, (double[]){0.0175, 0.0175, 0, 0, 0, 0, 0});
	free_lines(&l);
	testing_run_free(&o);
	snprintf(args, sizeof(args), "-p vllm-v1 -x fixed:step_ns=1e7 %s", columns);
	o = validate(log, args);
	assert_exit(o, 0);
	l = read_lines(o.out);
	assert_metric(&l, "ttft_no_queue", 2,
		      (double[]){0.015, 0.01, -1 / 3.0, -0.25, 0.25, 0.45, 0.5});
	free_lines(&l);
	testing_run_free(&o);
}

static void test_verdict(void **state)
{
	static const struct {
		const char *tolerance;
		int code;
		const char *says; /* on stderr; NULL: nothing of a tolerance */
	} cases[] = {
		{"tpot=0.2", 0, NULL},
		{"tpot=0.19", 3, "outside the tolerance: tpot is off by -0.2, tolerance 0.19"},
		{"tpot=0.2,ttft=0.3", 3, "outside the tolerance: ttft is off by -0.3333"},
		{"ttft_p50=0.25,ttft_p90=0.45,e2e=0.22", 0, NULL},
		{"ttft_p50=0.25,ttft_p90=0.44", 3, "ttft_p90 is off by 0.45, tolerance 0.44"},
		{"0.4", 0, NULL},
		{"0.21", 3, "ttft is off by -0.3333, tolerance 0.21; e2e is off by -0.2143"},
		/* one pair: 10.16 s / 10.11 s - 1 is its median too */
		{"throughput_p50=0.005,throughput_p90=0.005", 0, NULL},
		{"throughput_p50=0.0049", 3, "throughput_p50 is off by 0.004946, tolerance 0.0049"},
		{"throughput_p90=0.0049", 3, "throughput_p90 is off by 0.004946, tolerance 0.0049"},
		{"tpot=0.2,itl=0", 3, "outside the tolerance: itl is not known of any request"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char args[256];

		snprintf(args, sizeof(args), STEPS COLUMNS "--tolerance %s", cases[i].tolerance);
		struct run_output o = validate(TWO, args);

		assert_exit(o, cases[i].code);
		assert_true(!strstr(o.err, "outside the tolerance") == !cases[i].says);
		if (cases[i].says && !strstr(o.err, cases[i].says))
			fail_msg("%s: %s", cases[i].tolerance, o.err);
		testing_run_free(&o);
	}
}

/* A time of 0 has no relative error: left out of its metric and of the worst, and counted. */
static void test_zeros(void **state)
{
	/* TTFT 0, 20 and 10 ms; E2E 0, 40 and 30 ms; the forecast 10 and 20 each */
	static const char log[] =
		HEADER "0,9,2,0,0\n10,9,2,10.02,10.04\n20,9,2,20.01,20.03\n30,9,1,30,30\n";
	struct run_output o = validate(log, STEPS COLUMNS "-o jsonl");
	struct lines l;

	(void)state;
	assert_exit(o, 0);
	assert_non_null(strstr(o.err, "requests with a time of 0 in the log are left out of its "
				      "errors, as it has none: ttft of 2; tpot of 1; e2e of 2\n"));
	l = read_lines(o.out);
	assert_metric(&l, "ttft", 2, (double[]){0.015, 0.01, -1 / 3.0, -0.25, 0.25, 0.45, 0.5});
	assert_metric(&l, "tpot", 2, (double[]){0.02, 0.01, -0.5, -0.5, 0.5, 0.5, 0.5});
	assert_metric(&l, "e2e", 2,
		      (double[]){0.035, 0.02, -3 / 7.0, -5 / 12.0, 5 / 12.0, 29 / 60.0, 0.5});
	assert_i64(l.n, 4 + 2);
	assert_i64(json_integer_value(json_object_get(l.at[4], "line")), 3);
	assert_i64(json_integer_value(json_object_get(l.at[5], "line")), 4);
	free_lines(&l);
	testing_run_free(&o);
	o = validate(TWO, STEPS COLUMNS);
	assert_null(strstr(o.err, "time of 0"));
	testing_run_free(&o);
}

/* Where no request has an error a tolerance does not hold, whatever it is. */
static void test_only_zeros(void **state)
{
	static const char log[] = HEADER "0,9,1,0,0\n";
	struct run_output o = validate(log, STEPS COLUMNS);

	(void)state;
	assert_exit(o, 0);
	assert_null(strstr(o.out, "inf"));
	assert_null(strstr(o.out, "nan"));
	testing_run_free(&o);
	o = validate(log, STEPS COLUMNS "--tolerance 1000");
	assert_exit(o, 3);
	assert_non_null(strstr(o.err, "ttft is 0 in the log of all requests: it has no error; e2e "
				      "is 0 in the log"));
	testing_run_free(&o);
	o = validate(log, STEPS COLUMNS "--tolerance e2e_p90=1000");
	assert_exit(o, 3);
	assert_null(strstr(o.err, "ttft is 0"));
	testing_run_free(&o);
}

static void test_formats(void **state)
{
	struct run_output o = validate(TWO, STEPS COLUMNS "-o csv --tolerance ttft=0.1");

	(void)state;
	assert_exit(o, 3);
	assert_non_null(strstr(o.out, "metric,pairs,measured,predicted,error,signed_mean,abs_p50,"
				      "abs_p90,abs_max,tolerance,within\n"
				      "ttft,2,0.015,0.01,-0.333333333333333,-0.25,0.25,0.45,0.5,"
				      "0.1,no\n"));
	assert_non_null(strstr(o.out, "\n\nline,arrive_s,prompt_tok,output_tok,"));
	testing_run_free(&o);
	o = validate(TWO, STEPS COLUMNS);
	assert_exit(o, 0);
	assert_non_null(strstr(o.out, "| metric     | pairs | measured | predicted |"));
	assert_null(strstr(o.out, "tolerance"));
	testing_run_free(&o);
}

/* Without start times arrivals are those of the client's settings, or have to be given. */
static void test_no_arrivals(void **state)
{
	static const char format[] =
		"{\"input_lens\": [9, 9], \"output_lens\": [2, 2], \"ttfts\": [0.01, 0.02],"
		" \"itls\": [[0.01], [0.01]]%s}";
	char log[512];
	struct run_output o;
	struct lines l;

	(void)state;
	snprintf(log, sizeof(log), format, ", \"request_rate\": 4.5");
	o = validate(log, STEPS);
	assert_exit(o, 2);
	assert_non_null(strstr(o.err, "(its request_rate is 4.5)"));
	testing_run_free(&o);
	snprintf(log, sizeof(log), format, ", \"request_rate\": \"inf\", \"max_concurrency\": 1");
	o = validate(log, STEPS "-o jsonl"); /* one after the other: 20 ms each */
	assert_exit(o, 0);
	l = read_lines(o.out);
	assert_metric(&l, "e2e", 2, (double[]){0.025, 0.02, -0.2, -1 / 6.0, 1 / 6.0, 0.3, 1 / 3.0});
	free_lines(&l);
	testing_run_free(&o);
	o = validate(log, STEPS "--rate inf -o jsonl"); /* both at once: 10 ms the first tokens */
	assert_exit(o, 0);
	l = read_lines(o.out);
	assert_metric(&l, "ttft", 2, (double[]){0.015, 0.01, -1 / 3.0, -0.25, 0.25, 0.45, 0.5});
	free_lines(&l);
	testing_run_free(&o);
}

static void test_refused(void **state)
{
	static const struct {
		const char *args;
		int code;
		const char *says;
	} cases[] = {
		{STEPS COLUMNS "--rate 2", 2, "leave out --rate"},
		{STEPS COLUMNS "--closed-loop 2", 2, "leave out --rate"},
		{STEPS COLUMNS "--limit 1", 2, "leave out --skip, --limit and --window"},
		{STEPS COLUMNS "-p static", 2, "give one -p"},
		{STEPS COLUMNS "--steps", 2, "leave out --steps"},
		{STEPS COLUMNS "--db x.db", 2, "--db is for a run that it holds"},
		{STEPS COLUMNS "7", 2, "'7' is the number of a run in --db FILE"},
		{COLUMNS "-x fixed:step_ns=1", 2, "no policy is given"},
		{COLUMNS "-p paged -m tiny -x cpu", 2, "-x cpu measures: leave it out"},
		{COLUMNS "-p paged", 2, "-m MODEL and -d DEVICE are needed"},
		{STEPS COLUMNS "--tolerance tpt=1", 2, "nearest is 'tpot'"},
		{STEPS COLUMNS "--tolerance foo=0.05", 2,
		 "e2e, throughput, and each with _p50 or _p90 behind it\n"},
		{STEPS COLUMNS "--tolerance tpot", 2, "'tpot' is not a number"},
		{STEPS COLUMNS "--tolerance tpot=1,tpot=2", 2, "tpot is given twice"},
		{STEPS COLUMNS "--tolerance tpot=-1", 2, "--tolerance"},
		{STEPS COLUMNS "-o xml", 2, "-o 'xml' is not md, csv or jsonl"},
		{STEPS, 1, "the header is of no log that is known"},
		{COLUMNS "--db x.db 1 2", 2, "one argument too many"},
		{COLUMNS "--db x.db seven", 2, "RUN: 'seven' is not a whole number"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run_output o = validate(TWO, cases[i].args);

		assert_exit(o, cases[i].code);
		assert_string_equal(o.out, "");
		if (!strstr(o.err, cases[i].says))
			fail_msg("%s: %s", cases[i].args, o.err);
		testing_run_free(&o);
	}
	struct run_output o = testing_run("validate " STEPS);

	assert_exit(o, 2);
	assert_non_null(strstr(o.err, "what is a forecast held against?"));
	testing_run_free(&o);
	o = testing_run("validate --real no-such-file " STEPS);
	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "no-such-file: No such file"));
	testing_run_free(&o);
}

/* A request that the pool cannot hold is in no forecast, and said to be. */
static void test_lost(void **state)
{
	struct run_output o = validate(TWO, STEPS COLUMNS "--kv-tokens 96 -o jsonl");

	(void)state;
	assert_exit(o, 0);
	assert_non_null(strstr(o.err, "2 requests are not completed in the forecast"));
	testing_run_free(&o);
	o = validate(TWO, STEPS COLUMNS "--kv-tokens 96 --tolerance 0.5");
	assert_exit(o, 3);
	assert_non_null(strstr(o.err, "outside the tolerance: 2 requests are not completed"));
	testing_run_free(&o);
}

/* A stored run of the same requests, with and without steps; another one is refused. */
static void test_stored_run(void **state)
{
	const char *trace = testing_file("two.csv", "arrive_s,prompt_tok,output_tok\n0,100,11\n"
						    "10,100,11\n");
	const char *db = testing_path("runs.db");
	struct run_output o = testing_run("run '%s' " STEPS "--db '%s'", trace, db);
	struct lines l;
	char args[512];

	(void)state;
	assert_exit(o, 0);
	testing_run_free(&o);
	snprintf(args, sizeof(args), COLUMNS "--db '%s' -o jsonl 1", db);
	o = validate(TWO, args);
	assert_exit(o, 0);
	l = read_lines(o.out);
	assert_metric(&l, "ttft", 2, (double[]){0.015, 0.01, -1 / 3.0, -0.25, 0.25, 0.45, 0.5});
	free_lines(&l);
	testing_run_free(&o);
	o = validate(HEADER "0,100,11,0.02,0.12\n10,101,11,10.01,10.16\n", args);
	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "log:3: 101 prompt and 11 output tokens, and request 1 of "
				      "run 1 100 and 11"));
	testing_run_free(&o);
	o = validate(HEADER "0,100,11,0.02,0.12\n", args);
	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "has 1 requests, and run 1 2"));
	testing_run_free(&o);
	snprintf(args, sizeof(args), COLUMNS "--db '%s' 2", db);
	o = validate(TWO, args);
	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "there is no run 2"));
	testing_run_free(&o);
	o = testing_run("run '%s' " STEPS "--requests none --db '%s'", trace, db);
	assert_exit(o, 0);
	testing_run_free(&o);
	o = validate(TWO, args);
	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "run 2 has no requests"));
	testing_run_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),	    cmocka_unit_test(test_worst_ten),
		cmocka_unit_test(test_bench),	    cmocka_unit_test(test_no_queue),
		cmocka_unit_test(test_verdict),	    cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_only_zeros),  cmocka_unit_test(test_formats),
		cmocka_unit_test(test_no_arrivals), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_lost),	    cmocka_unit_test(test_stored_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
