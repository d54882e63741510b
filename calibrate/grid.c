#include "calibrate/grid.h"
#include <gsl/gsl_sort.h>
#include <math.h>

/* Octaves between knots: nearer ones would only follow noise. */
static const double nearest = 0.3;

static double octave(const char *size, const struct point *at)
{
	double v = form_size(size, at);

	return v > 1 ? log2(v) : 0;
}

/* Sorted, each once. */
static size_t distinct(const char *size, const struct points *p, double *v)
{
	size_t n = 1;

	for (size_t i = 0; i < p->n; i++)
		v[i] = octave(size, &p->at[i]);
	gsl_sort(v, 1, p->n);
	for (size_t i = 1; i < p->n; i++)
		if (v[i] > v[n - 1] + 1e-9)
			v[n++] = v[i];
	return n;
}

/* Half by octaves, half by how many sizes were measured: dense where the points are. */
static double place(const double *v, size_t n, size_t i)
{
	return ((v[i] - v[0]) / (v[n - 1] - v[0]) + (double)i / (double)(n - 1)) / 2;
}

static void lay_axis(struct axis *a, const double *v, size_t n, int most)
{
	size_t last = 0;

	a->knot[0] = v[0];
	a->n = 1;
	for (int k = 1; k < most - 1; k++) {
		double want = (double)k / (most - 1);
		size_t i = last + 1;
		while (i + 1 < n && fabs(place(v, n, i + 1) - want) <= fabs(place(v, n, i) - want))
			i++;
		if (i + 1 >= n || v[n - 1] - v[i] < nearest)
			break;
		if (v[i] - v[last] < nearest)
			continue;
		a->knot[a->n++] = v[i];
		last = i;
	}
	a->knot[a->n++] = v[n - 1];
}

/* As many knots as the form allows, and half as many as there are points: the longest axis gives.
 */
static void limit(int *most, int n_axes, size_t points)
{
	for (;;) {
		size_t knots = 1;
		int longest = 0;
		for (int i = 0; i < n_axes; i++) {
			knots *= (size_t)most[i];
			longest = most[i] > most[longest] ? i : longest;
		}
		if (2 * knots <= points || most[longest] <= 2)
			return;
		most[longest]--;
	}
}

bool grid_lay(struct grid *g, const struct form *f, const struct points *p)
{
	double *v = xmalloc(p->n * sizeof(*v));
	int most[FIT_AXES] = {0};

	*g = (struct grid){.n = 0};
	for (int i = 0; i < FIT_AXES && f->axes[i]; i++) {
		int n = (int)distinct(f->axes[i], p, v);
		if (n < 2)
			continue;
		most[g->n_axes] = n < f->knots[i] ? n : f->knots[i];
		g->axis[g->n_axes++].name = f->axes[i];
	}
	limit(most, g->n_axes, p->n);
	for (int i = 0; i < g->n_axes; i++) {
		size_t n = distinct(g->axis[i].name, p, v);
		lay_axis(&g->axis[i], v, n, most[i]);
		g->n = (size_t)g->axis[i].n * (i ? g->n : 1);
	}
	free(v);
	g->value = g->n ? xcalloc(g->n, sizeof(*g->value)) : NULL;
	return g->n > 0;
}

void grid_release(struct grid *g)
{
	free(g->value);
	*g = (struct grid){.n_axes = 0};
}

size_t grid_stride(const struct grid *g, int axis)
{
	size_t stride = 1;

	for (int i = axis + 1; i < g->n_axes; i++)
		stride *= (size_t)g->axis[i].n;
	return stride;
}

/* The piece and how far into it. */
static int piece(const struct axis *a, double x, double *share)
{
	int i = 0;

	while (i + 2 < a->n && x >= a->knot[i + 1])
		i++;
	*share = fmin(1, fmax(0, (x - a->knot[i]) / (a->knot[i + 1] - a->knot[i])));
	return i;
}

struct grid_cell grid_find(const struct grid *g, const struct point *at)
{
	struct grid_cell c = {.n = 1, .weight = {1}};

	for (int a = 0; a < g->n_axes; a++) {
		size_t stride = grid_stride(g, a);
		double share;
		int i = piece(&g->axis[a], octave(g->axis[a].name, at), &share);
		for (int j = 0; j < c.n; j++) {
			c.at[j] += (size_t)i * stride;
			c.at[c.n + j] = c.at[j] + stride;
			c.weight[c.n + j] = c.weight[j] * share;
			c.weight[j] *= 1 - share;
		}
		c.n *= 2;
	}
	return c;
}

double grid_at(const struct grid *g, const struct point *at)
{
	struct grid_cell c = grid_find(g, at);
	double sum = 0;

	for (int j = 0; j < c.n; j++)
		sum += c.weight[j] * g->value[c.at[j]];
	return sum;
}
