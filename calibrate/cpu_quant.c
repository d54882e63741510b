/* From numbers to codes. */

#include "calibrate/cpu_quant.h"
#include <math.h>

/* The largest bfloat16 that is not above x. */
static uint16_t bfloat_floor(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	/* the magnitude of a negative number that loses bits must grow */
	uint32_t lost = bits & 0xffff, up = lost && bits >> 31;
	return (uint16_t)((bits >> 16) + up);
}

/* The smallest one that is not below x > 0. */
static uint16_t bfloat_ceil(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return (uint16_t)((bits >> 16) + ((bits & 0xffff) != 0));
}

static float levels(int bits)
{
	return (float)((1 << bits) - 1);
}

struct quant_pair quant_pair_of(const float *x, int64_t n, int bits)
{
	float min = x[0], max = x[0];

	for (int64_t i = 1; i < n; i++) {
		min = x[i] < min ? x[i] : min;
		max = x[i] > max ? x[i] : max;
	}
	struct quant_pair p = {.zero = bfloat_floor(min)};
	float range = max - quant_float(p.zero);
	/* of equal numbers any scale does */
	p.scale = bfloat_ceil(range > 0x1p-80F ? range / levels(bits) : 1);
	return p;
}

unsigned quant_code(float x, struct quant_pair p, int bits)
{
	float code = rintf((x - quant_float(p.zero)) / quant_float(p.scale));

	code = code < 0 ? 0 : code;
	return (unsigned)(code > levels(bits) ? levels(bits) : code);
}

unsigned quant_unpack(const uint8_t *row, int64_t d, int64_t channel, int bits)
{
	int64_t bytes = d * bits / 8;

	return (unsigned)row[channel % bytes] >> (channel / bytes * bits) & ((1U << bits) - 1);
}

static void pack(uint8_t *row, int64_t d, int64_t channel, int bits, unsigned code)
{
	int64_t bytes = d * bits / 8;

	row[channel % bytes] |= (uint8_t)(code << (channel / bytes * bits));
}

void quant_keys(const float *const x[QUANT_GROUP], int64_t d, int bits, uint8_t *code,
		struct quant_pair *pair)
{
	memset(code, 0, (size_t)(QUANT_GROUP * d * bits / 8));
	for (int64_t i = 0; i < d; i++) {
		float channel[QUANT_GROUP];
		for (int64_t t = 0; t < QUANT_GROUP; t++)
			channel[t] = x[t][i];
		pair[i] = quant_pair_of(channel, QUANT_GROUP, bits);
		for (int64_t t = 0; t < QUANT_GROUP; t++)
			pack(code + t * (d * bits / 8), d, i, bits,
			     quant_code(channel[t], pair[i], bits));
	}
}

void quant_values(const float *x, int64_t d, int bits, uint8_t *code, struct quant_pair *pair)
{
	memset(code, 0, (size_t)(d * bits / 8));
	for (int64_t i = 0; i < d; i++) {
		if (i % QUANT_GROUP == 0)
			pair[i / QUANT_GROUP] = quant_pair_of(x + i, QUANT_GROUP, bits);
		pack(code, d, i, bits, quant_code(x[i], pair[i / QUANT_GROUP], bits));
	}
}

float quant_row8(const float *x, int64_t d, int8_t *code)
{
	float most = 0x1p-80F;

	for (int64_t i = 0; i < d; i++)
		most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
	for (int64_t i = 0; i < d; i++)
		code[i] = (int8_t)rintf(x[i] * (127 / most));
	return most / 127;
}
