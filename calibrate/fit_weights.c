#include "calibrate/fit_parts.h"
#include <gsl/gsl_statistics.h>
#include <math.h>

double fit_spread(const double *residual, size_t n)
{
	double *v = xmalloc(n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = fabs(residual[i]);
	double spread = 1.4826 * gsl_stats_median(v, 1, n);
	free(v);
	return fmax(spread, 1e-9); /* exact data have none */
}

void fit_weights_huber(const double *residual, size_t n, double *weight)
{
	double edge = 1.345 * fit_spread(residual, n);

	for (size_t i = 0; i < n; i++)
		weight[i] = fmin(1, edge / fmax(fabs(residual[i]), 1e-300));
}

void fit_weights_bisquare(const double *residual, size_t n, double *weight)
{
	double edge = 4.685 * fit_spread(residual, n);

	for (size_t i = 0; i < n; i++) {
		double u = residual[i] / edge;
		weight[i] = fabs(u) < 1 ? (1 - u * u) * (1 - u * u) : 0;
	}
}
