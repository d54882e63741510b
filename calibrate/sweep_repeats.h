/*
 * sweep_repeats.h: the repeats of one point, within calibrate/sweep*.c: their median, and whether
 * it is known.
 */
#ifndef CALIBRATE_SWEEP_REPEATS_H
#define CALIBRATE_SWEEP_REPEATS_H

#include "calibrate/sweep.h"

struct timing {
	struct point point;
	double *ns; /* every repeat, sorted */
	bool in_hand;
};

/* At most SWEEP_REPEATS_MOST; the point's times and repeats are those of all. */
void timing_add(struct timing *t, double ns);
/* Repeats differ, and more of them would tell the median. */
bool timing_wants_more(const struct timing *t);

#endif
