/*
 * cpu_attention.h: causal attention of the new tokens of sequences to all that is cached of them,
 * through block tables, the new ones included: decodes, prompts and chunks of them in one call,
 * spread over threads by (sequence, KV head, some of its queries).
 *
 * The softmax is streamed over tiles of keys, so nothing grows with the context. Few rows (a
 * decode) read the blocks where they lie; many rows (a prompt) gather a tile and multiply it by
 * OpenBLAS.
 */
#ifndef CALIBRATE_CPU_ATTENTION_H
#define CALIBRATE_CPU_ATTENTION_H

#include "calibrate/cpu_kv.h"
#include "calibrate/cpu_ops.h"

/* Queries of one sequence with one KV head: what a thread works on at a time. */
struct cpu_attention_task {
	const struct cpu_seq *seq;
	int64_t kv_head, first, n; /* of its new tokens */
};

struct cpu_attention {
	const struct cpu_ops *ops;
	int64_t heads, kv_heads, head_dim;
	float *scratch; /* of each thread */
	struct cpu_attention_task *task;
	size_t n_tasks, room;
	const struct cpu_seq *seqs;
	size_t n_seqs;
};

/* Room for steps of so many new tokens of so many sequences. */
void cpu_attention_init(struct cpu_attention *a, const struct cpu_ops *o, int64_t heads,
			int64_t kv_heads, int64_t head_dim, int64_t max_tok, int64_t max_seqs);
void cpu_attention_release(struct cpu_attention *a);

/* Tasks for these sequences, which must stay where they are until the last run. */
void cpu_attention_plan(struct cpu_attention *a, const struct cpu_seq *seqs, size_t n);

/*
 * In one layer: writes the new keys and values into the pool and attends. q: rows as far apart as
 * those of keys and values, the heads first; out[row][heads][head_dim].
 */
void cpu_attention_run(const struct cpu_attention *a, struct cpu_kv *kv, int64_t layer,
		       const float *q, const struct cpu_kv_rows *rows, float *out);

#endif
