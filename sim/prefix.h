/*
 * prefix.h: the blocks of prompts that a KV pool remembers: by what they are known, how many
 * requests hold each, and which goes first of those that nobody holds.
 *
 * A block that a prompt fills is known by a pair (hash id, part): with hash ids of H tokens and
 * blocks of B, block k is part k mod (H / B) of id k B / H where H is a multiple of B, and part 0
 * of the last id within it where B is a multiple of H. Pairs are compared whole: different ones
 * never meet. How many blocks are free is the pool's business (kv.h): a known block that nobody
 * holds is *idle*, and stays known until prefix_forget().
 *
 * A find, a fill or a release costs O(blocks of the prompt), a few ns each; memory follows the
 * known blocks.
 */
#ifndef SIM_PREFIX_H
#define SIM_PREFIX_H

#include "sim/err.h"
#include <stdbool.h>
#include <stdint.h>

struct prefix_block {
	uint64_t id;
	uint32_t part;
	uint32_t holders;
	uint32_t prev, next; /* among the idle ones; next also in the list of unused places */
	uint32_t chain;	     /* the next one in the same bucket; 0: none */
};

#define PREFIX_NO_PART UINT32_MAX /* part of places without a known block */

struct prefix {
	uint32_t parts, ids; /* parts of an id; ids in a block: one of them is 1 */
	int64_t known, idle;
	uint64_t changes; /* of what is known */

	/* block[0] is nobody's: the head of the ring of idle blocks, the next to be forgotten
	 * first */
	struct prefix_block *block;
	uint32_t n, room;
	/* Places that were forgotten, the first one to be taken again, so that blocks which are
	 * forgotten together stay together; 0: none. */
	uint32_t unused, last_unused;

	uint32_t *bucket; /* hash table of the known ones: the first of each bucket; 0: none */
	int shift;	  /* it has 1 << (64 - shift) of them, at least twice `room` */
};

static inline uint32_t prefix_bucket(const struct prefix *px, uint64_t id, uint32_t part)
{
	uint64_t x = (id ^ (id >> 32)) + part * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)((x * UINT64_C(0xff51afd7ed558ccd)) >> px->shift);
}

/* The hash ids of a request's prompt, and which blocks it holds. In one piece of memory: free(). */
struct prompt {
	int64_t n;     /* blocks of it that can be known */
	int64_t held;  /* blocks held, from the first on */
	int64_t found; /* by prefix_find(), while `changes` is the pool's */
	int64_t hints; /* places in block[] that may still be right */
	uint64_t changes;
	uint32_t *block; /* PROMPT_OWN: a block of which another copy is the known one */
	uint64_t id[];	 /* those that blocks are known by */
};

#define PROMPT_OWN UINT32_MAX

/* Whether blocks of block_tok and ids of hash_tok tokens divide one another. */
bool prefix_divides(int64_t block_tok, int64_t hash_tok);
/* They must; hash_tok 0: no request will have ids. */
void prefix_init(struct prefix *px, int64_t block_tok, int64_t hash_tok);
void prefix_release(struct prefix *px);

/* Copies the ids of a prompt that fills `blocks` whole blocks. The caller's, to be freed. */
struct prompt *prompt_new(const struct prefix *px, const uint64_t *id, int64_t n_ids,
			  int64_t blocks);

/* Length of the longest run of known blocks from the start of the prompt, of at most `most`. */
int64_t prefix_find(struct prefix *px, struct prompt *p, int64_t most);
/* How many of the blocks just found somebody holds. */
int64_t prefix_shared(const struct prefix *px, const struct prompt *p);
/* p, which holds nothing, holds what was just found. Returns how many of them were idle. */
int64_t prefix_hold(struct prefix *px, struct prompt *p);

/*
 * p holds its blocks up to `to`, filled by tokens of the prompt: those not known by now are from
 * now on.
 */
void prefix_fill(struct prefix *px, struct prompt *p, int64_t to);

/*
 * p holds nothing any more; blocks that nobody else holds are idle, and its last will be forgotten
 * first. Returns how many others hold.
 */
int64_t prefix_let_go(struct prefix *px, struct prompt *p);

/* Forgets the n idle blocks that were let go first. */
void prefix_forget(struct prefix *px, int64_t n);

#endif
