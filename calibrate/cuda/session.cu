/* Memory of a session: counted, taken, filled. */

#include "launches.h"
#include "number.cuh"
#include "session.h"
#include <algorithm>
#include <cinttypes>
#include <numeric>

static int check_counts(const backend_want *w, err *e)
{
	const struct {
		const char *what;
		int64_t is;
	} counts[] = {{"tokens a step", w->max_tok},
		      {"sequences a step", w->max_seqs},
		      {"KV slots", w->kv_tok},
		      {"tokens a KV block", w->block_tok}};

	for (const auto &c : counts)
		if (c.is < 1 || c.is > (INT64_C(1) << 30))
			return err_set(e, "%s are %" PRId64 ": they must be from 1 to 2^30", c.what,
				       c.is);
	return 0;
}

/* A pool of one layer, with a page that belongs to nobody. */
static kv_pool place_pool(arena &at, const share &s, int bits, int page_shift, int64_t pages,
			  const int32_t *order)
{
	int64_t rows = ((pages + 1) << page_shift) * s.kv_heads;
	kv_pool p = {};

	p.k = at.take<char>(rows * s.head_dim * bits / 8);
	p.v = at.take<char>(rows * s.head_dim * bits / 8);
	if (bits < 8) {
		p.k_scales = at.take<uint32_t>(rows / kivi_group * s.head_dim);
		p.v_scales = at.take<uint32_t>(rows * (s.head_dim / kivi_group));
	}
	p.pages = order;
	p.kv_heads = (int)s.kv_heads;
	p.page_shift = page_shift;
	return p;
}

/* Pages that are taken in their order: of the stage, of the latest tokens, of timed operations. */
static int64_t straight_pages(const backend *b)
{
	int64_t slots = b->want.kv_tok + std::max(b->want.max_seqs, graph_seqs) *
						 (kivi_recent + 2 * kivi_group + b->want.block_tok);

	return std::max(slots / 16, std::max(b->stage_pages, b->recent_pages));
}

static void place(backend *b, arena &at)
{
	const backend_want &w = b->want;
	share &s = b->weights;
	int shift = b->shape.page_shift, bits = w.kv_bits;

	share_place(s, &b->shape_of, w.tp, at);
	activations_place(b->run.on, s, std::max(w.max_tok, graph_seqs),
			  std::max(w.max_seqs, graph_seqs), at);
	int64_t straight = straight_pages(b) + 1;

	b->pages = at.take<int32_t>(b->shape.pages);
	b->straight = at.take<int32_t>(straight);
	/* pages of 16 slots at least: what is timed may be more sequences in a few bits */
	b->timed_pages = straight - 1;
	b->timed_order = at.take<int32_t>(b->timed_pages);
	b->turns = at.take<uint32_t>(s.head_dim / 2);
	b->timed_ids = at.take<int32_t>(timed_ids_runs * w.max_tok);
	b->queued = at.take<bf16>(queued_numbers);
	int few_bits = plan_page_shift(w.block_tok, 2); /* what is timed may have them */
	plan_room room = {std::max(w.max_tok, graph_seqs), std::max(w.max_seqs, graph_seqs),
			  straight_pages(b) * (INT64_C(1) << few_bits) / kivi_group + 1};

	plan_buffers_place(b->plans, room, b->shape, at);
	kv_pool stage = {};

	if (bits < 16)
		stage = place_pool(at, s, 16, shift, b->stage_pages, b->straight);
	b->run.cache.clear();
	for (int64_t i = 0; i < s.layers; i++) {
		attention_layer l = {};

		l.pool = place_pool(at, s, bits, shift, b->shape.pages, b->pages);
		if (bits < 8)
			l.recent = place_pool(at, s, 16, shift, b->recent_pages, b->straight);
		l.stage = stage;
		b->run.cache.push_back(l);
	}
	int64_t parts = plan_parts_max(b->shape, room.seqs) * s.heads;

	b->run.attend.part = at.take<float>(parts * s.head_dim);
	b->run.attend.part_top = at.take<float2>(parts);
}

static void fill_pool(const kv_pool &p, int64_t pages, int64_t head_dim, int bits, uint64_t seed,
		      stream on)
{
	int64_t n = ((pages + 1) << p.page_shift) * p.kv_heads * head_dim;

	for (void *x : {p.k, p.v}) {
		if (bits == 16)
			launch_fill((bf16 *)x, n, seed++, 1, 0, on);
		else
			launch_fill_bytes(x, n * bits / 8, seed++, on);
	}
	if (bits < 8)
		for (uint32_t *x : {p.k_scales, p.v_scales})
			launch_fill_scales(x, n / kivi_group, seed++, on);
}

static void fill_timed_ids(backend *b, uint64_t seed)
{
	std::vector<int32_t> ids((size_t)(timed_ids_runs * b->want.max_tok));

	for (size_t i = 0; i < ids.size(); i++)
		ids[i] = (int32_t)(hash_64(seed, i) % (uint64_t)b->weights.vocab);
	memory_write(b->timed_ids, ids.data(), ids.size() * sizeof(int32_t));
}

static int fill(backend *b, err *e)
{
	uint64_t seed = hash_64(b->want.seed, 0);
	int64_t dim = b->weights.head_dim, pages = b->shape.pages;
	std::vector<uint32_t> turns((size_t)dim / 2);
	std::vector<int32_t> straight((size_t)(straight_pages(b) + 1));

	share_fill(b->weights, &b->shape_of, seed, b->main);
	for (attention_layer &l : b->run.cache) {
		fill_pool(l.pool, pages, dim, b->want.kv_bits, seed += 1000, b->main);
		if (b->want.kv_bits < 8)
			fill_pool(l.recent, b->recent_pages, dim, 16, seed += 1000, b->main);
	}
	if (b->want.kv_bits < 16)
		fill_pool(b->run.cache[0].stage, b->stage_pages, dim, 16, seed += 1000, b->main);
	b->order.resize((size_t)pages);
	std::iota(b->order.begin(), b->order.end(), 0);
	for (size_t i = b->order.size(); i > 1; i--)
		std::swap(b->order[i - 1], b->order[hash_64(seed, i) % i]);
	std::iota(straight.begin(), straight.end(), 0);
	attention_turns(turns.data(), (int)dim);
	memory_write(b->pages, b->order.data(), b->order.size() * sizeof(int32_t));
	memory_write(b->straight, straight.data(), straight.size() * sizeof(int32_t));
	memory_write(b->turns, turns.data(), turns.size() * sizeof(uint32_t));
	fill_timed_ids(b, hash_64(seed, 1));
	if (failed(cudaDeviceSynchronize(), "filling weights and KV pool", e) < 0)
		return -1;
	return failed_since("filling weights and KV pool", e);
}

static int take_memory(backend *b, err *e)
{
	arena at = {};
	size_t free_bytes = 0, all_bytes = 0;

	place(b, at);
	if (failed(cudaMemGetInfo(&free_bytes, &all_bytes), "asking for its memory", e) < 0)
		return -1;
	if ((int64_t)free_bytes < at.used ||
	    cudaMalloc(&b->memory, (size_t)at.used) != cudaSuccess) {
		cudaGetLastError(); /* it is told here */
		return err_set(e,
			       "%s at tp %" PRId64 " with %" PRId64 " KV slots of %d bits takes "
			       "%.1f GiB of device memory: %.1f of %.1f GiB are free%s",
			       b->shape_of.name, b->want.tp, b->want.kv_tok, b->want.kv_bits,
			       (double)at.used / 0x1p30, (double)free_bytes / 0x1p30,
			       (double)all_bytes / 0x1p30,
			       b->want.if_short ? b->want.if_short : "");
	}
	at = {b->memory, 0};
	place(b, at);
	return 0;
}

static int start_streams(backend *b, err *e)
{
	for (stream *s : {&b->main, &b->side})
		if (failed(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking), "making a stream",
			   e) < 0)
			return -1;
	for (event *v : {&b->begin, &b->end})
		if (failed(cudaEventCreate(v), "making an event", e) < 0)
			return -1;
	for (event *v : {&b->forked, &b->joined})
		if (failed(cudaEventCreateWithFlags(v, cudaEventDisableTiming), "making an event",
			   e) < 0)
			return -1;
	return 0;
}

static void set_shape(backend *b)
{
	const model &m = b->shape_of;
	const backend_want &w = b->want;
	int kv_heads = (int)model_local_kv_heads(&m, w.tp);
	int shift = plan_page_shift(w.block_tok, w.kv_bits);

	b->shape = {kv_heads, (int)(m.heads / w.tp) / kv_heads, w.kv_bits, shift,
		    plan_pages(w.kv_tok, w.block_tok, w.kv_bits, w.max_seqs), 0,
		    /* three blocks at a time on a multiprocessor, four times over, lest one of
		     * them be waited for */
		    b->gpu.multiprocessors * 3 * 4, m.positions ? m.positions : m.context};
	b->stage_pages = w.kv_bits < 16 ? b->shape.pages : 0;
	b->shape.stage_pages = b->stage_pages;
	b->recent_pages = std::max(w.max_seqs, graph_seqs) * plan_recent_pages(shift);
}

static int start(backend *b, err *e)
{
	if (hardware_find(&b->gpu, e) < 0 || start_streams(b, e) < 0)
		return -1;
	set_shape(b);
	b->tests.spread = std::max<int64_t>(3 * b->gpu.cache_bytes, 256 << 20);
	b->run.multiply = gemm_new(e);
	if (!b->run.multiply || take_memory(b, e) < 0)
		return -1;
	int64_t sampled = std::max(b->want.max_seqs, graph_seqs);

	if (failed(cudaMallocHost(&b->sampled, (size_t)sampled * sizeof(int32_t)),
		   "taking pinned memory", e) < 0)
		return -1;
	attention &a = b->run.attend;

	a.heads = (int)b->weights.heads;
	a.head_dim = (int)b->weights.head_dim;
	a.bits = b->want.kv_bits;
	a.turns = b->weights.positions ? nullptr : b->turns;
	a.qkv = b->run.on.qkv;
	a.out = b->run.on.attended;
	a.main = b->main;
	a.side = b->side;
	a.forked = b->forked;
	a.joined = b->joined;
	b->run.model = &b->weights;
	return fill(b, e);
}

int session_open(backend **b, const backend_want *w, err *e)
{
	if (check_counts(w, e) < 0 || model_check_kv_bits(w->kv_bits, e) < 0 ||
	    share_check(w->model, w->tp, w->kv_bits, e) < 0)
		return -1;
	backend *opened = new backend();

	opened->want = *w;
	opened->shape_of = *w->model;
	opened->want.model = &opened->shape_of;
	if (start(opened, e) < 0) {
		session_close(opened);
		return -1;
	}
	*b = opened;
	return 0;
}

void session_close(backend *b)
{
	if (!b)
		return;
	for (auto &g : b->graphs)
		cudaGraphExecDestroy(g.second);
	bench_release(b->tests);
	gemm_free(b->run.multiply);
	cudaFree(b->memory);
	cudaFreeHost(b->sampled);
	for (event v : {b->begin, b->end, b->forked, b->joined})
		if (v)
			cudaEventDestroy(v);
	for (stream s : {b->main, b->side})
		if (s)
			cudaStreamDestroy(s);
	delete b;
}
