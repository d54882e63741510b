#include "sim/queue.h"

void queue_push(struct queue *q, struct job *j, int64_t rank)
{
	j->state = JOB_WAITING;
	heap_push(&q->ranked, j, rank, q->arrivals++);
}

void queue_push_front(struct queue *q, struct job *j)
{
	j->state = JOB_WAITING;
	list_append(&q->front, j);
}

void queue_take_head(struct queue *q)
{
	if (q->front.last)
		list_remove(&q->front, q->front.last);
	else
		heap_pop(&q->ranked);
}

void queue_release(struct queue *q)
{
	heap_release(&q->ranked);
}
