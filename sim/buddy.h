/*
 * buddy.h: a pool of blocks handed out in contiguous chunks of a power of two each.
 *
 * The pool is cut into chunks of the powers of two in its number of blocks, largest first, from
 * address 0. A chunk that is too large is halved, the lower half kept; the two halves are buddies,
 * and merge again when both are free (Knuth, TAOCP vol. 1, section 2.5). O(log blocks) a call;
 * memory follows the free chunks, not the pool.
 */
#ifndef SIM_BUDDY_H
#define SIM_BUDDY_H

#include "sim/err.h"
#include <gsl/gsl_bst.h>
#include <stdbool.h>
#include <stdint.h>

enum { BUDDY_ORDERS = 63 };

struct buddy {
	int64_t total;
	uint64_t orders; /* bit k: chunks of 1 << k blocks are free */
	/* free chunks of each size by address; NULL: there never was one */
	gsl_bst_workspace *chunks[BUDDY_ORDERS];
};

void buddy_init(struct buddy *b, int64_t total);
void buddy_release(struct buddy *b);

/* Blocks of the chunk that so many blocks take: the next power of two. */
int64_t buddy_size(int64_t blocks);
/* Blocks of the largest chunk that this pool ever has. */
int64_t buddy_largest(const struct buddy *b);

/* Whether a chunk of that size (a power of two) is there, or a larger one to be halved. */
bool buddy_fits(const struct buddy *b, int64_t size);
/* Takes it, out of the smallest chunk that is large enough, the lowest address among equals; it is
 * there. Returns its address. */
int64_t buddy_take(struct buddy *b, int64_t size);
void buddy_give(struct buddy *b, int64_t address, int64_t size);

#endif
