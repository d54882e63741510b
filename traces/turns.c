/* turns.c: see turns.h. */
#include "traces/turns.h"

static void grow(struct turns *t, size_t n)
{
	if (n > t->size) {
		t->size = 2 * n > 64 ? 2 * n : 64;
		t->end_ns = xrealloc(t->end_ns, t->size * sizeof(*t->end_ns));
	}
	while (t->n < n)
		t->end_ns[t->n++] = -1;
}

void turns_add(struct turns *t, struct trace_row *row)
{
	if (row->session <= 0)
		return;
	size_t i = (size_t)row->session - 1;
	grow(t, i + 1);
	row->think_ns = -1;
	if (t->end_ns[i] < 0)
		t->sessions++;
	else if (row->arrive_ns >= t->end_ns[i])
		row->think_ns = row->arrive_ns - t->end_ns[i];
	else
		row->think_ns = 0, t->overlapping++;
	t->end_ns[i] = row->arrive_ns + row->service_ns;
}

void turns_release(struct turns *t)
{
	free(t->end_ns);
	*t = (struct turns){0};
}
