/*
 * priors.h: of each instance of a recording, how many tokens each sequence of its last decode step
 * had before it: most steps are those of the step before, one token longer.
 */
#ifndef SIM_PRIORS_H
#define SIM_PRIORS_H

#include <stdint.h>

struct prior_list {
	int64_t *at;
	int64_t n, room;
};

struct priors { /* zero-initialise */
	struct prior_list *list;
	int32_t n;
};

/* An empty one at first. Valid until another instance is asked for. */
struct prior_list *priors_of(struct priors *p, int32_t instance);
void prior_list_add(struct prior_list *l, int64_t prior);
void priors_release(struct priors *p);

#endif
