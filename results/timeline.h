/*
 * timeline.h: the steps and requests of a stored run in the trace event format of Chrome, which
 * ui.perfetto.dev and chrome://tracing show.
 *
 * A process an instance, a thread in it a batch: steps are complete events ("X") named by their
 * kind; samples are counters ("C"). Arrivals have a process of their own, where a slice of at most
 * a microsecond stands for the requests that arrive at one time. A request is a flow from there
 * ("s") to the start of the first step that computes some of it, to the end of the one that
 * delivers its first token ("t"), to the end of the one that delivers the last ("f"); ends are
 * placed a nanosecond early, so that they are inside the step. Events are in order of time, which
 * is in microseconds with three digits behind the point.
 */
#ifndef RESULTS_TIMELINE_H
#define RESULTS_TIMELINE_H

#include <stdint.h>
#include <stdio.h>

#include "sim/err.h"

struct timeline_counts {
	int64_t steps, requests; /* rows of them; a run of decode steps is one */
	int64_t unplaced; /* ends of flows left out, as several steps could be meant: see below */
};

/*
 * Memory does not grow with the run. -1 and a sentence: the file, no such run, or one without
 * steps.
 *
 * A request row says when, and of several instances the last; where several instances or batches
 * have a step that starts, or ends, just then, that end of the flow is left out.
 */
int timeline_write(FILE *out, const char *path, int64_t run_id, struct timeline_counts *counts,
		   struct err *e);

#endif
