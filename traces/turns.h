/*
 * turns.h: the think time between the turns of a session, from what was recorded: the time from the
 * end of one turn to the arrival of the next. Memory grows with the sessions.
 */
#ifndef TRACES_TURNS_H
#define TRACES_TURNS_H

#include "traces/trace.h"

struct turns {		 /* zero it before use */
	int64_t *end_ns; /* of each session's last turn, by number - 1; -1: it had none */
	size_t n, size;
	int64_t sessions;    /* that have had a turn */
	int64_t overlapping; /* turns that arrive before the one before them has ended */
};

/*
 * Fills in think_ns of a row whose arrival is on the clock it was recorded by (ns, not negative):
 * -1 for the first turn; 0, and counted, where it would be negative. No session: left alone.
 */
void turns_add(struct turns *t, struct trace_row *row);
void turns_release(struct turns *t);

#endif
