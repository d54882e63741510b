/* rng.c: see rng.h. */
#include "sim/rng.h"
#include "sim/err.h"

gsl_rng *rng_new(uint64_t seed, const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a of the name */
	for (const char *p = name; *p; p++)
		hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
	gsl_rng *r = gsl_rng_alloc(gsl_rng_taus2);
	if (!r)
		no_memory(1, sizeof(*r));
	/* taus2 takes 32 bits of a seed, so both halves go into them. */
	uint64_t s = rng_mix(hash ^ rng_mix(seed));
	gsl_rng_set(r, (unsigned long)((s ^ (s >> 32)) & 0xffffffff));
	return r;
}
