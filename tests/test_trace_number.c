/* Decimal text and timestamps, exactly. */
#include "tests/testing.h"
#include "traces/number.h"
#include <string.h>

static void decimals_are_exact(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int shift;
		int64_t value;
		bool exact;
	} cases[] = {
		{"0", 9, 0, true},
		{"0.1", 9, 100000000, true},
		{"1700000000.123456789", 9, INT64_C(1700000000123456789), true},
		{".5", 0, 1, false}, /* halves go up */
		{"0.4999999999999999999999", 0, 0, false},
		{"2.5e3", 0, 2500, true},
		{"25E-1", 0, 3, false},
		{"1e-30", 9, 0, false},
		{"0e99999", 9, 0, true},
		{"+7.", 3, 7000, true},
		{"000000000000000000000000000012", 0, 12, true},
		{"6307200000", 9, NUMBER_NS_MAX, true},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t value = -1;
		bool exact;
		assert_i64(number_decimal(cases[i].text, strlen(cases[i].text), cases[i].shift,
					  NUMBER_NS_MAX, &value, &exact),
			   NUMBER_OK);
		assert_i64(value, cases[i].value);
		assert_i64(exact, cases[i].exact);
	}
	static const struct {
		const char *text;
		enum number_result result;
	} bad[] = {
		{"", NUMBER_NOT},
		{".", NUMBER_NOT},
		{"-", NUMBER_NOT},
		{"1.2.3", NUMBER_NOT},
		{"1e", NUMBER_NOT},
		{"1e+", NUMBER_NOT},
		{"0x10", NUMBER_NOT},
		{"nan", NUMBER_NOT},
		{"inf", NUMBER_NOT},
		{"1 ", NUMBER_NOT},
		{"1,5", NUMBER_NOT},
		{"-1", NUMBER_NEGATIVE},
		{"6307200001", NUMBER_BIG},
		{"1e300", NUMBER_BIG},
		{"99999999999999999999", NUMBER_BIG},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int64_t value;
		bool exact;
		assert_i64(number_decimal(bad[i].text, strlen(bad[i].text), 9, NUMBER_NS_MAX,
					  &value, &exact),
			   bad[i].result);
	}
}

/* Seconds since 1970 from `date -u -d ... +%s`. */
static void clocks(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t seconds;
	} cases[] = {
		{"1970-01-01 00:00:00", 0},	     {"2000-02-29 12:00:00", 951825600},
		{"2023-11-16 18:17:03", 1700158623}, {"2100-03-01 00:00:00", 4107542400},
		{"2169-12-31 23:59:59", 6311433599},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t ns;
		char back[NUMBER_CLOCK_SIZE];
		assert_i64(number_clock(cases[i].text, strlen(cases[i].text), &ns), NUMBER_OK);
		assert_i64(ns, cases[i].seconds * 1000000000);
		number_clock_print(ns, 0, ' ', back);
		assert_string_equal(back, cases[i].text);
	}
	static const char *const bad[] = {
		"2023-11-16",
		"2023-11-16 18:17",
		"2023-11-16 18:17:60",
		"2023-02-29 00:00:00",
		"2023-13-01 00:00:00",
		"2023-00-01 00:00:00",
		"2023-11-31 00:00:00",
		"2023-11-16 24:00:00",
		"2023-11-16 18:17:03.",
		"2023-11-16 18:17:03 UTC",
		"2023-11-16 18:17:03+1",
		"2023-11-16 18:17:03+01:",
		"2023-11-16 18:17:03+01:00x",
		"23-11-16 18:17:03",
		"2023/11/16 18:17:03",
		"2023-11-16 18:17:03.5.5",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int64_t ns;
		assert_i64(number_clock(bad[i], strlen(bad[i]), &ns), NUMBER_NOT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decimals_are_exact),
		cmocka_unit_test(clocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
