/* plan.cpp: sequences become rows, slots and pieces of attention. */

#include "plan.h"
#include <algorithm>
#include <cinttypes>

static int64_t divide_up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

int plan_page_shift(int64_t block_tok, int bits)
{
	int shift = bits < 16 ? 5 : 4;

	while ((INT64_C(1) << shift) < block_tok)
		shift++;
	return shift;
}

int64_t plan_pages(int64_t kv_tok, int64_t block_tok, int bits, int64_t max_seqs)
{
	int64_t page_tok = INT64_C(1) << plan_page_shift(block_tok, bits);

	return std::min(divide_up(kv_tok, page_tok) + max_seqs, divide_up(kv_tok, block_tok));
}

int plan_recent_pages(int page_shift)
{
	return (int)divide_up(kivi_recent + kivi_group, INT64_C(1) << page_shift);
}

/* Blocks that work on the same tokens. */
static int64_t blocks_of_item(const plan_shape &s)
{
	return s.kv_heads * divide_up(s.group, decode_heads);
}

int64_t plan_items_max(const plan_shape &shape, int64_t n)
{
	return n + divide_up(shape.decode_blocks, blocks_of_item(shape));
}

int64_t plan_parts_max(const plan_shape &shape, int64_t n)
{
	return plan_items_max(shape, n) + plan_recent_max(shape, n);
}

/* They are too few for more than two items. */
int64_t plan_recent_max(const plan_shape &shape, int64_t n)
{
	static_assert(kivi_recent + kivi_group <= 2 * decode_unit * decode_warps);
	return shape.bits < 8 ? 2 * n : 0;
}

/* What is being planned: where the next sequence begins. */
struct cursor {
	plan &p;
	const plan_shape &shape;
	const int32_t *order;
	int64_t page, stage_page, decodes; /* taken so far */
	int64_t split_tok;		   /* tokens of an item of decodes at most */
};

static int32_t slot_of(const cursor &c, int64_t first_page, int64_t tok)
{
	int64_t page = c.order[first_page + (tok >> c.shape.page_shift)];

	return (int32_t)((page << c.shape.page_shift) +
			 (tok & ((INT64_C(1) << c.shape.page_shift) - 1)));
}

/* Tokens of a sequence of that context that KIVI has made codes: whole groups. */
static int64_t coded(const plan_shape &s, int64_t ctx)
{
	if (s.bits >= 8)
		return ctx;
	return ctx > kivi_recent ? (ctx - kivi_recent) / kivi_group * kivi_group : 0;
}

static void split(cursor &c, std::vector<decode_item> &items, decode_item whole, bool alone)
{
	int64_t n = divide_up(whole.end, c.split_tok);
	int64_t unit = decode_unit * decode_warps;
	int64_t each = divide_up(divide_up(whole.end, n), unit) * unit;
	int64_t end = whole.end;

	alone = alone && each >= end;
	for (int64_t begin = 0; begin < end; begin += each) {
		whole.begin = (int32_t)begin;
		whole.end = (int32_t)std::min(begin + each, end);
		whole.part = alone ? -1 : c.p.n_parts++;
		items.push_back(whole);
	}
}

static int32_t position_of(const plan_shape &s, int64_t tok)
{
	return (int32_t)(s.positions > 0 ? tok % s.positions : tok);
}

static void plan_decode(cursor &c, int64_t prior_tok)
{
	int64_t ctx = prior_tok + 1, codes = coded(c.shape, ctx);
	int32_t row = (int32_t)c.p.position.size(), first_part = c.p.n_parts;
	int64_t recent_page = c.decodes * plan_recent_pages(c.shape.page_shift);
	decode_item item = {row, (int32_t)c.page, 0, (int32_t)codes, 0};

	c.p.position.push_back(position_of(c.shape, prior_tok));
	c.p.stage_slot.push_back(-1);
	if (codes > 0)
		split(c, c.p.items, item, codes == ctx);
	if (codes < ctx) {
		item.first_page = (int32_t)recent_page;
		item.end = (int32_t)(ctx - codes);
		split(c, c.p.recent, item, codes == 0);
	}
	if (c.shape.bits >= 8) {
		c.p.slot.push_back(slot_of(c, c.page, prior_tok));
	} else {
		int64_t first = recent_page << c.shape.page_shift;

		/* what becomes codes leaves the front, and the others are counted from there on */
		if (coded(c.shape, prior_tok) < codes)
			c.p.flushes.push_back(
				{(int32_t)first, slot_of(c, c.page, codes - kivi_group)});
		c.p.slot.push_back((int32_t)(first + prior_tok - codes));
	}
	c.p.parts.push_back({row, first_part, c.p.n_parts - first_part});
	c.decodes++;
}

static void move_groups(const cursor &c, std::vector<kv_move> &moves, int64_t from_tok,
			int64_t to_tok, bool to_stage)
{
	int64_t stage = c.stage_page << c.shape.page_shift;

	for (int64_t tok = from_tok / kivi_group * kivi_group; tok < to_tok; tok += kivi_group) {
		int32_t pool = slot_of(c, c.page, tok), staged = (int32_t)(stage + tok);

		moves.push_back(to_stage ? kv_move{pool, staged} : kv_move{staged, pool});
	}
}

static void plan_prefill(cursor &c, const backend_seq &seq, int64_t pages)
{
	bool staged = c.shape.bits < 16;
	int32_t row = (int32_t)c.p.position.size();
	int64_t ctx = seq.prior_tok + seq.new_tok;
	int64_t stage = c.stage_page << c.shape.page_shift;

	for (int64_t tok = seq.prior_tok; tok < ctx; tok++) {
		c.p.position.push_back(position_of(c.shape, tok));
		c.p.slot.push_back(c.shape.bits < 8 ? -1 : slot_of(c, c.page, tok));
		c.p.stage_slot.push_back(staged ? (int32_t)(stage + tok) : -1);
	}
	for (int64_t i = 0; i < seq.new_tok; i += prefill_rows)
		c.p.tiles.push_back({(int32_t)(row + i),
				     (int32_t)std::min<int64_t>(seq.new_tok - i, prefill_rows),
				     (int32_t)(seq.prior_tok + i),
				     (int32_t)(staged ? c.stage_page : c.page)});
	if (!staged)
		return;
	move_groups(c, c.p.loads, 0, seq.prior_tok, true);
	/* the latest tokens would stay in 16 bits; nobody asks for them again */
	if (c.shape.bits < 8)
		move_groups(c, c.p.stores, seq.prior_tok, coded(c.shape, ctx), false);
	c.stage_page += pages;
}

static bool decodes(const backend_seq &s)
{
	return s.new_tok == 1;
}

static int64_t split_tok(const plan_shape &s, const backend_seq *seqs, size_t n)
{
	int64_t ctx = 0, unit = decode_unit * decode_warps;

	for (size_t i = 0; i < n; i++)
		if (decodes(seqs[i]))
			ctx += coded(s, seqs[i].prior_tok + 1);
	ctx = divide_up(ctx * blocks_of_item(s), s.decode_blocks);
	return std::max<int64_t>(divide_up(ctx, unit) * unit, unit);
}

static void clear(plan &p)
{
	p = plan();
	p.n_parts = 0;
}

int plan_step(plan &p, const plan_shape &shape, const int32_t *order, const backend_seq *seqs,
	      size_t n, err *e)
{
	cursor c = {p, shape, order, 0, 0, 0, split_tok(shape, seqs, n)};

	clear(p);
	for (size_t i = 0; i < n; i++) {
		int64_t ctx = seqs[i].prior_tok + seqs[i].new_tok;
		int64_t pages = divide_up(ctx, INT64_C(1) << shape.page_shift);
		bool stages = shape.bits < 16 && !decodes(seqs[i]);

		if (c.page + pages > shape.pages ||
		    (stages && c.stage_page + pages > shape.stage_pages))
			return err_set(e,
				       "the step needs more than the KV pool of %" PRId64
				       " slots (sequence %zu of %zu: %" PRId64 " tokens)",
				       shape.pages << shape.page_shift, i + 1, n, ctx);
		if (decodes(seqs[i]))
			plan_decode(c, seqs[i].prior_tok);
		else
			plan_prefill(c, seqs[i], pages);
		c.page += pages;
		if (seqs[i].sampled)
			p.sampled.push_back((int32_t)p.position.size() - 1);
	}
	std::stable_sort(p.tiles.begin(), p.tiles.end(),
			 [](const prefill_tile &a, const prefill_tile &b) {
				 return a.position + a.n > b.position + b.n;
			 });
	return 0;
}

void plan_pad(plan &p, const plan_shape &shape, size_t n, int64_t spare, int64_t recent_spare)
{
	int64_t page = shape.bits < 8 ? recent_spare : spare;

	while (p.position.size() < n) {
		int32_t row = (int32_t)p.position.size();

		p.position.push_back(0);
		p.slot.push_back((int32_t)(page << shape.page_shift));
		p.stage_slot.push_back(-1);
		p.sampled.push_back(row);
		p.parts.push_back({row, 0, 0});
	}
}
