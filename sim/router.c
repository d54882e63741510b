#include "sim/router.h"
#include "sim/rng.h"
#include <string.h>

static uint32_t round_robin(struct router *r, struct instance *in, uint32_t n)
{
	(void)in;
	return (uint32_t)(r->arrivals % n);
}

static uint32_t least_outstanding(struct router *r, struct instance *in, uint32_t n)
{
	uint32_t best = 0;

	(void)r;
	for (uint32_t i = 1; i < n; i++)
		if (instance_outstanding(&in[i]) < instance_outstanding(&in[best]))
			best = i;
	return best;
}

static uint32_t least_kv(struct router *r, struct instance *in, uint32_t n)
{
	uint32_t best = 0;

	(void)r;
	for (uint32_t i = 1; i < n; i++)
		if (in[i].kv.used < in[best].kv.used)
			best = i;
	return best;
}

static uint32_t power_of_two(struct router *r, struct instance *in, uint32_t n)
{
	uint32_t a = (uint32_t)gsl_rng_uniform_int(r->rng, n);
	uint32_t b = (uint32_t)gsl_rng_uniform_int(r->rng, n);
	int64_t in_a = instance_outstanding(&in[a]), in_b = instance_outstanding(&in[b]);

	if (in_a == in_b)
		return a < b ? a : b;
	return in_a < in_b ? a : b;
}

static const struct router_ops round_robin_ops = {
	.name = "round-robin", .summary = "each in turn", .pick = round_robin};
static const struct router_ops least_outstanding_ops = {
	.name = "least-outstanding",
	.summary = "the one with the fewest requests that are not done",
	.pick = least_outstanding};
static const struct router_ops least_kv_ops = {.name = "least-kv",
					       .summary =
						       "the one with the fewest KV blocks in use",
					       .pick = least_kv,
					       .reads_kv = true};
static const struct router_ops power_of_two_ops = {.name = "power-of-two",
						   .summary =
							   "the less loaded of two drawn at random",
						   .pick = power_of_two};

const struct router_ops *const routers[] = {&round_robin_ops, &least_outstanding_ops, &least_kv_ops,
					    &power_of_two_ops, NULL};

int router_find(const struct router_ops **ops, const char *name, struct err *e)
{
	const char *names[8];
	size_t n = 0;

	for (; routers[n]; n++) {
		names[n] = routers[n]->name;
		if (!strcmp(name, routers[n]->name)) {
			*ops = routers[n];
			return 0;
		}
	}
	return err_unknown(e, "router", name, names, n);
}

void router_init(struct router *r, const struct router_ops *ops, uint64_t seed)
{
	*r = (struct router){.ops = ops, .rng = rng_new(seed, "router")};
}

void router_release(struct router *r)
{
	gsl_rng_free(r->rng);
}
