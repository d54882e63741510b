/* Prefix caches through sim_run() and the program: schedules and counts worked out by hand. */
#include "tests/run_rows.h"
#include "tests/schedule.h"
#include <math.h>
#include <string.h>

/* arrival, prompt, output, an array of hash ids */
#define ROW_IDS(a, p, n, ids)                                                                      \
	{                                                                                          \
		.arrive_ns = (a), .prompt_tok = (p), .output_tok = (n), .hash_ids = (ids),         \
		.n_hash_ids = sizeof(ids) / sizeof((ids)[0])                                       \
	}

static struct harness_options options(const char *policy, const char *fixed, int64_t block_tok,
				      int64_t hash_block)
{
	struct harness_options o = harness_default(policy, fixed);

	o.block_tok = block_tok;
	o.hash_block = hash_block;
	return o;
}

/*
 * case 8 with a prefix cache: 8 tokens are looked up at first admissions, none is found: one of 4
 * is always computed. r1 finds its prompt's block after the preemption, which is not counted, and
 * computes 5 of 9.
 */
static void check_smallest_preemption(const struct harness_result *r)
{
	assert_times(r, 0, 0, 1, 6);
	assert_times(r, 1, 0, 1, 7);
	assert_i64(r->summary.preemptions, 1);
	assert_i64(r->summary.cached_tok, 0);
	assert_near(r->summary.prefix_hit_rate, 0, 0); /* of 8: not NULL */
	assert_i64(r->record[1].cached_tok, 0);
	assert_i64(r->summary.recomputed_tok, 5);
}

static void test_smallest_preemption(void **state)
{
	static const uint64_t a[] = {1}, b[] = {2};
	static const struct trace_row same[] = {ROW_IDS(0, 4, 6, a), ROW_IDS(0, 4, 6, a)};
	static const struct trace_row others[] = {ROW_IDS(0, 4, 6, a), ROW_IDS(0, 4, 6, b)};
	static const char *const names[] = {"paged:prefix=on", "paged:prefix=on,chunk=512"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct harness_options o = options(names[i], "step_ns=1", 4, 4);

		o.kv_blocks = 4;
		both_ways(&o, ROWS(same), check_smallest_preemption);
		both_ways(&o, ROWS(others), check_smallest_preemption);
	}
}

/* The second of two equal prompts: found tokens; its time says that the rest was computed. */
static int64_t found_of(const char *policy, int64_t prompt_tok, int64_t hash_block)
{
	static const uint64_t ids[] = {1, 2, 3, 4, 5};
	struct trace_row rows[] = {ROW_IDS(0, prompt_tok, 1, ids), ROW_IDS(0, prompt_tok, 1, ids)};
	struct harness_options o = options(policy, "step_ns=1000,prefill_tok_ns=1", 16, hash_block);
	bool together = !strstr(policy, "max_seqs=1");

	rows[0].n_hash_ids = rows[1].n_hash_ids = prompt_tok / hash_block;
	struct harness_result r = schedule(&o, ROWS(rows));
	int64_t cached = r.record[1].cached_tok;
	int64_t both = 2 * prompt_tok - cached;

	assert_i64(r.record[0].cached_tok, 0);
	assert_i64(r.record[1].finish_ns, both + (together ? 1000 : 2000));
	assert_i64(r.summary.cached_tok, cached);
	assert_near(r.summary.prefix_hit_rate, (double)cached / (2.0 * (double)prompt_tok), 0);
	harness_release(&r);
	return cached;
}

/* case 10: floor((n - 1) / 16) 16; one after the other, or both in one step. */
static void test_one_token_is_computed(void **state)
{
	static const int64_t want[][2] = {{16, 0}, {17, 16}, {64, 48}, {65, 64}};
	static const char *const names[] = {"paged:prefix=on,max_seqs=1", "paged:prefix=on",
					    "paged:prefix=on,mixed=on",
					    "paged:prefix=on,chunk=512"};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < 4; k++) {
			assert_i64(found_of(names[k], want[i][0], 16), want[i][1]);
			assert_i64(found_of(names[k], want[i][0], 32),
				   want[i][0] / 32 * 32 - (want[i][0] == 64 ? 16 : 0));
		}
}

/*
 * One seat, 6 blocks of 4, in turn: a 13 tokens of 1 2 3; b 9 of 4 5; d 5 of 11; a again; b again.
 * Idle blocks, the next to be forgotten first: after a 3 2 1, after b 3 2 1 5 4. d takes the one
 * that was never known and that of 3. a finds 1 2, and takes the one not known and that of 5. b
 * finds 4 and not 5.
 */
static void check_small_pool(const struct harness_result *r)
{
	static const int64_t want[] = {0, 0, 0, 8, 4};

	for (size_t i = 0; i < 5; i++)
		assert_i64(r->record[i].cached_tok, want[i]);
	assert_i64(r->summary.cached_tok, 12);
	assert_near(r->summary.prefix_hit_rate, 12.0 / 49, 0);
	assert_i64(r->record[4].finish_ns, 5 * 100 + 49 - 12);
}

static void test_small_pool(void **state)
{
	static const uint64_t a[] = {1, 2, 3}, b[] = {4, 5}, d[] = {11};
	static const struct trace_row rows[] = {ROW_IDS(0, 13, 1, a), ROW_IDS(0, 9, 1, b),
						ROW_IDS(0, 5, 1, d), ROW_IDS(0, 13, 1, a),
						ROW_IDS(0, 9, 1, b)};
	static const char *const names[] = {"paged:prefix=on,max_seqs=1",
					    "paged:prefix=on,max_seqs=1,chunk=64"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct harness_options o = options(names[i], "step_ns=100,prefill_tok_ns=1", 4, 4);

		o.kv_blocks = 6;
		both_ways(&o, ROWS(rows), check_small_pool);
	}
}

/*
 * What is shared need not be free: 5 blocks of 4, a 13 tokens in 4 blocks, of which b shares 3.
 * Both run from the first step on; without a cache b waits until a is done.
 */
static void check_shared(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, 30);
	assert_times(r, 1, 0, 10, 30);
	assert_i64(r->record[1].cached_tok, 12);
}

static void check_not_shared(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, 30);
	assert_times(r, 1, 30, 40, 60);
	assert_i64(r->record[1].cached_tok, 0);
	assert_i64(r->summary.cached_tok, FIELD_NULL_INT);
	assert_true(isnan(r->summary.prefix_hit_rate));
}

static void test_shared_blocks(void **state)
{
	static const uint64_t a[] = {1, 2, 3};
	static const struct trace_row rows[] = {ROW_IDS(0, 13, 3, a), ROW_IDS(0, 13, 3, a)};
	struct harness_options o = options("paged:prefix=on", "step_ns=10", 4, 4);

	(void)state;
	o.kv_blocks = 5;
	both_ways(&o, ROWS(rows), check_shared);
	o.policy = "paged";
	both_ways(&o, ROWS(rows), check_not_shared);
}

/* Chunks of 6 over blocks of 4: a has one full block when b comes; b three when the last comes. */
static void check_chunks(const struct harness_result *r)
{
	assert_i64(r->record[1].cached_tok, 4);
	assert_i64(r->record[2].cached_tok, 12);
}

static void test_chunk_by_chunk(void **state)
{
	static const uint64_t a[] = {1, 2, 3};
	static const struct trace_row rows[] = {ROW_IDS(0, 6, 1, a), ROW_IDS(5, 13, 1, a),
						ROW_IDS(40, 13, 1, a)};
	struct harness_options o =
		options("paged:prefix=on,chunk=6,max_seqs=2", "step_ns=10", 4, 4);
	struct trace_row first[3];

	(void)state;
	memcpy(first, rows, sizeof(first));
	first[0].n_hash_ids = 1; /* of six tokens one block is full */
	both_ways(&o, ROWS(first), check_chunks);
}

/* The prefill instance has the cache; its blocks are let go when the transfer ends. */
static void check_disaggregated(const struct harness_result *r)
{
	assert_i64(r->record[0].first_token_ns, 113);
	assert_i64(r->record[1].cached_tok, 12);
	assert_i64(r->record[1].first_token_ns, 113 + 100 + 1);
	assert_near(r->summary.prefix_hit_rate, 12.0 / 26, 0);
	assert_i64(r->summary.completed, 2);
}

static void test_disaggregated(void **state)
{
	static const uint64_t a[] = {1, 2, 3};
	static const struct trace_row rows[] = {ROW_IDS(0, 13, 3, a), ROW_IDS(1, 13, 3, a)};
	struct harness_options o = options("disaggregated:policy=paged,prefix=on,latency=1e-6",
					   "step_ns=100,prefill_tok_ns=1", 4, 4);

	(void)state;
	o.kv_blocks = 5;
	both_ways(&o, ROWS(rows), check_disaggregated);
}

/* case 31: an endless cache over the conversations: 37.34 % of the prompt tokens are found. */
static void test_mooncake(void **state)
{
	static const char *const policies_[] = {"paged:prefix=on,max_seqs=100000",
						"paged:prefix=on,max_seqs=100000,chunk=200000"};
	const char *path = testing_shared("traces/mooncake_conversation_trace.jsonl");

	(void)state;
	if (!path) {
		print_message("skipped: mooncake_conversation_trace.jsonl is not here\n");
		skip();
	}
	for (size_t i = 0; i < 2; i++) {
		char args[512];

		snprintf(args, sizeof(args), "%s -p %s " FAST "--block 512 --requests none", path,
			 policies_[i]);
		assert_row(args,
			   (const struct expect[]){{"cached_tok", 54063104},
						   {"prefix_hit_rate", 54063104.0 / 144793823.0},
						   {"completed", 12031},
						   {.name = NULL}});
	}
}

/* What does not go together, and what is said. */
static void test_refused(void **state)
{
	static const uint64_t a[] = {1};
	static const struct trace_row rows[] = {ROW_IDS(0, 6, 1, a)};
	struct harness_options o = options("paged:prefix=on", "step_ns=10", 4, 6);
	struct harness_result r;
	struct choice c;
	struct err e;

	(void)state;
	harness_run(&o, ROWS(rows), &r);
	assert_refused(r.rc, r.err, "hash ids are of 6 tokens, and KV blocks of 4;");
	harness_release(&r);
	o.policy = "paged"; /* which does not look at them */
	harness_run(&o, ROWS(rows), &r);
	assert_fine(r.rc, r.err);
	harness_release(&r);
	o = options("paged:prefix=on", "step_ns=10", 4, 4);
	o.window_tok = 8;
	harness_run(&o, ROWS(rows), &r);
	assert_refused(r.rc, r.err, "a window, here of 8 tokens");
	harness_release(&r);
	assert_refused(choice_parse(&c, "paged:prefix=on,preempt=swap", &e), e,
		       "prefix=on and preempt=swap do not go together");
	struct run_output out =
		testing_run("run synth:constant,n=3 -p paged:prefix=on -m mistral-7b-v0.1 -d h200");

	assert_exit(out, 2);
	assert_string_equal(out.out, "");
	assert_non_null(strstr(out.err, "whose layers attend to a window of 4096 tokens"));
	testing_run_free(&out);
}

/* A trace without ids is no error, and every row says so; the column is there where it has a value.
 */
static void test_no_ids(void **state)
{
	static const char *const args = "synth:constant,n=3,rate=1 " FAST "-p paged:prefix=on";
	struct results r = run_rows(args);

	(void)state;
	assert_i64(row_number(&r, 0, "cached_tok"), 0);
	assert_string_equal(row_text(&r, 0, "notes"), "no-hash-ids");
	free_rows(&r);
	assert_says(args, "no request has hash ids: nothing is found in the prefix cache\n");
	struct run_output with = run_well(args),
			  without = run_well("synth:constant,n=3,rate=1 " FAST "-p paged");

	assert_non_null(strstr(with.out, "| prefix hits |"));
	assert_null(strstr(without.out, "prefix hits"));
	testing_run_free(&with);
	testing_run_free(&without);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_smallest_preemption),
		cmocka_unit_test(test_one_token_is_computed),
		cmocka_unit_test(test_small_pool),
		cmocka_unit_test(test_shared_blocks),
		cmocka_unit_test(test_chunk_by_chunk),
		cmocka_unit_test(test_disaggregated),
		cmocka_unit_test(test_mooncake),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
