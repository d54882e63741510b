/*
 * cpu_step.h: a step of a model on the CPU: all new tokens of all sequences in one batch through
 * all layers, then the head for the sequences that are sampled.
 *
 * Nothing is allocated between init and release.
 */
#ifndef CALIBRATE_CPU_STEP_H
#define CALIBRATE_CPU_STEP_H

#include "calibrate/backend.h"
#include "calibrate/cpu_attention.h"
#include "calibrate/cpu_kv.h"
#include "calibrate/cpu_ops.h"
#include "calibrate/weights.h"

struct cpu_step {
	int64_t max_tok, max_seqs;
	struct weights weights;
	struct cpu_ops ops;
	struct cpu_kv kv;
	struct cpu_attention attention;
	/* rows of activations */
	float *x, *norm, *qkv, *out, *up, *act, *add, *logits;
	/* of the step: of each new token, of each sequence, of each sampled one */
	int64_t *token, *position, *last, *best;
	struct cpu_seq *seq;
	int64_t n_tok, n_sampled;
	size_t n_seqs;
	uint64_t draws; /* so that tokens of no two steps are the same */
};

/* Bytes of all that cpu_step_init() allocates. */
int64_t cpu_step_bytes(const struct backend_want *w);
/* After blas_load(). */
void cpu_step_init(struct cpu_step *s, const struct backend_want *w);
void cpu_step_release(struct cpu_step *s);

/* -1: more tokens or sequences than this step has room for, or more blocks than the pool has. */
int cpu_step_check(const struct cpu_step *s, const struct cpu_kv *kv,
		   const struct backend_seq *seqs, size_t n, struct err *e);
/* Takes sequences in: random tokens, blocks in the order of the pool. -1: more than there is room
 * for; the sentence says of what. */
int cpu_step_plan(struct cpu_step *s, const struct backend_seq *seqs, size_t n, struct err *e);
/* The forward pass: logits[n_sampled][vocab] and best[n_sampled]. */
void cpu_step_run(struct cpu_step *s);

#endif
