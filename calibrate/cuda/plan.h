/*
 * plan.h: a step of sequences as the kernels see it: rows of tokens, slots of the pool, pieces of
 * attention of about equal size. Host code alone.
 *
 * Sequences have no names: each takes the next pages of a fixed random order of the pool's. Rows
 * are the new tokens of the sequences, in order.
 */
#ifndef CALIBRATE_CUDA_PLAN_H
#define CALIBRATE_CUDA_PLAN_H

#include "calibrate/backend.h"
#include <vector>

/* Tokens that share the scale of a channel of keys, and channels that share a token's of values:
 * KIVI, section 4.2. */
constexpr int kivi_group = 32;
/* Tokens that KIVI keeps in 16 bits at least: the same section. */
constexpr int kivi_recent = 128;

constexpr int decode_warps = 4;
constexpr int decode_heads = 8;	  /* of a block at most */
constexpr int decode_unit = 32;	  /* keys that a warp takes before the next one's turn */
constexpr int prefill_rows = 128; /* queries of a block */

/* Tokens [begin, end) of a sequence; begin is a multiple of decode_unit. */
struct decode_item {
	int32_t row; /* of queries and of the output */
	int32_t first_page;
	int32_t begin, end;
	int32_t part; /* where its part goes; -1: there is no other, it writes the output */
};

/* The parts of a row; n 0: its output is there already. */
struct decode_parts {
	int32_t row, first, n;
};

/* Up to 128 new tokens of a sequence, that follow each other. */
struct prefill_tile {
	int32_t row, n;	    /* of queries and of the output, from row on */
	int32_t position;   /* of the first in its sequence */
	int32_t first_page; /* of the sequence */
};

/* 32 tokens, from slot to slot: both begin a group. */
struct kv_move {
	int32_t from, to;
};

struct plan_shape {
	int kv_heads, group; /* heads of a KV head */
	int bits, page_shift;
	int64_t pages;	     /* of the pool */
	int64_t stage_pages; /* where bits < 16: of the place in which prompts attend */
	int decode_blocks;   /* that decode attention is split into, about */
	int64_t positions;   /* beyond them they begin anew; 0: there is no end */
};

struct plan {
	std::vector<int32_t> position, slot, stage_slot;
	/* rows that are sampled */
	std::vector<int32_t> sampled;
	std::vector<prefill_tile> tiles; /* the longest first */
	/* bits < 16: cached tokens that prompts attend to, brought to the stage; bits < 8: what
	 * prompts leave there, and what decodes leave among the recent, made codes */
	std::vector<kv_move> loads, stores, flushes;
	std::vector<decode_item> items, recent; /* recent: in the pool of the latest tokens */
	std::vector<decode_parts> parts;
	int32_t n_parts; /* that the lists of parts name */
};

/* Pages that a sequence's latest tokens have in their own pool. */
int plan_recent_pages(int page_shift);
/* Of a power of two, at least 16 (32 where bits < 16), that holds a block. */
int plan_page_shift(int64_t block_tok, int bits);
/* Of a pool of kv_tok slots: each of the sequences may leave its last page unfilled; never more
 * than there are blocks. */
int64_t plan_pages(int64_t kv_tok, int64_t block_tok, int bits, int64_t max_seqs);
/* Items of n decoding sequences at most, whatever their lengths; parts: likewise. */
int64_t plan_items_max(const plan_shape &shape, int64_t n);
int64_t plan_recent_max(const plan_shape &shape, int64_t n);
int64_t plan_parts_max(const plan_shape &shape, int64_t n);
/*
 * For sequences whose slots begin at order[0]: `order` is the pool's pages. -1: they need more
 * pages than there are.
 */
int plan_step(plan &p, const plan_shape &shape, const int32_t *order, const backend_seq *seqs,
	      size_t n, err *e);

/*
 * Rows of decodes that are not there, up to n, for a graph of n of them: they read nothing, and
 * write to page `spare` and to page `recent_spare` of the latest tokens.
 */
void plan_pad(plan &p, const plan_shape &shape, size_t n, int64_t spare, int64_t recent_spare);

#endif
