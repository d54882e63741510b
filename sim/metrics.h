/*
 * metrics.h: from requests that end to the numbers of a result row. The README has the definitions
 * as formulas; a is the arrival, s the first scheduling, f and c the first and last delivery, n
 * tokens.
 */
#ifndef SIM_METRICS_H
#define SIM_METRICS_H

#include "results/stats.h"
#include "results/store.h"
#include "results/summary.h"
#include "sim/hist.h"
#include <stdbool.h>

/* Targets of one request in ns, inclusive; NaN: none. */
struct slo {
	double ttft_ns, tpot_ns, e2e_ns, maxgap_ns;
};

/* One metric over requests: every value where they are kept, else a histogram; and the sum. */
struct series {
	double *all;
	size_t n, room;
	struct hist hist;
	double sum;
};

/* The run at the moment of an arrival: for the backlog's slope and the steady window. */
struct backlog_point {
	int64_t t_ns, waiting, completed;
};

enum { BACKLOG_POINTS = 4096 };

struct metrics {
	struct slo slo;
	bool keep_all;
	int64_t requests, completed, rejected, aborted, unfinished, good;
	int64_t output_tok; /* of completed requests */
	int64_t first_arrive_ns, last_arrive_ns, last_finish_ns;
	struct series ttft, tpot, e2e, norm, queue;
	struct stats_sum gap_sum; /* every gap between deliveries */
	int64_t gaps;
	struct backlog_point *backlog; /* every stride-th arrival, BACKLOG_POINTS at most */
	int64_t n_backlog, stride;
};

void metrics_init(struct metrics *m, const struct slo *slo, bool keep_all);
void metrics_release(struct metrics *m);

/* A request has arrived. True: metrics_backlog() is wanted, with the number in the queues before
 * it. */
bool metrics_arrival(struct metrics *m, int64_t t_ns);
void metrics_backlog(struct metrics *m, int64_t t_ns, int64_t waiting);
/* It has ended, or the run has: `gaps` between deliveries took gap_ns together. */
void metrics_record(struct metrics *m, const struct record *r, int64_t gap_ns, int64_t gaps);

/* Fills in the columns that follow from requests; NULLs where there is nothing. */
void metrics_summary(struct metrics *m, const struct hist *itl, struct summary *s);

bool slo_any(const struct slo *slo);

#endif
