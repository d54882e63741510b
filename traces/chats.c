/* chats.c: see chats.h. */
#include "traces/chats.h"
#include "sim/err.h"

/* The slot of the id, or the free one where it belongs. */
static struct chat *slot_of(const struct chats *c, int64_t id)
{
	uint64_t hash = (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = (size_t)(hash >> 20) & (c->size - 1);
	while (c->slots[i].used && c->slots[i].id != id)
		i = (i + 1) & (c->size - 1);
	return &c->slots[i];
}

static void make_room(struct chats *c)
{
	if (2 * (c->n + 2) <= c->size)
		return;
	struct chats old = *c;
	c->size = old.size ? 2 * old.size : 256;
	c->slots = xcalloc(c->size, sizeof(*c->slots));
	for (size_t i = 0; i < old.size; i++)
		if (old.slots[i].used)
			*slot_of(c, old.slots[i].id) = old.slots[i];
	free(old.slots);
}

static struct chat *enter(struct chats *c, int64_t id)
{
	struct chat *chat = slot_of(c, id);
	if (!chat->used) {
		*chat = (struct chat){.id = id, .parent = -1, .root = id, .used = true};
		c->n++;
	}
	return chat;
}

/* Does the way up from `from` meet `id`? Only chats that had a child before a row of their own can
 * be met, so hardly any row has to ask. */
static bool leads_to(const struct chats *c, int64_t from, int64_t id)
{
	while (from != -1 && from != id)
		from = slot_of(c, from)->parent;
	return from == id;
}

enum chats_result chats_add(struct chats *c, int64_t id, int64_t parent, int64_t line,
			    int64_t *root)
{
	make_room(c);
	struct chat *chat = slot_of(c, id);
	if (chat->used && chat->line > 0) {
		*root = chat->line;
		return CHATS_TWICE;
	}
	if (id == parent)
		return CHATS_CYCLE;
	bool awaited = chat->used;
	chat = enter(c, id);
	chat->line = line;
	if (parent == -1) {
		*root = chat->root;
		return CHATS_OK;
	}
	const struct chat *up = enter(c, parent);
	if (awaited && leads_to(c, parent, id))
		return CHATS_CYCLE;
	chat->parent = parent;
	*root = chat->root = up->root;
	return up->line > 0 ? CHATS_OK : CHATS_UNKNOWN;
}

void chats_release(struct chats *c)
{
	free(c->slots);
	*c = (struct chats){0};
}
