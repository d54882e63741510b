/*
 * rng.h: named random streams derived from one seed. A new consumer takes a new name and shifts no
 * other stream. The generators and distributions are GSL's (taus2).
 */
#ifndef SIM_RNG_H
#define SIM_RNG_H

#include <gsl/gsl_rng.h>
#include <stdint.h>

/* SplitMix64's output for the state x: spreads every bit of it over 64. */
uint64_t rng_mix(uint64_t x);

/* A stream of its own for (seed, name). The caller frees it with gsl_rng_free(). */
gsl_rng *rng_new(uint64_t seed, const char *name);

/* Spreads every bit of the input over the output (SplitMix64's output function of state x). */
uint64_t rng_mix(uint64_t x);

#endif
