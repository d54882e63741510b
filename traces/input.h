/*
 * input.h: a trace file as lines. Memory is bounded by the longest line, and that by 16 MiB.
 */
#ifndef TRACES_INPUT_H
#define TRACES_INPUT_H

#include "sim/err.h"
#include <stddef.h>
#include <stdint.h>

enum { INPUT_LINE_MAX = 16 << 20 }; /* bytes */

struct input;

struct input *input_open(const char *path, struct err *e); /* as unpack_open() */

/*
 * The next line, without its LF or CR LF, followed by a NUL that may be overwritten; the buffer is
 * valid until the next call. A byte order mark is dropped. 1: a line, 0: the end, -1: a sentence (a
 * NUL byte, a line that is too long, damaged data).
 */
int input_line(struct input *in, char **line, size_t *len, struct err *e);

/* The first bytes of the file, 64 KiB or all of it, left to be read. Before any line. -1: a
 * sentence. */
int input_head(struct input *in, const char **bytes, size_t *len, struct err *e);
/* The whole file as one text, followed by a NUL, in place of lines; more than `max` bytes are
 * refused. Valid until input_close(). */
int input_all(struct input *in, size_t max, char **text, size_t *len, struct err *e);

void input_again(struct input *in); /* the next input_line() gives the last line once more */
int64_t input_line_no(const struct input *in); /* of the last line, from 1 */
const char *input_name(const struct input *in);
double input_progress(const struct input *in);
void input_close(struct input *in); /* NULL is allowed */

#endif
