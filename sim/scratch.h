/*
 * scratch.h: a folder for the files of one command. They go with it: at the end, and on SIGINT,
 * SIGTERM and SIGHUP. One at a time.
 */
#ifndef SIM_SCRATCH_H
#define SIM_SCRATCH_H

#include "sim/err.h"

/* In TMPDIR, or /tmp. -1: a sentence. */
int scratch_open(struct err *e);
/* The path of a file in it, which need not be there; as long as the folder is. */
const char *scratch_file(const char *name);
void scratch_close(void);

#endif
