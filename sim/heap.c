#include "sim/heap.h"

static bool less(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

static void put(struct heap *h, size_t i, struct heap_entry x)
{
	h->at[i] = x;
	x.job->heap_pos = i;
}

static void sift_up(struct heap *h, size_t i, struct heap_entry x)
{
	while (i > 0 && less(&x, &h->at[(i - 1) / 2])) {
		put(h, i, h->at[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(h, i, x);
}

static void sift_down(struct heap *h, size_t i, struct heap_entry x)
{
	for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
		if (child + 1 < h->n && less(&h->at[child + 1], &h->at[child]))
			child++;
		if (!less(&h->at[child], &x))
			break;
		put(h, i, h->at[child]);
	}
	put(h, i, x);
}

void heap_push(struct heap *h, struct job *j, int64_t key, int64_t tie)
{
	if (h->n == h->room) {
		h->room = h->room ? 2 * h->room : 64;
		h->at = xrealloc(h->at, h->room * sizeof(*h->at));
	}
	sift_up(h, h->n++, (struct heap_entry){key, tie, j});
}

bool heap_has(const struct heap *h, const struct job *j)
{
	return j->heap_pos < h->n && h->at[j->heap_pos].job == j;
}

void heap_remove(struct heap *h, struct job *j)
{
	size_t i = j->heap_pos;

	CHECK(i < h->n && h->at[i].job == j, "position %zu of %zu", i, h->n);
	struct heap_entry x = h->at[--h->n];

	if (x.job == j)
		return;
	if (i > 0 && less(&x, &h->at[(i - 1) / 2]))
		sift_up(h, i, x);
	else
		sift_down(h, i, x);
}

struct job *heap_pop(struct heap *h)
{
	struct job *j = h->at[0].job;

	heap_remove(h, j);
	return j;
}

void heap_release(struct heap *h)
{
	free(h->at);
	*h = (struct heap){0};
}
