/*
 * arena.h: parts of one block of memory, at multiples of 256 bytes. Without a block it only counts.
 */
#ifndef CALIBRATE_CUDA_ARENA_H
#define CALIBRATE_CUDA_ARENA_H

#include <cstdint>

struct arena {
	char *base;
	int64_t used; /* bytes */

	/* n of them; NULL where there is no block. */
	template <typename T> T *take(int64_t n)
	{
		T *at = base ? (T *)(base + used) : nullptr;

		used += (n * (int64_t)sizeof(T) + 255) / 256 * 256;
		return at;
	}
};

#endif
