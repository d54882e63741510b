/* check_cache.h: pools of random numbers, and what stands in them by kv.cuh's words alone. */
#ifndef CALIBRATE_CUDA_CHECK_CACHE_H
#define CALIBRATE_CUDA_CHECK_CACHE_H

#include "attention.h"
#include "check_memory.h"

/* A pool as it lies in memory. */
struct pool_copy {
	int kv_heads, head_dim, bits, page_shift;
	std::vector<unsigned char> k, v;
	std::vector<uint32_t> k_scales, v_scales;

	/* Random numbers. */
	static pool_copy random(check &c, int kv_heads, int head_dim, int bits, int page_shift,
				int64_t pages);
	/* What stands in a slot; head_dim numbers. */
	void key(int64_t slot, int kv_head, double *to) const;
	void value(int64_t slot, int kv_head, double *to) const;

      private:
	double number(const std::vector<unsigned char> &from, int64_t row, int i,
		      uint32_t scale) const;
	int64_t row_of(int64_t slot, int kv_head) const;
};

/* The same on the device. */
class device_pool
{
      public:
	device_pool(const pool_copy &from, const std::vector<int32_t> &order);
	kv_pool view() const;
	pool_copy read() const;

      private:
	pool_copy is; /* its sizes */
	on_device<unsigned char> k, v;
	on_device<uint32_t> k_scales, v_scales;
	on_device<int32_t> order;
};

/* The numbers of e4m3, by its definition (OCP 8-bit floating point, 2023). */
double e4m3_double(unsigned char x);

#endif
