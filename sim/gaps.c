#include "sim/gaps.h"
#include "sim/err.h"

/* Index of the first group with token_ns >= t. */
static int64_t find_group(const struct gaps *g, int64_t t)
{
	int64_t low = 0, high = g->n_groups;

	while (low < high) {
		int64_t mid = low + (high - low) / 2;

		if (g->group[mid].token_ns < t)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void gaps_join(struct gaps *g, int64_t token_ns)
{
	int64_t last = g->n_groups - 1;

	if (last >= 0 && g->group[last].token_ns == token_ns) {
		g->group[last].n++;
		return;
	}
	CHECK(last < 0 || g->group[last].token_ns < token_ns, "token at %lld after one at %lld",
	      (long long)token_ns, (long long)g->group[last].token_ns);
	if (g->n_groups == g->group_room) {
		g->group_room = g->group_room ? 2 * g->group_room : 16;
		g->group = xrealloc(g->group, (size_t)g->group_room * sizeof(*g->group));
	}
	g->group[g->n_groups++] = (struct gap_group){token_ns, 1};
}

void gaps_leave(struct gaps *g, int64_t token_ns)
{
	int64_t i = find_group(g, token_ns);

	CHECK(i < g->n_groups && g->group[i].token_ns == token_ns && g->group[i].n > 0,
	      "no request with its last token at %lld", (long long)token_ns);
	g->group[i].n--;
	while (g->n_groups > 0 && g->group[g->n_groups - 1].n == 0)
		g->n_groups--;
}

static void push_mark(struct gaps *g, int64_t start_ns, double gap_ns)
{
	while (g->n_marks > 0 && g->mark[g->n_marks - 1].gap_ns <= gap_ns)
		g->n_marks--;
	if (g->n_marks == g->mark_room) {
		g->mark_room = g->mark_room ? 2 * g->mark_room : 64;
		g->mark = xrealloc(g->mark, (size_t)g->mark_room * sizeof(*g->mark));
	}
	g->mark[g->n_marks++] = (struct gap_mark){start_ns, gap_ns};
}

void gaps_step(struct gaps *g, struct hist *h, int64_t start_ns, double cost_ns, int64_t end_ns)
{
	int64_t n = 0;

	for (int64_t i = 0; i < g->n_groups; i++) {
		double gap_ns = (double)(start_ns - g->group[i].token_ns) + cost_ns;

		if (g->group[i].n == 0)
			continue;
		hist_add(h, gap_ns, g->group[i].n);
		push_mark(g, g->group[i].token_ns, gap_ns);
		n += g->group[i].n;
	}
	g->n_groups = 0;
	if (n > 0) {
		gaps_join(g, end_ns);
		g->group[0].n = n;
	}
}

void gaps_run(struct gaps *g, int64_t start_ns, double gap_ns, int64_t end_ns)
{
	if (g->n_groups == 0)
		return;
	push_mark(g, start_ns, gap_ns);
	g->group[0].token_ns = end_ns;
}

double gaps_max(const struct gaps *g, int64_t since_ns)
{
	int64_t low = 0, high = g->n_marks;

	while (low < high) {
		int64_t mid = low + (high - low) / 2;

		if (g->mark[mid].start_ns < since_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low < g->n_marks ? g->mark[low].gap_ns : -1;
}

void gaps_release(struct gaps *g)
{
	free(g->group);
	free(g->mark);
	*g = (struct gaps){0};
}
