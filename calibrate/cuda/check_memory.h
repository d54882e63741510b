/* check_memory.h: arrays of checks on host and device. */
#ifndef CALIBRATE_CUDA_CHECK_MEMORY_H
#define CALIBRATE_CUDA_CHECK_MEMORY_H

#include "check.h"
#include <memory>
#include <platform.cuh>

/* An array on the device, of exactly so many. */
template <typename T> class on_device
{
      public:
	T *at;

	explicit on_device(const std::vector<T> &from)
	    : at((T *)memory_new(from.size() * sizeof(T))), n(from.size())
	{
		memory_write(at, from.data(), n * sizeof(T));
	}
	explicit on_device(size_t size) : on_device(std::vector<T>(size))
	{
	}
	on_device(const on_device &) = delete;
	on_device &operator=(const on_device &) = delete;
	~on_device()
	{
		memory_free(at);
	}
	std::vector<T> read() const
	{
		std::vector<T> to(n);

		memory_read(to.data(), at, n * sizeof(T));
		return to;
	}

      private:
	size_t n;
};

static inline double bf16_double(bf16 x)
{
	uint32_t bits = (uint32_t)x.bits << 16;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static inline std::vector<bf16> random_bf16(check &c, size_t n, float spread = 1)
{
	std::vector<bf16> x(n);

	for (bf16 &i : x)
		i = to_bf16(spread * check_number(c));
	return x;
}

static inline std::vector<double> doubles(const std::vector<bf16> &x)
{
	std::vector<double> to;

	for (bf16 i : x)
		to.push_back(bf16_double(i));
	return to;
}

static inline std::vector<float> floats(const std::vector<bf16> &x)
{
	std::vector<float> to;

	for (bf16 i : x)
		to.push_back((float)bf16_double(i));
	return to;
}

#endif
