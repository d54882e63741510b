/* writer.h: rows written in one of the formats that are read, and what that format could not hold.
 */
#ifndef TRACES_WRITER_H
#define TRACES_WRITER_H

#include "traces/trace.h"
#include <stdio.h>

/* What a row may have besides arrival and lengths. */
enum extra {
	EXTRA_MAX_TOK,
	EXTRA_PRIORITY,
	EXTRA_CLIENT,
	EXTRA_SESSION,
	EXTRA_SERVICE,
	EXTRA_HASH_IDS,
	N_EXTRAS,
};

struct writer;

struct writer_ops {
	const char *name, *summary;
	int64_t step_ns; /* arrivals are rounded to multiples of it; 0: it has none */
	bool wall_clock; /* arrivals are dates */
	bool seconds;	 /* arrivals are JSON numbers, read as doubles: from 2^23 s on, where these
			    are coarser than 1 ns, they are rounded to 10 us */
	bool by_name;	 /* a row may have what the first one had not */
	bool holds[N_EXTRAS];
	int64_t hash_block; /* hash ids are kept from traces of the same block and rule */
	enum trace_hash_rule hash_rule;
	void (*begin)(struct writer *w);
	void (*row)(struct writer *w, const struct trace_row *row, int64_t at_ns);
	void (*end)(struct writer *w); /* these three may be NULL */
	void (*release)(struct writer *w);
};

struct writer {
	const struct writer_ops *ops;
	FILE *out;
	const struct trace *trace;
	int64_t start_ns;     /* of the first row, by the clock that is written */
	bool holds[N_EXTRAS]; /* of those that ops holds: those that the trace has */
	void *own;	      /* of ops */
	/* rows that lost something */
	int64_t rows, rounded, lost_arrivals, lost[N_EXTRAS];
	int64_t renamed; /* clients whose name had to become another */
};

extern const struct writer_ops *const writers[]; /* ends with NULL */
const struct writer_ops *writer_find(const char *name, struct err *e);

/*
 * Writes what is left of the trace, which is best opened with raw_hash_ids. -1: a sentence; the
 * stream then holds a part of it.
 */
int writer_copy(struct writer *w, const struct writer_ops *ops, struct trace *t, FILE *out,
		struct err *e);

/* Within writer*.c. */
extern const struct writer_ops writer_omnibus, writer_azure, writer_azure_2024, writer_burstgpt,
	writer_burstgpt_3, writer_lengths, writer_mooncake, writer_ns, writer_bailian,
	writer_ragpulse, writer_vllm;
/* Seconds with `least` to 9 decimals, as many as are needed. */
void writer_seconds(FILE *out, int64_t ns, int least);
/* The name of the row's session; where it has only a number, that. The buffer may be used. */
enum { SESSION_TEXT_SIZE = 32 };
const char *writer_session(const struct writer *w, const struct trace_row *row,
			   char buf[SESSION_TEXT_SIZE]);

#endif
