/*
 * resave.h: a trace written in another format and read again must be the same, but for what the
 * writer counted as lost.
 */
#ifndef TESTS_RESAVE_H
#define TESTS_RESAVE_H

#include "traces/writer.h"

enum { RESAVE_TEXT = 512 };

/*
 * Copies the first `rows` rows of `spec` into `path` and compares. 0: the same; 1: the source is no
 * trace, or holds what the format refuses, with its sentence in `text`; -1: not the same, and why.
 */
int resave(const struct trace_spec *spec, int64_t rows, const struct writer_ops *ops,
	   const char *path, struct writer *w, char text[RESAVE_TEXT]);

#endif
