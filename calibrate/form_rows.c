/*
 * Elementwise layers and reductions over rows, copies and all-reduce: a latency, and bytes over a
 * bandwidth.
 */
#include "calibrate/form_parts.h"

enum { T0, BYTES, DEVICE };

static double rows_ns(const double *c, const struct point *at)
{
	return c[T0] + work_rows_bytes(at) / c[BYTES];
}

static void guess_rows(double *c, const struct points *p)
{
	c[T0] = form_low_ns(p) / 2;
	c[BYTES] = form_high_rate(p, work_rows_bytes);
}

static uint64_t row_group(const struct point *at)
{
	return form_hash((uint64_t)at->n, 0, 0, 0);
}

/* clang-format off */
#define ROWS(operation, small)                                                                     \
	static const struct form small##_affine = {                                                \
		.name = "affine",                                                                  \
		.text = "t0 + bytes / bytes_per_ns",                                               \
		.op = operation,                                                                   \
		.coefs = {"t0_ns", "bytes_per_ns"},                                                \
		.base_ns = rows_ns,                                                                \
		.guess = guess_rows,                                                               \
		.axes = {"m", "n"},                                                                \
		.knots = {12, 6},                                                                  \
		.ranges = {"m", "n"},                                                              \
		.group = row_group,                                                                \
	};                                                                                         \
	static const struct form small##_knots = {                                                 \
		.name = "knots",                                                                   \
		.text = "straight between measured tokens",                                        \
		.op = operation,                                                                   \
		.axes = {"m"},                                                                     \
		.knots = {FIT_KNOTS},                                                              \
		.ranges = {"m", "n"},                                                              \
		.group = row_group,                                                                \
	};                                                                                         \
	const struct form *const forms_##small[] = {&small##_affine, &small##_knots, NULL}
/* clang-format on */

ROWS(OP_NORM, norm);
ROWS(OP_ROPE, rope);
ROWS(OP_ACT, act);
ROWS(OP_EMBED, embed);
ROWS(OP_SAMPLE, sample);

static double copy_ns(const double *c, const struct point *at)
{
	return c[T0] + work_copy_bytes(at) / c[BYTES];
}

static void guess_copy(double *c, const struct points *p)
{
	c[T0] = form_low_ns(p) / 2;
	c[BYTES] = form_high_rate(p, work_copy_bytes);
}

static uint64_t byte_group(const struct point *at)
{
	return form_hash((uint64_t)at->bytes, 0, 0, 0);
}

/* clang-format off */
#define COPY(operation, small)                                                                     \
	static const struct form small##_affine = {                                                \
		.name = "affine",                                                                  \
		.text = "t0 + bytes / bytes_per_ns",                                               \
		.op = operation,                                                                   \
		.coefs = {"t0_ns", "bytes_per_ns"},                                                \
		.base_ns = copy_ns,                                                                \
		.guess = guess_copy,                                                               \
		.axes = {"bytes"},                                                                 \
		.knots = {16},                                                                     \
		.ranges = {"bytes"},                                                               \
		.group = byte_group,                                                               \
	};                                                                                         \
	const struct form *const forms_##small[] = {&small##_affine, NULL}
/* clang-format on */

COPY(OP_COPY_TO_HOST, copy_to_host);
COPY(OP_COPY_FROM_HOST, copy_from_host);
COPY(OP_COPY_DEVICE, copy_device);

/* Of a ring: every byte but those of one share passes each link twice. */
static double ring_ns(const double *c, const struct point *at)
{
	return c[T0] + work_allreduce_bytes(at) / c[BYTES];
}

static double hops_ns(const double *c, const struct point *at)
{
	return ring_ns(c, at) + c[DEVICE] * (double)(at->devices - 1);
}

static void guess_ring(double *c, const struct points *p)
{
	c[T0] = form_low_ns(p) / 2;
	c[BYTES] = form_high_rate(p, work_allreduce_bytes);
}

static void guess_hops(double *c, const struct points *p)
{
	guess_ring(c, p);
	c[DEVICE] = c[T0] / 4;
}

static uint64_t link_group(const struct point *at)
{
	return form_hash((uint64_t)at->bytes, (uint64_t)at->devices, 0, 0);
}

/* clang-format off */
#define LINK                                                                                       \
	.op = OP_ALLREDUCE, .axes = {"bytes", "devices"}, .knots = {16, 4},                        \
	.ranges = {"bytes", "devices"}, .group = link_group
/* clang-format on */

static const struct form ring = {
	.name = "ring",
	.text = "t0 + 2 (d - 1) / d bytes / bytes_per_ns",
	.coefs = {"t0_ns", "bytes_per_ns"},
	.base_ns = ring_ns,
	.guess = guess_ring,
	LINK,
};

static const struct form hops = {
	.name = "hops",
	.text = "t0 + device (d - 1) + 2 (d - 1) / d bytes / bytes_per_ns",
	.coefs = {"t0_ns", "bytes_per_ns", "device_ns"},
	.base_ns = hops_ns,
	.guess = guess_hops,
	LINK,
};

const struct form *const forms_allreduce[] = {&ring, &hops, NULL};
