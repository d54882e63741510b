/* The recount of pools that remember prompts, or are in chunks. */
#include "tests/audit.h"

/* What a request or its remains hold at this instance; nothing where they hold nothing here. */
static struct kv_hold hold_of(const struct instance *in, const struct job *j)
{
	bool moving = j->state == JOB_MOVING && j->keep_kv;

	if ((moving ? j->source : j->instance) != in->index || j->state == JOB_WAITING)
		return (struct kv_hold){0};
	return (struct kv_hold){moving ? j->source_blocks : j->blocks, j->address, j->prompt};
}

/* Prefix */

static void count_holders(const struct prefix *px, const struct prompt *p, int64_t *holders)
{
	AT_MOST(p->held, p->n);
	for (int64_t k = 0; k < p->held; k++) {
		if (p->block[k] == PROMPT_OWN)
			continue;
		const struct prefix_block *b = &px->block[p->block[k]];

		AT_MOST(1, p->block[k]);
		AT_MOST(p->block[k] + INT64_C(1), px->n);
		/* part k mod (H / B) of id k B / H; of smaller ids p has the last of each block */
		EQUAL(b->id, p->id[k / px->parts]);
		EQUAL(b->part, k % px->parts);
		holders[p->block[k]]++;
	}
}

static void check_ring(const struct prefix *px)
{
	int64_t n = 0;
	uint32_t before = 0;

	for (uint32_t i = px->block[0].next; i; i = px->block[i].next, n++) {
		EQUAL(px->block[i].prev, before);
		EQUAL(px->block[i].holders, 0);
		AT_MOST(n + 1, px->idle);
		before = i;
	}
	EQUAL(px->block[0].prev, before);
	EQUAL(n, px->idle);
}

static int by_name(const void *a, const void *b)
{
	const struct prefix_block *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

/* No name twice; every known block is in its bucket, and nothing else is in any. */
static void check_names(const struct prefix *px)
{
	struct prefix_block *known = xcalloc(px->n, sizeof(*known));
	int64_t n = 0, entries = 0;

	for (uint32_t i = 1; i < px->n; i++)
		if (px->block[i].part != PREFIX_NO_PART)
			known[n++] = px->block[i];
	EQUAL(n, px->known);
	if (n > 0)
		qsort(known, (size_t)n, sizeof(*known), by_name);
	for (int64_t i = 1; i < n; i++)
		EQUAL(by_name(&known[i - 1], &known[i]), -1);
	free(known);
	for (uint32_t i = 0; i < 2 * px->room; i++) {
		for (uint32_t at = px->bucket[i]; at; at = px->block[at].chain) {
			AT_MOST(at + INT64_C(1), px->n);
			EQUAL(px->block[at].part == PREFIX_NO_PART, false);
			EQUAL(prefix_bucket(px, px->block[at].id, px->block[at].part), i);
			AT_MOST(++entries, px->known);
		}
	}
	EQUAL(entries, px->known);
}

int64_t audit_prefix(const struct audit *a, const struct instance *in)
{
	const struct prefix *px = in->kv.prefix;
	int64_t *holders = xcalloc(px->n, sizeof(*holders));
	int64_t idle = 0, too_often = 0;

	for (size_t i = 0; i < a->n_all; i++) {
		struct kv_hold h = hold_of(in, a->all[i]);

		if (h.prompt)
			count_holders(px, h.prompt, holders);
	}
	for (int64_t i = 0; i < in->n_lagging; i++)
		if (in->lagging[i].prompt)
			count_holders(px, in->lagging[i].prompt, holders);
	for (uint32_t i = 1; i < px->n; i++) {
		EQUAL(px->block[i].holders, holders[i]);
		idle += px->block[i].part != PREFIX_NO_PART && holders[i] == 0;
		too_often += holders[i] > 1 ? holders[i] - 1 : 0;
	}
	free(holders);
	EQUAL(px->idle, idle);
	AT_MOST(px->idle + in->kv.used, in->kv.total);
	check_ring(px);
	check_names(px);
	return too_often;
}

/* Buddy */

struct chunk {
	int64_t address, size;
};

struct chunks {
	struct chunk *at;
	int64_t n, room;
};

static void add(struct chunks *c, int64_t address, int64_t size)
{
	if (c->n == c->room) {
		c->room = c->room ? 2 * c->room : 64;
		c->at = xrealloc(c->at, (size_t)c->room * sizeof(*c->at));
	}
	c->at[c->n++] = (struct chunk){address, size};
}

static void add_free(struct chunks *c, const struct buddy *b)
{
	for (int order = 0; order < BUDDY_ORDERS; order++) {
		gsl_bst_trav trav;

		EQUAL(b->orders >> order & 1, b->chunks[order] && gsl_bst_nodes(b->chunks[order]));
		if (!(b->orders >> order & 1))
			continue;
		gsl_bst_trav_init(&trav, b->chunks[order]);
		for (void *item = gsl_bst_trav_first(&trav, b->chunks[order]); item;
		     item = gsl_bst_trav_next(&trav))
			add(c, (int64_t)((uintptr_t)item - 1), INT64_C(1) << order);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

void audit_buddy(const struct audit *a, const struct instance *in)
{
	struct chunks c = {0};
	int64_t used = 0, end = 0;

	for (size_t i = 0; i < a->n_all; i++) {
		struct kv_hold h = hold_of(in, a->all[i]);

		if (h.blocks > 0)
			add(&c, h.address, h.blocks);
	}
	for (int64_t i = 0; i < in->n_lagging; i++)
		add(&c, in->lagging[i].address, in->lagging[i].blocks);
	for (int64_t i = 0; i < c.n; i++)
		used += c.at[i].size;
	EQUAL(used, in->kv.used);
	add_free(&c, in->kv.buddy);
	if (c.n > 0)
		qsort(c.at, (size_t)c.n, sizeof(*c.at), by_address);
	for (int64_t i = 0; i < c.n; i++) {
		EQUAL(c.at[i].address, end);
		EQUAL(c.at[i].address % c.at[i].size, 0);
		EQUAL(c.at[i].size & (c.at[i].size - 1), 0);
		end += c.at[i].size;
	}
	EQUAL(end, in->kv.total);
	free(c.at);
}
