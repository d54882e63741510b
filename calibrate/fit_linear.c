#include "calibrate/fit.h"
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit.h>
#include <math.h>

/* What of a column the others do not explain, against its length: less is rounding. */
static const double independent = 1e-9;

/* The first column (by the pivots of a QR decomposition) that others explain; p: none. */
static size_t dependent_column(const gsl_matrix *x)
{
	size_t p = x->size2, found = p;
	gsl_matrix *q = gsl_matrix_alloc(x->size1, p);
	gsl_vector *tau = gsl_vector_alloc(p), *norm = gsl_vector_alloc(p);
	gsl_permutation *order = gsl_permutation_alloc(p);
	int sign;

	gsl_matrix_memcpy(q, x);
	for (size_t j = 0; j < p; j++) {
		gsl_vector_view column = gsl_matrix_column(q, j);
		double length = gsl_blas_dnrm2(&column.vector);
		if (length > 0)
			gsl_vector_scale(&column.vector, 1 / length);
	}
	gsl_linalg_QRPT_decomp(q, tau, order, &sign, norm);
	for (size_t j = p; j-- > 0;)
		if (!(fabs(gsl_matrix_get(q, j, j)) > independent))
			found = gsl_permutation_get(order, j);
	gsl_permutation_free(order);
	gsl_vector_free(norm);
	gsl_vector_free(tau);
	gsl_matrix_free(q);
	return found;
}

/* Rows that agree to the last bit have a variance of 0, which rounding may put at any side of it.
 */
static double error_of(double variance)
{
	return variance > 0 ? sqrt(variance) : 0;
}

static void robust(const gsl_matrix *x, const gsl_vector *y, double *coef, double *error)
{
	size_t p = x->size2;
	gsl_multifit_robust_workspace *w =
		gsl_multifit_robust_alloc(gsl_multifit_robust_bisquare, x->size1, p);
	gsl_matrix *covariance = gsl_matrix_alloc(p, p);
	gsl_vector_view c = gsl_vector_view_array(coef, p);

	/* that it has not settled after 100 rounds is no failure: the last two differ by little */
	gsl_multifit_robust(x, y, &c.vector, covariance, w);
	for (size_t j = 0; j < p; j++)
		error[j] = error_of(gsl_matrix_get(covariance, j, j));
	gsl_matrix_free(covariance);
	gsl_multifit_robust_free(w);
}

int fit_linear(const double *rows, const double *y, size_t n, size_t p, double *coef, double *error,
	       struct err *e)
{
	gsl_set_error_handler_off();
	if (n < p)
		return err_set(e,
			       "%zu rows are too few for %zu columns: column %zu has no row of its "
			       "own",
			       n, p, n + 1);
	for (size_t i = 0; i < n; i++)
		if (!isfinite(y[i]))
			return err_set(e, "row %zu is no number", i + 1);
	gsl_matrix_const_view x = gsl_matrix_const_view_array(rows, n, p);
	size_t dependent = dependent_column(&x.matrix);
	if (dependent < p)
		return err_set(e,
			       "column %zu of %zu is not determined: it is 0 or follows from the "
			       "others",
			       dependent + 1, p);
	gsl_vector_const_view right = gsl_vector_const_view_array(y, n);
	robust(&x.matrix, &right.vector, coef, error);
	return 0;
}
