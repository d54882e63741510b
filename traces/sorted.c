/* sorted.c: see sorted.h. */
#include "traces/sorted.h"
#include <string.h>

struct sorted_source {
	struct source base;
	struct trace_row *rows; /* hash_ids is set when a row is given out: ids moves as it grows */
	size_t *first_id;	/* of each row's hash ids */
	struct sorted_key {
		int64_t arrive_ns;
		size_t row;
	} * keys;
	uint64_t *ids;
	size_t n, size, n_ids, ids_size, given;
};

static void keep_ids(struct sorted_source *s, const struct trace_row *row)
{
	size_t n = (size_t)row->n_hash_ids;
	if (s->n_ids + n > s->ids_size) {
		s->ids_size = 2 * (s->n_ids + n);
		s->ids = xrealloc(s->ids, s->ids_size * sizeof(*s->ids));
	}
	memcpy(s->ids + s->n_ids, row->hash_ids, n * sizeof(*s->ids));
	s->n_ids += n;
}

static void keep(struct sorted_source *s, const struct trace_row *row)
{
	if (s->n == s->size) {
		s->size = s->size ? 2 * s->size : 1024;
		s->rows = xrealloc(s->rows, s->size * sizeof(*s->rows));
		s->keys = xrealloc(s->keys, s->size * sizeof(*s->keys));
		s->first_id = xrealloc(s->first_id, s->size * sizeof(*s->first_id));
	}
	s->rows[s->n] = *row;
	s->first_id[s->n] = s->n_ids;
	s->keys[s->n] = (struct sorted_key){row->arrive_ns, s->n};
	s->n++;
	if (row->hash_ids)
		keep_ids(s, row);
}

/* Ties keep the order of the file. */
static int by_arrival(const void *va, const void *vb)
{
	const struct sorted_key *a = va, *b = vb;
	if (a->arrive_ns != b->arrive_ns)
		return a->arrive_ns < b->arrive_ns ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static int sorted_next(struct source *base, struct trace_row *row, struct err *e)
{
	struct sorted_source *s = (struct sorted_source *)base;
	(void)e;
	if (s->given == s->n)
		return 0;
	size_t i = s->keys[s->given++].row;
	*row = s->rows[i];
	if (row->hash_ids)
		row->hash_ids = s->ids + s->first_id[i];
	return 1;
}

static double sorted_progress(const struct source *base)
{
	const struct sorted_source *s = (const struct sorted_source *)base;
	return s->n > 0 ? (double)s->given / (double)s->n : 1;
}

static void sorted_free(struct source *base)
{
	struct sorted_source *s = (struct sorted_source *)base;
	free(s->rows);
	free(s->keys);
	free(s->first_id);
	free(s->ids);
	free(s);
}

static const struct source_ops sorted_ops = {
	.next = sorted_next,
	.progress = sorted_progress,
	.free = sorted_free,
};

struct source *sorted_new(struct source *inner, struct err *e)
{
	struct sorted_source *s = xcalloc(1, sizeof(*s));
	struct trace_row row;
	int more;
	while ((more = inner->ops->next(inner, &row, e)) > 0)
		keep(s, &row);
	s->base = *inner;
	s->base.ops = &sorted_ops;
	inner->clients = inner->sessions = (struct names){0};
	source_free(inner);
	if (more < 0) {
		source_free(&s->base);
		return NULL;
	}
	if (s->n > 0)
		qsort(s->keys, s->n, sizeof(*s->keys), by_arrival);
	return &s->base;
}
