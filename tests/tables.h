/*
 * tables.h: tables of measured kernels for tests of fits, and times between their sizes.
 */
#ifndef TESTS_TABLES_H
#define TESTS_TABLES_H

#include "calibrate/fit.h"

/* Adds the points of a table; false, and a message, where it is not here. */
bool tables_read(struct points *p, const char *name, const char *model);

/* Those of one operation with 16 bits. */
struct points tables_of(const struct points *p, enum op op);

/*
 * What a GEMM takes according to the table: its own entry, or straight between those of the nearest
 * smaller and larger n, k and m; beyond the largest n in proportion. NAN: beyond the table.
 */
double tables_gemm_ns(const struct points *gemms, int64_t m, int64_t n, int64_t k);
/* The nearest sizes in the table on both sides, of which that time is made; 0: none above. */
struct around {
	double below, above;
};
struct around tables_around(const struct points *p, const char *size, double x);
/* The same by tokens alone. */
double tables_rows_ns(const struct points *rows, int64_t m);

/* No time falls by more than this share where one of the fit's sizes doubles, at any point. */
void tables_assert_rising(const struct fit *f, const struct points *p, double share);

#endif
