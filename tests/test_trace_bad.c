/* Traces that are refused: one sentence with file, line, column and what was expected. */
#include "tests/rows.h"
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#define AZURE	   "TIMESTAMP,ContextTokens,GeneratedTokens\n"
#define OURS	   "arrive_s,prompt_tok,output_tok\n"
#define MOON(rest) "{\"timestamp\": 0, \"input_length\": 20, \"output_length\": 5" rest "}\n"
#define BY_NUMBER  "arrival=1,prompt=2,output=3"

static const struct bad {
	const char *content, *columns, *part;
} cases[] = {
	{"", NULL, "bad: is empty: expected a trace"},
	{"\n\r\n \n", NULL, "bad: is empty: expected a trace"},
	{AZURE, NULL, "bad: no rows: 0 read"},
	{"a,b,c\n1,2,3\n", NULL,
	 "bad:1: column 1: 'a,b,c' is no header that is known: expected TIMESTAMP"},
	{"TIMESTAMP,ContextTokens\n", NULL, "no header that is known"},
	{"TIMESTAMP,ContextTokens,GeneratedTokens,More\n", NULL, "no header that is known"},
	{"timestamp,contexttokens,generatedtokens\n", NULL, "no header that is known"},
	{"2023-11-16 18:17:03,1,2\n", NULL, "no header that is known"},
	{"\x7f"
	 "ELF\x02\x01\x01 junk\n",
	 NULL, "bad:1: column 1: '?ELF??? junk' is no header"},
	{AZURE "2023-11-16 18:17:03.97,12\n", NULL,
	 "bad:2: column 3: the row has 2 columns, expected 3"},
	{AZURE "2023-11-16 18:17:03.97,12,5,1\n", NULL,
	 "bad:2: column 4: the row has 4 columns, expected 3"},
	{AZURE "2023-11-16 18:17:03,12,5\n2023-11-16 18:17:04,-12,5\n", NULL,
	 "bad:3: column 2 (ContextTokens): '-12' is negative: expected a whole number of tokens "
	 "from 0 to 1000000000"},
	{AZURE "2023-11-16 18:17:03,12,five\n", NULL,
	 "bad:2: column 3 (GeneratedTokens): 'five' is not a number: expected a whole number"},
	{AZURE "2023-11-16 18:17:03,12,\n", NULL, "column 3 (GeneratedTokens): is empty"},
	{AZURE "2023-11-16 18:17:03,12.5,1\n", NULL,
	 "column 2 (ContextTokens): '12.5' is not whole"},
	{AZURE "2023-11-16 18:17:03,1000000001,1\n", NULL, "'1000000001' is too large"},
	{AZURE "2023-11-16 18:17:03,99999999999999999999999,1\n", NULL, "is too large"},
	{AZURE "2023-11-16 18:17:03,0x10,1\n", NULL, "'0x10' is not a number"},
	{AZURE "2023-11-16 18:17:03,1e400,1\n", NULL, "'1e400' is too large"},
	{AZURE "1700158623,12,5\n", NULL,
	 "bad:2: column 1 (TIMESTAMP): '1700158623' is not a timestamp: expected one such as"},
	{AZURE "2023-02-30 18:17:03,12,5\n", NULL, "column 1 (TIMESTAMP): '2023-02-30 18:17:03'"},
	{AZURE "2270-01-01 00:00:00,12,5\n", NULL, "is too large: expected one such as"},
	{AZURE "1969-12-31 23:59:59,12,5\n", NULL, "is too large: expected one such as"},
	{AZURE "1970-01-01 00:00:00+01:00,12,5\n", NULL, "is negative: expected one such as"},
	{AZURE "2023-11-16 18:17:03,\"12,5\n", NULL,
	 "bad:2: a quote that is opened here is never closed"},
	{AZURE "2023-11-16 18:17:03,1\"2,5\n", NULL, "bad:2: column 2: a quote in a wrong place"},
	{OURS "0,1,1\r2,1,1\n", NULL, "bad:2: column 4: the row has 5 columns, expected 3"},
	{OURS "-1,1,1\n", NULL,
	 "column 1 (arrive_s): '-1' is negative: expected a time in seconds"},
	{OURS "nan,1,1\n", NULL, "column 1 (arrive_s): 'nan' is not a number: expected a time"},
	{OURS "inf,1,1\n", NULL, "column 1 (arrive_s): 'inf' is not a number: expected a time"},
	{OURS "6307200001,1,1\n", NULL,
	 "'6307200001' is too large: expected a time in seconds, 0 to 200"},
	{OURS "5,1,1\n4,1,1\n", NULL, "bad:3: arrives 1 s before the row of line 2"},
	{"{\"timestamp\": 0\n", NULL, "bad:1: column 15: not valid JSON"},
	{MOON("") "[1,2]\n", NULL, "bad:2: column 1: expected a JSON object in braces"},
	{MOON("") "{} {}\n", NULL, "bad:2: column 4: not valid JSON"},
	{MOON("") "{}\n", NULL, "bad:2: field timestamp: is missing"},
	{"{\"time\": 0}\n", NULL, "bad:1: field timestamp: is missing: expected timestamp (ms) or"},
	{"{\"timestamp\": 0, \"output_length\": 5}\n", NULL,
	 "bad:1: field input_length: is missing"},
	{"{\"timestamp\": 0, \"input_length\": 5}\n", NULL,
	 "bad:1: field output_length: is missing"},
	{"{\"timestamp\": -1, \"input_length\": 5, \"output_length\": 1}\n", NULL,
	 "bad:1: field timestamp: '-1' is negative: expected a time in milliseconds"},
	{"{\"timestamp\": 0, \"input_length\": null, \"output_length\": 1}\n", NULL,
	 "bad:1: field input_length: expected a number"},
	{"{\"timestamp\": 0, \"input_length\": 5, \"input_length\": 6, \"output_length\": 1}\n",
	 NULL, "duplicate object key"},
	{"{\"timestamp\": 1e400, \"input_length\": 5, \"output_length\": 1}\n", NULL,
	 "bad:1: column 19: not valid JSON"},
	{"{\"timestamp\": 0, \"input_length\": 5, \"output_length\": \"\\u0000\"}\n", NULL,
	 "not valid JSON"},
	{MOON(", \"chat_id\": 159"), NULL, "bad:1: field chat_id: is not part of this format"},
	/* case 4 */
	{MOON(", \"hash_ids\": [1, 2]"), NULL,
	 "bad:1: field hash_ids: 2 ids for 20 prompt tokens: expected 1, one a block"},
	{MOON(", \"hash_ids\": []"), NULL, "0 ids for 20 prompt tokens: expected 1"},
	{MOON(", \"hash_ids\": 7"), NULL, "field hash_ids: expected an array of whole numbers"},
	{MOON(", \"hash_ids\": [1.5]"), NULL, "field hash_ids: expected an array of whole numbers"},
	{MOON(", \"hash_ids\": [18446744073709551616]"), NULL, "too big integer"},
	{"{\"arrival_time_ns\":0,\"input_length\":31,\"output_length\":1,\"hash_ids16\":[1,2]}\n",
	 NULL, "field hash_ids16: 2 ids for 31 prompt tokens: expected 1, one a full block of 16"},
	{"0,1\n", BY_NUMBER, "bad:1: --columns names column 3, the file has 2"},
	{"a,b,c\n0,1,2\n", "arrival=a,prompt=B,output=c", "unknown column of "},
	{"0,1,2\n0,x,2\n", BY_NUMBER, "bad:2: column 2: 'x' is not a number"},
	{"0,x,2\n", BY_NUMBER, "bad:1: column 2: 'x' is not a number"},
	{"0,1,2\n2023-11-16 18:17:03,1,2\n", BY_NUMBER,
	 "bad:2: column 1: '2023-11-16 18:17:03' is not a number"},
	{"{\"a\":0}\n", BY_NUMBER, "the fields of JSON lines have names, not numbers"},
	{"{\"a\":0}\n", "arrival=a,prompt=b,output=c", "bad:1: field b: is missing"},
};

static void malformed_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = {"untouched"};
		struct rows r;
		struct trace_spec spec = {.source = testing_file("bad", cases[i].content),
					  .columns = cases[i].columns};
		assert_refused(read_rows(&spec, &r, &e), e, cases[i].part);
		assert_null(strchr(e.text, '\n'));
	}
}

static void nul_bytes(void **state)
{
	(void)state;
	struct err e;
	struct rows r;
	static const char in_row[] = OURS "0,1,2\n1,\0,2\n", utf16[] = "\xff\xfe"
								       "a\0r\0r\0";
	struct trace_spec spec = {.source = bytes_file("nul", in_row, sizeof(in_row) - 1)};
	assert_refused(read_rows(&spec, &r, &e), e, "nul:3: byte 3 is NUL: expected a text file");
	spec.source = bytes_file("utf16", utf16, sizeof(utf16) - 1);
	assert_refused(read_rows(&spec, &r, &e), e, "utf16:1: byte 4 is NUL");
}

static void over_long_line(void **state)
{
	(void)state;
	enum { SIZE = (16 << 20) + 100 };
	char *text = xmalloc(SIZE);
	struct err e;
	struct rows r;
	memset(text, 'x', SIZE);
	struct trace_spec spec = {.source = bytes_file("long", text, SIZE)};
	assert_refused(read_rows(&spec, &r, &e), e, "long:1: a line of more than 16 MiB");
	text[SIZE - 1] = '\n';
	text[0] = 'a';
	text[1] = '\n';
	spec.source = bytes_file("long", text, SIZE);
	spec.columns = BY_NUMBER;
	assert_refused(read_rows(&spec, &r, &e), e, "long:1: --columns names column 2");
	for (size_t i = 0; i < strlen(OURS); i++)
		text[i] = OURS[i];
	spec.source = bytes_file("long", text, SIZE);
	spec.columns = NULL;
	assert_refused(read_rows(&spec, &r, &e), e, "long:2: a line of more than 16 MiB");
	free(text);
}

static void no_such_file(void **state)
{
	(void)state;
	struct err e;
	struct rows r;
	struct trace_spec spec = {.source = testing_path("missing")};
	assert_refused(read_rows(&spec, &r, &e), e, "missing: No such file or directory");
	spec.source = testing_path("");
	assert_refused(read_rows(&spec, &r, &e), e, "is a directory: expected a trace file");
	spec.source = testing_path("fifo");
	assert_int_equal(mkfifo(spec.source, 0600), 0);
	assert_refused(read_rows(&spec, &r, &e), e, "not a regular file: a pipe is given as \"-\"");
}

enum { PACKED_MAX = 1 << 16 };

static size_t pack_gzip(const char *text, unsigned char out[PACKED_MAX])
{
	z_stream z = {0};
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)(uintptr_t)text;
	z.avail_in = (unsigned)strlen(text);
	z.next_out = out;
	z.avail_out = PACKED_MAX;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	size_t size = PACKED_MAX - z.avail_out;
	deflateEnd(&z);
	return size;
}

static size_t pack_zstd(const char *text, unsigned char out[PACKED_MAX])
{
	size_t n = ZSTD_compress(out, PACKED_MAX, text, strlen(text), 3);
	assert_false(ZSTD_isError(n));
	return n;
}

/* 40 rows whose text is larger packed or not than the first bytes that tell the format. */
static void make_text(char text[4096])
{
	char *p = text + sprintf(text, OURS);
	for (int i = 0; i < 40; i++)
		p += sprintf(p, "%d.%09d,%d,%d\n", i, i * 7919 % 1000, i * 31 % 17 + 1, i + 1);
}

static void packed_files(void **state)
{
	(void)state;
	static const struct {
		size_t (*pack)(const char *text, unsigned char out[PACKED_MAX]);
		const char *cut_short, *damaged;
	} kinds[] = {
		{pack_gzip, "the gzip data end too early", "damaged gzip data"},
		{pack_zstd, "the Zstandard data end too early", "damaged Zstandard data"},
	};
	static unsigned char packed[PACKED_MAX];
	char text[4096];
	make_text(text);
	for (size_t k = 0; k < 2; k++) {
		struct err e;
		struct rows r;
		size_t n = kinds[k].pack(text, packed);
		struct trace_spec spec = {.source = bytes_file("packed", packed, n)};
		assert_fine(read_rows(&spec, &r, &e), e);
		assert_i64(r.counts.rows, 40);
		assert_i64(r.counts.output_tok, 820);
		for (size_t cut = 4; cut < n; cut += 1 + n / 50) { /* wherever it is cut */
			spec.source = bytes_file("packed", packed, cut);
			assert_refused(read_rows(&spec, &r, &e), e, kinds[k].cut_short);
		}
		/* Two packed parts one after the other are one file. */
		size_t m = kinds[k].pack("40,1,1\n", packed + n);
		spec.source = bytes_file("packed", packed, n + m);
		assert_fine(read_rows(&spec, &r, &e), e);
		assert_i64(r.counts.rows, 41);
		memset(packed + n, 'x', 12);
		spec.source = bytes_file("packed", packed, n + 12);
		assert_refused(read_rows(&spec, &r, &e), e, kinds[k].damaged);
	}
}

/* As gzip does: zeros up to the end, whatever their number, are no part of the text. */
static void zeros_behind_gzip(void **state)
{
	(void)state;
	static const size_t zeros[] = {1, 7, 512, 200000};
	unsigned char *packed = xcalloc(1, PACKED_MAX + 200001);
	char text[4096];
	make_text(text);
	size_t n = pack_gzip(text, packed);
	for (size_t i = 0; i < sizeof(zeros) / sizeof(zeros[0]); i++) {
		struct err e;
		struct rows r;
		memset(packed + n, 0, zeros[i]);
		struct trace_spec spec = {.source = bytes_file("padded", packed, n + zeros[i])};
		assert_fine(read_rows(&spec, &r, &e), e);
		assert_i64(r.counts.rows, 40);
		packed[n + zeros[i]] = 'x';
		spec.source = bytes_file("padded", packed, n + zeros[i] + 1);
		assert_refused(read_rows(&spec, &r, &e), e, "gzip data");
	}
	free(packed);
}

/* Much more text than any buffer, from few packed bytes. */
static void packed_much(void **state)
{
	(void)state;
	enum { LINES = 200000 };
	char *text = xmalloc(LINES * 8 + 100), *p = text + sprintf(text, OURS);
	for (int i = 0; i < LINES; i++)
		p += sprintf(p, "1,10,3\n");
	size_t bound = ZSTD_compressBound((size_t)(p - text));
	char *packed = xmalloc(bound);
	size_t n = ZSTD_compress(packed, bound, text, (size_t)(p - text), 3);
	struct err e;
	struct trace_row row;
	struct trace_spec spec = {.source = bytes_file("much", packed, n)};
	struct trace *t = trace_open(&spec, &e);
	assert_non_null(t);
	int more;
	while ((more = trace_next(t, &row, &e)) > 0)
		;
	assert_fine(more, e);
	assert_i64(trace_counts(t)->rows, LINES);
	assert_i64(trace_counts(t)->output_tok, 3 * LINES);
	trace_close(t);
	free(packed);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(malformed_text), cmocka_unit_test(nul_bytes),
		cmocka_unit_test(over_long_line), cmocka_unit_test(no_such_file),
		cmocka_unit_test(packed_files),	  cmocka_unit_test(zeros_behind_gzip),
		cmocka_unit_test(packed_much),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
