/* workloads.h: the generators by name, and what each ships of fitted figures. */
#ifndef TRACES_WORKLOADS_H
#define TRACES_WORKLOADS_H

#include "traces/quantiles.h"
#include "traces/source.h"

#define QUANTILES(table)                                                                           \
	{                                                                                          \
		table, sizeof(table) / sizeof((table)[0])                                          \
	}

/* One of several clients whose requests are mixed. */
struct client {
	const char *name;
	double cv;		       /* of its gaps */
	double hour[24];	       /* its requests a second, by the hour */
	struct quantiles quantiles[4]; /* of its lengths, by six hours */
};

struct workload {
	enum kind kind;		    /* its name is that of trace_kinds[], behind "synth:" */
	const char *init;	    /* parameters that differ from the table's defaults */
	struct quantiles quantiles; /* none: fixed lengths unless given */
	const struct client *clients;
	size_t n_clients; /* 0: one stream of requests */
};

/* NULL: a sentence that lists the names. */
const struct workload *workload_find(const char *name, struct err *e);

/* ServeGen's figures of DeepSeek-R1 (servegen.c). */
enum { SERVEGEN_CLIENTS = 12 };
extern const struct client servegen_r1[SERVEGEN_CLIENTS];

#endif
