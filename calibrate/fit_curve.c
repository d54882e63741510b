#include "calibrate/fit_parts.h"
#include "calibrate/grid.h"
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <string.h>

/* A curve that is nearer than this to all points needs no more knots. */
static const double near_enough = 0.01;

/* What was measured at each size, the median where it was measured often. */
struct sweep {
	double *size, *ns;
	size_t n;
};

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return x[0] < y[0] ? -1 : x[0] > y[0];
}

static struct sweep sweep_of(const char *axis, const struct points *p)
{
	struct sweep s = {.size = xmalloc(p->n * sizeof(double)),
			  .ns = xmalloc(p->n * sizeof(double))};
	double(*pair)[2] = xmalloc(p->n * sizeof(*pair));
	double *same = xmalloc(p->n * sizeof(*same));

	for (size_t i = 0; i < p->n; i++) {
		pair[i][0] = form_size(axis, &p->at[i]);
		pair[i][1] = p->at[i].ns;
	}
	qsort(pair, p->n, sizeof(*pair), by_size);
	for (size_t i = 0, j; i < p->n; i = j) {
		for (j = i; j < p->n && pair[j][0] <= pair[i][0]; j++)
			same[j - i] = pair[j][1];
		s.size[s.n] = pair[i][0];
		s.ns[s.n++] = gsl_stats_median(same, 1, j - i);
	}
	free(same);
	free(pair);
	return s;
}

/* Where x is between the knots, and how far into the piece: below 0 and above 1 outside. */
static int piece(const double *size, int n, double x, double *share)
{
	int i = 0;

	while (i + 2 < n && x >= size[i + 1])
		i++;
	*share = (x - size[i]) / (size[i + 1] - size[i]);
	return i;
}

/* The place in the sweep where a curve through these knots is farthest off; 0: it is near. */
static size_t farthest(const struct sweep *s, const double *size, const double *ns, int n)
{
	double worst = near_enough, share;
	size_t where = 0;

	for (size_t i = 0; i < s->n; i++) {
		int k = piece(size, n, s->size[i], &share);
		double off = fabs((ns[k] + share * (ns[k + 1] - ns[k])) / s->ns[i] - 1);
		if (off > worst) {
			worst = off;
			where = i;
		}
	}
	return where;
}

/* Knots at places in the sweep: the ends, then again and again where the curve is farthest off. */
static int choose(const struct sweep *s, double *size, double *ns, int most)
{
	const size_t last = s->n - 1;
	int n = 2;

	size[0] = s->size[0], size[1] = s->size[last];
	ns[0] = s->ns[0], ns[1] = s->ns[last];
	for (size_t where; n < most && (where = farthest(s, size, ns, n)); n++) {
		int at = n;
		for (; at > 1 && size[at - 1] > s->size[where]; at--) {
			size[at] = size[at - 1];
			ns[at] = ns[at - 1];
		}
		size[at] = s->size[where];
		ns[at] = s->ns[where];
	}
	return n;
}

/* Heights that are nearest to all points, relatively: of one point only, a knot keeps its own. */
static void settle(const struct sweep *s, const double *size, double *ns, int n)
{
	size_t columns = (size_t)n;
	double *rows = xcalloc(s->n * columns, sizeof(*rows)), *y = xmalloc(s->n * sizeof(*y));
	double coef[FIT_KNOTS], error[FIT_KNOTS];
	struct err e;

	for (size_t i = 0; i < s->n; i++) {
		double share;
		size_t at = (size_t)piece(size, n, s->size[i], &share);
		rows[i * columns + at] = (1 - share) / s->ns[i];
		rows[i * columns + at + 1] = share / s->ns[i];
		y[i] = 1;
	}
	if (s->n > columns + 2 && fit_linear(rows, y, s->n, columns, coef, error, &e) == 0)
		for (int k = 0; k < n; k++)
			ns[k] = coef[k] > 0 ? coef[k] : ns[k];
	free(y);
	free(rows);
}

/* The varying axis alone may vary. */
static const char *other_size(const struct form *f, const struct points *p)
{
	for (const char *const *r = f->ranges; *r; r++)
		for (size_t i = 1; strcmp(*r, f->axes[0]) != 0 && i < p->n; i++)
			if (form_size(*r, &p->at[i]) != form_size(*r, &p->at[0]))
				return *r;
	return NULL;
}

static void draw(struct fit *f, const struct sweep *s)
{
	double size[FIT_KNOTS] = {0}, ns[FIT_KNOTS], none[FIT_KNOTS] = {0}, seen[FIT_KNOTS];
	struct axis *a = &f->grid.axis[0];

	f->n_coefs = 0;
	grid_release(&f->grid);
	f->grid.n_axes = 1;
	a->name = f->form->axes[0];
	a->n = choose(s, size, ns, f->form->knots[0]);
	settle(s, size, ns, a->n);
	f->grid.n = (size_t)a->n;
	f->grid.value = xmalloc(f->grid.n * sizeof(*f->grid.value));
	for (int k = 0; k < a->n; k++) {
		a->knot[k] = log2(size[k]);
		f->grid.value[k] = log(ns[k]);
		seen[k] = 1;
	}
	grid_rise(&f->grid, (double *const[]){none}, seen);
}

int fit_curve(struct fit *f, const struct points *p, struct err *e)
{
	const char *other = other_size(f->form, p);
	char subject[64];

	fit_subject(&p->at[0], subject);
	if (other)
		return err_set(e, "%s: a curve over %s takes points of one %s", subject,
			       f->form->axes[0], other);
	struct sweep s = sweep_of(f->form->axes[0], p);
	int rc = 0;
	if (s.n < 4)
		rc = err_set(e, "%s: %zu sizes of %s are too few for a curve, which takes 4",
			     subject, s.n, f->form->axes[0]);
	else
		draw(f, &s);
	free(s.size);
	free(s.ns);
	return rc;
}

static double along(const struct fit *f, const double *size, double x)
{
	double share;
	int i = piece(size, f->grid.axis[0].n, x, &share);
	double low = exp(f->grid.value[i]), high = exp(f->grid.value[i + 1]);

	return low + fmax(0, share) * (high - low);
}

/*
 * Below the first knot as there; beyond the last as over the octave before it, or the last piece
 * where that is steeper: times of tiles are stairs, and the last piece may be one tread.
 */
double fit_curve_ns(const struct fit *f, const struct point *at)
{
	const struct axis *a = &f->grid.axis[0];
	double size[FIT_KNOTS] = {0}, x = form_size(a->name, at);

	for (int k = 0; k < a->n; k++)
		size[k] = exp2(a->knot[k]);
	double last = size[a->n - 1], half = fmax(size[0], last / 2);
	if (x <= last)
		return along(f, size, x);
	double last_ns = along(f, size, last);
	double slope = (last_ns - along(f, size, half)) / (last - half);
	return fmax(along(f, size, x), last_ns + slope * (x - last));
}
