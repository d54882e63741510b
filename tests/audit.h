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

/*
 * A pool that remembers prompts: holders, idle blocks, names, the table. Returns how many blocks
 * are counted too often where every request counts all that it holds.
 */
int64_t audit_prefix(const struct audit *a, const struct instance *in);
/* A pool in chunks: they lie side by side from address 0 to the end. */
void audit_buddy(const struct audit *a, const struct instance *in);

#define EQUAL(got, want)                                                                           \
	do {                                                                                       \
		int64_t got_ = (int64_t)(got), want_ = (int64_t)(want);                            \
		CHECK(got_ == want_, "%s is %lld, %s is %lld", #got, (long long)got_, #want,       \
		      (long long)want_);                                                           \
	} while (0)

#define AT_MOST(got, most)                                                                         \
	do {                                                                                       \
		int64_t got_ = (int64_t)(got), most_ = (int64_t)(most);                            \
		CHECK(got_ <= most_, "%s is %lld, %s is %lld", #got, (long long)got_, #most,       \
		      (long long)most_);                                                           \
	} while (0)

#endif
