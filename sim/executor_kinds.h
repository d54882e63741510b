/*
 * executor_kinds.h: what `-x` can name: where step times come from.
 */
#ifndef SIM_EXECUTOR_KINDS_H
#define SIM_EXECUTOR_KINDS_H

#include <stdbool.h>

enum {
	EXECUTOR_PREDICT,
	EXECUTOR_FIXED,
	EXECUTOR_CPU,
	EXECUTOR_CUDA,
	EXECUTOR_REPLAY,
	N_EXECUTORS
};

struct executor_kind {
	const char *name;
	const char *params; /* behind a colon, as written in a text of help; "": it takes none */
	const char *summary;
	bool measures; /* by a backend of this name */
};

extern const struct executor_kind executor_kinds[N_EXECUTORS];

#endif
