/* Attention of a layer: the order in which its kernels run. */

#include "attention.h"
#include "calibrate/weights.h"
#include <cmath>

plan_counts plan_count(const plan &p)
{
	return {(int64_t)p.position.size(), (int64_t)p.tiles.size(),   (int64_t)p.loads.size(),
		(int64_t)p.stores.size(),   (int64_t)p.flushes.size(), (int64_t)p.items.size(),
		(int64_t)p.recent.size(),   (int64_t)p.parts.size(),   (int64_t)p.sampled.size()};
}

void attention_turns(uint32_t *turns, int head_dim)
{
	for (int i = 0; i < head_dim / 2; i++) {
		double radians = pow(WEIGHTS_ROPE_THETA, -2.0 * i / head_dim);

		turns[i] = (uint32_t)llround(radians / (2 * M_PI) * 0x1p32);
	}
}

/* The scale of products, times log2(e): weights are powers of two. */
static float product_scale(int head_dim)
{
	return (float)(1.4426950408889634 / sqrt((double)head_dim));
}

static int64_t qkv_width(const attention &a, const attention_layer &l)
{
	return (int64_t)(a.heads + 2 * l.pool.kv_heads) * a.head_dim;
}

void attention_decodes(const attention &a, const attention_layer &l, const plan_arrays &p,
		       const plan_counts &n, stream s)
{
	decode_args d = {a.qkv,	  qkv_width(a, l),	     l.pool, p.items,	 p.n_items,
			 a.heads, product_scale(a.head_dim), a.part, a.part_top, a.out};

	if (n.items > 0)
		launch_decode(d, a.head_dim, a.bits, n.items, s);
	d.pool = l.recent;
	d.items = p.recent;
	d.n_items = p.n_recent;
	if (n.recent > 0)
		launch_decode(d, a.head_dim, 16, n.recent, s);
	launch_combine(p.parts, d, a.head_dim, n.parts, s);
}

void attention_prompts(const attention &a, const attention_layer &l, const plan_arrays &p,
		       const plan_counts &n, stream s)
{
	prefill_args f = {a.qkv,   qkv_width(a, l), a.bits < 16 ? l.stage : l.pool,
			  p.tiles, a.heads,	    product_scale(a.head_dim),
			  a.out};

	launch_prefill(f, a.head_dim, n.tiles, s);
}

void attention_both(const attention &a, const attention_layer &l, const plan_arrays &p,
		    const plan_counts &n)
{
	bool both = n.tiles > 0 && n.parts > 0;

	if (both)
		stream_after(a.side, a.main, a.forked);
	if (n.tiles > 0)
		attention_prompts(a, l, p, n, a.main);
	if (n.parts > 0)
		attention_decodes(a, l, p, n, both ? a.side : a.main);
	if (both)
		stream_after(a.main, a.side, a.joined);
}

void attention_run(const attention &a, const attention_layer &l, const plan_arrays &p,
		   const plan_counts &n)
{
	append_args append = {a.qkv,
			      p.position,
			      p.slot,
			      a.bits < 16 ? p.stage_slot : nullptr,
			      a.bits < 8 ? l.recent : l.pool,
			      l.stage,
			      a.turns,
			      a.heads};

	if (n.loads > 0)
		launch_kv_load(l.pool, l.stage, p.loads, a.head_dim, a.bits, n.loads, a.main);
	/* before new tokens come to where the oldest of the latest lie */
	if (n.flushes > 0)
		launch_kivi_store(l.recent, l.pool, p.flushes, p.n_flushes, a.head_dim, a.bits,
				  n.flushes, a.main);
	launch_append(append, a.head_dim, a.bits, n.rows, a.main);
	if (n.stores > 0)
		launch_kivi_store(l.stage, l.pool, p.stores, p.n_stores, a.head_dim, a.bits,
				  n.stores, a.main);
	attention_both(a, l, p, n);
}
