/*
 * The engine against the slow reference simulator, request by request, to the nanosecond, on random
 * small cases of every kind: fast-forward and one step at a time. A case that disagrees is made
 * smaller while it still does, and printed with both results.
 */
#include "tests/agree.h"
#include "tests/testing.h"

enum { CASES = 20000 };

static bool still_fails(void *arg, const struct ref_config *c, const struct ref_request *q,
			size_t n)
{
	(void)arg;
	return agree_try(c, q, n, NULL).text[0];
}

static void explain(struct ref_config *c, struct ref_request *q, size_t n)
{
	shrink_case(c, q, &n, still_fails, NULL);
	fprintf(stderr, "%s\nomnibus-fuzz --case '", agree_try(c, q, n, NULL).text);
	ref_print_line(stderr, c, q, n);
	fputs("'\n", stderr);
	agree_explain(stderr, c, q, n);
}

/* Prints what was seen, so that a test of nothing is noticed; the caller says what must be in it.
 */
static struct agree_seen all;

static struct agree_seen agree(enum ref_kind kind)
{
	struct agree_seen seen = {0};
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
	const char *seed = getenv("OMNIBUS_SEED"), *cases = getenv("OMNIBUS_CASES");
	int64_t n_cases = cases ? atoll(cases) : CASES;

	gsl_rng_set(rng, (seed ? strtoul(seed, NULL, 10) : 1) + (unsigned long)kind);
	for (int64_t i = 0; i < n_cases; i++) {
		struct ref_config c;
		struct ref_request *q;
		size_t n;

		reference_random_case(rng, kind, &c, &q, &n);
		agree_level(&c, q, n);
		if (agree_try(&c, q, n, &seen).text[0]) {
			explain(&c, q, n);
			fail_msg("case %lld of kind %d: the engine disagrees with the reference",
				 (long long)i, (int)kind);
		}
		free(q);
	}
	gsl_rng_free(rng);
	agree_print_seen(stdout, &seen);
	agree_add(&all, &seen);
	assert_true(seen.completed > n_cases && seen.rejected > n_cases / 10);
	assert_true(seen.unfinished > n_cases / 10 && seen.gaps > n_cases);
	return seen;
}

static void test_static(void **state)
{
	(void)state;
	agree(REF_STATIC);
}

static void test_continuous(void **state)
{
	(void)state;
	agree(REF_CONTINUOUS);
}

static void test_paged(void **state)
{
	struct agree_seen seen = agree(REF_PAGED);

	(void)state;
	assert_true(seen.swapped > 1000 && seen.preempted - seen.swapped > 1000);
}

static void test_disaggregated(void **state)
{
	struct agree_seen seen = agree(REF_DISAGGREGATED);

	(void)state;
	assert_true(seen.swapped > 1000 && seen.preempted - seen.swapped > 1000);
}

/* Nothing that the cases are made for is missing from them: a test of nothing is noticed. */
static void test_all_seen(void **state)
{
	const char *rare = agree_rare(&all, all.cases / 2000);

	(void)state;
	if (rare)
		fail_msg("too few in %lld cases: %s", (long long)all.cases, rare);
}

/* A run ends after 2^20 steps. */
static void test_long_run(void **state)
{
	struct ref_request q[] = {REF(0, 3, (1 << 20) + 9, 0)};
	struct ref_config c = {
		.policy = {.kind = REF_PAGED,
			   .seats = 2,
			   .max_batched_tok = 100,
			   .max_paddings = -1},
		.instances = 1,
		.blocks = 1 << 20,
		.block_tok = 4,
		.step_ns = 7.7,
		.ctx_tok_ns = 0.3,
		.pcie_bytes_s = 1,
		.horizon_ns = -1,
		.stream = 1,
	};
	struct agree_seen seen = {0};

	(void)state;
	agree_level(&c, q, 1);
	c.keep_steps = true;
	assert_string_equal(agree_try(&c, q, 1, &seen).text, "");
	assert_i64(seen.completed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_static),	 cmocka_unit_test(test_continuous),
		cmocka_unit_test(test_paged),	 cmocka_unit_test(test_disaggregated),
		cmocka_unit_test(test_all_seen), cmocka_unit_test(test_long_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
