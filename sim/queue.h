/*
 * queue.h: the waiting queue of an instance: what was preempted last is at its head, then a heap by
 * rank, ties by arrival.
 */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include "sim/heap.h"

struct queue {
	struct job_list front; /* its last is the head */
	struct heap ranked;
	int64_t arrivals;
};

static inline int64_t queue_len(const struct queue *q)
{
	return q->front.n + (int64_t)q->ranked.n;
}

static inline struct job *queue_head(const struct queue *q)
{
	return q->front.last ? q->front.last : q->ranked.n ? q->ranked.at[0].job : NULL;
}

void queue_push(struct queue *q, struct job *j, int64_t rank);
void queue_push_front(struct queue *q, struct job *j);
void queue_take_head(struct queue *q);
void queue_release(struct queue *q);

#endif
