/*
 * stats.h: percentiles and means of a sample, exact where the values are integers.
 *
 * A percentile is interpolated linearly between order statistics at rank (n-1)p/100 (numpy's
 * default), with the rank and its remainder in integers: no rounding decides which values are
 * taken. NaN for n = 0; the value itself for n = 1. p is 0 to 100.
 */
#ifndef RESULTS_STATS_H
#define RESULTS_STATS_H

#include <stddef.h>
#include <stdint.h>

/*
 * O(n); puts `x` into another order, so that several percentiles of one array may be asked for in
 * turn. The values lie within +-2^62; no NaN among the doubles.
 */
double stats_percentile_i64(int64_t *x, size_t n, int p);
double stats_percentile(double *x, size_t n, int p);

/* The same of an array in rising order; O(1). */
double stats_percentile_sorted_i64(const int64_t *x, size_t n, int p);

/*
 * An exact sum of integers that does not overflow: whole * 1e9 + rest, 0 <= rest < 1e9 (of
 * nanoseconds: whole seconds and the rest). All zero is an empty sum; sums add up in any order and
 * grouping to the same.
 */
struct stats_sum {
	int64_t whole, rest;
};
void stats_sum_add(struct stats_sum *s, int64_t v);
void stats_sum_add_times(struct stats_sum *s, int64_t v, int64_t n); /* n >= 0 times v */
void stats_sum_merge(struct stats_sum *s, const struct stats_sum *other);

/* sum / n, to the last bit or two of a double whatever the size of the sum; NaN for n <= 0. */
double stats_sum_mean(const struct stats_sum *s, int64_t n);
double stats_sum_value(const struct stats_sum *s);

#endif
