/*
 * agree.h: a case of the reference simulator through sim_run(), and what differs between the two.
 */
#ifndef TESTS_AGREE_H
#define TESTS_AGREE_H

#include "tests/harness.h"
#include "tests/reference.h"

/* What only one of them can express is taken out of a case. */
void agree_level(struct ref_config *c);

/* Runs the engine on a levelled case. harness_release() is needed. */
void agree_engine(const struct ref_config *c, const struct ref_request *req, size_t n,
		  bool step_by_step, struct harness_result *r);

/* The first difference in words, "" where they agree: times to the nanosecond, request by request,
 * every gap, and what is summed up over steps. */
struct verdict {
	char text[256];
};
struct verdict agree_compare(const struct ref_config *c, const struct harness_result *e,
			     const struct ref_run *run);

#endif
