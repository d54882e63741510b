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
					    "paged:chunk=512,max_paddings=4",
					    "paged:mixed=on,max_paddings=4",
					    "vllm-0.2:mixed=on",
					    "vllm-v1:mixed=on",
					    "paged:predict_error=1.5",
					    "paged:order=lifo"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct choice c;
		struct err e = {""};

		assert_i64(choice_parse(&c, texts[i], &e), -1);
		assert_true(e.text[0] != '\0');
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
