/*
 * incoming.h: how requests come in: by the clock of the trace, in a closed loop at the end of
 * another one, or in sessions after the turn before. Inside the engine only.
 */
#ifndef SIM_INCOMING_H
#define SIM_INCOMING_H

#include "sim/engine.h"

/* The first arrivals go on the agenda. */
void incoming_start(struct sim *s);
void incoming_stop(struct sim *s);
/* EVENT_ARRIVAL: the next request arrives. */
void incoming_next(struct sim *s);
/* The request of row `idx` has ended, which may let another one in. */
void incoming_ended(struct sim *s, int64_t idx);

#endif
