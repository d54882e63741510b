/* memory.c: rows that a caller holds as a trace. */
#include "traces/source.h"

struct memory_source {
	struct source base;
	const struct trace_row *rows;
	int64_t n, given;
};

static int memory_next(struct source *base, struct trace_row *row, struct err *e)
{
	struct memory_source *s = (struct memory_source *)base;

	(void)e;
	if (s->given == s->n)
		return 0;
	*row = s->rows[s->given++];
	return 1;
}

static double memory_progress(const struct source *base)
{
	const struct memory_source *s = (const struct memory_source *)base;

	return s->n > 0 ? (double)s->given / (double)s->n : 1;
}

static void memory_free(struct source *base)
{
	free(base);
}

static const struct source_ops memory_ops = {
	.next = memory_next,
	.progress = memory_progress,
	.free = memory_free,
};

struct source *memory_new(const struct trace_row *rows, int64_t n)
{
	struct memory_source *s = xcalloc(1, sizeof(*s));

	s->base.ops = &memory_ops;
	s->base.kind = KIND_OMNIBUS_CSV;
	s->rows = rows;
	s->n = n;
	return &s->base;
}
