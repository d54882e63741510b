/*
 * unpack.h: the bytes of a file, decompressed where its first bytes say gzip or Zstandard.
 */
#ifndef TRACES_UNPACK_H
#define TRACES_UNPACK_H

#include "sim/err.h"
#include <stddef.h>

struct unpack;

/*
 * `path`, or "-" for standard input, which is spooled to an unlinked temporary file once per
 * process (and read in place where it is a file), so that it can be opened again. Anything but a
 * regular file is refused: a pipe could be read only once.
 */
struct unpack *unpack_open(const char *path, struct err *e);

/* Up to `size` bytes. Returns how many, 0 at the end, -1 and a sentence: damaged or cut short. */
long unpack_read(struct unpack *u, void *buf, size_t size, struct err *e);

const char *unpack_name(const struct unpack *u); /* for sentences: the path or "standard input" */
double unpack_progress(const struct unpack *u);	 /* 0 to 1, of the compressed bytes */
void unpack_close(struct unpack *u);		 /* NULL is allowed */

#endif
