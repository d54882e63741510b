/*
 * Recordings: a run of the same steps gives the same bytes, whatever its policy and its executor;
 * the file by hand; what is no recording of the run, and in what it differs.
 */
#include "sim/recording.h"
#include "tests/run_rows.h"
#include "tests/stored.h"
#include "tests/subjects.h"
#include <string.h>
#include <unistd.h>

enum { RUNS = 40 };

static const struct recording_facts some_facts = {.program = "0",
						  .policy = "paged",
						  .params = "max_seqs=256",
						  .model = "tiny",
						  .device = "a device",
						  .trace = "a trace\nof two lines",
						  .executor = "fixed",
						  .clock = "sim",
						  .kv_blocks = 1000,
						  .tp = 2,
						  .kv_bits = 8,
						  .weight_bits = 16,
						  .data_sheet = "h200"};

/* In the harness */

static char *text_of(const struct harness_options *o, const struct trace_row *row, size_t n)
{
	struct harness_result r;

	harness_run(o, row, n, &r);
	assert_fine(r.rc, r.err);
	char *text = harness_text(&r);

	harness_release(&r);
	return text;
}

/* Records the run to `path`, of a trace with hash "cafe". */
static char *record(struct harness_options *o, const struct executor *x, const char *path,
		    const struct trace_row *row, size_t n)
{
	struct recording_facts facts = some_facts;
	struct err e;
	struct recorder *to = recorder_new(path, &e);

	assert_fine(to ? 0 : -1, e);
	snprintf(facts.times, sizeof(facts.times), "%s", x->ops->times);
	snprintf(facts.notes, sizeof(facts.notes), "%s", x->notes);
	recorder_begin(to, &facts);
	o->executor = x;
	o->taken = recorder_take;
	o->taken_arg = to;
	char *text = text_of(o, row, n);

	assert_fine(recorder_commit(to, "cafe", &e), e);
	recorder_free(to);
	o->taken = NULL;
	return text;
}

static void check_run(const struct subject *s, uint64_t i, const char *path)
{
	struct random_run run;
	struct err e;

	random_run_init(&run, s, i);
	run.options.steps = true;
	char *want = record(&run.options, run.executor, path, run.row, run.n);
	struct executor *x = executor_replay_new(path, &some_facts, &e);

	assert_fine(x ? 0 : -1, e);
	run.options.executor = x;
	char *got = text_of(&run.options, run.row, run.n);

	if (strcmp(got, want) != 0)
		random_run_print(stderr, &run);
	assert_string_equal(got, want);
	assert_fine(executor_replay_end(x, "cafe", &e), e);
	executor_free(x);
	free(got);
	free(want);
	random_run_release(&run);
}

static void test_the_same_again(void **state)
{
	size_t n;
	struct subject *all = subjects_all(&n);
	const char *path = testing_path("laws.rec");

	(void)state;
	for (size_t k = 0; k < n; k++)
		for (uint64_t i = 0; i < RUNS; i++)
			check_run(&all[k], i, path);
	free(all);
}

/* By hand: a step of 100 ns and 0.5 a token of context; a chunk of which no token comes. */
static const struct trace_row two[] = {{.prompt_tok = 5, .output_tok = 3},
				       {.prompt_tok = 7, .output_tok = 3}};
enum { N_TWO = 2 };

static const char by_hand[] = "# omnibus recording 1\n"
			      "# program: 0\n"
			      "# policy: paged\n"
			      "# params: max_seqs=256\n"
			      "# model: tiny\n"
			      "# device: a device\n"
			      "# trace: a trace?of two lines\n"
			      "# executor: fixed\n"
			      "# times: fixed\n"
			      "# notes: \n"
			      "# clock: sim\n"
			      "# kv_blocks: 1000\n"
			      "# decode_kv_blocks: 0\n"
			      "# tp: 2\n"
			      "# kv_bits: 8\n"
			      "# weight_bits: 16\n"
			      "# data_sheet: h200\n"
			      "step,instance,ns,extrapolated,prefill,decode\n"
			      "1,0,100,0,0+5 0+4-,\n"
			      "2,0,103,0,4+3,5\n"
			      "3,0,107.5,0,,6 7\n"
			      "4,0,104.5,0,,8\n"
			      "# end: 4 steps, trace hash cafe\n";

static struct harness_options chunked(void)
{
	return harness_default("paged:chunk=9,max_seqs=2", NULL);
}

static struct executor *half_a_ns(void)
{
	char canon[256];
	struct err e;
	struct executor *x =
		executor_fixed_new("step_ns=100,ctx_tok_ns=0.5", canon, sizeof(canon), &e);

	assert_fine(x ? 0 : -1, e);
	return x;
}

static char *read_file(const char *path)
{
	char *text = xcalloc(1, 4096);
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	assert_true(fread(text, 1, 4095, in) > 0);
	fclose(in);
	return text;
}

static void test_the_file_by_hand(void **state)
{
	(void)state;
	const char *path = testing_path("hand.rec");
	struct harness_options o = chunked();
	struct executor *x = half_a_ns();
	char *text = record(&o, x, path, two, N_TWO), *file = read_file(path);
	struct recording_facts f;
	struct err e;

	assert_string_equal(file, by_hand);
	assert_fine(recording_load_facts(path, &f, &e), e);
	assert_string_equal(f.params, some_facts.params);
	assert_string_equal(f.times, "fixed");
	assert_i64(f.kv_blocks, 1000);
	assert_i64(f.tp, 2);
	assert_string_equal(f.data_sheet, "h200");
	free(text);
	free(file);
	executor_free(x);
}

/* What goes on is a +, and where it goes on again after a step without decodes too. */
static void test_what_goes_on(void **state)
{
	(void)state;
	const char *path = testing_path("goes_on.rec");
	const struct trace_row row[] = {{.prompt_tok = 5, .output_tok = 6},
					{.arrive_ns = 250, .prompt_tok = 7, .output_tok = 1}};
	struct harness_options o = harness_default("paged", NULL);
	struct executor *x = half_a_ns();
	char *text = record(&o, x, path, row, 2), *file = read_file(path);

	assert_non_null(strstr(file, "2,0,103,0,,5\n3,0,103.5,0,,+\n4,0,100,0,0+7,\n"
				     "5,0,104,0,,+\n6,0,104.5,0,,+\n"));
	free(text);
	free(file);
	executor_free(x);
}

/* Nothing is left of a recording that was not finished. */
static void test_abandoned(void **state)
{
	(void)state;
	const char *path = testing_path("abandoned.rec");
	struct err e;
	struct recorder *r = recorder_new(path, &e);

	assert_fine(r ? 0 : -1, e);
	recorder_begin(r, &some_facts);
	recorder_free(r);
	assert_i64(testing_count_files(path), 0);
	recorder_free(NULL);
	assert_refused(recorder_new("/nowhere/at.all", &e) ? 0 : -1, e, "/nowhere/at.all");
}

/* What could not be read again is not written. */
static void test_a_line_too_long(void **state)
{
	enum { SEQS = 1 << 20 };
	struct step_seq *seq = xcalloc(SEQS, sizeof(*seq));
	struct step step = {.seqs = seq};
	const struct step_taken taken = {.step = &step, .ns = 1};
	struct err e;
	struct recorder *r = recorder_new(testing_path("long.rec"), &e);

	(void)state;
	assert_fine(r ? 0 : -1, e);
	for (int64_t i = 0; i < SEQS; i++)
		seq[i] = (struct step_seq){
			.prior_tok = 1000000000, .new_tok = 10000, .sampled = true};
	recorder_begin(r, &some_facts);
	step.prefill_seq = SEQS * 16 / 17 - 2; /* "1000000000+10000 " is 17 bytes */
	assert_fine(recorder_take(r, &taken, &e), e);
	step.prefill_seq = SEQS;
	assert_refused(recorder_take(r, &taken, &e), e,
		       "long.rec: step 2 has 1048576 sequences: more than a line of 16 MiB holds");
	recorder_free(r);
	free(seq);
}

/* Other runs */

static void replay_refused(const char *path, const struct harness_options *like, const char *want)
{
	struct recording_facts now = some_facts;
	struct harness_options o = *like;
	struct harness_result r;
	struct err e;

	snprintf(now.policy, sizeof(now.policy), "continuous");
	snprintf(now.trace, sizeof(now.trace), "%s", "a trace?of two lines");
	struct executor *x = executor_replay_new(path, &now, &e);

	assert_fine(x ? 0 : -1, e);
	o.executor = x;
	harness_run(&o, two, N_TWO, &r);
	if (r.rc == 0)
		assert_refused(executor_replay_end(x, "cafe", &e), e, want);
	else
		assert_refused(r.rc, r.err, want);
	harness_release(&r);
	executor_free(x);
}

static void test_another_run(void **state)
{
	(void)state;
	const char *path = testing_file("other.rec", by_hand);
	struct harness_options o = chunked();

	o.policy = "paged:chunk=8,max_seqs=2";
	replay_refused(path, &o,
		       "sequence 2 of step 1 has 3 tokens after 0, recorded were 4 after 0; it was "
		       "recorded with policy paged");
	o.policy = "paged:max_seqs=1";
	replay_refused(
		path, &o,
		"step 1 has 1 prompts of 5 tokens and 0 sequences that decode, recorded were "
		"2 of 9 and 0; it was recorded with policy paged");
}

/* `from` becomes `to` in the recording; it is replayed with the same options. */
static void edited_refused(const char *from, const char *to, const char *want)
{
	char text[sizeof(by_hand) + 128];
	const char *at = strstr(by_hand, from);

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - by_hand), by_hand, to,
		 at + strlen(from));
	const struct harness_options o = chunked();

	replay_refused(testing_file("edited.rec", text), &o, want);
}

static void test_other_steps(void **state)
{
	(void)state;
	edited_refused("0+4-", "0+4", "sequence 2 of step 1 has 4 tokens after 0");
	edited_refused("6 7", "6 8",
		       "sequence 2 of step 3 has 1 tokens after 7, recorded were 1 "
		       "after 8");
	edited_refused("6 7", "6", "recorded were 0 of 0 and 1");
	edited_refused("4,0,104.5,0,,8\n", "", "there is a step 4, recorded were 3");
	edited_refused("# end: 4", "5,0,1,0,,9\n# end: 5",
		       "the run ends after step 4, more are recorded");
	edited_refused("cafe", "beef",
		       "is a recording of another trace: its hash is beef, that of "
		       "this one cafe");
}

static void test_broken_lines(void **state)
{
	(void)state;
	edited_refused("3,0,107.5", "7,0,107.5", "line 21: it is not the step that comes next");
	edited_refused("3,0,107.5", "3,0,-1", "line 21: ");
	edited_refused("3,0,107.5", "3,0,inf", "line 21: ");
	edited_refused("3,0,107.5", "3,0,1e300", "line 21: its ns must be below 4e18");
	edited_refused("3,0,107.5", "3,-1,107.5", "line 21: ");
	edited_refused("107.5,0,", "107.5,2,", "line 21: ");
	edited_refused("4+3,", "4+3", "line 20: ");
	edited_refused("4+3,", "4+,", "line 20: ");
	edited_refused("6 7", "6 x", "line 21: ");
	edited_refused("# end: 4 steps, trace hash cafe\n", "",
		       "line 23: the recording is cut off");
	edited_refused("# end: 4", "# end: 3", "line 23: expected '# end: N steps");
	edited_refused("# end: 4", "# end: 99999999999999999999", "line 23: expected '# end: ");
	edited_refused("# end: 4", "# end:  4", "line 23: expected '# end: ");
	edited_refused("hash cafe", "hash cafe!", "line 23: expected '# end: ");
	edited_refused("hash cafe", "hash ", "line 23: expected '# end: ");
	edited_refused("hash cafe\n", "hash cafe\n4,0,104.5,0,,8\n",
		       "line 24: nothing may follow the line '# end: '");
	edited_refused("hash cafe\n", "hash cafe\n\n", "line 24: nothing may follow");
}

/* All that strtod() and strtoll() take besides. */
static void test_numbers_are_plain(void **state)
{
	static const char *const ns[] = {"0x64", " 100", "+100", "nan", "100 ", "", "1e999"};
	char row[64];

	(void)state;
	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
		snprintf(row, sizeof(row), "1,0,%s,", ns[i]);
		edited_refused("1,0,100,", row, "line 19: ns: '");
	}
	edited_refused("1,0,100", "+1,0,100", "line 19: step: '+1' is not a whole number");
	edited_refused("1,0,100", "1,99999999999999999999,100", "line 19: instance: '9999");
	edited_refused("107.5,0,", "107.5,0x0,", "line 21: extrapolated: '0x0'");
	edited_refused("0+5 ", "0+5  ", "line 19: prefill: '' is not PRIOR+NEW");
	edited_refused("0+5 ", "0++5 ", "line 19: prefill, NEW: '+5' is not a whole number");
	edited_refused("6 7", "6 7 ", "line 21: decode, PRIOR: '' is not a whole number");
	edited_refused("2,0,103,0,4+3,5", "2,0,103,0,4+3,+", "line 20: decode: + goes on");
	edited_refused("2,0,103,0,4+3,5", "2,0,103", "line 20: it has 3 of the 6 columns");
}

/* A sequence has at most 2e9 tokens, so that no sum of them overflows. */
static void test_too_many_tokens(void **state)
{
	(void)state;
	edited_refused("0+5 0+4-,",
		       "9223372036854775807+9223372036854775807 "
		       "9223372036854775807+9223372036854775807,",
		       "line 19: prefill, PRIOR: '9223372036854775807' is not a whole number from "
		       "0 to 2000000000");
	edited_refused("0+5 ", "0+9223372036854775807 ", "is not a whole number from 0 to 2000000");
	edited_refused("4+3,", "4+2000000000,", "not a whole number from 0 to 1999999996");
	edited_refused("4+3,", "4+1999999996,", "recorded were 1999999996 after 4");
	edited_refused("6 7", "6 2000000001", "line 21: decode, PRIOR: '2000000001' is not");
	edited_refused(
		"3,0,107.5,0,,6 7\n4,0,104.5,0,,8", "3,0,107.5,0,,6 2000000000\n4,0,104.5,0,,+",
		"sequence 2 of step 3 has 1 tokens after 7, recorded were 1 after 2000000000");
	edited_refused("2,0,103,0,4+3,5\n3,0,107.5,0,,6 7",
		       "2,0,103,0,4+3,2000000000\n3,0,107.5,0,,+",
		       "sequence 2 of step 2 has 1 tokens after 5");
}

static void load_refused(const char *from, const char *to, const char *want)
{
	char text[sizeof(by_hand) + 128];
	const char *at = strstr(by_hand, from);
	struct recording_facts f;
	struct err e;

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - by_hand), by_hand, to,
		 at + strlen(from));
	const char *path = testing_file("facts.rec", text);

	assert_refused(recording_load_facts(path, &f, &e), e, want);
	assert_refused(executor_replay_new(path, &some_facts, &e) ? 0 : -1, e, want);
}

static void test_broken_facts(void **state)
{
	(void)state;
	load_refused("# omnibus recording 1", "# omnibus recording 2", "is no recording");
	load_refused("# clock: sim", "clock sim", "line 11: expected '# name: value'");
	load_refused("# clock: sim", "# klock: sim", "line 11: no recording of this version");
	load_refused("# executor: fixed\n", "", "no line before it says '# executor: '");
	load_refused("# clock: sim\n", "", "line 17: no line before it says '# clock: '");
	load_refused("1000", "many", "line 12: kv_blocks: 'many' is not a whole number from 0");
	load_refused("1000", "99999999999999999999999", "line 12: kv_blocks: '9999");
	load_refused("1000", "9223372036854775807", "line 12: kv_blocks: '9223");
	load_refused("1000", "-1", "line 12: kv_blocks: '-1'");
	load_refused("1000", "+1", "line 12: kv_blocks: '+1'");
	load_refused("1000", "0x10", "line 12: kv_blocks: '0x10'");
	load_refused("1000", "", "line 12: kv_blocks: ''");
	load_refused("# clock: sim\n", "# clock: sim\n# clock: sim\n",
		     "line 12: clock was given before: a recording gives it once");
	load_refused("# tp: 2\n", "# tp: 2\n# tp: 4\n", "line 15: tp was given before");
	load_refused("# clock: sim", "# clock: simulate",
		     "line 11: clock has 8 bytes: at most 7 are valid");
	load_refused("# device: a device",
		     "# policy: paged but with a name of far more bytes than any policy of this "
		     "program",
		     "line 6: policy was given before");
	load_refused("# times: fixed", "# times: guessed",
		     "times are fixed, predicted or measured");
	load_refused("step,instance,ns,extrapolated,prefill,decode\n1", "1", "line 18: ");
}

static void path_refused(const char *path, const char *want)
{
	struct recording_facts f;
	struct err e;

	assert_refused(recording_load_facts(path, &f, &e), e, want);
	assert_refused(executor_replay_new(path, &some_facts, &e) ? 0 : -1, e, want);
}

/* What never ends is not read to its end. */
static void test_no_text_file(void **state)
{
	enum { LONG = (16 << 20) + 1 };
	char *text = xmalloc(LONG + 1);

	(void)state;
	path_refused("/dev/zero", "/dev/zero is not a regular file");
	path_refused("/tmp", "/tmp is a directory: expected a recording");
	path_refused("/no/such.rec", "cannot read /no/such.rec: ");
	path_refused(testing_file("empty.rec", ""), "line 1: the recording is cut off here");
	memset(text, '#', LONG);
	text[LONG] = '\0';
	path_refused(testing_file("long.rec", text), "a line of more than 16 MiB");
	free(text);
}

/* The program */

#define RECORDED                                                                                   \
	"synth:azure-conv,n=300,seed=3 --rate 6 -m llama-3-8b -d h200 --slo ttft=1,tpot=0.05 "

static void blank(const char *db)
{
	free(stored_query(db, "UPDATE run SET executor = '', executor_params = '', started = '', "
			      "wall_s = 0"));
}

static void assert_same_rows(const char *one, const char *other)
{
	static const char *const tables[] = {"run",    "metric", "request",
					     "sample", "step",	 "histogram"};

	blank(one);
	blank(other);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		char sql[64];

		snprintf(sql, sizeof(sql), "SELECT * FROM %s", tables[i]);
		char *a = stored_query(one, sql), *b = stored_query(other, sql);

		assert_true(strlen(a) > 0);
		assert_string_equal(a, b);
		free(a);
		free(b);
	}
}

/* What is predicted is recorded as such, with what is to be said of it; the host's time is in it.
 */
static void test_the_program(void **state)
{
	static const char *const policies_of_it[] = {
		"static:size=4,wait=1", "continuous", "paged:preempt=swap",
		"paged:chunk=512,host_us=300,async=1", "disaggregated"};

	(void)state;
	for (size_t i = 0; i < sizeof(policies_of_it) / sizeof(policies_of_it[0]); i++) {
		const char *rec = testing_path("program.rec"),
			   *db[] = {testing_path("one.db"), testing_path("two.db")};
		unlink(db[0]);
		unlink(db[1]);
		struct run_output a = testing_run("run " RECORDED "-p %s -o csv --steps --db %s "
						  "--record %s",
						  policies_of_it[i], db[0], rec);

		assert_exit(a, 0);
		struct run_output b = testing_run("run " RECORDED "-p %s -o csv --steps --db %s "
						  "-x replay:%s",
						  policies_of_it[i], db[1], rec);

		assert_exit(b, 0);
		assert_string_equal(a.out, b.out);
		assert_non_null(strstr(a.out, "predicted"));
		assert_query(db[1], "SELECT executor FROM run", "replay");
		assert_same_rows(db[0], db[1]);
		testing_run_free(&a);
		testing_run_free(&b);
	}
}

/* The pool and the device are the recorded ones where nothing else is said. */
static void test_without_the_device(void **state)
{
	(void)state;
	const char *rec = testing_path("device.rec"), *db = testing_path("device.db");
	struct run_output a = testing_run("run " RECORDED "-p paged -o csv --record %s", rec);

	assert_exit(a, 0);
	struct run_output b =
		testing_run("run synth:azure-conv,n=300,seed=3 --rate 6 -m llama-3-8b "
			    "--slo ttft=1,tpot=0.05 -p paged -o csv --db %s "
			    "-x replay:%s",
			    db, rec);

	assert_exit(b, 0);
	assert_string_equal(a.out, b.out);
	assert_query(db, "SELECT device, clock, kv_blocks > 0 FROM run", "h200|sim|1");
	testing_run_free(&a);
	testing_run_free(&b);
}

/* Times of one model on one device are not those of another, and rows say whose they are. */
static void test_whose_times(void **state)
{
	static const char *const other[][2] = {
		{"-m llama-3-70b", "-m is llama-3-70b, and "},
		{"-m llama-3-70b", "was recorded with llama-3-8b: leave it out"},
		{"-d h100", "-d is h100, and "},
		{"--tp 1", "--tp is 1, and "},
		{"--tp 1", "was recorded with 2: leave it out"},
		{"--kv-bits 16", "--kv-bits is 16, and "},
		{"--weight-bits 16", "--weight-bits is 16, and "},
	};
	const char *rec = testing_path("whose.rec");
	const char *trace = "synth:constant,n=9 --rate 6 -p paged -o csv";
	struct run_output a = testing_run("run %s -m llama-3-8b -d h200 --tp 2 --kv-bits 8 "
					  "--weight-bits 8 --record %s",
					  trace, rec);

	(void)state;
	assert_exit(a, 0);
	struct run_output b = testing_run("run %s -x replay:%s", trace, rec);

	assert_exit(b, 0);
	assert_string_equal(a.out, b.out);
	assert_non_null(strstr(b.out, "llama-3-8b"));
	testing_run_free(&a);
	testing_run_free(&b);
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		struct run_output o =
			testing_run("run %s -x replay:%s %s", trace, rec, other[i][0]);

		assert_exit(o, 2);
		assert_non_null(strstr(o.err, other[i][1]));
		testing_run_free(&o);
	}
	struct run_output same = testing_run("run %s -x replay:%s -m llama-3-8b -d h200 --tp 2 "
					     "--kv-bits 8 --weight-bits 8",
					     trace, rec);

	assert_exit(same, 0);
	testing_run_free(&same);
}

static void test_refused_by_the_program(void **state)
{
	const char *rec = testing_path("never.rec");
	const char *no = testing_file("no.rec", "hello\n");
	const struct {
		const char *args, *want;
		int code;
	} bad[] = {
		{"-p paged -p static --record", "--record keeps one run, and 2 are asked for", 2},
		{"-p paged --rate 1,2 --record", "--record keeps one run, and 2 are asked for", 2},
		{"-p paged --pp 2 --record", "--record takes whole steps", 2},
		{"-p paged -x replay --record", "executor replay needs a recording", 2},
		{"-p paged -x replay:/no/such.rec --record", "cannot read /no/such.rec", 1},
		{"-p paged -x cpu:4 --record", "executor cpu takes no parameters", 2},
		{"-p paged -x gpu --record", "gpu", 2},
		{"-p paged -x cpu --weight-bits 8 --record", "leave out --weight-bits 8", 2},
		{"-p paged -x cpu --kv-tokens 1000000000 --record",
		 "; give --kv-tokens N for a smaller KV pool", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct run_output o = testing_run("run synth:azure-conv,n=3 -m llama-3-8b -d h200 "
						  "%s %s",
						  bad[i].args, rec);

		assert_exit(o, bad[i].code);
		assert_non_null(strstr(o.err, bad[i].want));
		assert_string_equal(o.out, "");
		assert_i64(testing_count_files(rec), 0);
		testing_run_free(&o);
	}
	struct run_output o = testing_run("run synth:azure-conv,n=3 -p paged -x replay:%s", no);

	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "is no recording"));
	testing_run_free(&o);
}

/* A run that fails leaves no recording and no row. */
static void test_a_run_that_fails(void **state)
{
	(void)state;
	const char *trace = testing_file("bad.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n"
						    "2024-01-01 00:00:00,5,3\n"
						    "2024-01-01 00:00:09,five,3\n");
	const char *rec = testing_path("failed.rec"), *db = testing_path("failed.db");
	struct run_output o = testing_run(
		"run %s -p paged -x fixed:step_ns=1e6 --db %s --record %s", trace, db, rec);

	assert_exit(o, 1);
	assert_i64(testing_count_files(rec), 0);
	testing_run_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_again),
		cmocka_unit_test(test_the_file_by_hand),
		cmocka_unit_test(test_what_goes_on),
		cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_a_line_too_long),
		cmocka_unit_test(test_another_run),
		cmocka_unit_test(test_other_steps),
		cmocka_unit_test(test_broken_lines),
		cmocka_unit_test(test_numbers_are_plain),
		cmocka_unit_test(test_too_many_tokens),
		cmocka_unit_test(test_broken_facts),
		cmocka_unit_test(test_no_text_file),
		cmocka_unit_test(test_the_program),
		cmocka_unit_test(test_without_the_device),
		cmocka_unit_test(test_whose_times),
		cmocka_unit_test(test_refused_by_the_program),
		cmocka_unit_test(test_a_run_that_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
