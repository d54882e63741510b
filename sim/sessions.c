#include "sim/sessions.h"
#include <stdlib.h>
#include <string.h>

/* A row that is known to arrive at a time. */
struct due {
	int64_t t_ns, idx;
};

struct sessions {
	struct trace_row *row;
	int64_t *after; /* row of the same session behind it; -1: none */
	int64_t n, room;
	struct due *heap; /* by time, then by row */
	int64_t n_due;
	bool followed; /* a row became due by the end of another */
};

/* The rows */

static void keep(struct sessions *s, const struct trace_row *row)
{
	size_t bytes = (size_t)row->n_hash_ids * sizeof(*row->hash_ids);

	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->row = xrealloc(s->row, (size_t)s->room * sizeof(*s->row));
	}
	s->row[s->n] = *row;
	if (row->hash_ids) {
		uint64_t *ids = xcalloc(1, bytes + 1);

		memcpy(ids, row->hash_ids, bytes);
		s->row[s->n].hash_ids = ids;
	}
	s->n++;
}

struct turn {
	int64_t session, idx;
};

static int by_session(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->session != y->session)
		return (x->session > y->session) - (x->session < y->session);
	return (x->idx > y->idx) - (x->idx < y->idx);
}

/* Links the rows of each session; those that have none before them arrive as the trace says. */
static void link_turns(struct sessions *s)
{
	struct turn *turn = xcalloc((size_t)s->n + 1, sizeof(*turn));
	bool *follows = xcalloc((size_t)s->n + 1, sizeof(*follows));

	s->after = xcalloc((size_t)s->n + 1, sizeof(*s->after));
	s->heap = xcalloc((size_t)s->n + 1, sizeof(*s->heap));
	for (int64_t i = 0; i < s->n; i++) {
		turn[i] = (struct turn){s->row[i].session, i};
		s->after[i] = -1;
	}
	qsort(turn, (size_t)s->n, sizeof(*turn), by_session);
	for (int64_t i = 1; i < s->n; i++) {
		if (turn[i].session == 0 || turn[i].session != turn[i - 1].session)
			continue;
		s->after[turn[i - 1].idx] = turn[i].idx;
		follows[turn[i].idx] = true;
	}
	for (int64_t i = 0; i < s->n; i++) /* in order: a heap from the start */
		if (!follows[i])
			s->heap[s->n_due++] = (struct due){s->row[i].arrive_ns, i};
	free(follows);
	free(turn);
}

struct sessions *sessions_new(int (*next)(void *arg, struct trace_row *row, struct err *e),
			      void *arg, struct err *e)
{
	struct sessions *s = xcalloc(1, sizeof(*s));
	struct trace_row row;
	int got;

	while ((got = next(arg, &row, e)) > 0)
		keep(s, &row);
	if (got < 0) {
		sessions_free(s);
		return NULL;
	}
	link_turns(s);
	return s;
}

void sessions_free(struct sessions *s)
{
	if (!s)
		return;
	for (int64_t i = 0; i < s->n; i++)
		free((void *)(uintptr_t)s->row[i].hash_ids);
	free(s->row);
	free(s->after);
	free(s->heap);
	free(s);
}

/* What arrives when */

static bool before(struct due a, struct due b)
{
	return a.t_ns != b.t_ns ? a.t_ns < b.t_ns : a.idx < b.idx;
}

static void push(struct sessions *s, struct due d)
{
	int64_t at = s->n_due++;

	for (; at > 0 && before(d, s->heap[(at - 1) / 2]); at = (at - 1) / 2)
		s->heap[at] = s->heap[(at - 1) / 2];
	s->heap[at] = d;
}

static struct due pop(struct sessions *s)
{
	struct due top = s->heap[0], last = s->heap[--s->n_due];
	int64_t at = 0, child;

	while ((child = 2 * at + 1) < s->n_due) {
		if (child + 1 < s->n_due && before(s->heap[child + 1], s->heap[child]))
			child++;
		if (!before(s->heap[child], last))
			break;
		s->heap[at] = s->heap[child];
		at = child;
	}
	s->heap[at] = last;
	return top;
}

int64_t sessions_time(const struct sessions *s)
{
	return s->n_due > 0 ? s->heap[0].t_ns : INT64_MAX;
}

int64_t sessions_take(struct sessions *s, struct trace_row *row)
{
	CHECK(s->n_due > 0, "no row of %lld is due", (long long)s->n);
	struct due d = pop(s);

	*row = s->row[d.idx];
	row->arrive_ns = d.t_ns;
	return d.idx;
}

void sessions_ended(struct sessions *s, int64_t idx, int64_t now_ns)
{
	int64_t after = s->after[idx];

	if (after < 0)
		return;
	int64_t think_ns = s->row[after].think_ns;

	s->followed = true;
	push(s, (struct due){now_ns + (think_ns > 0 ? think_ns : 0), after});
}

bool sessions_followed(const struct sessions *s)
{
	return s->followed;
}
