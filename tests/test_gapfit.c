/* Which gaps a trace has. */
#include "tests/testing.h"
#include "traces/gapfit.h"

static void fit(const char *source, double rate, double cv, struct gapfit *fit)
{
	struct err e;
	struct trace_spec spec = {.source = source, .seed = 1};
	assert_fine(gapfit_trace(&spec, rate, cv, fit, &e), e);
}

/* 20,000 gaps differ from their own law by less than 1.63 / sqrt(20000), once in a hundred more. */
static void gaps_are_told_apart(void **state)
{
	(void)state;
	struct gapfit f;
	fit("synth:gamma,n=20001,rate=3,cv=2", 3, 2, &f);
	assert_i64(f.nearest, ARRIVALS_GAMMA);
	assert_near(f.gamma, 0, 0.0116);
	assert_true(f.weibull > 0.05);
	fit("synth:weibull,n=20001,rate=3,cv=2", 3, 2, &f);
	assert_i64(f.nearest, ARRIVALS_WEIBULL);
	assert_near(f.weibull, 0, 0.0116);
	assert_true(f.gamma > 0.05);
	fit("synth:poisson,n=20001,rate=3", 3, 1, &f); /* both are the exponential */
	assert_near(f.gamma, f.weibull, 1e-6);
	assert_near(f.gamma, 0, 0.0116);
}

/*
 * Two gaps of 1 and 3 s: mean 2, cv 1/2; gamma of shape 4 and scale 1/2, so below x s are P(4, 2x),
 * P(4, y) = 1 - e^-y (1 + y + y^2/2 + y^3/6). At the edges of the bins half of the gaps are below
 * from 2^(240/8) ns = 1.0737 s, where P is 0.1704, to 2^(251/8) ns = 2.785 s, where it is 0.8061.
 */
static void by_hand(void **state)
{
	(void)state;
	struct gapfit f;
	fit(testing_file("two", "arrive_s,prompt_tok,output_tok\n0,1,1\n1,1,1\n4,1,1\n"), 0.5, 0.5,
	    &f);
	assert_near(f.gamma, 0.5 - 0.1704, 1e-4);
}

static void bad_files(void **state)
{
	(void)state;
	struct err e;
	struct gapfit f;
	struct trace_spec spec = {.source = "/no/such/file"};
	assert_refused(gapfit_trace(&spec, 1, 1, &f, &e), e, "/no/such/file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_are_told_apart),
		cmocka_unit_test(by_hand),
		cmocka_unit_test(bad_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
