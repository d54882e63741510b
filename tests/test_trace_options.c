/* Options that say which rows become requests and when they arrive, from the outside. */
#include "tests/stored.h"
#include "tests/testing.h"
#include <string.h>

#define BURST "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
#define ON    "-p paged -x fixed:step_ns=1000000 --kv-blocks 1000"

/* A run into a new database; what it printed on stderr, and the row of the settings by `sql`. */
static void check_stored(const char *args, const char *said, const char *columns, const char *want)
{
	char sql[512];
	const char *db = testing_path("stored.db");
	remove(db);
	struct run_output o = testing_run("run %s " ON " --db %s", args, db);
	assert_exit(o, 0);
	if (said && !strstr(o.err, said))
		fail_msg("'%s' is not in: %s", said, o.err);
	testing_run_free(&o);
	snprintf(sql, sizeof(sql), "select %s from run", columns);
	char *got = stored_query(db, sql);
	assert_string_equal(got, want);
	free(got);
}

/* case 2 */
static void zero(void **state)
{
	(void)state;
	char args[600];
	const char *burst = testing_file("burst", BURST "0,m,9,5,14,API log\n1,m,9,0,9,API log\n"
							"2,m,9,7,16,API log\n3,m,0,0,0,API log\n");
	static const char columns[] =
		"trace_format, zero, trace_rows, skipped_zero, clamped_zero, skipped_zero_prompt";
	check_stored(burst, "2 rows without output tokens skipped", columns,
		     "burstgpt-csv|skip|2|2|0|0");
	snprintf(args, sizeof(args), "%s --zero clamp", burst);
	check_stored(args, "1 rows without output tokens given one", columns,
		     "burstgpt-csv|clamp|3|0|1|1");
	struct run_output o = testing_run("run %s --zero error " ON, burst);
	assert_exit(o, 1);
	assert_string_equal(o.out, "");
	assert_non_null(strstr(o.err, "burst:3: output tokens are 0"));
	testing_run_free(&o);
}

static void arrivals_and_sessions(void **state)
{
	(void)state;
	char args[600];
	const char *lengths = testing_file("lengths", "num_prefill_tokens,num_decode_tokens\n9,5\n"
						      "9,1\n2,2\n");
	static const char columns[] = "trace_format, arrivals, cv, rate_rps, sessions";
	snprintf(args, sizeof(args), "%s --arrivals gamma --cv 2 --rate 4", lengths);
	check_stored(args, NULL, columns, "lengths-csv|gamma|2.0|4.0|closed");
	snprintf(args, sizeof(args), "%s --rate inf --sessions open", lengths);
	check_stored(args, "3 rows over 0 s", columns, "lengths-csv|||Inf|open");
	const char *turns =
		testing_file("turns", "arrive_s,prompt_tok,output_tok,session,service_s\n"
				      "0,1,1,a,4\n3,1,1,a,1\n9,1,1,b,\n");
	check_stored(turns, "1 turns were recorded before the one before them had ended",
		     "session_count, overlapping_turns, unknown_parents", "2|1|0");
	const char *moon = testing_file("moon", "{\"timestamp\": 0, \"input_length\": 31, "
						"\"output_length\": 5, \"hash_ids\": [1]}\n");
	snprintf(args, sizeof(args), "%s --hash-block 16 --hash-rule floor", moon);
	check_stored(args, NULL, "hash_block, hash_rule", "16|floor");
}

static void wrong_usage(void **state)
{
	(void)state;
	static const struct {
		const char *args, *part;
	} cases[] = {
		{"run %s --zero 1 " ON,
		 "unknown --zero '1', nearest is 'skip'; valid: skip, clamp"},
		{"run %s --hash-rule round " ON, "unknown --hash-rule 'round'"},
		{"run %s --arrivals poisson " ON, "--arrivals poisson needs --rate"},
		{"run %s --arrivals uniform --rate 2 " ON, "unknown --arrivals 'uniform'"},
		{"run %s --arrivals poisson --rate 2 --cv 3 " ON,
		 "--cv is the spread of --arrivals gamma"},
		{"run %s --cv 3 " ON, "--cv is the spread of --arrivals gamma"},
		{"run %s --arrivals poisson --speed 2 " ON, "--speed is for those recorded"},
		{"run %s --sessions maybe " ON, "--sessions 'maybe' is neither closed nor open"},
		{"trace info %s --arrivals poisson", "--arrivals poisson needs --rate"},
		{"trace convert %s --zero 0", "unknown --zero '0'"},
		{"trace convert %s -f xml", "unknown format 'xml'"},
	};
	const char *trace = testing_file("one", "arrive_s,prompt_tok,output_tok\n0,1,1\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char line[400];
		const char *at = strstr(cases[i].args, "%s");
		snprintf(line, sizeof(line), "%.*s%s%s", (int)(at - cases[i].args), cases[i].args,
			 trace, at + 2);
		struct run_output o = testing_run("%s", line);
		assert_exit(o, 2);
		assert_string_equal(o.out, "");
		if (!strstr(o.err, cases[i].part))
			fail_msg("'%s' is not in: %s", cases[i].part, o.err);
		testing_run_free(&o);
	}
}

/* case 31: exact, on the published trace. */
static void prefix_share(void **state)
{
	(void)state;
	shared_or_skip(path, "traces/mooncake_conversation_trace.jsonl");
	struct run_output o = testing_run("trace info %s", path);
	assert_exit(o, 0);
	assert_non_null(
		strstr(o.out, "prefix share   54063104 of 144793823 prompt tokens, 37.34 %"));
	testing_run_free(&o);
}

/* At least one token is computed: 16 of 17 tokens, none of 16. */
static void prefix_share_by_hand(void **state)
{
	(void)state;
	const char *path = testing_file("ids", "{\"arrival_time_ns\":0,\"input_length\":17,"
					       "\"output_length\":1,\"hash_ids16\":[1]}\n"
					       "{\"arrival_time_ns\":1,\"input_length\":17,"
					       "\"output_length\":1,\"hash_ids16\":[1]}\n"
					       "{\"arrival_time_ns\":2,\"input_length\":16,"
					       "\"output_length\":1,\"hash_ids16\":[1]}\n"
					       "{\"arrival_time_ns\":3,\"input_length\":33,"
					       "\"output_length\":1,\"hash_ids16\":[2,1]}\n"
					       "{\"arrival_time_ns\":4,\"input_length\":40,"
					       "\"output_length\":1,\"hash_ids16\":[1,2]}\n");
	struct run_output o = testing_run("trace info %s", path);
	assert_exit(o, 0);
	assert_non_null(strstr(o.out, "prefix share   48 of 123 prompt tokens, 39.02 %"));
	testing_run_free(&o);
}

static void info_says_what_there_is(void **state)
{
	(void)state;
	const char *path = testing_file(
		"rag", "{\"timestamp\": \"604000\", \"input_length\": 1, \"output_length\": 2, "
		       "\"session_id\": \"a\", \"hash_ids\": {}}\n"
		       "{\"timestamp\": \"1\", \"input_length\": 1, \"output_length\": 2, "
		       "\"session_id\": \"b\"}\n\n");
	struct run_output o = testing_run("trace info %s", path);
	assert_exit(o, 0);
	static const char *const parts[] = {
		"restarts       1 times the clock of the file began anew\n",
		"span           801 s\n", "hash ids       of no fixed length in 1 rows: left out\n",
		"sessions       2, 0 turns overlap the one before\n"};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strstr(o.out, parts[i]))
			fail_msg("'%s' is not in: %s", parts[i], o.out);
	testing_run_free(&o);
	path = testing_file("lengths", "num_prefill_tokens,num_decode_tokens\n9,5\n");
	o = testing_run("trace info %s", path);
	assert_exit(o, 0);
	assert_non_null(strstr(o.out, "span           no arrivals, only lengths\n"));
	testing_run_free(&o);
	o = testing_run("trace convert %s", path);
	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "has lengths and no arrivals: give --arrivals poisson"));
	testing_run_free(&o);
	o = testing_run("trace convert %s -f lengths-csv", path);
	assert_exit(o, 0);
	assert_non_null(strstr(o.out, "\n9,5,14,1.8\n"));
	testing_run_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zero),
		cmocka_unit_test(arrivals_and_sessions),
		cmocka_unit_test(wrong_usage),
		cmocka_unit_test(prefix_share),
		cmocka_unit_test(prefix_share_by_hand),
		cmocka_unit_test(info_says_what_there_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
