/*
 * agenda.h: what happens next: a fixed set of slots, each with a time or none.
 *
 * Equal times are taken by kind, in the order of the enum, then by index (the instance): never by
 * when a slot was set, so that stepping one decode step at a time changes no order.
 */
#ifndef SIM_AGENDA_H
#define SIM_AGENDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum event_kind {
	EVENT_STEP,	/* an instance's step, or run of steps, ends */
	EVENT_TRANSFER, /* a decode instance's inbound transfer ends */
	EVENT_TIMEOUT,	/* index 0 only: the oldest request is not done in time */
	EVENT_ARRIVAL,	/* index 0 only */
	EVENT_WAIT,	/* the time that an instance's policy asked for */
	EVENT_PULL,	/* index 0 only: decode instances look at the ready queue */
	EVENT_PLAN,	/* an instance at a step boundary plans, or goes on */
	N_EVENT_KINDS
};

/*
 * A tree of winners: the leaves are the slots, in the order that decides equal times, and every
 * node above names the earlier of its two children, the left one where they are equal.
 */
struct agenda {
	int64_t *t_ns;	  /* of each slot (kind * instances + index), padded to a power of two */
	uint32_t *winner; /* of each node; the root is 1 */
	uint32_t leaves, instances;
};

void agenda_init(struct agenda *a, uint32_t instances);
void agenda_release(struct agenda *a);

/* Sets or moves the time of a slot. */
void agenda_set(struct agenda *a, enum event_kind kind, uint32_t index, int64_t t_ns);
void agenda_clear(struct agenda *a, enum event_kind kind, uint32_t index);

/* Takes the first slot out. False: nothing is set. */
bool agenda_next(struct agenda *a, int64_t *t_ns, enum event_kind *kind, uint32_t *index);

/* Its time without taking it; INT64_MAX: nothing is set. */
static inline int64_t agenda_time(const struct agenda *a)
{
	return a->t_ns[a->winner[1]];
}

#endif
