/*
 * host.h: the scheduler's own time between or beside steps: an executor around another one.
 *
 * A step of s sequences (prefilled and decoded) keeps the host h = host_us + host_seq_us x s busy.
 * Not async: it takes its device time plus h. Async: the larger of both, since the host prepares a
 * step while the one before runs. A decode step is then affine in two pieces, h and the device's;
 * SEMANTICS.md says what else async changes, which is the engine's part.
 */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include "sim/executor.h"
#include <stdbool.h>

struct host_want {
	double host_us, host_seq_us;
	bool async;
};

/*
 * Takes `inner` over: executor_free() of what is returned frees both. Where the overhead is zero it
 * is `inner` itself. Name, kind of times and notes are those of `inner`.
 */
struct executor *host_wrap(struct executor *inner, const struct host_want *w);

#endif
