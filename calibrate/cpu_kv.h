/*
 * cpu_kv.h: the paged KV pool of the backend "cpu": blocks of block_tok slots in every layer, full
 * of random numbers from the start, and the tables that say which blocks a sequence has.
 *
 * In 16 bits (32-bit floats here) and 8 bits, new keys and values go into the pool, and attention
 * reads all of them there. In 4 and 2 bits (KIVI) the last tokens stay in floats, in a window of
 * the sequence: keys from the last multiple of 128 on, of values the last 128; older ones are codes
 * in the pool. Attention reads new tokens where they were computed, and only then are they written:
 * into the window, and what leaves it as codes.
 *
 * Row R of (layer, block, kv_head, t) is ((layer blocks + block) kv_heads + kv_head) block_tok + t.
 */
#ifndef CALIBRATE_CPU_KV_H
#define CALIBRATE_CPU_KV_H

#include "calibrate/cpu_quant.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpu_kv_want {
	int64_t layers, kv_heads, head_dim;
	int64_t block_tok, blocks;
	int64_t windows; /* sequences at a time */
	int bits;	 /* 16, 8, 4, 2 */
	uint64_t seed;
	int threads;
};

enum { KV_KEYS, KV_VALUES, KV_KINDS, KV_WINDOW = 128 };

/* Each array is that of keys and that of values; NULL where the bits have no such thing. */
struct cpu_kv {
	struct cpu_kv_want is;
	float *full[KV_KINDS];	 /* 16 bits: [R][head_dim] */
	uint8_t *code[KV_KINDS]; /* [R][head_dim bits / 8]; of 8 bits signed */
	float *scale[KV_KINDS];	 /* 8 bits: [R] */
	/* 4 and 2 bits: keys [R / 32][head_dim], values [R][head_dim / 32] */
	struct quant_pair *pair[KV_KINDS];
	float *window[KV_KINDS]; /* [layer][window][kv_head][token modulo 128][head_dim] */
	int64_t *order;		 /* a permutation of the blocks: tables are parts of it */
};

/* A sequence of a step: its new tokens are rows row .. row + new_tok - 1. */
struct cpu_seq {
	int64_t row, new_tok, prior_tok;
	const int64_t *block; /* of tokens 0 .. block_tok - 1, and so on */
	int64_t window;
};

/* What was computed of the new tokens: keys and values, the first heads of row 0; rows are
 * `stride` apart. */
struct cpu_kv_rows {
	const float *x[KV_KINDS];
	int64_t stride;
};

/* Slots of a block: those wanted; of 4 and 2 bits the next multiple of 32. */
int64_t cpu_kv_block_tok(int64_t block_tok, int bits);
/* Bytes of a pool. */
int64_t cpu_kv_bytes(const struct cpu_kv_want *w);
/* block_tok as cpu_kv_block_tok() has it; of 4 and 2 bits head_dim is a multiple of 32. */
void cpu_kv_init(struct cpu_kv *kv, const struct cpu_kv_want *w);
void cpu_kv_release(struct cpu_kv *kv);

/* Blocks that so many tokens take. */
int64_t cpu_kv_blocks(const struct cpu_kv *kv, int64_t tok);
/* The first token that is not a code, in 4 and 2 bits, of `ctx` cached ones. */
int64_t cpu_kv_coded(int kind, int64_t ctx);
/* R of a token, and the index of its row in a window. */
int64_t cpu_kv_row(const struct cpu_kv *kv, int64_t layer, const struct cpu_seq *s, int64_t kv_head,
		   int64_t tok);
int64_t cpu_kv_window_row(const struct cpu_kv *kv, int64_t layer, const struct cpu_seq *s,
			  int64_t kv_head, int64_t tok);

/* Whether new tokens are written after attention, not before. */
bool cpu_kv_is_late(const struct cpu_kv *kv);
/* Writes the new tokens of n sequences. */
void cpu_kv_write(struct cpu_kv *kv, int64_t layer, const struct cpu_seq *seqs, size_t n,
		  const struct cpu_kv_rows *rows);

#endif
