/*
 * kv.h: the KV block pool of one instance, and how decoding requests grow in it.
 *
 * A request that decodes takes one slot a step, so it needs a new block every block_tok steps. Only
 * how many requests stand at each offset in their last block matters: `grow` counts the blocks that
 * they will take by (slots - decode clock) mod block_tok, which a decode step leaves unchanged.
 */
#ifndef SIM_KV_H
#define SIM_KV_H

#include "sim/buddy.h"
#include "sim/prefix.h"

struct kv_growth {
	int64_t *grow;	 /* block_tok counters: blocks */
	int64_t growers; /* their sum: blocks that all take in block_tok steps */
};

struct kv {
	int64_t block_tok;
	int shift;		       /* block_tok = 1 << shift; -1: it is no power of two */
	int64_t total, used;	       /* blocks; used + free = total, always */
	int64_t host_total, host_used; /* blocks of host memory for swapped requests */
	struct kv_growth growth;
	/*
	 * Sliding windows (0: none): window_share blocks for each block of min(slots, window_tok),
	 * beside the blocks of all slots, or (window_only) alone.
	 */
	int64_t window_tok, window_share;
	bool window_only;
	/* at most one of them: known blocks are shared, or blocks come in contiguous chunks */
	struct prefix *prefix;
	struct buddy *buddy;
	int64_t room; /* total, less known blocks that nobody holds */
};

/* What a request holds of a pool, apart from the request: it can be given back later. */
struct kv_hold {
	int64_t blocks;	       /* those that others hold too included */
	int64_t address;       /* of its chunk in a buddy pool */
	struct prompt *prompt; /* in a pool that remembers blocks; or NULL */
};

void kv_growth_init(struct kv_growth *g, int64_t block_tok);
void kv_growth_release(struct kv_growth *g);

void kv_init(struct kv *kv, int64_t block_tok, int64_t total, int64_t host_total);
void kv_release(struct kv *kv);
/* Before anything is taken: the pool remembers blocks, or hands out contiguous chunks. */
void kv_remember(struct kv *kv, int64_t hash_tok);
void kv_use_chunks(struct kv *kv);

/* x / block_tok of x >= 0, without a division where it can be had without. */
static inline int64_t kv_div(const struct kv *kv, int64_t x)
{
	return kv->shift >= 0 ? x >> kv->shift : x / kv->block_tok;
}

int64_t kv_window_blocks(const struct kv *kv, int64_t tok);

static inline int64_t kv_blocks(const struct kv *kv, int64_t tok)
{
	if (tok <= 0)
		return 0;
	return kv->window_tok ? kv_window_blocks(kv, tok) : kv_div(kv, tok - 1) + 1;
}

/* Blocks that a request with `slots` slots, its last block full, takes for the next one. */
static inline int64_t kv_next_blocks(const struct kv *kv, int64_t slots)
{
	return !kv->window_only + (slots < kv->window_tok ? kv->window_share : 0);
}

static inline int64_t kv_free(const struct kv *kv)
{
	return kv->total - kv->used;
}

/* Blocks that a reservation of so many takes, and whether the whole pool could hold it. */
static inline int64_t kv_rounded(const struct kv *kv, int64_t blocks)
{
	return kv->buddy ? buddy_size(blocks) : blocks;
}

static inline bool kv_holds(const struct kv *kv, int64_t blocks)
{
	if (kv->buddy)
		return buddy_size(blocks) <= buddy_largest(kv->buddy);
	return blocks <= kv->total;
}

/* Where kv_take() meets known blocks that nobody holds: forgets some, or finds that it is wrong. */
void kv_make_room(struct kv *kv, int64_t blocks);

/* Takes blocks that the caller knows to be free, gives some back. */
static inline void kv_take(struct kv *kv, int64_t blocks)
{
	if (blocks < 0 || blocks > kv->room - kv->used)
		kv_make_room(kv, blocks);
	kv->used += blocks;
}

void kv_give(struct kv *kv, int64_t blocks);

/* Takes rounded blocks in one piece if they are free; false: they are not. */
bool kv_take_chunk(struct kv *kv, int64_t blocks, int64_t *address);

/* Holds the blocks that prefix_find() has just found for the prompt: so many. */
int64_t kv_take_found(struct kv *kv, struct prompt *p);

/* Gives all of it back, where it is more than a number of blocks. The prompt stays the caller's. */
void kv_give_back(struct kv *kv, const struct kv_hold *h);

/*
 * A request with that many slots starts or stops growing at this decode clock, by `blocks` whenever
 * its last one is full.
 */
void kv_grow_join(struct kv *kv, int64_t slots, int64_t clock, int64_t blocks);
void kv_grow_leave(struct kv *kv, int64_t slots, int64_t clock, int64_t blocks);

/* The counter that the step starting at `clock` meets; each step later meets the one before it. */
static inline int64_t kv_offset(const struct kv *kv, int64_t clock)
{
	if (kv->shift >= 0)
		return -clock & (kv->block_tok - 1);
	int64_t at = clock % kv->block_tok;

	return at ? kv->block_tok - at : 0;
}

/* Blocks that the step starting at `clock` takes. */
static inline int64_t kv_need(const struct kv *kv, int64_t clock)
{
	return kv->growth.grow[kv_offset(kv, clock)];
}

/* How many steps, at most `most`, can start from `clock` on before blocks run out. */
int64_t kv_steps(const struct kv *kv, int64_t clock, int64_t most);

/*
 * Starts `steps` decode steps from `clock` on, which must fit: takes their blocks, and returns the
 * sum over these steps of the blocks in use.
 */
int64_t kv_grow(struct kv *kv, int64_t clock, int64_t steps);

#endif
