/*
 * agree.h: a case of the reference simulator through sim_run(), and what differs between the two.
 */
#ifndef TESTS_AGREE_H
#define TESTS_AGREE_H

#include "tests/harness.h"
#include "tests/reference_text.h"

/* What only one of them can express is taken out of a case. */
void agree_level(struct ref_config *c, struct ref_request *req, size_t n);

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

/* How much of what the cases that were tried had in them. */
struct agree_seen {
	int64_t cases, completed, rejected, unfinished, aborted, gaps, preempted, swapped;
	struct ref_seen run;
};
void agree_count(struct agree_seen *seen, const struct ref_run *run);
void agree_add(struct agree_seen *seen, const struct agree_seen *more);
void agree_print_seen(FILE *out, const struct agree_seen *seen);
/* The name of something that was seen less than so often, or NULL. */
const char *agree_rare(const struct agree_seen *seen, int64_t least);

/*
 * A levelled case three ways: the reference, the engine, the engine one step at a time; both runs
 * of the engine are audited, and give the same bytes. `seen` may be NULL.
 */
struct verdict agree_try(const struct ref_config *c, const struct ref_request *req, size_t n,
			 struct agree_seen *seen);
/* The case and what came out of both. */
void agree_explain(FILE *out, const struct ref_config *c, const struct ref_request *req, size_t n);

/*
 * Makes a case smaller while it still fails: fewer requests, settings at their default, smaller
 * numbers. `fails` is asked about levelled cases only.
 */
typedef bool case_fails(void *arg, const struct ref_config *c, const struct ref_request *req,
			size_t n);
void shrink_case(struct ref_config *c, struct ref_request *req, size_t *n, case_fails *fails,
		 void *arg);

#endif
