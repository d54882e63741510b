/* cmd_trace.h: between the two files of omnibus trace. */
#ifndef SIM_CMD_TRACE_H
#define SIM_CMD_TRACE_H

#include "sim/options.h"

int cmd_trace_convert(int argc, char **argv);
int cmd_trace_generate(int argc, char **argv);

/* -1 and a sentence: `path` is the source, or the file of lengths that a generator reads. */
int cmd_trace_check_output(const char *path, const char *source, struct err *e);

/* Prints the sentence on stderr; returns the code. */
int cmd_trace_fail(const struct err *e, int code);

#endif
