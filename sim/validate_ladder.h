/*
 * validate_ladder.h: a forecast beside real runs of the same requests, rung by rung: two runs
 * against each other, one before and one after the kernels were timed (the noise floor), the
 * forecast against these two (the cost model's error), and against one in real time (that, and
 * whatever the simulated clock leaves out).
 */
#ifndef SIM_VALIDATE_LADDER_H
#define SIM_VALIDATE_LADDER_H

#include "results/summary.h"
#include "sim/validate_error.h"

/* What is compared of a run; names end with _mean or _p50. */
enum ladder_metric {
	LADDER_TTFT_MEAN,
	LADDER_TTFT_P50,
	LADDER_TPOT_MEAN,
	LADDER_TPOT_P50,
	LADDER_E2E_MEAN,
	LADDER_E2E_P50,
	LADDER_THROUGHPUT,
	N_LADDER
};

/* Four runs of one policy; the kernels are timed after the first. */
struct ladder_round {
	struct summary measured, predicted, again, wall;
};

/* A metric of one policy: medians over the rounds. */
struct ladder_row {
	char policy[64], given[256], metric[32];
	int64_t rounds;
	double measured, predicted, wall; /* s, or a second */
	double floor; /* again / measured - 1, or measured / again - 1: the positive one */
	double model_error, wall_error; /* predicted / measured - 1, and / wall - 1 */
	double limit;			/* the tolerance, or the floor where that is larger */
	char within[8];			/* whether the model's error is: "yes", "no" */
};
extern const struct field ladder_fields[];

/* N_LADDER rows of `n` rounds. What is beyond its limit is said in `outside`. */
void ladder_rows(struct ladder_row *rows, const struct ladder_round *rounds, size_t n,
		 const struct tolerance *t, char *outside, size_t size);

/* Steps that were run, of one kind, each against what is predicted for its sequences. */
struct ladder_steps {
	char policy[64], given[256], kind[16];
	int64_t steps;
	double measured_s, predicted_s; /* medians */
	double error;			/* of the sums */
	double signed_p50, abs_p50, abs_p90;
};
extern const struct field ladder_step_fields[];
/* `of` is one of their runs; `kind` is copied. */
void ladder_steps_make(struct ladder_steps *s, const struct summary *of, const char *kind,
		       const struct error_pairs *p);

#endif
