#include "tests/tables.h"
#include "calibrate/form.h"
#include "calibrate/import.h"
#include "tests/testing.h"
#include <math.h>

bool tables_read(struct points *p, const char *name, const char *model)
{
	const char *path = testing_shared(name);
	struct import in = {.tp = 1};
	struct model m;
	struct err e;

	if (!path) {
		print_message("skipped: %s is not here\n", name);
		return false;
	}
	assert_fine(model_load(&m, model, &e), e);
	in.model = &m;
	assert_fine(import_read(&in, path, &e), e);
	for (size_t i = 0; i < in.points.n; i++)
		points_add(p, &in.points.at[i]);
	import_release(&in);
	return true;
}

struct points tables_of(const struct points *p, enum op op)
{
	struct points some = {.n = 0};

	for (size_t i = 0; i < p->n; i++)
		if (p->at[i].op == op && p->at[i].bits == 16)
			points_add(&some, &p->at[i]);
	return some;
}

struct around tables_around(const struct points *p, const char *size, double x)
{
	struct around a = {0, 0};

	for (size_t i = 0; i < p->n; i++) {
		double v = form_size(size, &p->at[i]);
		if (v <= x && v > a.below)
			a.below = v;
		if (v >= x && (v < a.above || a.above == 0))
			a.above = v;
	}
	return a;
}

static double entry(const struct points *p, double m, double n, double k)
{
	for (size_t i = 0; i < p->n; i++)
		if ((double)p->at[i].m == m && (double)p->at[i].n == n && (double)p->at[i].k == k)
			return p->at[i].ns;
	return NAN;
}

static double between(double x, struct around a, double at_below, double at_above)
{
	if (a.above <= a.below)
		return at_below;
	return at_below + (at_above - at_below) * (x - a.below) / (a.above - a.below);
}

static double along_k(const struct points *p, double m, double n, double k)
{
	struct around a = tables_around(p, "k", k);

	return between(k, a, entry(p, m, n, a.below), entry(p, m, n, a.above));
}

double tables_gemm_ns(const struct points *p, int64_t m, int64_t n, int64_t k)
{
	struct around a = tables_around(p, "n", (double)n);
	double tokens = (double)m, depth = (double)k, at_below = along_k(p, tokens, a.below, depth);

	if (a.above == 0)
		return at_below * (double)n / a.below;
	return between((double)n, a, at_below, along_k(p, tokens, a.above, depth));
}

static double row(const struct points *p, double m)
{
	double sum = 0;
	int n = 0;

	for (size_t i = 0; i < p->n; i++)
		if ((double)p->at[i].m == m) {
			sum += p->at[i].ns;
			n++;
		}
	return sum / n;
}

double tables_rows_ns(const struct points *p, int64_t m)
{
	struct around a = tables_around(p, "m", (double)m);

	return between((double)m, a, row(p, a.below), row(p, a.above));
}

void tables_assert_rising(const struct fit *f, const struct points *p, double share)
{
	for (size_t i = 0; i < p->n; i++)
		for (const char *const *r = f->form->ranges; *r; r++) {
			struct point more = p->at[i];
			form_place(*r, 2 * form_size(*r, &more), &more);
			if (fit_ns(f, &more) < (1 - share) * fit_ns(f, &p->at[i]))
				fail_msg("%s: twice %s takes %g ns, not %g", op_names[f->op], *r,
					 fit_ns(f, &more), fit_ns(f, &p->at[i]));
		}
}
