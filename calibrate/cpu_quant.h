/*
 * cpu_quant.h: cached numbers in 8, 4 and 2 bits.
 *
 * 8 bits: a signed code times a scale, one of each row of a head: the largest magnitude over 127.
 *
 * 4 and 2 bits are those of KIVI (arXiv 2402.02750): a code from 0 on times a scale plus a zero,
 * one pair of each 32 numbers: of a channel over 32 tokens for keys, of a token over 32 channels
 * for values. Scale and zero have 16 bits each (bfloat16), rounded so that all numbers are within
 * range: code and number differ by half a scale at most.
 *
 * Codes are packed by rows of d: byte i of a row holds channels i, i + d / 2 (4 bits), or i, i + d
 * / 4 and so on (2 bits), the first in the lowest bits.
 */
#ifndef CALIBRATE_CPU_QUANT_H
#define CALIBRATE_CPU_QUANT_H

#include <stdint.h>
#include <string.h>

enum { QUANT_GROUP = 32 };

/* of a group; bfloat16 */
struct quant_pair {
	uint16_t scale, zero;
};

static inline float quant_float(uint16_t bfloat)
{
	uint32_t bits = (uint32_t)bfloat << 16;
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

struct quant_pair quant_pair_of(const float *x, int64_t n, int bits);
unsigned quant_code(float x, struct quant_pair p, int bits);
/* The code of a channel in a packed row of d. */
unsigned quant_unpack(const uint8_t *row, int64_t d, int64_t channel, int bits);

/* Keys of 32 tokens into as many packed rows and d pairs. */
void quant_keys(const float *const x[QUANT_GROUP], int64_t d, int bits, uint8_t *code,
		struct quant_pair *pair);
/* One token of values into a packed row and d / 32 pairs. */
void quant_values(const float *x, int64_t d, int bits, uint8_t *code, struct quant_pair *pair);
/* One row in 8 bits; returns its scale. */
float quant_row8(const float *x, int64_t d, int8_t *code);

#endif
