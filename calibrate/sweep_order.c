/* sweep_order.c: coarse first, by turns. */
#include "calibrate/sweep.h"
#include <math.h>
#include <string.h>

enum { DIMS = 8 };

struct place {
	struct point point;
	double x[DIMS]; /* logarithms of sizes, 0 to 1 over the family */
	double far;	/* from the nearest one that has its rank */
	double turn;	/* in the order of all, 0 to 1 */
	size_t listed;	/* keeps equal turns in their order */
	bool ranked;
};

static void set_sizes(struct place *q)
{
	const struct point *p = &q->point;
	double mean = p->decode_seq ? (double)p->decode_ctx / (double)p->decode_seq : 0;
	const double sizes[DIMS] = {
		(double)p->m,	      (double)p->prefill_seq, (double)p->new_tok,
		(double)p->prior_tok, (double)p->decode_seq,  mean,
		(double)p->longest,   (double)p->bytes,
	};

	for (int i = 0; i < DIMS; i++)
		q->x[i] = log2(1 + sizes[i]);
}

static void scale(struct place *family, size_t n)
{
	for (int i = 0; i < DIMS; i++) {
		double least = family[0].x[i], most = least;

		for (size_t k = 1; k < n; k++) {
			least = fmin(least, family[k].x[i]);
			most = fmax(most, family[k].x[i]);
		}
		for (size_t k = 0; k < n; k++)
			family[k].x[i] =
				most > least ? (family[k].x[i] - least) / (most - least) : 0;
	}
}

static double distance(const struct place *a, const struct place *b)
{
	double sum = 0;

	for (int i = 0; i < DIMS; i++)
		sum += (a->x[i] - b->x[i]) * (a->x[i] - b->x[i]);
	return sum;
}

/* The smallest first: what it takes says what the others may. */
static size_t smallest(const struct place *family, size_t n)
{
	const struct place origin = {.listed = 0};
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (distance(&family[i], &origin) < distance(&family[best], &origin))
			best = i;
	return best;
}

static size_t farthest(const struct place *family, size_t n)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++)
		if (!family[i].ranked && (best == n || family[i].far > family[best].far))
			best = i;
	return best;
}

static void rank_family(struct place *family, size_t n)
{
	size_t next;

	scale(family, n);
	next = smallest(family, n);
	for (size_t i = 0; i < n; i++)
		family[i].far = INFINITY;
	for (size_t rank = 0; rank < n; rank++, next = farthest(family, n)) {
		family[next].ranked = true;
		/* all families begin together and end together */
		family[next].turn = n > 1 ? (double)rank / (double)(n - 1) : 0;
		for (size_t i = 0; i < n; i++)
			family[i].far = fmin(family[i].far, distance(&family[i], &family[next]));
	}
}

static int by_turn(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	return (x->listed > y->listed) - (x->listed < y->listed);
}

/* Points of one family beside each other, families in the order of their first points. */
static void gather(const struct points *list, struct place *places)
{
	bool *taken = xcalloc(list->n, sizeof(*taken));
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		for (size_t k = i; k < list->n && !taken[i]; k++) {
			if (k > i && (taken[k] || !sweep_same_family(&list->at[i], &list->at[k])))
				continue;
			places[n] = (struct place){.point = list->at[k], .listed = n};
			set_sizes(&places[n++]);
			taken[k] = k > i;
		}
		taken[i] = true;
	}
	free(taken);
}

void sweep_order(struct points *list)
{
	struct place *places = xcalloc(list->n, sizeof(*places));

	gather(list, places);
	for (size_t i = 0, end; i < list->n; i = end) {
		for (end = i + 1;
		     end < list->n && sweep_same_family(&places[i].point, &places[end].point);)
			end++;
		rank_family(&places[i], end - i);
	}
	qsort(places, list->n, sizeof(*places), by_turn);
	for (size_t i = 0; i < list->n; i++)
		list->at[i] = places[i].point;
	free(places);
}
