#include "sim/job.h"

enum { SLAB_JOBS = 256 };

static void slab_add(struct job_pool *p)
{
	struct job *slab = xcalloc(SLAB_JOBS, sizeof(*slab));

	p->slabs = xrealloc(p->slabs, (p->n_slabs + 1) * sizeof(*p->slabs));
	p->slabs[p->n_slabs++] = slab;
	for (int i = SLAB_JOBS - 1; i >= 0; i--)
		job_give(p, &slab[i]);
}

struct job *job_take(struct job_pool *p)
{
	if (!p->free)
		slab_add(p);
	struct job *j = p->free;

	p->free = j->next;
	*j = (struct job){
		.state = JOB_WAITING, .schedule_ns = -1, .first_ns = -1, .max_gap_ns = -1};
	return j;
}

void job_give(struct job_pool *p, struct job *j)
{
	if (j->prompt)
		free(j->prompt);
	j->prompt = NULL;
	j->state = JOB_FREE;
	j->next = p->free;
	p->free = j;
}

static int by_idx(const void *a, const void *b)
{
	const struct job *const *x = a, *const *y = b;

	return ((*x)->req.idx > (*y)->req.idx) - ((*x)->req.idx < (*y)->req.idx);
}

struct job **job_pool_all(const struct job_pool *p, size_t *n)
{
	struct job **all = xcalloc(p->n_slabs * SLAB_JOBS + 1, sizeof(struct job *));

	*n = 0;
	for (size_t i = 0; i < p->n_slabs; i++) {
		struct job *slab = p->slabs[i];

		for (int k = 0; k < SLAB_JOBS; k++)
			if (slab[k].state != JOB_FREE)
				all[(*n)++] = &slab[k];
	}
	qsort(all, *n, sizeof(struct job *), by_idx);
	return all;
}

void job_pool_release(struct job_pool *p)
{
	for (size_t i = 0; i < p->n_slabs; i++) {
		struct job *slab = p->slabs[i];

		for (int k = 0; k < SLAB_JOBS; k++)
			free(slab[k].prompt);
		free(slab);
	}
	free(p->slabs);
	*p = (struct job_pool){0};
}

void list_append(struct job_list *l, struct job *j)
{
	j->prev = l->last;
	j->next = NULL;
	if (l->last)
		l->last->next = j;
	else
		l->first = j;
	l->last = j;
	l->n++;
}

void list_insert_by_admission(struct job_list *l, struct job *j)
{
	struct job *after = l->last;

	while (after && after->admit_seq > j->admit_seq)
		after = after->prev;
	j->prev = after;
	j->next = after ? after->next : l->first;
	if (j->next)
		j->next->prev = j;
	else
		l->last = j;
	if (after)
		after->next = j;
	else
		l->first = j;
	l->n++;
}

void list_remove(struct job_list *l, struct job *j)
{
	if (j->prev)
		j->prev->next = j->next;
	else
		l->first = j->next;
	if (j->next)
		j->next->prev = j->prev;
	else
		l->last = j->prev;
	j->prev = j->next = NULL;
	l->n--;
}
