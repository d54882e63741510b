/*
 * execution_options.h: of the options of a run, where step times come from, whether time is real,
 * and what is recorded.
 */
#ifndef SIM_EXECUTION_OPTIONS_H
#define SIM_EXECUTION_OPTIONS_H

#include "sim/run_options.h"

/* Each -1: a sentence. */

/* What `-x` names. */
int execution_set_executor(struct run_options *o, struct err *e);
/* Once model and device are known: what the executor needs of them. */
int execution_check_needs(struct run_options *o, struct err *e);
/* Once all else is known: whether it can be run so, in real time, and be recorded. */
int execution_check(struct run_options *o, struct err *e);

#endif
