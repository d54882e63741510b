/* workloads.h: the generators by name, and what each ships of fitted figures. */
#ifndef TRACES_WORKLOADS_H
#define TRACES_WORKLOADS_H

#include "traces/quantiles.h"
#include "traces/source.h"

struct workload {
	enum kind kind;		    /* its name is that of trace_kinds[], behind "synth:" */
	const char *init;	    /* parameters that differ from the table's defaults */
	struct quantiles quantiles; /* none: fixed lengths unless given */
};

/* NULL: a sentence that lists the names. */
const struct workload *workload_find(const char *name, struct err *e);

#endif
