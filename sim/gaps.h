/*
 * gaps.h: the gaps between consecutive tokens of an instance's decoding requests, by group instead
 * of one by one.
 *
 * All requests that took part in the last decode step had their last token at its end; those that
 * joined since then had it when they joined. So the first gaps of a step are a few (time, count)
 * groups, and a run of steps adds one affine sequence to the histogram. The longest gap since a
 * time is a question to a stack of (start, gap) in which gaps fall: whatever a later gap exceeds
 * can never be an answer again.
 */
#ifndef SIM_GAPS_H
#define SIM_GAPS_H

#include "sim/hist.h"

struct gap_group {
	int64_t token_ns, n;
};

struct gap_mark {
	int64_t start_ns;
	double gap_ns;
};

struct gaps {
	struct gap_group *group; /* by token_ns, ascending */
	int64_t n_groups, group_room;
	struct gap_mark *mark; /* start_ns ascends, gap_ns falls */
	int64_t n_marks, mark_room;
};

/* A request whose last token came at token_ns joins; token_ns does not decrease from call to call.
 */
void gaps_join(struct gaps *g, int64_t token_ns);
/* One leaves whose last token came at token_ns. */
void gaps_leave(struct gaps *g, int64_t token_ns);

/*
 * The first step of a run (or a single one): starts at start_ns, costs cost_ns, ends at end_ns;
 * each request of each group gets a gap of (start - its last token) + cost. One group remains, at
 * end_ns.
 */
void gaps_step(struct gaps *g, struct hist *h, int64_t start_ns, double cost_ns, int64_t end_ns);

/* Further steps of the run, the last of which started at start_ns, took gap_ns and ended at end_ns.
 */
void gaps_run(struct gaps *g, int64_t start_ns, double gap_ns, int64_t end_ns);

/* The longest gap that started at since_ns or later; -1: none. */
double gaps_max(const struct gaps *g, int64_t since_ns);

void gaps_release(struct gaps *g);

#endif
