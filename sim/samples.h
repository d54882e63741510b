/*
 * samples.h: looks at instances over time, bounded in number: when there are too many, every other
 * is dropped and they are taken twice as far apart. What held for longer than that, and how each
 * instance was left, is always among them. Taken where a plan is made, so that stepping
 * one decode step at a time takes the same.
 */
#ifndef SIM_SAMPLES_H
#define SIM_SAMPLES_H

#include "sim/engine.h"

enum { SAMPLES_MAX = 4096 };

void samples_init(struct sim *s);
void samples_add(struct sim *s, const struct instance *in); /* if it is time to */
void samples_put(struct sim *s);			    /* to the sink */
void samples_release(struct sim *s);

#endif
