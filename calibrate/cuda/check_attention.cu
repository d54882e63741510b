/* Attention of planned steps, against the plain loops. */

#include "calibrate/reference.h"
#include "check_cache.h"
#include "number.cuh"
#include <algorithm>
#include <cmath>
#include <numeric>

/* Pools before and after the step. */
struct pools {
	const std::vector<int32_t> &order;
	int page_shift;
	pool_copy before, after, recent, stage;
};

/* Where a sequence's tokens are to be found. */
struct place {
	int64_t page, stage_page, recent_page;
};

static void take(const pool_copy &from, int64_t slot, const attention_case &is, int64_t tok,
		 std::vector<double> &k, std::vector<double> &v)
{
	for (int h = 0; h < is.kv_heads; h++) {
		size_t at = (size_t)((tok * is.kv_heads + h) * is.head_dim);

		from.key(slot, h, &k[at]);
		from.value(slot, h, &v[at]);
	}
}

/* Keys and values as the step must have seen them. */
static void cached(const pools &p, const attention_case &is, const backend_seq &s, const place &at,
		   std::vector<double> &k, std::vector<double> &v)
{
	int64_t ctx = s.prior_tok + s.new_tok, codes = ctx;
	bool staged = s.new_tok > 1 && is.bits < 16;

	if (s.new_tok == 1 && is.bits < 8)
		codes = ctx > 128 ? (ctx - 128) / 32 * 32 : 0;
	for (int64_t tok = 0; tok < ctx; tok++) {
		int64_t slot = check_slot(p.order, at.page, tok, p.page_shift);

		if (staged && tok < s.prior_tok)
			take(p.before, slot, is, tok, k, v);
		else if (staged)
			take(p.stage, (at.stage_page << p.page_shift) + tok, is, tok, k, v);
		else if (tok < codes)
			take(p.after, slot, is, tok, k, v);
		else
			take(p.recent, (at.recent_page << p.page_shift) + tok - codes, is, tok, k,
			     v);
	}
}

/* From the queries as they were turned, and the pools. */
static std::vector<double> wanted(const pools &p, const attention_case &is,
				  const std::vector<bf16> &qkv)
{
	int64_t width = (int64_t)(is.heads + 2 * is.kv_heads) * is.head_dim, row = 0;
	int64_t out_width = (int64_t)is.heads * is.head_dim;
	std::vector<double> all;
	place at = {0, 0, 0};

	for (const backend_seq &s : is.seqs) {
		int64_t ctx = s.prior_tok + s.new_tok;
		int64_t pages = (ctx + (1 << p.page_shift) - 1) >> p.page_shift;
		size_t kv = (size_t)(ctx * is.kv_heads * is.head_dim);
		std::vector<double> k(kv), v(kv), q, out((size_t)(s.new_tok * out_width));

		for (int64_t i = 0; i < s.new_tok * out_width; i++)
			q.push_back(bf16_double(
				qkv[(size_t)((row + i / out_width) * width + i % out_width)]));
		cached(p, is, s, at, k, v);
		struct reference_attention r = {q.data(),    k.data(), v.data(),    s.new_tok,
						s.prior_tok, is.heads, is.kv_heads, is.head_dim};
		reference_attention(&r, out.data());
		all.insert(all.end(), out.begin(), out.end());
		row += s.new_tok;
		at.page += pages;
		at.stage_page += s.new_tok > 1 ? pages : 0;
		at.recent_page += s.new_tok > 1 ? 0 : plan_recent_pages(p.page_shift);
	}
	return all;
}

double check_attention_case(check &c, const attention_case &is, void (*spoil)(plan &p))
{
	int shift = plan_page_shift(is.block_tok, is.bits);
	int64_t pages = 1, recent_pages = (int64_t)is.seqs.size() * plan_recent_pages(shift);

	for (const backend_seq &s : is.seqs)
		pages += (s.prior_tok + s.new_tok + (1 << shift) - 1) >> shift;
	plan_shape shape = {is.kv_heads, is.heads / is.kv_heads, is.bits, shift, pages,
			    pages,	 is.decode_blocks,	 0};
	std::vector<int32_t> order = check_order(c, pages),
			     straight((size_t)(pages + recent_pages));
	plan p;
	err e;

	std::iota(straight.begin(), straight.end(), 0);
	if (plan_step(p, shape, order.data(), is.seqs.data(), is.seqs.size(), &e) < 0)
		return INFINITY;
	if (spoil)
		spoil(p);
	auto random = [&](int bits, int64_t n) {
		return pool_copy::random(c, is.kv_heads, is.head_dim, bits, shift, n);
	};
	pool_copy before = random(is.bits, pages);
	device_pool pool(before, order), recent(random(16, recent_pages), straight);
	device_pool stage(random(16, is.bits < 16 ? pages : 1), straight);
	device_plan on(p);
	size_t rows = p.position.size(), width = (size_t)(is.heads * is.head_dim);
	on_device<bf16> qkv(
		random_bf16(c, rows * (size_t)(is.heads + 2 * is.kv_heads) * (size_t)is.head_dim)),
		out(rows * width);
	on_device<float> part((size_t)p.n_parts * width);
	on_device<float2> top((size_t)p.n_parts * (size_t)is.heads);
	std::vector<uint32_t> turns((size_t)is.head_dim / 2);

	attention_turns(turns.data(), is.head_dim);
	on_device<uint32_t> dturns(turns);
	attention a = {is.heads, is.head_dim, is.bits, dturns.at, qkv.at, out.at,
		       part.at,	 top.at,      {},      {},	  {},	  {}};

	attention_run(a, {pool.view(), recent.view(), stage.view()}, on.arrays(), plan_count(p));
	std::vector<float> got = floats(out.read());
	pools seen = {order, shift, before, pool.read(), recent.read(), stage.read()};

	return check_error(got, wanted(seen, is, qkv.read()));
}

static void check_case(check &c, const char *what, const attention_case &is)
{
	char line[160];

	snprintf(line, sizeof(line), "%s, %d bits, %d/%d heads of %d, blocks of %d", what, is.bits,
		 is.heads, is.kv_heads, is.head_dim, (int)is.block_tok);
	check_say(c, line, check_attention_case(c, is), check_attention_bound);
}

void check_attention(check &c)
{
	std::vector<backend_seq> decodes = {{1, 0, true},   {1, 15, true},  {1, 16, true},
					    {1, 127, true}, {1, 128, true}, {1, 300, true},
					    {1, 511, true}};
	std::vector<backend_seq> prompts = {{2, 0, false}, {129, 3, true}, {64, 64, true}};
	std::vector<backend_seq> mixed = {{70, 33, true}, {1, 159, true}, {1, 40, true}};

	check_case(c, "decode attention, whole", {8, 2, 128, 16, 16, 1, decodes});
	check_case(c, "decode attention, split", {8, 1, 128, 16, 16, 64, decodes});
	check_case(c, "decode attention, split", {4, 2, 64, 16, 32, 64, decodes});
	check_case(c, "decode attention, split", {12, 1, 64, 8, 16, 64, decodes});
	check_case(c, "decode attention, split", {3, 3, 128, 8, 24, 64, decodes});
	check_case(c, "decode attention, split", {4, 1, 128, 4, 16, 64, decodes});
	check_case(c, "decode attention, split", {2, 1, 128, 2, 64, 64, decodes});
	check_case(c, "prefill attention", {4, 2, 128, 16, 16, 1, prompts});
	check_case(c, "prefill attention", {2, 2, 64, 16, 16, 1, prompts});
	for (int bits : {16, 8, 4, 2})
		check_case(c, "mixed attention", {4, 2, 128, bits, 16, 16, mixed});
}
