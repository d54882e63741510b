/*
 * streams.h: the clients of a generator, or the one there is: each with arrivals and lengths of its
 * own, given in the order of time.
 */
#ifndef TRACES_STREAMS_H
#define TRACES_STREAMS_H

#include "traces/arrivals.h"
#include "traces/lengths.h"
#include "traces/synth.h"
#include "traces/workloads.h"

struct stream_lengths {
	struct lengths prompts, outputs;
};

struct stream {
	struct arrivals arrivals;
	int64_t next_ns;		/* INT64_MAX: it would be beyond the end of time */
	struct stream_lengths *lengths; /* n of them, for equal parts of a day, in turn */
	size_t n_lengths;
};

struct streams { /* zero it */
	struct stream *at;
	size_t n, taken; /* the one whose next arrival is not drawn yet; n: none */
	bool at_once;	 /* rate=inf */
	bool draws;	 /* some length is random */
};

/* -1: a sentence that begins with `owner`. streams_release() is needed in any case. */
int streams_init(struct streams *s, const struct synth_params *p, const struct workload *w,
		 uint64_t seed, const char *owner, struct err *e);
void streams_release(struct streams *s);

/* The next arrival, and whose it is; INT64_MAX: it would be beyond the end of time. */
int64_t streams_next(struct streams *s, size_t *which);
static inline void streams_take(struct streams *s, size_t which)
{
	s->taken = which;
}

static inline const struct stream_lengths *streams_lengths(const struct streams *s, size_t which,
							   int64_t now_ns)
{
	const struct stream *t = &s->at[which];
	if (t->n_lengths == 1)
		return t->lengths;
	int64_t part_ns = INT64_C(86400000000000) / (int64_t)t->n_lengths;
	return &t->lengths[(size_t)(now_ns / part_ns) % t->n_lengths];
}

#endif
