/*
 * timeout.h: requests that are aborted because they are not done in time. All have the same time
 * from their arrival on, so that deadlines are first in, first out: O(1) a request. Where it waits
 * (in a queue, in host memory, between instances) it leaves at its deadline; while a step computes
 * it, at the end of that step. Inside the engine only.
 */
#ifndef SIM_TIMEOUT_H
#define SIM_TIMEOUT_H

#include "sim/engine.h"

/* j has arrived. A no-op without --timeout. */
void timeout_start(struct sim *s, struct job *j);
/* j has ended. */
void timeout_cancel(struct sim *s, struct job *j);
/* EVENT_TIMEOUT: the oldest request is at its deadline. */
void timeout_expire(struct sim *s);
/* A step of the batch at work has ended: those whose deadline came while it ran leave. */
void timeout_boundary(struct sim *s, struct instance *in);

#endif
