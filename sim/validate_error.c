#include "sim/validate_error.h"
#include "results/stats.h"
#include "sim/options.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

const char *const metric_names[N_METRICS] = {[METRIC_TTFT] = "ttft",
					     [METRIC_NO_QUEUE] = "ttft_no_queue",
					     [METRIC_TPOT] = "tpot",
					     [METRIC_ITL] = "itl",
					     [METRIC_GAP] = "max_gap",
					     [METRIC_E2E] = "e2e",
					     [METRIC_THROUGHPUT] = "throughput"};

/* clang-format off */
const struct field error_fields[] = {
	FIELD(struct error_row, metric, .md = true, .help = "what is compared"),
	FIELD(struct error_row, pairs, .md = true, .help = "requests, steps or runs compared"),
	FIELD(struct error_row, measured, .md = true, .help = "mean of those measured, s or a second"),
	FIELD(struct error_row, predicted, .md = true, .help = "mean of those predicted, s or a second"),
	FIELD(struct error_row, error, .md = true, .help = "predicted / measured - 1 of the means"),
	FIELD(struct error_row, signed_mean, .md = true, .help = "mean of the errors of pairs"),
	FIELD(struct error_row, abs_p50, .md = true, .help = "median of |error| of a pair"),
	FIELD(struct error_row, abs_p90, .md = true, .help = "90th percentile of |error| of a pair"),
	FIELD(struct error_row, abs_max, .md = true, .help = "largest |error| of a pair"),
	FIELD(struct error_row, tolerance, .md = true, .sparse = true, .help = "of the means, --tolerance"),
	FIELD(struct error_row, within, .md = true, .sparse = true, .help = "whether all tolerances hold: yes or no"),
	{.name = NULL},
};
/* clang-format on */

/* Tolerance */

static void set_all(double *of, double value)
{
	for (int m = 0; m < N_METRICS; m++)
		of[m] = value;
}

/* "ttft", "ttft_p50" or "ttft_p90": where its value belongs; NULL: no such name. */
static double *find(struct tolerance *t, const char *name)
{
	size_t n = strlen(name);
	double *of = t->mean;

	if (n > 4 && (!strcmp(name + n - 4, "_p50") || !strcmp(name + n - 4, "_p90"))) {
		of = name[n - 2] == '5' ? t->p50 : t->p90;
		n -= 4;
	}
	for (int m = 0; m < N_METRICS; m++)
		if (strlen(metric_names[m]) == n && !strncmp(metric_names[m], name, n)) {
			t->named[m] = true;
			return &of[m];
		}
	return NULL;
}

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return true;
	return n == 0;
}

static int set_item(struct tolerance *t, char *item, const char *const *judged, size_t n_judged,
		    struct err *e)
{
	char *value = strchr(item, '=');

	if (!value)
		return err_set(e,
			       "--tolerance: '%.100s' is neither a number nor of the form "
			       "METRIC=X, METRIC_p50=X or METRIC_p90=X",
			       item);
	*value++ = '\0';
	double *at = find(t, item);

	if (!at) {
		err_unknown(e, "metric in --tolerance", item, metric_names, N_METRICS);
		return err_set(e, "%.900s, and each with _p50 or _p90 behind it", e->text);
	}
	if (!is_one_of(item, judged, n_judged))
		return err_unknown(e, "metric in --tolerance, of those that are judged here,", item,
				   judged, n_judged);
	if (!isnan(*at))
		return err_set(e, "--tolerance: %s is given twice", item);
	return parse_real(value, "--tolerance", 0, 1e6, at, e);
}

int tolerance_parse(struct tolerance *t, const char *text, const char *const *judged,
		    size_t n_judged, struct err *e)
{
	*t = (struct tolerance){.any = text != NULL};
	set_all(t->mean, NAN);
	set_all(t->p50, NAN);
	set_all(t->p90, NAN);
	if (!text)
		return 0;
	if (!strchr(text, '=') && !strchr(text, ',')) {
		double all;

		if (parse_real(text, "--tolerance", 0, 1e6, &all, e) < 0)
			return -1;
		set_all(t->mean, all);
		t->mean[METRIC_GAP] = NAN;
		return 0;
	}
	char *copy = xstrdup(text);
	int result = 0;

	for (char *item = copy, *next; item && result == 0; item = next) {
		next = strchr(item, ',');
		if (next)
			*next++ = '\0';
		result = set_item(t, item, judged, n_judged, e);
	}
	free(copy);
	return result;
}

/* Pairs */

void error_add(struct error_pairs *p, double measured, double predicted)
{
	if (isnan(measured) || isnan(predicted))
		return;
	if (!(measured > 0)) {
		p->zeros++;
		return;
	}
	if (p->n == p->room) {
		p->room = p->room ? 2 * p->room : 64;
		p->measured = xrealloc(p->measured, p->room * sizeof(*p->measured));
		p->predicted = xrealloc(p->predicted, p->room * sizeof(*p->predicted));
	}
	p->measured[p->n] = measured;
	p->predicted[p->n++] = predicted;
}

void error_release(struct error_pairs *p)
{
	free(p->measured);
	free(p->predicted);
	*p = (struct error_pairs){0};
}

static double mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n > 0 ? sum / (double)n : NAN;
}

void error_say(char *outside, size_t size, const char *fmt, ...)
{
	size_t n = strlen(outside);
	va_list ap;

	if (n > 0 && n + 2 < size)
		n += (size_t)snprintf(outside + n, size - n, "; ");
	va_start(ap, fmt);
	vsnprintf(outside + n, size - n, fmt, ap);
	va_end(ap);
}

/* 0.01 / 0.0125 is not 0.8 to the last bit. */
static const double ROUNDING = 1e-12;

static void check(struct error_row *r, const char *what, double error, double limit, char *outside,
		  size_t size)
{
	if (isnan(limit) || isnan(error))
		return;
	if (r->within[0] == '\0')
		snprintf(r->within, sizeof(r->within), "yes");
	if (fabs(error) <= limit + ROUNDING)
		return;
	snprintf(r->within, sizeof(r->within), "no");
	error_say(outside, size, "%s%s is off by %.4g, tolerance %.4g", r->metric, what, error,
		  limit);
}

static void spread(struct error_row *r, const struct error_pairs *p)
{
	double *errors = xcalloc(p->n + 1, sizeof(*errors));

	for (size_t i = 0; i < p->n; i++)
		errors[i] = p->predicted[i] / p->measured[i] - 1;
	r->signed_mean = mean(errors, p->n);
	for (size_t i = 0; i < p->n; i++)
		errors[i] = fabs(errors[i]);
	r->abs_p50 = stats_percentile(errors, p->n, 50);
	r->abs_p90 = stats_percentile(errors, p->n, 90);
	r->abs_max = stats_percentile(errors, p->n, 100);
	free(errors);
}

/* Of a metric without a pair. */
static void say_unknown(enum metric m, const struct error_pairs *p, const struct tolerance *t,
			char *outside, size_t size)
{
	if (!t)
		return;
	bool asked = !isnan(t->mean[m]) || !isnan(t->p50[m]) || !isnan(t->p90[m]);

	if (p->zeros > 0 && asked)
		error_say(outside, size, "%s is 0 in the log of all requests: it has no error",
			  metric_names[m]);
	else if (t->named[m])
		error_say(outside, size, "%s is not known of any request", metric_names[m]);
}

void error_make(struct error_row *r, enum metric m, const struct error_pairs *p,
		const struct tolerance *t, char *outside, size_t size)
{
	fields_clear(error_fields, r);
	snprintf(r->metric, sizeof(r->metric), "%s", metric_names[m]);
	r->pairs = (int64_t)p->n;
	if (p->n == 0) {
		say_unknown(m, p, t, outside, size);
		return;
	}
	r->measured = mean(p->measured, p->n);
	r->predicted = mean(p->predicted, p->n);
	r->error = r->predicted / r->measured - 1;
	if (p->n > 1)
		spread(r, p);
	if (!t)
		return;
	r->tolerance = t->mean[m];
	check(r, "", r->error, t->mean[m], outside, size);
	/* of one pair they are its error */
	check(r, "_p50", p->n > 1 ? r->abs_p50 : r->error, t->p50[m], outside, size);
	check(r, "_p90", p->n > 1 ? r->abs_p90 : r->error, t->p90[m], outside, size);
}
