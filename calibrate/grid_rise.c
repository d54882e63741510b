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

/* How far along its axis a knot is, 0 for the first. */
static int place(const struct grid *g, int axis, size_t i)
{
	return (int)(i / grid_stride(g, axis) % (size_t)g->axis[axis].n);
}

/* Along each line of knots, with what the formula rises by itself added, and taken off after. */
static bool pool_axis(struct grid *g, int axis, const double *rise, const double *seen)
{
	size_t stride = grid_stride(g, axis);
	int n = g->axis[axis].n;
	bool moved = false;

	for (size_t first = 0; first < g->n; first++) {
		if (place(g, axis, first))
			continue;
		double v[FIT_KNOTS], w[FIT_KNOTS], risen[FIT_KNOTS] = {0};
		for (int i = 0; i < n; i++) {
			size_t at = first + (size_t)i * stride;
			risen[i] = i ? risen[i - 1] + rise[at] : 0;
			v[i] = g->value[at] + risen[i];
			w[i] = seen[at];
		}
		if (!pool(v, w, n))
			continue;
		moved = true;
		for (int i = 0; i < n; i++)
			g->value[first + (size_t)i * stride] = v[i] - risen[i];
	}
	return moved;
}

void grid_rise(struct grid *g, double *const *rise, const double *seen)
{
	bool moved = true;

	for (int sweep = 0; moved && sweep < SWEEPS; sweep++) {
		moved = false;
		for (int a = 0; a < g->n_axes; a++)
			moved |= pool_axis(g, a, rise[a], seen);
	}
	/* exactly, whatever the sweeps left: neighbours below come before */
	for (size_t i = 0; i < g->n; i++)
		for (int a = 0; a < g->n_axes; a++)
			if (place(g, a, i))
				g->value[i] = fmax(g->value[i],
						   g->value[i - grid_stride(g, a)] - rise[a][i]);
}
