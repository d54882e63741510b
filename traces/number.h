/*
 * number.h: decimal text and wall-clock timestamps to integers, exactly: nothing goes through a
 * double.
 */
#ifndef TRACES_NUMBER_H
#define TRACES_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUMBER_TOK_MAX = 1000000000 };			 /* tokens of one request */
#define NUMBER_NS_MAX (INT64_C(63072) * 100000000000000) /* 200 years of 365 days */

enum number_result {
	NUMBER_OK,
	NUMBER_NOT,	 /* is not a number (or not a timestamp) */
	NUMBER_NEGATIVE, /* has a minus sign */
	NUMBER_BIG,	 /* beyond `max` */
};

/*
 * text x 10^shift, rounded to the nearest integer (halves up); `exact` says whether anything was
 * rounded away. The whole text must be a number: digits, a point, an exponent, a sign.
 */
enum number_result number_decimal(const char *text, size_t len, int shift, int64_t max,
				  int64_t *out, bool *exact);

/* A double in 15 digits, or in 17 where 15 do not give it back. Returns the length. */
enum { NUMBER_REAL_SIZE = 40 };
size_t number_real_print(double value, char out[NUMBER_REAL_SIZE]);

/*
 * "YYYY-MM-DD HH:MM:SS[.fraction][Z|+HH:MM]" (or with a T between) to ns since 1970 UTC; without a
 * zone it is taken as UTC. Years 1970 to 2169.
 */
enum number_result number_clock(const char *text, size_t len, int64_t *ns);

/* Writes the same form, UTC, without a zone, with 0 to 9 digits of fraction (cut, not rounded). */
enum { NUMBER_CLOCK_SIZE = 40 };
void number_clock_print(int64_t ns, int digits, char separator, char out[NUMBER_CLOCK_SIZE]);

#endif
