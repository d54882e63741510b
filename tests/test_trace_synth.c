/* Generators: named streams, distributions, and the fitted workload against the real trace. */
#include "sim/rng.h"
#include "tests/rows.h"
#include "traces/lengths.h"
#include "traces/measure.h"
#include "traces/quantiles.h"
#include <gsl/gsl_randist.h>
#include <math.h>

/* The trace of `source`, measured; the test fails where it cannot be read. */
static void measure(const char *source, struct measure *m)
{
	struct err e;
	struct trace_spec spec = {.source = source};
	assert_fine(measure_trace(&spec, 16, 0, m, &e), e);
}

static void assert_share(double got, double want, double part)
{
	assert_near(got, want, fabs(want) * part);
}

/* The promise of synth:azure-conv: 5% on everything, at a million rows. */
static void azure_conv_is_like_the_real_trace(void **state)
{
	(void)state;
	shared_or_skip(path, "traces/AzureLLMInferenceTrace_conv.csv");
	struct measure real, made;
	measure(path, &real);
	measure("synth:azure-conv,n=1000000,seed=1", &made);
	assert_share(made.prompt_mean, real.prompt_mean, 0.05);
	assert_share(made.prompt_p50, real.prompt_p50, 0.05);
	assert_share(made.prompt_p90, real.prompt_p90, 0.05);
	assert_share(made.prompt_p99, real.prompt_p99, 0.05);
	assert_share(made.output_mean, real.output_mean, 0.05);
	assert_share(made.output_p50, real.output_p50, 0.05);
	assert_share(made.output_p90, real.output_p90, 0.05);
	assert_share(made.output_p99, real.output_p99, 0.05);
	assert_share(made.correlation, real.correlation, 0.05);
	assert_share(made.gap_cv, real.gap_cv, 0.05);
	assert_share(made.rate_rps, real.rate_rps, 0.05);
	measure_release(&real);
	measure_release(&made);
}

/* Gaps: mean and coefficient of variation as asked for. 4 sd of the mean of n gaps: 4 cv/sqrt(n).
 */
static void arrivals(void **state)
{
	(void)state;
	static const struct {
		const char *source;
		double rate, cv, cv_part;
	} cases[] = {
		{"synth:poisson,n=200000,rate=20", 20, 1, 0.02},
		{"synth:gamma,n=200000,rate=0.5,cv=0.25", 0.5, 0.25, 0.02},
		{"synth:gamma,n=200000,rate=5,cv=3", 5, 3, 0.05},
		{"synth:gamma,n=200000,rate=5", 5, 2, 0.04}, /* its default */
		{"synth:constant,n=200000,rate=3,arrivals=gamma,cv=1", 3, 1, 0.02},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct measure m;
		measure(cases[i].source, &m);
		assert_share(m.rate_rps, cases[i].rate, 4 * cases[i].cv / sqrt(200000));
		assert_share(m.gap_cv, cases[i].cv, cases[i].cv_part);
		measure_release(&m);
	}
}

static void constant_gaps_do_not_drift(void **state)
{
	(void)state;
	struct err e;
	struct rows r;
	struct trace_spec spec = {.source = "synth:constant,rate=3,n=31"};
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_i64(r.row[1].arrive_ns, 333333333);
	assert_i64(r.row[2].arrive_ns, 666666667);
	assert_i64(r.row[30].arrive_ns, 10000000000);
	assert_i64(r.row[30].prompt_tok, 512);
	assert_i64(r.row[30].output_tok, 128);
	assert_string_equal(r.format, "synth:constant");
	spec.source = "synth:poisson,rate=inf,n=5,prompt=3,output=4";
	assert_fine(read_rows(&spec, &r, &e), e);
	assert_i64(r.counts.last_ns, 0);
	assert_i64(r.row[4].prompt_tok, 3);
	assert_i64(r.row[4].output_tok, 4);
	assert_i64(r.row[4].line, 0);
}

/*
 * Lognormal: from mean and sd, or median and 90th percentile. 200,000 rows; 1% is more than 4
 * standard errors of each.
 */
static void lognormal_lengths(void **state)
{
	(void)state;
	struct measure m;
	measure("synth:poisson,n=200000,prompt=1000,prompt_sd=500,output=100,output_p90=400", &m);
	assert_share(m.prompt_mean, 1000, 0.01);
	/* s2 = ln(1 + 0.25), median = 1000 / sqrt(1.25), p90 = median exp(1.2816 sqrt(s2)) */
	assert_share(m.prompt_p50, 894.43, 0.01);
	assert_share(m.prompt_p90, 1639.2, 0.01);
	assert_share(m.output_p50, 100, 0.011); /* and a whole number */
	assert_share(m.output_p90, 400, 0.015);
	measure_release(&m);
	measure("synth:poisson,n=10000,prompt=1000,prompt_sd=5000,prompt_max=2000", &m);
	assert_i64(m.prompt_max, 2000);
	assert_i64(m.output_max, 128);
	measure_release(&m);
}

/* Sum of the first n of r^-exponent, weighted by (first + r - 1)^power. */
static double zipf_sum(int first, int n, double exponent, int power)
{
	double sum = 0;
	for (int r = 1; r <= n; r++)
		sum += pow(r, -exponent) * pow(first + r - 1, power);
	return sum;
}

/*
 * Uniform: mean (lo + hi) / 2, variance ((hi - lo + 1)^2 - 1) / 12, every length alike. Zipf: by
 * its sums. 200,000 rows, 4 standard errors.
 */
static void ranges_of_lengths(void **state)
{
	(void)state;
	enum { N = 200000 };
	struct measure m;
	measure("synth:poisson,n=200000,prompt_lo=820,prompt_hi=1024,output_lo=1,output_hi=4", &m);
	assert_near(m.prompt_mean, 922, 4 * sqrt((205 * 205 - 1) / 12.0 / N));
	assert_i64(tally_at(&m.prompts, 0), 820);
	assert_i64(m.prompt_max, 1024);
	assert_i64(m.outputs.distinct, 4);
	for (size_t i = 0; i < 4; i++)
		assert_near(m.outputs.entries[i].count, N / 4, 4 * sqrt(N * 0.25 * 0.75));
	measure_release(&m);
	measure("synth:poisson,n=200000,prompt_lo=10,prompt_hi=1009,prompt_zipf=0.8", &m);
	double sum = zipf_sum(10, 1000, 0.8, 0), mean = zipf_sum(10, 1000, 0.8, 1) / sum;
	double variance = zipf_sum(10, 1000, 0.8, 2) / sum - mean * mean;
	assert_near(m.prompt_mean, mean, 4 * sqrt(variance / N));
	assert_i64(m.prompts.entries[0].value, 10);
	assert_i64(m.prompt_max, 1009);
	for (int r = 1; r <= 8; r++) {
		double share = pow(r, -0.8) / sum;
		assert_near(m.prompts.entries[r - 1].count, N * share,
			    4 * sqrt(N * share) + 0.005 * N * share); /* cells of the table */
	}
	measure_release(&m);
}

/* Both from one length, as Vidur splits it: 1000 tokens by 4 are 800 and 200. */
static void one_length_is_split(void **state)
{
	(void)state;
	struct measure m;
	measure("synth:poisson,prompt=1000,split=4", &m);
	assert_near(m.prompt_mean, 800, 0);
	assert_near(m.output_mean, 200, 0);
	measure_release(&m);
	measure("synth:poisson,prompt_lo=1,prompt_hi=3,split=1000000", &m);
	assert_near(m.output_mean, 1, 0); /* at least one each */
	assert_i64(m.prompt_max, 2);
	measure_release(&m);
}

static void arrivals_in_slots(void **state)
{
	(void)state;
	struct err e;
	struct rows free, slots;
	struct trace_spec spec = {.source = "synth:poisson,n=60,rate=0.7"};
	assert_fine(read_rows(&spec, &free, &e), e);
	spec.source = "synth:poisson,n=60,rate=0.7,slot=2.5";
	assert_fine(read_rows(&spec, &slots, &e), e);
	for (int i = 0; i < 60; i++)
		assert_i64(slots.row[i].arrive_ns, free.row[i].arrive_ns / 2500000000 * 2500000000);
}

/* Spearman's correlation as asked for; 0.01 is more than 4 standard errors. */
static void correlation(void **state)
{
	(void)state;
	static const double want[] = {-1, -0.6, 0, 0.3, 0.9, 1};
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		char source[128];
		struct measure m;
		snprintf(source, sizeof(source),
			 "synth:poisson,n=200000,prompt=20000,prompt_sd=9000,output=20000,"
			 "output_p90=90000,corr=%g",
			 want[i]);
		measure(source, &m);
		assert_near(m.correlation, want[i], 0.01);
		measure_release(&m);
	}
}

static void seeds_and_streams(void **state)
{
	(void)state;
	struct err e;
	struct rows a, b;
	struct trace_spec spec = {.source = "synth:azure-conv,n=40", .seed = 7};
	assert_fine(read_rows(&spec, &a, &e), e);
	assert_fine(read_rows(&spec, &b, &e), e);
	assert_memory_equal(&a, &b, sizeof(a)); /* the same again */
	spec.seed = 8;
	assert_fine(read_rows(&spec, &b, &e), e);
	assert_true(a.counts.hash != b.counts.hash);
	spec.source = "synth:azure-conv,n=40,seed=7"; /* wins over the run's */
	assert_fine(read_rows(&spec, &b, &e), e);
	assert_true(a.counts.hash == b.counts.hash);
	/* Other arrivals shift no length, and a fixed prompt shifts no output. */
	spec.source = "synth:azure-conv,n=40,seed=7,arrivals=poisson,rate=1,prompt=10";
	assert_fine(read_rows(&spec, &b, &e), e);
	assert_true(a.row[39].arrive_ns != b.row[39].arrive_ns);
	for (int i = 0; i < 40; i++)
		assert_i64(b.row[i].output_tok, a.row[i].output_tok);
}

static void streams_differ_by_name_and_seed(void **state)
{
	(void)state;
	static const struct {
		uint64_t seed;
		const char *name;
	} streams[] = {{0, "arrival"},
		       {0, "length"},
		       {1, "arrival"},
		       {1, ""},
		       {UINT64_C(1) << 40, "arrival"}};
	enum { N = sizeof(streams) / sizeof(streams[0]) };
	unsigned long first[N];
	for (int i = 0; i < N; i++) {
		gsl_rng *r = rng_new(streams[i].seed, streams[i].name);
		gsl_rng *again = rng_new(streams[i].seed, streams[i].name);
		assert_string_equal(gsl_rng_name(r), "taus2");
		first[i] = gsl_rng_get(r);
		assert_true(gsl_rng_get(again) == first[i]);
		for (int j = 0; j < i; j++)
			assert_true(first[j] != first[i]);
		gsl_rng_free(r);
		gsl_rng_free(again);
	}
}

static void tables_of_lengths(void **state)
{
	(void)state;
	static const struct knot knots[] = {{0, 10}, {0.5, 20}, {1, 1000}};
	struct lengths l;
	lengths_knots(&l, knots, 3, 500);
	assert_i64(lengths_at(&l, 0), 20);
	assert_i64(lengths_at(&l, -100), 10);
	assert_i64(lengths_at(&l, 100), 500);
	assert_i64(lengths_at(&l, -0.6744897501960817), 15); /* p = 0.25 */
	assert_i64(lengths_at(&l, 0.2533471031357997), 216); /* p = 0.6 */
	assert_i64(lengths_at(&l, (double)NAN), 10);
	lengths_lognormal(&l, log(100), 0.5, 1000000);
	assert_i64(lengths_at(&l, 1), 165); /* 100 exp(0.5) = 164.87 */
	lengths_fixed(&l, 0, 10);
	assert_i64(lengths_at(&l, 0), 1);
}

/* What trace fit writes is read back, and gives the lengths it was made from. */
static void quantiles_from_a_file(void **state)
{
	(void)state;
	struct measure made, again;
	char source[512];
	measure("synth:azure-conv,n=50000", &made);
	const char *path = testing_path("q.csv");
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	quantiles_write(f, &made.prompts, &made.outputs);
	fclose(f);
	snprintf(source, sizeof(source), "synth:gamma,n=50000,corr=0.0728,lengths=%s", path);
	measure(source, &again);
	assert_share(again.prompt_mean, made.prompt_mean, 0.02);
	assert_share(again.prompt_p50, made.prompt_p50, 0.02);
	assert_share(again.prompt_p99, made.prompt_p99, 0.02);
	assert_share(again.output_mean, made.output_mean, 0.02);
	assert_share(again.output_p90, made.output_p90, 0.02);
	measure_release(&made);
	measure_release(&again);
}

static void bad_quantile_files(void **state)
{
	(void)state;
	static const struct {
		const char *text, *part;
	} cases[] = {
		{"", "q:1: expected the header p,prompt_tok,output_tok"},
		{"p,a,b\n", "q:1: expected the header"},
		{"p,prompt_tok,output_tok\n",
		 "q: ends at line 1: expected probabilities that rise"},
		{"p,prompt_tok,output_tok\n0,1,1\n0.5,2,2\n", "q: ends at line 3"},
		{"p,prompt_tok,output_tok\n0.1,1,1\n1,2,2\n", "q:2: column 1 (p): expected prob"},
		{"p,prompt_tok,output_tok\n0,1,1\n0,2,2\n", "q:3: column 1 (p): expected prob"},
		{"p,prompt_tok,output_tok\n0,5,1\n1,2,2\n", "q:3: column 1 (p): expected lengths"},
		{"p,prompt_tok,output_tok\n0,1,1\n1.5,2,2\n", "'1.5' is not a probability"},
		{"p,prompt_tok,output_tok\n0,1,-1\n",
		 "q:2: column 3 (output_tok): '-1' is not a number"},
		{"p,prompt_tok,output_tok\n0,1\n", "q:2: column 3 (output_tok): is missing"},
		{"p,prompt_tok,output_tok\n0,1,1,1\n", "is followed by more columns"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e;
		struct quantiles q;
		assert_refused(quantiles_read(testing_file("q", cases[i].text), &q, &e), e,
			       cases[i].part);
	}
}

static void bad_generators(void **state)
{
	(void)state;
	static const struct {
		const char *source, *part;
	} cases[] = {
		{"synth:", "azure-conv, azure-code, sharegpt"},
		{"synth:azure-con", "'azure-conv'"},
		{"synth:poisson,n=0", "n"},
		{"synth:poisson,n=1.5", "n"},
		{"synth:poisson,rate=0", "rate (requests a second, or inf)"},
		{"synth:poisson,rate=-1", "rate (requests a second, or inf)"},
		{"synth:poisson,rate=nan", "rate (requests a second, or inf)"},
		{"synth:poisson,rate=", "rate"},
		{"synth:poisson,promt=5", "'prompt'"},
		{"synth:poisson,prompt", "name=value"},
		{"synth:poisson,cv=0.001", "cv=0.001: expected 0.01 to 100"},
		{"synth:poisson,cv=-1", "cv"},
		{"synth:poisson,corr=1.5", "corr"},
		{"synth:poisson,arrivals=uniform", "poisson, gamma, weibull, constant"},
		{"synth:poisson,prompt=10,prompt_sd=5,prompt_p90=20", "cannot both be given"},
		{"synth:poisson,output_sd=5", "output_sd and output_p90 need output"},
		{"synth:poisson,prompt=10,prompt_p90=5",
		 "prompt_p90=5 is below the median, prompt=10"},
		{"synth:poisson,prompt_lo=5", "prompt_lo=5 and prompt_hi=0: expected both"},
		{"synth:poisson,output_lo=5,output_hi=4", "output_lo=5 and output_hi=4: expected"},
		{"synth:poisson,prompt_lo=1,prompt_hi=4,prompt=3",
		 "prompt and prompt_lo, prompt_hi cannot both be given"},
		{"synth:poisson,prompt_zipf=1", "prompt_zipf needs prompt_lo and prompt_hi"},
		{"synth:poisson,prompt_lo=1,prompt_hi=1000001,prompt_zipf=1",
		 "prompt_zipf: at most 1000000 different lengths"},
		{"synth:poisson,burst=0.5", "burst"},
		{"synth:bursts,burst_on=60", "burst_on=60 must be less than burst_period=60"},
		{"synth:bursts,rate=1e-5", "the rate changes every 10 s, which is too short"},
		{"synth:diurnal,swing=1.5", "swing"},
		{"synth:diurnal,day=1,rate=1e-6", "too short for a mean gap of 1e+06 s"},
		{"synth:servegen-r1,swing=0.5", "swing: its clients have days of their own"},
		{"synth:poisson,split=-1", "split"},
		{"synth:poisson,slot=-1", "slot"},
		{"synth:poisson,lengths=/no/such/file", "/no/such/file"},
		{"synth:poisson,cv=2", "cv needs arrivals=gamma or arrivals=weibull"},
		{"synth:constant,cv=2", "cv needs arrivals=gamma or arrivals=weibull"},
		{"synth:gamma,rate=inf", "cv needs arrivals=gamma or arrivals=weibull, and a fin"},
		{"synth:poisson,burst_on=5", "burst_on needs burst above 1"},
		{"synth:poisson,burst_period=500", "burst_period needs burst above 1"},
		{"synth:poisson,burst=2,rate=inf", "burst needs a finite rate"},
		{"synth:bursts,rate=inf", "burst needs a finite rate"},
		{"synth:diurnal,rate=inf", "swing needs a finite rate"},
		{"synth:azure-code,slot=2,rate=inf", "slot needs a finite rate"},
		{"synth:poisson,day=100", "day needs swing above 0"},
		{"synth:poisson,split=4,output=100", "output needs split=0"},
		{"synth:poisson,split=4,output_max=100", "output_max needs split=0"},
		{"synth:poisson,split=4,corr=1", "corr needs split=0"},
		{"synth:poisson,prefixes=3", "prefixes needs prefix_tok above 0"},
		{"synth:poisson,prefix_tok=32,prefix_zipf=2", "prefix_zipf needs prefix_tok above"},
		{"synth:poisson,think=3", "think needs turns above 1"},
		{"synth:poisson,follow=0.5,think=3", "think needs turns above 1"},
		{"synth:poisson,token_time=3", "token_time needs turns above 1 or follow"},
		{"synth:poisson,turns=2,open=9", "open needs follow above 0"},
		{"synth:poisson,hash_block=64", "hash_block needs prefix_tok, turns or follow"},
		{"synth:poisson,hash_rule=ceil", "hash_rule needs prefix_tok, turns or follow"},
		/* 2^24 ids a row at most */
		{"synth:poisson,prompt=1000000000,prompt_max=1000000000,prefix_tok=1,hash_block=1",
		 "up to 1000000000 hash ids of hash_block=1: at most 16777216"},
		{"synth:poisson,turns=2,prompt_max=268435472",
		 "up to 16777217 hash ids of hash_block=16: at most 16777216"},
		{"synth:constant,rate=1e-9,n=100", "row 8 would arrive after more than 200 years"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e;
		struct rows r;
		struct trace_spec spec = {.source = cases[i].source};
		assert_refused(read_rows(&spec, &r, &e), e, cases[i].part);
	}
}

/* What a name stands for goes with what it is changed to; and zeros say nothing. */
static void parameters_that_need_nothing(void **state)
{
	(void)state;
	static const char *const sources[] = {
		"synth:azure-code,rate=inf,n=2",
		"synth:mooncake-conv,follow=0,prefix_tok=0,n=2",
		"synth:poisson,cv=0,rate=inf,burst=1,swing=0,slot=0,n=2",
		"synth:poisson,split=0,output=5,n=2",
		"synth:servegen-r1,day=3600,n=2",
		"synth:poisson,follow=0.5,prompt_max=1000000000,hash_block=1,n=2",
		"synth:poisson,turns=2,prompt_max=268435456,n=2",
	};
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		struct err e;
		struct rows r;
		struct trace_spec spec = {.source = sources[i]};
		assert_fine(read_rows(&spec, &r, &e), e);
	}
}

static void selection_and_rate_of_a_generator(void **state)
{
	(void)state;
	struct err e;
	struct rows all, part;
	struct trace_spec spec = {.source = "synth:azure-conv,n=40"};
	assert_fine(read_rows(&spec, &all, &e), e);
	spec.skip = 10;
	spec.limit = 20;
	assert_fine(read_rows(&spec, &part, &e), e);
	assert_i64(part.counts.rows, 20);
	assert_i64(part.row[0].prompt_tok, all.row[10].prompt_tok);
	assert_i64(part.counts.last_ns, all.row[29].arrive_ns - all.row[10].arrive_ns);
	spec.rate_rps = 100;
	assert_fine(read_rows(&spec, &part, &e), e);
	assert_near(part.counts.last_ns, 190000000, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(azure_conv_is_like_the_real_trace),
		cmocka_unit_test(arrivals),
		cmocka_unit_test(constant_gaps_do_not_drift),
		cmocka_unit_test(lognormal_lengths),
		cmocka_unit_test(ranges_of_lengths),
		cmocka_unit_test(one_length_is_split),
		cmocka_unit_test(arrivals_in_slots),
		cmocka_unit_test(correlation),
		cmocka_unit_test(seeds_and_streams),
		cmocka_unit_test(streams_differ_by_name_and_seed),
		cmocka_unit_test(tables_of_lengths),
		cmocka_unit_test(quantiles_from_a_file),
		cmocka_unit_test(bad_quantile_files),
		cmocka_unit_test(bad_generators),
		cmocka_unit_test(parameters_that_need_nothing),
		cmocka_unit_test(selection_and_rate_of_a_generator),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
