/* tally.h: how often each whole number came; memory grows with the distinct ones only. */
#ifndef TRACES_TALLY_H
#define TRACES_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tally_entry {
	int64_t value;
	int64_t count;	/* 0: an empty place, before tally_sort() */
	int64_t before; /* numbers that are smaller, after tally_sort() */
};

struct tally { /* zero it */
	struct tally_entry
		*entries; /* a hash table; after tally_sort() ascending, `distinct` of them */
	size_t size, distinct;
	int64_t n;
};

bool tally_has(const struct tally *t, int64_t value); /* before tally_sort() */
void tally_add(struct tally *t, int64_t value);	      /* not after tally_sort() */
void tally_sort(struct tally *t);
void tally_release(struct tally *t);

/* All below after tally_sort(), with n > 0. */
int64_t tally_at(const struct tally *t, int64_t rank); /* of n, from 0 */
double tally_quantile(const struct tally *t, int64_t num,
		      int64_t den);				/* rank (n-1) num/den, linear */
double tally_middle_rank(const struct tally *t, int64_t value); /* from 1; ties share the mean */

#endif
