/* names.h: texts as numbers: each distinct text gets the next one, from 1. */
#ifndef TRACES_NAMES_H
#define TRACES_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct names {	    /* zero it before use */
	char *text; /* one after the other, each followed by a NUL */
	size_t text_len, text_size;
	size_t *at; /* where each starts, by number - 1 */
	size_t n, at_size;
	uint32_t *slots; /* numbers by hash, 0: free */
	size_t n_slots;
};

/* The number of the text; 0 for an empty one. */
int64_t names_number(struct names *names, const char *text, size_t len);
/* The text of a number; "" for 0 and numbers that were not given out. */
const char *names_text(const struct names *names, int64_t number);
void names_release(struct names *names);

#endif
