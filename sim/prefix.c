#include "sim/prefix.h"
#include <stdlib.h>
#include <string.h>

bool prefix_divides(int64_t block_tok, int64_t hash_tok)
{
	return hash_tok % block_tok == 0 || block_tok % hash_tok == 0;
}

void prefix_init(struct prefix *px, int64_t block_tok, int64_t hash_tok)
{
	int64_t h = hash_tok > 0 ? hash_tok : block_tok;

	CHECK(prefix_divides(block_tok, h), "hash ids of %lld tokens, blocks of %lld", (long long)h,
	      (long long)block_tok);
	*px = (struct prefix){.parts = h > block_tok ? h / block_tok : 1,
			      .ids = h > block_tok ? 1 : block_tok / h,
			      .changes = 1,
			      .n = 1,
			      .room = 64,
			      .mask = 127};
	px->block = xcalloc(px->room, sizeof(*px->block));
	px->block[0].part = PREFIX_NO_PART;
	px->slot = xcalloc((size_t)px->mask + 1, sizeof(*px->slot));
}

void prefix_release(struct prefix *px)
{
	free(px->block);
	free(px->slot);
	*px = (struct prefix){0};
}

struct prompt *prompt_new(const struct prefix *px, const uint64_t *id, int64_t n_ids,
			  int64_t blocks)
{
	int64_t n = n_ids / px->ids * px->parts;
	struct prompt *p;

	if (n > blocks)
		n = blocks;
	p = xmalloc(sizeof(*p) + (size_t)n_ids * sizeof(*id) + (size_t)n * sizeof(*p->block));
	*p = (struct prompt){.n = n, .block = (uint32_t *)(p->id + n_ids)};
	if (n_ids > 0)
		memcpy(p->id, id, (size_t)n_ids * sizeof(*id));
	return p;
}

/* What a block of a prompt is known by; from block to block without a division. */
struct name {
	int64_t at;
	uint32_t part;
};

static struct name name_of(const struct prefix *px, int64_t k)
{
	if (px->parts == 1)
		return (struct name){(k + 1) * px->ids - 1, 0};
	return (struct name){k / px->parts, (uint32_t)(k % px->parts)};
}

static void name_next(const struct prefix *px, struct name *name)
{
	if (++name->part < px->parts)
		return;
	name->part = 0;
	name->at += px->ids;
}

/* The table */

static uint32_t hash_of(uint64_t id, uint32_t part)
{
	uint64_t x = (id + part * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);

	x = (x ^ (x >> 32)) * UINT64_C(0xc4ceb9fe1a85ec53);
	return (uint32_t)(x >> 32);
}

static bool is(const struct prefix *px, uint32_t block, uint64_t id, uint32_t part)
{
	return block < px->n && px->block[block].part == part && px->block[block].id == id;
}

/* The slot of the block of this name, or the empty one where it belongs. */
static uint32_t slot_of(const struct prefix *px, uint32_t hash, uint64_t id, uint32_t part)
{
	uint32_t at = hash & px->mask;

	while (px->slot[at].block &&
	       !(px->slot[at].hash == hash && is(px, px->slot[at].block, id, part)))
		at = (at + 1) & px->mask;
	return at;
}

static void table_grow(struct prefix *px)
{
	struct prefix_slot *old = px->slot;
	uint32_t n = px->mask + 1;

	CHECK(n <= UINT32_MAX / 2, "a table of %u prefix blocks", n);
	px->mask = 2 * n - 1;
	px->slot = xcalloc((size_t)px->mask + 1, sizeof(*px->slot));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = old[i].hash & px->mask;

		if (!old[i].block)
			continue;
		while (px->slot[at].block)
			at = (at + 1) & px->mask;
		px->slot[at] = old[i];
	}
	free(old);
}

/* Takes the entry at `at` out: those behind it that had to give way to it move up. */
static void table_remove(struct prefix *px, uint32_t at)
{
	for (uint32_t next = (at + 1) & px->mask; px->slot[next].block;
	     next = (next + 1) & px->mask) {
		uint32_t home = px->slot[next].hash & px->mask;

		if (((next - home) & px->mask) < ((next - at) & px->mask))
			continue;
		px->slot[at] = px->slot[next];
		at = next;
	}
	px->slot[at].block = 0;
}

/* Blocks */

static uint32_t block_take(struct prefix *px)
{
	uint32_t block = px->unused;

	if (block) {
		px->unused = px->block[block].next;
		return block;
	}
	if (px->n == px->room) {
		CHECK(px->room <= UINT32_MAX / 2, "%u prefix blocks", px->room);
		px->room *= 2;
		px->block = xrealloc(px->block, px->room * sizeof(*px->block));
	}
	return px->n++;
}

/* The name is not known: the slot is the empty one where it belongs. */
static uint32_t block_new(struct prefix *px, uint32_t slot, uint32_t hash, uint64_t id,
			  uint32_t part)
{
	uint32_t block = block_take(px);

	px->block[block] = (struct prefix_block){.id = id, .part = part, .holders = 1};
	px->slot[slot] = (struct prefix_slot){hash, block};
	px->changes++;
	if (2 * ++px->known > (int64_t)px->mask)
		table_grow(px);
	return block;
}

static void ring_remove(struct prefix *px, uint32_t block)
{
	const struct prefix_block *b = &px->block[block];

	px->block[b->prev].next = b->next;
	px->block[b->next].prev = b->prev;
	px->idle--;
}

static void ring_append(struct prefix *px, uint32_t block)
{
	struct prefix_block *b = &px->block[block], *head = &px->block[0];

	b->prev = head->prev;
	b->next = 0;
	px->block[head->prev].next = block;
	head->prev = block;
	px->idle++;
}

/* Prompts */

int64_t prefix_find(struct prefix *px, struct prompt *p, int64_t most)
{
	struct name name = name_of(px, 0);
	int64_t k = 0;

	if (p->changes == px->changes)
		return p->found;
	for (; k < most && k < p->n; k++) {
		/* where it was, or behind the one before: blocks are mostly filled in order */
		uint32_t block = k < p->hints ? p->block[k] : k > 0 ? p->block[k - 1] + 1 : 0;
		uint64_t id = p->id[name.at];

		if (!is(px, block, id, name.part))
			block = px->slot[slot_of(px, hash_of(id, name.part), id, name.part)].block;
		if (!block)
			break;
		p->block[k] = block;
		name_next(px, &name);
	}
	if (k > p->hints)
		p->hints = k;
	p->changes = px->changes;
	p->found = k;
	return k;
}

int64_t prefix_shared(const struct prefix *px, const struct prompt *p)
{
	int64_t n = 0;

	CHECK(p->changes == px->changes, "%lld blocks found long ago", (long long)p->found);
	for (int64_t k = 0; k < p->found; k++)
		n += px->block[p->block[k]].holders > 0;
	return n;
}

int64_t prefix_hold(struct prefix *px, struct prompt *p)
{
	int64_t before = px->idle;

	CHECK(p->held == 0 && p->changes == px->changes, "%lld blocks held, %lld found",
	      (long long)p->held, (long long)p->found);
	for (int64_t k = 0; k < p->found; k++)
		if (px->block[p->block[k]].holders++ == 0)
			ring_remove(px, p->block[k]);
	p->held = p->found;
	return before - px->idle;
}

void prefix_fill(struct prefix *px, struct prompt *p, int64_t to)
{
	struct name name = name_of(px, p->held);

	for (; p->held < to && p->held < p->n; p->held++) {
		uint64_t id = p->id[name.at];
		uint32_t hash = hash_of(id, name.part);
		uint32_t at = slot_of(px, hash, id, name.part);

		p->block[p->held] =
			px->slot[at].block ? PROMPT_OWN : block_new(px, at, hash, id, name.part);
		name_next(px, &name);
	}
}

int64_t prefix_let_go(struct prefix *px, struct prompt *p)
{
	int64_t others = 0;

	for (int64_t k = p->held - 1; k >= 0; k--) {
		if (p->block[k] == PROMPT_OWN)
			continue;
		if (--px->block[p->block[k]].holders > 0)
			others++;
		else
			ring_append(px, p->block[k]);
	}
	p->hints = p->held;
	p->held = p->found = 0;
	p->changes = 0;
	return others;
}

void prefix_forget(struct prefix *px, int64_t n)
{
	CHECK(n <= px->idle, "%lld blocks of %lld idle ones", (long long)n, (long long)px->idle);
	for (; n > 0; n--) {
		uint32_t block = px->block[0].next;
		struct prefix_block *b = &px->block[block];

		ring_remove(px, block);
		table_remove(px, slot_of(px, hash_of(b->id, b->part), b->id, b->part));
		*b = (struct prefix_block){.part = PREFIX_NO_PART, .next = px->unused};
		px->unused = block;
		px->known--;
		px->changes++;
	}
}
