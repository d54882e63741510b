/* Sessions: think times as recorded, whatever is selected and however arrivals are scaled. */
#include "tests/rows.h"

#define OWN "arrive_s,prompt_tok,output_tok,session,service_s\n"

/* Turns of a at 0, 10 and 30 s, of b at 2 and 5 s; one row by itself. Case 33's turn is a's second.
 */
static const char two[] = OWN "0,1,1,a,4\n2,1,1,b,\n3,1,1,,9\n5,1,1,b,1\n10,1,1,a,25\n30,1,1,a,\n";
static const int64_t s = 1000000000;

static struct rows read_two(struct trace_spec spec)
{
	struct err e;
	struct rows r;
	spec.source = testing_file("two", two);
	assert_fine(read_rows(&spec, &r, &e), e);
	return r;
}

static void think_times(void **state)
{
	(void)state;
	struct rows r = read_two((struct trace_spec){.seed = 1});
	assert_i64(r.counts.sessions, 2);
	assert_i64(r.row[0].think_ns, -1);
	assert_i64(r.row[1].think_ns, -1);
	assert_i64(r.row[2].session, 0);
	assert_i64(r.row[3].think_ns, 3 * s); /* service unknown counts as 0 */
	assert_i64(r.row[4].think_ns, 6 * s); /* 10 - 4 */
	assert_i64(r.row[5].think_ns, 0);     /* 30 < 10 + 25 */
	assert_i64(r.counts.overlapping, 1);
	assert_i64(r.row[0].session, r.row[5].session);
}

/* People think at their own pace: a rate or a speed does not change it. */
static void scaling_leaves_them(void **state)
{
	(void)state;
	const struct trace_spec specs[] = {{.speed = 10},
					   {.rate_rps = 100},
					   {.rate_inf = true},
					   {.arrivals = "poisson", .rate_rps = 3}};
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct rows r = read_two(specs[i]);
		assert_i64(r.row[3].think_ns, 3 * s);
		assert_i64(r.row[4].think_ns, 6 * s);
		assert_i64(r.counts.overlapping, 1);
	}
}

/* What is left out is no turn: the next one is the first, or waits for the one before it. */
static void selection_comes_first(void **state)
{
	(void)state;
	struct rows r = read_two((struct trace_spec){.skip = 1});
	assert_i64(r.counts.rows, 5);
	assert_i64(r.row[3].think_ns, -1); /* a's second */
	assert_i64(r.row[4].think_ns, 0);
	r = read_two((struct trace_spec){
		.window = true, .window_from_ns = 5 * s, .window_to_ns = 30 * s});
	assert_i64(r.counts.rows, 2);
	assert_i64(r.row[0].think_ns, -1);
	assert_i64(r.row[1].think_ns, -1);
	assert_i64(r.counts.sessions, 2);
	r = read_two((struct trace_spec){.limit = 4});
	assert_i64(r.counts.sessions, 2);
	assert_i64(r.counts.overlapping, 0);
}

static void sorted(void **state)
{
	(void)state;
	struct err e;
	struct rows r;
	struct trace_spec spec = {.source = testing_file("mixed", OWN "10,1,1,a,1\n0,2,1,a,4\n"),
				  .sort = true};
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_i64(r.row[0].prompt_tok, 2);
	assert_i64(r.row[0].think_ns, -1);
	assert_i64(r.row[1].think_ns, 6 * s);
}

/* Many sessions, each of which comes again. */
static void many(void **state)
{
	(void)state;
	enum { N = 50000 };
	char *text = xmalloc(2 * N * 32 + 100), *p = text + sprintf(text, OWN);
	for (int i = 0; i < 2 * N; i++)
		p += sprintf(p, "%d,1,1,user-%d,2\n", i, i * 7919 % N);
	struct err e;
	struct trace_row row;
	struct trace_spec spec = {.source = testing_file("many", text)};
	struct trace *t = trace_open(&spec, &e);
	free(text);
	assert_non_null(t);
	for (int64_t i = 0; i < 2 * N; i++) {
		char name[32];
		assert_i64(trace_next(t, &row, &e), 1);
		snprintf(name, sizeof(name), "user-%d", (int)(i * 7919 % N));
		assert_string_equal(trace_session_name(t, row.session), name);
		assert_i64(row.session, i % N + 1);
		assert_i64(row.think_ns, i < N ? -1 : (N - 2) * s);
	}
	assert_i64(trace_counts(t)->sessions, N); /* also before the end was reached */
	assert_i64(trace_next(t, &row, &e), 0);
	assert_i64(trace_counts(t)->sessions, N);
	assert_true(trace_has_sessions(t));
	assert_string_equal(trace_session_name(t, N + 1), "");
	assert_string_equal(trace_client_name(t, 0), "");
	trace_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(think_times),
		cmocka_unit_test(scaling_leaves_them),
		cmocka_unit_test(selection_comes_first),
		cmocka_unit_test(sorted),
		cmocka_unit_test(many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
