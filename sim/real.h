/*
 * real.h: what of a simulation may be real: steps that its executor runs, and time that passes by
 * itself (struct sim_config's wall). Inside the engine only.
 */
#ifndef SIM_REAL_H
#define SIM_REAL_H

#include "sim/engine.h"

/* The wall's clock starts at 0: nothing has happened. A no-op without one. */
void real_start(struct sim *s);

/* Where there is a wall: returns when what comes next is due, unless that is after the horizon. */
void real_wait(struct sim *s, int64_t horizon_ns);

/*
 * instance_ops.take: the executor runs the step, or says what it costs. Where it fails the
 * simulation ends with this event.
 */
double real_take(void *arg, struct instance *in, const struct step *step, int64_t now_ns);

/* To whoever looks on. */
void real_progress(const struct sim *s);

#endif
