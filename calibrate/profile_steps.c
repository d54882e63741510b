/* profile_steps.c: the coefficients of prefill and decode steps. */
#include "calibrate/profile_steps.h"
#include "sim/rng.h"
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

enum { ROWS_MIN = 8, SPLITS_MAX = 64 };
static const double split_pays = 0.8; /* of the error without */

/* Steps of one kind, in their terms. */
struct steps {
	double (*term)[TERMS];
	double *ns;
	int64_t *batch;
	int *fold;
	size_t n;
};

void steps_terms(const struct point *p, double term[TERMS])
{
	double seqs = (double)p->prefill_seq, tok = (double)p->new_tok;

	term[0] = 1;
	term[1] = p->prefill_seq ? seqs * tok : (double)p->decode_ctx;
	term[2] = p->prefill_seq ? seqs * tok * tok : (double)p->decode_seq;
}

double steps_sum(const double coef[TERMS], const double term[TERMS])
{
	return coef[0] * term[0] + coef[1] * term[1] + coef[2] * term[2];
}

static void steps_release(struct steps *s)
{
	free(s->term);
	free(s->ns);
	free(s->batch);
	free(s->fold);
}

bool steps_kind(const struct point *p, bool prefill, bool decode)
{
	return (p->prefill_seq > 0) == prefill && (p->decode_seq > 0) == decode;
}

size_t steps_count(const struct points *points, bool prefill, bool decode)
{
	size_t n = 0;

	for (size_t i = 0; i < points->n; i++)
		n += steps_kind(&points->at[i], prefill, decode);
	return n;
}

void steps_deal(int *fold, size_t n, const struct fit_want *w)
{
	gsl_rng *rng = rng_new(w->seed, "folds of whole steps");
	int folds = w->folds ? w->folds : 5;

	for (size_t i = 0; i < n; i++)
		fold[i] = (int)(i % (size_t)folds);
	gsl_ran_shuffle(rng, fold, n, sizeof(*fold));
	gsl_rng_free(rng);
}

static void steps_init(struct steps *s, const struct points *points, bool prefill,
		       const struct fit_want *w)
{
	size_t n = steps_count(points, prefill, !prefill);

	*s = (struct steps){.term = xcalloc(n, sizeof(*s->term)),
			    .ns = xcalloc(n, sizeof(*s->ns)),
			    .batch = xcalloc(n, sizeof(*s->batch)),
			    .fold = xcalloc(n, sizeof(*s->fold))};
	for (size_t i = 0; i < points->n; i++) {
		const struct point *p = &points->at[i];

		if (!steps_kind(p, prefill, !prefill))
			continue;
		steps_terms(p, s->term[s->n]);
		s->ns[s->n] = p->ns;
		s->batch[s->n++] = p->decode_seq;
	}
	steps_deal(s->fold, s->n, w);
}

/* Which steps: of batches in (above, up_to], but of this fold, or (only) of it alone. */
struct which {
	int64_t above, up_to;
	int but_fold; /* -1: all folds */
};

static bool is_in(const struct steps *s, size_t i, const struct which *w)
{
	return s->batch[i] > w->above && s->batch[i] <= w->up_to && s->fold[i] != w->but_fold;
}

/* With the terms whose bit is set; the others are 0. */
static int fit_terms(const struct steps *s, const struct which *w, unsigned terms,
		     double coef[TERMS], double error[TERMS], struct err *e)
{
	double *rows = xcalloc(s->n * TERMS, sizeof(*rows)), *ones = xcalloc(s->n, sizeof(*ones));
	double c[TERMS] = {0}, d[TERMS] = {0};
	size_t n = 0, p = 0, at = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (!is_in(s, i, w))
			continue;
		for (unsigned k = 0; k < TERMS; k++)
			if (terms & 1U << k)
				rows[at++] = s->term[i][k] / s->ns[i];
		ones[n++] = 1;
	}
	for (unsigned k = 0; k < TERMS; k++)
		p += (terms & 1U << k) != 0;
	int result = fit_linear(rows, ones, n, p, c, d, e);
	for (unsigned k = 0, j = 0; k < TERMS && result == 0; k++) {
		bool used = terms & 1U << k;

		coef[k] = used ? c[j] : 0;
		error[k] = used ? d[j++] : 0;
	}
	free(rows);
	free(ones);
	return result;
}

/* None below 0: the most negative one is left out, and the rest fitted again. */
static int fit_steps(const struct steps *s, const struct which *w, double coef[TERMS],
		     double error[TERMS], struct err *e)
{
	unsigned terms = (1U << TERMS) - 1;

	while (terms) {
		double lowest = 0;
		unsigned out = 0;

		if (fit_terms(s, w, terms, coef, error, e))
			return -1;
		for (unsigned k = 0; k < TERMS; k++) {
			double size = coef[k] / (error[k] > 0 ? error[k] : 1);

			if (size < lowest) {
				lowest = size;
				out = 1U << k;
			}
		}
		if (!out)
			return 0;
		terms &= ~out;
	}
	return err_set(e, "times fall with every size");
}

void steps_summarize(double *errors, size_t n, int folds, struct held_out *h)
{
	gsl_sort(errors, 1, n);
	h->folds = folds;
	h->median = gsl_stats_median_from_sorted_data(errors, 1, n);
	h->p90 = gsl_stats_quantile_from_sorted_data(errors, 1, n, 0.9);
	h->max = errors[n - 1];
}

/* Each fold forecast from the others, with two pieces around `split`, or one where it is 0. */
static int hold_out(const struct steps *s, int64_t split, int folds, struct held_out *h,
		    struct err *e)
{
	double *errors = xcalloc(s->n, sizeof(*errors));
	int result = 0;

	for (int fold = 0; fold < folds && result == 0; fold++) {
		double small[TERMS] = {0}, large[TERMS], unused[TERMS];
		const struct which low = {-1, split, fold},
				   high = {split ? split : -1, INT64_MAX, fold};

		if (split)
			result = fit_steps(s, &low, small, unused, e);
		if (result == 0)
			result = fit_steps(s, &high, large, unused, e);
		for (size_t i = 0; i < s->n && result == 0; i++)
			if (s->fold[i] == fold)
				errors[i] = fabs(
					steps_sum(split && s->batch[i] <= split ? small : large,
						  s->term[i]) /
						s->ns[i] -
					1);
	}
	if (result == 0)
		steps_summarize(errors, s->n, folds, h);
	free(errors);
	return result;
}

static size_t count_up_to(const struct steps *s, int64_t batch)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->batch[i] <= batch;
	return n;
}

/* Where two pieces pay, and what they forecast then; 0: nowhere. */
static int64_t find_split(const struct steps *s, int folds, struct held_out *h)
{
	int64_t best = 0;
	double limit = split_pays * h->median;
	struct err ignored;

	for (size_t i = 0; i < s->n; i++) {
		struct held_out with;
		size_t below = count_up_to(s, s->batch[i]);
		bool seen = s->batch[i] == best;

		for (size_t j = 0; j < i && !seen; j++)
			seen = s->batch[j] == s->batch[i];
		if (seen || below < ROWS_MIN || s->n - below < ROWS_MIN ||
		    hold_out(s, s->batch[i], folds, &with, &ignored) < 0)
			continue;
		if (with.median < limit) {
			limit = with.median;
			best = s->batch[i];
			*h = with;
		}
	}
	return best;
}

static int fit_decode(struct whole_steps *w, const struct steps *s, int folds, struct err *e)
{
	if (hold_out(s, 0, folds, &w->decode_held_out, e) < 0)
		return -1;
	w->small_max = find_split(s, folds, &w->decode_held_out);
	const struct which low = {-1, w->small_max, -1};
	const struct which high = {w->small_max ? w->small_max : -1, INT64_MAX, -1};

	if (fit_steps(s, &high, w->large_ns, w->large_error, e) < 0)
		return -1;
	if (w->small_max)
		return fit_steps(s, &low, w->small_ns, w->small_error, e);
	memcpy(w->small_ns, w->large_ns, sizeof(w->small_ns));
	memcpy(w->small_error, w->large_error, sizeof(w->small_error));
	return 0;
}

static int fit_prefill(struct whole_steps *w, const struct steps *s, int folds, struct err *e)
{
	const struct which all = {-1, INT64_MAX, -1};

	if (hold_out(s, 0, folds, &w->prefill_held_out, e) < 0)
		return -1;
	return fit_steps(s, &all, w->prefill_ns, w->prefill_error, e);
}

static void widen(struct range *r, double value)
{
	r->min = r->max == 0 || value < r->min ? value : r->min;
	r->max = value > r->max ? value : r->max;
}

static void find_ranges(struct whole_steps *w, const struct points *points)
{
	w->prompt_tok = (struct range){"prompt_tok", 0, 0};
	w->batch = (struct range){"batch", 0, 0};
	w->context = (struct range){"context", 0, 0};
	for (size_t i = 0; i < points->n; i++) {
		const struct point *p = &points->at[i];

		if (p->prefill_seq)
			widen(&w->prompt_tok, (double)(p->prefill_seq * p->new_tok));
		if (p->decode_seq) {
			widen(&w->batch, (double)p->decode_seq);
			widen(&w->context, (double)p->decode_ctx);
		}
	}
}

int profile_fit_steps(struct whole_steps *w, const struct points *points,
		      const struct fit_want *want, struct err *e)
{
	size_t n_prefill = steps_count(points, true, false);
	size_t n_decode = steps_count(points, false, true);
	int folds = want->folds ? want->folds : 5;
	struct steps prefill, decode;
	struct err why;

	if (n_prefill < ROWS_MIN || n_decode < ROWS_MIN)
		return err_set(e,
			       "%s, tp %lld: %zu prefill steps and %zu decode steps: each must be "
			       "%d at least",
			       w->model, (long long)w->tp, n_prefill, n_decode, ROWS_MIN);
	steps_init(&prefill, points, true, want);
	steps_init(&decode, points, false, want);
	int result = fit_prefill(w, &prefill, folds, &why);
	if (result < 0)
		err_set(e, "%s, tp %lld, prefill steps: %.600s", w->model, (long long)w->tp,
			why.text);
	else if ((result = fit_decode(w, &decode, folds, &why)) < 0)
		err_set(e, "%s, tp %lld, decode steps: %.600s", w->model, (long long)w->tp,
			why.text);
	if (result == 0) {
		steps_fit_mixed(w, points, want);
		find_ranges(w, points);
	}
	steps_release(&prefill);
	steps_release(&decode);
	return result;
}
