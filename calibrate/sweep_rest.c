/* sweep_rest.c: the sum of the parts against whole steps. */
#include "calibrate/cost.h"
#include "calibrate/sweep.h"
#include "calibrate/sweep_profile.h"
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

enum { FOLDS = 5 };

/* A whole step: forecast as a sum, measured. */
struct whole {
	double sum_ns, ns, mean_ns, repeats;
	double row[2]; /* what the rest is linear in: layers, layers x tokens */
};

static double pairs_in(int64_t new_tok, int64_t prior, int64_t window)
{
	double pairs = 0;

	for (int64_t i = 1; i <= new_tok; i++)
		pairs += (double)(prior + i < window ? prior + i : window);
	return pairs;
}

struct step sweep_step(const struct model *m, const struct point *p)
{
	double seq = (double)p->prefill_seq, tok = (double)p->new_tok;
	struct step s = {
		.prefill_tok = p->prefill_seq * p->new_tok,
		.prefill_seq = p->prefill_seq,
		.prefill_done_seq = p->prefill_seq,
		.prefill_pairs = seq * tok * ((double)p->prior_tok + (tok + 1) / 2),
		.decode_seq = p->decode_seq,
		.decode_ctx = p->decode_ctx,
		.prefill_prior = p->prefill_seq * p->prior_tok,
	};

	if (m->window_layers > 0) {
		int64_t w = m->window_tok, ctx = w * p->decode_seq;

		s.window_ctx = p->decode_ctx < ctx ? p->decode_ctx : ctx;
		s.window_pairs = seq * pairs_in(p->new_tok, p->prior_tok, w);
		s.window_prior = p->prefill_seq * (p->prior_tok < w ? p->prior_tok : w);
	}
	return s;
}

static struct whole forecast(const struct executor *x, const struct model *m, const struct point *p)
{
	const struct step s = sweep_step(m, p);
	double layers = (double)m->layers;

	return (struct whole){
		.sum_ns = x->ops->step_ns(x, &s),
		.ns = p->ns,
		.mean_ns = p->mean_ns,
		.repeats = (double)p->repeats,
		.row = {layers, layers * (double)(s.prefill_tok + s.decode_seq)},
	};
}

static int forecast_all(const struct profile *p, const struct points *points, const struct model *m,
			int64_t tp, struct whole *wholes, size_t *n, struct err *e)
{
	const struct cost_want want = {.tp = tp, .pp = 1, .kv_bits = 16};
	struct device d = p->device;
	struct executor *x;

	d.profile = p;
	x = cost_predict_new(m, &d, &want, e);
	if (!x)
		return -1;
	for (size_t i = 0; i < points->n; i++)
		if (points->at[i].op == OP_STEP)
			wholes[(*n)++] = forecast(x, m, &points->at[i]);
	executor_free(x);
	return 0;
}

/* What a rest may consist of: both parts of row[], one of them, or nothing. */
enum rest_kind { REST_NONE, REST_LAYER, REST_TOKENS, REST_BOTH, N_RESTS };

/*
 * Shares of the measured time are fitted, so that short steps count as much as long ones; of a fold
 * those that are not in it, fold < 0: all. Coefficients of parts that are left out are 0.
 */
static int fit_rest(const struct whole *wholes, size_t n, enum rest_kind kind, int fold,
		    double coef[2], double error[2], struct err *e)
{
	size_t p = kind == REST_BOTH ? 2 : 1, first = kind == REST_TOKENS, kept = 0;
	double *rows = xcalloc(p * n, sizeof(*rows)), *y = xcalloc(n, sizeof(*y));
	int rc = 0;

	coef[0] = coef[1] = error[0] = error[1] = 0;
	for (size_t i = 0; i < n; i++) {
		const struct whole *w = &wholes[i];

		if ((int)(i % FOLDS) == fold)
			continue;
		for (size_t k = 0; k < p; k++)
			rows[p * kept + k] = w->row[first + k] / w->ns;
		y[kept++] = (w->ns - w->sum_ns) / w->ns;
	}
	if (kind != REST_NONE)
		rc = fit_linear(rows, y, kept, p, coef + first, error + first, e);
	free(rows);
	free(y);
	return rc;
}

static double p90(double *values, size_t n)
{
	gsl_sort(values, 1, n);
	return gsl_stats_quantile_from_sorted_data(values, 1, n, 0.9);
}

static void describe_sums(struct rest *r, const struct whole *wholes, size_t n)
{
	double *share = xcalloc(n + 1, sizeof(*share));

	for (size_t i = 0; i < n; i++)
		share[i] = wholes[i].sum_ns / wholes[i].ns - 1;
	gsl_sort(share, 1, n);
	r->sum_median = gsl_stats_median_from_sorted_data(share, 1, n);
	for (size_t i = 0; i < n; i++)
		share[i] = fabs(share[i]);
	r->sum_p90 = p90(share, n);
	free(share);
}

static int hold_out(struct held_out *to, const struct whole *wholes, size_t n, enum rest_kind kind,
		    struct err *e)
{
	double *size = xcalloc(n, sizeof(*size)), coef[2], error[2];
	int rc = 0;

	for (int fold = 0; fold < FOLDS && !rc; fold++) {
		rc = fit_rest(wholes, n, kind, fold, coef, error, e);
		for (size_t i = (size_t)fold; i < n && !rc; i += FOLDS) {
			const struct whole *w = &wholes[i];
			double ns = w->sum_ns + coef[0] * w->row[0] + coef[1] * w->row[1];

			size[i] = fabs(ns / w->ns - 1);
		}
	}
	if (!rc) {
		to->folds = FOLDS;
		to->p90 = p90(size, n);
		to->median = gsl_stats_median_from_sorted_data(size, 1, n);
		to->max = size[n - 1];
	}
	free(size);
	return rc;
}

/*
 * The rest that forecasts steps best which were held out; of the kinds that the steps determine: of
 * steps that are all of one token, one of two. It is time between the parts: one that is
 * negative says that parts were timed too long, and is none.
 */
static void set_rest(struct rest *r, const struct whole *wholes, size_t n)
{
	describe_sums(r, wholes, n);
	r->points = n;
	for (int kind = REST_NONE; kind < N_RESTS; kind++) {
		struct held_out held;
		double coef[2], error[2];
		struct err undetermined;

		if (fit_rest(wholes, n, kind, -1, coef, error, &undetermined) ||
		    hold_out(&held, wholes, n, kind, &undetermined))
			continue;
		if (coef[0] < 0 || coef[1] < 0 ||
		    (kind != REST_NONE && !(held.median < r->held_out.median)))
			continue;
		r->layer_ns = coef[0];
		r->layer_tok_ns = coef[1];
		r->layer_error = error[0];
		r->layer_tok_error = error[1];
		r->held_out = held;
	}
}

/* Over all repeats, each beside the median of its point: more of them were made where they differ.
 */
static double tail(const struct whole *wholes, size_t n)
{
	double sum = 0, repeats = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(wholes[i].mean_ns > 0))
			continue;
		sum += wholes[i].repeats * (wholes[i].mean_ns / wholes[i].ns - 1);
		repeats += wholes[i].repeats;
	}
	return repeats > 0 ? fmax(0, sum / repeats) : 0;
}

int sweep_rest(struct profile *p, const struct points *points, const struct model *m, int64_t tp,
	       struct err *e)
{
	struct whole *wholes = xcalloc(points->n, sizeof(*wholes));
	size_t n = 0;
	int rc = forecast_all(p, points, m, tp, wholes, &n, e);

	if (!rc && n > 0) {
		set_rest(&p->rest, wholes, n);
		p->rest.tail = tail(wholes, n);
	}
	free(wholes);
	return rc;
}
