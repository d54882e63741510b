/* arrivals.c: see arrivals.h. */
#include "traces/arrivals.h"
#include "sim/rng.h"
#include "traces/number.h"
#include <gsl/gsl_errno.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_roots.h>
#include <gsl/gsl_sf_gamma.h>

enum { SINE_PARTS = 288 };   /* five minutes of a day */
enum { CHANGES_MAX = 1000 }; /* of the rate in a mean gap: with more of them they average out */

const char *const arrivals_names[N_ARRIVALS + 1] = {
	[ARRIVALS_POISSON] = "poisson",
	[ARRIVALS_GAMMA] = "gamma",
	[ARRIVALS_WEIBULL] = "weibull",
	[ARRIVALS_CONSTANT] = "constant",
};

/* How far ln(1 + cv^2) of a shape exp(x) is above the one wanted. */
static double spread_above(double x, void *wanted)
{
	double inverse = exp(-x);
	return gsl_sf_lngamma(1 + 2 * inverse) - 2 * gsl_sf_lngamma(1 + inverse) -
	       *(const double *)wanted;
}

double arrivals_weibull_shape(double cv)
{
	double wanted = log1p(cv * cv), low = log(0.1), high = log(200); /* cv 430 and 0.006 */
	gsl_function f = {.function = spread_above, .params = &wanted};
	gsl_root_fsolver *solver = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
	if (!solver)
		no_memory(1, sizeof(double));
	int status = gsl_root_fsolver_set(solver, &f, low, high);
	for (int i = 0; status == GSL_SUCCESS && high - low > 1e-12 && i < 200; i++) {
		status = gsl_root_fsolver_iterate(solver);
		low = gsl_root_fsolver_x_lower(solver);
		high = gsl_root_fsolver_x_upper(solver);
	}
	CHECK(status == GSL_SUCCESS, "no Weibull shape for cv %g: %s", cv, gsl_strerror(status));
	double shape = exp(gsl_root_fsolver_root(solver));
	gsl_root_fsolver_free(solver);
	return shape;
}

static void set_gaps(struct arrivals *a, const struct arrivals_spec *s)
{
	a->kind = s->kind;
	a->gap_ns = a->scale_ns = 1e9 / s->rate_rps;
	if (s->kind == ARRIVALS_GAMMA) {
		a->shape = 1 / (s->cv * s->cv);
		a->scale_ns = a->gap_ns / a->shape;
	} else if (s->kind == ARRIVALS_WEIBULL) {
		a->shape = arrivals_weibull_shape(s->cv);
		a->scale_ns = a->gap_ns / gsl_sf_gamma(1 + 1 / a->shape);
	}
}

static int set_bursts(struct arrivals *a, const struct arrivals_spec *s, const char *owner,
		      struct err *e)
{
	if (s->burst_on_s >= s->burst_period_s)
		return err_set(e,
			       "%s: burst_on=%g must be less than burst_period=%g, the mean time "
			       "between the starts of bursts",
			       owner, s->burst_on_s, s->burst_period_s);
	double part = s->burst_on_s / s->burst_period_s;
	a->level[false] = 1 / (1 - part + part * s->burst);
	a->level[true] = s->burst * a->level[false];
	a->phase_ns[true] = s->burst_on_s * 1e9;
	a->phase_ns[false] = (s->burst_period_s - s->burst_on_s) * 1e9;
	a->on = gsl_rng_uniform(a->phases) < part;
	a->phase_left_ns = gsl_ran_exponential(a->phases, a->phase_ns[a->on]);
	return 0;
}

static double sine_part(double swing, size_t i)
{
	double turn = 2 * M_PI / SINE_PARTS;
	return 1 + swing * (cos(turn * (double)i) - cos(turn * (double)(i + 1))) / turn;
}

static void set_day(struct arrivals *a, const struct arrivals_spec *s)
{
	double sum = 0;
	a->n_day = s->n_day > 0 ? s->n_day : SINE_PARTS;
	a->day = xcalloc(a->n_day, sizeof(*a->day));
	for (size_t i = 0; i < a->n_day; i++) {
		a->day[i] = s->n_day > 0 ? s->day[i] : sine_part(s->swing, i);
		sum += a->day[i];
	}
	CHECK(sum > 0, "a day of %zu parts without arrivals", a->n_day);
	for (size_t i = 0; i < a->n_day; i++)
		a->day[i] *= (double)a->n_day / sum;
	a->part_ns = a->part_left_ns = s->day_s * 1e9 / (double)a->n_day;
}

static int set_rate(struct arrivals *a, const struct arrivals_spec *s, const char *owner,
		    struct err *e)
{
	a->level[false] = a->level[true] = 1;
	a->phase_left_ns = a->part_left_ns = INFINITY;
	a->varies = s->burst > 1 || s->day_s > 0;
	if (s->burst > 1 && set_bursts(a, s, owner, e))
		return -1;
	if (s->day_s > 0)
		set_day(a, s);
	double shortest = fmin(s->burst > 1 ? fmin(a->phase_ns[0], a->phase_ns[1]) : INFINITY,
			       s->day_s > 0 ? a->part_ns : INFINITY);
	if (a->gap_ns > CHANGES_MAX * shortest)
		return err_set(e,
			       "%s: the rate changes every %g s, which is too short for a mean gap "
			       "of %g s: expected at least a %dth of it",
			       owner, shortest * 1e-9, a->gap_ns * 1e-9, CHANGES_MAX);
	return 0;
}

int arrivals_init(struct arrivals *a, const struct arrivals_spec *s, uint64_t seed,
		  const char *owner, struct err *e)
{
	*a = (struct arrivals){.n = s->gap_first ? 1 : 0};
	a->gaps = rng_new(seed, s->stream ? s->stream : "arrival");
	if (s->burst > 1)
		a->phases = rng_new(seed, "burst");
	set_gaps(a, s);
	if (set_rate(a, s, owner, e)) {
		arrivals_release(a);
		return -1;
	}
	return 0;
}

void arrivals_release(struct arrivals *a)
{
	gsl_rng_free(a->gaps);
	gsl_rng_free(a->phases);
	free(a->day);
	*a = (struct arrivals){0};
}

static void spend(struct arrivals *a, double ns)
{
	a->phase_left_ns -= ns;
	a->part_left_ns -= ns;
	if (!(a->phase_left_ns > 0)) {
		a->on = !a->on;
		a->phase_left_ns = gsl_ran_exponential(a->phases, a->phase_ns[a->on]);
	}
	if (!(a->part_left_ns > 0)) {
		a->part = (a->part + 1) % a->n_day;
		a->part_left_ns = a->part_ns;
	}
}

/* How long it takes until the integral of the relative rate is `gap_ns`. */
static double stretch(struct arrivals *a, double gap_ns)
{
	double ns = 0;
	for (;;) {
		double level = a->level[a->on] * (a->day ? a->day[a->part] : 1);
		double left_ns = fmin(a->phase_left_ns, a->part_left_ns);
		if (gap_ns < level * left_ns) {
			spend(a, gap_ns / level);
			return ns + gap_ns / level;
		}
		gap_ns -= level * left_ns;
		ns += left_ns;
		spend(a, left_ns);
		if (ns > (double)NUMBER_NS_MAX)
			return ns;
	}
}

static double draw(struct arrivals *a)
{
	switch (a->kind) {
	case ARRIVALS_POISSON:
		return gsl_ran_exponential(a->gaps, a->gap_ns);
	case ARRIVALS_GAMMA:
		return gsl_ran_gamma(a->gaps, a->shape, a->scale_ns);
	case ARRIVALS_WEIBULL:
		return gsl_ran_weibull(a->gaps, a->scale_ns, a->shape);
	case ARRIVALS_CONSTANT:
	case N_ARRIVALS:
		break;
	}
	return a->gap_ns;
}

int64_t arrivals_next(struct arrivals *a)
{
	if (a->n++ == 0)
		return 0;
	double gap_ns;
	if (a->kind == ARRIVALS_CONSTANT && !a->varies) /* rounding must not add up */
		gap_ns = (double)(a->n - 1) * a->gap_ns - (double)a->now_ns;
	else
		gap_ns = a->varies ? stretch(a, draw(a)) : draw(a);
	if (!(gap_ns < (double)(NUMBER_NS_MAX - a->now_ns)))
		return -1;
	a->now_ns += (int64_t)(gap_ns + 0.5);
	return a->now_ns;
}
