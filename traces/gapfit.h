/*
 * gapfit.h: which gaps a trace's arrivals look most like: of those with its mean and coefficient of
 * variation, the ones whose distribution function is nearest to its own.
 */
#ifndef TRACES_GAPFIT_H
#define TRACES_GAPFIT_H

#include "traces/arrivals.h"
#include "traces/trace.h"

struct gapfit {
	enum arrivals_kind nearest;
	/* largest difference between either's distribution function and the trace's */
	double gamma, weibull;
};

/*
 * Reads the trace once more. Its rate must be above 0, and cv at least 0.01; one above 100 is taken
 * as 100. -1: a sentence.
 */
int gapfit_trace(const struct trace_spec *spec, double rate_rps, double cv, struct gapfit *fit,
		 struct err *e);

#endif
