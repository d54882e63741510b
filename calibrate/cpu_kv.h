/*
 * cpu_kv.h: the paged KV pool of the backend "cpu": blocks of block_tok slots in every layer, full
 * of random numbers from the start, and the tables that say which blocks a sequence has.
 */
#ifndef CALIBRATE_CPU_KV_H
#define CALIBRATE_CPU_KV_H

#include <stddef.h>
#include <stdint.h>

struct cpu_kv_want {
	int64_t layers, kv_heads, head_dim;
	int64_t block_tok, blocks;
	uint64_t seed;
	int threads;
};

struct cpu_kv {
	struct cpu_kv_want is;
	float *k, *v;	/* [layer][block][kv_head][block_tok][head_dim] */
	int64_t *order; /* a permutation of the blocks: tables are parts of it */
};

/* A sequence of a step: its new tokens are rows row .. row + new_tok - 1. */
struct cpu_seq {
	int64_t row, new_tok, prior_tok;
	const int64_t *block; /* of tokens 0 .. block_tok - 1, and so on */
};

/* Bytes of a pool. */
int64_t cpu_kv_bytes(const struct cpu_kv_want *w);
void cpu_kv_init(struct cpu_kv *kv, const struct cpu_kv_want *w);
void cpu_kv_release(struct cpu_kv *kv);

/* Blocks that so many tokens take. */
int64_t cpu_kv_blocks(const struct cpu_kv *kv, int64_t tok);

/*
 * Writes keys and values of the new tokens of n sequences: k and v are the first heads of row 0,
 * rows are `stride` apart.
 */
struct cpu_kv_rows {
	const float *k, *v;
	int64_t stride;
};
void cpu_kv_write(struct cpu_kv *kv, int64_t layer, const struct cpu_seq *seqs, size_t n,
		  const struct cpu_kv_rows *rows);

/* Keys, values of `tok` and the following ones of its block: rows of head_dim. */
const float *cpu_kv_keys(const struct cpu_kv *kv, int64_t layer, const struct cpu_seq *s,
			 int64_t kv_head, int64_t tok);
const float *cpu_kv_values(const struct cpu_kv *kv, int64_t layer, const struct cpu_seq *s,
			   int64_t kv_head, int64_t tok);

#endif
