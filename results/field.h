/*
 * field.h: one list of fields for a struct: printed as md, csv and jsonl, and stored in SQLite, from
 * the same table.
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

struct field {
	const char *name;
	enum field_kind kind; /* int64_t, double, char[size] */
	size_t offset, size;
	bool md; /* shown in the markdown table */
	const char *help;
};

enum format { FORMAT_MD, FORMAT_CSV, FORMAT_JSONL };

/* "md", "csv", "jsonl"; -1 for another name. */
int format_parse(const char *name);

/*
 * Prints `n` structs (an array of pointers) as a table in one go, header first where the format has
 * one. csv and jsonl give doubles with 15 significant digits, md with 4; NULL is an empty csv field, a
 * JSON null, "-" in md. `fields` ends with a NULL name. Returns -1 when the stream failed.
 */
int fields_print(FILE *out, enum format format, const struct field *fields,
		 const void *const *rows, size_t n);

#endif
