/*
 * executed.h: an executor that runs as real ones do: it answers with what another one says, and
 * recounts the sequences of each step from the sums beside them.
 */
#ifndef TESTS_EXECUTED_H
#define TESTS_EXECUTED_H

#include "sim/executor.h"

struct executed {
	struct executor x;
	struct executor *inner; /* owned */
	int64_t window_tok;	/* of the model; 0: none */
	int64_t steps;		/* so far */
	int64_t prefill_seq, decode_seq, sampled;
	int64_t fail_at;   /* that step fails; 0: none */
	int64_t *clock_ns; /* a clock that each step moves on by what it takes; NULL: none */
	struct err err;
};

/* executor_free(&e->x) frees both. */
struct executed *executed_new(struct executor *inner, int64_t window_tok);

/* A step's sequences against its sums; aborts with both numbers. */
void executed_check(const struct step *s, int64_t window_tok);

#endif
