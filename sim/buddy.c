#include "sim/buddy.h"

static int order_of(int64_t size)
{
	int order = 0;

	while ((INT64_C(1) << order) < size)
		order++;
	return order;
}

int64_t buddy_size(int64_t blocks)
{
	return INT64_C(1) << order_of(blocks);
}

/* Items of the trees are addresses, as pointers that are never NULL. */
static void *item_of(int64_t address)
{
	return (void *)((uintptr_t)address + 1);
}

static int by_address(const void *a, const void *b, void *params)
{
	uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;

	(void)params;
	return (x > y) - (x < y);
}

static void chunk_add(struct buddy *b, int order, int64_t address)
{
	if (!b->chunks[order])
		b->chunks[order] = gsl_bst_alloc(gsl_bst_avl, NULL, by_address, NULL);
	CHECK(b->chunks[order] && !gsl_bst_insert(item_of(address), b->chunks[order]),
	      "the chunk of order %d at %lld is free already", order, (long long)address);
	b->orders |= UINT64_C(1) << order;
}

/* False: it is not there. */
static bool chunk_remove(struct buddy *b, int order, int64_t address)
{
	if (!b->chunks[order] || !gsl_bst_remove(item_of(address), b->chunks[order]))
		return false;
	if (gsl_bst_nodes(b->chunks[order]) == 0)
		b->orders &= ~(UINT64_C(1) << order);
	return true;
}

static int64_t chunk_lowest(const struct buddy *b, int order)
{
	gsl_bst_trav trav;

	gsl_bst_trav_init(&trav, b->chunks[order]);
	return (int64_t)((uintptr_t)gsl_bst_trav_first(&trav, b->chunks[order]) - 1);
}

void buddy_init(struct buddy *b, int64_t total)
{
	int64_t address = 0;

	*b = (struct buddy){.total = total};
	for (int order = BUDDY_ORDERS - 1; order >= 0; order--) {
		if (!(total >> order & 1))
			continue;
		chunk_add(b, order, address);
		address += INT64_C(1) << order;
	}
}

void buddy_release(struct buddy *b)
{
	for (int order = 0; order < BUDDY_ORDERS; order++)
		if (b->chunks[order])
			gsl_bst_free(b->chunks[order]);
	*b = (struct buddy){0};
}

int64_t buddy_largest(const struct buddy *b)
{
	int64_t size = 1;

	while (size <= b->total / 2)
		size *= 2;
	return size;
}

bool buddy_fits(const struct buddy *b, int64_t size)
{
	return b->orders >> order_of(size) != 0;
}

int64_t buddy_take(struct buddy *b, int64_t size)
{
	int wanted = order_of(size), order = wanted;

	CHECK(buddy_fits(b, size), "no chunk of %lld blocks is free", (long long)size);
	while (!(b->orders >> order & 1))
		order++;
	int64_t address = chunk_lowest(b, order);

	chunk_remove(b, order, address);
	while (order > wanted) {
		order--;
		chunk_add(b, order, address + (INT64_C(1) << order));
	}
	return address;
}

void buddy_give(struct buddy *b, int64_t address, int64_t size)
{
	int order = order_of(size);

	/* the chunks that the pool was cut into have no buddy of their size in it */
	while (chunk_remove(b, order, address ^ (INT64_C(1) << order))) {
		address &= ~(INT64_C(1) << order);
		order++;
	}
	chunk_add(b, order, address);
}
