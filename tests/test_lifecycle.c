/*
 * How requests come and end, by hand: what the shape does with the first token, orders of the
 * queue, limits on it, timeouts and sessions.
 */
#include "sim/link.h"
#include "tests/schedule.h"
#include <string.h>

/*
 * ttft=decode: a request with one output token moves too. Prefill 10 + 4 x 10, transfer 20, a
 * step 10.
 */
static void check_single_token_moves(const struct harness_result *r)
{
	assert_times(r, 0, 0, 80, 80);
	assert_i64(r->record[0].instance, 1);
	assert_near(r->record[0].max_gap_ns, -1, 0);
	assert_i64(r->summary.steps, 2);
}

static void test_single_token_moves(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 1)};
	struct harness_options o = harness_default("disaggregated:latency=2e-8,ttft=decode",
						   "step_ns=10,prefill_tok_ns=10");

	(void)state;
	both_ways(&o, ROWS(rows), check_single_token_moves);
}

/*
 * ttft=decode in blocks of 1: a pull takes P + 1 of them, which are those of the first two steps;
 * the context of the first is P. Prompts of 2 and 3 are prefilled until 10, and decode from 10 on
 * in steps of 10 + 1 a token of context: 5, then 7, 9, ...; 10 blocks hold 2 + 3 + 5 tokens. In the
 * step of token 3 both hold P + 2: 9; in that of token 4: 11 blocks, one too many: the second,
 * which was pulled last, is swapped out (5 blocks, of no bytes), and comes back when the first has
 * ended with token 5, to decode tokens 4 and 5.
 */
static void check_first_blocks(const struct harness_result *r)
{
	int64_t both_ns = 10 + 15 + 17 + 19; /* tokens 1 to 3 of both */
	int64_t first_ns = both_ns + 10 + 5 + 10 + 6;

	assert_times(r, 0, 0, 25, first_ns);
	assert_times(r, 1, 0, 25, first_ns + 10 + 6 + 10 + 7);
	assert_i64(r->record[0].preemptions, 0);
	assert_i64(r->record[1].preemptions, 1);
}

static void test_first_blocks(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 2, 5), ROW(0, 3, 5)};
	struct harness_options o =
		harness_default("disaggregated:ttft=decode", "step_ns=10,ctx_tok_ns=1");

	(void)state;
	o.decode_kv_blocks = 10;
	o.block_tok = 1;
	both_ways(&o, ROWS(rows), check_first_blocks);
}

/*
 * Two instances of each kind, each decode instance with a link of its own. 0 and 1 arrive at two
 * prefill instances and end at 50; 0 is pulled by the first decode instance, 1 by the other, which
 * has more free blocks then; both transfers end at 70. 2 waits for the first prefill instance until
 * 50, is prefilled until 100, and pulled by the one that took the shorter prompt.
 */
static void check_pools(const struct harness_result *r)
{
	assert_times(r, 0, 0, 50, 170);
	assert_times(r, 1, 0, 60, 180);
	assert_times(r, 2, 50, 100, 130);
	assert_i64(r->record[0].instance, 2);
	assert_i64(r->record[1].instance, 3);
	assert_i64(r->record[2].instance, 2);
}

static void test_pools(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 11), ROW(0, 5, 11), ROW(10, 4, 2)};
	struct harness_options o = harness_default("disaggregated:prefill=2,decode=2,latency=2e-8",
						   "step_ns=10,prefill_tok_ns=10");

	(void)state;
	o.block_tok = 1;
	both_ways(&o, ROWS(rows), check_pools);
}

/*
 * link=: an A100 has NVLink with 300e9 bytes a second, a link for each device of the smaller
 * instance, PCIe 4 with 32e9 in its data sheet, of which the device's figure is taken; bandwidth=
 * otherwise.
 */
static double link_of(const char *policy, const char *device)
{
	struct choice c;
	struct device d;
	struct err e;
	double bytes_s = -1;

	assert_fine(choice_parse(&c, policy, &e), e);
	assert_fine(device_load(&d, device, &e), e);
	if (link_bytes_s(&c, &d, 8, &bytes_s, &e) < 0)
		bytes_s = -1;
	device_release(&d);
	choice_release(&c);
	return bytes_s;
}

static void test_links(void **state)
{
	struct device d;
	struct err e;

	(void)state;
	assert_fine(device_load(&d, "a100-80g", &e), e);
	assert_near(link_of("disaggregated", "a100-80g"), 0, 0);
	assert_near(link_of("paged", "a100-80g"), 0, 0);
	assert_near(link_of("disaggregated:link=nvlink", "a100-80g"), 8 * 300e9, 0);
	assert_near(link_of("disaggregated:link=nvlink,prefill_tp=4,decode_tp=2", "a100-80g"),
		    2 * 300e9, 0);
	assert_near(link_of("disaggregated:link=pcie", "a100-80g"), d.pcie_bytes_s, 0);
	device_release(&d);
	assert_near(link_of("disaggregated:link=network", "a100-80g"), d.network_bytes_s, 0);
	assert_near(link_of("disaggregated:link=nvlink", "l40s"), -1, 0); /* it has none */
	struct choice c;

	assert_i64(choice_parse(&c, "disaggregated:link=pcie,bandwidth=5", &e), -1);
	assert_string_equal(e.text, "disaggregated: link=pcie takes the bandwidth of the device; "
				    "bandwidth= is for link=given");
}

/* Orders of the queue: a step is 10, one seat; the first arrives alone, three others wait behind
 * it. */
static void check_starts(const char *policy, const int64_t starts[4])
{
	static const struct trace_row rows[] = {
		{.arrive_ns = 0, .prompt_tok = 4, .output_tok = 3, .priority = 9},
		{.arrive_ns = 1, .prompt_tok = 4, .output_tok = 5, .priority = 7},
		{.arrive_ns = 2, .prompt_tok = 4, .output_tok = 2, .priority = 8},
		{.arrive_ns = 3, .prompt_tok = 4, .output_tok = 5, .priority = 7},
	};
	struct harness_options o = harness_default(policy, "step_ns=10");
	struct harness_result r = schedule(&o, ROWS(rows));

	for (int i = 0; i < 4; i++)
		assert_i64(r.record[i].schedule_ns, starts[i]);
	assert_true(!strstr(policy, "jf") == !strstr(r.summary.notes, "oracle"));
	harness_release(&r);
}

static void test_orders(void **state)
{
	(void)state;
	check_starts("paged:max_seqs=1", (int64_t[]){0, 30, 80, 100});
	check_starts("paged:max_seqs=1,order=sjf", (int64_t[]){0, 50, 30, 100}); /* ties: arrival */
	check_starts("paged:max_seqs=1,order=sjf,chunk=8", (int64_t[]){0, 50, 30, 100});
	check_starts("paged:max_seqs=1,order=ljf", (int64_t[]){0, 30, 130, 80});
	check_starts("paged:max_seqs=1,order=priority", (int64_t[]){0, 30, 130, 80});
	check_starts("paged:max_seqs=1,order=priority,chunk=8", (int64_t[]){0, 30, 130, 80});
}

/*
 * With predict_error=1 and seed 0 lengths of 100 are predicted as 177, 113, 118, 23, 86 and 77
 * (SplitMix64's outputs of the states 0 to 5, by a program of its own): the first runs, then 3, 5,
 * 4, 1, 2 in turn, 1000 each.
 */
static void test_predicted_order(void **state)
{
	static const int64_t starts[] = {0, 4000, 5000, 1000, 3000, 2000};
	struct trace_row rows[6];
	struct harness_options o =
		harness_default("paged:max_seqs=1,order=sjf,predict_error=1", "step_ns=10");

	(void)state;
	for (int64_t i = 0; i < 6; i++)
		rows[i] = (struct trace_row)ROW(i, 4, 100);
	struct harness_result r = schedule(&o, rows, 6);

	for (int i = 0; i < 6; i++)
		assert_i64(r.record[i].schedule_ns, starts[i]);
	harness_release(&r);
}

/*
 * mixed=on: a step is 10 and 1 a prompt token. The first is prefilled until 14; then its second
 * token shares the step [14, 29] with the prompt of 5, for which it waits otherwise.
 */
static void check_mixed(const struct harness_result *r)
{
	assert_times(r, 0, 0, 14, 49);
	assert_times(r, 1, 14, 29, 39);
	assert_i64(r->summary.steps, 4);
}

static void check_not_mixed(const struct harness_result *r)
{
	assert_times(r, 0, 0, 14, 59);
	assert_times(r, 1, 14, 29, 39);
}

/* A decode and prompts of 5 and 1 are 7 tokens: in a budget of 6 the last one waits; a prompt alone
 * is taken whatever the budget. */
static void check_budget(const struct harness_result *r)
{
	assert_times(r, 1, 14, 29, 29);
	assert_times(r, 2, 29, 40, 40);
}

static void check_larger_budget(const struct harness_result *r)
{
	assert_times(r, 1, 14, 30, 30);
	assert_times(r, 2, 14, 30, 30);
}

static void test_mixed(void **state)
{
	static const struct trace_row two[] = {ROW(0, 4, 4), ROW(5, 5, 2)};
	static const struct trace_row three[] = {ROW(0, 4, 4), ROW(5, 5, 1), ROW(5, 1, 1)};
	struct harness_options o = harness_default("paged:mixed=on", "step_ns=10,prefill_tok_ns=1");

	(void)state;
	both_ways(&o, ROWS(two), check_mixed);
	o.policy = "paged:mixed=on,max_batched_tokens=1";
	both_ways(&o, ROWS(two), check_mixed);
	o.policy = "paged";
	both_ways(&o, ROWS(two), check_not_mixed);
	o.policy = "paged:mixed=on,max_batched_tokens=6";
	both_ways(&o, ROWS(three), check_budget);
	o.policy = "paged:mixed=on,max_batched_tokens=7";
	both_ways(&o, ROWS(three), check_larger_budget);
}

/*
 * max_paddings: prompts of 4 and 6 are padded to 12 tokens, 2 of them padding, and take 10 + 12;
 * with one of 20 it would be 60 tokens, 30 of them padding.
 */
static void check_padded_pair(const struct harness_result *r)
{
	assert_times(r, 0, 0, 22, 22);
	assert_times(r, 1, 0, 22, 22);
	assert_times(r, 2, 22, 52, 52);
}

static void check_one_by_one(const struct harness_result *r)
{
	assert_times(r, 0, 0, 14, 14);
	assert_times(r, 1, 14, 30, 30);
	assert_times(r, 2, 30, 60, 60);
}

static void test_max_paddings(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 1), ROW(0, 6, 1), ROW(0, 20, 1)};
	struct harness_options o =
		harness_default("paged:max_paddings=2", "step_ns=10,prefill_tok_ns=1");

	(void)state;
	both_ways(&o, ROWS(rows), check_padded_pair);
	o.policy = "paged:max_paddings=29";
	both_ways(&o, ROWS(rows), check_padded_pair);
	o.policy = "paged:max_paddings=1";
	both_ways(&o, ROWS(rows), check_one_by_one);
	o.policy = "paged:max_paddings=50,max_batched_tokens=11"; /* 12 with padding */
	both_ways(&o, ROWS(rows), check_one_by_one);
}

static void test_contradictions(void **state)
{
	static const char *const texts[] = {"paged:chunk=512,mixed=on",
					    "paged:chunk=512,max_paddings=4", "vllm-v1:mixed=on",
					    "paged:predict_error=1.5", "paged:order=lifo"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct choice c;
		struct err e = {""};

		assert_i64(choice_parse(&c, texts[i], &e), -1);
		assert_true(e.text[0] != '\0');
	}
}

/* Limits */

/* What became of each request: first scheduled, last token; -1: not. */
struct fate {
	enum record_status status;
	int64_t s, c;
};

/* Both ways: fast-forward, and step by step. */
static void check_fates(struct harness_options *o, const struct trace_row *rows, size_t n,
			const struct fate *want)
{
	for (int steps = 0; steps <= 1; steps++) {
		o->step_by_step = steps;
		struct harness_result r = schedule(o, rows, n);

		assert_i64(r.n, n);
		for (size_t i = 0; i < n; i++) {
			assert_i64(r.record[i].status, want[i].status);
			assert_i64(r.record[i].schedule_ns, want[i].s);
			assert_i64(r.record[i].finish_ns, want[i].c);
		}
		harness_release(&r);
	}
}

#define DONE(s, c)                                                                                 \
	(struct fate)                                                                              \
	{                                                                                          \
		RECORD_COMPLETED, (s), (c)                                                         \
	}
#define ABORTED(s)                                                                                 \
	(struct fate)                                                                              \
	{                                                                                          \
		RECORD_ABORTED, (s), -1                                                            \
	}
#define REJECTED                                                                                   \
	(struct fate)                                                                              \
	{                                                                                          \
		RECORD_REJECTED, -1, -1                                                            \
	}

/*
 * queue_limit=1, one seat, a step is 10. At 0 the first waits for its plan, so that the second
 * finds one in the queue; at 5 the queue is empty, at 6 it is not; at 30 the arrival comes before
 * the plan.
 */
static void test_queue_limit(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 3), ROW(0, 4, 3),  ROW(5, 4, 2),
						ROW(6, 4, 2), ROW(30, 4, 2), ROW(31, 4, 2)};
	const struct fate want[] = {DONE(0, 30), REJECTED, DONE(30, 50),
				    REJECTED,	 REJECTED, DONE(50, 70)};
	struct harness_options o = harness_default("paged:max_seqs=1", "step_ns=10");

	(void)state;
	o.queue_limit = 1;
	check_fates(&o, ROWS(rows), want);
	struct harness_result r = schedule(&o, ROWS(rows));

	assert_i64(r.counts.queue_full, 3);
	assert_i64(r.summary.rejected, 3);
	assert_i64(r.summary.aborted, 0);
	harness_release(&r);
}

/*
 * timeout=35, one seat, a step is 10. The first leaves at the end of the step [30, 40], with 4 of
 * its 9 tokens; the second left the queue at 36. With timeout=30 the first leaves at 30, before the
 * plan, which takes the second; that one leaves at 40, the third at 50, its deadline; the last is
 * done at its deadline, which is in time.
 */
static void test_timeout(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 9), ROW(1, 4, 2), ROW(20, 4, 2),
						ROW(65, 4, 3)};
	const struct fate want[] = {ABORTED(0), ABORTED(-1), DONE(40, 60), DONE(65, 95)};
	struct harness_options o = harness_default("paged:max_seqs=1", "step_ns=10");

	(void)state;
	o.timeout_ns = 35;
	check_fates(&o, ROWS(rows), want);
	o.timeout_ns = 30;
	const struct fate at_deadline[] = {ABORTED(0), ABORTED(30), ABORTED(40), DONE(65, 95)};

	check_fates(&o, ROWS(rows), at_deadline);
	o.timeout_ns = 35;
	o.slo.e2e_ns = 1e9;
	struct harness_result r = schedule(&o, ROWS(rows));

	/* its tokens at 10, 20, 30 and 40 were delivered: their gaps count */
	assert_i64(r.record[0].first_token_ns, 10);
	assert_near(r.record[0].max_gap_ns, 10, 0);
	assert_i64(r.n_bins > 0, 1);
	assert_i64(r.summary.aborted, 2);
	assert_i64(r.summary.requests, 4);
	assert_near(r.summary.attainment, 2.0 / 4, 0); /* aborted ones miss it */
	for (size_t i = 0, gaps = 0; i < r.n_bins; i++) {
		gaps += strcmp(r.bin[i].metric, "itl") == 0 ? (size_t)r.bin[i].count : 0;
		if (i + 1 == r.n_bins)
			assert_i64(gaps, 3 + 1 + 2);
	}
	harness_release(&r);
}

/* It is not done at its deadline of 15, but at the end of the step that was going on then. */
static void test_last_step(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 2), ROW(0, 4, 3)};
	const struct fate want[] = {DONE(0, 20), ABORTED(0)};
	struct harness_options o = harness_default("paged", "step_ns=10");

	(void)state;
	o.timeout_ns = 15;
	check_fates(&o, ROWS(rows), want);
	o.timeout_ns = 20; /* at its end, before the plan */
	check_fates(&o, ROWS(rows), want);
}

/*
 * What is aborted gives its seat and its blocks at once: 8 blocks of 1. The first takes 4 for its
 * prompt; the second, of 5, has to wait; at 10 the first has 5 with its next token. It is aborted
 * at 15, at the end of [10, 20]: the second is prefilled in [20, 30], in the same plan.
 */
static void test_blocks_come_free(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 5), ROW(1, 5, 1)};
	const struct fate want[] = {ABORTED(0), DONE(20, 30)};
	struct harness_options o = harness_default("paged:watermark=0", "step_ns=10");

	(void)state;
	o.kv_blocks = 8;
	o.block_tok = 1;
	o.timeout_ns = 15;
	check_fates(&o, rows, 1, want);
	o.timeout_ns = 0;
	const struct fate kept[] = {DONE(0, 50), DONE(50, 60)};

	check_fates(&o, ROWS(rows), kept);
}

/*
 * preempt=swap, 4 blocks of 4, a step is 10. The first is there so that the third is admitted
 * before the second, at 10. In the plan at 60 both need a third block, and the second is swapped
 * out; it is aborted at 63. While it is out nothing is admitted; then the fourth is, in the step
 * [70, 80], though 80 is the end of the third.
 */
static void test_swapped_out(void **state)
{
	static const struct trace_row rows[] = {
		{.arrive_ns = 0, .prompt_tok = 4, .output_tok = 1},
		{.arrive_ns = 1, .prompt_tok = 4, .output_tok = 9, .priority = 1},
		{.arrive_ns = 9, .prompt_tok = 4, .output_tok = 7},
		{.arrive_ns = 61, .prompt_tok = 1, .output_tok = 1},
	};
	const struct fate want[] = {DONE(0, 10), ABORTED(10), DONE(10, 80), DONE(70, 80)};
	const struct fate kept[] = {DONE(0, 10), DONE(10, 120), DONE(10, 80), DONE(80, 90)};
	struct harness_options o =
		harness_default("paged:preempt=swap,chunk=256,order=priority", "step_ns=10");

	(void)state;
	o.kv_blocks = o.block_tok = 4;
	check_fates(&o, ROWS(rows), kept);
	o.timeout_ns = 62;
	check_fates(&o, ROWS(rows), want);
}

/* A static batch whose last requests are aborted is over: a step is 10 and 1 a decoding sequence.
 */
static void test_padded_batch(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 6), ROW(0, 4, 9), ROW(15, 4, 1)};
	const struct fate at_46[] = {ABORTED(0), ABORTED(0), DONE(46, 56)};
	const struct fate at_34[] = {ABORTED(0), ABORTED(0), DONE(34, 44)};
	struct harness_options o = harness_default("static:size=2", "step_ns=10,decode_seq_ns=1");

	(void)state;
	o.timeout_ns = 42;
	check_fates(&o, ROWS(rows), at_46);
	o.timeout_ns = 31;
	check_fates(&o, ROWS(rows), at_34);
}

/*
 * The first leaves and the second goes on: it arrived later (both wait for a batch of 2). Steps are
 * 10 + 1 a sequence; the batch is taken at 20. The first is aborted at 50, at the end of [42, 54],
 * and counts on: the second ends at 20 + 10 + 3 x 12.
 */
static void test_held_after_abort(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 9), ROW(20, 4, 4), ROW(30, 4, 1)};
	const struct fate want[] = {ABORTED(20), DONE(20, 66), DONE(66, 76)};
	struct harness_options o =
		harness_default("static:size=2,wait=2e-8", "step_ns=10,decode_seq_ns=1");

	(void)state;
	o.timeout_ns = 50;
	check_fates(&o, ROWS(rows), want);
	o.policy = "static:size=2,wait=2e-8,reply=batch";
	check_fates(&o, ROWS(rows), want);
	struct harness_result r = schedule(&o, ROWS(rows));

	assert_i64(r.record[0].first_token_ns, -1); /* nothing of it was delivered */
	assert_i64(r.record[1].first_token_ns, 66);
	harness_release(&r);
}

/*
 * disaggregated: a prefill is 10, a transfer 20, a step 10, one seat for decoding. With timeout=5
 * all are aborted at the end of their prefills. With 15 the first is in transfer then, and the
 * others wait for their pull, the third until 23. With 45 the first decodes from 30 on, and leaves
 * at 50; the second left at 45; another, which is prefilled in [40, 50], is pulled at 50, comes at
 * 70, and is done at 80.
 */
static void test_between_pools(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 4, 9), ROW(0, 4, 9), ROW(8, 4, 2)};
	static const struct trace_row later[] = {ROW(0, 4, 9), ROW(0, 4, 9), ROW(40, 4, 2)};
	const struct fate none[] = {ABORTED(0), ABORTED(0), ABORTED(10)};
	const struct fate last[] = {ABORTED(0), ABORTED(0), DONE(40, 80)};
	struct harness_options o =
		harness_default("disaggregated:decode_seqs=1,latency=2e-8", "step_ns=10");

	(void)state;
	o.timeout_ns = 5;
	check_fates(&o, ROWS(rows), none);
	o.timeout_ns = 15;
	check_fates(&o, ROWS(rows), none);
	o.timeout_ns = 45;
	check_fates(&o, ROWS(later), last);
}

/*
 * A pool of 12 blocks of 1, of which the first takes 7 at 10: the second needs 9 and waits, the
 * third needs 2 and waits behind it. Both are pulled when the first is done, at 60, and come at 80
 * and 100. With timeout=55 the second leaves at 55, and the third is pulled then: it comes at 75.
 * (The first is saved by its last step.)
 */
static void test_head_of_ready(void **state)
{
	static const struct trace_row rows[] = {ROW(0, 6, 4), ROW(0, 8, 2), ROW(31, 1, 2)};
	const struct fate kept[] = {DONE(0, 60), DONE(0, 90), DONE(31, 110)};
	const struct fate want[] = {DONE(0, 60), ABORTED(0), DONE(31, 85)};
	struct harness_options o =
		harness_default("disaggregated:decode_seqs=4,latency=2e-8", "step_ns=10");

	(void)state;
	o.decode_kv_blocks = 12;
	o.block_tok = 1;
	check_fates(&o, ROWS(rows), kept);
	o.timeout_ns = 55;
	check_fates(&o, ROWS(rows), want);
}

/* Sessions */

/*
 * case 33 in seconds: recorded starts 0 and 10, recorded service 4, so 6 of thought; the service is
 * 1 second, so that the second turn arrives at 7. A third, without a session, arrives as recorded.
 */
static void test_session(void **state)
{
	static const struct trace_row rows[] = {
		{.arrive_ns = 0, .prompt_tok = 4, .output_tok = 1, .session = 5, .think_ns = -1},
		{.arrive_ns = 8000000000, .prompt_tok = 4, .output_tok = 1},
		{.arrive_ns = 10000000000,
		 .prompt_tok = 4,
		 .output_tok = 1,
		 .session = 5,
		 .think_ns = 6000000000},
	};
	struct harness_options o = harness_default("paged", "step_ns=1000000000");

	(void)state;
	for (int open = 0; open <= 1; open++) {
		o.sessions_open = open;
		struct harness_result r = schedule(&o, ROWS(rows));

		assert_i64(r.record[0].finish_ns, 1000000000);
		assert_i64(r.record[1].arrive_ns, 8000000000);
		assert_i64(r.record[2].arrive_ns, open ? 10000000000 : 7000000000);
		assert_i64(r.record[2].session, 5);
		assert_near(r.summary.offered_rps, 2.0 / (open ? 10 : 8), 1e-12); /* as it was */
		harness_release(&r);
	}
}

/*
 * The turn after one that was rejected (it is too large) or aborted follows all the same; ties are
 * in the order of the trace; with a closed loop, sessions mean nothing. A step is 10.
 */
static void test_turns_after_failures(void **state)
{
	static const struct trace_row rows[] = {
		{.arrive_ns = 0, .prompt_tok = 99, .output_tok = 1, .session = 1, .think_ns = -1},
		{.arrive_ns = 0, .prompt_tok = 4, .output_tok = 9, .session = 2, .think_ns = -1},
		{.arrive_ns = 1, .prompt_tok = 4, .output_tok = 1, .session = 1, .think_ns = 0},
		{.arrive_ns = 2, .prompt_tok = 4, .output_tok = 1, .session = 2, .think_ns = 5},
		{.arrive_ns = 3, .prompt_tok = 4, .output_tok = 1, .session = 1, .think_ns = 20},
	};
	const struct fate want[] = {REJECTED, ABORTED(0), DONE(0, 10), DONE(40, 50), DONE(30, 40)};
	const struct fate loop[] = {REJECTED, DONE(0, 90), DONE(90, 100), DONE(100, 110),
				    DONE(110, 120)};
	struct harness_options o = harness_default("paged", "step_ns=10");

	(void)state;
	o.kv_blocks = 5;
	o.timeout_ns = 24;
	check_fates(&o, ROWS(rows), want);
	o.timeout_ns = 0;
	o.closed_loop = 1;
	check_fates(&o, ROWS(rows), loop);
}

/*
 * Forty rows 0.1 s apart through one seat at 1 s each: saturated, where nothing waits for another.
 * As turns of one session they wait for each other, and nothing can be said of it.
 */
static void test_turns_are_not_saturated(void **state)
{
	struct trace_row rows[40];
	struct harness_options o = harness_default("paged:max_seqs=1", "step_ns=1000000000");
	const struct {
		bool same_session, open;
		int64_t saturated;
		const char *notes;
	} cases[] = {
		{false, false, 1, ""},
		{true, true, 1, ""},
		{true, false, FIELD_NULL_INT, "closed-sessions"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int64_t k = 0; k < 40; k++)
			rows[k] = (struct trace_row){.arrive_ns = k * 100000000,
						     .prompt_tok = 4,
						     .output_tok = 1,
						     .think_ns = -1,
						     .session = cases[i].same_session ? 1 : k + 1};
		o.sessions_open = cases[i].open;
		struct harness_result r = schedule(&o, ROWS(rows));

		assert_i64(r.summary.saturated, cases[i].saturated);
		assert_string_equal(r.summary.notes, cases[i].notes);
		/* one after the other: 39 gaps of a second */
		assert_near(r.summary.offered_rps, i == 2 ? 1 : 10, 1e-12);
		harness_release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single_token_moves),
		cmocka_unit_test(test_first_blocks),
		cmocka_unit_test(test_pools),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_predicted_order),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_max_paddings),
		cmocka_unit_test(test_contradictions),
		cmocka_unit_test(test_queue_limit),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_last_step),
		cmocka_unit_test(test_blocks_come_free),
		cmocka_unit_test(test_swapped_out),
		cmocka_unit_test(test_padded_batch),
		cmocka_unit_test(test_held_after_abort),
		cmocka_unit_test(test_between_pools),
		cmocka_unit_test(test_head_of_ready),
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_turns_are_not_saturated),
		cmocka_unit_test(test_turns_after_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
