/*
 * outcome.h: what a simulation hands over: a record a request, the summary row, the histograms.
 * Each goes to the sink of the configuration, if it has one; a sink that fails ends the simulation.
 */
#ifndef SIM_OUTCOME_H
#define SIM_OUTCOME_H

#include "sim/engine.h"

/* A request has ended, or the simulation has; finish_ns is -1 unless it was completed. */
void outcome_record(struct sim *s, const struct job *j, enum record_status status,
		    int64_t finish_ns);

/* The columns that the simulation decides. */
void outcome_summary(struct sim *s, struct summary *out);

/* Every bin that holds something. */
void outcome_histograms(struct sim *s);

#endif
