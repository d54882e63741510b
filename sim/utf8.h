/*
 * utf8.h: text from outside (names of files, cells of traces), on its way to people.
 */
#ifndef SIM_UTF8_H
#define SIM_UTF8_H

#include <stddef.h>

/* Bytes of the UTF-8 character at p, 1 to 4; 0 where there is none. */
size_t utf8_bytes(const char *p);

/* In place: what is no UTF-8 or what a terminal obeys, a line break too, becomes '?'. */
void utf8_clean(char *text);

#endif
