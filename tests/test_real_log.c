/* Logs of real servers: each format by hand, and what is refused. */
#include "results/real_log.h"
#include "tests/testing.h"
#include <math.h>
#include <string.h>

#define ENGINE                                                                                     \
	"id,planned_arrival_s,actual_arrival_s,input_tokens,output_tokens,queued_s,scheduled_s,"   \
	"first_token_s,last_token_s\n"
#define COLUMNS "arrival=a,prompt=p,output=o,first=f,last=l"
#define HEADER	"a,p,o,f,l\n"

static struct real_log read_fine(const char *content, const char *columns)
{
	struct real_log l;
	struct err e;

	assert_fine(real_log_read(&l, testing_file("log", content), columns, &e), e);
	return l;
}

static void assert_bad(const char *content, const char *columns, const char *part)
{
	struct real_log l;
	struct err e = {""};

	assert_refused(real_log_read(&l, testing_file("log", content), columns, &e), e, part);
}

/* Times that are out of order, but none before the arrival: durations explain nothing. */
static void assert_not_hinted(const char *content)
{
	struct real_log l;
	struct err e = {""};

	assert_i64(real_log_read(&l, testing_file("log", content), COLUMNS, &e), -1);
	assert_null(strstr(e.text, "duration"));
}

/* Sorted by arrival, from the first arrival on, to the nanosecond. */
static void test_engine(void **state)
{
	struct real_log l = read_fine(ENGINE "7,9,9,30,2,1.5,2.25,3,4.000000001\n"
					     "8,9,9,20,1,1.25,1.25,1.75,1.75\n",
				      NULL);

	(void)state;
	assert_string_equal(l.format, "vllm-requests-csv");
	assert_i64(l.n, 2);
	assert_i64(l.failed, 0);
	assert_true(l.has_arrivals);
	assert_i64(l.at[0].line, 3);
	assert_i64(l.at[0].arrive_ns, 0);
	assert_i64(l.at[0].prompt_tok, 20);
	assert_i64(l.at[0].schedule_ns, 0);
	assert_i64(l.at[1].line, 2);
	assert_i64(l.at[1].arrive_ns, 250000000);
	assert_i64(l.at[1].output_tok, 2);
	assert_i64(l.at[1].schedule_ns, 1000000000);
	assert_i64(l.at[1].first_ns, 1750000000);
	assert_i64(l.at[1].last_ns, 2750000001);
	assert_true(isnan(l.at[1].gap_mean_ns) && isnan(l.at[1].gap_max_ns));
	real_log_release(&l);
}

/* By name and by number, in another unit, without what is not named; failed calls are counted. */
static void test_columns(void **state)
{
	struct real_log l = read_fine("x,when,in,out,done\n1,5,3,2,25\n2,6,3,0,6\n3,7.5,4,1,8\n",
				      "arrival=when,prompt=in,output=4,last=done,unit=ms");

	(void)state;
	assert_string_equal(l.format, "csv");
	assert_i64(l.n, 2);
	assert_i64(l.failed, 1);
	assert_i64(l.at[0].last_ns, 20000000);
	assert_i64(l.at[0].first_ns, -1);
	assert_i64(l.at[0].schedule_ns, -1);
	assert_i64(l.at[1].arrive_ns, 2500000);
	assert_i64(l.at[1].output_tok, 1);
	real_log_release(&l);
}

/* Of two columns with one name a number says which; others may be there twice. */
static void test_twice(void **state)
{
	struct real_log l = read_fine("a,p,o,f,l,p,x,x\n0,5,2,1,2,6,7,8\n",
				      "arrival=a,prompt=6,output=o,last=l");

	(void)state;
	assert_i64(l.at[0].prompt_tok, 6);
	real_log_release(&l);
}

static const char bench[] = "{\"request_rate\": 4.0, \"input_lens\": [10, 20, 30],"
			    " \"output_lens\": [3, 0, 1], \"ttfts\": [0.25, 0.0, 0.5],"
			    " \"itls\": [[0.5, 0.125], [], []],"
			    " \"errors\": [\"\", \"refused\", \"\"]%s}";

static const char *bench_with(const char *more)
{
	static char text[1024];

	snprintf(text, sizeof(text), bench, more);
	return text;
}

static void test_bench(void **state)
{
	struct real_log l = read_fine(bench_with(", \"start_times\": [101.5, 102, 101]"), NULL);

	(void)state;
	assert_string_equal(l.format, "vllm-json");
	assert_i64(l.n, 2);
	assert_i64(l.failed, 1);
	assert_true(l.has_arrivals);
	assert_near(l.rate_rps, 4, 0);
	assert_i64(l.at[0].line, 3);
	assert_i64(l.at[0].last_ns, 500000000);
	assert_true(isnan(l.at[0].gap_mean_ns));
	assert_i64(l.at[1].line, 1);
	assert_i64(l.at[1].arrive_ns, 500000000);
	assert_i64(l.at[1].first_ns, 750000000);
	assert_i64(l.at[1].last_ns, 1375000000);
	assert_near(l.at[1].gap_mean_ns, 312500000, 1e-3);
	assert_near(l.at[1].gap_max_ns, 500000000, 1e-3);
	real_log_release(&l);
}

static void test_bench_without_starts(void **state)
{
	struct real_log l = read_fine(bench_with(""), NULL);

	(void)state;
	assert_true(!l.has_arrivals);
	assert_i64(l.n, 2);
	assert_i64(l.at[1].arrive_ns, 0);
	assert_i64(l.at[0].last_ns, 875000000);
	real_log_release(&l);
	l = read_fine("{\"input_lens\": [1], \"output_lens\": [1], \"ttfts\": [1], \"itls\": [[]],"
		      " \"request_rate\": \"inf\", \"max_concurrency\": 3}",
		      NULL);
	assert_true(isinf(l.rate_rps));
	assert_i64(l.in_flight, 3);
	real_log_release(&l);
}

static void test_bad_csv(void **state)
{
	(void)state;
	assert_bad("", NULL, "log: is empty");
	assert_bad("a,b\n1,2\n", NULL, "log:1: the header is of no log that is known");
	assert_bad(HEADER "0,5,2,1,2\n", "arrival=a,prompt=p,output=o,first=f,last=x",
		   "unknown column of the log 'x'");
	assert_bad(HEADER "0,5,2,1,2\n", "arrival=a,prompt=p,output=o,last=9",
		   "unknown column of the log '9'");
	assert_bad(HEADER, COLUMNS, "log: no request that succeeded");
	assert_bad(HEADER "0,5,0,1,2\n", COLUMNS, "no request that succeeded: 1 failed");
	assert_bad(HEADER "0,5,2,1\n", COLUMNS, "log:2: the row has 4 columns and the header 5");
	assert_bad(HEADER "0,5,2,1,x\n", COLUMNS,
		   "log:2: column 5 (l): 'x' is not a number: expected a time in seconds");
	assert_bad(HEADER "0,5.5,2,1,2\n", COLUMNS, "log:2: column 2 (p): '5.5' is not whole");
	assert_bad(HEADER "0,5,2,1,\n", COLUMNS, "log:2: column 5 (l): is empty");
	assert_bad(HEADER "0,5,2,1,0.5\n", COLUMNS,
		   "log:2: last token is 0.5 s before first token: expected arrival, scheduled, "
		   "first and last token in this order");
	assert_bad(
		HEADER "0,5,2,1,2\n3,5,2,1,4\n", COLUMNS,
		"log:3: first token is 2 s before arrival: expected arrival, scheduled, first and "
		"last token in this order, each a time on the clock of arrival, and no duration "
		"since then");
	/* what was meant is the clock, and what was written the time since the first token */
	assert_bad(HEADER "100,5,2,101,3\n", COLUMNS,
		   "log:2: last token is 98 s before first token: expected arrival, scheduled, "
		   "first and last token in this order, each a time on the clock");
	assert_not_hinted(HEADER "0,5,2,1,0.5\n");
	assert_bad(ENGINE "7,9,9,30,2,1.5,1.25,3,4\n", NULL,
		   "log:2: scheduled is 0.25 s before arrival");
	assert_bad(HEADER "0,5,2,1,\"2\n", COLUMNS, "a quote");
}

/* A quote left open takes in all that follows: the line is the one where it opens. */
static void test_open_quote(void **state)
{
	static const char never[] = "a quote that is opened here is never closed";
	static const struct {
		const char *log, *columns, *line;
	} cases[] = {
		{HEADER "0,5,2,1,2\n\"1,5,2,1,2\n2,5,2,3,4\n", COLUMNS, "log:3: "},
		{HEADER "0,5,2,1,2\n\n1,5,\"2,1,2\n2,5,2,3,4\n", COLUMNS, "log:4: "},
		{HEADER "0,5,2,1,\"2\n", COLUMNS, "log:2: "},
		{HEADER "0,5,2,1,2\n\"", COLUMNS, "log:3: "},
		{"a,\"p,o,f,l\n0,5,2,1,2\n", COLUMNS, "log:1: "},
		{"\"a,p,o,f,l\n0,5,2,1,2\n", COLUMNS, "log:1: "},
		{ENGINE "7,9,9,30,2,1,2,3,4\n\"8,9,9,30,2,1,2,3,4\n", NULL, "log:3: "},
		{ENGINE "7,9,9,30,2,1,2,3,4\n8,9,9,30,2,1,2,3,\"4\n", NULL, "log:3: "},
		/* behind a field that goes over the end of its line */
		{"x,a,p,o,f,l\n\"x\ny\",\"0,5,2,1,2\n", COLUMNS, "log:3: "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char want[128];

		snprintf(want, sizeof(want), "%s%s", cases[i].line, never);
		assert_bad(cases[i].log, cases[i].columns, want);
	}
}

/* Blank lines are none; quoted fields may hold commas and ends of lines. */
static void test_quoted(void **state)
{
	struct real_log l = read_fine(
		"\nx,a,p,o,f,l\n\"1,\n\n2\",0,5,2,1,2\n \n\"\",\"3\",5,2,4,5\r\n", COLUMNS);

	(void)state;
	assert_i64(l.n, 2);
	assert_i64(l.at[0].line, 3);
	assert_i64(l.at[1].line, 7);
	assert_i64(l.at[1].arrive_ns, 3000000000);
	real_log_release(&l);
}

static void test_bad_columns(void **state)
{
	const char *log = HEADER "0,5,2,1,2\n";

	(void)state;
	assert_bad(log, "arrival=a,prompt=p,output=o", "--columns: last is missing");
	assert_bad(log, "arrival=a,prompt=p,output=o,last=l,unit=min", "'min'");
	assert_bad(log, "arrival=a,prompt=p,output=o,end=l", "unknown name in --columns 'end'");
	assert_bad(log, "arrival=a,arrival=p,output=o,last=l", "arrival is given twice");
	assert_bad(log, COLUMNS ",unit=s,unit=ns", "--columns: unit is given twice");
	assert_bad(log, COLUMNS ",unit=s,unit=s", "--columns: unit is given twice");
	assert_bad("a,p,o,f,l,p\n0,5,2,1,2,6\n", COLUMNS,
		   "log:1: the header has 'p' in columns 2 and 6: --columns takes the number");
	assert_bad("queued_s," ENGINE "7,9,9,30,2,1.5,2.25,3,4,0\n", NULL,
		   "log:1: the header has 'queued_s' in columns 1 and 7");
	assert_bad(log, "arrival", "'arrival' is not of the form name=value");
}

static void test_bad_bench(void **state)
{
	(void)state;
	assert_bad("{\"input_lens\": [1], \"output_lens\": [1]}", NULL,
		   "log:1: field ttfts: is missing");
	assert_bad("{\"input_lens\": [1], \"output_lens\": [1, 2], \"ttfts\": [1], \"itls\": [[]]}",
		   NULL, "field output_lens: has 2 entries for 1 requests");
	assert_bad("{\"input_lens\": [1], \"output_lens\": [1], \"ttfts\": [-1], \"itls\": [[]]}",
		   NULL, "log:1: field ttfts: expected seconds");
	assert_bad("{\"input_lens\": [1], \"output_lens\": [2], \"ttfts\": [1], \"itls\": [1]}",
		   NULL, "log:1: field itls: expected an array of seconds");
	assert_bad("{\"input_lens\": [1.5], \"output_lens\": [2], \"ttfts\": [1], \"itls\": [[]]}",
		   NULL, "log:1: field input_lens: expected a whole number of tokens");
	assert_bad("{\"input_lens\": [1], \"output_lens\": [2], \"ttfts\": [1], \"itls\": [[]],"
		   " \"start_times\": [\"x\"]}",
		   NULL, "log:1: field start_times: expected seconds");
	assert_bad("{\"input_lens\": [1], ", NULL, "log:1: column 20: not valid JSON");
}

static const char *bench_of(const char *starts, const char *first, const char *gap, int gaps)
{
	static char text[1024];
	size_t n = (size_t)snprintf(text, sizeof(text),
				    "{\"input_lens\": [9, 9], \"output_lens\": [11, 11], "
				    "\"start_times\": [%s], \"ttfts\": [%s, 1], \"itls\": [[",
				    starts, first);

	for (int i = 0; i < gaps; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i > 0 ? ", " : "", gap);
	snprintf(text + n, sizeof(text) - n, "], []]}");
	return text;
}

/* Each time and each sum of times stays below 4e18 ns, 126 years. */
static void test_bench_limits(void **state)
{
	static const struct {
		const char *starts, *first, *gap;
		int gaps;
		const char *part;
	} cases[] = {
		{"1e10, -1e10", "1", "1", 1,
		 "log:1: field start_times: expected seconds, less than 126 "},
		{"-1e10, 1e10", "1", "1", 1,
		 "log:2: field start_times: expected seconds, less than 126 "},
		{"0, 4e9", "1", "1", 1,
		 "log:2: field start_times: expected seconds, less than 126 "},
		{"0, 1.1e10", "1", "1", 1,
		 "log:2: field start_times: expected seconds, from -1000"},
		{"0, 1", "1.1e9", "1", 1,
		 "log:1: field ttfts: expected seconds, from 0 to 1000000000"},
		{"0, 1", "1", "1.1e9", 1,
		 "log:1: field itls: expected seconds, from 0 to 1000000000"},
		{"0, 1", "1e9", "9e8", 10, "log:1: field itls: expected a last token"},
		{"0, 1", "1e9", "1e9", 10, "log:1: field itls: expected a last token"},
		{"0, 1", "1e9", "1e9", 3, "log:1: field itls: expected a last token"},
		{"3.5e9, 0", "5e8", "1", 0, "log:1: field ttfts: expected a first token"},
	};
	struct real_log l;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_bad(bench_of(cases[i].starts, cases[i].first, cases[i].gap, cases[i].gaps),
			   NULL, cases[i].part);
	l = read_fine(bench_of("999999999, 0", "1e9", "999999999", 2), NULL);
	assert_i64(l.at[1].arrive_ns, 999999999000000000);
	assert_i64(l.at[1].last_ns, 3999999997000000000);
	real_log_release(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engine),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_bench),
		cmocka_unit_test(test_bench_without_starts),
		cmocka_unit_test(test_bad_csv),
		cmocka_unit_test(test_open_quote),
		cmocka_unit_test(test_quoted),
		cmocka_unit_test(test_bad_columns),
		cmocka_unit_test(test_bad_bench),
		cmocka_unit_test(test_bench_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
