#include "sim/number.h"
#include "sim/param.h"
#include "tests/testing.h"
#include <float.h>
#include <math.h>
#include <string.h>

struct values {
	int64_t seqs, any, mode;
	double mark, real;
	char name[PARAM_TEXT_MAX];
};

static const char *const modes[] = {"recompute", "swap", NULL};

static const struct param table[] = {
	{.name = "max_seqs",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct values, seqs),
	 .init = "256",
	 .min = 1,
	 .max = 4096},
	{.name = "any", .kind = PARAM_INT, .offset = offsetof(struct values, any), .init = "0"},
	{.name = "preempt",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct values, mode),
	 .init = "recompute",
	 .choices = modes},
	{.name = "watermark",
	 .kind = PARAM_REAL,
	 .offset = offsetof(struct values, mark),
	 .init = "0.01",
	 .max = 1},
	{.name = "real", .kind = PARAM_REAL, .offset = offsetof(struct values, real), .init = "1"},
	{.name = "name", .kind = PARAM_TEXT, .offset = offsetof(struct values, name), .init = ""},
	{0},
};

static struct values defaults(void)
{
	struct values v;
	memset(&v, 0x55, sizeof(v));
	param_defaults(table, &v);
	return v;
}

static int parse(struct values *v, const char *text, struct err *e)
{
	const struct param_set set = {.table = table, .values = v};
	return param_parse(&set, 1, "paged", text, e);
}

static void assert_text_refused(const char *text, const char *part)
{
	struct values v = defaults();
	struct err e;
	assert_refused(parse(&v, text, &e), e, part);
}

static void test_defaults(void **state)
{
	(void)state;
	struct values v = defaults();
	assert_i64(v.seqs, 256);
	assert_i64(v.any, 0);
	assert_i64(v.mode, 0);
	assert_near(v.mark, 0.01, 0);
	assert_near(v.real, 1, 0);
	assert_string_equal(v.name, "");
}

static void test_parse_sets(void **state)
{
	(void)state;
	struct values v = defaults();
	struct err e;
	assert_fine(parse(&v, "preempt=swap,max_seqs=7,watermark=1e-2,any=-3,name=a=b", &e), e);
	assert_i64(v.mode, 1);
	assert_i64(v.seqs, 7);
	assert_i64(v.any, -3);
	assert_near(v.mark, 0.01, 0);
	assert_string_equal(v.name, "a=b"); /* the first '=' divides */
}

static void test_parse_nothing(void **state)
{
	(void)state;
	struct values v = defaults();
	struct err e = {.text = "untouched"};
	assert_fine(parse(&v, NULL, &e), e);
	assert_fine(parse(&v, "", &e), e);
	assert_fine(parse(&v, "max_seqs=8", &e), e);
	assert_string_equal(e.text, "untouched");
	assert_i64(v.seqs, 8);
}

static void test_parse_limits_are_valid(void **state)
{
	(void)state;
	struct values v = defaults();
	struct err e;
	assert_fine(parse(&v, "max_seqs=1,watermark=0", &e), e);
	assert_i64(v.seqs, 1);
	assert_near(v.mark, 0, 0);
	assert_fine(parse(&v, "max_seqs=4096,watermark=1", &e), e);
	assert_i64(v.seqs, 4096);
	assert_near(v.mark, 1, 0);
}

static void test_form_refused(void **state)
{
	(void)state;
	static const char *const items[] = {"max_seqs", "=5",		"=", ",", "max_seqs=5,",
					    ",any=5",	"any=5,,real=1"};
	for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++)
		assert_text_refused(items[i], "is not of the form name=value");
	assert_text_refused("any=5,max_seqs", "paged: 'max_seqs'");
}

static void test_repeated_refused(void **state)
{
	(void)state;
	assert_text_refused("any=1,any=1", "paged: any is given twice");
	assert_text_refused("any=1,real=2,preempt=swap,any=3", "any is given twice");
	struct values v = defaults();
	struct err e;
	/* a value that looks like a name is none */
	assert_fine(parse(&v, "name=any,any=2", &e), e);
	assert_i64(v.any, 2);
}

static void test_unknown_refused(void **state)
{
	(void)state;
	assert_text_refused("max_seq=5",
			    "unknown parameter of paged 'max_seq', nearest is 'max_seqs'; valid: "
			    "max_seqs, any, preempt, watermark, real, name");
	assert_text_refused("MAX_SEQS=5", "unknown parameter");
	assert_text_refused(" any=5", "unknown parameter of paged ' any'");
}

static void test_int_refused(void **state)
{
	(void)state;
	static const char *const whole[] = {"any=",
					    "any= 5",
					    "any=5 ",
					    "any=+5",
					    "any=--5",
					    "any=-",
					    "any=5x",
					    "any=0x10",
					    "any=1e3",
					    "any=5.0",
					    "any=nan",
					    "any=inf",
					    "any=9223372036854775808",
					    "any=-9223372036854775809",
					    "any=99999999999999999999999"};
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		assert_text_refused(whole[i], "is not a whole number");
	assert_text_refused("max_seqs=0", "paged: max_seqs: '0' is not a whole number from 1 to "
					  "4096");
	assert_text_refused("max_seqs=4097", "from 1 to 4096");
	assert_text_refused("max_seqs=-1", "from 1 to 4096");
}

static void test_int_extremes(void **state)
{
	(void)state;
	struct values v = defaults();
	struct err e;
	assert_fine(parse(&v, "any=9223372036854775807", &e), e);
	assert_i64(v.any, INT64_MAX);
	assert_fine(parse(&v, "any=-9223372036854775808", &e), e);
	assert_i64(v.any, INT64_MIN);
}

static void test_real_refused(void **state)
{
	(void)state;
	static const char *const finite[] = {
		"real=",     "real= 1",	    "real=1 ",	 "real=+1",    "real=1x",    "real=nan",
		"real=-nan", "real=inf",    "real=-inf", "real=0x1p3", "real=1e999", "real=-1e999",
		"real=1e",   "real=1e-999", "real=.",	 "real=1.2.3", "real=1e5e5", "real=-"};
	for (size_t i = 0; i < sizeof(finite) / sizeof(*finite); i++)
		assert_text_refused(finite[i], "is not a finite number");
	assert_text_refused("watermark=1.0000001", "paged: watermark: '1.0000001' is not a number "
						   "from 0 to 1");
	assert_text_refused("watermark=-0.1", "from 0 to 1");
	assert_text_refused("watermark=nan", "from 0 to 1");
}

static void test_choice_refused(void **state)
{
	(void)state;
	assert_text_refused("preempt=swop", "unknown value of paged: preempt 'swop', nearest is "
					    "'swap'; valid: recompute, swap");
	assert_text_refused("preempt=", "valid: recompute, swap");
	assert_text_refused("preempt=1", "valid: recompute, swap");
}

static void test_text_refused(void **state)
{
	(void)state;
	char text[PARAM_TEXT_MAX + 1];
	struct values v = defaults();
	struct err e;
	memset(text, 'a', sizeof(text));
	text[PARAM_TEXT_MAX] = '\0';
	assert_refused(param_set(table, &v, "paged", "name", text, &e), e, "at most 63");
	text[PARAM_TEXT_MAX - 1] = '\0';
	assert_fine(param_set(table, &v, "paged", "name", text, &e), e);
	assert_string_equal(v.name, text);
	assert_refused(param_set(table, &v, "paged", "name", "a,b", &e), e, "comma");
}

static void test_refused_value_is_not_written(void **state)
{
	(void)state;
	struct values v = defaults(), before = v;
	struct err e;
	static const char *const bad[] = {"any=x", "max_seqs=5000", "real=inf", "preempt=x"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_i64(parse(&v, bad[i], &e), -1);
	assert_memory_equal(&v, &before, sizeof(v));
}

static void test_set_leaves_unknown_to_others(void **state)
{
	(void)state;
	struct values v = defaults(), before = v;
	struct err e = {.text = "untouched"};
	assert_i64(param_set(table, &v, "paged", "chunk", "5", &e), 1);
	assert_string_equal(e.text, "untouched");
	assert_memory_equal(&v, &before, sizeof(v));
}

static void test_several_tables(void **state)
{
	(void)state;
	static const struct param other[] = {
		{.name = "any", .kind = PARAM_INT, .init = "1"},
		{.name = "decode",
		 .kind = PARAM_INT,
		 .offset = sizeof(int64_t),
		 .init = "2",
		 .min = 1,
		 .max = INFINITY},
		{0},
	};
	struct values v = defaults();
	int64_t o[2];
	param_defaults(other, o);
	const struct param_set sets[] = {{other, o}, {table, &v}};
	struct err e;
	assert_fine(param_parse(sets, 2, "shape", "max_seqs=3,any=9,decode=4", &e), e);
	assert_i64(o[0], 9); /* the first table that knows the name */
	assert_i64(v.any, 0);
	assert_i64(o[1], 4);
	assert_i64(v.seqs, 3);
	assert_refused(param_parse(sets, 2, "shape", "decod=1", &e), e, "'decode'");
	assert_refused(param_parse(sets, 2, "shape", "decod=1", &e), e, "watermark");
	assert_refused(param_parse(sets, 2, "shape", "decode=0", &e), e, "at least 1");
	assert_refused(param_parse(NULL, 0, "oracle", "x=1", &e), e, "there are none");
}

static void test_given(void **state)
{
	(void)state;
	assert_true(param_is_given("any=3,async=1", "async"));
	assert_false(param_is_given("x_async=1", "async"));
	assert_true(param_is_given_as("async=1", "async", "1"));
	assert_true(param_is_given_as("any=3,async=1,x=2", "async", "1"));
	assert_false(param_is_given_as("async=10", "async", "1"));
	assert_false(param_is_given_as("async=10,x=1", "async", "1"));
	assert_false(param_is_given_as("async=0,x_async=1", "async", "1"));
	assert_false(param_is_given_as("x_async=1", "async", "1"));
	assert_false(param_is_given_as(NULL, "async", "1"));
}

static void test_print_canonical(void **state)
{
	(void)state;
	struct values v = defaults();
	struct err e;
	char text[256] = "";
	param_print(table, &v, text, sizeof(text));
	assert_string_equal(text, "max_seqs=256,any=0,preempt=recompute,watermark=0.01,real=1,"
				  "name=");
	assert_fine(parse(&v, "name=x,any=1000000000000,real=2.50,preempt=swap,watermark=5e-1", &e),
		    e);
	memcpy(text, "paged:", sizeof("paged:"));
	param_print(table, &v, text, sizeof(text));
	assert_string_equal(text, "paged:max_seqs=256,any=1000000000000,preempt=swap,"
				  "watermark=0.5,real=2.5,name=x");
	memcpy(text, "a=1", sizeof("a=1"));
	param_print(table + 5, &v, text, sizeof(text));
	assert_string_equal(text, "a=1,name=x");
}

static void assert_round_trip(const struct values *v)
{
	char text[256] = "", again[256] = "";
	struct values back = defaults();
	struct err e;
	param_print(table, v, text, sizeof(text));
	assert_fine(parse(&back, text, &e), e);
	assert_i64(back.any, v->any);
	assert_memory_equal(&back.real, &v->real, sizeof(v->real)); /* the same bits */
	param_print(table, &back, again, sizeof(again));
	assert_string_equal(again, text);
}

static void test_print_round_trips(void **state)
{
	(void)state;
	static const double reals[] = {0.0,	-0.0,	  0.1,	       1.0 / 3,	    1e23, DBL_MAX,
				       DBL_MIN, 4.9e-324, DBL_EPSILON, 123456789.0, 1e-7};
	static const int64_t ints[] = {0,	  -1,	     1000000,	     INT64_MAX,
				       INT64_MIN, 1LL << 53, (1LL << 53) + 1};
	struct values v = defaults();
	for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++) {
		v.real = reals[i];
		assert_round_trip(&v);
	}
	for (size_t i = 0; i < sizeof(ints) / sizeof(*ints); i++) {
		v.any = ints[i];
		assert_round_trip(&v);
	}
}

/* Bit patterns from a linear congruence (Knuth's MMIX constants): all magnitudes. */
static void test_print_round_trips_any_bits(void **state)
{
	(void)state;
	uint64_t bits = 1;
	struct values v = defaults();
	int seen = 0;
	for (int i = 0; i < 2000; i++) {
		bits = bits * 6364136223846793005u + 1442695040888963407u;
		memcpy(&v.real, &bits, sizeof(v.real));
		if (!isfinite(v.real))
			continue;
		assert_round_trip(&v);
		seen++;
	}
	assert_true(seen > 1900); /* one in 1024 exponents is not a number */
}

static void test_print_real_is_shortest(void **state)
{
	(void)state;
	static const struct {
		double value;
		const char *text;
	} rows[] = {{0.1, "0.1"},
		    {1e6, "1000000"},
		    {-0.0, "-0"},
		    {123456, "123456"},
		    {1.0 / 3, "0.3333333333333333"},
		    {-2.5, "-2.5"},
		    {1e15, "1e+15"},
		    {999999999999999, "999999999999999"},
		    {1e-5, "1e-05"},
		    {0.1 + 0.2, "0.30000000000000004"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[REAL_TEXT_MAX];
		print_real(rows[i].value, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_parse_sets),
		cmocka_unit_test(test_parse_nothing),
		cmocka_unit_test(test_parse_limits_are_valid),
		cmocka_unit_test(test_form_refused),
		cmocka_unit_test(test_repeated_refused),
		cmocka_unit_test(test_unknown_refused),
		cmocka_unit_test(test_int_refused),
		cmocka_unit_test(test_int_extremes),
		cmocka_unit_test(test_real_refused),
		cmocka_unit_test(test_choice_refused),
		cmocka_unit_test(test_text_refused),
		cmocka_unit_test(test_refused_value_is_not_written),
		cmocka_unit_test(test_set_leaves_unknown_to_others),
		cmocka_unit_test(test_several_tables),
		cmocka_unit_test(test_given),
		cmocka_unit_test(test_print_canonical),
		cmocka_unit_test(test_print_round_trips),
		cmocka_unit_test(test_print_round_trips_any_bits),
		cmocka_unit_test(test_print_real_is_shortest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
