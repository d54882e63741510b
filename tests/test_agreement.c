/*
 * The engine against the slow reference simulator, request by request, to the nanosecond, on random
 * small cases of every kind: fast-forward and one step at a time. A case that disagrees is made
 * smaller while it still does, and printed with both results.
 */
#include "tests/agree.h"
#include "tests/testing.h"
#include <string.h>

enum { CASES = 20000 };

/* What the cases of a kind had in them. */
struct seen {
	int64_t completed, rejected, unfinished, preempted, swapped, gaps;
};

static void look(struct seen *seen, const struct ref_run *run)
{
	seen->preempted += run->preemptions;
	seen->swapped += run->swaps;
	for (size_t r = 0; r < run->n; r++) {
		seen->completed += run->outcome[r].status == REF_COMPLETED;
		seen->rejected += run->outcome[r].status == REF_REJECTED;
		seen->unfinished += run->outcome[r].status == REF_UNFINISHED;
		seen->gaps += run->outcome[r].max_gap_ns > 0;
	}
}

static struct verdict try_case(const struct ref_config *c, const struct ref_request *q, size_t n,
			       bool step_by_step, struct seen *seen)
{
	struct harness_result e;
	struct ref_run run;
	struct verdict v;

	reference_run(c, q, n, &run);
	look(seen, &run);
	agree_engine(c, q, n, step_by_step, &e);
	v = agree_compare(c, &e, &run);
	reference_release(&run);
	harness_release(&e);
	return v;
}

/* A smaller case that disagrees */

static size_t shrink(const struct ref_config *c, struct ref_request *q, size_t n, bool step_by_step)
{
	struct ref_request *less = xcalloc(n, sizeof(*less));
	struct seen seen = {0};

	for (size_t drop = n; drop-- > 0;) {
		memcpy(less, q, drop * sizeof(*q));
		memcpy(less + drop, q + drop + 1, (n - drop - 1) * sizeof(*q));
		if (n > 1 && try_case(c, less, n - 1, step_by_step, &seen).text[0])
			memcpy(q, less, --n * sizeof(*q));
	}
	free(less);
	return n;
}

static void explain(const struct ref_config *c, struct ref_request *q, size_t n, bool step_by_step)
{
	struct harness_result e;
	struct ref_run run;

	n = shrink(c, q, n, step_by_step);
	reference_run(c, q, n, &run);
	agree_engine(c, q, n, step_by_step, &e);
	fprintf(stderr, "%s: %s\n", step_by_step ? "step by step" : "fast-forward",
		agree_compare(c, &e, &run).text);
	reference_print_case(stderr, c, q, n, &run);
	for (size_t r = 0; r < e.n_ended; r++)
		fprintf(stderr,
			"  engine: %lld: status %d arrive=%lld s=%lld f=%lld c=%lld "
			"preempted=%lld instance=%lld maxgap=%g\n",
			(long long)e.ended[r].idx, (int)e.ended[r].status,
			(long long)e.ended[r].arrive_ns, (long long)e.ended[r].schedule_ns,
			(long long)e.ended[r].first_token_ns, (long long)e.ended[r].finish_ns,
			(long long)e.ended[r].preemptions, (long long)e.ended[r].instance,
			e.ended[r].max_gap_ns);
	reference_release(&run);
	harness_release(&e);
}

/* Prints what was seen, so that a test of nothing is noticed; the caller says what must be in it.
 */
static struct seen agree(enum ref_kind kind)
{
	struct seen seen = {0};
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
	const char *seed = getenv("OMNIBUS_SEED"), *cases = getenv("OMNIBUS_CASES");
	int64_t n_cases = cases ? atoll(cases) : CASES;

	gsl_rng_set(rng, (seed ? strtoul(seed, NULL, 10) : 1) + (unsigned long)kind);
	for (int64_t i = 0; i < n_cases; i++) {
		struct ref_config c;
		struct ref_request *q;
		size_t n;

		reference_random_case(rng, kind, &c, &q, &n);
		agree_level(&c);
		for (int by_step = 0; by_step <= 1; by_step++) {
			if (!try_case(&c, q, n, by_step, &seen).text[0])
				continue;
			explain(&c, q, n, by_step);
			fail_msg("case %lld of kind %d: the engine disagrees with the reference",
				 (long long)i, (int)kind);
		}
		free(q);
	}
	gsl_rng_free(rng);
	print_message("%lld completed, %lld rejected, %lld unfinished; %lld preemptions, %lld by "
		      "swap\n",
		      (long long)seen.completed, (long long)seen.rejected,
		      (long long)seen.unfinished, (long long)seen.preempted,
		      (long long)seen.swapped);
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
	struct seen seen = agree(REF_PAGED);

	(void)state;
	assert_true(seen.swapped > 1000 && seen.preempted - seen.swapped > 1000);
}

static void test_disaggregated(void **state)
{
	struct seen seen = agree(REF_DISAGGREGATED);

	(void)state;
	assert_true(seen.swapped > 1000 && seen.preempted - seen.swapped > 1000);
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
	struct seen seen = {0};

	(void)state;
	agree_level(&c);
	c.keep_steps = true;
	for (int by_step = 0; by_step <= 1; by_step++) {
		struct verdict v = try_case(&c, q, 1, by_step, &seen);

		assert_string_equal(v.text, "");
	}
	assert_i64(seen.completed, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_static),	 cmocka_unit_test(test_continuous),
		cmocka_unit_test(test_paged),	 cmocka_unit_test(test_disaggregated),
		cmocka_unit_test(test_long_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
