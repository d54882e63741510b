/* jsonl_source.h: lines of JSON that are being read; within jsonl*.c. */
#ifndef TRACES_JSONL_SOURCE_H
#define TRACES_JSONL_SOURCE_H

#include "traces/chats.h"
#include "traces/source.h"
#include <jansson.h>

struct jsonl_source;

struct json_format {
	enum kind kind;
	enum clock clock;
	const char *sign;	      /* the field that only this format has */
	const char *field[N_COLUMNS]; /* from the fourth on they may be missing in a row */
	int64_t block;		      /* tokens of a hash id */
	enum trace_hash_rule rule;
	bool of_block;	       /* ids stand for the tokens of their block only */
	const char *others[3]; /* further fields */
	/* What is left to do for a row; may be NULL. */
	int (*finish)(struct jsonl_source *s, const json_t *object, struct trace_row *row,
		      struct err *e);
};

struct jsonl_source {
	struct source base;
	struct input *in;
	struct json_format format;
	bool others_allowed; /* fields that the format does not name are let pass */
	bool raw_hash_ids;
	char *names; /* text behind the names of format.field, where --columns gave them */
	uint64_t *hash_ids;
	size_t hash_size;
	char *wide; /* a line whose ids beyond 2^63 - 1 were written anew */
	size_t wide_size;
	struct chats chats;
	int64_t last_ns, shift_ns; /* RAGPulse: the last time of the file, and what is added */
};

/* "FILE:LINE: field NAME: " and what. Returns -1. */
int jsonl_refuse(const struct jsonl_source *s, struct err *e, const char *name, const char *what);
/* The line as one JSON value, or NULL. */
json_t *jsonl_load(struct jsonl_source *s, const char *line, size_t len, json_error_t *je);
/* The format that an object is of, or NULL. */
const struct json_format *json_format_find(const json_t *object);

#endif
