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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single_token_moves),
		cmocka_unit_test(test_first_blocks),
		cmocka_unit_test(test_pools),
		cmocka_unit_test(test_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
