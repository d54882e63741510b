/* validate_ladder_run.h: the runs of a ladder, and their steps; within validate_ladder*.c. */
#ifndef SIM_VALIDATE_LADDER_RUN_H
#define SIM_VALIDATE_LADDER_RUN_H

#include "sim/executor.h"
#include "sim/validate.h"
#include "sim/validate_ladder.h"

struct ladder_want {
	const char *backend, *model;
	const char *profile; /* NULL: each round times kernels for budget_s (0: a default) */
	double budget_s;
	int64_t tp, rounds;
	size_t n_policies;
	double load; /* of what the machine can do; 0: arrivals are given otherwise */
	int argc;    /* of `omnibus validate`, parsed anew for each run */
	char **argv;
};

enum { LADDER_PREFILL, LADDER_DECODE, LADDER_MIXED, N_LADDER_STEPS };

/* Rows of all policies, and of their steps. Zero it; release frees it. */
struct ladder_result {
	struct ladder_row *row; /* N_LADDER a policy */
	struct ladder_steps *steps;
	size_t n_rows, n_steps;
	struct tolerance tolerance; /* given */
	char outside[4096];
};
void ladder_result_add(struct ladder_result *to, const struct ladder_round *rounds, size_t n,
		       const struct error_pairs steps[N_LADDER_STEPS]);
void ladder_result_release(struct ladder_result *r);

/* Runs all of it. The exit code: 0, or EXIT_FAILED or EXIT_USAGE and a sentence. */
int ladder_run(const struct ladder_want *w, struct ladder_result *to, struct err *e);

/* Adds each step of a recording to the pairs of its kind: what it took, and what x says of it. */
int ladder_compare_steps(struct error_pairs steps[N_LADDER_STEPS], const char *recording,
			 const struct executor *x, int64_t window_tok, struct err *e);

#endif
