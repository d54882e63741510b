/*
 * cpu_time.h: one operation of one layer, timed.
 *
 * Weights are as cold as in a whole step and inputs as hot (cpu_arena.h). Attention includes
 * writing the new keys and values, and goes through blocks other than those of the call before, in
 * the next layer of a pool as large as the step's.
 */
#ifndef CALIBRATE_CPU_TIME_H
#define CALIBRATE_CPU_TIME_H

#include "calibrate/cpu_arena.h"
#include "calibrate/cpu_step.h"

/* Attention with so many heads over a pool of its own, or over the step's. */
struct cpu_time_rig {
	struct cpu_attention attention;
	struct cpu_kv own, *kv;
	int64_t *table; /* of a call: blocks of the pool */
	int64_t turn;	/* calls so far */
};

struct cpu_time {
	struct cpu_step *step; /* outlives this */
	struct cpu_arena arena;
	struct cpu_time_rig *rig;
	size_t n_rigs;
	struct cpu_seq *seq;
};

void cpu_time_init(struct cpu_time *t, struct cpu_step *s);
void cpu_time_release(struct cpu_time *t);

/* backend_ops.step and .time */
int cpu_time_step(struct cpu_step *s, const struct backend_seq *seqs, size_t n, double *ns,
		  struct err *e);
int cpu_time_op(struct cpu_time *t, const struct point *p, double *ns, struct err *e);

/* Of them, OP_PREFILL, OP_DECODE and OP_MIXED. */
int cpu_time_attention(struct cpu_time *t, const struct point *p, double *ns, struct err *e);

#endif
