#include "sim/agenda.h"
#include "sim/err.h"

void agenda_init(struct agenda *a, uint32_t instances)
{
	size_t slots = (size_t)N_EVENT_KINDS * instances;

	*a = (struct agenda){.instances = instances};
	a->heap = xcalloc(slots, sizeof(*a->heap));
	a->pos = xcalloc(slots, sizeof(*a->pos));
	for (size_t i = 0; i < slots; i++)
		a->pos[i] = SIZE_MAX;
}

void agenda_release(struct agenda *a)
{
	free(a->heap);
	free(a->pos);
	*a = (struct agenda){0};
}

static bool less(struct agenda_entry a, struct agenda_entry b)
{
	return a.t_ns != b.t_ns ? a.t_ns < b.t_ns : a.slot < b.slot;
}

static void put(struct agenda *a, size_t i, struct agenda_entry x)
{
	a->heap[i] = x;
	a->pos[x.slot] = i;
}

static void sift(struct agenda *a, size_t i, struct agenda_entry x)
{
	while (i > 0 && less(x, a->heap[(i - 1) / 2])) {
		put(a, i, a->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	for (size_t child; (child = 2 * i + 1) < a->n; i = child) {
		if (child + 1 < a->n && less(a->heap[child + 1], a->heap[child]))
			child++;
		if (!less(a->heap[child], x))
			break;
		put(a, i, a->heap[child]);
	}
	put(a, i, x);
}

void agenda_set(struct agenda *a, enum event_kind kind, uint32_t index, int64_t t_ns)
{
	uint32_t slot = (uint32_t)kind * a->instances + index;
	size_t i = a->pos[slot] == SIZE_MAX ? a->n++ : a->pos[slot];

	sift(a, i, (struct agenda_entry){t_ns, slot});
}

static void take(struct agenda *a, uint32_t slot)
{
	size_t i = a->pos[slot];
	struct agenda_entry last = a->heap[--a->n];

	a->pos[slot] = SIZE_MAX;
	if (last.slot != slot)
		sift(a, i, last);
}

void agenda_clear(struct agenda *a, enum event_kind kind, uint32_t index)
{
	uint32_t slot = (uint32_t)kind * a->instances + index;

	if (a->pos[slot] != SIZE_MAX)
		take(a, slot);
}

bool agenda_next(struct agenda *a, int64_t *t_ns, enum event_kind *kind, uint32_t *index)
{
	if (a->n == 0)
		return false;
	struct agenda_entry first = a->heap[0];

	take(a, first.slot);
	*t_ns = first.t_ns;
	*kind = (enum event_kind)(first.slot / a->instances);
	*index = first.slot % a->instances;
	return true;
}

int64_t agenda_time(const struct agenda *a)
{
	return a->n ? a->heap[0].t_ns : INT64_MAX;
}
