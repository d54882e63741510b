#include "results/stats.h"

#include <gsl/gsl_statistics_double.h>
#include <gsl/gsl_statistics_long.h>
#include <math.h>

#include "sim/err.h"

_Static_assert(_Generic((int64_t)0, long : 1, default : 0), "GSL selects among longs");

enum { BASE = 1000000000 };

/* The order statistic below the percentile, and the hundredths of the way to the next one. */
struct rank {
	size_t k;
	int64_t hundredths;
};

static struct rank rank_of(size_t n, int p)
{
	CHECK(p >= 0 && p <= 100, "percentile %d of %zu values", p, n);
	return (struct rank){
		.k = (n - 1) / 100 * (size_t)p + (n - 1) % 100 * (size_t)p / 100,
		.hundredths = (int64_t)((n - 1) % 100 * (size_t)p % 100),
	};
}

/* Whole hundredths stay integers, so that only the last addition rounds. */
static double between(int64_t low, int64_t high, int64_t hundredths)
{
	int64_t gap = high - low;

	return (double)(low + gap / 100 * hundredths) + (double)(gap % 100 * hundredths) / 100;
}

double stats_percentile_sorted_i64(const int64_t *x, size_t n, int p)
{
	if (n == 0)
		return NAN;
	struct rank r = rank_of(n, p);

	return r.hundredths ? between(x[r.k], x[r.k + 1], r.hundredths) : (double)x[r.k];
}

double stats_percentile_i64(int64_t *x, size_t n, int p)
{
	if (n == 0)
		return NAN;
	struct rank r = rank_of(n, p);
	int64_t low = gsl_stats_long_select(x, 1, n, r.k);

	if (!r.hundredths)
		return (double)low;
	/* what stands behind the k-th is not smaller */
	return between(low, gsl_stats_long_min(x + r.k + 1, 1, n - r.k - 1), r.hundredths);
}

double stats_percentile(double *x, size_t n, int p)
{
	if (n == 0)
		return NAN;
	struct rank r = rank_of(n, p);
	double low = gsl_stats_select(x, 1, n, r.k);

	if (!r.hundredths)
		return low;
	double high = gsl_stats_min(x + r.k + 1, 1, n - r.k - 1);

	return low + (double)r.hundredths * (high - low) / 100;
}

static void carry(struct stats_sum *s)
{
	s->whole += s->rest / BASE;
	s->rest %= BASE;
	if (s->rest < 0) {
		s->rest += BASE;
		s->whole--;
	}
}

void stats_sum_add(struct stats_sum *s, int64_t v)
{
	if (v < 0 || v >= BASE) {
		s->whole += v / BASE;
		s->rest += v % BASE;
		carry(s);
		return;
	}
	s->rest += v;
	if (s->rest >= BASE) {
		s->rest -= BASE;
		s->whole++;
	}
}

void stats_sum_add_times(struct stats_sum *s, int64_t v, int64_t n)
{
	CHECK(n >= 0, "%lld times", (long long)n);
	/* v n = (vw B + vr)(nw B + nr), with B = BASE: each product but the first is below 2^63 */
	int64_t vw = v / BASE, vr = v % BASE, nw = n / BASE, nr = n % BASE;

	s->whole += vw * nr + vr * nw + vw * nw * BASE;
	stats_sum_add(s, vr * nr);
}

void stats_sum_merge(struct stats_sum *s, const struct stats_sum *other)
{
	s->whole += other->whole;
	s->rest += other->rest;
	carry(s);
}

double stats_sum_value(const struct stats_sum *s)
{
	return (double)s->whole * BASE + (double)s->rest;
}

double stats_sum_mean(const struct stats_sum *s, int64_t n)
{
	if (n <= 0)
		return NAN;
	/* the quotient's integer part first: what is left over is small and loses nothing */
	double left = (double)(s->whole % n) * BASE + (double)s->rest;

	return (double)(s->whole / n) * BASE + left / (double)n;
}
