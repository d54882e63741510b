/*
 * sweep_profile.h: the profile that comes of the points of a sweep: the device's facts, a fit for
 * each operation and for each shape of its own, and what whole steps take beyond their parts.
 */
#ifndef CALIBRATE_SWEEP_PROFILE_H
#define CALIBRATE_SWEEP_PROFILE_H

#include "calibrate/backend.h"
#include "calibrate/profile.h"

struct sweep_profile_want {
	const struct model *model; /* of the whole steps */
	int64_t tp;
	const struct backend_facts *facts;
	const struct device *base; /* links and the like, where it is a known device; or NULL */
	const char *name;	   /* of the device; NULL: as it names itself */
	const char *source, *date;
	const char *server; /* NULL: our own kernels */
	uint64_t seed;	    /* of the split into folds */
	/* What a step can do without (any but GEMM and both attentions in 16 bits), and has too few
	 * points or such as make no fit: left out. A sentence with operation and bits. May be NULL.
	 */
	void (*left_out)(const char *why);
};

/*
 * NULL: too few points of an operation that a step needs, or such as make no fit, whole steps
 * faster than the device can be: the sentence says which, and both figures. Free with
 * profile_free().
 */
struct profile *sweep_profile(const struct points *points, const struct sweep_profile_want *w,
			      struct err *e);

/* What a point of OP_STEP is as a step of a model: all its prompts are completed. */
struct step sweep_step(const struct model *m, const struct point *p);

/*
 * Forecasts each whole step among the points from the profile as it stands, without a rest, and
 * sets profile.rest.
 * Without whole steps, nothing. -1: a sentence.
 */
int sweep_rest(struct profile *p, const struct points *points, const struct model *m, int64_t tp,
	       struct err *e);

#endif
