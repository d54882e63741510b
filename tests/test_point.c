/* Points: the list, the names of operations, the hash that says which points a fit was made from.
 */
#include "calibrate/point.h"
#include "testing.h"
#include <string.h>

static const struct point sample = {
	.op = OP_DECODE,
	.bits = 16,
	.heads = 32,
	.kv_heads = 8,
	.head_dim = 128,
	.decode_seq = 4,
	.decode_ctx = 4096,
	.ns = 26304,
};

static void test_list_grows(void **state)
{
	struct points list = {.at = NULL};
	struct point p = sample;

	(void)state;
	for (int64_t i = 0; i < 1000; i++) {
		p.m = i;
		points_add(&list, &p);
	}
	assert_i64(list.n, 1000);
	assert_i64(list.at[999].m, 999);
	assert_i64(list.at[0].decode_ctx, 4096);
	points_release(&list);
	assert_i64(list.n, 0);
	assert_null(list.at);
	points_release(&list);
}

static void test_operations_have_names(void **state)
{
	(void)state;
	for (int i = 0; i < N_OPS; i++) {
		assert_non_null(op_names[i]);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(op_names[i], op_names[j]);
	}
	assert_string_equal(op_names[OP_GEMM], "gemm");
	assert_string_equal(op_names[OP_COPY_FROM_HOST], "copy_from_host");
}

static void hash_of(const struct point *a, const struct point *b, char hash[17])
{
	struct points list = {.at = NULL};

	if (a)
		points_add(&list, a);
	if (b)
		points_add(&list, b);
	points_hash(&list, hash);
	points_release(&list);
}

/* FNV-1a of nothing is its offset basis. */
static void test_hash_of_nothing(void **state)
{
	char hash[17];

	(void)state;
	hash_of(NULL, NULL, hash);
	assert_string_equal(hash, "cbf29ce484222325");
}

static void test_hash_sees_sizes_times_and_order(void **state)
{
	struct point longer = sample, slower = sample, spread = sample, often = sample;
	const struct point *others[] = {&longer, &slower, &spread, &often};
	char first[17], second[17];

	(void)state;
	longer.longest = 2048;
	slower.ns = 26304.5;
	spread.max_ns = 30000;
	often.repeats = 3;
	hash_of(&sample, NULL, first);
	hash_of(&sample, NULL, second);
	assert_string_equal(first, second);
	assert_i64(strspn(first, "0123456789abcdef"), 16);
	for (size_t i = 0; i < 4; i++) {
		hash_of(others[i], NULL, second);
		assert_string_not_equal(first, second);
	}
	hash_of(&sample, &longer, first);
	hash_of(&longer, &sample, second);
	assert_string_not_equal(first, second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list_grows),
		cmocka_unit_test(test_operations_have_names),
		cmocka_unit_test(test_hash_of_nothing),
		cmocka_unit_test(test_hash_sees_sizes_times_and_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
