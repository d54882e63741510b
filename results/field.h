/*
 * field.h: one list of fields for a struct: printed as md, csv and jsonl, and stored in SQLite,
 * from the same table.
 */
#ifndef RESULTS_FIELD_H
#define RESULTS_FIELD_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum field_kind { FIELD_INT, FIELD_REAL, FIELD_TEXT };

/* NULL values: FIELD_NULL_INT, a NaN, an empty text. */
#define FIELD_NULL_INT INT64_MIN

enum { FIELD_TEXT_SIZE = 1024 }; /* the largest char[] that a field may be */

struct field {
	const char *name;
	enum field_kind kind; /* int64_t, double, char[size] */
	size_t offset, size;
	bool md; /* shown in the markdown table */
	const char *help;
	bool sparse;	   /* but not where it is NULL in every row */
	bool sparse_zero;  /* nor where it is 0 */
	bool found;	   /* of a run: what was found in it, no setting */
	const char *title; /* what stands above it in the markdown table; NULL: the name */
};

/* One entry of a table: the column `member` of a struct, its kind from the member's type. */
/* clang-format off */
#define FIELD(type, member, ...) {                                                                 \
	.name = #member,                                                                           \
	.kind = _Generic(((type *)0)->member,                                                      \
		int64_t: FIELD_INT, double: FIELD_REAL, char *: FIELD_TEXT),                       \
	.offset = offsetof(type, member), .size = sizeof(((type *)0)->member), __VA_ARGS__}
/* clang-format on */

enum format { FORMAT_MD, FORMAT_CSV, FORMAT_JSONL };

/* "md", "csv", "jsonl"; -1 for another name. */
int format_parse(const char *name);

/*
 * Prints `n` structs (an array of pointers) as a table in one go, header first where the format has
 * one. csv and jsonl give doubles with 15 significant digits, md with 4, or whole from 1000 on;
 * NULL is an empty csv field, a JSON null, "-" in md. An infinity is `inf` in csv and md, and null
 * in jsonl, which has no number for it. csv quotes as RFC 4180 does, with \n as the end of a line.
 * `fields` ends with a NULL name. Returns -1 when the stream failed.
 */
int fields_print(FILE *out, enum format format, const struct field *fields, const void *const *rows,
		 size_t n);

/* A text as a cell of a markdown table; `cell` has room for twice its length. */
void fields_md_text(char *cell, const char *text, size_t len);

/* Sets every field of a row to NULL; the rest of the row is not touched. */
void fields_clear(const struct field *fields, void *row);

/* The value of a field. For a text: up to the NUL, or all of `size`. */
int64_t field_int(const struct field *f, const void *row);
double field_real(const struct field *f, const void *row);
const char *field_text(const struct field *f, const void *row, size_t *len);
bool field_is_null(const struct field *f, const void *row);

#endif
