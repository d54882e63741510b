/*
 * single.h: starts the step that a plan made where it is not part of a run; and takes steps with
 * their sequences, where the executor runs them or they are recorded: each of them is then a step
 * by itself, decode steps too, as a run of one.
 */
#ifndef SIM_SINGLE_H
#define SIM_SINGLE_H

#include "sim/instance.h"

/* The prompts of in->b.single, and a decode of the batch with them. */
void single_start(struct instance *in, bool decodes, int64_t moved_blocks, int64_t now_ns);

/* Where in->singly: lists the sequences of a step that starts now, and says what it costs, ns. */
double step_take(struct instance *in, struct step *s, int64_t now_ns);

#endif
