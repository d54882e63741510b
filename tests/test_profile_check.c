/* What no device can be is refused, with the sizes and both figures. */
#include "calibrate/profile_fit.h"
#include "testing.h"
#include <string.h>

struct made {
	double bytes_s, flops_s, t0_ns; /* of GEMMs */
};

static double gemm_ns(const struct made *d, const struct point *p)
{
	double bytes = 2.0 * (double)(p->n * p->k + p->m * p->k + p->m * p->n);
	double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k;
	double read = bytes / d->bytes_s * 1e9, work = flops / d->flops_s * 1e9;

	return d->t0_ns + (read > work ? read : work);
}

/* GEMMs of that device, as far as 65536 in n, from tok_min tokens on; facts are the H200's. */
static struct profile *profile_of(const struct made *d)
{
	static const int64_t widths[] = {1024, 4096, 8192, 16384, 65536};
	static const struct fit_want want = {.folds = 5};
	struct points points = {.at = NULL};
	struct profile *p = xcalloc(1, sizeof(*p));
	struct err e;

	assert_fine(device_load(&p->device, "h200", &e), e);
	device_release(&p->device);
	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 5; j++)
			for (int64_t m = 1; m <= 4096; m *= 2) {
				struct point at = {.op = OP_GEMM,
						   .bits = 16,
						   .m = m,
						   .n = widths[i],
						   .k = widths[j]};

				at.ns = gemm_ns(d, &at);
				points_add(&points, &at);
			}
	assert_fine(profile_fit(p, &points, &want, &e), e);
	points_release(&points);
	return p;
}

static void test_a_device_that_can_be(void **state)
{
	const struct made d = {.bytes_s = 4e12, .flops_s = 790e12, .t0_ns = 4000};
	struct profile *p = profile_of(&d);
	struct err e;

	(void)state;
	assert_fine(profile_check(p, &e), e);
	profile_free(p);
}

/* Beyond the data sheet's 989 TF/s. */
static void test_arithmetic_too_fast(void **state)
{
	const struct made d = {.bytes_s = 4e12, .flops_s = 1500e12, .t0_ns = 4000};
	struct profile *p = profile_of(&d);
	struct err e;

	(void)state;
	assert_refused(profile_check(p, &e), e, "where h200 takes");
	assert_non_null(strstr(e.text, "gemm of 16 bits, m "));
	profile_free(p);
}

/* Beyond its 4.8 TB/s: first seen where the weights are 512 MiB. */
static void test_memory_too_fast(void **state)
{
	const struct made d = {.bytes_s = 6e12, .flops_s = 790e12, .t0_ns = 4000};
	struct profile *p = profile_of(&d);
	struct err e;

	(void)state;
	assert_refused(profile_check(p, &e), e, "these times cannot be of this device");
	profile_free(p);
}

static void add_fit(struct profile *p, const struct points *points)
{
	static const struct fit_want want = {.folds = 5};
	struct err e;

	assert_fine(profile_fit(p, points, &want, &e), e);
}

/*
 * Weights that a cache holds may be read so fast, and each of these GEMMs is one; but the decode
 * step of a model that was made from such times is refused.
 */
static void test_decode_step_under_its_floor(void **state)
{
	static const int64_t shapes[][2] = {
		{6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}, {2048, 2048}};
	const struct made cached = {.bytes_s = 12e12, .flops_s = 790e12, .t0_ns = 1000};
	struct points points = {.at = NULL};
	struct profile *p = xcalloc(1, sizeof(*p));
	struct err e;

	(void)state;
	assert_fine(device_load(&p->device, "h200", &e), e);
	device_release(&p->device);
	for (size_t i = 0; i < 5; i++)
		for (int64_t m = 1; m <= 4096; m *= 2) {
			struct point at = {.op = OP_GEMM,
					   .bits = 16,
					   .m = m,
					   .n = shapes[i][0],
					   .k = shapes[i][1]};

			at.ns = gemm_ns(&cached, &at);
			points_add(&points, &at);
		}
	add_fit(p, &points);
	assert_refused(profile_check(p, &e), e,
		       "a decode step of llama-3-8b: its GEMMs are forecast");
	assert_non_null(strstr(e.text, "3.127 ms at the 4.8 TB/s of h200"));
	points_release(&points);
	profile_free(p);
}

/* Copies that take less the larger they are. */
static void test_times_that_fall(void **state)
{
	char text[2048];
	struct err e;

	(void)state;
	snprintf(text, sizeof(text),
		 "{\"omnibus_profile\": 1, \"device\": {\"memory_bytes\": 1, \"peak_bytes_s\": "
		 "1e12, "
		 "\"peak_flops\": 1e14, \"pcie_bytes_s\": 1e9}, "
		 "\"rest\": {\"layer_ns\": [0, 0], \"layer_tok_ns\": [0, 0], \"points\": 0, "
		 "\"sum_median\": 0, \"sum_p90\": 0, \"held_out\": {\"folds\": 0, \"median\": 0, "
		 "\"p90\": 0, \"max\": 0}}, \"steps\": [], \"fits\": [{\"op\": \"copy_device\", "
		 "\"bits\": 16, \"form\": \"affine\", \"shape\": {}, \"coefs\": {\"t0_ns\": [1000, "
		 "0], "
		 "\"bytes_per_ns\": [100, 0]}, \"ranges\": {\"bytes\": [4096, 16777216]}, "
		 "\"points\": "
		 "20, \"hash\": \"0123456789abcdef\", \"held_out\": {\"folds\": 5, \"median\": 0, "
		 "\"p90\": 0, \"max\": 0}, \"grid\": {\"axes\": [{\"size\": \"bytes\", \"log2\": "
		 "[12, 14, 16]}], \"ln\": [0, 0, -0.8]}}]}");
	struct profile *p = profile_parse(text, strlen(text), "falls", &e);
	if (!p)
		fail_msg("%s", e.text);
	assert_refused(profile_check(p, &e), e, "times fall with size: ");
	assert_non_null(strstr(e.text, "copy_device of 16 bits, bytes 32768"));
	profile_free(p);
}

static void test_too_few_points(void **state)
{
	const struct made d = {.bytes_s = 4e12, .flops_s = 790e12, .t0_ns = 4000};
	struct profile *p = profile_of(&d);
	struct err e;

	(void)state;
	p->fit[0].points = 7;
	assert_refused(profile_check(p, &e), e, "gemm of 16 bits has 7 points: ");
	profile_free(p);
}

/* OPT-13B has 25.7 GB of weights: 5.36 ms at 4.8 TB/s. */
static void test_whole_steps_under_the_floor(void **state)
{
	struct profile p = {.n_fits = 0};
	struct whole_steps s = {.model = "opt-13b", .tp = 1, .mixed_share = 1};
	struct err e;

	(void)state;
	assert_fine(device_load(&p.device, "h200", &e), e);
	device_release(&p.device);
	for (int i = 0; i < 3; i++)
		s.small_ns[i] = s.large_ns[i] = s.prefill_ns[i] = 1;
	s.small_ns[0] = s.large_ns[0] = 5e6;
	s.prefill_ns[1] = 30e3;
	profile_add_steps(&p, &s);
	assert_refused(profile_check(&p, &e), e,
		       "a decode step of opt-13b, tp 1, is forecast in 5 ms");
	p.steps[0].large_ns[0] = 5.5e6;
	assert_fine(profile_check(&p, &e), e);
	/* of a model that is not known nothing can be said */
	p.steps[0].large_ns[0] = 1;
	snprintf(p.steps[0].model, sizeof(p.steps[0].model), "mine");
	p.steps[0].small_ns[0] = 1;
	assert_fine(profile_check(&p, &e), e);
	free(p.steps);
}

/*
 * Two operations for each of the 12.59e9 parameters of OPT-13B's layers at 989 TF/s: 25.45 us a
 * token, half of that on two devices.
 */
static void test_prompts_under_the_floor(void **state)
{
	struct profile p = {.n_fits = 0};
	struct whole_steps s = {.model = "opt-13b",
				.tp = 1,
				.small_ns = {6e6},
				.large_ns = {6e6},
				.prefill_ns = {1e-300}};
	struct err e;

	(void)state;
	assert_fine(device_load(&p.device, "h200", &e), e);
	device_release(&p.device);
	profile_add_steps(&p, &s);
	struct whole_steps *at = &p.steps[0];

	assert_refused(profile_check(&p, &e), e,
		       "a prompt of 1 tokens of opt-13b, tp 1, is forecast in 1e-306 ms, where its "
		       "arithmetic takes 0.02545 ms at the 989 TF/s of h200");
	at->prefill_ns[0] = 1e6; /* enough for 39 tokens */
	assert_refused(profile_check(&p, &e), e, "a prompt of 64 tokens of opt-13b, tp 1, ");
	at->prompt_tok = (struct range){.name = "prompt_tok", .min = 1, .max = 32};
	assert_fine(profile_check(&p, &e), e);
	at->prompt_tok.max = 4096;
	assert_refused(profile_check(&p, &e), e, "a prompt of 64 tokens of opt-13b, tp 1, ");
	at->prefill_ns[1] = 25.3e3; /* a hundredth below is within what a sheet says */
	assert_fine(profile_check(&p, &e), e);
	at->prefill_ns[1] = 13e3;
	assert_refused(profile_check(&p, &e), e, "a prompt of 128 tokens of opt-13b, tp 1, ");
	at->tp = 2;
	assert_fine(profile_check(&p, &e), e);
	free(p.steps);
}

static struct profile *all_reduce(const char *t0_ns, const char *bytes_per_ns)
{
	char text[2048];
	struct err e;

	snprintf(text, sizeof(text),
		 "{\"omnibus_profile\": 1, \"device\": {\"memory_bytes\": 1, \"peak_bytes_s\": "
		 "1e12, \"peak_flops\": 1e14, \"pcie_bytes_s\": 1e9, \"nvlink_bytes_s\": 1e11}, "
		 "\"rest\": {\"layer_ns\": [0, 0], \"layer_tok_ns\": [0, 0], \"points\": 0, "
		 "\"sum_median\": 0, \"sum_p90\": 0, \"held_out\": {\"folds\": 0, \"median\": 0, "
		 "\"p90\": 0, \"max\": 0}}, \"steps\": [], \"fits\": [{\"op\": \"allreduce\", "
		 "\"bits\": 16, \"form\": \"ring\", \"shape\": {}, \"coefs\": {\"t0_ns\": [%s, 0], "
		 "\"bytes_per_ns\": [%s, 0]}, \"ranges\": {\"bytes\": [4096, 16777216], "
		 "\"devices\": [2, 2]}, \"points\": 20, \"hash\": \"0123456789abcdef\", "
		 "\"held_out\": {\"folds\": 5, \"median\": 0, \"p90\": 0, \"max\": 0}}]}",
		 t0_ns, bytes_per_ns);
	struct profile *p = profile_parse(text, strlen(text), "link", &e);

	assert_fine(p ? 0 : -1, e);
	return p;
}

/* A link of 100 bytes a ns. */
static void test_all_reduces(void **state)
{
	static const struct {
		const char *t0_ns, *bytes_per_ns, *sentence;
	} cases[] = {
		{"1000", "90", NULL},
		{"1000", "100", NULL},
		{"1e-300", "1e300",
		 "allreduce of 16 bits, devices 2, bytes 4096: forecast in 4.097e-297 ns: no "
		 "operation "
		 "takes less than 1 ns"},
		{"1e-300", "1e-300", "no operation takes less than 1 ns or more than 126 years"},
		{"1e19", "90", "forecast in 1e+19 ns: no operation takes less than 1 ns or more"},
		{"1000", "200",
		 "allreduce of 16 bits, devices 2, bytes 262144: forecast in 2.31072 us, where "
		 "link "
		 "takes 2.62144 us at its peak"},
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profile *p = all_reduce(cases[i].t0_ns, cases[i].bytes_per_ns);
		int result = profile_check(p, &e);

		if (cases[i].sentence)
			assert_refused(result, e, cases[i].sentence);
		else
			assert_fine(result, e);
		profile_free(p);
	}
}

/* 40 ms up to 64 sequences, 30 ms above. */
static void test_whole_steps_that_fall(void **state)
{
	struct profile p = {.n_fits = 0};
	struct whole_steps s = {.model = "mine",
				.tp = 2,
				.mixed_share = 1,
				.small_max = 64,
				.small_ns = {40e6, 1, 1},
				.large_ns = {30e6, 1, 1}};
	struct err e;

	(void)state;
	profile_add_steps(&p, &s);
	assert_refused(profile_check(&p, &e), e,
		       "30.07 ms for a decode step of mine, tp 2, of 128 sequences, 40.03 ms for");
	p.steps[0].large_ns[0] = 38e6;
	assert_fine(profile_check(&p, &e), e);
	free(p.steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_device_that_can_be),
		cmocka_unit_test(test_arithmetic_too_fast),
		cmocka_unit_test(test_memory_too_fast),
		cmocka_unit_test(test_decode_step_under_its_floor),
		cmocka_unit_test(test_times_that_fall),
		cmocka_unit_test(test_too_few_points),
		cmocka_unit_test(test_whole_steps_under_the_floor),
		cmocka_unit_test(test_prompts_under_the_floor),
		cmocka_unit_test(test_all_reduces),
		cmocka_unit_test(test_whole_steps_that_fall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
