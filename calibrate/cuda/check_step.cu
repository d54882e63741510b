/* Multiplications, and whole steps of small models, against the plain loops. */

#include "calibrate/reference.h"
#include "check_cache.h"
#include "forward.h"
#include "number.cuh"
#include <algorithm>
#include <cmath>
#include <numeric>

/*
 * Numbers between the layers are rounded to 16 bits, some ten times a layer by up to 2^-8 each;
 * what comes out is the sum of many such errors that do not add up all in one direction.
 */
constexpr double step_bound = 0.04;

static void check_product(check &c, gemm *g, int64_t m, int64_t n, int64_t k, bool biased, bool add)
{
	std::vector<bf16> x = random_bf16(c, (size_t)(m * k)), w = random_bf16(c, (size_t)(n * k));
	std::vector<bf16> bias = random_bf16(c, (size_t)n),
			  before = random_bf16(c, (size_t)(m * n));
	on_device<bf16> dx(x), dw(w), dbias(bias), y(before);
	std::vector<double> want((size_t)(m * n));
	char what[96];
	err e;

	snprintf(what, sizeof(what), "multiplication %d x %d x %d%s%s", (int)m, (int)n, (int)k,
		 biased ? ", bias" : "", add ? ", added" : "");
	int r = gemm_run(g, {dx.at, dw.at, biased ? dbias.at : nullptr, y.at, m, n, k, add}, {},
			 &e);
	std::vector<float> fw = floats(w), fbias = floats(bias);

	reference_gemm(doubles(x).data(), fw.data(), biased ? fbias.data() : nullptr, m, n, k,
		       want.data());
	for (int64_t i = 0; add && i < m * n; i++)
		want[(size_t)i] += bf16_double(before[(size_t)i]);
	double error = check_error(floats(y.read()), want);

	check_say(c, what, r < 0 ? INFINITY : error, 1.2 * 0x1p-8);
}

void check_gemm(check &c)
{
	err e;
	gemm *g = gemm_new(&e);

	if (!g) {
		check_say(c, e.text, INFINITY, 0);
		return;
	}
	check_product(c, g, 1, 256, 128, false, false);
	check_product(c, g, 37, 104, 264, true, false);
	check_product(c, g, 130, 64, 512, true, true);
	gemm_free(g);
}

/* A small model, its weights on both sides, and a step of it. */
struct small_step {
	model shape;
	std::vector<backend_seq> seqs;
	weights w;
	share s;
	plan p;
	std::vector<int32_t> order, ids;
	std::vector<pool_copy> cached; /* of each layer, before the step */
	int page_shift;
};

/* What the reference finds in the pool. */
static void cached_of(void *arg, int64_t layer, size_t seq, double *k, double *v)
{
	const small_step &is = *(const small_step *)arg;
	const pool_copy &pool = is.cached[(size_t)layer];
	int64_t page = 0, tok_of_page = INT64_C(1) << is.page_shift;

	for (size_t i = 0; i < seq; i++)
		page += (is.seqs[i].prior_tok + is.seqs[i].new_tok + tok_of_page - 1) / tok_of_page;
	for (int64_t tok = 0; tok < is.seqs[seq].prior_tok; tok++)
		for (int h = 0; h < pool.kv_heads; h++) {
			int64_t at = (tok * pool.kv_heads + h) * pool.head_dim;
			int64_t slot = check_slot(is.order, page, tok, is.page_shift);

			pool.key(slot, h, k + at);
			pool.value(slot, h, v + at);
		}
}

static std::vector<double> wanted(small_step &is)
{
	std::vector<std::vector<int64_t>> tokens;
	std::vector<reference_seq> seqs;
	std::vector<double> logits(is.p.sampled.size() * (size_t)is.w.vocab);
	size_t row = 0;

	for (const backend_seq &s : is.seqs) {
		tokens.emplace_back(is.ids.begin() + (long)row,
				    is.ids.begin() + (long)(row + (size_t)s.new_tok));
		row += (size_t)s.new_tok;
	}
	for (size_t i = 0; i < is.seqs.size(); i++)
		seqs.push_back({tokens[i].data(), is.seqs[i].new_tok, is.seqs[i].prior_tok,
				is.seqs[i].sampled});
	reference_step(&is.w, seqs.data(), seqs.size(), cached_of, &is, logits.data());
	return logits;
}

/* Runs it; the logits, without the rows that the vocabulary is rounded up by. */
static std::vector<float> run(check &c, small_step &is, gemm *g, int64_t pages, err *e)
{
	std::vector<std::unique_ptr<device_pool>> pools;
	int64_t rows = (int64_t)is.p.position.size(), sampled = (int64_t)is.p.sampled.size();
	int heads = (int)is.s.heads, dim = (int)is.s.head_dim;
	std::vector<uint32_t> turns((size_t)dim / 2);
	forward f = {&is.s, {}, {}, {}, g};
	arena a = {};
	std::vector<float> got;

	activations_place(f.on, is.s, rows, sampled, a);
	on_device<char> memory((size_t)a.used);
	a = {memory.at, 0};
	activations_place(f.on, is.s, rows, sampled, a);
	memory_write(f.on.ids, is.ids.data(), is.ids.size() * sizeof(int32_t));
	for (int64_t i = 0; i < is.s.layers; i++) {
		is.cached.push_back(
			pool_copy::random(c, (int)is.s.kv_heads, dim, 16, is.page_shift, pages));
		pools.emplace_back(new device_pool(is.cached.back(), is.order));
		f.cache.push_back({pools.back()->view(), {}, {}});
	}
	attention_turns(turns.data(), dim);
	on_device<uint32_t> dturns(turns);
	on_device<float> part((size_t)(is.p.n_parts * heads * dim));
	on_device<float2> top((size_t)(is.p.n_parts * heads));
	device_plan on(is.p);

	f.attend = {heads,    dim,
		    16,	      is.s.positions ? nullptr : dturns.at,
		    f.on.qkv, f.on.attended,
		    part.at,  top.at,
		    {},	      {},
		    {},	      {}};
	if (forward_run(f, on.arrays(), plan_count(is.p), e) < 0)
		return got;
	std::vector<bf16> logits((size_t)(sampled * is.s.vocab));

	memory_read(logits.data(), f.on.logits, logits.size() * sizeof(bf16));
	for (int64_t i = 0; i < sampled; i++)
		for (int64_t j = 0; j < is.w.vocab; j++)
			got.push_back((float)bf16_double(logits[(size_t)(i * is.s.vocab + j)]));
	return got;
}

static void check_step(check &c, gemm *g, const model &m)
{
	small_step is = {m,
			 {{37, 5, true}, {1, 20, true}, {3, 0, false}, {1, 0, true}},
			 {},
			 {},
			 {},
			 {},
			 {},
			 {},
			 plan_page_shift(16, 16)};
	constexpr int64_t pages = 16;
	plan_shape shape = {(int)m.kv_heads,
			    (int)(m.heads / m.kv_heads),
			    16,
			    is.page_shift,
			    pages,
			    0,
			    8,
			    m.positions ? m.positions : m.context};
	arena a = {};
	char what[128];
	err e;

	weights_make(&is.w, &m, 1, c.seed, 1);
	share_place(is.s, &m, 1, a);
	on_device<char> memory((size_t)a.used);
	a = {memory.at, 0};
	share_place(is.s, &m, 1, a);
	share_copy(is.s, &m, is.w);
	is.order = check_order(c, pages);
	if (plan_step(is.p, shape, is.order.data(), is.seqs.data(), is.seqs.size(), &e) < 0)
		c.failures++;
	for (size_t i = 0; i < is.p.position.size(); i++)
		is.ids.push_back((int32_t)(hash_64(c.seed, c.n++) % (uint64_t)is.w.vocab));
	std::vector<float> got = run(c, is, g, pages, &e);
	std::vector<double> want = wanted(is);

	snprintf(what, sizeof(what), "step of %d layers, %.63s: logits", (int)m.layers, m.name);
	check_say(c, what, got.size() == want.size() ? check_error(got, want) : INFINITY,
		  step_bound);
	weights_release(&is.w);
}

void check_steps(check &c)
{
	model llama = {}, opt = {}, qwen = {}, phi = {};
	err e;
	gemm *g = gemm_new(&e);

	if (!g) {
		check_say(c, e.text, INFINITY, 0);
		return;
	}
	llama.layers = 2;
	llama.hidden = llama.head_dim = 64;
	llama.heads = 4;
	llama.kv_heads = 2;
	llama.inter = 96;
	llama.vocab = 100;
	llama.context = 32; /* a prompt goes beyond it: positions begin anew */
	llama.gated = true;
	llama.dtype_bytes = 2;
	snprintf(llama.name, sizeof(llama.name), "SwiGLU and RMSNorm");
	opt = llama;
	opt.gated = false;
	opt.tied = opt.norm_bias = opt.qkv_bias = opt.o_bias = opt.mlp_bias = true;
	opt.positions = 48;
	snprintf(opt.name, sizeof(opt.name), "GELU, LayerNorm, biases, learned positions");
	qwen = llama;
	qwen.qk_norm = qwen.qkv_bias = true;
	qwen.head_dim = 128;
	snprintf(qwen.name, sizeof(qwen.name), "norms of heads");
	phi = opt;
	phi.tied = false;
	phi.positions = 0;
	phi.norms = 1;
	phi.head_bias = true;
	snprintf(phi.name, sizeof(phi.name), "attention and MLP side by side");
	for (const model &m : {llama, opt, qwen, phi})
		check_step(c, g, m);
	gemm_free(g);
}
