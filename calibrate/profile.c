#include "calibrate/profile.h"
#include "calibrate/profile_fit.h"
#include "calibrate/profile_json.h"
#include <math.h>
#include <string.h>

/* Sizes that a fit's shape names and that are the same at these: -1 where one differs. */
static int shape_match(const struct fit *f, const struct point *at)
{
	struct point shape = f->shape, other = *at;
	int same = 0;

	for (const struct shape_field *s = shape_fields; s->key; s++) {
		int64_t size = *shape_at(&shape, s);

		if (size && size != *shape_at(&other, s))
			return -1;
		same += size != 0;
	}
	return same;
}

const struct fit *profile_find(const struct profile *p, const struct point *at)
{
	const struct fit *best = NULL;
	int best_match = -1;

	for (size_t i = 0; i < p->n_fits; i++) {
		const struct fit *f = &p->fit[i];

		if (f->op != at->op || f->bits != at->bits)
			continue;
		int match = shape_match(f, at);
		if (match > best_match) {
			best_match = match;
			best = f;
		}
	}
	return best;
}

double profile_ns(const struct profile *p, const struct point *at, enum profile_where *where)
{
	const struct fit *best = profile_find(p, at);

	if (where)
		*where = !best			? PROFILE_ABSENT
			 : fit_inside(best, at) ? PROFILE_INSIDE
						: PROFILE_OUTSIDE;
	return best ? fit_ns(best, at) * (1 + p->rest.tail) : 0;
}

double profile_quantise_share(const struct profile *p, const struct point *at)
{
	struct point plain = *at;

	plain.bits = 16;
	const struct fit *quantised = profile_find(p, at), *other = profile_find(p, &plain);

	return quantised ? fit_pass_share(quantised, at, other ? fit_t0_ns(other) : INFINITY) : 0;
}

bool profile_has(const struct profile *p, enum op op, int bits)
{
	for (size_t i = 0; i < p->n_fits; i++)
		if (p->fit[i].op == op && p->fit[i].bits == bits)
			return true;
	return false;
}

const struct whole_steps *profile_steps(const struct profile *p, const char *model, int64_t tp)
{
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].tp == tp && strcmp(p->steps[i].model, model) == 0)
			return &p->steps[i];
	return NULL;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_fits; i++)
		fit_release(&p->fit[i]);
	free(p->fit);
	free(p->steps);
	free(p);
}
