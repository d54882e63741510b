/*
 * by_hand.h: what the suites of schedules worked out by hand for the reference simulator share.
 */
#ifndef TESTS_BY_HAND_H
#define TESTS_BY_HAND_H

#include "tests/reference.h"
#include "tests/testing.h"

static inline struct ref_config base(struct ref_policy policy)
{
	return (struct ref_config){
		.policy = policy,
		.instances = 1,
		.blocks = 1000,
		.block_tok = 16,
		.step_ns = 10,
		.pcie_bytes_s = 1e9,
		.link_bytes_s = 1e9,
		.horizon_ns = -1,
		.stream = 1,
		.keep_steps = true,
	};
}

static inline struct ref_policy paged(int64_t seats, int64_t chunk)
{
	return (struct ref_policy){.kind = REF_PAGED,
				   .seats = seats,
				   .chunk = chunk,
				   .max_batched_tok = INT64_MAX,
				   .max_paddings = -1};
}

static inline struct ref_policy continuous(int64_t seats)
{
	return (struct ref_policy){.kind = REF_CONTINUOUS, .seats = seats, .reserve = REF_ORACLE};
}

static inline struct ref_policy fixed_batch(int64_t size)
{
	return (struct ref_policy){.kind = REF_STATIC, .seats = size};
}

static inline void check_tokens(const struct ref_run *run, size_t r, const int64_t *want, int64_t n)
{
	assert_i64(run->outcome[r].tokens, n);
	for (int64_t k = 0; k < n; k++)
		assert_i64(run->outcome[r].token_ns[k], want[k]);
}

#define check_tokens(run, r, ...)                                                                  \
	check_tokens(run, r, (const int64_t[]){__VA_ARGS__},                                       \
		     sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static inline void check_times(const struct ref_run *run, size_t r, int64_t s, int64_t f, int64_t c)
{
	assert_i64(run->outcome[r].status, c < 0 ? REF_UNFINISHED : REF_COMPLETED);
	assert_i64(run->outcome[r].s_ns, s);
	assert_i64(run->outcome[r].f_ns, f);
	assert_i64(run->outcome[r].c_ns, c);
}

static inline struct ref_config split(int64_t prefill, int64_t decode_seats)
{
	struct ref_config c = base(paged(4, 0));

	c.disaggregated = true;
	c.instances = prefill;
	c.decode = paged(decode_seats, 0);
	c.decode.swap = true;
	c.decode_instances = 1;
	c.decode_blocks = 1000;
	c.latency_ns = 20;
	return c;
}

static inline void check_arrival(const struct ref_run *run, size_t r, enum ref_status status,
				 int64_t arrive_ns)
{
	assert_i64(run->outcome[r].status, status);
	assert_i64(run->outcome[r].arrive_ns, arrive_ns);
}

#endif
