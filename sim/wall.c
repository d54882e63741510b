#include "sim/wall.h"
#include <errno.h>
#include <stddef.h>
#include <time.h>

static const int64_t NS = 1000000000;

static int64_t monotonic_now(void *arg)
{
	struct timespec t;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

/* A signal that is handled does not shorten it. */
static void monotonic_sleep_until(void *arg, int64_t t_ns)
{
	const struct timespec t = {.tv_sec = (time_t)(t_ns / NS), .tv_nsec = (long)(t_ns % NS)};

	(void)arg;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

const struct wall wall_monotonic = {.now = monotonic_now, .sleep_until = monotonic_sleep_until};
