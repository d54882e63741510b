#include "sim/hist.h"
#include "sim/err.h"
#include <math.h>
#include <string.h>

/* Bins are the leading bits of the double itself: exponent and 9 bits of mantissa. */
enum { MANTISSA_BITS = 52, BIN_BITS = 9, BIAS = 1023 };

static uint64_t bin_of(double value) /* value >= 1 */
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (bits >> (MANTISSA_BITS - BIN_BITS)) - ((uint64_t)BIAS << BIN_BITS);
}

static double bin_low(uint64_t bin)
{
	uint64_t bits = (bin + ((uint64_t)BIAS << BIN_BITS)) << (MANTISSA_BITS - BIN_BITS);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int64_t *new_octave(struct hist *h, uint64_t octave)
{
	h->octave[octave] = xcalloc(HIST_BINS_AN_OCTAVE, sizeof(int64_t));
	return h->octave[octave];
}

static void add_to_bin(struct hist *h, uint64_t bin, int64_t count)
{
	uint64_t octave = bin / HIST_BINS_AN_OCTAVE;

	CHECK(octave < HIST_OCTAVES, "octave %llu of %d", (unsigned long long)octave, HIST_OCTAVES);
	int64_t *bins = h->octave[octave] ? h->octave[octave] : new_octave(h, octave);

	bins[bin % HIST_BINS_AN_OCTAVE] += count;
}

void hist_add(struct hist *h, double value, int64_t count)
{
	CHECK(value >= 0, "value %g", value);
	if (value >= 1)
		add_to_bin(h, bin_of(value), count);
	else
		h->zero += count;
	h->n += count;
}

/* step + slope * (ctx + b (j - 1)), evaluated in one way only, so that bins never differ. */
struct line {
	double step, slope;
	int64_t ctx, b;
};

static double line_at(const struct line *l, int64_t j)
{
	return l->step + l->slope * (double)(l->ctx + l->b * (j - 1));
}

/* The first j in [first, last] whose value is at least `end`; last + 1: none. */
static int64_t line_reach(const struct line *l, double end, double origin, double steps_per_ns,
			  int64_t first, int64_t last)
{
	double guess = (end - origin) * steps_per_ns;
	int64_t j = guess < (double)last ? (int64_t)guess : last;

	if (j < first)
		j = first;
	/* the guess may be off by rounding: the values themselves decide */
	while (j > first && line_at(l, j - 1) >= end)
		j--;
	while (j <= last && line_at(l, j) < end)
		j++;
	return j;
}

void hist_add_run(struct hist *h, double step, double slope, int64_t ctx, int64_t b, int64_t first,
		  int64_t last, int64_t count)
{
	const struct line l = {step, slope, ctx, b};
	double growth = slope * (double)b, origin = line_at(&l, 0), steps_per_ns = 1 / growth;

	if (!(growth > 0)) {
		hist_add(h, line_at(&l, first), count * (last - first + 1));
		return;
	}
	if (line_at(&l, first) < 1) {
		int64_t next = line_reach(&l, 1, origin, steps_per_ns, first, last);

		h->zero += count * (next - first);
		h->n += count * (next - first);
		first = next;
	}
	while (first <= last) {
		uint64_t bin = bin_of(line_at(&l, first));
		int64_t next = line_reach(&l, bin_low(bin + 1), origin, steps_per_ns, first, last);

		add_to_bin(h, bin, count * (next - first));
		h->n += count * (next - first);
		first = next;
	}
}

static double order_statistic(const struct hist *h, int64_t k)
{
	int64_t below = h->zero;

	if (k < below)
		return 0;
	for (int64_t o = 0; o < HIST_OCTAVES; o++) {
		if (!h->octave[o])
			continue;
		for (int64_t i = 0; i < HIST_BINS_AN_OCTAVE; i++) {
			below += h->octave[o][i];
			if (k < below) {
				uint64_t bin = (uint64_t)(o * HIST_BINS_AN_OCTAVE + i);

				return (bin_low(bin) + bin_low(bin + 1)) / 2;
			}
		}
	}
	CHECK(0, "rank %lld of %lld", (long long)k, (long long)h->n);
	return NAN;
}

double hist_percentile(const struct hist *h, int64_t p)
{
	if (h->n == 0)
		return NAN;
	int64_t k = (h->n - 1) / 100 * p + (h->n - 1) % 100 * p / 100;
	int64_t rem = (h->n - 1) % 100 * p % 100;
	double low = order_statistic(h, k);

	return rem == 0 ? low : low + (double)rem * (order_statistic(h, k + 1) - low) / 100;
}

void hist_each(const struct hist *h, void (*bin)(void *arg, double low, double high, int64_t count),
	       void *arg)
{
	if (h->zero)
		bin(arg, 0, 1, h->zero);
	for (int64_t o = 0; o < HIST_OCTAVES; o++)
		for (int64_t i = 0; h->octave[o] && i < HIST_BINS_AN_OCTAVE; i++)
			if (h->octave[o][i])
				bin(arg, bin_low(o * HIST_BINS_AN_OCTAVE + i),
				    bin_low(o * HIST_BINS_AN_OCTAVE + i + 1), h->octave[o][i]);
}

void hist_release(struct hist *h)
{
	for (int64_t o = 0; o < HIST_OCTAVES; o++)
		free(h->octave[o]);
	*h = (struct hist){0};
}
