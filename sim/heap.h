/*
 * heap.h: a binary heap of jobs by (key, tie), lowest first; a job knows its position, so that one
 * in the middle can leave. A job is in at most one heap at a time.
 */
#ifndef SIM_HEAP_H
#define SIM_HEAP_H

#include "sim/job.h"

struct heap_entry {
	int64_t key, tie;
	struct job *job;
};

struct heap {
	struct heap_entry *at;
	size_t n, room;
};

void heap_push(struct heap *h, struct job *j, int64_t key, int64_t tie);
void heap_remove(struct heap *h, struct job *j);
bool heap_has(const struct heap *h, const struct job *j);
/* h->at[0] is the lowest where n > 0; this takes it out. */
struct job *heap_pop(struct heap *h);
void heap_release(struct heap *h);

#endif
