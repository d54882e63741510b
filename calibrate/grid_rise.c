#include "calibrate/grid.h"
#include <math.h>

enum { SWEEPS = 20 };

/* Neighbours that fall are replaced by their weighted mean, until none does (Pool Adjacent
 * Violators): the nearest rising sequence in least squares. */
static bool pool(double *v, const double *w, int n)
{
	double mean[FIT_KNOTS], weight[FIT_KNOTS];
	int count[FIT_KNOTS], top = 0;

	for (int i = 0; i < n; i++) {
		mean[top] = v[i];
		weight[top] = w[i];
		count[top++] = 1;
		for (; top > 1 && mean[top - 2] > mean[top - 1]; top--) {
			double sum = weight[top - 2] + weight[top - 1];
			mean[top - 2] += (mean[top - 1] - mean[top - 2]) * weight[top - 1] / sum;
			weight[top - 2] = sum;
			count[top - 2] += count[top - 1];
		}
	}
	if (top == n)
		return false;
	for (int b = 0, i = 0; b < top; b++)
		for (int j = 0; j < count[b]; j++)
			v[i++] = mean[b];
	return true;
}

static bool pool_axis(struct grid *g, int axis, const double *seen)
{
	size_t stride = grid_stride(g, axis);
	int n = g->axis[axis].n;
	bool moved = false;

	for (size_t first = 0; first < g->n; first++) {
		if (first / stride % (size_t)n)
			continue;
		double v[FIT_KNOTS], w[FIT_KNOTS];
		for (int i = 0; i < n; i++) {
			v[i] = g->value[first + (size_t)i * stride];
			w[i] = seen[first + (size_t)i * stride];
		}
		if (!pool(v, w, n))
			continue;
		moved = true;
		for (int i = 0; i < n; i++)
			g->value[first + (size_t)i * stride] = v[i];
	}
	return moved;
}

/* Exactly, whatever the sweeps left. */
static void raise_axis(struct grid *g, int axis)
{
	size_t stride = grid_stride(g, axis);

	for (size_t i = 0; i < g->n; i++)
		if (i / stride % (size_t)g->axis[axis].n)
			g->value[i] = fmax(g->value[i], g->value[i - stride]);
}

void grid_rise(struct grid *g, const double *base, const double *seen)
{
	bool moved = true;

	for (size_t i = 0; i < g->n; i++)
		g->value[i] += base[i];
	for (int sweep = 0; moved && sweep < SWEEPS; sweep++) {
		moved = false;
		for (int a = 0; a < g->n_axes; a++)
			moved |= pool_axis(g, a, seen);
	}
	for (int a = 0; a < g->n_axes; a++)
		raise_axis(g, a);
	for (size_t i = 0; i < g->n; i++)
		g->value[i] -= base[i];
}
