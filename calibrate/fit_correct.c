#include "calibrate/fit_parts.h"
#include "calibrate/grid.h"
#include <math.h>

static double ln_base(const struct fit *f, const struct point *at)
{
	double coef[FIT_COEFS];

	for (int i = 0; i < f->n_coefs; i++)
		coef[i] = f->coef[i].value;
	return log(f->form->base_ns(coef, at));
}

/* At knot i; sizes that are no axis are those of `like`. */
static struct point at_knot(const struct grid *g, const struct point *like, size_t i)
{
	struct point at = *like;

	at.longest = 0;
	for (int a = 0; a < g->n_axes; a++) {
		size_t knot = i / grid_stride(g, a) % (size_t)g->axis[a].n;
		form_place(g->axis[a].name, exp2(g->axis[a].knot[knot]), &at);
	}
	return at;
}

/* Moves one size of a point and leaves the others of the axes as they are. */
static struct point moved(const struct grid *g, struct point at, int axis, double size)
{
	double kept[FIT_AXES];

	for (int a = 0; a < g->n_axes; a++)
		kept[a] = a == axis ? size : form_size(g->axis[a].name, &at);
	for (int a = 0; a < g->n_axes; a++)
		form_place(g->axis[a].name, kept[a], &at);
	return at;
}

/*
 * What the formula rises from the knot before along an axis, had it the slope of its flattest
 * eighth all the way. Sizes are whole, so small ones are compared once each.
 */
static double least_rise(const struct fit *f, const struct point *at, int axis, int knot)
{
	enum { PARTS = 8 };
	const struct axis *x = &f->grid.axis[axis];
	double from = x->knot[knot - 1], length = x->knot[knot] - from, least = INFINITY;
	double last_size = 0, last_ns = 0;

	for (int i = 0; i <= PARTS; i++) {
		struct point p = moved(&f->grid, *at, axis, exp2(from + length * i / PARTS));
		double size = log2(fmax(1, form_size(x->name, &p))), ns = ln_base(f, &p);
		if (i > 0 && !(size > last_size + 1e-9))
			continue;
		if (i > 0)
			least = fmin(least, (ns - last_ns) / (size - last_size) * length);
		last_size = size;
		last_ns = ns;
	}
	return isfinite(least) ? fmax(0, least) : 0;
}

static void find_rise(const struct fit *f, const struct point *like, double *const *rise)
{
	const struct grid *g = &f->grid;

	for (size_t i = 0; i < g->n; i++) {
		struct point at = at_knot(g, like, i);
		for (int a = 0; a < g->n_axes; a++) {
			int knot = (int)(i / grid_stride(g, a) % (size_t)g->axis[a].n);
			rise[a][i] = knot ? least_rise(f, &at, a, knot) : 0;
		}
	}
}

bool fit_correct(struct fit *f, const struct points *p)
{
	grid_release(&f->grid);
	if (!grid_lay(&f->grid, f->form, p))
		return false;
	double *y = xmalloc(p->n * sizeof(*y));
	double *seen = xmalloc(f->grid.n * sizeof(*seen));
	double *room = xmalloc(FIT_AXES * f->grid.n * sizeof(*room)), *rise[FIT_AXES];
	for (size_t a = 0; a < FIT_AXES; a++)
		rise[a] = room + a * f->grid.n;
	for (size_t i = 0; i < p->n; i++)
		y[i] = log(p->at[i].ns) - ln_base(f, &p->at[i]);
	grid_fit(&f->grid, p, y, seen);
	find_rise(f, &p->at[0], rise);
	grid_rise(&f->grid, rise, seen);
	free(room);
	free(seen);
	free(y);
	return true;
}
