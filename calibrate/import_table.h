/*
 * import_table.h: a table of measurements as CSV, a row at a time, its values by the name of their
 * column. Plain or compressed, as traces are (traces/input.h).
 *
 * The first failure stays: later reads do nothing but give zero, so that a row is checked once. The
 * sentence names the file, the line and the column.
 */
#ifndef CALIBRATE_IMPORT_TABLE_H
#define CALIBRATE_IMPORT_TABLE_H

#include "sim/err.h"
#include <stdbool.h>
#include <stdint.h>

struct table;

/* Reads the header. NULL: a sentence. */
struct table *table_open(const char *path, struct err *e);
void table_close(struct table *t); /* NULL is allowed */

/* The header as it stands, columns between commas. */
const char *table_header(const struct table *t);
const char *table_name(const struct table *t);
int64_t table_line(const struct table *t); /* of the header or row that was read last, from 1 */

/* The next row, blank lines left out. 1: there is one; 0: the end; -1: a sentence. */
int table_next(struct table *t);
bool table_failed(const struct table *t);
void table_fail(struct table *t, const char *column, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Of this row, by a column that the header has (CHECKed). */
const char *table_text(const struct table *t, const char *column);
int64_t table_int(struct table *t, const char *column, int64_t min, int64_t max);
double table_real(struct table *t, const char *column, double min, double max);
/* A time in units of so many ns: above 0, at most an hour. */
double table_ns(struct table *t, const char *column, double unit_ns);

#endif
