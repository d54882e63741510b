/* csv_source.h: a CSV that is being read; within csv.c and csv_header.c. */
#ifndef TRACES_CSV_SOURCE_H
#define TRACES_CSV_SOURCE_H

#include "traces/source.h"
#include <csv.h>

enum { FIELDS_MAX = 256 };

/* Columns that only some headers have, behind those that --columns can name. */
enum {
	COLUMN_TOTAL = N_COLUMNS, /* tokens, only checked */
	COLUMN_RATIO,		  /* prompt over output, only checked */
	COLUMN_LOG,		  /* the second part of a client's name */
	N_CSV_COLUMNS,
};

struct csv_source {
	struct source base;
	struct input *in;
	struct csv_parser parser;
	enum clock clock;
	int64_t at[N_CSV_COLUMNS]; /* column of each, from 1; 0: none */
	bool more;		   /* there is a column behind COLUMN_OUTPUT */
	char *names;		   /* the header's fields one after the other; NULL: no header */
	size_t n_columns;	   /* in every row */
	/* the row being read */
	char *text;
	size_t text_len, text_size;
	size_t field[FIELDS_MAX + 1]; /* where each field starts in text, and where the last ends */
	size_t n_fields;
	int64_t line;
	bool complete;
};

/* Of the row that was read, from 0. */
static inline const char *csv_field(const struct csv_source *s, size_t i)
{
	return s->text + s->field[i];
}

/* The value of a column that the file has. */
struct cell csv_cell(const struct csv_source *s, int which);
int csv_tok(const struct csv_source *s, int which, int64_t *tok, struct err *e);

/* Settles the format and what stands where from the first row, which was read. */
int csv_read_header(struct csv_source *s, const struct columns *columns, struct err *e);

#endif
