/*
 * sessions.h: the rows of a trace with sessions, held in memory, and when each of them arrives: one
 * that has a row before it in its session at the end of that one plus its think time, others as the
 * trace says; at equal times in the order of the trace.
 */
#ifndef SIM_SESSIONS_H
#define SIM_SESSIONS_H

#include "traces/trace.h"

struct sessions;

/* Reads rows to their end with `next` (1: a row, 0: the end, -1: an error). NULL: a sentence. */
struct sessions *sessions_new(int (*next)(void *arg, struct trace_row *row, struct err *e),
			      void *arg, struct err *e);
void sessions_free(struct sessions *s); /* NULL is allowed */

/* When the next row arrives; INT64_MAX: none is left, or all wait for the end of another. */
int64_t sessions_time(const struct sessions *s);
/* Takes it: its number in the trace. Its hash ids are valid until sessions_free(). */
int64_t sessions_take(struct sessions *s, struct trace_row *row);
/* The request of row `idx` has ended: the one after it in its session, if any, will arrive. */
void sessions_ended(struct sessions *s, int64_t idx, int64_t now_ns);
/* Whether any was: arrivals followed completions. */
bool sessions_followed(const struct sessions *s);

#endif
