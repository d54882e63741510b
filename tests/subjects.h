/*
 * subjects.h: what laws are tested over: every policy of the registry, every preset and the shape,
 * each with random parameters out of their own tables (so that a new one is covered by itself), on
 * random traces, hardware and executors.
 */
#ifndef TESTS_SUBJECTS_H
#define TESTS_SUBJECTS_H

#include "tests/harness.h"

/* A name for -p; or, where ops is set, a policy that is not in the registry. */
struct subject {
	char name[64];
	const struct policy_ops *ops;
};

/* All names for -p. The caller frees the array. */
struct subject *subjects_all(size_t *n);

/* Everything that one run needs, owned here. */
struct random_run {
	struct choice choice;
	char params[512]; /* as given */
	struct trace_row *row;
	size_t n;
	bool sessions; /* some rows belong to one */
	uint64_t *ids; /* of all rows */
	struct executor *executor;
	struct harness_options options;
};

/* The `i`-th random run of a subject; the same each time. */
void random_run_init(struct random_run *r, const struct subject *s, uint64_t i);
void random_run_release(struct random_run *r);

/* What is needed to find it again. */
void random_run_print(FILE *out, const struct random_run *r);

#endif
