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

/* What random cases once found the two to differ in. */
static void test_once_different(void **state)
{
	static const char *const lines[] = {
		/* the runs of ttft=decode */
		"ctx_tok_ns=0.5 disaggregated=1 ttft_decode=1 requests=0:1:3",
		/* one token more than the decode pool has room for */
		"block=2 disaggregated=1 decode_blocks=3 ttft_decode=1 requests=0:6:1",
		/* a swap makes other batches plan, and so does coming back */
		"swap=1 blocks=6 block=4 pp=3 requests=0:12:2,0:9:1,0:1:1",
		"block=3 disaggregated=1 decode_blocks=7 decode_pp=2 latency_ns=1234 "
		"requests=0:2:3,0:9:8,0:3:2",
		"max_batched=1 swap=1 blocks=19 block=2 pp=2 "
		"requests=0:7:3,0:9:3,0:3:3,0:6:2,0:9:1,0:1:1",
		/* plans after a preemption; where a window is filled there is none */
		"swap=1 blocks=24 block=2 window=9 window_share=2 token_bytes=1 host_blocks=6 "
		"requests=0:1:9,0:2:8,0:1:5",
		/* where the host's time stands in the sum */
		"decode_seq_ns=0.3 ctx_tok_ns=0.1 window_tok_ns=0.1 host_seq_us=1.2345 pp=2 "
		"window=11 requests=0:5:7",
		"host_us=1 host_seq_us=1.2345 requests=0:1:1",
		/* a batch that ends by an abort is followed by another at once */
		"policy=static blocks=3 block=4 decode_seq_ns=0.3 ctx_tok_ns=1 timeout_ns=154 "
		"requests=0:2:3:0:0:2:-1,8:2:9,8:1:1:0:0:2:0",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct ref_config c;
		struct ref_request *q;
		struct err e;
		size_t n;

		assert_fine(ref_parse_line(lines[i], &c, &q, &n, &e), e);
		agree_level(&c, q, n);
		assert_string_equal(agree_try(&c, q, n, NULL).text, "");
		free(q);
	}
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
		cmocka_unit_test(test_all_seen), cmocka_unit_test(test_once_different),
		cmocka_unit_test(test_long_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
