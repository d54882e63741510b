/* hits.c: see hits.h. */
#include "tests/hits.h"
#include <stdlib.h>

struct seen { /* ids; 0 is an empty place */
	uint64_t *at;
	size_t n, room;
};

static bool seen_add(struct seen *s, uint64_t id)
{
	if (2 * s->n >= s->room) {
		struct seen old = *s;
		s->room = old.room ? 2 * old.room : 1024;
		s->n = 0;
		s->at = xcalloc(s->room, sizeof(*s->at));
		for (size_t i = 0; i < old.room; i++)
			if (old.at[i])
				seen_add(s, old.at[i] - 1);
		free(old.at);
	}
	size_t i = (size_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (s->room - 1);
	for (; s->at[i]; i = (i + 1) & (s->room - 1))
		if (s->at[i] == id + 1)
			return true;
	s->at[i] = id + 1;
	s->n++;
	return false;
}

static void add_row(struct hits *h, struct seen *seen, const struct trace_row *row, int64_t block)
{
	int64_t run = 0, most = block > 0 ? (row->prompt_tok - 1) / block : 0;
	bool broken = false;
	for (int64_t i = 0; i < row->n_hash_ids; i++) {
		broken |= !seen_add(seen, row->hash_ids[i]);
		run += !broken;
	}
	h->hit_tok += (run < most ? run : most) * block;
	h->prompt_tok += row->prompt_tok;
	h->rows++;
	h->sessions += row->session > 0 && row->think_ns < 0;
	h->turns += row->session > 0 && row->think_ns >= 0;
}

int hits_count(const struct trace_spec *spec, struct hits *h, struct err *e)
{
	struct trace *t = trace_open(spec, e);
	struct seen seen = {0};
	struct trace_row row;
	int more = -1;
	*h = (struct hits){0};
	while (t && (more = trace_next(t, &row, e)) > 0)
		add_row(h, &seen, &row, trace_hash_block(t));
	trace_close(t);
	free(seen.at);
	return more;
}
