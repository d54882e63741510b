/* profile_mixed.c: what a whole step of both kinds takes. */
#include "calibrate/profile_steps.h"
#include <math.h>

static double decode_ns(const struct whole_steps *s, const struct point *at)
{
	struct point decode = *at;
	double term[TERMS];

	decode.prefill_seq = 0;
	steps_terms(&decode, term);
	return steps_sum(at->decode_seq <= s->small_max ? s->small_ns : s->large_ns, term);
}

static double prefill_ns(const struct whole_steps *s, const struct point *at)
{
	double term[TERMS];

	steps_terms(at, term);
	return steps_sum(s->prefill_ns, term);
}

double whole_steps_ns(const struct whole_steps *s, const struct point *at)
{
	if (!at->prefill_seq)
		return decode_ns(s, at);
	if (!at->decode_seq)
		return prefill_ns(s, at);
	double p = prefill_ns(s, at), d = decode_ns(s, at);
	return fmax(p, d) + s->mixed_share * fmin(p, d);
}

/* A mixed step: both parts, what it took, the share of the smaller part that it took. */
struct mixed {
	double large_ns, small_ns, ns, share;
	int fold;
};

static int by_share(const void *a, const void *b)
{
	const struct mixed *p = a, *q = b;

	return (p->share > q->share) - (p->share < q->share);
}

/*
 * Of steps sorted by share, but those of a fold: the share at which the sum of relative errors is
 * least, a median weighted by what the share counts for. From 0 to 1: at least the larger part, at
 * most one after the other.
 */
static double best_share(const struct mixed *m, size_t n, int but_fold)
{
	double total = 0, seen = 0, share = 1;

	for (size_t i = 0; i < n; i++)
		total += m[i].fold == but_fold ? 0 : m[i].small_ns / m[i].ns;
	for (size_t i = 0; i < n && seen < total / 2; i++) {
		if (m[i].fold == but_fold)
			continue;
		seen += m[i].small_ns / m[i].ns;
		share = fmin(1, fmax(0, m[i].share));
	}
	return share;
}

static size_t find_mixed(const struct whole_steps *w, const struct points *points, struct mixed *m)
{
	size_t n = 0;

	for (size_t i = 0; i < points->n; i++) {
		const struct point *at = &points->at[i];

		if (!steps_kind(at, true, true))
			continue;
		double p = prefill_ns(w, at), d = decode_ns(w, at);
		m[n] = (struct mixed){.large_ns = fmax(p, d), .small_ns = fmin(p, d), .ns = at->ns};
		if (m[n].small_ns > 0)
			m[n].share = (at->ns - m[n].large_ns) / m[n].small_ns;
		n++;
	}
	return n;
}

static void hold_out(const struct mixed *m, size_t n, int folds, struct held_out *h)
{
	double *errors = xcalloc(n, sizeof(*errors));

	for (int fold = 0; fold < folds; fold++) {
		double share = best_share(m, n, fold);

		for (size_t i = 0; i < n; i++)
			if (m[i].fold == fold)
				errors[i] =
					fabs((m[i].large_ns + share * m[i].small_ns) / m[i].ns - 1);
	}
	steps_summarize(errors, n, folds, h);
	free(errors);
}

void steps_fit_mixed(struct whole_steps *w, const struct points *points,
		     const struct fit_want *want)
{
	size_t n = steps_count(points, true, true);
	struct mixed *m = xcalloc(n, sizeof(*m));
	int *fold = xcalloc(n, sizeof(*fold));

	w->mixed_share = 1;
	if (n > 0) {
		find_mixed(w, points, m);
		steps_deal(fold, n, want);
		for (size_t i = 0; i < n; i++)
			m[i].fold = fold[i];
		qsort(m, n, sizeof(*m), by_share);
		w->mixed_share = best_share(m, n, -1);
		hold_out(m, n, want->folds ? want->folds : 5, &w->mixed_held_out);
	}
	free(fold);
	free(m);
}
