/* The buddy allocator: by hand, and against a plain map of which block is whose. */
#include "sim/buddy.h"
#include "sim/rng.h"
#include "tests/schedule.h"
#include <string.h>

static void test_sizes(void **state)
{
	static const int64_t size[][2] = {
		{1, 1},	      {2, 2},	    {3, 4},
		{4, 4},	      {5, 8},	    {1023, 1024},
		{1024, 1024}, {1025, 2048}, {INT64_C(1) << 40, INT64_C(1) << 40}};

	(void)state;
	for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++)
		assert_i64(buddy_size(size[i][0]), size[i][1]);
}

static int64_t largest(int64_t total)
{
	struct buddy b;

	buddy_init(&b, total);
	int64_t size = buddy_largest(&b);

	assert_true(buddy_fits(&b, size));
	assert_false(buddy_fits(&b, 2 * size));
	buddy_release(&b);
	return size;
}

/* A pool of 13 is 8 + 4 + 1: no chunk is ever larger than 8. */
static void test_largest(void **state)
{
	(void)state;
	assert_i64(largest(1), 1);
	assert_i64(largest(13), 8);
	assert_i64(largest(64), 64);
	assert_i64(largest(INT64_C(1) << 40), INT64_C(1) << 40);
}

/* 8 at 0, 4 at 8, 1 at 12: the smallest that is large enough, of halves the lower, then the lowest.
 */
static void test_by_hand(void **state)
{
	struct buddy b;

	(void)state;
	buddy_init(&b, 13);
	assert_i64(buddy_take(&b, 1), 12); /* the chunk of one, not a part of another */
	assert_i64(buddy_take(&b, 1), 8);  /* of 4 at 8: 1 at 9 and 2 at 10 are left */
	assert_i64(buddy_take(&b, 2), 10);
	assert_i64(buddy_take(&b, 2), 0); /* of 8 at 0: 2 at 2 and 4 at 4 are left */
	assert_i64(buddy_take(&b, 1), 9);
	assert_i64(buddy_take(&b, 1), 2); /* 1 at 3 is left */
	assert_true(buddy_fits(&b, 4));
	assert_false(buddy_fits(&b, 8));
	buddy_give(&b, 12, 1);
	assert_i64(buddy_take(&b, 1), 3); /* the lower one of 3 and 12 */
	buddy_give(&b, 3, 1);
	buddy_give(&b, 2, 1); /* 2 and 3 merge, and stop: 0 is taken */
	assert_i64(buddy_take(&b, 2), 2);
	buddy_give(&b, 2, 2);
	buddy_give(&b, 0, 2); /* 0, 2, 4: 8 at 0 again */
	assert_i64(buddy_take(&b, 8), 0);
	buddy_give(&b, 8, 1);
	buddy_give(&b, 10, 2);
	assert_false(buddy_fits(&b, 4)); /* 9 is taken */
	buddy_give(&b, 9, 1);
	assert_i64(buddy_take(&b, 4), 8); /* 4 at 8 is the pool's own: it does not merge with 12 */
	buddy_release(&b);
}

/* The obvious way: who has each block; aligned places of a size, within a chunk of the pool. */
enum { MOST = 200 };

struct plain {
	int64_t total;
	int owner[MOST]; /* 0: free */
};

/* The chunk of the pool that this block is in: where it starts and ends. */
static void own_chunk(const struct plain *p, int64_t at, int64_t *start, int64_t *end)
{
	*start = *end = 0;
	for (int64_t size = INT64_C(1) << 40; size > 0; size /= 2) {
		if (!(p->total & size))
			continue;
		*end = *start + size;
		if (at < *end)
			return;
		*start = *end;
	}
}

static bool all_free(const struct plain *p, int64_t at, int64_t size)
{
	for (int64_t i = at; i < at + size; i++)
		if (p->owner[i])
			return false;
	return true;
}

/* The largest free aligned piece that starts here and is free as a whole, but its double is not. */
static int64_t free_chunk(const struct plain *p, int64_t at)
{
	int64_t start, end, size = 1;

	if (p->owner[at])
		return 0;
	own_chunk(p, at, &start, &end);
	while ((at - start) % (2 * size) == 0 && at + 2 * size <= end && all_free(p, at, 2 * size))
		size *= 2;
	return size;
}

/* Where a chunk of this size is to come from; -1: from nowhere. */
static int64_t plain_place(const struct plain *p, int64_t size)
{
	int64_t best = -1, best_size = INT64_MAX;

	for (int64_t at = 0; at < p->total;) {
		int64_t chunk = free_chunk(p, at);

		if (chunk >= size && chunk < best_size) {
			best = at;
			best_size = chunk;
		}
		at += chunk > 0 ? chunk : 1;
	}
	return best;
}

static void check_random_pool(gsl_rng *rng, int64_t total)
{
	struct plain p = {.total = total};
	struct {
		int64_t at, size;
	} held[MOST];
	int n = 0;
	struct buddy b;

	buddy_init(&b, total);
	for (int i = 0; i < 400; i++) {
		int64_t size = INT64_C(1) << gsl_rng_uniform_int(rng, 6);
		int64_t want = plain_place(&p, size);

		assert_i64(buddy_fits(&b, size), want >= 0);
		if (gsl_rng_uniform_int(rng, 5) < 3 && want >= 0) {
			int64_t at = buddy_take(&b, size);

			assert_i64(at, want);
			held[n].at = at;
			held[n++].size = size;
			for (int64_t k = at; k < at + size; k++)
				p.owner[k] = 1;
		} else if (n > 0) {
			int k = (int)gsl_rng_uniform_int(rng, (unsigned long)n);

			buddy_give(&b, held[k].at, held[k].size);
			for (int64_t j = held[k].at; j < held[k].at + held[k].size; j++)
				p.owner[j] = 0;
			held[k] = held[--n];
		}
	}
	while (n-- > 0)
		buddy_give(&b, held[n].at, held[n].size);
	assert_i64(b.orders, total); /* all is as it was: one chunk of each power of two in it */
	buddy_release(&b);
}

static void test_random(void **state)
{
	gsl_rng *rng = rng_new(1, "buddy");

	(void)state;
	for (int i = 0; i < 200; i++)
		check_random_pool(rng, 1 + (int64_t)gsl_rng_uniform_int(rng, MOST));
	gsl_rng_free(rng);
}

/*
 * In the engine: 16 blocks of 1, steps of 10. r0 3 + 2 = 5 slots: 8 at 0; r1 2 + 2: 4 at 8; r2 1 +
 * 1: 2 at 12. At 10 r2 is done. r3 wants 3 + 1: 4 blocks, and 4 are free, 12 to 15. r4 wants 1 + 4
 * = 5:
 * 8. At 20 r0 and r1 are done: 8 are free at 0 for it, at once.
 */
static void check_chunks(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, 20);
	assert_times(r, 1, 0, 10, 20);
	assert_times(r, 2, 0, 10, 10);
	assert_times(r, 3, 10, 20, 20);
	assert_times(r, 4, 20, 30, 60);
	/* rounded: 8 + 4 + 2, 8 + 4 + 4, then 8 in four steps, of 16 */
	assert_near(r->summary.kv_util_mean, (14 + 16 + 4 * 8) / 16.0 / 6, 1e-12);
}

static void test_chunks(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 3, 2), ROW(0, 2, 2), ROW(0, 1, 1),
						ROW(1, 3, 1), ROW(1, 1, 4)};
	struct harness_options o =
		harness_default("continuous:reserve=oracle,alloc=buddy", "step_ns=10");

	(void)state;
	o.kv_blocks = 16;
	o.block_tok = 1;
	both_ways(&o, ROWS(rows), check_chunks);
}

/*
 * External fragmentation: 8 blocks of 2, four requests of 4 slots in chunks at 0, 2, 4 and 6. At 10
 * the first and the third are done: 4 blocks are free, but not in one piece, until 30. Counted,
 * they do for a request of 8 slots.
 */
static void check_fragmented(const struct harness_result *r)
{
	assert_times(r, 4, 30, 40, 40);
	assert_string_equal(r->summary.bound, "kv");
}

static void check_counted(const struct harness_result *r)
{
	assert_times(r, 4, 10, 20, 20);
}

static void test_fragmentation(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 3, 1), ROW(0, 1, 3), ROW(0, 3, 1),
						ROW(0, 1, 3), ROW(0, 7, 1)};
	struct harness_options o =
		harness_default("continuous:reserve=oracle,alloc=buddy", "step_ns=10");

	(void)state;
	o.kv_blocks = 8;
	o.block_tok = 2;
	both_ways(&o, ROWS(rows), check_fragmented);
	o.policy = "continuous:reserve=oracle";
	both_ways(&o, ROWS(rows), check_counted);
}

/* 12 blocks are 8 + 4: a request of 9 blocks takes 16, and can never be served; one of 8 can. */
static void check_rejected(const struct harness_result *r)
{
	assert_i64(r->record[0].status, RECORD_REJECTED);
	assert_times(r, 1, 0, 10, 10);
}

static void test_never_served(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 8, 1), ROW(0, 7, 1)};
	struct harness_options o =
		harness_default("continuous:reserve=oracle,alloc=buddy", "step_ns=10");

	(void)state;
	o.kv_blocks = 12;
	o.block_tok = 1;
	both_ways(&o, ROWS(rows), check_rejected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),	     cmocka_unit_test(test_largest),
		cmocka_unit_test(test_by_hand),	     cmocka_unit_test(test_random),
		cmocka_unit_test(test_chunks),	     cmocka_unit_test(test_fragmentation),
		cmocka_unit_test(test_never_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
