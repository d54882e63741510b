/* Plans on their way to the device. */

#include "failure.h"
#include "plan_buffers.h"

void plan_buffers_place(plan_arrays &a, const plan_room &room, const plan_shape &shape, arena &at)
{
	a.position = at.take<int32_t>(room.rows);
	a.slot = at.take<int32_t>(room.rows);
	a.stage_slot = at.take<int32_t>(room.rows);
	a.sampled = at.take<int32_t>(room.seqs);
	a.tiles = at.take<prefill_tile>(room.seqs + room.rows / prefill_rows);
	a.loads = at.take<kv_move>(room.moves);
	a.stores = at.take<kv_move>(room.moves);
	a.flushes = at.take<kv_move>(room.seqs);
	/* for any number of KV heads: what is timed has its own */
	a.items = at.take<decode_item>(room.seqs + shape.decode_blocks);
	a.recent = at.take<decode_item>(2 * room.seqs);
	a.parts = at.take<decode_parts>(room.seqs);
	int32_t *counts = at.take<int32_t>(4);

	a.n_items = counts;
	a.n_recent = counts + 1;
	a.n_stores = counts + 2;
	a.n_flushes = counts + 3;
}

template <typename T>
static cudaError_t write(T *to, const std::vector<T> &from, stream s, cudaError_t before)
{
	if (before != cudaSuccess || from.empty())
		return before;
	return cudaMemcpyAsync(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, s);
}

int plan_buffers_write(const plan_arrays &a, const plan &p, stream s, err *e)
{
	std::vector<int32_t> counts = {(int32_t)p.items.size(), (int32_t)p.recent.size(),
				       (int32_t)p.stores.size(), (int32_t)p.flushes.size()};
	cudaError_t r = write(a.n_items, counts, s, cudaSuccess);

	r = write(a.position, p.position, s, r);
	r = write(a.slot, p.slot, s, r);
	r = write(a.stage_slot, p.stage_slot, s, r);
	r = write(a.sampled, p.sampled, s, r);
	r = write(a.tiles, p.tiles, s, r);
	r = write(a.loads, p.loads, s, r);
	r = write(a.stores, p.stores, s, r);
	r = write(a.flushes, p.flushes, s, r);
	r = write(a.items, p.items, s, r);
	r = write(a.recent, p.recent, s, r);
	return failed(write(a.parts, p.parts, s, r), "copying a plan", e);
}
