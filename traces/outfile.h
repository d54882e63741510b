/*
 * outfile.h: a result file that is either complete or not there: written under another name beside
 * it and renamed at the end.
 */
#ifndef TRACES_OUTFILE_H
#define TRACES_OUTFILE_H

#include "sim/err.h"

struct outfile {
	FILE *stream;
	const char *path; /* NULL: standard output */
	char *temporary;  /* NULL: written in place, because it is no regular file */
};

/* `path` NULL: standard output. */
int outfile_open(struct outfile *o, const char *path, struct err *e);
/* Everything is on disk under its name, or -1 and nothing is. */
int outfile_commit(struct outfile *o, struct err *e);
void outfile_abandon(struct outfile *o);

#endif
