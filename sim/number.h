/*
 * number.h: numbers as text: limits of option and parameter tables, and the canonical form of a
 * real. The parsers are parse_int and parse_real of options.h.
 */
#ifndef SIM_NUMBER_H
#define SIM_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum { REAL_TEXT_MAX = 32 };

/* Limits of a table row as the parsers take them; both 0 means none. */
void limits_int(double min, double max, int64_t *min_out, int64_t *max_out);
void limits_real(double min, double max, double *min_out, double *max_out);

/*
 * The fewest digits that read back as the same double; a whole number below 1e15 has no exponent.
 * CHECKs the size.
 */
void print_real(double value, char *buf, size_t size);

#endif
