/* writer.h: rows written in one of the formats that are read, and what that format could not hold.
 */
#ifndef TRACES_WRITER_H
#define TRACES_WRITER_H

#include "traces/trace.h"

struct writer;

struct writer_ops {
	const char *name, *summary;
	int64_t step_ns;	/* arrivals are rounded to multiples of it */
	bool wall_clock;	/* arrivals are dates */
	bool hash_ids, max_tok; /* can hold them; hash ids only from the same format */
	void (*begin)(struct writer *w);
	void (*row)(struct writer *w, const struct trace_row *row, int64_t at_ns);
};

struct writer {
	const struct writer_ops *ops;
	FILE *out;
	const struct trace *trace;
	int64_t start_ns; /* of the first row, by the clock that is written */
	bool max_tok;	  /* a column for it is written */
	/* rows that lost something */
	int64_t rows, rounded, lost_hash_ids, lost_max_tok;
};

extern const struct writer_ops *const writers[]; /* ends with NULL */
const struct writer_ops *writer_find(const char *name, struct err *e);

/* Writes what is left of the trace. -1: a sentence; the stream then holds a part of it. */
int writer_copy(struct writer *w, const struct writer_ops *ops, struct trace *t, FILE *out,
		struct err *e);

#endif
