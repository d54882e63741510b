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

/* The formula at every knot; sizes that are no axis are those of the first point. */
static void at_knots(const struct fit *f, const struct point *like, double *base)
{
	const struct grid *g = &f->grid;

	for (size_t i = 0; i < g->n; i++) {
		struct point at = *like;
		at.longest = 0;
		for (int a = 0; a < g->n_axes; a++) {
			size_t knot = i / grid_stride(g, a) % (size_t)g->axis[a].n;
			form_place(g->axis[a].name, exp2(g->axis[a].knot[knot]), &at);
		}
		base[i] = ln_base(f, &at);
	}
}

bool fit_correct(struct fit *f, const struct points *p)
{
	grid_release(&f->grid);
	if (!grid_lay(&f->grid, f->form, p))
		return false;
	double *y = xmalloc(p->n * sizeof(*y));
	double *seen = xmalloc(f->grid.n * sizeof(*seen));
	double *base = xmalloc(f->grid.n * sizeof(*base));
	for (size_t i = 0; i < p->n; i++)
		y[i] = log(p->at[i].ns) - ln_base(f, &p->at[i]);
	grid_fit(&f->grid, p, y, seen);
	at_knots(f, &p->at[0], base);
	grid_rise(&f->grid, base, seen);
	free(base);
	free(seen);
	free(y);
	return true;
}
