#include "calibrate/fit_parts.h"
#include "calibrate/grid.h"
#include <math.h>
#include <string.h>

static const double pays = 0.97; /* a richer form wins where its score is below this share */
static const double near = 1.1;	 /* a formula this near to the best may be better corrected */

/* What a choice among forms goes through. */
struct choice {
	const struct points *points;
	int folds;
	int *fold; /* of each point */
	bool no_grid, one_shape;
	double *errors; /* held out, one a point */
	struct fit best;
	double score; /* of it; infinite: none yet */
};

size_t fit_points_least(size_t coefs)
{
	return coefs < 4 ? 8 : 2 * coefs;
}

const char *fit_subject(const struct point *at, char subject[64])
{
	snprintf(subject, 64, "%s, %d bits", op_names[at->op], at->bits);
	return subject;
}

static void values(const struct fit *f, double coef[FIT_COEFS])
{
	for (int i = 0; i < f->n_coefs; i++)
		coef[i] = f->coef[i].value;
}

static double base_ns(const struct fit *f, const struct point *at)
{
	double coef[FIT_COEFS];

	values(f, coef);
	return f->form->base_ns(coef, at);
}

double fit_ns(const struct fit *f, const struct point *at)
{
	if (!f->form->base_ns)
		return fit_curve_ns(f, at);
	double ns = base_ns(f, at);
	return f->grid.n_axes ? ns * exp(grid_at(&f->grid, at)) : ns;
}

double fit_t0_ns(const struct fit *f)
{
	for (int i = 0; i < f->n_coefs; i++)
		if (strcmp(f->coef[i].name, "t0_ns") == 0)
			return f->coef[i].value;
	return INFINITY;
}

double fit_pass_share(const struct fit *f, const struct point *at, double t0_ns)
{
	double coef[FIT_COEFS];

	if (!f->form->pass_ns)
		return 0;
	values(f, coef);
	double own_t0_ns = fmax(0, fit_t0_ns(f) - t0_ns);

	return (own_t0_ns + f->form->pass_ns(coef, at)) / f->form->base_ns(coef, at);
}

bool fit_inside(const struct fit *f, const struct point *at)
{
	const double slack = 0.05;

	for (int i = 0; i < f->n_ranges; i++) {
		double v = form_size(f->range[i].name, at);
		if (v < f->range[i].min * (1 - slack) || v > f->range[i].max * (1 + slack))
			return false;
	}
	return true;
}

void fit_release(struct fit *f)
{
	grid_release(&f->grid);
}

static void find_ranges(struct fit *f, const struct points *p)
{
	for (f->n_ranges = 0; f->form->ranges[f->n_ranges]; f->n_ranges++) {
		struct range *r = &f->range[f->n_ranges];
		*r = (struct range){f->form->ranges[f->n_ranges], INFINITY, -INFINITY};
		for (size_t i = 0; i < p->n; i++) {
			double v = form_size(r->name, &p->at[i]);
			r->min = fmin(r->min, v);
			r->max = fmax(r->max, v);
		}
	}
}

static int train(struct fit *f, const struct points *p, const double *warm, struct err *e)
{
	return f->form->base_ns ? fit_base(f, p, warm, e) : fit_curve(f, p, e);
}

static void forecast(const struct fit *f, const struct choice *c, int fold)
{
	for (size_t i = 0; i < c->points->n; i++)
		if (c->fold[i] == fold)
			c->errors[i] = fabs(fit_ns(f, &c->points->at[i]) / c->points->at[i].ns - 1);
}

/* Each fold from the others; -1 too where there is nothing to correct over. */
static int hold_out(const struct choice *c, const struct form *form, const double *warm,
		    bool correct, struct err *e)
{
	int rc = 0;

	for (int fold = 0; fold < c->folds && !rc; fold++) {
		struct points others = {.n = 0};
		struct fit f = {.form = form};
		for (size_t i = 0; i < c->points->n; i++)
			if (c->fold[i] != fold)
				points_add(&others, &c->points->at[i]);
		rc = train(&f, &others, warm, e);
		if (!rc && correct)
			rc = fit_correct(&f, &others) ? 0 : -1;
		if (!rc)
			forecast(&f, c, fold);
		fit_release(&f);
		points_release(&others);
	}
	return rc;
}

/* Takes f over, or releases it; returns its score. */
static double consider(struct choice *c, struct fit *f)
{
	f->held_out = fit_figures(c->errors, c->points->n, c->folds);
	double score = f->held_out.median + f->held_out.p90 / 4;

	/* among corrections the score decides: none is simpler than another */
	if (score < (f->grid.n_axes && c->best.grid.n_axes ? 1 : pays) * c->score) {
		fit_release(&c->best);
		c->best = *f;
		c->score = score;
	} else {
		fit_release(f);
	}
	return score;
}

static int check_enough(const struct form *form, const struct points *p, struct err *e)
{
	size_t least = fit_points_least(form_coefs(form));
	char subject[64];

	if (!form->base_ns || p->n >= least)
		return 0;
	return err_set(e, "%s: %zu points are too few for %s, which takes %zu or more",
		       fit_subject(&p->at[0], subject), p->n, form->text, least);
}

/* The score; infinite: not with these points. */
static double try_form(struct choice *c, const struct form *form, bool correct, struct err *e)
{
	struct fit f = {.form = form};
	double warm[FIT_COEFS];

	if (check_enough(form, c->points, e) || train(&f, c->points, NULL, e))
		return INFINITY;
	for (int i = 0; i < f.n_coefs; i++)
		warm[i] = f.coef[i].value;
	if (hold_out(c, form, warm, correct, e) || (correct && !fit_correct(&f, c->points))) {
		fit_release(&f);
		return INFINITY;
	}
	return consider(c, &f);
}

static int check_points(const struct points *p, struct err *e)
{
	char subject[64];

	if (!p->n)
		return err_set(e, "there are no points to fit");
	for (size_t i = 0; i < p->n; i++) {
		const struct point *at = &p->at[i];
		CHECK(at->op == p->at[0].op && at->bits == p->at[0].bits,
		      "point %zu is of %s, %d bits, the first of %s, %d", i, op_names[at->op],
		      at->bits, op_names[p->at[0].op], p->at[0].bits);
		if (!(isfinite(at->ns) && at->ns > 0))
			return err_set(e, "%s: point %zu of %zu takes %g ns: times are above 0",
				       fit_subject(at, subject), i + 1, p->n, at->ns);
	}
	return 0;
}

/* Something must vary. */
static int check_sizes(const struct form *form, const struct points *p, struct err *e)
{
	char sizes[256] = "", subject[64];
	size_t used = 0;

	for (const char *const *r = form->ranges; *r; r++) {
		double first = form_size(*r, &p->at[0]);
		for (size_t i = 1; i < p->n; i++)
			if (form_size(*r, &p->at[i]) != first)
				return 0;
		used += (size_t)snprintf(sizes + used, sizeof(sizes) - used, "%s%s %.0f",
					 used ? ", " : "", *r, first);
	}
	return err_set(e, "%s: all %zu points are of one size (%s): none of these was varied",
		       fit_subject(&p->at[0], subject), p->n, sizes);
}

/* A curve says nothing of other shapes than that of its points. */
static int choose(struct choice *c, const struct form *const *forms, size_t n, struct err *e)
{
	double *score = xmalloc(n * sizeof(*score)), best = INFINITY;
	struct err other;

	for (size_t i = 0; i < n; i++) {
		score[i] =
			forms[i]->base_ns ? try_form(c, forms[i], false, i ? &other : e) : INFINITY;
		best = fmin(best, score[i]);
	}
	for (size_t i = 0; i < n; i++)
		if (!c->no_grid && isfinite(score[i]) && score[i] <= near * best)
			try_form(c, forms[i], true, &other);
	for (size_t i = 0; i < n; i++)
		if (!forms[i]->base_ns && c->one_shape)
			try_form(c, forms[i], false, &other);
	free(score);
	return isfinite(c->score) ? 0 : -1;
}

int fit_make(struct fit *f, const struct points *p, const struct point *shape,
	     const struct fit_want *w, struct err *e)
{
	static const struct fit_want usual = {.folds = 5};
	struct err why;
	size_t n;

	w = w ? w : &usual;
	if (check_points(p, e))
		return -1;
	const struct form *const *forms = form_list(p->at[0].op, &n);
	if (!n)
		return err_set(e, "no formula is fitted to points of %s", op_names[p->at[0].op]);
	if (check_sizes(forms[0], p, e))
		return -1;
	struct choice c = {.points = p,
			   .no_grid = w->no_grid,
			   .one_shape = shape && shape->n > 0,
			   .fold = xmalloc(p->n * sizeof(*c.fold)),
			   .errors = xmalloc(p->n * sizeof(double)),
			   .score = INFINITY};
	c.folds = fit_split(forms[0], p, w->folds ? w->folds : usual.folds, w->seed, c.fold);
	int rc = choose(&c, forms, n, &why);
	if (rc) {
		*e = why;
	} else {
		*f = c.best;
		f->op = p->at[0].op;
		f->bits = p->at[0].bits;
		f->shape = shape ? *shape : (struct point){.op = f->op};
		f->points = p->n;
		find_ranges(f, p);
		points_hash(p, f->hash);
	}
	free(c.fold);
	free(c.errors);
	return rc;
}
