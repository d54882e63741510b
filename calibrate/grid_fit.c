#include "calibrate/fit_parts.h"
#include "calibrate/grid.h"
#include <gsl/gsl_linalg.h>
#include <math.h>

/* What a second difference and a value cost, against the points that a knot has on average. */
static const double smooth = 1e-2, ridge = 1e-3;
enum { ROUNDS = 3 };

/* Lower half of a symmetric band: element (i + k, i) is at (i, k). */
static void add(gsl_matrix *band, size_t i, size_t j, double v)
{
	if (i >= j)
		*gsl_matrix_ptr(band, j, i - j) += v;
}

static void add_point(gsl_matrix *band, gsl_vector *right, const struct grid_cell *c, double w,
		      double y)
{
	for (int i = 0; i < c->n; i++) {
		double v = w * c->weight[i];
		if (v == 0)
			continue;
		*gsl_vector_ptr(right, c->at[i]) += v * y;
		for (int j = 0; j < c->n; j++)
			add(band, c->at[i], c->at[j], v * c->weight[j]);
	}
}

/* How sharply three neighbours bend, each octave. */
static void add_bend(gsl_matrix *band, const struct axis *a, int knot, size_t i, size_t stride,
		     double cost)
{
	double below = a->knot[knot] - a->knot[knot - 1], above = a->knot[knot + 1] - a->knot[knot];
	double scale = fmin(1, (below + above) / 2);
	const double v[] = {scale / below, -scale * (1 / below + 1 / above), scale / above};

	for (size_t r = 0; r < 3; r++)
		for (size_t c = 0; c < 3; c++)
			add(band, i + r * stride - stride, i + c * stride - stride,
			    cost * v[r] * v[c]);
}

static void add_costs(gsl_matrix *band, const struct grid *g, double points)
{
	double each = points / (double)g->n;

	for (size_t i = 0; i < g->n; i++)
		add(band, i, i, ridge * each);
	for (int a = 0; a < g->n_axes; a++) {
		size_t stride = grid_stride(g, a);
		for (size_t i = 0; i < g->n; i++) {
			int knot = (int)(i / stride) % g->axis[a].n;
			if (knot > 0 && knot + 1 < g->axis[a].n)
				add_bend(band, &g->axis[a], knot, i, stride, smooth * each);
		}
	}
}

static void solve(struct grid *g, size_t n, const struct grid_cell *cells, const double *y,
		  const double *w)
{
	size_t width = 2 * grid_stride(g, 0);
	gsl_matrix *band = gsl_matrix_calloc(g->n, (width < g->n ? width : g->n - 1) + 1);
	gsl_vector *right = gsl_vector_calloc(g->n);

	for (size_t i = 0; i < n; i++)
		add_point(band, right, &cells[i], w[i], y[i]);
	add_costs(band, g, (double)n);
	int rc = gsl_linalg_cholesky_band_decomp(band);
	CHECK(rc == 0, "the normal equations of %zu knots are not positive definite", g->n);
	gsl_linalg_cholesky_band_svx(band, right);
	for (size_t i = 0; i < g->n; i++)
		g->value[i] = gsl_vector_get(right, i);
	gsl_matrix_free(band);
	gsl_vector_free(right);
}

static double value_in(const struct grid *g, const struct grid_cell *c)
{
	double sum = 0;

	for (int j = 0; j < c->n; j++)
		sum += c->weight[j] * g->value[c->at[j]];
	return sum;
}

void grid_fit(struct grid *g, const struct points *p, const double *y, double *seen)
{
	struct grid_cell *cells = xmalloc(p->n * sizeof(*cells));
	double *w = xmalloc(p->n * sizeof(*w)), *residual = xmalloc(p->n * sizeof(*residual));

	for (size_t i = 0; i < p->n; i++) {
		cells[i] = grid_find(g, &p->at[i]);
		w[i] = 1;
	}
	for (int round = 0; round < ROUNDS; round++) {
		if (round > 0) {
			for (size_t i = 0; i < p->n; i++)
				residual[i] = y[i] - value_in(g, &cells[i]);
			fit_weights_huber(residual, p->n, w);
		}
		solve(g, p->n, cells, y, w);
	}
	for (size_t i = 0; i < g->n; i++)
		seen[i] = ridge * (double)p->n / (double)g->n;
	for (size_t i = 0; i < p->n; i++)
		for (int j = 0; j < cells[i].n; j++)
			seen[cells[i].at[j]] += w[i] * cells[i].weight[j];
	free(residual);
	free(w);
	free(cells);
}
