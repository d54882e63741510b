/* gapfit.c: see gapfit.h. */
#include "traces/gapfit.h"
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>

/* Gaps are counted in bins of an eighth of a factor of 2, from 1 ns; ties are below. */
enum { BINS = 64 * 8 };

static double edge_ns(int bin)
{
	return exp2(bin / 8.0);
}

static int bin_of(int64_t gap_ns)
{
	if (gap_ns < 1)
		return 0;
	int bin = (int)(log2((double)gap_ns) * 8) + 1;
	return bin < BINS ? bin : BINS - 1;
}

static int count_gaps(const struct trace_spec *spec, int64_t count[BINS], int64_t *n, struct err *e)
{
	struct trace *t = trace_open(spec, e);
	struct trace_row row;
	int64_t last_ns = 0;
	int more = -1;
	for (*n = -1; t && (more = trace_next(t, &row, e)) > 0; last_ns = row.arrive_ns)
		if (++*n > 0)
			count[bin_of(row.arrive_ns - last_ns)]++;
	trace_close(t);
	return more;
}

static double below(enum arrivals_kind kind, double shape, double mean_ns, double gap_ns)
{
	switch (kind) {
	case ARRIVALS_GAMMA:
		return gsl_cdf_gamma_P(gap_ns, shape, mean_ns / shape);
	case ARRIVALS_WEIBULL:
		return gsl_cdf_weibull_P(gap_ns, mean_ns / gsl_sf_gamma(1 + 1 / shape), shape);
	case ARRIVALS_POISSON:
	case ARRIVALS_CONSTANT:
	case N_ARRIVALS:
		break;
	}
	CHECK(0, "no distribution function of arrivals %d", (int)kind);
}

static double distance(const int64_t count[BINS], int64_t n, enum arrivals_kind kind, double shape,
		       double mean_ns)
{
	double largest = 0;
	int64_t so_far = 0;
	for (int bin = 0; bin < BINS - 1; bin++) {
		so_far += count[bin];
		double own = (double)so_far / (double)n;
		largest = fmax(largest, fabs(own - below(kind, shape, mean_ns, edge_ns(bin))));
	}
	return largest;
}

int gapfit_trace(const struct trace_spec *spec, double rate_rps, double cv, struct gapfit *fit,
		 struct err *e)
{
	int64_t count[BINS] = {0}, n;
	double mean_ns = 1e9 / rate_rps, spread = fmin(cv, 100);
	if (count_gaps(spec, count, &n, e))
		return -1;
	fit->gamma = distance(count, n, ARRIVALS_GAMMA, 1 / (spread * spread), mean_ns);
	fit->weibull =
		distance(count, n, ARRIVALS_WEIBULL, arrivals_weibull_shape(spread), mean_ns);
	fit->nearest = fit->weibull < fit->gamma ? ARRIVALS_WEIBULL : ARRIVALS_GAMMA;
	return 0;
}
