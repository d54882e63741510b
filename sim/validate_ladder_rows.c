/* validate_ladder_rows.c: what the runs of a ladder come to. */
#include "results/stats.h"
#include "sim/validate_ladder.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct ladder_kind {
	const char *name;
	size_t offset; /* in struct summary */
	enum metric metric;
	bool p50;
} kinds[N_LADDER] = {
	[LADDER_TTFT_MEAN] = {"ttft_mean", offsetof(struct summary, ttft_mean_s), METRIC_TTFT,
			      false},
	[LADDER_TTFT_P50] = {"ttft_p50", offsetof(struct summary, ttft_p50_s), METRIC_TTFT, true},
	[LADDER_TPOT_MEAN] = {"tpot_mean", offsetof(struct summary, tpot_mean_s), METRIC_TPOT,
			      false},
	[LADDER_TPOT_P50] = {"tpot_p50", offsetof(struct summary, tpot_p50_s), METRIC_TPOT, true},
	[LADDER_E2E_MEAN] = {"e2e_mean", offsetof(struct summary, e2e_mean_s), METRIC_E2E, false},
	[LADDER_E2E_P50] = {"e2e_p50", offsetof(struct summary, e2e_p50_s), METRIC_E2E, true},
	[LADDER_THROUGHPUT] = {"throughput", offsetof(struct summary, throughput_rps),
			       METRIC_THROUGHPUT, false},
};

/* clang-format off */
const struct field ladder_fields[] = {
	FIELD(struct ladder_row, policy, .md = true),
	FIELD(struct ladder_row, given, .md = true, .sparse = true),
	FIELD(struct ladder_row, metric, .md = true),
	FIELD(struct ladder_row, rounds, .md = true),
	FIELD(struct ladder_row, measured, .md = true, .help = "under the simulated clock, s or a second"),
	FIELD(struct ladder_row, predicted, .md = true),
	FIELD(struct ladder_row, wall, .md = true, .title = "measured, real time"),
	FIELD(struct ladder_row, floor, .md = true, .title = "noise floor"),
	FIELD(struct ladder_row, model_error, .md = true, .title = "model error"),
	FIELD(struct ladder_row, limit, .md = true),
	FIELD(struct ladder_row, within, .md = true),
	FIELD(struct ladder_row, wall_error, .md = true, .title = "error, real time"),
	{.name = NULL},
};
const struct field ladder_step_fields[] = {
	FIELD(struct ladder_steps, policy, .md = true),
	FIELD(struct ladder_steps, given, .md = true, .sparse = true),
	FIELD(struct ladder_steps, kind, .md = true, .title = "steps that"),
	FIELD(struct ladder_steps, steps, .md = true),
	FIELD(struct ladder_steps, measured_s, .md = true, .title = "measured p50 s"),
	FIELD(struct ladder_steps, predicted_s, .md = true, .title = "predicted p50 s"),
	FIELD(struct ladder_steps, error, .md = true, .title = "error of the sum"),
	FIELD(struct ladder_steps, signed_p50, .md = true, .title = "error p50"),
	FIELD(struct ladder_steps, abs_p50, .md = true, .title = "abs error p50"),
	FIELD(struct ladder_steps, abs_p90, .md = true, .title = "p90"),
	{.name = NULL},
};
/* clang-format on */

enum { N_FIGURES = 6 };

static double value(const struct summary *s, const struct ladder_kind *k)
{
	double v;

	memcpy(&v, (const char *)s + k->offset, sizeof(v));
	return v;
}

/* Median over rounds of what `of` says of each; those that are no number are left out. */
static double over_rounds(const struct ladder_round *rounds, size_t n, const struct ladder_kind *k,
			  double (*of)(const struct ladder_round *r, const struct ladder_kind *k))
{
	double *x = xcalloc(n + 1, sizeof(*x)), median;
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		x[known] = of(&rounds[i], k);
		known += !isnan(x[known]);
	}
	median = stats_percentile(x, known, 50);
	free(x);
	return median;
}

static double of_measured(const struct ladder_round *r, const struct ladder_kind *k)
{
	return value(&r->measured, k);
}

static double of_predicted(const struct ladder_round *r, const struct ladder_kind *k)
{
	return value(&r->predicted, k);
}

static double of_wall(const struct ladder_round *r, const struct ladder_kind *k)
{
	return value(&r->wall, k);
}

/* The same whichever of two is the larger: 1.2 and 1 are as far apart as 1 and 1.2. */
static double apart(double ratio)
{
	return fmax(ratio, 1 / ratio) - 1;
}

static double of_floor(const struct ladder_round *r, const struct ladder_kind *k)
{
	return apart(value(&r->again, k) / value(&r->measured, k));
}

/* Against the mean of the two runs around it: a machine that drifts does so in both. */
static double of_model_error(const struct ladder_round *r, const struct ladder_kind *k)
{
	return 2 * value(&r->predicted, k) / (value(&r->measured, k) + value(&r->again, k)) - 1;
}

static double of_wall_error(const struct ladder_round *r, const struct ladder_kind *k)
{
	return value(&r->predicted, k) / value(&r->wall, k) - 1;
}

static void judge(struct ladder_row *row, double tolerance, char *outside, size_t size)
{
	double error = row->model_error;

	if (isnan(tolerance) || isnan(error))
		return;
	row->limit = fmax(tolerance, row->floor);
	bool within = fabs(error) <= tolerance || apart(1 + error) <= row->limit;

	snprintf(row->within, sizeof(row->within), within ? "yes" : "no");
	if (!within)
		error_say(outside, size, "%s: %s is off by %.4g, limit %.4g", row->policy,
			  row->metric, error, row->limit);
}

void ladder_rows(struct ladder_row *rows, const struct ladder_round *rounds, size_t n,
		 const struct tolerance *t, char *outside, size_t size)
{
	for (int m = 0; m < N_LADDER; m++) {
		const struct ladder_kind *k = &kinds[m];
		struct ladder_row *row = &rows[m];

		fields_clear(ladder_fields, row);
		snprintf(row->policy, sizeof(row->policy), "%s", rounds[0].measured.policy);
		snprintf(row->given, sizeof(row->given), "%s", rounds[0].measured.given);
		snprintf(row->metric, sizeof(row->metric), "%s", k->name);
		row->rounds = (int64_t)n;
		row->measured = over_rounds(rounds, n, k, of_measured);
		row->predicted = over_rounds(rounds, n, k, of_predicted);
		row->wall = over_rounds(rounds, n, k, of_wall);
		row->floor = over_rounds(rounds, n, k, of_floor);
		row->model_error = over_rounds(rounds, n, k, of_model_error);
		row->wall_error = over_rounds(rounds, n, k, of_wall_error);
		judge(row, k->p50 ? t->p50[k->metric] : t->mean[k->metric], outside, size);
	}
}

static double sum(const double *x, size_t n)
{
	double s = 0;

	for (size_t i = 0; i < n; i++)
		s += x[i];
	return s;
}

void ladder_steps_make(struct ladder_steps *s, const struct summary *of, const char *kind,
		       const struct error_pairs *p)
{
	double *errors = xcalloc(p->n + 1, sizeof(*errors));

	fields_clear(ladder_step_fields, s);
	snprintf(s->policy, sizeof(s->policy), "%s", of->policy);
	snprintf(s->given, sizeof(s->given), "%s", of->given);
	snprintf(s->kind, sizeof(s->kind), "%s", kind);
	s->steps = (int64_t)p->n;
	s->error = p->n > 0 ? sum(p->predicted, p->n) / sum(p->measured, p->n) - 1 : NAN;
	for (size_t i = 0; i < p->n; i++)
		errors[i] = p->predicted[i] / p->measured[i] - 1;
	s->signed_p50 = stats_percentile(errors, p->n, 50);
	for (size_t i = 0; i < p->n; i++)
		errors[i] = fabs(errors[i]);
	s->abs_p50 = stats_percentile(errors, p->n, 50);
	s->abs_p90 = stats_percentile(errors, p->n, 90);
	/* percentiles put values into another order: copies */
	for (size_t i = 0; i < p->n; i++)
		errors[i] = p->measured[i];
	s->measured_s = stats_percentile(errors, p->n, 50);
	for (size_t i = 0; i < p->n; i++)
		errors[i] = p->predicted[i];
	s->predicted_s = stats_percentile(errors, p->n, 50);
	free(errors);
}
