/* view.h: what is behind the pointers that a policy gets; only the engine includes it. */
#ifndef SIM_VIEW_H
#define SIM_VIEW_H

#include "sim/instance.h"

struct view {
	struct instance *in;
	int64_t now_ns;
};

struct plan {
	struct instance *in;
	int64_t now_ns;
	int64_t prompt_tok; /* as the policy counts them: without padding */
	bool decode;
	int64_t decode_tok;	  /* requests that decode, held ones not included */
	int64_t moved_blocks;	  /* swapped out or in */
	int64_t pad_tok;	  /* longest prompt of the padded batch so far */
	int64_t wait_ns;	  /* -1: none */
	enum plan_result refused; /* last reason that the head was refused for; PLAN_OK: none */
};

static inline struct job *job_of(const struct request *r)
{
	CHECK(r, "%s", "a policy passes no request (view_head() and the like give NULL for none)");
	return (struct job *)(uintptr_t)r; /* the request is its first member */
}

static inline const struct request *request_of(const struct job *j)
{
	return j ? &j->req : NULL;
}

#endif
