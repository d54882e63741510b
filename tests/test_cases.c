/*
 * Cases with right values, through sim_run(): schedules worked out by hand. The numbers beside
 * "case" are those of the list of cases.
 */
#include "tests/schedule.h"
#include <string.h>

/* case 6: 800 + 113 - 1 = 912 slots = 57 blocks of 16; 700 + 101 - 1 = 800 = 50 blocks. */
static void check_larger_than_the_pool(const struct harness_result *r)
{
	assert_i64(r->record[0].status, RECORD_REJECTED);
	assert_i64(r->record[0].schedule_ns, -1);
	assert_times(r, 1, 0, 10, 1010); /* a prefill and 100 decode steps of 10 */
	assert_i64(r->summary.requests, 2);
	assert_i64(r->summary.rejected, 1);
}

static void test_larger_than_the_pool(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 800, 113), ROW(0, 700, 101)};
	struct harness_options o = harness_default("paged", "step_ns=10");

	(void)state;
	o.kv_blocks = 50;
	both_ways(&o, ROWS(rows), check_larger_than_the_pool);
}

/* case 7: one seat, three steps of 10 each. */
static void check_one_seat(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, 30);
	assert_times(r, 1, 30, 40, 60);
	assert_i64(r->summary.steps, 6);
	assert_near(r->summary.makespan_s, 60e-9, 1e-20);
}

static void test_work_conservation(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 5, 3), ROW(0, 5, 3)};
	static const char *const names[] = {"paged:max_seqs=1", "paged:max_seqs=1,chunk=8",
					    "continuous:max_seqs=1", "static:size=1"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct harness_options o = harness_default(names[i], "step_ns=10");

		both_ways(&o, ROWS(rows), check_one_seat);
	}
}

/*
 * case 8: 4 blocks of 4. Slots in the step of token k are 4 + k - 1: one block each for token 1,
 * two for tokens 2 to 5, three for token 6. At 5 the newest is preempted, the first ends at 6, and
 * the other is prefilled anew with 4 + 5 tokens, in 3 blocks. TTFT 1 and 1; TPOT 5/5 and 6/5.
 */
static void check_smallest_preemption(const struct harness_result *r)
{
	assert_times(r, 0, 0, 1, 6);
	assert_times(r, 1, 0, 1, 7);
	assert_i64(r->record[0].preemptions, 0);
	assert_i64(r->record[1].preemptions, 1);
	assert_near(r->record[0].max_gap_ns, 1, 0);
	assert_near(r->record[1].max_gap_ns, 2, 0);
	assert_i64(r->summary.preemptions, 1);
	assert_i64(r->summary.recomputed_tok, 9); /* the first prefill of 4 was not again */
	assert_i64(r->summary.completed, 2);
	assert_near(r->summary.ttft_mean_s, 1e-9, 1e-20);
	assert_near(r->summary.ttft_p99_s, 1e-9, 1e-20);
	assert_near(r->summary.tpot_mean_s, (1 + 1.2) / 2 * 1e-9, 1e-20);
	assert_near(r->summary.itl_mean_s, 11.0 / 10 * 1e-9, 1e-20); /* 5 x 1; 4 x 1 and a 2 */
}

static void test_smallest_preemption(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 6), ROW(0, 4, 6)};
	static const char *const names[] = {"paged", "paged:chunk=512"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct harness_options o = harness_default(names[i], "step_ns=1");

		o.kv_blocks = o.block_tok = 4;
		both_ways(&o, ROWS(rows), check_smallest_preemption);
	}
}

/* Blocks in use in the last step of a request: those of all its steps, less those before. */
static int64_t blocks_at_the_end(int64_t prompt, int64_t output)
{
	const struct trace_row rows[] = {ROW(0, prompt, output)};
	struct harness_options o = harness_default("paged", "step_ns=10");
	struct harness_result r = schedule(&o, ROWS(rows));
	double mean = r.summary.kv_util_mean * (double)o.kv_blocks;
	int64_t sum = (int64_t)(mean * (double)r.summary.steps + 0.5);

	assert_i64(r.summary.steps, output);
	for (int64_t k = 1; k < output; k++)
		sum -= (prompt + k - 1 + 15) / 16;
	harness_release(&r);
	return sum;
}

/* case 9: the last token is never written: 16/1: 1 block of 16, 16/2: 2, 15/2: 1. */
static void test_slots(void **state)
{
	(void)state;
	assert_i64(blocks_at_the_end(16, 1), 1);
	assert_i64(blocks_at_the_end(16, 2), 2);
	assert_i64(blocks_at_the_end(15, 2), 1);
}

/* case 9, over a real trace: the sum of ceil((prompt + output - 1) / 16). */
static void test_slots_of_a_trace(void **state)
{
	shared_or_skip(path, "traces/AzureLLMInferenceTrace_conv.csv");
	struct trace_spec spec = {.source = path};
	struct kv kv;
	struct trace_row row;
	int64_t sum = 0;
	struct err e;
	int got;

	(void)state;
	struct trace *t = trace_open(&spec, &e);

	assert_fine(t ? 0 : -1, e);
	kv_init(&kv, 16, 1, 0);
	while ((got = trace_next(t, &row, &e)) > 0)
		sum += kv_blocks(&kv, row.prompt_tok + row.output_tok - 1);
	assert_fine(got, e);
	assert_i64(sum, 1660963);
	kv_release(&kv);
	trace_close(t);
}

/*
 * case 12: 10 a step, outputs 2, 10, 2, two seats. Continuous: the first ends at 20, the third is
 * prefilled in [20, 30] and ends at 40; the second takes its 10 steps.
 */
static void check_continuous(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, 20);
	assert_times(r, 1, 0, 10, 100);
	assert_times(r, 2, 20, 30, 40);
}

/* Static: the batch of two lasts until 100, the third is alone in the next. */
static void check_reply_request(const struct harness_result *r)
{
	assert_times(r, 0, 0, 10, 20);
	assert_times(r, 1, 0, 10, 100);
	assert_times(r, 2, 100, 110, 120);
}

static void check_reply_batch(const struct harness_result *r)
{
	assert_times(r, 0, 0, 100, 100);
	assert_times(r, 1, 0, 100, 100);
	assert_times(r, 2, 100, 120, 120);
}

static void test_static_against_continuous(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 1, 2), ROW(0, 1, 10), ROW(0, 1, 2)};
	struct harness_options o = harness_default("continuous:max_seqs=2", "step_ns=10");

	(void)state;
	both_ways(&o, ROWS(rows), check_continuous);
	o.policy = "static:size=2,reply=request";
	both_ways(&o, ROWS(rows), check_reply_request);
	o.policy = "static:size=2,reply=batch";
	both_ways(&o, ROWS(rows), check_reply_batch);
}

/*
 * case 13: queue 0, prefill 100, transfer 20, decode queue 30, step 10. Before it another request
 * is prefilled in [0, 50] and transferred in [50, 70]; its 11 decode steps hold the only seat until
 * 180. The one looked at arrives at 50 and is prefilled in [50, 150]: TTFT 100. It is pulled at
 * 180, there at 200, and has its second token at 210, 160 after it arrived.
 */
static void check_first_token(const struct harness_result *r)
{
	assert_times(r, 0, 0, 50, 180);
	assert_times(r, 1, 50, 150, 210);
	assert_i64(r->record[1].first_token_ns - r->record[1].arrive_ns, 100);
	assert_i64(r->record[0].instance, 1);
	assert_i64(r->record[1].instance, 1);
}

static void test_first_token_of_a_split(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 12), ROW(50, 9, 2)};
	struct harness_options o = harness_default("disaggregated:decode_seqs=1,latency=2e-8",
						   "step_ns=10,prefill_tok_ns=10");

	(void)state;
	both_ways(&o, ROWS(rows), check_first_token);
}

/*
 * case 13, ttft=decode: the first request decodes all of its 11 tokens, in [70, 180]; the second
 * waits from 150 to 180, moves until 200, and decodes its first token until 210: 160 after it
 * arrived.
 */
static void check_first_token_decoded(const struct harness_result *r)
{
	assert_times(r, 0, 0, 80, 180);
	assert_times(r, 1, 50, 210, 220);
	assert_i64(r->record[1].first_token_ns - r->record[1].arrive_ns, 160);
	assert_string_equal(r->summary.notes, "ttft=decode");
	assert_near(r->summary.itl_mean_s, 10e-9, 1e-20);
}

static void test_first_token_decoded(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 11), ROW(50, 9, 2)};
	struct harness_options o =
		harness_default("disaggregated:decode_seqs=1,latency=2e-8,ttft=decode",
				"step_ns=10,prefill_tok_ns=10");

	(void)state;
	both_ways(&o, ROWS(rows), check_first_token_decoded);
}

/* case 14: prompts x bytes a token over 50 GB/s; one step of 100 before, and one after. */
static void check_transfer(int64_t prompt, int64_t token_bytes, int64_t transfer_ns)
{
	const struct trace_row rows[] = {ROW(0, prompt, 2)};
	struct harness_options o = harness_default("disaggregated", "step_ns=100");

	o.token_bytes = token_bytes;
	struct harness_result r = schedule(&o, ROWS(rows));

	assert_times(&r, 0, 0, 100, 100 + transfer_ns + 100);
	harness_release(&r);
}

static void test_transfer(void **state)
{
	(void)state;
	/* Llama-3-8B: 4096 x 131,072 B = 512 MiB: 10,737,418.24 ns */
	check_transfer(4096, 131072, 10737418);
	/* OPT-66B: 2 x 64 layers x 72 heads x 128 x 2 B = 2,359,296; x 512 = 1.125 GiB */
	check_transfer(512, 2359296, 24159191);
}

/*
 * case 34: 5 blocks of 4, two requests as in case 8; a third of one block arrives at 5. In the plan
 * then the second is preempted: 3 blocks are taken, 2 free, and the third would fit in one; but
 * nothing is admitted in that step. At 6 the second is at the head of the queue.
 */
static void check_preempting_step(const struct harness_result *r)
{
	assert_times(r, 0, 0, 1, 6);
	assert_times(r, 1, 0, 1, 7);
	assert_times(r, 2, 6, 7, 7);
}

static void test_nothing_admitted_in_a_preempting_step(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 6), ROW(0, 4, 6), ROW(5, 4, 1)};
	struct harness_options o = harness_default("paged:chunk=512", "step_ns=1");

	(void)state;
	o.kv_blocks = 5;
	o.block_tok = 4;
	both_ways(&o, ROWS(rows), check_preempting_step);
}

/* case 35: 50 tokens in steps of 10 are delivered at tokens 20, 40 and 50; 7 of them at once. */
static void check_stream(const struct harness_result *r)
{
	assert_times(r, 0, 0, 200, 500);
	assert_near(r->record[0].max_gap_ns, 200, 0);
	assert_times(r, 1, 500, 570, 570);
	assert_near(r->record[1].max_gap_ns, -1, 0);
	assert_near(r->summary.itl_mean_s, (200 + 100) / 2.0 * 1e-9, 1e-20);
}

static void test_stream(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 5, 50), ROW(0, 5, 7)};
	struct harness_options o = harness_default("paged:max_seqs=1,stream=20", "step_ns=10");

	(void)state;
	both_ways(&o, ROWS(rows), check_stream);
}

/*
 * Chunks of 6, 7 blocks of 4. r0 (1 + 5) starts at 500, r1 (13 + 6) at 1500 beside its decodes, r2
 * (6
 * + 6) waits. r2 is preempted when 2 of its 6 prompt tokens are computed: those 2 are computed
 * again, the other 4 for the first time.
 */
static void check_recomputed(const struct harness_result *r)
{
	assert_i64(r->summary.completed, 3);
	assert_i64(r->summary.recomputed_tok, 2);
	assert_i64(r->record[2].preemptions, 1);
}

static void test_recomputed(void **state)
{
	static const struct trace_row rows[] = {ROW(500, 1, 5), ROW(1000, 13, 6), ROW(2000, 6, 6)};
	struct harness_options o = harness_default("paged:chunk=6,max_seqs=4", "step_ns=1000");

	(void)state;
	o.block_tok = 4;
	o.kv_blocks = 7;
	both_ways(&o, ROWS(rows), check_recomputed);
}

static void assert_same_times(const struct record *a, const struct record *b)
{
	assert_i64(a->status, b->status);
	assert_i64(a->schedule_ns, b->schedule_ns);
	assert_i64(a->first_token_ns, b->first_token_ns);
	assert_i64(a->finish_ns, b->finish_ns);
	assert_i64(a->preemptions, b->preemptions);
	assert_near(a->max_gap_ns, b->max_gap_ns, 0);
}

/*
 * case 36: an arrival that finds no seat makes plans due that change nothing. The others' times are
 * the same to the nanosecond as without it, also where steps are no whole nanoseconds.
 */
static void test_plans_that_are_not_needed(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 7, 50), ROW(0, 9, 50), ROW(777, 5, 3),
						ROW(20001, 5, 3)};
	static const char *const names[] = {"paged:max_seqs=2", "paged:max_seqs=2,chunk=16",
					    "continuous:max_seqs=2", "static:size=2"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct harness_options o = harness_default(
			names[i], "step_ns=1000.3,decode_seq_ns=0.7,ctx_tok_ns=0.37");
		struct harness_result without = schedule(&o, rows, 2);

		for (int steps = 0; steps <= 1; steps++) {
			o.step_by_step = steps;
			struct harness_result with = schedule(&o, ROWS(rows));

			for (size_t k = 0; k < 2; k++)
				assert_same_times(&with.record[k], &without.record[k]);
			assert_true(with.record[2].schedule_ns >= with.record[0].finish_ns);
			harness_release(&with);
		}
		harness_release(&without);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_larger_than_the_pool),
		cmocka_unit_test(test_work_conservation),
		cmocka_unit_test(test_smallest_preemption),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_slots_of_a_trace),
		cmocka_unit_test(test_static_against_continuous),
		cmocka_unit_test(test_first_token_of_a_split),
		cmocka_unit_test(test_first_token_decoded),
		cmocka_unit_test(test_transfer),
		cmocka_unit_test(test_nothing_admitted_in_a_preempting_step),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_recomputed),
		cmocka_unit_test(test_plans_that_are_not_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
