/* Lines of checks, and the kernels between the multiplications. */

#include "calibrate/reference.h"
#include "check_memory.h"
#include "launches.h"
#include "number.cuh"
#include <algorithm>
#include <cmath>

/* A result of 16 bits is off by 2^-8 of itself at most; so much more for sums in 32 bits. */
constexpr double rounding = 1.1 * 0x1p-8;

void check_say(check &c, const char *what, double error, double bound)
{
	char line[sizeof(c.worst)];
	bool good = error <= bound; /* no number is no small error */

	snprintf(line, sizeof(line), "%-8s %s: largest error %.3g, bound %.3g",
		 good ? "ok" : "FAILED", what, error, bound);
	if (!good && c.failures++ == 0)
		memcpy(c.worst, line, sizeof(c.worst));
	c.say(c.arg, line);
}

double check_error(const std::vector<float> &got, const std::vector<double> &want)
{
	double square = 0, most = 0;

	for (double x : want)
		square += x * x / (double)want.size();
	for (size_t i = 0; i < want.size(); i++) {
		double error = fabs((double)got[i] - want[i]) / fmax(fabs(want[i]), sqrt(square));

		most = error <= most ? most : error; /* no number is the largest */
	}
	return most;
}

float check_number(check &c)
{
	return (float)((double)(hash_64(c.seed, c.n++) >> 40) * 0x1p-23 - 1);
}

static void check_norm(check &c, bool layer, int n, bool add)
{
	constexpr int rows = 5, chosen = 3;
	std::vector<int32_t> which = {4, 0, 3};
	std::vector<bf16> x = random_bf16(c, rows * n, 3), more = random_bf16(c, rows * n);
	std::vector<bf16> weight = random_bf16(c, n), bias = random_bf16(c, n);
	on_device<bf16> dx(x), dmore(more), dweight(weight), dbias(bias), out(chosen * n);
	on_device<int32_t> dwhich(which);
	norm_args p = {dx.at,	   add ? dmore.at : nullptr,
		       dweight.at, layer ? dbias.at : nullptr,
		       out.at,	   dwhich.at,
		       n,	   1,
		       n,	   n};
	std::vector<double> sum = doubles(x), want(rows * n), some;
	char what[96];

	launch_norm(p, chosen, {});
	std::vector<bf16> kept = dx.read();
	for (int i = 0; i < rows * n; i++) /* the sum is kept in 16 bits, and normalised as kept */
		sum[i] += add ? bf16_double(more[i]) : 0;
	double kept_error = check_error(floats(kept), sum);
	bool untouched = add; /* rows that were not chosen stay as they were */

	sum = doubles(kept);
	for (int i = n; add && i < 3 * n; i++)
		untouched = untouched && kept[i].bits == x[i].bits;
	reference_norm(sum.data(), nullptr, floats(weight).data(),
		       layer ? floats(bias).data() : nullptr, rows, n, want.data());
	for (int row : which)
		some.insert(some.end(), want.begin() + row * n, want.begin() + (row + 1) * n);
	snprintf(what, sizeof(what), "%s%s of 3 of 5 rows of %d", layer ? "LayerNorm" : "RMSNorm",
		 add ? " of a sum" : "", n);
	double error = check_error(floats(out.read()), some);

	if (add && !untouched)
		error = INFINITY;
	else if (!add)
		error = std::max(error, kept_error);
	check_say(c, what, error, rounding);
}

static void check_activation(check &c, bool gated, int n)
{
	constexpr int rows = 3;
	std::vector<bf16> x = random_bf16(c, (size_t)rows * n * (gated ? 2 : 1), 5);
	on_device<bf16> dx(x), out((size_t)rows * n);
	std::vector<double> in = doubles(x), want((size_t)rows * n);
	char what[96];

	launch_activate(dx.at, out.at, gated, rows, n, {});
	reference_act(in.data(), gated, rows, n, want.data());
	snprintf(what, sizeof(what), "%s of %d rows of %d", gated ? "SiLU and gate" : "GELU", rows,
		 n);
	check_say(c, what, check_error(floats(out.read()), want), rounding);
}

static void check_embedding(check &c, int n)
{
	constexpr int rows = 4, words = 7, places = 9;
	std::vector<bf16> table = random_bf16(c, words * n), places_of = random_bf16(c, places * n);
	std::vector<int32_t> ids = {6, 0, 3, 3}, position = {0, 8, 2, 5};
	on_device<bf16> dtable(table), dplaces(places_of), out(rows * n);
	on_device<int32_t> dids(ids), dposition(position);
	std::vector<double> want;

	launch_embed(dtable.at, dplaces.at, dids.at, dposition.at, out.at, rows, n, {});
	for (int row = 0; row < rows; row++)
		for (int i = 0; i < n; i++)
			want.push_back(bf16_double(table[ids[row] * n + i]) +
				       bf16_double(places_of[position[row] * n + i]));
	check_say(c, "embedding and learned positions", check_error(floats(out.read()), want),
		  rounding);
	launch_embed(dtable.at, nullptr, dids.at, dposition.at, out.at, rows, n, {});
	for (int row = 0; row < rows; row++)
		for (int i = 0; i < n; i++)
			want[row * n + i] = bf16_double(table[ids[row] * n + i]);
	check_say(c, "embedding", check_error(floats(out.read()), want), 0);
}

/* Of equal ones the first: each row has its largest number in two places. */
static void check_argmax(check &c, int n)
{
	constexpr int rows = 3;
	std::vector<bf16> x = random_bf16(c, (size_t)rows * n);
	std::vector<double> want;
	std::vector<float> got;
	char what[96];

	for (int row = 0; row < rows; row++) {
		int at = (int)(hash_64(c.seed, c.n++) % (uint64_t)(n / 2));

		x[(size_t)row * n + at] = x[(size_t)row * n + at + n / 2] = to_bf16(2);
		want.push_back(at + 1);
	}
	on_device<bf16> dx(x);
	on_device<int32_t> out((size_t)rows);

	launch_argmax(dx.at, out.at, rows, n, {});
	for (int32_t at : out.read())
		got.push_back((float)at + 1);
	snprintf(what, sizeof(what), "largest of %d rows of %d", rows, n);
	check_say(c, what, check_error(got, want), 0);
}

/* Mean 0 and the deviation asked for, as far as so many numbers tell. */
static void check_fill(check &c)
{
	constexpr size_t n = 20000;
	on_device<bf16> out(n);
	double sum = 0, squares = 0;

	launch_fill(out.at, n, c.seed, 0.5F, 0, {});
	for (double x : doubles(out.read())) {
		sum += x;
		squares += x * x;
	}
	check_say(c, "mean of random numbers, of their deviation", fabs(sum / n / 0.5),
		  5 / sqrt((double)n));
	check_say(c, "deviation of random numbers", fabs(sqrt(squares / n) / 0.5 - 1),
		  5 / sqrt(2.0 * n));
}

void check_elementwise(check &c)
{
	check_norm(c, false, 256, true);
	check_norm(c, false, 128, false);
	check_norm(c, false, 9216, true);
	check_norm(c, true, 768, true);
	check_activation(c, true, 768);
	check_activation(c, false, 264);
	check_embedding(c, 256);
	check_argmax(c, 4096);
	check_argmax(c, 256);
	check_fill(c);
}
