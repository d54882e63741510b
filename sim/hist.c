#include "sim/hist.h"
#include "sim/err.h"
#include <math.h>
#include <string.h>

/* Bins are the leading bits of the double itself: exponent and 9 bits of mantissa. */
enum { MANTISSA_BITS = 52, BIN_BITS = 9, BIAS = 1023 };

static int64_t bin_of(double value) /* value >= 1 */
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (int64_t)(bits >> (MANTISSA_BITS - BIN_BITS)) - ((int64_t)BIAS << BIN_BITS);
}

static double bin_low(int64_t bin)
{
	uint64_t bits = (uint64_t)(bin + ((int64_t)BIAS << BIN_BITS)) << (MANTISSA_BITS - BIN_BITS);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void add_bin(struct hist *h, int64_t bin, int64_t count)
{
	int64_t octave = bin / HIST_BINS_AN_OCTAVE;

	CHECK(octave < HIST_OCTAVES, "octave %lld of %d", (long long)octave, HIST_OCTAVES);
	if (!h->octave[octave])
		h->octave[octave] = xcalloc(HIST_BINS_AN_OCTAVE, sizeof(int64_t));
	h->octave[octave][bin % HIST_BINS_AN_OCTAVE] += count;
	h->n += count;
}

void hist_add(struct hist *h, double value, int64_t count)
{
	CHECK(value >= 0, "value %g", value);
	if (value >= 1) {
		add_bin(h, bin_of(value), count);
	} else {
		h->zero += count;
		h->n += count;
	}
}

void hist_add_run(struct hist *h, double step, double slope, int64_t ctx, int64_t b, int64_t first,
		  int64_t last, int64_t count)
{
	double growth = slope * (double)b;

	while (first <= last) {
		double value = step + slope * (double)(ctx + b * (first - 1));
		int64_t j = last;

		if (value >= 1 && growth > 0) {
			/* last j whose value is still in this bin: estimate, then correct exactly
			 */
			int64_t bin = bin_of(value);
			double end = bin_low(bin + 1);
			double more = (end - value) / growth;

			if (more < (double)(last - first)) {
				j = first + (int64_t)more;
				while (j < last && step + slope * (double)(ctx + b * j) < end)
					j++;
				while (j > first &&
				       step + slope * (double)(ctx + b * (j - 1)) >= end)
					j--;
			} else {
				while (j > first &&
				       step + slope * (double)(ctx + b * (j - 1)) >= end)
					j--;
			}
			add_bin(h, bin, count * (j - first + 1));
		} else if (growth > 0) {
			j = first; /* below 1 ns and growing: one by one, it does not last */
			hist_add(h, value, count);
		} else {
			hist_add(h, value, count * (last - first + 1));
		}
		first = j + 1;
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
				int64_t bin = o * HIST_BINS_AN_OCTAVE + i;

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
