/*
 * backend_executor.h: an executor whose steps are run: real layers on real hardware, by a backend.
 */
#ifndef SIM_BACKEND_EXECUTOR_H
#define SIM_BACKEND_EXECUTOR_H

#include "calibrate/backend.h"
#include "sim/executor.h"

/*
 * Opens the backend and runs a first step, whose time is nobody's. `want` says for how much there
 * is room at first: a step that needs more has the backend opened anew, with more.
 * Its model stays the caller's, and is used as long as the executor lives. NULL: a sentence.
 */
struct executor *backend_executor_new(const struct backend_ops *ops,
				      const struct backend_want *want, struct err *e);

/* The name of the device that it runs on. */
void backend_executor_device(const struct executor *x, char *name, size_t size);

#endif
