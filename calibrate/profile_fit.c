#include "calibrate/profile_fit.h"
#include "calibrate/form.h"
#include <math.h>
#include <string.h>

static const int bits_order[] = {16, 8, 4, 2};

/* So that a profile's file holds no digits that mean nothing: a millionth of a value. */
static double rounded(double value, int digits)
{
	char text[40];

	snprintf(text, sizeof(text), "%.*g", digits, value);
	return strtod(text, NULL);
}

static void round_fit(struct fit *f)
{
	const double grid_unit = 1e5; /* of ln */

	for (int i = 0; i < f->n_coefs; i++) {
		f->coef[i].value = rounded(f->coef[i].value, 7);
		f->coef[i].error = rounded(f->coef[i].error, 3);
	}
	for (size_t i = 0; i < f->grid.n; i++)
		f->grid.value[i] = round(f->grid.value[i] * grid_unit) / grid_unit;
	for (int i = 0; i < f->grid.n_axes; i++)
		for (int k = 0; k < f->grid.axis[i].n; k++)
			f->grid.axis[i].knot[k] = rounded(f->grid.axis[i].knot[k], 8);
	f->held_out.median = rounded(f->held_out.median, 4);
	f->held_out.p90 = rounded(f->held_out.p90, 4);
	f->held_out.max = rounded(f->held_out.max, 4);
}

static int add_fit(struct profile *p, const struct points *points, const struct point *shape,
		   const struct fit_want *w, struct err *e)
{
	p->fit = xrealloc(p->fit, (p->n_fits + 1) * sizeof(*p->fit));
	memset(&p->fit[p->n_fits], 0, sizeof(*p->fit));
	if (fit_make(&p->fit[p->n_fits], points, shape, w, e) < 0)
		return -1;
	round_fit(&p->fit[p->n_fits++]);
	return 0;
}

/* Points of the operation and bits; with the shape's n and k where one is given. */
static void choose(struct points *to, const struct points *from, const struct point *shape)
{
	to->n = 0;
	for (size_t i = 0; i < from->n; i++) {
		const struct point *p = &from->at[i];

		if (p->op == shape->op && p->bits == shape->bits &&
		    (!shape->n || (p->n == shape->n && p->k == shape->k)))
			points_add(to, p);
	}
}

/* The distinct n and k, in the order in which they are there. */
static size_t find_shapes(const struct points *points, struct point shapes[CURVES_MAX + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < points->n && n <= CURVES_MAX; i++) {
		const struct point *p = &points->at[i];
		size_t j = 0;

		while (j < n && (shapes[j].n != p->n || shapes[j].k != p->k))
			j++;
		if (j == n)
			shapes[n++] =
				(struct point){.op = p->op, .bits = p->bits, .n = p->n, .k = p->k};
	}
	return n;
}

static size_t count_tokens(const struct points *points)
{
	size_t n = 0;

	for (size_t i = 0; i < points->n; i++) {
		size_t j = 0;

		while (j < i && points->at[j].m != points->at[i].m)
			j++;
		n += j == i;
	}
	return n;
}

static bool has_rows(enum op op)
{
	return op == OP_GEMM || op == OP_NORM || op == OP_ROPE || op == OP_ACT || op == OP_EMBED ||
	       op == OP_SAMPLE;
}

static int add_curves(struct profile *p, const struct points *of_op, const struct fit_want *w,
		      struct err *e)
{
	struct point shapes[CURVES_MAX + 1];
	struct points own = {.at = NULL};
	size_t n = find_shapes(of_op, shapes);
	int result = 0;

	if (n > CURVES_MAX)
		n = 0;
	for (size_t i = 0; i < n && result == 0; i++) {
		choose(&own, of_op, &shapes[i]);
		if (count_tokens(&own) >= CURVE_POINTS_MIN)
			result = add_fit(p, &own, &shapes[i], w, e);
	}
	points_release(&own);
	return result;
}

/* The fit of an operation and bits, its curves behind it; where one of them fails, none stays. */
static int add_op(struct profile *p, const struct points *of_op, const struct point *all,
		  const struct fit_want *w, struct err *e)
{
	size_t before = p->n_fits;

	if (add_fit(p, of_op, all, w, e) == 0 &&
	    (!has_rows(all->op) || add_curves(p, of_op, w, e) == 0))
		return 0;
	while (p->n_fits > before)
		fit_release(&p->fit[--p->n_fits]);
	return -1;
}

int profile_fit(struct profile *p, const struct points *points, const struct fit_want *w,
		struct err *e)
{
	return profile_fit_sparing(p, points, w, NULL, NULL, e);
}

int profile_fit_sparing(struct profile *p, const struct points *points, const struct fit_want *w,
			profile_spare *spare, void *arg, struct err *e)
{
	struct points of_op = {.at = NULL};
	struct err why;
	int result = 0;

	for (int op = 0; op < N_OPS; op++) {
		for (size_t b = 0; b < sizeof(bits_order) / sizeof(bits_order[0]); b++) {
			const struct point all = {.op = (enum op)op, .bits = bits_order[b]};

			if (op == OP_STEP || result < 0)
				continue;
			choose(&of_op, points, &all);
			if (of_op.n == 0)
				continue;
			if (add_op(p, &of_op, &all, w, &why) < 0 &&
			    !(spare && spare(arg, all.op, all.bits, why.text)))
				result = err_set(e, "%s", why.text);
		}
	}
	points_release(&of_op);
	return result;
}

void profile_add_steps(struct profile *p, const struct whole_steps *s)
{
	p->steps = xrealloc(p->steps, (p->n_steps + 1) * sizeof(*p->steps));
	p->steps[p->n_steps++] = *s;
}
