/* profile_read_fit.c: the parts of a profile's file, and the fits among them. */
#include "calibrate/config.h"
#include "calibrate/profile_json.h"
#include "sim/number.h"
#include <math.h>
#include <string.h>

enum { GRID_MAX = 1 << 20 };
static const double real_max = 1e300;
static const double coef_min = 1e-300; /* 1 / it is finite */
static const double ln_max = 40;       /* of a ratio or of ns: e^40 ns are seven years */

void part_init(struct part *p, const struct config *outer, const json_t *root, const char *what)
{
	snprintf(p->label, sizeof(p->label), "%.400s: %.100s", outer->path, what);
	p->config = (struct config){.root = root, .path = p->label, .e = outer->e};
	p->config.failed = outer->failed;
	if (!json_is_object(root))
		config_fail(&p->config, "it must be an object");
}

/* The object of a key, required. */
void part_open(struct part *p, struct config *outer, const char *key)
{
	const json_t *v = json_object_get(outer->root, key);

	if (!v)
		config_fail(outer, "%s is missing: it must be an object", key);
	part_init(p, outer, v, key);
}

void part_close(const struct part *p, struct config *outer)
{
	outer->failed = outer->failed || p->config.failed;
}

void read_reals(struct config *c, const char *key, double *to, size_t n, double min)
{
	const json_t *a = json_object_get(c->root, key);

	if (c->failed)
		return;
	if (!json_is_array(a) || json_array_size(a) != n) {
		config_fail(c, "%s must be an array of %zu numbers", key, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(a, i);

		to[i] = json_number_value(v);
		if (!json_is_number(v) || !(to[i] >= min && to[i] <= real_max))
			config_fail(c, "%s[%zu] must be a number from %g to %g", key, i, min,
				    real_max);
	}
}

void read_held_out(struct config *c, const char *key, struct held_out *h)
{
	static const char *const names[] = {"folds", "median", "p90", "max"};
	struct part p;

	part_open(&p, c, key);
	config_known(&p.config, names, 4);
	h->folds = (int)config_int_or(&p.config, "folds", 0, 1000000, 0);
	h->median = config_real(&p.config, "median", 0, real_max, true, 0);
	h->p90 = config_real(&p.config, "p90", 0, real_max, true, 0);
	h->max = config_real(&p.config, "max", 0, real_max, true, 0);
	part_close(&p, c);
}

void read_range(struct config *c, const char *key, struct range *r)
{
	char first[REAL_TEXT_MAX], second[REAL_TEXT_MAX];
	double ends[2] = {0, 0};

	read_reals(c, key, ends, 2, 0);
	print_real(ends[0], first, sizeof(first));
	print_real(ends[1], second, sizeof(second));
	if (!c->failed && ends[0] > ends[1])
		config_fail(c, "%s is from %s to %s: the first must not be above the second", key,
			    first, second);
	r->min = ends[0];
	r->max = ends[1];
}

/* Fits */

static void read_op(struct config *c, struct fit *f)
{
	const char *name = config_text(c, "op");

	for (int i = 0; i < N_OPS; i++) {
		if (name && strcmp(op_names[i], name) == 0) {
			f->op = (enum op)i;
			return;
		}
	}
	struct err unknown;

	err_unknown(&unknown, "op", name ? name : "", op_names, N_OPS);
	config_fail(c, "%s", unknown.text);
}

static void read_form(struct config *c, struct fit *f)
{
	const char *names[16], *name = config_text(c, "form");
	struct err unknown;
	size_t n;
	const struct form *const *forms = form_list(f->op, &n);

	if (c->failed)
		return;
	f->form = name ? form_find(f->op, name) : NULL;
	if (f->form)
		return;
	n = n < 16 ? n : 16;
	for (size_t i = 0; i < n; i++)
		names[i] = forms[i]->name;
	err_unknown(&unknown, "form", name ? name : "", names, n);
	config_fail(c, "%s", unknown.text);
}

static void read_shape(struct config *c, struct point *shape)
{
	const char *names[32];
	struct part p;
	size_t n = 0;

	part_open(&p, c, "shape");
	for (const struct shape_field *f = shape_fields; f->key; f++)
		names[n++] = f->key;
	config_known(&p.config, names, n);
	for (const struct shape_field *f = shape_fields; f->key; f++)
		*shape_at(shape, f) = config_int_or(&p.config, f->key, 0, INT64_C(1) << 50, 0);
	part_close(&p, c);
}

static void read_coefs(struct config *c, struct fit *f)
{
	struct part p;
	int n = 0;

	part_open(&p, c, "coefs");
	while (!p.config.failed && f->form->coefs[n])
		n++;
	config_known(&p.config, f->form->coefs, (size_t)n);
	for (int i = 0; i < n; i++) {
		double pair[2] = {0, 0};

		read_reals(&p.config, f->form->coefs[i], pair, 2, 0);
		f->coef[i] = (struct coef){f->form->coefs[i], pair[0], pair[1]};
		if (!p.config.failed && !(pair[0] >= coef_min))
			config_fail(&p.config, "%s is %g: it must be from %g to %g",
				    f->form->coefs[i], pair[0], coef_min, real_max);
	}
	f->n_coefs = n;
	part_close(&p, c);
}

static const char *axis_name(struct config *c, const struct form *form, const char *name)
{
	struct err unknown;
	size_t n = 0;

	for (; form->axes[n]; n++)
		if (strcmp(form->axes[n], name) == 0)
			return form->axes[n];
	err_unknown(&unknown, "size", name, form->axes, n);
	config_fail(c, "%s", unknown.text);
	return "";
}

static void need_ranges(struct config *c, const struct fit *f)
{
	for (int i = 0; f->form->ranges[i]; i++)
		if (!config_has(c, f->form->ranges[i]))
			config_fail(c,
				    "%s is missing: it must be the least and the most of it that "
				    "was measured",
				    f->form->ranges[i]);
}

static void read_ranges(struct config *c, struct fit *f)
{
	struct part p;
	const char *key;
	json_t *value;

	part_open(&p, c, "ranges");
	if (p.config.failed) {
		part_close(&p, c);
		return;
	}
	json_object_foreach((json_t *)(uintptr_t)p.config.root, key, value)
	{
		const char *name = form_size_name(key);
		if (!name || f->n_ranges == FIT_RANGES) {
			config_fail(&p.config, "%s is %s", key,
				    name ? "one size too many" : "no size of an operation");
			break;
		}
		struct range *r = &f->range[f->n_ranges++];

		r->name = name;
		read_range(&p.config, key, r);
	}
	need_ranges(&p.config, f);
	part_close(&p, c);
}

static void read_axis(struct config *c, const struct form *form, struct axis *a)
{
	static const char *const names[] = {"size", "log2"};
	const char *name = config_text(c, "size");
	size_t n = json_array_size(json_object_get(c->root, "log2"));

	config_known(c, names, 2);
	if (!c->failed && (n < 2 || n > FIT_KNOTS))
		config_fail(c, "log2 must be an array of 2 to %d numbers", FIT_KNOTS);
	if (c->failed)
		return;
	a->name = axis_name(c, form, name ? name : "");
	a->n = (int)n;
	read_reals(c, "log2", a->knot, n, -real_max);
	for (size_t i = 1; i < n; i++)
		if (!(a->knot[i] > a->knot[i - 1]))
			config_fail(c, "log2[%zu] is not above the one before", i);
}

static void read_axes(struct config *c, struct fit *f)
{
	const json_t *axes = json_object_get(c->root, "axes");
	size_t n = json_array_size(axes);

	if (n < 1 || n > FIT_AXES) {
		config_fail(c, "axes must be an array of 1 to %d objects", FIT_AXES);
		return;
	}
	f->grid.n = 1;
	for (size_t i = 0; i < n && !c->failed; i++) {
		char label[32];
		struct part p;

		snprintf(label, sizeof(label), "axes[%zu]", i);
		part_init(&p, c, json_array_get(axes, i), label);
		read_axis(&p.config, f->form, &f->grid.axis[i]);
		part_close(&p, c);
		f->grid.n *= (size_t)f->grid.axis[i].n;
	}
	f->grid.n_axes = (int)n;
}

static void check_ln(struct config *c, const struct grid *g)
{
	char is[REAL_TEXT_MAX];

	for (size_t i = 0; i < g->n && !c->failed; i++) {
		print_real(g->value[i], is, sizeof(is));
		if (fabs(g->value[i]) > ln_max)
			config_fail(c, "ln[%zu] is %s: it must be from %g to %g", i, is, -ln_max,
				    ln_max);
	}
}

static void read_grid(struct config *c, struct fit *f)
{
	static const char *const names[] = {"axes", "ln"};
	struct part p;

	if (c->failed || !config_has(c, "grid"))
		return;
	part_open(&p, c, "grid");
	config_known(&p.config, names, 2);
	if (!p.config.failed)
		read_axes(&p.config, f);
	if (!p.config.failed && f->grid.n > GRID_MAX)
		config_fail(&p.config, "the grid has more than %d knots", GRID_MAX);
	if (!p.config.failed) {
		f->grid.value = xcalloc(f->grid.n, sizeof(*f->grid.value));
		read_reals(&p.config, "ln", f->grid.value, f->grid.n, -real_max);
		check_ln(&p.config, &f->grid);
	}
	part_close(&p, c);
}

void read_fit(struct config *c, struct fit *f)
{
	static const char *const names[] = {"op",     "bits",	"form", "shape",    "coefs",
					    "ranges", "points", "hash", "held_out", "grid"};

	config_known(c, names, sizeof(names) / sizeof(names[0]));
	read_op(c, f);
	f->bits = (int)config_int(c, "bits", 16);
	if (!c->failed && f->bits != 16 && f->bits != 8 && f->bits != 4 && f->bits != 2)
		config_fail(c, "bits is %d: it must be 16, 8, 4 or 2", f->bits);
	read_form(c, f);
	if (c->failed) /* the rest is read by the form */
		return;
	read_shape(c, &f->shape);
	f->shape.op = f->op;
	f->shape.bits = f->bits;
	read_coefs(c, f);
	read_ranges(c, f);
	f->points = (size_t)config_int(c, "points", INT64_C(1) << 40);
	config_line(c, "hash", f->hash, sizeof(f->hash));
	read_held_out(c, "held_out", &f->held_out);
	read_grid(c, f);
}
