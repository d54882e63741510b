/*
 * outfile.h: a result file that is either complete or not there: written under another name beside
 * it and renamed at the end. SIGINT, SIGTERM and SIGHUP take the other name away on their way.
 */
#ifndef TRACES_OUTFILE_H
#define TRACES_OUTFILE_H

#include "sim/err.h"

struct outfile {
	FILE *stream;
	const char *path; /* NULL: standard output */
	char *target;	  /* what `path` names, behind links */
	char *temporary;  /* NULL: written in place, because it is no regular file */
};

/*
 * Would the file be written over what is read? `input` is a path, "-" for the standard input, or
 * anything that is no file. Before any work, as it is a slip on the command line. -1: a sentence.
 * Nor may it take the place of a SQLite database, whoever's results are in it.
 */
int outfile_check(const char *path, const char *input, struct err *e);
/* Of all that a command reads, or writes besides; NULL is none. */
int outfile_check_all(const char *path, const char *const *others, size_t n, struct err *e);

/* `path` NULL or "-": standard output. One at a time. */
int outfile_open(struct outfile *o, const char *path, struct err *e);
/* Everything is on disk under its name, or -1 and nothing is. */
int outfile_commit(struct outfile *o, struct err *e);
void outfile_abandon(struct outfile *o);

#endif
