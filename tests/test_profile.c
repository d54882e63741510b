/* Profiles: saved and read again they forecast the same bits; what is wrong in a file is a
 * sentence. */
#include "calibrate/profile_fit.h"
#include "testing.h"
#include <math.h>
#include <string.h>

/* A device whose GEMM takes 4 us + max(bytes / 3 TB/s, flops / 700 TF/s), and whose decode
 * attention 5 us + bytes / 3 TB/s. */
static double gemm_ns(int64_t m, int64_t n, int64_t k)
{
	double bytes = 2.0 * (double)(n * k + m * k + m * n), flops = 2.0 * (double)(m * n * k);

	return 4000 + (bytes / 3000 > flops / 700000 ? bytes / 3000 : flops / 700000);
}

static void add_gemms(struct points *list)
{
	static const int64_t widths[] = {1024, 2048, 4096, 8192, 12288};

	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 5; j++)
			for (int64_t m = 1; m <= 8192; m *= 2) {
				struct point p = {.op = OP_GEMM,
						  .bits = 16,
						  .m = m,
						  .n = widths[i],
						  .k = widths[j]};

				p.ns = gemm_ns(p.m, p.n, p.k);
				points_add(list, &p);
			}
}

static void add_decodes(struct points *list)
{
	for (int64_t b = 1; b <= 256; b *= 2)
		for (int64_t len = 16; len <= 8192; len *= 2) {
			struct point p = {.op = OP_DECODE,
					  .bits = 16,
					  .heads = 32,
					  .kv_heads = 8,
					  .head_dim = 128,
					  .decode_seq = b,
					  .decode_ctx = b * len};

			p.ns = 5000 + 4096.0 * (double)p.decode_ctx / 3000;
			points_add(list, &p);
		}
}

static struct profile *sample(void)
{
	static const struct fit_want want = {.folds = 5};
	struct points points = {.at = NULL};
	struct profile *p = xcalloc(1, sizeof(*p));
	struct err e;

	assert_fine(device_load(&p->device, "h200", &e), e);
	device_release(&p->device);
	add_gemms(&points);
	add_decodes(&points);
	assert_fine(profile_fit(p, &points, &want, &e), e);
	points_release(&points);
	const struct whole_steps steps = {.model = "opt-13b",
					  .tp = 1,
					  .prefill_ns = {1e7 / 3, 2e5 / 3, 1e-7 / 3},
					  .small_max = 94,
					  .small_ns = {19.9347e6, 626.936, 38507},
					  .large_ns = {7.16619e6, 579.8, 158311},
					  .mixed_share = 0.1};
	profile_add_steps(p, &steps);
	snprintf(p->source, sizeof(p->source), "a formula, \"quoted\"");
	snprintf(p->date, sizeof(p->date), "2026-01-31");
	snprintf(p->server, sizeof(p->server), "none");
	p->repeat_spread = 4.0 / 3;
	p->rest = (struct rest){.layer_ns = 12.5,
				.layer_tok_ns = 1.0 / 7,
				.points = 9,
				.sum_median = -0.01,
				.tail = 1.0 / 3};
	return p;
}

static struct profile *load(const char *path)
{
	struct err e;
	struct profile *p = profile_load(path, &e);

	if (!p)
		fail_msg("%s", e.text);
	return p;
}

static void same_bits(double a, double b)
{
	assert_memory_equal(&a, &b, sizeof(a));
}

static void same_forecasts(const struct profile *a, const struct profile *b)
{
	for (int64_t m = 1; m <= 20000; m = m * 3 / 2 + 1) {
		struct point at = {.op = OP_GEMM, .bits = 16, .m = m, .n = 6144, .k = 3 * m};
		enum profile_where here, there;

		same_bits(profile_ns(a, &at, &here), profile_ns(b, &at, &there));
		assert_i64(here, there);
		at = (struct point){.op = OP_DECODE,
				    .bits = 16,
				    .heads = 32,
				    .kv_heads = 8,
				    .head_dim = 128,
				    .decode_seq = m,
				    .decode_ctx = 77 * m};
		same_bits(profile_ns(a, &at, &here), profile_ns(b, &at, &there));
		assert_i64(here, there);
	}
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = xcalloc(1, 1 << 20);

	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	return text;
}

static void test_saved_and_read_again(void **state)
{
	struct profile *p = sample();
	const char *path = testing_path("mine.json"), *again = testing_path("again.json");
	struct err e;

	(void)state;
	assert_fine(profile_save(p, path, &e), e);
	struct profile *q = load(path);
	same_forecasts(p, q);
	assert_string_equal(q->device.name, "h200");
	assert_i64(q->device.memory_bytes, p->device.memory_bytes);
	assert_string_equal(q->source, p->source);
	assert_string_equal(q->date, "2026-01-31");
	assert_i64(q->n_steps, 1);
	same_bits(q->steps[0].prefill_ns[2], 1e-7 / 3);
	same_bits(q->steps[0].mixed_share, 0.1);
	same_bits(q->rest.layer_tok_ns, 1.0 / 7);
	same_bits(q->rest.layer_ns, 12.5);
	same_bits(q->repeat_spread, 4.0 / 3);
	same_bits(q->rest.tail, 1.0 / 3);
	assert_string_equal(q->fit[0].hash, p->fit[0].hash);
	assert_i64(q->fit[0].points, 350);
	assert_fine(profile_save(q, again, &e), e);
	char *first = read_file(path), *second = read_file(again);
	assert_string_equal(first, second);
	free(first);
	free(second);
	profile_free(p);
	profile_free(q);
}

/* Of a formula the fit is the formula: within half a percent everywhere. A third of it more in the
 * mean. */
static void test_forecasts(void **state)
{
	const double mean = 4.0 / 3;
	struct profile *p = sample();
	const struct point inside = {.op = OP_GEMM, .bits = 16, .m = 300, .n = 6144, .k = 4096};
	struct point outside = inside, absent = inside;
	enum profile_where where;

	(void)state;
	assert_near(profile_ns(p, &inside, &where) / gemm_ns(300, 6144, 4096), mean, 0.005);
	assert_i64(where, PROFILE_INSIDE);
	outside.m = 100000;
	assert_near(profile_ns(p, &outside, &where) / gemm_ns(100000, 6144, 4096), mean, 0.005);
	assert_i64(where, PROFILE_OUTSIDE);
	absent.bits = 8;
	assert_near(profile_ns(p, &absent, &where), 0, 0);
	assert_i64(where, PROFILE_ABSENT);
	assert_true(profile_has(p, OP_GEMM, 16));
	assert_false(profile_has(p, OP_GEMM, 8));
	assert_false(profile_has(p, OP_NORM, 16));
	assert_ptr_equal(profile_steps(p, "opt-13b", 1), &p->steps[0]);
	assert_null(profile_steps(p, "opt-13b", 2));
	assert_null(profile_steps(p, "opt-66b", 1));
	profile_free(p);
}

/* A shape that was swept by itself, three times slower than all others, has its own curve. */
static void test_own_shape_wins(void **state)
{
	static const struct fit_want want = {.folds = 5};
	struct points points = {.at = NULL};
	struct profile *p = xcalloc(1, sizeof(*p));
	struct err e;

	(void)state;
	for (int64_t m = 1; m <= 4096; m *= 2) {
		static const int64_t shapes[][2] = {{4096, 4096},  {4096, 8192}, {8192, 4096},
						    {12288, 4096}, {4096, 2048}, {6144, 4096}};

		for (size_t i = 0; i < 6; i++) {
			struct point q = {.op = OP_GEMM,
					  .bits = 16,
					  .m = m,
					  .n = shapes[i][0],
					  .k = shapes[i][1]};

			q.ns = (i == 5 ? 3 : 1) * gemm_ns(m, q.n, q.k);
			points_add(&points, &q);
		}
	}
	assert_fine(profile_fit(p, &points, &want, &e), e);
	const struct point own = {.op = OP_GEMM, .bits = 16, .m = 64, .n = 6144, .k = 4096};
	assert_i64(p->n_fits, 1 + 6);
	assert_near(profile_ns(p, &own, NULL) / (3 * gemm_ns(64, 6144, 4096)), 1, 0.01);
	points_release(&points);
	profile_free(p);
}

/* One width of rows alone: another one takes in proportion to its bytes, not the same. */
static void test_one_width(void **state)
{
	static const struct fit_want want = {.folds = 5};
	struct points points = {.at = NULL};
	struct profile *p = xcalloc(1, sizeof(*p));
	struct point at = {.op = OP_ACT, .bits = 16, .n = 14336};
	struct err e;

	(void)state;
	for (at.m = 1; at.m <= 8192; at.m = at.m * 5 / 4 + 1) {
		at.ns = 2000 + (double)(at.m * at.n) * 6 / 2000;
		points_add(&points, &at);
	}
	assert_fine(profile_fit(p, &points, &want, &e), e);
	at.m = 4096;
	double ns = profile_ns(p, &at, NULL);
	at.n = 28672;
	assert_near((profile_ns(p, &at, NULL) - 2000) / (ns - 2000), 2, 0.05);
	points_release(&points);
	profile_free(p);
}

/* What is wrong with a file */

#define DEVICE                                                                                     \
	"\"device\": {\"memory_bytes\": 1, \"peak_bytes_s\": 1e12, \"peak_flops\": 1e14, "         \
	"\"pcie_bytes_s\": 1e9}"
#define HELD "{\"folds\": 5, \"median\": 0.1, \"p90\": 0.2, \"max\": 0.3}"
#define REST                                                                                       \
	"\"rest\": {\"layer_ns\": [0, 0], \"layer_tok_ns\": [0, 0], \"points\": 0, "               \
	"\"sum_median\": 0, \"sum_p90\": 0, \"held_out\": " HELD "}"
#define FACTS "\"omnibus_profile\": 1, " DEVICE ", " REST
#define SHAPED(op, form, shape, coefs, ranges, more)                                               \
	"{\"op\": \"" op "\", \"bits\": 16, \"form\": \"" form "\", \"shape\": {" shape            \
	"}, \"coefs\": {" coefs "}, \"ranges\": {" ranges                                          \
	"}, \"points\": 99, \"hash\": \"0123456789abcdef\", \"held_out\": " HELD more "}"
#define RANGES			   "\"m\": [1, 8], \"n\": [64, 4096], \"k\": [64, 4096]"
#define FIT(op, form, coefs, more) SHAPED(op, form, "", coefs, RANGES, more)
#define STEPS(model, tp, share)                                                                    \
	"{\"model\": \"" model "\", \"tp\": " tp ", \"prefill_ns\": [1, 0, 0], \"small_ns\": [1, " \
	"0, 0], \"large_ns\": [1, 0, 0], \"mixed_share\": " share                                  \
	", \"prefill_error\": [0, 0, 0], \"small_error\": [0, 0, 0], \"large_error\": [0, 0, 0], " \
	"\"prefill_held_out\": " HELD ", \"decode_held_out\": " HELD ", \"mixed_held_out\": " HELD \
	", \"prompt_tok\": [0, 0], \"batch\": [0, 0], \"context\": [0, 0]}"
#define OF_STEPS(steps)	  "{" FACTS ", \"fits\": [], \"steps\": [" steps "]}"
#define OF_RANGES(ranges) PROFILE(FACTS, SHAPED("gemm", "max", "", MAX_COEFS, ranges, ""))
#define OF_RATE(rate)                                                                              \
	PROFILE(FACTS, FIT("gemm", "max",                                                          \
			   "\"t0_ns\": [1, 1], \"bytes_per_ns\": [" rate                           \
			   ", 1], \"flops_per_ns\": [1, 1]",                                       \
			   ""))
#define OF_TAIL(tail)                                                                              \
	PROFILE("\"omnibus_profile\": 1, " DEVICE ", "                                             \
		"\"rest\": {\"layer_ns\": [1, 0], \"layer_tok_ns\": [0, 0], \"tail\": " tail       \
		", \"points\": 0, \"sum_median\": 0, \"sum_p90\": 0, \"held_out\": " HELD "}",     \
		FIT("gemm", "max", MAX_COEFS, ""))
#define MAX_COEFS	     "\"t0_ns\": [4000, 1], \"bytes_per_ns\": [3000, 1], \"flops_per_ns\": [7e5, 1]"
#define PROFILE(facts, fits) "{" facts ", \"fits\": [" fits "], \"steps\": []}"

static struct profile *parse(const char *text, struct err *e)
{
	return profile_parse(text, strlen(text), "bad.json", e);
}

static void test_least_profile(void **state)
{
	struct err e;
	struct profile *p = parse(PROFILE(FACTS, FIT("gemm", "max", MAX_COEFS, "")), &e);
	const struct point at = {.op = OP_GEMM, .bits = 16, .m = 1, .n = 1024, .k = 1024};

	(void)state;
	if (!p) {
		fail_msg("%s", e.text);
		return;
	}
	assert_string_equal(p->device.name, "bad");
	assert_near(p->repeat_spread, 0, 0);
	assert_near(profile_ns(p, &at, NULL) / (4000 + 2.0 * (1024 * 1024 + 2048) / 3000), 1, 1e-9);
	profile_free(p);
}

/* Of one operation there may be fits of other shapes, of one model steps of another tp. */
static void test_alike_but_not_the_same(void **state)
{
	static const char *const good[] = {
		PROFILE(FACTS,
			FIT("gemm", "max", MAX_COEFS, "") ", " SHAPED(
				"gemm", "max", "\"n\": 8", MAX_COEFS, RANGES,
				"") ", " SHAPED("gemm", "max", "\"k\": 8", MAX_COEFS, RANGES, "")),
		OF_STEPS(
			STEPS("a", "1", "0") ", " STEPS("a", "2", "0.5") ", " STEPS("b", "2", "1")),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct err e;
		struct profile *p = parse(good[i], &e);

		assert_fine(p ? 0 : -1, e);
		profile_free(p);
	}
}

/* What no reader would take is not put in the place of a file. */
static void test_unreadable_is_not_saved(void **state)
{
	struct profile *p = sample();
	const char *path = testing_file("kept.json", "kept");
	struct err e;

	(void)state;
	p->fit[0].held_out.max = HUGE_VAL;
	assert_refused(profile_save(p, path, &e), e, "no profile is written, as it could not be ");
	p->fit[0].held_out.max = 1;
	p->rest.layer_error = NAN;
	assert_refused(profile_save(p, path, &e), e, "rest: layer_ns[1] must be a number");
	p->rest.layer_error = 1;
	p->repeat_spread = NAN;
	assert_refused(profile_save(p, path, &e), e,
		       "repeat_spread is a string: it must be a number");
	p->repeat_spread = 2;
	p->steps[0].mixed_share = 101;
	assert_refused(profile_save(p, path, &e), e, "mixed_share");
	p->steps[0].mixed_share = 1;
	assert_i64(testing_count_files(path), 1);
	snprintf(p->source, sizeof(p->source), "of \xc3");
	assert_fine(profile_save(p, path, &e), e);
	profile_free(p);
	p = profile_load(path, &e);
	assert_non_null(p);
	assert_string_equal(p->source, "of ?");
	profile_free(p);
}

static void test_bad_files(void **state)
{
	static const char *const bad[][2] = {
		{"", "bad.json:1:0: not valid JSON"},
		{"[1]", "bad.json: a profile is one JSON object"},
		{"{}", "omnibus_profile is missing"},
		{PROFILE("\"omnibus_profile\": 2, " DEVICE ", " REST,
			 FIT("gemm", "max", MAX_COEFS, "")),
		 "omnibus_profile is 2: this program reads format 1"},
		{PROFILE("\"omnibus_profile\": 1, " REST, FIT("gemm", "max", MAX_COEFS, "")),
		 "device is missing"},
		{PROFILE("\"omnibus_profile\": 1, \"device\": {\"memory_bytes\": 1}, " REST,
			 FIT("gemm", "max", MAX_COEFS, "")),
		 "bad.json: device: peak_bytes_s is missing"},
		{PROFILE(FACTS ", \"colour\": 1", FIT("gemm", "max", MAX_COEFS, "")),
		 "unknown field 'colour'"},
		{PROFILE(FACTS ", \"scope_cell_ns\": 0", FIT("gemm", "max", MAX_COEFS, "")),
		 "unknown field 'scope_cell_ns'"},
		{PROFILE(FACTS ", \"repeat_spread\": 0.5", FIT("gemm", "max", MAX_COEFS, "")),
		 "bad.json: repeat_spread is 0.5: it must be from 1 to 1000000000"},
		{PROFILE(FACTS ", \"repeat_spread\": 0", FIT("gemm", "max", MAX_COEFS, "")),
		 "repeat_spread is 0: it must be from 1"},
		{PROFILE(FACTS ", \"repeat_spread\": 1e10", FIT("gemm", "max", MAX_COEFS, "")),
		 "repeat_spread is 10000000000: it must be from 1"},
		{PROFILE(FACTS ", \"repeat_spread\": \"2\"", FIT("gemm", "max", MAX_COEFS, "")),
		 "repeat_spread is a string: it must be a number"},
		{PROFILE("\"omnibus_profile\": 1, \"device\": {\"memory_bytes\": 1, "
			 "\"peak_bytes_s\": 1e12, \"peak_flops\": 1e14, \"pcie_bytes_s\": 1e9, "
			 "\"scope_cell_ns\": 2, \"attention_scope\": \"sequence\"}, " REST,
			 FIT("gemm", "max", MAX_COEFS, "")),
		 "bad.json: device: attention_scope is sequence and scope_cell_ns 2"},
		{PROFILE("\"omnibus_profile\": 1, " DEVICE ", "
			 "\"rest\": {\"layer_ns\": [-1e6, 0], \"layer_tok_ns\": [0, 0], "
			 "\"points\": 0, \"sum_median\": 0, \"sum_p90\": 0, \"held_out\": " HELD
			 "}",
			 FIT("gemm", "max", MAX_COEFS, "")),
		 "rest: layer_ns[0] is -1e+06: it must not be below 0"},
		{PROFILE("\"omnibus_profile\": 1, " DEVICE ", "
			 "\"rest\": {\"layer_ns\": [1, 0], \"layer_tok_ns\": [0, 0], \"tail\": "
			 "-0.1, "
			 "\"points\": 0, \"sum_median\": 0, \"sum_p90\": 0, \"held_out\": " HELD
			 "}",
			 FIT("gemm", "max", MAX_COEFS, "")),
		 "rest: tail"},
		{"{" FACTS ", \"fits\": [], \"steps\": [{\"model\": \"m\", \"tp\": 1, "
		 "\"prefill_ns\": [1, 0, 0], \"small_ns\": [0, 0, 0], \"large_ns\": [1, 0, 0]}]}",
		 "steps[0]: small_ns is 0 in all three: one of them must be above 0"},
		{PROFILE(FACTS, ""), "fits and steps are both empty"},
		{PROFILE(FACTS, "7"), "fits[0]: it must be an object"},
		{PROFILE(FACTS, FIT("gem", "max", MAX_COEFS, "")), "fits[0]: unknown op 'gem'"},
		{PROFILE(FACTS, FIT("gemm", "maximum", MAX_COEFS, "")),
		 "fits[0]: unknown form 'maximum'"},
		{PROFILE(FACTS, FIT("gemm", "max", "\"t0_ns\": [4000, 1]", "")),
		 "fits[0]: coefs: bytes_per_ns must be an array of 2 numbers"},
		{PROFILE(FACTS, FIT("gemm", "max",
				    "\"t0_ns\": [0, 1], \"bytes_per_ns\": [3000, 1], "
				    "\"flops_per_ns\": [7e5, 1]",
				    "")),
		 "coefs: t0_ns is 0: it must be from 1e-300"},
		{PROFILE(FACTS, FIT("gemm", "max", MAX_COEFS ", \"more\": [1, 1]", "")),
		 "coefs: unknown field 'more'"},
		{PROFILE(FACTS, FIT("gemm", "max", MAX_COEFS,
				    ", \"grid\": {\"axes\": [{\"size\": \"m\", \"log2\": [0, 1]}], "
				    "\"ln\": [0, 0, 0]}")),
		 "grid: ln must be an array of 2 numbers"},
		{PROFILE(FACTS, FIT("gemm", "max", MAX_COEFS,
				    ", \"grid\": {\"axes\": [{\"size\": \"m\", \"log2\": [1, 1]}], "
				    "\"ln\": [0, 0]}")),
		 "axes[0]: log2[1] is not above the one before"},
		{PROFILE(FACTS, FIT("gemm", "max", MAX_COEFS,
				    ", \"grid\": {\"axes\": [{\"size\": \"q\", \"log2\": [0, 1]}], "
				    "\"ln\": [0, 0]}")),
		 "axes[0]: unknown size 'q'"},
		{PROFILE(FACTS, FIT("gemm", "max", MAX_COEFS,
				    ", \"grid\": {\"axes\": [{\"size\": \"m\", \"log2\": [0, 1]}], "
				    "\"ln\": [0, 41]}")),
		 "ln[1] is 41"},
		{PROFILE(FACTS, FIT("gemm", "max", MAX_COEFS,
				    ", \"grid\": {\"axes\": [{\"size\": \"m\", \"log2\": [0, 1]}], "
				    "\"ln\": [0, 40.000001]}")),
		 "ln[1] is 40.000001: it must be from -40 to 40"},
		{OF_TAIL("100.0001"), "rest: tail is 100.0001: it must be from 0 to 100"},
		{OF_TAIL("100.00000000000001"), "rest: tail is 100.00000000000001: it must be "},
		{OF_TAIL("-5e-324"), "rest: tail is -5e-324: it must be from 0 to 100"},
		{OF_RATE("5e-324"), "coefs: bytes_per_ns is 4.94066e-324: it must be from 1e-300"},
		{OF_RATE("9e-301"), "coefs: bytes_per_ns is 9e-301: it must be from 1e-300"},
		{OF_RANGES(""), "fits[0]: ranges: m is missing: it must be the least and the most"},
		{OF_RANGES("\"m\": [1, 8], \"k\": [1, 8]"), "fits[0]: ranges: n is missing: "},
		{OF_RANGES("\"m\": [1, 8], \"k\": [1, 8], \"n\": null"),
		 "fits[0]: ranges: n must be an array of 2 numbers"},
		{OF_RANGES("\"m\": [8.0000001, 8]"),
		 "m is from 8.0000001 to 8: the first must not"},
		{PROFILE(FACTS,
			 FIT("gemm", "max", MAX_COEFS, "") ", " FIT("gemm", "max", MAX_COEFS, "")),
		 "fits[0] and fits[1] are both gemm of 16 bits with the same shape: one of them"},
		{PROFILE(FACTS, FIT("gemm", "max", MAX_COEFS, "") ", " SHAPED(
					"gemm", "max", "\"n\": 8", MAX_COEFS, RANGES,
					"") ", " SHAPED("gemm", "pnorm", "\"n\": 8",
							MAX_COEFS ", \"p\": [2, 1]", RANGES, "")),
		 "fits[1] and fits[2] are both gemm of 16 bits with the same shape: one of them"},
		{OF_STEPS(STEPS("a", "1", "0") ", " STEPS("a", "2", "0") ", " STEPS("a", "2", "1")),
		 "steps[1] and steps[2] are both of a, tp 2: one of them must go"},
		{OF_STEPS(STEPS("a", "1", "-1")), "steps[0]: mixed_share is -1: it must be from 0"},
		{OF_STEPS(STEPS("a", "1", "1.000001")),
		 "mixed_share is 1.000001: it must be from 0"},
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(parse(bad[i][0], &e) ? 0 : -1, e, bad[i][1]);
}

/* A byte that is another one, or the end: a sentence, or a profile whose forecasts are times. */
static void test_damaged_files(void **state)
{
	struct profile *p = sample();
	const char *path = testing_path("whole.json");
	const struct point at = {.op = OP_GEMM, .bits = 16, .m = 7, .n = 5000, .k = 3000};
	struct err e;

	(void)state;
	assert_fine(profile_save(p, path, &e), e);
	char *text = read_file(path);
	size_t size = strlen(text), refused = 0, read = 0;
	for (size_t i = 0; i < size; i += 7) {
		static const char bytes[] = "\"{}[],:-9.e\n";
		char was = text[i];

		text[i] = bytes[i % (sizeof(bytes) - 1)];
		struct profile *q = profile_parse(text, i % 5 ? size : i, "damaged", &e);
		text[i] = was;
		if (!q) {
			refused++;
			assert_true(strstr(e.text, "damaged") == e.text);
			continue;
		}
		read++;
		double ns = profile_ns(q, &at, NULL);
		assert_true(ns >= 0 && ns < 1e300);
		profile_free(q);
	}
	assert_true(refused > 100 && read > 100);
	free(text);
	profile_free(p);
}

/* As a device */

static void test_device_with_profile(void **state)
{
	struct profile *p = sample();
	const char *path = testing_path("mine.json");
	struct device d = {.name = ""};
	struct err e;

	(void)state;
	assert_fine(profile_save(p, path, &e), e);
	assert_fine(device_load(&d, path, &e), e);
	assert_string_equal(d.name, "h200");
	assert_non_null(d.profile);
	same_forecasts(p, d.profile);
	device_release(&d);
	assert_null(d.profile);
	device_release(&d);
	profile_free(p);
}

/* A file of this text with another one in the place of the first `was`. */
static const char *spoilt(const char *text, const char *was, const char *is)
{
	const char *at = strstr(text, was);
	char *other = xcalloc(1, strlen(text) + strlen(is) + 1);

	assert_non_null(at);
	sprintf(other, "%.*s%s%s", (int)(at - text), text, is, at + strlen(was));
	const char *path = testing_file("spoilt.json", other);
	free(other);
	return path;
}

/* Well-formed, and of no device: as a device, shown and in a command. */
static void test_a_file_that_was_spoilt(void **state)
{
	static const struct {
		const char *was, *is, *sentence;
	} cases[] = {
		{"\"points\":350", "\"points\":7",
		 "spoilt.json: gemm of 16 bits has 7 points: 8 are the least"},
		{"\"peak_flops\":9.89e14,\"gemm_t0_ns\":4100.0,\"gemm_bytes_s\":3.95e12,"
		 "\"gemm_flops\":7.9e14",
		 "\"peak_flops\":4e14,\"gemm_flops\":4e14",
		 "us at its peak: these times cannot be of this device"},
		/* not above what is in it */
		{"\"peak_flops\":9.89e14", "\"peak_flops\":7.9e14", NULL},
		{"\"small_ns\":[19934700.0", "\"small_ns\":[1000000.0",
		 "spoilt.json: a decode step of opt-13b, tp 1, is forecast in 1.039 ms, where "
		 "reading its weights takes 5.351 ms at the 4.8 TB/s of h200"},
	};
	struct profile *p = sample();
	const char *path = testing_path("whole.json");
	struct err e;

	(void)state;
	assert_fine(profile_save(p, path, &e), e);
	profile_free(p);
	char *text = read_file(path);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *file = spoilt(text, cases[i].was, cases[i].is);
		struct device d = {.name = "as it was"};
		int result = device_load(&d, file, &e);

		if (!cases[i].sentence) {
			assert_fine(result, e);
			device_release(&d);
			continue;
		}
		assert_refused(result, e, cases[i].sentence);
		assert_string_equal(d.name, "as it was");
		assert_null(profile_load(file, &e));
		assert_non_null(strstr(e.text, cases[i].sentence));
		struct run_output o = testing_run("capacity -m opt-13b -d %s", file);
		assert_exit(o, 1);
		assert_non_null(strstr(o.err, cases[i].sentence));
		assert_string_equal(o.out, "");
		testing_run_free(&o);
	}
	free(text);
}

/* Of the same name they are the same device, and a profile that is none is a device of its own. */
static void test_built_in(void **state)
{
	const char *const *names;
	size_t n = profile_names(&names), n_devices, same = 0;
	const struct device *list = device_list(&n_devices);
	struct err e;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		struct device d;
		struct profile *p = profile_built_in(names[i]);

		assert_non_null(p);
		assert_fine(profile_check(p, &e), e);
		assert_string_equal(p->device.name, names[i]);
		assert_true(p->source[0] && p->date[0] && p->server[0]);
		assert_fine(device_load(&d, names[i], &e), e);
		assert_non_null(d.profile);
		for (size_t k = 0; k < n_devices; k++) {
			if (strcmp(list[k].name, names[i]) != 0)
				continue;
			same++;
			assert_string_equal(p->device.summary, list[k].summary);
			assert_i64(p->device.memory_bytes, list[k].memory_bytes);
			same_bits(p->device.peak_bytes_s, list[k].peak_bytes_s);
			same_bits(p->device.nvlink_bytes_s, list[k].nvlink_bytes_s);
		}
		device_release(&d);
		profile_free(p);
	}
	assert_true(n == 0 || same > 0);
	assert_null(profile_built_in("h300"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_saved_and_read_again),
		cmocka_unit_test(test_forecasts),
		cmocka_unit_test(test_own_shape_wins),
		cmocka_unit_test(test_one_width),
		cmocka_unit_test(test_least_profile),
		cmocka_unit_test(test_alike_but_not_the_same),
		cmocka_unit_test(test_unreadable_is_not_saved),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_damaged_files),
		cmocka_unit_test(test_device_with_profile),
		cmocka_unit_test(test_a_file_that_was_spoilt),
		cmocka_unit_test(test_built_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
