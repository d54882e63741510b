/*
 * wall.h: a clock that runs by itself, for simulations that real kernels take part in: requests
 * arrive when they would, and a step ends when it has ended.
 */
#ifndef SIM_WALL_H
#define SIM_WALL_H

#include <stdint.h>

/* Times are ns from whenever; now() never falls. */
struct wall {
	int64_t (*now)(void *arg);
	/* Returns at t_ns or later; at once where that has passed. */
	void (*sleep_until)(void *arg, int64_t t_ns);
	void *arg;
};

/* CLOCK_MONOTONIC. */
extern const struct wall wall_monotonic;

#endif
