/*
 * The kernels of the module omnibus-cuda.so without a device: their sources, compiled for the host
 * over tests/simt, against the references in double precision.
 */
#include "calibrate/cuda/check.h"
#include <cmath>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>
extern "C" {
#include <cmocka.h>
}

static void say(void *arg, const char *line)
{
	(void)arg;
	print_message("%s\n", line);
}

static check checks(uint64_t seed)
{
	check c = {};

	c.seed = seed;
	c.say = say;
	return c;
}

static void good(const check &c)
{
	if (c.failures > 0)
		fail_msg("%d of the checks failed, the first: %s", c.failures, c.worst);
}

static void test_elementwise(void **state)
{
	(void)state;
	check c = checks(1);

	check_elementwise(c);
	good(c);
}

static void test_cache(void **state)
{
	(void)state;
	check c = checks(2);

	check_cache(c);
	good(c);
}

static void test_attention(void **state)
{
	(void)state;
	check c = checks(3);

	check_attention(c);
	good(c);
}

static void test_steps(void **state)
{
	(void)state;
	check c = checks(6);

	check_gemm(c);
	check_steps(c);
	good(c);
}

/* Lengths about the edges of tiles, chunks, units and pages, alone and together. */
static void test_attention_shapes(void **state)
{
	(void)state;
	static const int64_t lengths[] = {1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 161};
	check c = checks(4);
	std::vector<backend_seq> decodes;

	for (int64_t n : lengths) {
		decodes.push_back({1, n - 1, true});
		for (int64_t prior : {INT64_C(0), n, INT64_C(3)}) {
			attention_case is = {1, 1, 64, 16, 16, 1, {{n, prior, true}}};
			double error = check_attention_case(c, is);

			if (!(error <= check_attention_bound))
				fail_msg("%d tokens after %d: error %g", (int)n, (int)prior, error);
		}
	}
	for (int blocks : {1, 7, 1000}) {
		attention_case is = {3, 1, 64, blocks % 2 ? 16 : 8, 16, blocks, decodes};

		assert_true(check_attention_case(c, is) <= check_attention_bound);
	}
}

/* One of the sizes is off by one, or a piece lost: none may pass. */
static void test_planted(void **state)
{
	(void)state;
	static void (*const of_prompts[])(plan & p) = {
		[](plan &p) { p.tiles[0].position++; },   [](plan &p) { p.tiles[0].position--; },
		[](plan &p) { p.tiles[0].n--; },	  [](plan &p) { p.tiles[0].row--; },
		[](plan &p) { p.tiles[0].first_page--; }, [](plan &p) { p.tiles.pop_back(); },
	};
	static void (*const of_decodes[])(plan & p) = {
		[](plan &p) { p.items[0].end--; },
		[](plan &p) { p.items[0].begin += decode_unit; },
		[](plan &p) { p.items[0].row = 1; },
		[](plan &p) { p.items[1].first_page++; },
		[](plan &p) { p.items.pop_back(); },
		[](plan &p) { p.parts[0].n--; },
	};
	check c = checks(5);
	attention_case prompts = {2, 1, 64, 16, 16, 1, {{20, 0, true}, {40, 70, true}}};
	attention_case decodes = {8, 1, 64, 16, 16, 8, {{1, 140, true}, {1, 200, true}}};

	assert_true(check_attention_case(c, prompts) <= check_attention_bound);
	assert_true(check_attention_case(c, decodes) <= check_attention_bound);
	for (auto spoil : of_prompts)
		assert_false(check_attention_case(c, prompts, spoil) <= check_attention_bound);
	for (auto spoil : of_decodes)
		assert_false(check_attention_case(c, decodes, spoil) <= check_attention_bound);
}

/* A pool takes the memory of its slots, and of a page a sequence that is not full. */
static void test_pages(void **state)
{
	(void)state;
	assert_int_equal(plan_pages(262144, 16, 16, 512), 16384);
	for (int bits = 8; bits >= 2; bits /= 2)
		assert_int_equal(plan_pages(262144, 16, bits, 512), 8192 + 512);
	assert_int_equal(plan_pages(1000, 16, 8, 1), 32 + 1);
	assert_int_equal(plan_pages(1000, 16, 8, 512), 63);
	assert_int_equal(plan_pages(1000, 48, 16, 4), 16 + 4);
	assert_int_equal(plan_pages(1000, 64, 2, 4), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elementwise),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_attention),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_attention_shapes),
		cmocka_unit_test(test_planted),
		cmocka_unit_test(test_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
