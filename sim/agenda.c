#include "sim/agenda.h"
#include "sim/err.h"

void agenda_init(struct agenda *a, uint32_t instances)
{
	uint32_t leaves = 2;

	while (leaves < N_EVENT_KINDS * instances)
		leaves *= 2;
	*a = (struct agenda){.leaves = leaves, .instances = instances};
	a->t_ns = xcalloc(leaves, sizeof(*a->t_ns));
	a->winner = xcalloc(2 * (size_t)leaves, sizeof(*a->winner));
	for (uint32_t i = 0; i < leaves; i++) {
		a->t_ns[i] = INT64_MAX;
		a->winner[leaves + i] = i;
	}
	for (uint32_t i = leaves - 1; i > 0; i--)
		a->winner[i] = a->winner[2 * i];
}

void agenda_release(struct agenda *a)
{
	free(a->t_ns);
	free(a->winner);
	*a = (struct agenda){0};
}

static void set(struct agenda *a, uint32_t slot, int64_t t_ns)
{
	a->t_ns[slot] = t_ns;
	for (uint32_t i = (a->leaves + slot) / 2; i > 0; i /= 2) {
		uint32_t left = a->winner[2 * i], right = a->winner[2 * i + 1];

		a->winner[i] = a->t_ns[right] < a->t_ns[left] ? right : left;
	}
}

void agenda_set(struct agenda *a, enum event_kind kind, uint32_t index, int64_t t_ns)
{
	set(a, (uint32_t)kind * a->instances + index, t_ns);
}

void agenda_clear(struct agenda *a, enum event_kind kind, uint32_t index)
{
	uint32_t slot = (uint32_t)kind * a->instances + index;

	if (a->t_ns[slot] != INT64_MAX)
		set(a, slot, INT64_MAX);
}

bool agenda_next(struct agenda *a, int64_t *t_ns, enum event_kind *kind, uint32_t *index)
{
	uint32_t slot = a->winner[1];

	if (a->t_ns[slot] == INT64_MAX)
		return false;
	*t_ns = a->t_ns[slot];
	*kind = (enum event_kind)(slot / a->instances);
	*index = slot % a->instances;
	set(a, slot, INT64_MAX);
	return true;
}
