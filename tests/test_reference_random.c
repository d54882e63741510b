/* The reference simulator's own laws on random small cases of every kind. */
#include "tests/reference.h"
#include "tests/testing.h"

#include <stdlib.h>

enum { CASES = 20000 };

static bool same_outcomes(const struct ref_run *a, const struct ref_run *b)
{
	for (size_t r = 0; r < a->n; r++) {
		const struct ref_outcome *x = &a->outcome[r], *y = &b->outcome[r];

		if (x->status != y->status || x->s_ns != y->s_ns || x->c_ns != y->c_ns ||
		    x->preemptions != y->preemptions || x->tokens != y->tokens)
			return false;
		for (int64_t k = 0; k < x->tokens; k++)
			if (x->token_ns[k] != y->token_ns[k])
				return false;
	}
	return a->steps == b->steps;
}

/* Of one request: each in one bucket, s < f <= c in order, all tokens delivered when it is done. */
static bool in_order(const struct ref_config *c, const struct ref_outcome *o)
{
	if (o->status == REF_UNFINISHED || o->status == REF_NOT_ARRIVED)
		return c->horizon_ns >= 0 && o->c_ns == -1;
	if (o->status == REF_ABORTED && c->timeout_ns == 0)
		return false;
	if (o->status != REF_COMPLETED)
		return o->c_ns == -1;
	return o->arrive_ns <= o->s_ns && o->s_ns <= o->f_ns && o->f_ns <= o->c_ns &&
	       o->tokens == o->output_tok && o->token_ns[o->tokens - 1] == o->c_ns;
}

static void check_random(gsl_rng *rng, enum ref_kind kind)
{
	struct ref_config c;
	struct ref_request *q;
	struct ref_run run, again;
	size_t n;
	bool good;

	reference_random_case(rng, kind, &c, &q, &n);
	reference_run(&c, q, n, &run);
	c.plan_always = true;
	reference_run(&c, q, n, &again);
	good = !run.stuck && !again.stuck && same_outcomes(&run, &again);
	for (size_t r = 0; r < n; r++)
		good = good && in_order(&c, &run.outcome[r]);
	if (!good) {
		reference_print_case(stderr, &c, q, n, &run);
		reference_print_case(stderr, &c, q, n, &again);
		fail_msg("stuck %d, or out of order, or a plan that was not due changed something",
			 run.stuck);
	}
	reference_release(&run);
	reference_release(&again);
	free(q);
}

/*
 * No deadlock, no broken count (reference_run() aborts on one), every request ends where there is
 * no horizon, and a plan() that is not due would change nothing.
 */
static void test_random_cases(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

	const char *seed = getenv("OMNIBUS_SEED"), *cases = getenv("OMNIBUS_CASES");
	int64_t n_cases = cases ? atoll(cases) : CASES;

	(void)state;
	gsl_rng_set(rng, seed ? strtoul(seed, NULL, 10) : 1);
	for (int kind = REF_STATIC; kind <= REF_DISAGGREGATED; kind++)
		for (int64_t i = 0; i < n_cases; i++)
			check_random(rng, (enum ref_kind)kind);
	gsl_rng_free(rng);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
