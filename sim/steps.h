/*
 * steps.h: every step to the sink that asked for it. A run of decode steps becomes one row when
 * something else follows it: at the same times whether it was taken step by step or not.
 */
#ifndef SIM_STEPS_H
#define SIM_STEPS_H

#include "sim/engine.h"

void steps_init(struct sim *s);
/* Where s->steps: a plan was made; what it started, if anything, is in in->b. */
void steps_planned(struct sim *s, const struct instance *in);
/* Where s->steps: the single step in progress ends, or steps of a run were accounted for. */
void steps_ended(struct sim *s, const struct instance *in);
/* Nothing follows any more. */
void steps_close(struct sim *s);
void steps_release(struct sim *s);

#endif
