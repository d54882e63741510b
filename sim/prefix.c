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
	*px = (struct prefix){.parts = h > block_tok ? (uint32_t)(h / block_tok) : 1,
			      .ids = h > block_tok ? 1 : (uint32_t)(block_tok / h),
			      .changes = 1,
			      .n = 1,
			      .room = 64,
			      .shift = 64 - 7};
	px->block = xcalloc(px->room, sizeof(*px->block));
	px->block[0].part = PREFIX_NO_PART;
	px->bucket = xcalloc(2 * (size_t)px->room, sizeof(*px->bucket));
}

void prefix_release(struct prefix *px)
{
	free(px->block);
	free(px->bucket);
	*px = (struct prefix){0};
}

struct prompt *prompt_new(const struct prefix *px, const uint64_t *id, int64_t n_ids,
			  int64_t blocks)
{
	int64_t n_names = n_ids / px->ids, n = n_names * px->parts;
	struct prompt *p;

	if (n > blocks)
		n = blocks;
	p = xmalloc(sizeof(*p) + (size_t)n_names * sizeof(*id) + (size_t)n * sizeof(*p->block));
	*p = (struct prompt){.n = n, .block = (uint32_t *)(p->id + n_names)};
	for (int64_t i = 0; i < n_names; i++)
		p->id[i] = id[(i + 1) * px->ids - 1];
	return p;
}

/* What a block of a prompt is known by; from block to block without a division. */
struct name {
	const uint64_t *id;
	uint32_t part;
};

static inline struct name name_of(const struct prefix *px, const struct prompt *p, int64_t k)
{
	if (px->parts == 1)
		return (struct name){&p->id[k], 0};
	return (struct name){&p->id[k / px->parts], (uint32_t)(k % px->parts)};
}

static inline void name_next(const struct prefix *px, struct name *name)
{
	if (++name->part == px->parts) {
		name->part = 0;
		name->id++;
	}
}

static inline bool is(const struct prefix_block *b, struct name name)
{
	return b->id == *name.id && b->part == name.part;
}

/* The known block of this name in its bucket; 0: there is none. */
static inline uint32_t look_up(const struct prefix *px, uint32_t bucket, struct name name)
{
	uint32_t at = px->bucket[bucket];

	while (at && !is(&px->block[at], name))
		at = px->block[at].chain;
	return at;
}

/* Places and buckets for so many more. */
static void make_room(struct prefix *px, int64_t more)
{
	uint32_t before = px->room;

	CHECK(px->known + more < UINT32_MAX / 4, "%lld prefix blocks",
	      (long long)(px->known + more));
	while (px->known + more >= px->room) {
		px->room *= 2;
		px->shift--;
	}
	if (px->room == before)
		return;
	px->block = xrealloc(px->block, px->room * sizeof(*px->block));
	free(px->bucket);
	px->bucket = xcalloc(2 * (size_t)px->room, sizeof(*px->bucket));
	for (uint32_t i = 1; i < px->n; i++) {
		struct prefix_block *b = &px->block[i];
		uint32_t bucket = prefix_bucket(px, b->id, b->part);

		if (b->part == PREFIX_NO_PART)
			continue;
		b->chain = px->bucket[bucket];
		px->bucket[bucket] = i;
	}
}

int64_t prefix_find(struct prefix *px, struct prompt *p, int64_t most)
{
	struct name name = name_of(px, p, 0);
	uint32_t at = 0, step = 1;
	int64_t k = 0;

	if (p->changes == px->changes)
		return p->found;
	if (most > p->n)
		most = p->n;
	for (; k < most; k++) {
		uint32_t before = at;

		/* where it was, or beside the one before: they mostly lie in a row, up or down */
		at = k < p->hints ? p->block[k] : before + step;
		if (at >= px->n || !is(&px->block[at], name))
			at = look_up(px, prefix_bucket(px, *name.id, name.part), name);
		if (!at)
			break;
		step = at - before;
		p->block[k] = at;
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

/*
 * Takes idle blocks out of the ring: those of the prompt from k on, as far as each stands behind
 * the next, as one prompt left them. Returns how many.
 */
static int64_t ring_remove(struct prefix *px, const struct prompt *p, int64_t k)
{
	struct prefix_block *b = px->block;
	uint32_t last = p->block[k], first = last;
	int64_t n = 1;

	b[first].holders = 1;
	while (k + n < p->found && b[first].prev == p->block[k + n]) {
		first = b[first].prev;
		b[first].holders = 1;
		n++;
	}
	b[b[first].prev].next = b[last].next;
	b[b[last].next].prev = b[first].prev;
	return n;
}

int64_t prefix_hold(struct prefix *px, struct prompt *p)
{
	int64_t before = px->idle;

	CHECK(p->held == 0 && p->changes == px->changes, "%lld blocks held, %lld found",
	      (long long)p->held, (long long)p->found);
	for (int64_t k = 0; k < p->found;) {
		struct prefix_block *b = &px->block[p->block[k]];

		if (b->holders == 0) {
			int64_t n = ring_remove(px, p, k);

			px->idle -= n;
			k += n;
		} else {
			b->holders++;
			k++;
		}
	}
	p->held = p->found;
	return before - px->idle;
}

static inline uint32_t place(struct prefix *px)
{
	uint32_t at = px->unused;

	if (!at)
		return px->n++;
	px->unused = px->block[at].next;
	return at;
}

/* The name is known from now on, unless it is already. */
static uint32_t make_known(struct prefix *px, uint32_t bucket, struct name name)
{
	if (look_up(px, bucket, name))
		return PROMPT_OWN;
	uint32_t at = place(px);

	px->block[at] = (struct prefix_block){
		.id = *name.id, .part = name.part, .holders = 1, .chain = px->bucket[bucket]};
	px->bucket[bucket] = at;
	px->known++;
	return at;
}

void prefix_fill(struct prefix *px, struct prompt *p, int64_t to)
{
	int64_t known = px->known;

	if (to > p->n)
		to = p->n;
	if (to <= p->held)
		return;
	make_room(px, to - p->held);
	struct name name = name_of(px, p, p->held);

	for (int64_t k = p->held; k < to; k++, name_next(px, &name))
		p->block[k] = make_known(px, prefix_bucket(px, *name.id, name.part), name);
	p->held = to;
	px->changes += px->known > known;
}

int64_t prefix_let_go(struct prefix *px, struct prompt *p)
{
	struct prefix_block *b = px->block;
	uint32_t last = b[0].prev;
	int64_t others = 0;

	for (int64_t k = p->held - 1; k >= 0; k--) {
		uint32_t at = p->block[k];

		if (at == PROMPT_OWN)
			continue;
		if (--b[at].holders > 0) {
			others++;
			continue;
		}
		b[last].next = at; /* the newest of the ring */
		b[at].prev = last;
		last = at;
		px->idle++;
	}
	b[last].next = 0;
	b[0].prev = last;
	p->hints = p->held;
	p->held = p->found = 0;
	p->changes = 0;
	return others;
}

static void make_unknown(struct prefix *px, uint32_t block)
{
	struct prefix_block *b = &px->block[block];
	uint32_t *from = &px->bucket[prefix_bucket(px, b->id, b->part)];

	while (*from != block)
		from = &px->block[*from].chain;
	*from = b->chain;
	b->part = PREFIX_NO_PART;
	b->next = 0;
	if (px->unused)
		px->block[px->last_unused].next = block;
	else
		px->unused = block;
	px->last_unused = block;
}

void prefix_forget(struct prefix *px, int64_t n)
{
	uint32_t at = px->block[0].next;

	CHECK(n <= px->idle, "%lld blocks of %lld idle ones", (long long)n, (long long)px->idle);
	px->known -= n;
	px->idle -= n;
	px->changes += n > 0;
	for (; n > 0; n--) {
		uint32_t next = px->block[at].next;

		make_unknown(px, at);
		at = next;
	}
	px->block[0].next = at;
	px->block[at].prev = 0;
}
