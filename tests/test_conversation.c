/* Generated conversations: prefixes that are shared, turns, think times, and what a cache finds. */
#include "tests/hits.h"
#include "tests/testing.h"
#include <math.h>
#include <string.h>

enum { IDS_MAX = 64 };

struct kept { /* a row with its ids */
	struct trace_row row;
	uint64_t ids[IDS_MAX];
};

/* Up to `max` rows. Returns how many. */
static int read_all(const char *source, struct kept *rows, int max)
{
	struct err e;
	struct trace_spec spec = {.source = source, .seed = 1};
	struct trace *t = trace_open(&spec, &e);
	assert_fine(t ? 0 : -1, e);
	int n = 0, more;
	struct trace_row row;
	while ((more = trace_next(t, &row, &e)) > 0) {
		assert_true(n < max && row.n_hash_ids <= IDS_MAX);
		rows[n].row = row;
		if (row.n_hash_ids > 0)
			memcpy(rows[n].ids, row.hash_ids,
			       (size_t)row.n_hash_ids * sizeof(uint64_t));
		n++;
	}
	assert_fine(more, e);
	trace_close(t);
	return n;
}

static void count(const char *source, struct hits *h)
{
	struct err e;
	struct trace_spec spec = {.source = source, .seed = 1};
	assert_fine(hits_count(&spec, h, &e), e);
}

/* case 31: an infinite cache on the published trace, to check the counter itself. */
static void the_counter_is_right(void **state)
{
	(void)state;
	shared_or_skip(path, "traces/mooncake_conversation_trace.jsonl");
	struct hits h;
	count(path, &h);
	assert_i64(h.prompt_tok, 144793823);
	assert_i64(h.hit_tok, 54063104);
}

/* One system prompt of 40 tokens before 9: three blocks of 16 and a token; two blocks are shared.
 */
static void a_system_prompt(void **state)
{
	(void)state;
	static struct kept r[5];
	assert_i64(
		read_all("synth:constant,n=5,prefix_tok=40,prompt=9,output=3,hash_rule=ceil", r, 5),
		5);
	for (int i = 0; i < 5; i++) {
		assert_i64(r[i].row.prompt_tok, 49);
		assert_i64(r[i].row.n_hash_ids, 4); /* the last one stands for one token */
		assert_i64(r[i].row.session, 0);
		for (int k = 0; k < 4; k++)
			for (int j = 0; j < i; j++)
				assert_i64(r[i].ids[k] == r[j].ids[k], k < 2);
	}
	assert_i64(read_all("synth:constant,n=5,prefix_tok=40,prompt=9,hash_block=49", r, 5), 5);
	assert_i64(r[0].row.n_hash_ids, 1); /* full, and not shared */
	assert_true(r[0].ids[0] != r[1].ids[0]);
	assert_i64(read_all("synth:constant,n=5,prefix_tok=40,prompt=9", r, 5), 5);
	assert_i64(r[0].row.n_hash_ids, 3);
	assert_i64(read_all("synth:constant,n=5,prompt=9", r, 5), 5);
	assert_null(r[0].row.hash_ids);
}

/*
 * Four system prompts of popularity 1, 1/2, 1/3, 1/4 over 25/12. Of 100,000 rows; 4 standard
 * errors.
 */
static void popularity(void **state)
{
	(void)state;
	enum { N = 100000, PREFIXES = 4 };
	struct err e;
	struct trace_row row;
	struct trace_spec spec = {
		.source = "synth:constant,n=100000,prefix_tok=16,prefixes=4,prompt=1"};
	struct trace *t = trace_open(&spec, &e);
	uint64_t ids[PREFIXES] = {0};
	int times[PREFIXES] = {0}, n = 0;
	while (t && trace_next(t, &row, &e) > 0) {
		int k = 0;
		while (k < n && ids[k] != row.hash_ids[0])
			k++;
		assert_true(k < PREFIXES);
		n += k == n;
		ids[k] = row.hash_ids[0];
		times[k]++;
	}
	trace_close(t);
	assert_i64(n, PREFIXES);
	for (int rank = 1; rank <= PREFIXES; rank++) {
		double share = 12.0 / 25 / rank;
		int near = 0;
		for (int k = 0; k < PREFIXES; k++)
			near += fabs(times[k] / (double)N - share) <
				4 * sqrt(share * (1 - share) / N);
		assert_i64(near, 1);
	}
}

/* Every prompt is all before it and the input; ids of what is full stay; arrivals add up. */
static void turns_grow(void **state)
{
	(void)state;
	enum { N = 3000 };
	static struct kept r[N];
	static int last[N + 1];
	int followed = 0;
	memset(last, -1, sizeof(last));
	assert_i64(read_all("synth:poisson,n=3000,rate=2,turns=3,think=5,prompt=20,output=10,"
			    "prefix_tok=10,prompt_max=900,token_time=0.1,hash_rule=ceil",
			    r, N),
		   N);
	for (int i = 0; i < N; i++) {
		struct trace_row *row = &r[i].row;
		assert_true(row->session >= 1 && row->session <= N);
		assert_true(i == 0 || row->arrive_ns >= r[i - 1].row.arrive_ns);
		assert_i64(row->n_hash_ids, (row->prompt_tok + 15) / 16);
		assert_i64(row->service_ns, 1000000000);
		int before = last[row->session];
		last[row->session] = i;
		if (before < 0) {
			assert_i64(row->think_ns, -1);
			assert_i64(row->prompt_tok, 30);
			continue;
		}
		struct trace_row *old = &r[before].row;
		followed++;
		assert_i64(row->prompt_tok, old->prompt_tok + 10 + 20);
		assert_i64(row->arrive_ns, old->arrive_ns + 1000000000 + row->think_ns);
		assert_memory_equal(r[before].ids, r[i].ids,
				    (size_t)(old->prompt_tok / 16) * sizeof(uint64_t));
		if (old->prompt_tok % 16) /* what was partial is another block now */
			assert_true(r[before].ids[old->prompt_tok / 16] !=
				    r[i].ids[old->prompt_tok / 16]);
	}
	assert_true(followed > N / 2);
}

/*
 * Mean turns 4, think 10 s, rate 20: over 200,000 rows 3/4 follow one of their session but for
 * those that are still to come; the rate is that of requests. 1% is more than 4 standard errors.
 */
static void means_of_turns(void **state)
{
	(void)state;
	struct hits h;
	struct err e;
	struct trace_spec spec = {
		.source = "synth:poisson,n=200000,rate=20,turns=4,prompt=30,output=9"};
	struct trace *t = trace_open(&spec, &e);
	struct trace_row row;
	double think_s = 0, last_s = 0;
	int64_t turns = 0;
	while (t && trace_next(t, &row, &e) > 0) {
		turns += row.think_ns >= 0;
		think_s += row.think_ns >= 0 ? (double)row.think_ns * 1e-9 : 0;
		last_s = (double)row.arrive_ns * 1e-9;
	}
	trace_close(t);
	assert_near((double)turns / 200000, 0.75, 0.0075);
	assert_near(think_s / (double)turns, 10, 0.1);
	assert_near(200000 / last_s / 20, 1, 0.03);
	assert_fine(hits_count(&spec, &h, &e), e);
	assert_i64(h.turns, turns);
	assert_i64(h.rows, h.sessions + h.turns);
}

/* No prompt is longer than prompt_max: a session ends before. */
static void a_limit_ends_sessions(void **state)
{
	(void)state;
	static struct kept r[2000];
	assert_i64(read_all("synth:poisson,n=2000,turns=1000000,think=1,prompt=30,output=20,"
			    "prompt_max=110",
			    r, 2000),
		   2000);
	int64_t longest = 0;
	for (int i = 0; i < 2000; i++) {
		int64_t p = r[i].row.prompt_tok;
		assert_true(p == 30 || p == 80 || p == 110);
		longest = p > longest ? p : longest;
	}
	assert_i64(longest, 110);
}

/* Rows that follow keep the lengths drawn; the part of them, and the hits of Mooncake's trace. */
static void followers(void **state)
{
	(void)state;
	struct err e;
	struct hits h;
	struct trace_row a, b;
	struct trace_spec plain = {.source = "synth:mooncake-conv,n=20000,follow=0"},
			  following = {.source = "synth:mooncake-conv,n=20000"};
	struct trace *ta = trace_open(&plain, &e), *tb = trace_open(&following, &e);
	assert_true(ta && tb);
	while (trace_next(ta, &a, &e) > 0 && trace_next(tb, &b, &e) > 0) {
		assert_i64(a.arrive_ns, b.arrive_ns);
		assert_i64(a.prompt_tok, b.prompt_tok);
		assert_i64(a.output_tok, b.output_tok);
		assert_true(b.think_ns >= -1);
	}
	trace_close(ta);
	trace_close(tb);
	/* 37.34% of the published trace's prompt tokens, 34.6% of its rows by more than the
	 * common block */
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct trace_spec spec = {.source = "synth:mooncake-conv,n=12031", .seed = seed};
		assert_fine(hits_count(&spec, &h, &e), e);
		assert_near((double)h.hit_tok / (double)h.prompt_tok, 0.3734, 0.02);
		assert_near((double)h.turns / (double)h.rows, 0.346, 0.02);
	}
}

/* Prefixes and turns shift no arrival and no length. */
static void streams_of_their_own(void **state)
{
	(void)state;
	static struct kept a[50], b[50];
	read_all("synth:azure-conv,n=50", a, 50);
	read_all("synth:azure-conv,n=50,prefix_tok=32,prefixes=3,hash_block=1000", b, 50);
	for (int i = 0; i < 50; i++) {
		assert_i64(a[i].row.arrive_ns, b[i].row.arrive_ns);
		assert_i64(a[i].row.prompt_tok + 32, b[i].row.prompt_tok);
		assert_i64(a[i].row.output_tok, b[i].row.output_tok);
	}
}

static void what_cannot_be(void **state)
{
	(void)state;
	static const struct {
		const char *source, *part;
	} cases[] = {
		{"synth:poisson,turns=2,follow=0.5", "turns and follow cannot both be given"},
		{"synth:poisson,turns=2,slot=1", "slot and turns cannot both be given"},
		{"synth:poisson,turns=2,rate=inf", "clients, turns and follow need a finite rate"},
		{"synth:servegen-r1,rate=inf", "clients, turns and follow need a finite rate"},
		{"synth:poisson,turns=0.5", "turns"},
		{"synth:poisson,think=-1", "think"},
		{"synth:poisson,prefixes=0", "prefixes"},
		{"synth:poisson,hash_block=0", "hash_block"},
		{"synth:poisson,prefix_tok=100,prompt_max=100",
		 "prefix_tok=100 leaves no prompt of its own below prompt_max=100"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e;
		struct trace_spec spec = {.source = cases[i].source};
		assert_refused(trace_check(&spec, &e), e, cases[i].part);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_counter_is_right),
		cmocka_unit_test(a_system_prompt),
		cmocka_unit_test(popularity),
		cmocka_unit_test(turns_grow),
		cmocka_unit_test(means_of_turns),
		cmocka_unit_test(a_limit_ends_sessions),
		cmocka_unit_test(followers),
		cmocka_unit_test(streams_of_their_own),
		cmocka_unit_test(what_cannot_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
