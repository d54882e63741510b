/*
 * router.h: which instance an arriving request goes to.
 */
#ifndef SIM_ROUTER_H
#define SIM_ROUTER_H

#include "sim/instance.h"
#include <gsl/gsl_rng.h>

struct router {
	const struct router_ops *ops;
	int64_t arrivals; /* routed so far */
	gsl_rng *rng;	  /* the stream "router" */
};

/*
 * Picks one of `n` instances, all accounted up to the present time. Among equals the lowest index.
 */
struct router_ops {
	const char *name, *summary;
	uint32_t (*pick)(struct router *r, struct instance *in, uint32_t n);
	bool reads_kv; /* instances must be accounted up to the present before pick() */
};

extern const struct router_ops *const routers[]; /* ends with NULL; the first is the default */
int router_find(const struct router_ops **ops, const char *name, struct err *e);

void router_init(struct router *r, const struct router_ops *ops, uint64_t seed);
void router_release(struct router *r);

#endif
