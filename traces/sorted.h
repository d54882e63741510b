/* sorted.h: all rows of a source, held in memory and sorted stably by arrival. */
#ifndef TRACES_SORTED_H
#define TRACES_SORTED_H

#include "traces/source.h"

/* Takes over `inner`, reads it to its end, and frees it. NULL: its sentence. */
struct source *sorted_new(struct source *inner, struct err *e);

#endif
