/*
 * number.cuh: numbers of 16 and fewer bits, and sums over warps and blocks.
 *
 * Packed numbers of B bits (8: e4m3, as servers cache; 4 and 2: codes of KIVI) lie in words of 32
 * bits so that a shift and a mask give two neighbours as halves: of a word's pairs, pair i has its
 * first number from bit B i on, its second from bit 16 + B i on.
 */
#ifndef CALIBRATE_CUDA_NUMBER_CUH
#define CALIBRATE_CUDA_NUMBER_CUH

#include <platform.cuh>

constexpr int warp_lanes = 32;

DEVICE float bits_float(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

DEVICE uint32_t float_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

DEVICE float to_float(bf16 x)
{
	return bits_float((uint32_t)x.bits << 16);
}

DEVICE float low_float(uint32_t pair)
{
	return bits_float(pair << 16);
}

DEVICE float high_float(uint32_t pair)
{
	return bits_float(pair & 0xffff0000U);
}

DEVICE uint32_t low_halves(uint32_t a, uint32_t b)
{
	return (a & 0xffffU) | (b << 16);
}

DEVICE uint32_t high_halves(uint32_t a, uint32_t b)
{
	return (a >> 16) | (b & 0xffff0000U);
}

DEVICE float warp_sum(float x)
{
	for (int lanes = warp_lanes / 2; lanes > 0; lanes /= 2)
		x += shuffle_xor(x, lanes);
	return x;
}

/* Of all threads, at most 1024; each gets it. `scratch` is shared, of 32 floats. */
DEVICE float block_sum(float x, float *scratch)
{
	int warps = ((int)blockDim.x + warp_lanes - 1) / warp_lanes;
	float sum = 0;

	x = warp_sum(x);
	__syncthreads(); /* the last use of scratch is over */
	if (threadIdx.x % warp_lanes == 0)
		scratch[threadIdx.x / warp_lanes] = x;
	__syncthreads();
	for (int i = 0; i < warps; i++)
		sum += scratch[i];
	return sum;
}

/*
 * e4m3 of a float: 4 bits of exponent, 3 of mantissa, to the nearest, ties to even; 448 is the
 * largest. Scaled by a power of two the number is a float whose lowest bits are cut off, so that
 * its bits can be rounded as an integer, denormals too.
 */
DEVICE uint32_t to_e4m3(float x)
{
	uint32_t sign = (float_bits(x) >> 24) & 0x80U;
	float size = fminf(bits_float(float_bits(x) & 0x7fffffffU), 448.0F);
	uint32_t bits;

	if (size < 0.015625F) /* below 2^-6: a multiple of 2^-9 */
		return sign | (uint32_t)(int)rintf(size * 512.0F);
	bits = float_bits(size);
	bits += 0x7ffffU + ((bits >> 20) & 1U);
	return sign | ((bits >> 20) - (120U << 3));
}

/* Two of them, in bits 0 and 16, as bf16: the bits as they are mean 2^-120 of the number. */
DEVICE uint32_t pair_of_e4m3(uint32_t pair)
{
	constexpr uint32_t two_to_120 = 0x7b807b80U, minus_zero = 0x80008000U;

	return fma_bf16(((pair & 0x00800080U) << 8) | ((pair & 0x007f007fU) << 4), two_to_120,
			minus_zero);
}

/* A pair of codes times its scales plus its zeros: two different channels, or one twice. */
DEVICE uint32_t pair_of_codes(uint32_t pair, uint32_t scales, uint32_t zeros)
{
	constexpr uint32_t ones = 0x3f803f80U, minus_128 = 0xc300c300U;
	uint32_t codes = fma_bf16(pair | 0x43004300U, ones, minus_128); /* 0x4300 is 128 */

	return fma_bf16(codes, scales, zeros);
}

template <int BITS> DEVICE uint32_t pair_at(uint32_t word, int i)
{
	constexpr uint32_t mask = (1U << BITS) - 1;

	return (word >> (BITS * i)) & (mask << 16 | mask);
}

/* Where number i of a word begins. */
template <int BITS> DEVICE int bit_of(int i)
{
	return BITS * (i / 2) + 16 * (i % 2);
}

/* What a random stream gives at a place: Steele et al. 2014, the finaliser of SplitMix64. */
static __host__ __device__ inline uint64_t hash_64(uint64_t seed, uint64_t at)
{
	uint64_t z = seed + (at + 1) * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

#endif
