/* What of a trace is selected, in which order, and how its arrivals are scaled. */
#include "tests/rows.h"

/* Every 10 s; prompts 1 to 6. */
static const char steady[] = "arrive_s,prompt_tok,output_tok\n"
			     "100,1,1\n110,2,1\n120,3,1\n130,4,1\n140,5,1\n150,6,1\n";

static void selection(void **state)
{
	(void)state;
	static const struct {
		const char *window;
		int64_t skip, limit, first_prompt, rows, left_out, last_ns;
	} cases[] = {
		{NULL, 0, 0, 1, 6, 0, 50000000000},
		{NULL, 2, 0, 3, 4, 2, 30000000000},
		{NULL, 0, 2, 1, 2, 0, 10000000000},
		{NULL, 1, 2, 2, 2, 1, 10000000000},
		{"10:30", 0, 0, 2, 2, 2, 10000000000}, /* 110, 120; 130 is outside */
		{"10:30.000000001", 0, 0, 2, 3, 2, 20000000000},
		{"20:", 1, 0, 4, 3, 3, 20000000000},
		{":20", 0, 0, 1, 2, 1, 10000000000},
		{"9.9:1000", 0, 1, 2, 1, 1, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e;
		struct rows r;
		struct trace_spec spec = {.source = testing_file("steady", steady),
					  .skip = cases[i].skip,
					  .limit = cases[i].limit};
		if (cases[i].window)
			assert_fine(trace_parse_window(cases[i].window, &spec, &e), e);
		assert_fine(read_rows(&spec, &r, &e), e);
		assert_i64(r.row[0].prompt_tok, cases[i].first_prompt);
		assert_i64(r.row[0].arrive_ns, 0);
		assert_i64(r.counts.rows, cases[i].rows);
		assert_i64(r.counts.left_out, cases[i].left_out);
		assert_i64(r.counts.last_ns, cases[i].last_ns);
	}
}

static void windows_are_checked(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "5", "a:b", "5:-1", "5:5", "7:5", "1:2:3"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e;
		struct trace_spec spec = {0};
		assert_refused(trace_parse_window(bad[i], &spec, &e), e, "--window");
		assert_false(spec.window);
	}
}

static void nothing_selected_is_an_error(void **state)
{
	(void)state;
	struct err e;
	struct rows r;
	struct trace_spec spec = {.source = testing_file("steady", steady), .skip = 6};
	assert_refused(read_rows(&spec, &r, &e), e, "no rows: 6 read");
	spec.skip = 0;
	assert_fine(trace_parse_window("51:", &spec, &e), e);
	assert_refused(read_rows(&spec, &r, &e), e, "6 left out by skip and window");
	spec = (struct trace_spec){
		.source = testing_file("failed", "arrive_s,prompt_tok,output_tok\n1,1,0\n2,0,1\n")};
	assert_refused(read_rows(&spec, &r, &e), e,
		       "2 read, 1 of them without output tokens, 1 without prompt");
}

static void scaling(void **state)
{
	(void)state;
	struct err e;
	struct rows r, plain;
	struct trace_spec spec = {.source = testing_file("steady", steady)};
	assert_fine(read_rows(&spec, &plain, &e), e);
	spec.speed = 4;
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_i64(r.row[1].arrive_ns, 2500000000);
	assert_true(r.counts.hash == plain.counts.hash); /* of the arrivals before scaling */
	spec.rate_inf = true;
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_i64(r.counts.last_ns, 0);
	spec.rate_rps = 2; /* 5 gaps in 2.5 s */
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_i64(r.counts.last_ns, 2500000000);
	assert_i64(r.row[3].arrive_ns, 1500000000);
	spec.skip = 1;
	spec.limit = 3; /* the rate is that of the selection */
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_i64(r.counts.last_ns, 1000000000);
	spec.limit = 1;
	assert_refused(read_rows(&spec, &r, &e), e, "a rate needs at least two rows");
	spec = (struct trace_spec){.source = spec.source, .speed = 1e-9};
	assert_refused(read_rows(&spec, &r, &e), e, "more than 200 years");
}

static void specs_are_checked(void **state)
{
	(void)state;
	static const struct {
		struct trace_spec spec;
		const char *part;
	} cases[] = {
		{{.source = ""}, "no trace is given"},
		{{.source = "x", .skip = -1}, "must not be negative"},
		{{.source = "x", .limit = -1}, "must not be negative"},
		{{.source = "x", .rate_rps = -1}, "rate must be above 0"},
		{{.source = "x", .speed = -1}, "speed must be"},
		{{.source = "x", .hash_block = -1}, "hash ids must be"},
		{{.source = "x", .columns = "arrival=1"}, "prompt is missing"},
		{{.source = "synth:poisson", .columns = "arrival=1,prompt=2,output=3"},
		 "a generator has no columns"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e;
		struct rows r;
		assert_refused(read_rows(&cases[i].spec, &r, &e), e, cases[i].part);
	}
}

/* Ties keep the order of the file, with and without sorting. */
static void order(void **state)
{
	(void)state;
	struct err e;
	struct rows r;
	struct trace_spec spec = {
		.source = testing_file("order", "arrive_s,prompt_tok,output_tok\n"
						"5,1,1\n5,2,1\n4.75,3,1\n5,4,1\n4.75,5,1\n")};
	assert_refused(read_rows(&spec, &r, &e), e,
		       "order:4: arrives 0.25 s before the row of line 3: expected rows in the "
		       "order");
	spec.sort = true;
	assert_fine(read_rows(&spec, &r, &e), e);
	static const int64_t sorted[] = {3, 5, 1, 2, 4};
	for (int i = 0; i < 5; i++)
		assert_i64(r.row[i].prompt_tok, sorted[i]);
	assert_i64(r.row[2].arrive_ns, 250000000);
	assert_i64(r.row[0].line, 4);
	spec.window = true; /* counts from the earliest row */
	spec.window_from_ns = 1;
	spec.window_to_ns = INT64_MAX;
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_i64(r.counts.rows, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selection),
		cmocka_unit_test(windows_are_checked),
		cmocka_unit_test(nothing_selected_is_an_error),
		cmocka_unit_test(scaling),
		cmocka_unit_test(specs_are_checked),
		cmocka_unit_test(order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
