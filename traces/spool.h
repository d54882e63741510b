/* spool.h: standard input as something that can be read several times, by several threads. */
#ifndef TRACES_SPOOL_H
#define TRACES_SPOOL_H

#include "sim/err.h"
#include <stdint.h>

/*
 * A descriptor to be read with pread() from `*start` on; it belongs to the process and is never
 * closed. Unless standard input is a file, it is a temporary one that spool_fill() fills. -1: a
 * sentence.
 */
int spool_stdin(int64_t *start, struct err *e);

/*
 * Before a pread(): waits until `upto` bytes behind the start are there, or the input has ended. So
 * nothing is waited for, or kept, beyond what some reader wants. -1: a sentence.
 */
int spool_fill(int64_t upto, struct err *e);

#endif
