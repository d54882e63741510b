/* What comes into the pool, and out of it. */

#include "calibrate/reference.h"
#include "check_cache.h"
#include "number.cuh"
#include <algorithm>
#include <cmath>
#include <numeric>

double e4m3_double(unsigned char x)
{
	int exponent = x >> 3 & 15, mantissa = x & 7;
	double size = exponent > 0 ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9);

	return x & 0x80 ? -size : size;
}

pool_copy pool_copy::random(check &c, int kv_heads, int head_dim, int bits, int page_shift,
			    int64_t pages)
{
	pool_copy p = {kv_heads, head_dim, bits, page_shift, {}, {}, {}, {}};
	int64_t rows = (pages << page_shift) * kv_heads;

	for (std::vector<unsigned char> *to : {&p.k, &p.v}) {
		to->resize((size_t)(rows * head_dim * bits / 8));
		if (bits == 16) {
			std::vector<bf16> x = random_bf16(c, (size_t)(rows * head_dim));

			memcpy(to->data(), x.data(), to->size());
			continue;
		}
		for (unsigned char &byte : *to)
			byte = (unsigned char)(hash_64(c.seed, c.n++) & 0xbf);
	}
	if (bits >= 8)
		return p;
	p.k_scales.resize((size_t)(rows / kivi_group * head_dim));
	p.v_scales.resize((size_t)(rows * head_dim / kivi_group));
	for (std::vector<uint32_t> *to : {&p.k_scales, &p.v_scales})
		for (uint32_t &scale : *to)
			scale = to_bf16(0.2F + 0.1F * check_number(c)).bits |
				(uint32_t)to_bf16(check_number(c) - 0.5F).bits << 16;
	return p;
}

int64_t pool_copy::row_of(int64_t slot, int kv_head) const
{
	int64_t page_tok = INT64_C(1) << page_shift;

	return (slot / page_tok * kv_heads + kv_head) * page_tok + slot % page_tok;
}

double pool_copy::number(const std::vector<unsigned char> &from, int64_t row, int i,
			 uint32_t scale) const
{
	int64_t first = row * head_dim * bits / 8;
	int per_word = 32 / bits;
	uint32_t word;
	bf16 whole;

	if (bits == 16) {
		memcpy(&whole, &from[(size_t)(first + 2 * i)], 2);
		return bf16_double(whole);
	}
	memcpy(&word, &from[(size_t)(first + i / per_word * 4)], 4);
	/* neighbours lie 16 bits apart */
	uint32_t code = word >> (i % per_word / 2 * bits + i % 2 * 16) & ((1U << bits) - 1);

	if (bits == 8)
		return e4m3_double((unsigned char)code);
	return code * bf16_double({(uint16_t)scale}) + bf16_double({(uint16_t)(scale >> 16)});
}

void pool_copy::key(int64_t slot, int kv_head, double *to) const
{
	int64_t row = row_of(slot, kv_head);

	for (int i = 0; i < head_dim; i++)
		to[i] = number(k, row, i,
			       bits < 8 ? k_scales[(size_t)(row / 32 * head_dim + i)] : 0);
}

void pool_copy::value(int64_t slot, int kv_head, double *to) const
{
	int64_t row = row_of(slot, kv_head);

	for (int i = 0; i < head_dim; i++)
		to[i] = number(v, row, i,
			       bits < 8 ? v_scales[(size_t)(row * (head_dim / 32) + i / 32)] : 0);
}

std::vector<int32_t> check_order(check &c, int64_t n)
{
	std::vector<int32_t> order((size_t)n);

	std::iota(order.begin(), order.end(), 0);
	for (size_t i = order.size(); i > 1; i--)
		std::swap(order[i - 1], order[hash_64(c.seed, c.n++) % i]);
	return order;
}

int64_t check_slot(const std::vector<int32_t> &order, int64_t first_page, int64_t tok, int shift)
{
	return ((int64_t)order[(size_t)(first_page + (tok >> shift))] << shift) +
	       (tok & ((1 << shift) - 1));
}

device_pool::device_pool(const pool_copy &from, const std::vector<int32_t> &pages)
    : is{from.kv_heads, from.head_dim, from.bits, from.page_shift, {}, {}, {}, {}}, k(from.k),
      v(from.v), k_scales(from.k_scales), v_scales(from.v_scales), order(pages)
{
}

kv_pool device_pool::view() const
{
	return {k.at, v.at, k_scales.at, v_scales.at, order.at, is.kv_heads, is.page_shift};
}

pool_copy device_pool::read() const
{
	pool_copy p = is;

	p.k = k.read();
	p.v = v.read();
	p.k_scales = k_scales.read();
	p.v_scales = v_scales.read();
	return p;
}

/* Queries turn in place; keys turn and values do not on their way into two pools. */
static void check_append(check &c, int head_dim, int bits)
{
	constexpr int heads = 3, kv_heads = 2, rows = 3, all = heads + 2 * kv_heads;
	std::vector<int32_t> position = {0, 7, 131071}, slot = {33, -1, 62}, stage = {-1, 5, 40};
	std::vector<uint32_t> turns((size_t)head_dim / 2);
	std::vector<bf16> qkv = random_bf16(c, (size_t)rows * all * head_dim);
	pool_copy none = pool_copy::random(c, kv_heads, head_dim, bits, 5, 2);
	pool_copy none_staged = pool_copy::random(c, kv_heads, head_dim, 16, 5, 2);
	device_pool pool(none, {0, 1}), staged(none_staged, {0, 1});
	on_device<bf16> dqkv(qkv);
	on_device<int32_t> dposition(position), dslot(slot), dstage(stage);
	std::vector<double> x = doubles(qkv), want, want_pool, row((size_t)head_dim);
	std::vector<float> got, got_pool;
	char what[96];

	attention_turns(turns.data(), head_dim);
	on_device<uint32_t> dturns(turns);
	launch_append({dqkv.at, dposition.at, dslot.at, dstage.at, pool.view(), staged.view(),
		       dturns.at, heads},
		      head_dim, bits, rows, {});
	std::vector<float> after = floats(dqkv.read());
	pool_copy filled = pool.read(), filled_staged = staged.read();

	auto keep = [&](const pool_copy &from, int64_t at, int h, const double *kv, bool coarse) {
		from.key(at, h, row.data());
		(coarse ? got_pool : got)
			.insert((coarse ? got_pool : got).end(), row.begin(), row.end());
		from.value(at, h, row.data());
		(coarse ? got_pool : got)
			.insert((coarse ? got_pool : got).end(), row.begin(), row.end());
		for (int part = 0; part < 2; part++) {
			const double *from_x = kv + (part * kv_heads + h) * head_dim;

			(coarse ? want_pool : want)
				.insert((coarse ? want_pool : want).end(), from_x,
					from_x + head_dim);
		}
	};
	for (int i = 0; i < rows; i++) {
		double *q = &x[(size_t)i * all * head_dim], *kv = q + heads * head_dim;

		reference_rope(q, heads + kv_heads, head_dim, position[i]);
		want.insert(want.end(), q, kv);
		got.insert(got.end(), after.begin() + i * all * head_dim,
			   after.begin() + (i * all + heads) * head_dim);
		for (int h = 0; h < kv_heads; h++) {
			if (slot[i] >= 0)
				keep(filled, slot[i], h, kv, true);
			if (stage[i] >= 0)
				keep(filled_staged, stage[i], h, kv, false);
		}
	}
	snprintf(what, sizeof(what), "positions, heads of %d, and 16 bits into a pool", head_dim);
	check_say(c, what, check_error(got, want), 1.1 * 0x1p-8);
	snprintf(what, sizeof(what), "heads of %d, %d bits into a pool", head_dim, bits);
	/* e4m3: half of the last of 4 binary places at most */
	check_say(c, what, check_error(got_pool, want_pool), bits == 8 ? 0x1p-4 : 1.1 * 0x1p-8);
}

/* Codes lie within half a step of what they stand for, all but the rounding of the zero. */
static void check_codes(check &c, int bits)
{
	constexpr int kv_heads = 2, head_dim = 128;
	pool_copy is = pool_copy::random(c, kv_heads, head_dim, 16, 6, 2);
	device_pool from(is, {0, 1});
	device_pool to(pool_copy::random(c, kv_heads, head_dim, bits, 5, 4), {0, 1, 2, 3});
	std::vector<kv_move> moves = {{32, 96}, {64, 0}};
	on_device<kv_move> dmoves(moves);
	on_device<int32_t> n(std::vector<int32_t>{2});
	std::vector<double> was(head_dim), code(head_dim);
	double most = 0;
	char what[96];

	launch_kivi_store(from.view(), to.view(), dmoves.at, n.at, head_dim, bits, 3, {});
	pool_copy coded = to.read();
	for (const kv_move &m : moves)
		for (int i = 0; i < kivi_group * kv_heads; i++) {
			int64_t tok = i / kv_heads;

			is.key(m.from + tok, i % kv_heads, was.data());
			coded.key(m.to + tok, i % kv_heads, code.data());
			for (int j = 0; j < head_dim; j++)
				most = std::max(most, fabs(was[j] - code[j]));
			is.value(m.from + tok, i % kv_heads, was.data());
			coded.value(m.to + tok, i % kv_heads, code.data());
			for (int j = 0; j < head_dim; j++)
				most = std::max(most, fabs(was[j] - code[j]));
		}
	snprintf(what, sizeof(what), "codes of %d bits (KIVI)", bits);
	/* numbers lie in (-1, 1): the step is at most that over the codes */
	check_say(c, what, most, 0.5 * 2 / ((1 << bits) - 1) * 1.02);
}

static void check_load(check &c, int head_dim, int bits)
{
	constexpr int kv_heads = 2;
	pool_copy is = pool_copy::random(c, kv_heads, head_dim, bits, 5, 4);
	device_pool from(is, {0, 1, 2, 3});
	device_pool to(pool_copy::random(c, kv_heads, head_dim, 16, 6, 2), {0, 1});
	std::vector<kv_move> moves = {{96, 32}, {0, 64}};
	on_device<kv_move> dmoves(moves);
	std::vector<double> want, row((size_t)head_dim);
	std::vector<float> got;
	char what[96];

	launch_kv_load(from.view(), to.view(), dmoves.at, head_dim, bits, 2, {});
	pool_copy loaded = to.read();
	for (const kv_move &m : moves)
		for (int i = 0; i < kivi_group * kv_heads * 2; i++) {
			int64_t tok = i / 2 / kv_heads;
			auto number = i % 2 ? &pool_copy::value : &pool_copy::key;

			(is.*number)(m.from + tok, i / 2 % kv_heads, row.data());
			want.insert(want.end(), row.begin(), row.end());
			(loaded.*number)(m.to + tok, i / 2 % kv_heads, row.data());
			got.insert(got.end(), row.begin(), row.end());
		}
	snprintf(what, sizeof(what), "heads of %d, %d bits out of a pool", head_dim, bits);
	check_say(c, what, check_error(got, want), bits == 8 ? 0 : 1.1 * 0x1p-8);
}

void check_cache(check &c)
{
	for (int head_dim : {64, 128})
		for (int bits : {16, 8})
			check_append(c, head_dim, bits);
	for (int bits : {4, 2})
		check_codes(c, bits);
	check_load(c, 64, 8);
	for (int bits : {8, 4, 2})
		check_load(c, 128, bits);
}
