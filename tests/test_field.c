#include "tests/testing.h"

#include <math.h>
#include <string.h>

#include "results/run_info.h"
#include "results/summary.h"

struct thing {
	int64_t whole;
	double real;
	char text[16];
};

static const struct field thing_fields[] = {
	FIELD(struct thing, whole, .md = true, .title = "n"),
	FIELD(struct thing, real, .md = true),
	FIELD(struct thing, text, .md = true),
	{.name = NULL},
};

static const struct thing things[] = {
	{1, 0.1, "plain"},	    {FIELD_NULL_INT, NAN, ""},
	{-12345, 1234567.5, "a,b"}, {INT64_MAX, INFINITY, "say \"x\"|\n"},
	{0, 1.0 / 3, "Z\xc3\xbc"},  {0, 2.5e-9, "\xff\x01\\"},
};
enum { N_THINGS = sizeof things / sizeof things[0] };

static char *printed(enum format format, const struct field *fields, const void *const *rows,
		     size_t n)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_i64(fields_print(out, format, fields, rows, n), 0);
	fclose(out);
	return text;
}

static void assert_printed(enum format format, size_t n, const char *want)
{
	const void *rows[N_THINGS];
	char *text;

	for (size_t i = 0; i < n; i++)
		rows[i] = &things[i];
	text = printed(format, thing_fields, rows, n);
	assert_string_equal(text, want);
	free(text);
}

static void test_csv(void **state)
{
	(void)state;
	/* quoting: RFC 4180, section 2, rules 5 to 7 */
	assert_printed(FORMAT_CSV, N_THINGS,
		       "whole,real,text\n"
		       "1,0.1,plain\n"
		       ",,\n"
		       "-12345,1234567.5,\"a,b\"\n"
		       "9223372036854775807,inf,\"say \"\"x\"\"|\n\"\n"
		       "0,0.333333333333333,Z\xc3\xbc\n"
		       "0,2.5e-09,\xff\x01\\\n");
	assert_printed(FORMAT_CSV, 0, "whole,real,text\n");
}

static void test_jsonl(void **state)
{
	(void)state;
	/* escapes: RFC 8259, section 7; what is not UTF-8 becomes U+FFFD */
	assert_printed(FORMAT_JSONL, N_THINGS,
		       "{\"whole\":1,\"real\":0.1,\"text\":\"plain\"}\n"
		       "{\"whole\":null,\"real\":null,\"text\":null}\n"
		       "{\"whole\":-12345,\"real\":1234567.5,\"text\":\"a,b\"}\n"
		       "{\"whole\":9223372036854775807,\"real\":null,"
		       "\"text\":\"say \\\"x\\\"|\\u000a\"}\n"
		       "{\"whole\":0,\"real\":0.333333333333333,\"text\":\"Z\xc3\xbc\"}\n"
		       "{\"whole\":0,\"real\":2.5e-09,\"text\":\"\\ufffd\\u0001\\\\\"}\n");
	assert_printed(FORMAT_JSONL, 0, "");
}

static void test_md(void **state)
{
	(void)state;
	assert_printed(FORMAT_MD, 5,
		       "|                   n |    real | text       |\n"
		       "| ------------------: | ------: | ---------- |\n"
		       "|                   1 |     0.1 | plain      |\n"
		       "|                   - |       - | -          |\n"
		       "|              -12345 | 1234568 | a,b        |\n"
		       "| 9223372036854775807 |     inf | say \"x\"\\|  |\n"
		       "|                   0 |  0.3333 | Z\xc3\xbc         |\n");
	assert_printed(FORMAT_MD, 1,
		       "|  n | real | text  |\n"
		       "| -: | ---: | ----- |\n"
		       "|  1 |  0.1 | plain |\n");
}

/* A sparse column is in the markdown table where some row has a value, and always in csv. */
static void test_sparse(void **state)
{
	static const struct field fields[] = {
		FIELD(struct thing, whole, .md = true),
		FIELD(struct thing, real, .md = true, .sparse = true),
		{.name = NULL},
	};
	static const struct thing none = {.whole = 7, .real = NAN}, some = {.whole = 8, .real = 2};
	const void *rows[] = {&none, &some};
	const struct {
		enum format format;
		size_t n;
		const char *want;
	} all[] = {
		{FORMAT_MD, 0, "| whole |\n| ----: |\n"},
		{FORMAT_MD, 1, "| whole |\n| ----: |\n|     7 |\n"},
		{FORMAT_MD, 2,
		 "| whole | real |\n| ----: | ---: |\n|     7 |    - |\n|     8 |    2 |\n"},
		{FORMAT_CSV, 1, "whole,real\n7,\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char *text = printed(all[i].format, fields, rows, all[i].n);

		assert_string_equal(text, all[i].want);
		free(text);
	}
}

static void test_a_full_text_has_no_nul(void **state)
{
	struct thing t = {.text = "0123456789abcdef"};
	const void *rows[] = {&t};
	char *text = printed(FORMAT_CSV, thing_fields, rows, 1);

	(void)state;
	assert_string_equal(text, "whole,real,text\n0,0,0123456789abcdef\n");
	free(text);
}

/* The longest text there can be, every byte of which takes the most room. */
static void test_longest_text(void **state)
{
	struct summary sum;
	const void *rows[] = {&sum};

	(void)state;
	fields_clear(summary_fields, &sum);
	memset(sum.params, '\x01', sizeof sum.params);
	for (int format = FORMAT_MD; format <= FORMAT_JSONL; format++) {
		char *text = printed((enum format)format, summary_fields, rows, 1);

		assert_true(strlen(text) > 256);
		free(text);
	}
}

/* One that is usually 0 is there where it is not 0 in some row; a NULL is as good as 0. */
static void test_sparse_zero(void **state)
{
	static const struct field fields[] = {
		FIELD(struct thing, real, .md = true),
		FIELD(struct thing, whole, .md = true, .sparse_zero = true),
		{.name = NULL},
	};
	static const struct thing zero = {.real = 1}, null = {.whole = FIELD_NULL_INT, .real = 2},
				  some = {.whole = 8, .real = 3};
	const void *rows[] = {&zero, &null, &some};
	char *text = printed(FORMAT_MD, fields, rows, 2);

	(void)state;
	assert_string_equal(text, "| real |\n| ---: |\n|    1 |\n|    2 |\n");
	free(text);
	text = printed(FORMAT_MD, fields, rows, 3);
	assert_string_equal(text, "| real | whole |\n| ---: | ----: |\n|    1 |     0 |\n"
				  "|    2 |     - |\n|    3 |     8 |\n");
	free(text);
}

static void test_a_full_disk_is_an_error(void **state)
{
	FILE *out = fopen("/dev/full", "w");
	const void *rows[] = {&things[0]};

	(void)state;
	if (!out) {
		print_message("skipped: no /dev/full\n");
		skip();
	}
	assert_i64(fields_print(out, FORMAT_CSV, thing_fields, rows, 1), -1);
	fclose(out);
}

static void test_formats(void **state)
{
	(void)state;
	assert_i64(format_parse("md"), FORMAT_MD);
	assert_i64(format_parse("csv"), FORMAT_CSV);
	assert_i64(format_parse("jsonl"), FORMAT_JSONL);
	assert_i64(format_parse("json"), -1);
	assert_i64(format_parse(""), -1);
}

static void test_clear(void **state)
{
	struct summary sum = {.steps = 3};

	(void)state;
	fields_clear(summary_fields, &sum);
	for (const struct field *f = summary_fields; f->name; f++)
		assert_true(field_is_null(f, &sum));
}

/* Columns that scripts rely on; new ones come behind them. */
static void test_summary_columns(void **state)
{
	static const char want[] =
		"run_id,policy,params,times,model,device,requests,completed,rejected,unfinished,"
		"offered_rps,throughput_rps,output_tps,goodput_rps,attainment,ttft_mean_s,"
		"ttft_p50_s,ttft_p90_s,ttft_p99_s,tpot_mean_s,tpot_p50_s,tpot_p90_s,tpot_p99_s,"
		"itl_mean_s,itl_p50_s,itl_p99_s,e2e_mean_s,e2e_p50_s,e2e_p99_s,"
		"norm_latency_mean_s,queue_mean_s,queue_p99_s,preemptions,steps,makespan_s,"
		"kv_util_mean,batch_mean,bound,saturated,";
	char *text = printed(FORMAT_CSV, summary_fields, NULL, 0);

	(void)state;
	assert_true(strlen(text) > strlen(want));
	text[strlen(want)] = '\0';
	assert_string_equal(text, want);
	free(text);
}

/* Members and fields cover the structs without holes but padding, each name once, each explained.
 */
static void check_table(const struct field *fields, size_t size)
{
	size_t end = 0;

	for (const struct field *f = fields; f->name; f++) {
		assert_true(f->offset >= end && f->offset - end < 8);
		end = f->offset + f->size;
		assert_true(f->kind == FIELD_TEXT || f->size == 8);
		assert_true(f->size <= FIELD_TEXT_SIZE);
		assert_true(f->help && f->help[0]);
		for (const struct field *g = fields; g < f; g++)
			assert_string_not_equal(f->name, g->name);
	}
	assert_true(size - end < 8);
}

static void test_tables_are_whole(void **state)
{
	(void)state;
	check_table(summary_fields, sizeof(struct summary));
	check_table(run_info_fields, sizeof(struct run_info));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_jsonl),
		cmocka_unit_test(test_md),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_sparse_zero),
		cmocka_unit_test(test_a_full_text_has_no_nul),
		cmocka_unit_test(test_longest_text),
		cmocka_unit_test(test_a_full_disk_is_an_error),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_summary_columns),
		cmocka_unit_test(test_tables_are_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
