/*
 * One hand-made file of every format (tests/corpus/trace) through `run`: what it was taken for, and
 * every count that is stored. Each request needs one step a token at 1 ms.
 */
#include "tests/stored.h"
#include <unistd.h>

struct file {
	const char *name, *args;
	/* format, rows, skipped without output, left out; sessions, overlapping, unknown parents */
	const char *counts;
	/* completed, prompt tokens, output tokens; the last arrival, ns */
	const char *served;
};

static const struct file files[] = {
	{"azure-2023.csv", "", "azure-csv|2|0|0|0|0|0", "2|798|18|52000000"},
	{"azure-2024.csv", "--sort", "azure-csv|2|0|0|0|0|0", "2|4561|11|7199009930000"},
	{"burstgpt.csv", "", "burstgpt-csv|2|1|0|0|0|0", "2|57|41|40000000000"},
	{"burstgpt.csv", "--zero clamp", "burstgpt-csv|3|0|0|0|0|0", "3|67|42|40000000000"},
	/* u-1's second turn: 44 tokens and the first are done at .044, then 110.5 - 104 = 6.5 s */
	{"burstgpt-3.csv", "", "burstgpt-3-csv|3|0|0|1|0|0", "3|326|80|6544000000"},
	{"burstgpt-3.csv", "--sessions open", "burstgpt-3-csv|3|0|0|1|0|0", "3|326|80|10500000000"},
	/* chat 4 follows 3: 4 steps and 6.125 s; 9 follows 1, which is not there */
	{"bailian.jsonl", "", "bailian-jsonl|3|0|0|2|0|1", "3|76|8|7000000000"},
	{"ragpulse.jsonl", "--sessions open", "ragpulse-jsonl|3|0|0|2|0|0",
	 "3|96|29|604745000000000"},
	{"mooncake.jsonl", "", "mooncake-jsonl|2|0|0|0|0|0", "2|525|10|27000000"},
	{"ns.jsonl", "", "ns-jsonl|2|0|0|0|0|0", "2|48|10|1"},
	{"vllm.json", "", "vllm-json|2|1|0|0|0|0", "2|19|14|2875000000"},
	{"lengths.csv", "--arrivals constant --rate 2", "lengths-csv|2|0|0|0|0|0",
	 "2|103|19|500000000"},
	{"lengths.csv", "--rate inf", "lengths-csv|2|0|0|0|0|0", "2|103|19|0"},
	/* s1's second turn: 3 steps, then 4.25 - 1.5 = 2.75 s */
	{"own.csv", "", "csv|3|0|0|1|0|0", "3|39|6|2753000000"},
	{"columns.csv", "--columns arrival=when,prompt=in,output=out,client=who",
	 "columns-csv|2|0|0|0|0|0", "2|21|5|1000000000"},
};

static void check(const struct file *f)
{
	const char *db = testing_path("formats.db");
	char path[128];
	struct run_output o;

	unlink(db);
	snprintf(path, sizeof(path), "tests/corpus/trace/%s", f->name);
	o = testing_run("run %s %s -p paged -x fixed:step_ns=1e6 --db %s", testing_source(path),
			f->args, db);
	if (o.code != 0)
		fail_msg("%s %s: %s", f->name, f->args, o.err);
	testing_run_free(&o);
	print_message("%s %s\n", f->name, f->args);
	assert_query(db,
		     "SELECT trace_format, trace_rows, skipped_zero, left_out, session_count, "
		     "overlapping_turns, unknown_parents FROM run",
		     f->counts);
	assert_query(
		db,
		"SELECT count(*), sum(prompt_tok), sum(output_tok), max(arrive_ns) FROM request "
		"WHERE status = 'completed'",
		f->served);
}

static void every_format(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		check(&files[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_format)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
