/*
 * The reference simulator by hand: prompts found in the cache, contiguous chunks, sliding windows.
 * Steps take 10 unless a test says otherwise.
 */
#include "tests/by_hand.h"

#include <stdlib.h>

static struct ref_request with_ids(int64_t arrive_ns, int64_t prompt_tok, int64_t output_tok,
				   const uint64_t *ids, int64_t n)
{
	struct ref_request q = REF(arrive_ns, prompt_tok, output_tok, 0);

	for (q.hash_n = 0; q.hash_n < n; q.hash_n++)
		q.hash[q.hash_n] = ids[q.hash_n];
	return q;
}

/* A request with these ids. */
#define ASK(arrive, prompt, output, ...)                                                           \
	with_ids(arrive, prompt, output, (const uint64_t[]){__VA_ARGS__},                          \
		 (int64_t)(sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)))

static struct ref_config cached(int64_t blocks, int64_t block_tok, int64_t hash_block)
{
	struct ref_config c = base(paged(4, 0));

	c.policy.prefix = true;
	c.blocks = blocks;
	c.block_tok = block_tok;
	c.hash_block = hash_block;
	return c;
}

/* case 10: floor((n - 1) / 16) x 16 of the same prompt are found: one token is always computed. */
static void test_full_hit(void **state)
{
	const int64_t prompts[] = {16, 17, 64, 65}, want[] = {0, 16, 48, 64};

	(void)state;
	for (int k = 0; k < 4; k++) {
		struct ref_config c = cached(100, 16, 16);
		const struct ref_request q[] = {ASK(0, prompts[k], 1, 1, 2, 3, 4),
						ASK(20, prompts[k], 1, 1, 2, 3, 4)};
		struct ref_run run;

		reference_run(&c, q, 2, &run);
		assert_i64(run.outcome[0].cached_tok, 0);
		assert_i64(run.outcome[1].cached_tok, want[k]);
		assert_i64(run.step[1].prefill_tok, prompts[k] - want[k]);
		reference_release(&run);
	}
}

/*
 * 3 blocks of 4, two prompts of 8 at once: the first takes 2 blocks, and the second finds block 0
 * held, and needs one: both go into one step, which computes 8 + 4 tokens. With other ids for the
 * second it waits.
 */
static void test_shared_in_one_step(void **state)
{
	struct ref_request q[] = {ASK(0, 8, 1, 1, 2), ASK(0, 8, 1, 1, 2)};
	struct ref_config c = cached(3, 4, 4);
	struct ref_run run;

	(void)state;
	for (int chunk = 0; chunk <= 64; chunk += 64) {
		c.policy.chunk = chunk;
		reference_run(&c, q, 2, &run);
		assert_i64(run.step_n, 1);
		assert_i64(run.step[0].prefill_tok, 12);
		assert_i64(run.step[0].blocks_used, 3);
		assert_i64(run.outcome[1].cached_tok, 4);
		reference_release(&run);
	}
	q[1].hash[0] = 3;
	reference_run(&c, q, 2, &run);
	check_times(&run, 1, 10, 20, 20);
	reference_release(&run);
}

/*
 * 3 blocks of 4. Prompts of 5 fill one block of two: id 1 is released at 10, id 2 at 30. A prompt
 * of 8 takes the block that is not known and the one of id 1. So id 2 is found at 60, and id 1 not
 * at 80.
 */
static void test_least_recently_released(void **state)
{
	const struct ref_request q[] = {ASK(0, 5, 1, 1), ASK(20, 5, 1, 2), ASK(40, 8, 1, 3, 4),
					ASK(60, 5, 1, 2), ASK(80, 5, 1, 1)};
	struct ref_config c = cached(3, 4, 4);
	struct ref_run run;

	(void)state;
	reference_run(&c, q, 5, &run);
	assert_i64(run.outcome[3].cached_tok, 4);
	assert_i64(run.outcome[4].cached_tok, 0);
	reference_release(&run);
}

/* Of blocks released together the last of the prompt goes first: ids 1 and 2 of three stay. */
static void test_last_of_the_prompt_first(void **state)
{
	const struct ref_request q[] = {ASK(0, 13, 1, 1, 2, 3), ASK(20, 8, 1, 9, 10),
					ASK(40, 13, 1, 1, 2, 3)};
	struct ref_config c = cached(4, 4, 4);
	struct ref_run run;

	(void)state;
	reference_run(&c, q, 3, &run);
	assert_i64(run.outcome[2].cached_tok, 8);
	assert_i64(run.seen.evictions, 3); /* id 3, then 10 and 9 */
	reference_release(&run);
}

/* Ids of 8 tokens and blocks of 4: two blocks an id. Ids of 4 and blocks of 8: the later one. */
static void test_other_block_sizes(void **state)
{
	const struct ref_request large[] = {ASK(0, 9, 1, 1), ASK(20, 9, 1, 1), ASK(40, 9, 1, 2)};
	const struct ref_request small[] = {ASK(0, 9, 1, 1, 2), ASK(20, 9, 1, 7, 2),
					    ASK(40, 9, 1, 1, 3)};
	struct ref_config c = cached(10, 4, 8);
	struct ref_run run;

	(void)state;
	reference_run(&c, large, 3, &run);
	assert_i64(run.outcome[1].cached_tok, 8);
	assert_i64(run.outcome[2].cached_tok, 0);
	reference_release(&run);
	c = cached(10, 8, 4);
	reference_run(&c, small, 3, &run);
	assert_i64(run.outcome[1].cached_tok, 8);
	assert_i64(run.outcome[2].cached_tok, 0);
	reference_release(&run);
}

/*
 * case 8 with a cache: 1 is preempted at 5, and at 6 its sequence of 9 finds the block of its own
 * prompt: 5 tokens are computed again, and none counts as cached.
 */
static void test_preempted_finds_its_own(void **state)
{
	const struct ref_request q[] = {ASK(0, 4, 6, 1), ASK(0, 4, 6, 2)};
	struct ref_config c = cached(4, 4, 4);
	struct ref_run run;

	(void)state;
	c.step_ns = 1;
	reference_run(&c, q, 2, &run);
	check_tokens(&run, 0, 1, 2, 3, 4, 5, 6);
	check_tokens(&run, 1, 1, 2, 3, 4, 5, 7);
	assert_i64(run.recomputed_tok, 5);
	assert_i64(run.outcome[1].cached_tok, 0);
	reference_release(&run);
}

/*
 * A prefill instance with 3 blocks of 4. The blocks of 0 are held until its transfer ends at 30; 1
 * finds the first of them at 10, needs one more, and has it. Another prompt would wait for 30.
 */
static void test_found_while_kept(void **state)
{
	struct ref_request q[] = {ASK(0, 8, 2, 1, 2), ASK(5, 8, 1, 1, 2)};
	struct ref_config c = split(1, 4);
	struct ref_run run;

	(void)state;
	c.policy.prefix = true;
	c.blocks = 3;
	c.block_tok = c.hash_block = 4;
	reference_run(&c, q, 2, &run);
	assert_i64(run.outcome[1].cached_tok, 4);
	check_times(&run, 1, 10, 20, 20);
	reference_release(&run);
	q[1].hash[0] = 3;
	reference_run(&c, q, 2, &run);
	check_times(&run, 1, 30, 40, 40);
	reference_release(&run);
}

/*
 * 13 blocks of 1 are chunks of 8, 4 and 1. Reservations of 5, 3 and 2 tokens take 8 and 4;
 * the last finds a chunk of 1 and waits until 10. One of 9 would need 16.
 */
static void test_buddy(void **state)
{
	const struct ref_request q[] = {REF(0, 4, 1, 0), REF(0, 2, 1, 0), REF(0, 1, 1, 0),
					REF(0, 7, 2, 0)};
	struct ref_config c = base(continuous(4));
	struct ref_run run;

	(void)state;
	c.policy.buddy = true;
	c.block_tok = 1;
	c.blocks = 13;
	reference_run(&c, q, 4, &run);
	assert_i64(run.step[0].blocks_used, 12);
	check_times(&run, 1, 0, 10, 10);
	check_times(&run, 2, 10, 20, 20);
	assert_i64(run.outcome[3].status, REF_REJECTED);
	reference_release(&run);
}

/*
 * 8 blocks of 1: 2 at 0, 4 at 4, 2 at 2. At 10 the first and the last are free: 4 free blocks that
 * are one chunk again, which the fourth (4) takes; the fifth (8) needs all to merge at 30.
 */
static void test_buddies_merge(void **state)
{
	const struct ref_request q[] = {REF(0, 1, 1, 0), REF(0, 1, 3, 0), REF(0, 1, 1, 0),
					REF(5, 1, 2, 0), REF(6, 4, 1, 0)};
	struct ref_config c = base(continuous(9));
	struct ref_run run;

	(void)state;
	c.policy.buddy = true;
	c.block_tok = 1;
	c.blocks = 8;
	reference_run(&c, q, 5, &run);
	assert_i64(run.step[0].blocks_used, 8);
	check_times(&run, 3, 10, 20, 30);
	check_times(&run, 4, 30, 40, 40);
	reference_release(&run);
}

/*
 * Blocks of 2, a window of 4, 2 blocks for each of its own: 3 slots 2 + 2 x 2 = 6, 4: 6, 5: 7,
 * 6: 7. All layers windowed: 2 blocks at most.
 */
static void test_window_blocks(void **state)
{
	const struct ref_request q[] = {REF(0, 3, 4, 0)};
	struct ref_config c = base(paged(4, 0));
	struct ref_run run;
	const int64_t used[] = {6, 6, 7, 7};

	(void)state;
	c.block_tok = 2;
	c.blocks = 7;
	c.window_tok = 4;
	c.window_share = 2;
	reference_run(&c, q, 1, &run);
	assert_i64(run.step_n, 4);
	for (size_t i = 0; i < 4; i++)
		assert_i64(run.step[i].blocks_used, used[i]);
	reference_release(&run);
	c.blocks = 6;
	reference_run(&c, q, 1, &run);
	assert_i64(run.outcome[0].status, REF_REJECTED);
	reference_release(&run);
	c.window_only = true;
	c.blocks = 2;
	reference_run(&c, q, 1, &run);
	assert_i64(run.outcome[0].status, REF_COMPLETED);
	assert_i64(run.step[3].blocks_used, 2);
	reference_release(&run);
}

/*
 * 0.25 a token within a window of 5, and nothing else: contexts 4, 5, 6, 7. A run of the first
 * alone, to llround(1); then 1.25, 2.5, 3.75 from 1.
 */
static void test_window_runs(void **state)
{
	const struct ref_request q[] = {REF(0, 3, 5, 0)};
	struct ref_config c = base(paged(4, 0));
	struct ref_run run;

	(void)state;
	c.step_ns = 0;
	c.window_tok = 5;
	c.window_share = 1;
	c.window_tok_ns = 0.25;
	reference_run(&c, q, 1, &run);
	check_tokens(&run, 0, 0, 1, 2, 4, 5);
	reference_release(&run);
}

/* A transfer of 6 tokens of 1 byte, and of the last 4 of 3 more, at 1 byte a ns: 18. */
static void test_window_transfer(void **state)
{
	const struct ref_request q[] = {REF(0, 6, 2, 0)};
	struct ref_config c = split(1, 1);
	struct ref_run run;

	(void)state;
	c.latency_ns = 0;
	c.kv_token_bytes = 1;
	c.window_tok = 4;
	c.window_share = 1;
	c.window_token_bytes = 3;
	reference_run(&c, q, 1, &run);
	check_tokens(&run, 0, 10, 38);
	reference_release(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_hit),
		cmocka_unit_test(test_shared_in_one_step),
		cmocka_unit_test(test_least_recently_released),
		cmocka_unit_test(test_last_of_the_prompt_first),
		cmocka_unit_test(test_other_block_sizes),
		cmocka_unit_test(test_preempted_finds_its_own),
		cmocka_unit_test(test_found_while_kept),
		cmocka_unit_test(test_buddy),
		cmocka_unit_test(test_buddies_merge),
		cmocka_unit_test(test_window_blocks),
		cmocka_unit_test(test_window_runs),
		cmocka_unit_test(test_window_transfer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
