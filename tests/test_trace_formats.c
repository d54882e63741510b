/* Formats of published traces, by hand: what each of their fields becomes. */
#include "tests/rows.h"
#include <math.h>

#define BURST "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
#define BURST_3                                                                                    \
	"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log " \
	"Type\n"

static void read_fine(const struct trace_spec *spec, struct rows *r, const char *format)
{
	struct err e;
	assert_fine(read_rows(spec, r, &e), e);
	assert_string_equal(r->format, format);
}

/* case 2: 5, 0, 7 output tokens. */
static void burstgpt(void **state)
{
	(void)state;
	struct rows r;
	struct err e;
	struct trace_spec spec = {.source = testing_file("burst", BURST
							 "5,ChatGPT,472,5,477,Conversation log\n"
							 "45,ChatGPT,20,0,20,API log\n"
							 "118,GPT-4,417,7,424,API log\n")};
	read_fine(&spec, &r, "burstgpt-csv");
	assert_i64(r.counts.rows, 2);
	assert_i64(r.counts.skipped_zero, 1);
	assert_i64(r.counts.clamped_zero, 0);
	assert_i64(r.row[1].arrive_ns, INT64_C(113000000000));
	assert_i64(r.row[1].prompt_tok, 417);
	assert_i64(r.row[1].session, 0);
	spec.zero = TRACE_ZERO_CLAMP;
	read_fine(&spec, &r, "burstgpt-csv");
	assert_i64(r.counts.rows, 3);
	assert_i64(r.counts.clamped_zero, 1);
	assert_i64(r.row[1].output_tok, 1);
	assert_i64(r.counts.output_tok, 13);
	spec.zero = TRACE_ZERO_ERROR;
	assert_refused(read_rows(&spec, &r, &e), e, "burst:3: output tokens are 0: --zero error");
}

/* A failed call with a prompt of 0 tokens is no request, whatever its output is made. */
static void failed_calls_without_prompt(void **state)
{
	(void)state;
	struct rows r;
	struct err e;
	struct trace_spec spec = {.source = testing_file("burst", BURST "5,m,0,0,0,API log\n"
									"6,m,0,3,3,API log\n"
									"7,m,2,1,3,API log\n"),
				  .zero = TRACE_ZERO_CLAMP};
	read_fine(&spec, &r, "burstgpt-csv");
	assert_i64(r.counts.rows, 1);
	assert_i64(r.counts.clamped_zero, 0);
	assert_i64(r.counts.skipped_zero_prompt, 2);
	spec.zero = TRACE_ZERO_ERROR;
	spec.skip = 0;
	assert_refused(read_rows(&spec, &r, &e), e, "burst:2: output tokens are 0");
}

static void names(const struct trace_spec *spec, int64_t row, char client[64], char session[64])
{
	struct err e;
	struct trace_row t;
	struct trace *trace = trace_open(spec, &e);
	assert_non_null(trace);
	for (int64_t i = 0; i <= row; i++)
		assert_i64(trace_next(trace, &t, &e), 1);
	snprintf(client, 64, "%s", trace_client_name(trace, t.client));
	snprintf(session, 64, "%s", trace_session_name(trace, t.session));
	trace_close(trace);
}

static void burstgpt_3(void **state)
{
	(void)state;
	struct rows r;
	char client[64], session[64];
	struct trace_spec spec = {
		.source = testing_file("burst3", BURST_3
				       "100.0,u-1,43,GPT-4,906,446,1352,Conversation log\n"
				       "161.0,,2,ChatGPT,36,29,65,API log\n"
				       "200.5,u-1,8.5,GPT-4,1779,123,1902,Conversation log\n")};
	read_fine(&spec, &r, "burstgpt-3-csv");
	assert_i64(r.counts.rows, 3);
	assert_i64(r.counts.sessions, 1);
	assert_i64(r.row[0].session, r.row[2].session);
	assert_i64(r.row[1].session, 0);
	assert_i64(r.row[0].service_ns, INT64_C(43000000000));
	assert_i64(r.row[2].service_ns, 8500000000);
	assert_i64(r.row[0].think_ns, -1);
	assert_i64(r.row[2].think_ns, INT64_C(57500000000)); /* 100.5 - 43 */
	names(&spec, 2, client, session);
	assert_string_equal(client, "GPT-4 Conversation log");
	assert_string_equal(session, "u-1");
	names(&spec, 1, client, session);
	assert_string_equal(client, "ChatGPT API log");
	assert_string_equal(session, "");
}

#define CHAT(id, parent, at, rest)                                                                 \
	"{\"chat_id\": " #id ", \"parent_chat_id\": " #parent ", \"timestamp\": " #at              \
	", \"input_length\": 40, \"output_length\": 4, \"type\": \"text\", \"turn\": 1" rest "}\n"

/* A session is a root and all that follows from it, over any number of steps. */
static void bailian(void **state)
{
	(void)state;
	struct rows r;
	char client[64], session[64];
	struct trace_spec spec = {
		.source = testing_file("chats", CHAT(7, -1, 0.0, ", \"hash_ids\": [1, 2, 3]") CHAT(
							9, 7, 6.125, "") CHAT(8, -1, 6.5, "")
							CHAT(10, 9, 7.25, "") CHAT(11, 99, 8, ""))};
	read_fine(&spec, &r, "bailian-jsonl");
	assert_i64(r.counts.rows, 5);
	assert_i64(r.counts.sessions, 3);
	assert_i64(r.counts.unknown_parents, 1);
	assert_i64(r.row[1].session, r.row[0].session);
	assert_i64(r.row[3].session, r.row[0].session);
	assert_true(r.row[2].session != r.row[0].session);
	assert_i64(r.row[1].arrive_ns, 6125000000);
	assert_i64(r.row[1].think_ns, 6125000000); /* service unknown: 0 */
	assert_i64(r.row[3].think_ns, 1125000000);
	assert_i64(r.row[4].think_ns, -1);
	assert_i64(r.row[0].n_hash_ids, 3); /* ceil(40 / 16) */
	names(&spec, 3, client, session);
	assert_string_equal(client, "text");
	assert_string_equal(session, "7");
	/* The root may be before the window: then its turn is not there, and the next is the first.
	 */
	spec.skip = 1;
	read_fine(&spec, &r, "bailian-jsonl");
	assert_i64(r.row[0].think_ns, -1);
	assert_i64(r.counts.unknown_parents, 1);
}

/* Ids of this format stand for a block by itself: the same block after another one is another. */
static void ids_of_blocks_become_ids_of_prefixes(void **state)
{
	(void)state;
	struct rows r;
	struct trace_spec spec = {
		.source = testing_file(
			"chats", CHAT(1, -1, 0, ", \"hash_ids\": [1, 5, 6]")
					 CHAT(2, -1, 1, ", \"hash_ids\": [2, 5, 6]")
						 CHAT(3, -1, 2, ", \"hash_ids\": [1, 5, 6]"))};
	read_fine(&spec, &r, "bailian-jsonl");
	assert_true(r.last_hash[0] != r.last_hash[1]);
	assert_true(r.last_hash[0] == r.last_hash[2]);
	spec.raw_hash_ids = true;
	read_fine(&spec, &r, "bailian-jsonl");
	assert_i64(r.last_hash[0], 6);
	assert_i64(r.last_hash[1], 6);
}

#define RAG(at, session)                                                                           \
	"{\"timestamp\": \"" #at                                                                   \
	"\", \"input_length\": 31, \"output_length\": 19, \"hash_ids\": {\"sys_prompt\": [8, "     \
	"14], \"history\": []}, \"session_id\": \"" session "\"}\n"

/* Two weeks, each from 0, and a blank line at the end. */
static void ragpulse(void **state)
{
	(void)state;
	struct rows r;
	struct err e;
	struct trace_spec spec = {
		.source = testing_file("rag", RAG(82, "a") RAG(604603, "b") RAG(27, "a")
						      RAG(604000, "c") RAG(5, "c") "\n")};
	read_fine(&spec, &r, "ragpulse-jsonl");
	assert_i64(r.counts.rows, 5);
	assert_i64(r.counts.restarts, 2);
	assert_i64(r.counts.sessions, 3);
	assert_i64(r.counts.unusable_ids, 5);
	assert_null(r.row[0].hash_ids);
	assert_i64(r.row[2].arrive_ns, INT64_C(604745000000000)); /* 604800 + 27 - 82 */
	assert_i64(r.row[4].arrive_ns, INT64_C(1209523000000000));
	/* Less than half a week back is no new week. */
	spec.source = testing_file("rag", RAG(302400, "a") RAG(1, "b"));
	assert_refused(read_rows(&spec, &r, &e), e, "rag:2: arrives 302399 s before");
	spec.sort = true;
	read_fine(&spec, &r, "ragpulse-jsonl");
	assert_i64(r.counts.restarts, 0);
	assert_i64(r.row[1].arrive_ns, INT64_C(302399000000000));
}

static void lengths_alone(void **state)
{
	(void)state;
	struct rows r;
	struct err e;
	struct trace_spec spec = {
		.source = testing_file("lengths",
				       "num_prefill_tokens,num_decode_tokens,num_total_tokens,"
				       "pd_ratio\n74,918,992,0.08\n290,905,1195,0.32\n5,0,5,inf\n"
				       "41,950,991,0.04\n")};
	assert_refused(read_rows(&spec, &r, &e), e,
		       "lengths: has lengths and no arrivals: give --arrivals poisson --rate R");
	spec.speed = 2;
	assert_refused(read_rows(&spec, &r, &e), e, "has lengths and no arrivals");
	spec.speed = 0;
	spec.rate_rps = 4;
	assert_refused(read_rows(&spec, &r, &e), e, "has lengths and no arrivals");
	spec.arrivals = "constant";
	read_fine(&spec, &r, "lengths-csv");
	assert_i64(r.counts.rows, 3);
	assert_i64(r.counts.skipped_zero, 1); /* takes no arrival with it */
	assert_i64(r.row[1].arrive_ns, 250000000);
	assert_i64(r.row[2].arrive_ns, 500000000);
	spec.rate_rps = 0;
	spec.rate_inf = true;
	read_fine(&spec, &r, "lengths-csv");
	assert_i64(r.row[2].arrive_ns, 0);
	spec.rate_inf = false;
	assert_refused(read_rows(&spec, &r, &e), e, "--arrivals constant needs a rate, or inf");
	spec.arrivals = "bursty";
	spec.rate_rps = 1;
	assert_refused(read_rows(&spec, &r, &e), e, "unknown --arrivals 'bursty'");
}

/* Arrivals of any trace can be drawn anew; the lengths, and what was selected, stay. */
static void arrivals_drawn(void **state)
{
	(void)state;
	enum { N = 20000 };
	char *text = xmalloc(N * 24 + 64),
	     *p = text + sprintf(text, "arrive_s,prompt_tok,output_tok\n");
	for (int i = 0; i < N; i++)
		p += sprintf(p, "%d,%d,2\n", 10 * i, i + 1);
	const char *path = testing_file("even", text);
	free(text);
	static const struct {
		const char *name;
		double cv, want_cv;
	} kinds[] = {{"poisson", 0, 1},
		     {"gamma", 2, 2},
		     {"weibull", 0.5, 0.5},
		     {"gamma", 0, 1},
		     {"constant", 0, 0}};
	uint64_t hash = 0;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct trace_spec spec = {.source = path,
					  .arrivals = kinds[k].name,
					  .cv = kinds[k].cv,
					  .rate_rps = 5,
					  .seed = 3,
					  .limit = N - 1};
		struct err e;
		struct trace_row row;
		struct trace *t = trace_open(&spec, &e);
		assert_non_null(t);
		double last = 0, squares = 0;
		int64_t n = 0;
		for (; trace_next(t, &row, &e) > 0; n++) {
			assert_i64(row.prompt_tok, n + 1);
			double gap = (double)row.arrive_ns * 1e-9 - last;
			assert_true(gap >= 0);
			squares += gap * gap;
			last += gap;
		}
		double mean = last / (double)(n - 1);
		double cv = sqrt(fmax(0, squares / (double)(n - 1) / (mean * mean) - 1));
		assert_i64(n, N - 1);
		/* the standard error of the mean gap is cv / sqrt(N) = 0.7 % of it a unit of cv */
		assert_near(mean * 5, 1, 4 * kinds[k].want_cv / sqrt(N) + 1e-9);
		assert_near(cv, kinds[k].want_cv, 0.05 * kinds[k].want_cv + 1e-6);
		/* the hash is of what was recorded */
		if (k > 0)
			assert_true(trace_counts(t)->hash == hash);
		hash = trace_counts(t)->hash;
		trace_close(t);
	}
}

#define VLLM(rest)                                                                                 \
	"{\"date\": \"20260101-000000\", \"num_prompts\": 3, \"request_throughput\": 2.5, "        \
	"\"input_lens\": [12, 30, 7], \"output_lens\": [5, 0, 9]" rest "}"

static void vllm_result(void **state)
{
	(void)state;
	struct rows r;
	struct err e;
	struct trace_spec spec = {
		.source = testing_file("vllm",
				       VLLM(", \"start_times\": [1000.25, 1000.5, 1003.125], "
					    "\"itls\": [[0.01], [], [0.1]], \"errors\": "
					    "[\"\", \"refused\", \"\"], "
					    "\"generated_texts\": [\"\\u0000\", \"\", \"\"]"))};
	read_fine(&spec, &r, "vllm-json");
	assert_i64(r.counts.rows, 2);
	assert_i64(r.counts.skipped_zero, 1);
	assert_i64(r.row[1].arrive_ns, 2875000000);
	assert_i64(r.row[1].prompt_tok, 7);
	assert_i64(r.row[1].output_tok, 9);
	assert_i64(r.row[1].line, 3); /* the request's number */
	spec.zero = TRACE_ZERO_ERROR;
	assert_refused(read_rows(&spec, &r, &e), e, "vllm:2: output tokens are 0");
	/* Before there were start_times; over several lines. */
	spec.zero = TRACE_ZERO_CLAMP;
	spec.source =
		testing_file("vllm", "\n{\n \"request_throughput\": 2.5,\n \"input_lens\": [\n"
				     "12, 30, 7], \"output_lens\": [5,\n0, 9]}\n");
	assert_refused(read_rows(&spec, &r, &e), e, "vllm: has lengths and no arrivals");
	spec.rate_inf = true;
	read_fine(&spec, &r, "vllm-json");
	assert_i64(r.counts.rows, 3);
	assert_i64(r.row[1].output_tok, 1);
}

/* More text than the first bytes that tell the format, and than a line may have. */
static void long_vllm_result(void **state)
{
	(void)state;
	enum { TEXT = 17 << 20 };
	char *text = xmalloc(TEXT + 1000);
	char *p = text + sprintf(text, "{\"request_throughput\": 1, \"generated_texts\": [\"");
	memset(p, 'x', TEXT);
	p += TEXT;
	p += sprintf(p, "\"], \"input_lens\": [3], \"output_lens\": [4], \"start_times\": [7]}\n");
	struct rows r;
	struct trace_spec spec = {.source = bytes_file("vllm", text, (size_t)(p - text))};
	read_fine(&spec, &r, "vllm-json");
	assert_i64(r.row[0].output_tok, 4);
	free(text);
}

/* Our own columns in any order, and those of others by name and number. */
static void all_columns(void **state)
{
	(void)state;
	struct rows r;
	char client[64], session[64];
	static const char own[] = "arrive_s,prompt_tok,output_tok,session,client,max_tok,priority,"
				  "service_s\n0,12,3,s1,\"a, b\",,2,1.5\n0.5,7,1,,,9,,\n"
				  "4.25,20,2,s1,c,64,-3,0.125\n";
	struct trace_spec spec = {.source = testing_file("own", own)};
	for (int i = 0; i < 2; i++) {
		read_fine(&spec, &r, i == 0 ? "csv" : "columns-csv");
		assert_i64(r.counts.rows, 3);
		assert_i64(r.row[0].priority, 2);
		assert_i64(r.row[1].priority, 0);
		assert_i64(r.row[2].priority, -3);
		assert_i64(r.row[1].max_tok, 9);
		assert_i64(r.row[2].think_ns, 2750000000); /* 4.25 - 1.5 */
		assert_i64(r.row[2].service_ns, 125000000);
		assert_i64(r.row[1].client, 0);
		names(&spec, 0, client, session);
		assert_string_equal(client, "a, b");
		assert_string_equal(session, "s1");
		spec.columns = "output=3,session=session,arrival=1,service=8,priority=7,prompt=2,"
			       "max_tokens=max_tok,client=5";
	}
	spec.columns = "arrival=t,prompt=p,output=o,session=s,client=c,priority=q,service=d,"
		       "hash_ids=h,max_tokens=m,unit=ms";
	spec.source =
		testing_file("json", "{\"t\": 0, \"p\": 9, \"o\": 1, \"s\": 12, \"c\": \"x\", "
				     "\"q\": -1, \"d\": 2.5, \"h\": [1, 2], \"m\": 4, \"z\": 0}\n"
				     "{\"t\": 3, \"p\": 9, \"o\": 1, \"s\": 12, \"m\": null}\n");
	struct err e;
	assert_refused(read_rows(&spec, &r, &e), e, "hash_ids needs --hash-block");
	spec.hash_block = 5;
	read_fine(&spec, &r, "columns-jsonl");
	assert_i64(r.row[0].service_ns, 2500000);
	assert_i64(r.row[0].priority, -1);
	assert_i64(r.row[0].max_tok, 4);
	assert_i64(r.last_hash[0], 2);
	assert_i64(r.row[1].think_ns, 500000);
	names(&spec, 0, client, session);
	assert_string_equal(client, "x");
	assert_string_equal(session, "12");
	spec.hash_rule = TRACE_HASH_FLOOR;
	assert_refused(read_rows(&spec, &r, &e), e,
		       "json:1: field h: 2 ids for 9 prompt tokens: "
		       "expected 1, one a full block of 5 tokens");
}

/* 64 bits, signed or not, are the same id. */
static void wide_ids(void **state)
{
	(void)state;
	struct rows r;
	struct err e;
	struct trace_spec spec = {
		.source = testing_file(
			"wide", "{\"timestamp\": 0, \"input_length\": 1500, \"output_length\": 5, "
				"\"hash_ids\": "
				"[9223372036854775807,9223372036854775808, 18446744073709551615]}\n"
				"{\"timestamp\": 0, \"input_length\": 15, \"output_length\": 5, "
				"\"hash_ids\": "
				"[-1]}\n")};
	read_fine(&spec, &r, "mooncake-jsonl");
	assert_true(r.last_hash[0] == UINT64_MAX);
	assert_true(r.last_hash[1] == UINT64_MAX);
	static const char *const beyond[] = {"18446744073709551616", "-9223372036854775809", "1e3",
					     "09223372036854775808", "9223372036854775808.5"};
	for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		char text[256];
		snprintf(text, sizeof(text),
			 "{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 5, "
			 "\"hash_ids\": [%s]}\n",
			 beyond[i]);
		spec.source = testing_file("wide", text);
		assert_refused(read_rows(&spec, &r, &e), e, "wide:1: ");
	}
	/* Only ids: a length beyond the range is no other number. */
	spec.source =
		testing_file("wide", "{\"timestamp\": 0, \"input_length\": 18446744073709551615, "
				     "\"output_length\": 5}\n");
	assert_refused(read_rows(&spec, &r, &e), e, "too big integer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(burstgpt),
		cmocka_unit_test(failed_calls_without_prompt),
		cmocka_unit_test(burstgpt_3),
		cmocka_unit_test(bailian),
		cmocka_unit_test(ids_of_blocks_become_ids_of_prefixes),
		cmocka_unit_test(ragpulse),
		cmocka_unit_test(lengths_alone),
		cmocka_unit_test(arrivals_drawn),
		cmocka_unit_test(vllm_result),
		cmocka_unit_test(long_vllm_result),
		cmocka_unit_test(all_columns),
		cmocka_unit_test(wide_ids),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
