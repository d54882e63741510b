/* schedule.h: small traces and the times that must come out, for suites of hand-worked cases. */
#ifndef TESTS_SCHEDULE_H
#define TESTS_SCHEDULE_H

#include "tests/harness.h"
#include "tests/testing.h"

#define ROWS(rows) (rows), sizeof(rows) / sizeof((rows)[0])

/* arrival, prompt, output */
#define ROW(a, p, n)                                                                               \
	{                                                                                          \
		.arrive_ns = (a), .prompt_tok = (p), .output_tok = (n)                             \
	}

/* Runs it and fails the test where sim_run() did. */
static inline struct harness_result schedule(const struct harness_options *o,
					     const struct trace_row *rows, size_t n)
{
	struct harness_result r;

	harness_run(o, rows, n, &r);
	assert_fine(r.rc, r.err);
	return r;
}

/* Fast-forward and step by step, which must give the same; calls `check` on both. */
static inline void both_ways(struct harness_options *o, const struct trace_row *rows, size_t n,
			     void (*check)(const struct harness_result *r))
{
	for (int steps = 0; steps <= 1; steps++) {
		o->step_by_step = steps;
		struct harness_result r = schedule(o, rows, n);

		check(&r);
		harness_release(&r);
	}
}

/* first scheduled, first token, last token; c == -1: unfinished */
static inline void assert_times(const struct harness_result *r, size_t i, int64_t s, int64_t f,
				int64_t c)
{
	assert_true(i < r->n);
	assert_i64(r->record[i].status, c < 0 ? RECORD_UNFINISHED : RECORD_COMPLETED);
	assert_i64(r->record[i].schedule_ns, s);
	assert_i64(r->record[i].first_token_ns, f);
	assert_i64(r->record[i].finish_ns, c);
}

#endif
