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

/* The plan on the device; counts follow each other. */
struct device_plan {
	on_device<int32_t> position, slot, stage_slot, sampled, counts;
	on_device<prefill_tile> tiles;
	on_device<kv_move> loads, stores, flushes;
	on_device<decode_item> items, recent;
	on_device<decode_parts> parts;

	explicit device_plan(const plan &p)
	    : position(p.position), slot(p.slot), stage_slot(p.stage_slot), sampled(p.sampled),
	      counts(std::vector<int32_t>{(int32_t)p.items.size(), (int32_t)p.recent.size(),
					  (int32_t)p.stores.size(), (int32_t)p.flushes.size()}),
	      tiles(p.tiles), loads(p.loads), stores(p.stores), flushes(p.flushes), items(p.items),
	      recent(p.recent), parts(p.parts)
	{
	}
	plan_arrays arrays() const
	{
		return {position.at, slot.at,	stage_slot.at, sampled.at,    tiles.at,
			loads.at,    stores.at, flushes.at,    items.at,      recent.at,
			parts.at,    counts.at, counts.at + 1, counts.at + 2, counts.at + 3};
	}
};

/* Pages in a random order. */
std::vector<int32_t> check_order(check &c, int64_t pages);
/* The slot of a token of a sequence whose pages begin at order[first_page]. */
int64_t check_slot(const std::vector<int32_t> &order, int64_t first_page, int64_t tok,
		   int page_shift);

/* The numbers of e4m3, by its definition (OCP 8-bit floating point, 2023). */
double e4m3_double(unsigned char x);

#endif
