/* spool.h: standard input as something that can be read several times, by several threads. */
#ifndef TRACES_SPOOL_H
#define TRACES_SPOOL_H

#include "sim/err.h"
#include <stdint.h>

/*
 * A descriptor to be read with pread() from `*start` on; it belongs to the process and is never
 * closed. The first call reads all of standard input, unless that is a file. -1: a sentence.
 */
int spool_stdin(int64_t *start, struct err *e);

#endif
