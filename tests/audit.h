/*
 * audit.h: recounts everything that the engine counts, by plain loops over the jobs in its lists,
 * whenever sim_run() calls back. A mismatch aborts with both numbers.
 */
#ifndef TESTS_AUDIT_H
#define TESTS_AUDIT_H

#include "sim/engine.h"

enum { AUDIT_INSTANCES = 64 }; /* batches, where instances have several */

/* What was seen of a padded batch when it was taken: its requests that are done are gone. */
struct audit_batch {
	bool on;
	int64_t n, blocks, pad_tok, clock;
};

struct audit {
	int64_t calls;
	struct audit_batch batch[AUDIT_INSTANCES];
	struct job **all; /* the jobs in use, found once a call */
	size_t n_all;
};

/* The audit of struct sim_config; `arg` is a zeroed struct audit. */
void audit_sim(void *arg, const struct sim *s, int32_t instance);

/* One instance alone. Returns blocks in use that none of its own jobs holds: reserved for inbound
 * transfers, and kept until outbound ones are over. */
int64_t audit_instance(struct audit *a, struct instance *in);

#endif
