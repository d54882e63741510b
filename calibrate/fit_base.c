#include "calibrate/fit_parts.h"
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>

/*
 * A coefficient that the points say nothing about stays near the guess by this much, against 1 for
 * the logarithm of a time: no weight, but a direction. What makes no difference in a time by a
 * factor of two is not determined, however exact the points are; and what does is, however far the
 * points are from the formula, as a correction may bring them near.
 */
static const double pull = 1e-3, undetermined = 0.7, least_spread = 0.01, most_spread = 0.2;

/* A handful of coefficients needs no more points: of more, so many at random are looked at. */
enum { ENOUGH = 4000 };

struct problem {
	const struct form *form;
	const struct points *points;
	size_t n_coefs;
	double start[FIT_COEFS]; /* ln coef */
};

static double ln_base(const struct form *f, const double *ln_coef, size_t n_coefs,
		      const struct point *at)
{
	double coef[FIT_COEFS];

	for (size_t i = 0; i < n_coefs; i++)
		coef[i] = exp(fmin(fmax(ln_coef[i], -200), 200));
	return log(fmin(fmax(f->base_ns(coef, at), 1e-200), 1e200));
}

static int residuals(const gsl_vector *x, void *data, gsl_vector *r)
{
	const struct problem *q = data;
	const double *ln_coef = gsl_vector_const_ptr(x, 0);
	size_t n = q->points->n;

	for (size_t i = 0; i < n; i++) {
		const struct point *at = &q->points->at[i];
		gsl_vector_set(r, i, ln_base(q->form, ln_coef, q->n_coefs, at) - log(at->ns));
	}
	for (size_t j = 0; j < q->n_coefs; j++)
		gsl_vector_set(r, n + j, pull * (ln_coef[j] - q->start[j]));
	return GSL_SUCCESS;
}

static void one_round(struct problem *q, gsl_vector *x, const gsl_vector *weight, size_t iterations,
		      gsl_vector *r)
{
	gsl_multifit_nlinear_parameters settings = gsl_multifit_nlinear_default_parameters();
	size_t n = q->points->n + q->n_coefs;
	gsl_multifit_nlinear_fdf system = {.f = residuals, .n = n, .p = q->n_coefs, .params = q};
	gsl_multifit_nlinear_workspace *w =
		gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &settings, n, q->n_coefs);
	int info;

	gsl_multifit_nlinear_winit(x, weight, &system, w);
	gsl_multifit_nlinear_driver(iterations, 1e-7, 1e-9, 0, NULL, NULL, &info, w);
	gsl_vector_memcpy(x, gsl_multifit_nlinear_position(w));
	residuals(x, q, r);
	gsl_multifit_nlinear_free(w);
}

/* J^T J of the points, by central differences. */
static void normal_matrix(const struct problem *q, const double *ln_coef, gsl_matrix *a)
{
	gsl_matrix_set_zero(a);
	for (size_t i = 0; i < q->points->n; i++) {
		double slope[FIT_COEFS], moved[FIT_COEFS];
		memcpy(moved, ln_coef, q->n_coefs * sizeof(*moved));
		for (size_t j = 0; j < q->n_coefs; j++) {
			const struct point *at = &q->points->at[i];
			moved[j] = ln_coef[j] + 1e-4;
			slope[j] = ln_base(q->form, moved, q->n_coefs, at);
			moved[j] = ln_coef[j] - 1e-4;
			slope[j] -= ln_base(q->form, moved, q->n_coefs, at);
			slope[j] /= 2e-4;
			moved[j] = ln_coef[j];
		}
		for (size_t j = 0; j < q->n_coefs; j++)
			for (size_t k = 0; k < q->n_coefs; k++)
				*gsl_matrix_ptr(a, j, k) += slope[j] * slope[k];
	}
	for (size_t j = 0; j < q->n_coefs; j++)
		*gsl_matrix_ptr(a, j, j) += pull * pull;
}

/* Variance of a robust estimate against (J^T J)^-1: Huber, Robust Statistics, 7.6. */
static double spread_of(const double *r, const double *weight, size_t n, size_t n_coefs)
{
	double sum = 0, inner = 0;

	for (size_t i = 0; i < n; i++) {
		sum += weight[i] * r[i] * weight[i] * r[i];
		inner += weight[i] >= 1;
	}
	double share = fmax(inner, 1) / (double)n;
	return sqrt(sum / (double)(n - n_coefs)) / share;
}

/*
 * A time that is added may be nothing, like the start of a kernel on a processor: no point would be
 * off by a third without it, most of them by nothing. A fold may lack the one or two points that
 * show more of it; what its forecast of them is tells.
 */
static bool is_nothing(const struct problem *q, const double *ln_coef, size_t j, bool fold)
{
	static const double third = 0.3;
	const char *name = q->form->coefs[j];
	double without[FIT_COEFS], most = 0;

	if (strstr(name, "_per_ns") || !strstr(name, "_ns"))
		return false;
	if (fold)
		return true;
	memcpy(without, ln_coef, q->n_coefs * sizeof(*without));
	without[j] = -INFINITY;
	for (size_t i = 0; i < q->points->n; i++) {
		const struct point *at = &q->points->at[i];
		most = fmax(most, ln_base(q->form, ln_coef, q->n_coefs, at) -
					  ln_base(q->form, without, q->n_coefs, at));
	}
	return most < third;
}

/* Standard errors of ln coef, or the coefficient that has none. */
static int determine(struct fit *f, const struct problem *q, const double *ln_coef, double spread,
		     bool fold, struct err *e)
{
	gsl_matrix *a = gsl_matrix_alloc(q->n_coefs, q->n_coefs);
	int rc = 0;
	char subject[64];

	normal_matrix(q, ln_coef, a);
	if (gsl_linalg_cholesky_decomp1(a) || gsl_linalg_cholesky_invert(a))
		rc = err_set(e, "%s: the points do not determine the coefficients of %s",
			     fit_subject(&q->points->at[0], subject), q->form->name);
	for (size_t j = 0; !rc && j < q->n_coefs; j++) {
		double unit = sqrt(gsl_matrix_get(a, j, j));
		f->coef[j].value = exp(ln_coef[j]);
		f->coef[j].error = f->coef[j].value * unit * spread;
		if (!(unit * fmin(fmax(spread, least_spread), most_spread) < undetermined) &&
		    !is_nothing(q, ln_coef, j, fold))
			rc = err_set(e,
				     "%s: the %zu points do not determine %s: none has sizes at "
				     "which it matters in %s",
				     fit_subject(&q->points->at[0], subject), q->points->n,
				     f->coef[j].name, q->form->text);
	}
	gsl_matrix_free(a);
	return rc;
}

/* The first rounds find out what is not determined, before the last ones spend time on it. */
static int look(struct fit *f, struct problem *q, bool warm, struct err *e)
{
	size_t n = q->points->n, rows = n + q->n_coefs;
	int rounds = warm ? 2 : 4, rc = 0;
	gsl_vector *weight = gsl_vector_alloc(rows), *r = gsl_vector_alloc(rows);
	double at[FIT_COEFS];
	gsl_vector_view x = gsl_vector_view_array(at, q->n_coefs);

	gsl_vector_set_all(weight, 1);
	memcpy(at, q->start, sizeof(at));
	residuals(&x.vector, q, r);
	if (warm)
		fit_weights_huber(r->data, n, weight->data);
	for (int i = 0; i < rounds && !rc; i++) {
		one_round(q, &x.vector, weight, warm ? 10 : 25, r);
		fit_weights_huber(r->data, n, weight->data);
		if (i >= 1)
			rc = determine(f, q, at, spread_of(r->data, weight->data, n, q->n_coefs),
				       warm, e);
	}
	gsl_vector_free(weight);
	gsl_vector_free(r);
	return rc;
}

static struct points enough(const struct points *p)
{
	struct points some = {.n = 0};
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	for (size_t i = 0; i < p->n; i++)
		if (p->n <= ENOUGH || gsl_rng_uniform_int(rng, p->n) < ENOUGH)
			points_add(&some, &p->at[i]);
	gsl_rng_free(rng);
	return some;
}

int fit_base(struct fit *f, const struct points *p, const double *warm, struct err *e)
{
	struct points some = enough(p);
	struct problem q = {.form = f->form, .points = &some};
	double start[FIT_COEFS];
	char subject[64];
	int rc;

	gsl_set_error_handler_off();
	for (; f->form->coefs[q.n_coefs]; q.n_coefs++)
		f->coef[q.n_coefs].name = f->form->coefs[q.n_coefs];
	f->n_coefs = (int)q.n_coefs;
	if (p->n < q.n_coefs + 2) {
		rc = err_set(e, "%s: %zu points are too few for %s, which takes %zu or more",
			     fit_subject(&p->at[0], subject), p->n, f->form->text, q.n_coefs + 2);
	} else {
		if (!warm)
			f->form->guess(start, &some);
		for (size_t j = 0; j < q.n_coefs; j++)
			q.start[j] = log(warm ? warm[j] : start[j]);
		rc = look(f, &q, warm, e);
	}
	points_release(&some);
	return rc;
}
