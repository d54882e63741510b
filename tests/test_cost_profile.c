/* The executor `predict` on a device that was measured: against sums worked out from the same
 * formulas, and what it says of parts that were not. */

#include "calibrate/cost.h"
#include "sim/rng.h"
#include "tests/load.h"
#include "tests/measured.h"
#include "tests/testing.h"
#include <math.h>
#include <string.h>

static struct executor *predict(const struct measured *of, const char *model,
				const struct cost_want *w)
{
	struct model m = load_model(model);
	struct err e;
	struct executor *x = cost_predict_new(&m, &of->device, w, &e);
	assert_fine(x ? 0 : -1, e);
	return x;
}

static struct executor *predict_llama(const struct measured *of)
{
	return predict(of, "llama-3-8b", &(struct cost_want){.tp = 1, .kv_bits = 16});
}

static double step_ns(const struct executor *x, struct step s)
{
	return x->ops->step_ns(x, &s);
}

static double gemm_ns(int64_t m, int64_t n, int64_t k)
{
	return measured_ns(&(struct point){.op = OP_GEMM, .bits = 16, .m = m, .n = n, .k = k});
}

static double rows_ns(int64_t m, int64_t n)
{
	return measured_ns(&(struct point){.op = OP_NORM, .m = m, .n = n});
}

/* All of Llama-3-8B but attention: 32 layers of four GEMMs, two norms, rope over 32 + 8 heads and
 * the gate; a norm at the end, the embedding; head and sampling of those that are sampled. */
static double llama_rows_ns(int64_t tok, int64_t sampled)
{
	double layer = gemm_ns(tok, 6144, 4096) + gemm_ns(tok, 4096, 4096) +
		       gemm_ns(tok, 28672, 4096) + gemm_ns(tok, 4096, 14336) +
		       2 * rows_ns(tok, 4096) + rows_ns(tok, 5120) + rows_ns(tok, 14336);
	double head = sampled ? gemm_ns(sampled, 128256, 4096) + rows_ns(sampled, 128256) : 0;
	return 32 * layer + 2 * rows_ns(tok, 4096) + head;
}

static double decode_ns(int64_t seqs, double length, int64_t longest)
{
	return measured_ns(&(struct point){.op = OP_DECODE,
					   .decode_seq = seqs,
					   .decode_ctx = llround(length * (double)seqs),
					   .longest = longest});
}

static double prefill_ns(int64_t seqs, int64_t tok, int64_t prior)
{
	return measured_ns(&(struct point){
		.op = OP_PREFILL, .prefill_seq = seqs, .new_tok = tok, .prior_tok = prior});
}

/* Prompts that are all alike. */
static struct step prompts(int64_t seqs, int64_t tok, int64_t prior)
{
	double q = (double)tok;
	return (struct step){.prefill_tok = seqs * tok,
			     .prefill_seq = seqs,
			     .prefill_done_seq = seqs,
			     .prefill_pairs = (double)seqs * q * ((double)prior + (q + 1) / 2),
			     .prefill_prior = seqs * prior};
}

/* Formulas straight in every size but the mean context, which bends at a knot: exact everywhere. */
static void test_decode_steps_are_the_sum(void **state)
{
	(void)state;
	static const int64_t batches[] = {1, 2, 5, 7, 30, 33, 100, 257, 500};
	static const int64_t lengths[] = {16, 17, 500, 2047, 2048, 2049, 6000, 16000};
	struct measured of;
	measured_init(&of);
	struct executor *x = predict_llama(&of);
	for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
		for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
			int64_t b = batches[i];
			double want =
				llama_rows_ns(b, b) + 32 * decode_ns(b, (double)lengths[k], 0);
			double got = step_ns(
				x, (struct step){.decode_seq = b, .decode_ctx = b * lengths[k]});
			assert_near(got, want, 1e-9 * want);
		}
	}
	assert_string_equal(x->notes, "mixed-sum");
	assert_string_equal(x->ops->times, "predicted");
	executor_free(x);
}

static void test_prefill_steps_are_the_sum(void **state)
{
	(void)state;
	static const int64_t cases[][3] = {{1, 100, 0},	    {1, 8192, 0},   {3, 700, 0},
					   {20, 33, 0},	    {1, 512, 3000}, {2, 256, 16000},
					   {5, 1000, 1000}, {1, 64, 5000}};
	struct measured of;
	measured_init(&of);
	struct executor *x = predict_llama(&of);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t seqs = cases[i][0], tok = cases[i][1], prior = cases[i][2];
		double want = llama_rows_ns(seqs * tok, seqs) + 32 * prefill_ns(seqs, tok, prior);
		assert_near(step_ns(x, prompts(seqs, tok, prior)), want, 1e-9 * want);
	}
	/* unequal ones without context: as many tokens and pairs as 600 and 200 make */
	struct step s = prompts(1, 600, 0), other = prompts(1, 200, 0);
	s.prefill_tok = 800;
	s.prefill_seq = s.prefill_done_seq = 2;
	s.prefill_pairs += other.prefill_pairs;
	double alike = 800 / (2 * s.prefill_pairs / 800 - 1); /* 1.6 sequences of 500 */
	assert_near(alike, 1.6, 1e-12);
	double want = llama_rows_ns(800, 2) + 32 * (4000 + 100 * alike + s.prefill_pairs / 40);
	assert_near(step_ns(x, s), want, 1e-9 * want);
	executor_free(x);
}

/* What a roofline takes for a kernel's constant is not in parts that were measured. */
static void test_constants_of_the_roofline(void **state)
{
	(void)state;
	const struct cost_want w = {.tp = 1, .kv_bits = 16};
	struct model m = load_model("llama-3-8b");
	struct measured of;
	struct err e;
	measured_init(&of);
	of.device.gemm_t0_ns = 1e6;
	struct executor *x = cost_predict_new(&m, &of.device, &w, &e);
	double ns = llama_rows_ns(1, 1) + 32 * prefill_ns(1, 1, 0);
	assert_near(step_ns(x, prompts(1, 1, 0)), ns, 1e-9 * ns);
	/* 4 bits were not measured: no slower than 16, which were */
	m.weight_bits = 4;
	struct executor *quarter = cost_predict_new(&m, &of.device, &w, &e);
	assert_true(step_ns(quarter, prompts(1, 1, 0)) == step_ns(x, prompts(1, 1, 0)));
	assert_non_null(strstr(quarter->notes, "roofline-gemm"));
	executor_free(x);
	executor_free(quarter);
}

/* A step of both: the sum, or what mixed steps were measured to take, four fifths of it. */
static void test_mixed_steps(void **state)
{
	(void)state;
	struct measured of;
	measured_init(&of);
	struct executor *sum = predict_llama(&of);
	measured_add(&of, OP_MIXED, 16);
	struct executor *x = predict_llama(&of);
	assert_string_equal(x->notes, "");
	struct step s = prompts(1, 2000, 700);
	s.decode_seq = 40;
	s.decode_ctx = 40 * 1000;
	double rows = llama_rows_ns(2040, 41);
	double attention = 32 * (prefill_ns(1, 2000, 700) + decode_ns(40, 1000, 0));
	assert_near(step_ns(sum, s), rows + attention, 1e-9 * rows);
	assert_near(step_ns(x, s), rows + 0.8 * attention, 1e-9 * rows);
	/* alone each is what it is without the other */
	s.decode_seq = s.decode_ctx = 0;
	assert_true(step_ns(x, s) == step_ns(sum, s));
	executor_free(sum);
	executor_free(x);
}

/* decode() and step_ns() give the same bits, within every piece; pieces meet, and none is left of
 * its own sum of contexts. */
static void test_pieces_to_the_bit(void **state)
{
	(void)state;
	gsl_rng *r = rng_new(3, "pieces");
	struct measured of;
	measured_init(&of);
	struct executor *x = predict_llama(&of);
	for (int i = 0; i < 3000; i++) {
		int64_t b = 1 + (int64_t)gsl_rng_uniform_int(r, i % 2 ? 10 : 600);
		int64_t ctx = b * (1 + (int64_t)gsl_rng_uniform_int(r, 30000)) - b / 2;
		struct decode_cost c;
		x->ops->decode(x, &(struct decode_batch){.seq = b, .ctx = ctx}, &c);
		assert_true(c.ctx_max >= ctx);
		int64_t last = c.ctx_max == INT64_MAX ? 2 * ctx : c.ctx_max;
		int64_t within = ctx + (int64_t)(gsl_rng_uniform(r) * (double)(last - ctx));
		const int64_t at[] = {ctx, within, last};
		for (int k = 0; k < 3; k++)
			assert_true(
				step_ns(x, (struct step){.decode_seq = b, .decode_ctx = at[k]}) ==
				c.step_ns + c.ctx_ns * (double)at[k]);
		if (c.ctx_max == INT64_MAX)
			continue;
		double here = c.step_ns + c.ctx_ns * (double)last;
		double next = step_ns(x, (struct step){.decode_seq = b, .decode_ctx = last + 1});
		assert_true(next >= here && next < here + 65);
	}
	gsl_rng_free(r);
	executor_free(x);
}

/* From a bend at 2048 and the ends of what was measured: three pieces for any batch. */
static void test_few_pieces(void **state)
{
	(void)state;
	struct measured of;
	measured_init(&of);
	struct executor *x = predict_llama(&of);
	for (int64_t b = 1; b < 400; b += 13) {
		struct decode_cost c = {.ctx_max = b - 1};
		int pieces = 0;
		for (; c.ctx_max != INT64_MAX; pieces++) {
			const struct decode_batch at = {.seq = b, .ctx = c.ctx_max + 1};

			x->ops->decode(x, &at, &c);
		}
		assert_i64(pieces, 3);
	}
	executor_free(x);
}

/* 64 sequences of 1000 tokens but for one of 5000. */
static void test_the_longest_sequence(void **state)
{
	(void)state;
	struct measured of;
	measured_init(&of);
	struct executor *x = predict_llama(&of);
	assert_true(x->longest);
	struct step s = {.decode_seq = 64, .decode_ctx = 64 * 1000 + 4000};
	double mean = 1062.5, even = step_ns(x, s);
	s.decode_longest = 5000;
	double want = 32 * MEASURED_BEYOND_NS * (5000 - mean);
	assert_near(step_ns(x, s) - even, want, 1e-6 * want);
	struct decode_cost c;
	const struct decode_batch b = {.seq = 64, .ctx = s.decode_ctx, .longest = 5000};
	x->ops->decode(x, &b, &c);
	assert_true(step_ns(x, s) == c.step_ns + c.ctx_ns * (double)b.ctx);
	s.decode_seq = 1;
	assert_near(step_ns(x, s), step_ns(x, (struct step){.decode_seq = 1, .decode_ctx = 68000}),
		    0);
	executor_free(x);
}

/* Some prompts, alike, and some decodes, alike; at least one of either. */
struct sizes {
	int64_t seqs, tok, prior, b, length;
};

static struct step step_of(const struct sizes *z)
{
	struct step s = z->seqs ? prompts(z->seqs, z->tok, z->prior) : (struct step){0};
	s.decode_seq = z->b;
	s.decode_ctx = z->b * z->length;
	return s;
}

static struct sizes random_sizes(gsl_rng *r, bool large)
{
	struct sizes z = {
		.seqs = (int64_t)gsl_rng_uniform_int(r, 3),
		.tok = 1 + (int64_t)gsl_rng_uniform_int(r, large ? 4000 : 300),
		.prior = (int64_t)gsl_rng_uniform_int(r, large ? 40000 : 500),
		.length = 1 + (int64_t)gsl_rng_uniform_int(r, large ? 30000 : 1500),
	};
	z.b = (int64_t)gsl_rng_uniform_int(r, large ? 700 : 100) + (z.seqs == 0);
	return z;
}

static void more_costs_more(const struct executor *x, gsl_rng *r, int n)
{
	for (int i = 0; i < n; i++) {
		const struct sizes z = random_sizes(r, i % 2);
		struct sizes more[5] = {z, z, z, z, z};
		double cost = step_ns(x, step_of(&z)) * (1 - 1e-12);
		assert_true(cost > 0 && isfinite(cost));
		more[0].tok++;
		more[1].prior++;
		more[2].b++;
		more[3].length++;
		more[4].seqs++;
		for (int k = 0; k < 5; k++)
			if (!(step_ns(x, step_of(&more[k])) >= cost))
				fail_msg("%d more of: %d prompts of %d after %d, %d of %d", k,
					 (int)z.seqs, (int)z.tok, (int)z.prior, (int)z.b,
					 (int)z.length);
	}
}

/* More of anything never costs less, wherever it was measured and beyond. */
static void test_more_never_costs_less(void **state)
{
	(void)state;
	gsl_rng *r = rng_new(5, "monotone");
	struct measured of;
	measured_init(&of);
	struct executor *sum = predict_llama(&of);
	measured_add(&of, OP_MIXED, 16);
	struct executor *mixed = predict_llama(&of);
	more_costs_more(sum, r, 2000);
	more_costs_more(mixed, r, 2000);
	executor_free(sum);
	executor_free(mixed);
	gsl_rng_free(r);
}

/* No decode step reads its weights and KV faster than the data sheet's bandwidth. */
static void above_the_floor(const struct executor *x, const struct model *m, const struct device *d,
			    int64_t tp, gsl_rng *r)
{
	struct model_kv kv;
	model_kv(m, tp, 1, 16, &kv);
	for (int i = 0; i < 50; i++) {
		struct sizes z = random_sizes(r, i % 2);
		z.seqs = 0;
		z.b += z.b == 0;
		double kv_ns =
			(double)kv.full_bytes * (double)(z.b * z.length) / d->peak_bytes_s * 1e9;
		assert_true(step_ns(x, step_of(&z)) >
			    0.999 * (cost_decode_floor_ns(m, d, tp) + kv_ns));
	}
}

/* The same of what omnibus comes with, for every model; whole steps stand as they were published,
 * and models in 32 bits are none that kernels of 16 were measured for. */
static void test_the_profiles_that_come_along(void **state)
{
	(void)state;
	const char *const *names;
	size_t n_models, n = profile_names(&names);
	const struct model *models = model_list(&n_models);
	gsl_rng *r = rng_new(9, "profiles");
	for (size_t i = 0; i < n; i++) {
		struct device d;
		struct err e;
		assert_fine(device_load(&d, names[i], &e), e);
		for (size_t k = 0; k < 2 * n_models; k++) {
			const struct model *m = &models[k / 2];
			const struct cost_want w = {.tp = k % 2 ? 4 : 1, .kv_bits = 16};
			if (model_check_tp(m, w.tp, &e) || d.profile->n_steps > 0)
				continue;
			struct executor *x = cost_predict_new(m, &d, &w, &e);
			assert_fine(x ? 0 : -1, e);
			more_costs_more(x, r, 100);
			if (m->dtype_bytes == 2)
				above_the_floor(x, m, &d, w.tp, r);
			executor_free(x);
		}
		device_release(&d);
	}
	gsl_rng_free(r);
}

/* Windows of 128 in 12 of 24 layers: a piece ends where the contexts within the window leave it. */
/* A chunk late in a long prompt, and a short prompt beside it: between the chunk alone and both. */
static void test_prompts_that_are_not_alike(void **state)
{
	struct device d;
	struct model m;
	struct err e;

	(void)state;
	assert_fine(device_load(&d, "h200", &e), e);
	assert_fine(model_load(&m, "llama-3-8b", &e), e);
	struct executor *x =
		cost_predict_new(&m, &d, &(struct cost_want){.tp = 1, .pp = 1, .kv_bits = 16}, &e);
	const struct step chunk = {.prefill_tok = 7717,
				   .prefill_seq = 1,
				   .prefill_pairs = 7717. * (49152 + 3859),
				   .prefill_prior = 49152};
	const struct step prompt = {
		.prefill_tok = 475, .prefill_seq = 1, .prefill_pairs = 475. * 238};
	struct step both = chunk;

	both.prefill_tok += prompt.prefill_tok;
	both.prefill_seq += prompt.prefill_seq;
	both.prefill_pairs += prompt.prefill_pairs;
	double ns = step_ns(x, both), one = step_ns(x, chunk), other = step_ns(x, prompt);

	if (ns < one || ns > one + other)
		fail_msg("%g ns, alone %g and %g", ns, one, other);
	executor_free(x);
	device_release(&d);
}

static void test_windows(void **state)
{
	(void)state;
	struct measured of;
	measured_init(&of);
	struct executor *x = predict(&of, "gpt-oss-20b", &(struct cost_want){1, 1, 16, 0, false});
	struct step none = {.decode_seq = 10, .decode_ctx = 10 * 20, .window_ctx = 10 * 20};
	struct step s = {.decode_seq = 10, .decode_ctx = 10 * 3000, .window_ctx = 10 * 128};
	double all = decode_ns(10, 3000, 0) - decode_ns(10, 20, 0);
	double within = decode_ns(10, 128, 0) - decode_ns(10, 20, 0);
	assert_near(step_ns(x, s) - step_ns(x, none), 12 * (all + within), 1e-6 * all);
	struct decode_cost c;
	/* half of them below the window: 5 tokens a step, and no bend before 2048 */
	const struct decode_batch b = {10, 10 * 100, 5, 10 * 100, 0};
	x->ops->decode(x, &b, &c);
	assert_i64(c.ctx_max, 10 * 2048);
	struct step later = {.decode_seq = 10, .decode_ctx = 1100, .window_ctx = 1050};
	assert_true(step_ns(x, later) == c.step_ns + c.ctx_ns * 1100 + c.window_ns * 1050);
	assert_string_equal(x->notes, "roofline-experts mixed-sum");
	executor_free(x);
	/* a window beyond the bend: 9 more steps of 5 tokens reach 10 x 2048 within it */
	struct model m = load_model("mistral-7b-v0.1");
	struct err e;
	x = cost_predict_new(&m, &of.device, &(struct cost_want){1, 1, 16, 0, false}, &e);
	const struct decode_batch wide = {10, 10 * 4000, 5, 10 * 2048 - 49, 0};
	x->ops->decode(x, &wide, &c);
	assert_i64(c.ctx_max, 10 * 4000 + 9 * 10);
	executor_free(x);
}

/* Parts without points are named; a device without any says so in one word. */
static void test_notes(void **state)
{
	(void)state;
	static const struct {
		enum op without;
		const char *model;
		struct cost_want want;
		const char *notes;
	} cases[] = {
		{OP_COPY_DEVICE, "llama-3-8b", {2, 1, 16, 0, false}, "mixed-sum"},
		{OP_ALLREDUCE, "llama-3-8b", {1, 1, 16, 0, false}, "mixed-sum"},
		{OP_ALLREDUCE, "llama-3-8b", {2, 1, 16, 0, false}, "roofline-allreduce mixed-sum"},
		{OP_NORM, "llama-3-8b", {1, 1, 16, 0, false}, "roofline-rows mixed-sum"},
		{OP_SAMPLE, "llama-3-8b", {1, 1, 16, 0, false}, "roofline-rows mixed-sum"},
		{OP_DECODE, "llama-3-8b", {1, 1, 16, 0, false}, "roofline-decode mixed-sum"},
		{OP_PREFILL, "llama-3-8b", {1, 1, 16, 0, false}, "roofline-prefill mixed-sum"},
		{OP_COPY_DEVICE,
		 "llama-3-8b",
		 {1, 1, 8, 0, false},
		 "roofline-decode roofline-prefill mixed-sum"},
		{OP_COPY_DEVICE, "llama-3-8b", {1, 4, 16, 0, false}, "roofline-sends mixed-sum"},
		{OP_GEMM,
		 "llama-3-8b",
		 {1, 1, 16, 0, false},
		 "roofline-gemm roofline-head mixed-sum"},
		{OP_COPY_DEVICE,
		 "mixtral-8x7b",
		 {1, 1, 16, 0, false},
		 "roofline-experts mixed-sum"},
		{OP_COPY_DEVICE,
		 "deepseek-v3",
		 {8, 1, 16, 0, false},
		 "roofline-experts roofline-mla"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct measured of;
		measured_init(&of);
		measured_drop(&of, cases[i].without);
		struct executor *x = predict(&of, cases[i].model, &cases[i].want);
		assert_string_equal(x->notes, cases[i].notes);
		executor_free(x);
	}
	struct measured of;
	measured_init(&of);
	of.profile.n_fits = 0;
	struct executor *x = predict_llama(&of);
	of.device.profile = NULL;
	struct executor *plain = predict_llama(&of);
	assert_string_equal(x->notes, "roofline");
	assert_null(plain->ops->outside);
	struct step s = {.decode_seq = 3, .decode_ctx = 700};
	assert_true(step_ns(x, s) == step_ns(plain, s));
	executor_free(x);
	executor_free(plain);
}

/* A part alone changes what it is: the rest of the step is that of the roofline, to the bit. */
static void test_a_missing_part_is_the_roofline(void **state)
{
	(void)state;
	struct measured of;
	measured_init(&of);
	measured_drop(&of, OP_DECODE);
	struct executor *x = predict_llama(&of);
	double want = llama_rows_ns(3, 3) + 32 * 4100 + 9000 * 131072 / 4320.0;
	assert_near(step_ns(x, (struct step){.decode_seq = 3, .decode_ctx = 9000}), want,
		    1e-9 * want);
	executor_free(x);
}

static bool outside(const struct executor *x, struct step s)
{
	bool is = x->ops->outside(x, &s);
	if (s.prefill_tok == 0) {
		struct decode_cost c;
		x->ops->decode(x, &(struct decode_batch){.seq = s.decode_seq, .ctx = s.decode_ctx},
			       &c);
		assert_true(c.outside == is);
	}
	return is;
}

/* A twentieth beyond the largest size still counts as measured. */
static void test_beyond_what_was_measured(void **state)
{
	(void)state;
	struct measured of;
	measured_init(&of);
	struct executor *x = predict_llama(&of);
	assert_false(outside(x, (struct step){.decode_seq = 1, .decode_ctx = 1}));
	assert_false(outside(x, (struct step){.decode_seq = 500, .decode_ctx = 500 * 16000}));
	assert_false(outside(x, (struct step){.decode_seq = 537, .decode_ctx = 53700}));
	assert_true(outside(x, (struct step){.decode_seq = 538, .decode_ctx = 53800}));
	assert_false(outside(x, (struct step){.decode_seq = 3, .decode_ctx = 3 * 17203}));
	assert_true(outside(x, (struct step){.decode_seq = 3, .decode_ctx = 3 * 17203 + 1}));
	assert_false(outside(x, prompts(1, 8601, 0)));
	assert_true(outside(x, prompts(1, 8602, 0)));
	assert_true(outside(x, prompts(3, 4000, 0)));
	assert_false(outside(x, prompts(60, 100, 0)));
	assert_true(outside(x, prompts(70, 100, 0)));
	assert_false(outside(x, prompts(1, 100, 17000)));
	assert_true(outside(x, prompts(1, 100, 18000)));
	executor_free(x);
	/* a shape that nothing like it was measured of has no limit and a note */
	of.fit[0].range[of.fit[0].n_ranges++] = (struct range){"n", 128, 30000};
	x = predict_llama(&of);
	assert_string_equal(x->notes, "extrapolated-head mixed-sum");
	assert_false(outside(x, (struct step){.decode_seq = 537, .decode_ctx = 53700}));
	executor_free(x);
}

/* Tokens x cells x 2 ns instead of attention: k steps of b sequences have a closed form. */
static void test_unified_scope(void **state)
{
	(void)state;
	struct measured of;
	measured_init(&of);
	of.device.scope_cell_ns = 2;
	struct executor *x = predict_llama(&of);
	struct step s = prompts(2, 50, 400);
	s.decode_seq = 10;
	s.decode_ctx = 5000;
	double want = llama_rows_ns(110, 12) + 110 * (5000 + 800 + 100) * 2.0;
	assert_near(step_ns(x, s), want, 1e-9 * want);
	struct decode_cost c;
	x->ops->decode(x, &(struct decode_batch){.seq = 10, .ctx = 5000}, &c);
	assert_i64(c.ctx_max, INT64_MAX);
	assert_true(c.ctx_ns == 20);
	double sum = 0;
	for (int64_t k = 0; k < 1000; k++)
		sum += step_ns(x, (struct step){.decode_seq = 10, .decode_ctx = 5000 + 10 * k});
	want = 1000 * c.step_ns + 20 * (1000 * 5000.0 + 10 * 1000 * 999 / 2.0);
	assert_near(sum, want, 1e-9 * want);
	assert_string_equal(x->notes, "");
	executor_free(x);
	/* a device of one's own may say so without a profile */
	of.device.profile = NULL;
	x = predict_llama(&of);
	of.device.scope_cell_ns = 0;
	struct executor *plain = predict_llama(&of);
	s.decode_ctx = s.decode_seq = 0;
	s.prefill_prior = 0;
	struct step empty = s;
	empty.prefill_pairs = 0;
	/* the roofline's call of each attention kernel goes, too */
	assert_near(step_ns(x, s) - (step_ns(plain, empty) - 32 * 4100), 100 * 100 * 2.0, 1);
	assert_string_equal(x->notes, "roofline");
	executor_free(plain);
	executor_free(x);
}

/* The same in a file of a device of one's own. */
static void test_scope_of_a_file(void **state)
{
	(void)state;
	static const struct {
		const char *fields, *wrong;
	} cases[] = {
		{"\"scope_cell_ns\": 2", NULL},
		{"\"scope_cell_ns\": 2, \"attention_scope\": \"unified\"", NULL},
		{"\"attention_scope\": \"sequence\"", NULL},
		{"\"attention_scope\": \"unified\"", "scope_cell_ns 0"},
		{"\"scope_cell_ns\": 2, \"attention_scope\": \"sequence\"", "scope_cell_ns 2"},
		{"\"attention_scope\": \"all\"", "sequence or unified"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[512];
		struct device d;
		struct err e;
		snprintf(text, sizeof(text),
			 "{\"memory_bytes\": 80000000000, \"peak_bytes_s\": 1e12, \"peak_flops\": "
			 "1e14, \"pcie_bytes_s\": 1e10, %s}",
			 cases[i].fields);
		int result = device_load(&d, testing_file("scope.json", text), &e);
		if (cases[i].wrong) {
			assert_refused(result, e, cases[i].wrong);
			continue;
		}
		assert_fine(result, e);
		assert_near(d.scope_cell_ns, i < 2 ? 2 : 0, 0);
		device_release(&d);
	}
}

/* 8-bit weights ask for what was measured in 8 bits; the head stays in 16. 4 were not measured. */
static void test_weight_bits(void **state)
{
	(void)state;
	struct measured of;
	struct err e;
	measured_init(&of);
	measured_add(&of, OP_GEMM, 8);
	const struct cost_want w = {.tp = 1, .kv_bits = 16};
	struct model m = load_model("llama-3-8b");
	struct executor *x = cost_predict_new(&m, &of.device, &w, &e);
	m.weight_bits = 8;
	struct executor *half = cost_predict_new(&m, &of.device, &w, &e);
	m.weight_bits = 4;
	struct executor *quarter = cost_predict_new(&m, &of.device, &w, &e);
	struct step s = {.decode_seq = 1, .decode_ctx = 100};
	double layer = 4096.0 * 6144 + 4096.0 * 4096 + 4096.0 * 28672 + 14336.0 * 4096;
	double less = step_ns(x, s) - step_ns(half, s);
	assert_near(less, 32 * layer / 4000, 1e-6 * less);
	assert_string_equal(half->notes, "mixed-sum");
	assert_string_equal(quarter->notes, "roofline-gemm mixed-sum");
	/* 4.5 bits at 3.95 TB/s, and activations of 16 bits, instead of 16 at 4 */
	double sides = 4096 + 6144 + 4096 + 4096 + 4096 + 28672 + 14336 + 4096;
	double was = 4 * 3000 + layer * 2 / 4000 + 2 * layer / 800000;
	double is = 4 * 4100 + (layer * 4.5 / 8 + sides * 2) / 3950;
	less = step_ns(x, s) - step_ns(quarter, s);
	assert_near(less, 32 * (was - is), 1e-6 * less);
	executor_free(x);
	executor_free(half);
	executor_free(quarter);
}

/* What whole steps took beyond the sum of their parts, a layer and a token of it. */
static void take_form(struct fit *f, const char *name, const double *values)
{
	f->form = form_find(f->op, name);
	for (f->n_coefs = 0; f->form->coefs[f->n_coefs]; f->n_coefs++)
		f->coef[f->n_coefs] = (struct coef){.name = f->form->coefs[f->n_coefs],
						    .value = values[f->n_coefs]};
}

static struct fit *gemm_of(struct measured *of, int bits)
{
	for (size_t i = 0; i < of->profile.n_fits; i++)
		if (of->fit[i].op == OP_GEMM && of->fit[i].bits == bits)
			return &of->fit[i];
	fail_msg("no GEMM of %d bits", bits);
	return NULL;
}

/* What the kernel before does is left out: m k / 500 ns, and 9 us of a constant beyond 4. */
static void test_quantised_by_the_kernel_before(void **state)
{
	(void)state;
	static const double plain[] = {4000, 4000, 8e5, 1},
			    quantised[] = {13000, 4000, 8e5, 1, 500};
	const struct cost_want own = {.tp = 1, .kv_bits = 16};
	const struct cost_want fused = {.tp = 1, .kv_bits = 16, .fused_quant = true};
	struct model m = load_model("llama-3-8b");
	struct measured of;
	struct err e;
	measured_init(&of);
	measured_add(&of, OP_GEMM, 8);
	const struct fit by_hand = *gemm_of(&of, 16);
	take_form(gemm_of(&of, 8), "quantised", quantised);
	take_form(gemm_of(&of, 16), "pnorm", plain);
	/* weights of 16 bits are not quantised */
	struct executor *x = cost_predict_new(&m, &of.device, &own, &e);
	struct executor *y = cost_predict_new(&m, &of.device, &fused, &e);
	struct step s = prompts(2, 256, 0);
	assert_true(step_ns(x, s) == step_ns(y, s));
	assert_string_equal(y->notes, x->notes);
	executor_free(x);
	executor_free(y);
	m.weight_bits = 8;
	x = cost_predict_new(&m, &of.device, &own, &e);
	y = cost_predict_new(&m, &of.device, &fused, &e);
	double less = 32 * (4 * 9000.0 + 512.0 * (4096 + 4096 + 4096 + 14336) / 500);
	assert_near(step_ns(x, s) - step_ns(y, s), less, 1e-6 * less);
	assert_null(strstr(x->notes, "fused-quant"));
	assert_non_null(strstr(y->notes, "fused-quant"));
	executor_free(x);
	executor_free(y);
	/* no constant of GEMMs without the pass to compare with: only what goes by its size */
	*gemm_of(&of, 16) = by_hand;
	x = cost_predict_new(&m, &of.device, &own, &e);
	y = cost_predict_new(&m, &of.device, &fused, &e);
	less -= 32 * 4 * 9000.0;
	assert_near(step_ns(x, s) - step_ns(y, s), less, 1e-6 * less);
	executor_free(x);
	executor_free(y);
}

static void test_the_rest(void **state)
{
	(void)state;
	struct measured of;
	measured_init(&of);
	of.profile.rest = (struct rest){.layer_ns = -300, .layer_tok_ns = 7, .points = 9};
	struct executor *x = predict_llama(&of);
	double want = llama_rows_ns(20, 20) + 32 * decode_ns(20, 300, 0) + 32 * (-300 + 20 * 7);
	assert_near(step_ns(x, (struct step){.decode_seq = 20, .decode_ctx = 6000}), want,
		    1e-9 * want);
	executor_free(x);
}

/* Two GPUs: 64 all-reduces of 8192 bytes a token. */
static void test_reduces(void **state)
{
	(void)state;
	struct measured of;
	measured_init(&of);
	const struct cost_want two = {.tp = 2, .kv_bits = 16};
	struct executor *x = predict(&of, "llama-3-8b", &two);
	measured_drop(&of, OP_ALLREDUCE);
	struct executor *plain = predict(&of, "llama-3-8b", &two);
	struct step s = prompts(1, 1000, 0);
	double roofline = 64 * (5000 + 1000 * 8192 / 450.0);
	double want = 64 * (5000 + 1000 * 8192 / 400.0);
	assert_near(step_ns(x, s) - step_ns(plain, s), want - roofline, 1e-3 * roofline);
	executor_free(x);
	executor_free(plain);
}

/* DistServe's OPT-13B on one A100, as published (OSDI'24, appendix A): prefill 18.1025 + 0.101912 N
 * + 7.12226e-6 S ms, decode 19.9347 + 0.000626936 ctx + 0.038507 b up to 95, above it 7.16619 +
 * 0.0005798 ctx + 0.158311 b. */
static const struct whole_steps opt_13b = {
	.model = "opt-13b",
	.tp = 1,
	.prefill_ns = {18.1025e6, 0.101912e6, 7.12226},
	.small_max = 95,
	.small_ns = {19.9347e6, 626.936, 38507},
	.large_ns = {7.16619e6, 579.8, 158311},
	.mixed_share = 0.25,
};

static void test_whole_steps(void **state)
{
	(void)state;
	struct measured of;
	measured_init(&of);
	of.profile.n_fits = 0;
	struct whole_steps steps[2] = {opt_13b, opt_13b};
	steps[1].tp = 2;
	of.profile.steps = steps;
	of.profile.n_steps = 2;
	struct executor *x = predict(&of, "opt-13b", &(struct cost_want){.tp = 1, .kv_bits = 16});
	assert_string_equal(x->notes, "");
	/* two prompts of 512 and one of 1000: S = 2 x 512^2 + 1000^2 = 1,524,288 */
	struct step s = prompts(2, 512, 0), one = prompts(1, 1000, 0);
	s.prefill_tok += 1000;
	s.prefill_seq += 1;
	s.prefill_pairs += one.prefill_pairs;
	double prefill = 18.1025e6 + 2024 * 0.101912e6 + 1524288 * 7.12226;
	assert_near(step_ns(x, s), prefill, 1e-6);
	struct step few = {.decode_seq = 95, .decode_ctx = 40000};
	struct step many = {.decode_seq = 96, .decode_ctx = 40000};
	double small = 19.9347e6 + 40000 * 626.936 + 95 * 38507;
	assert_near(step_ns(x, few), small, 1e-6);
	assert_near(step_ns(x, many), 7.16619e6 + 40000 * 579.8 + 96 * 158311, 1e-6);
	struct decode_cost c;
	x->ops->decode(x, &(struct decode_batch){.seq = 95, .ctx = 40000}, &c);
	assert_true(c.step_ns + c.ctx_ns * 40000 == step_ns(x, few));
	s.decode_seq = 95;
	s.decode_ctx = 40000;
	assert_near(step_ns(x, s), prefill + 0.25 * small, 1e-6);
	assert_true(step_ns(x, (struct step){0}) == 0);
	assert_false(outside(x, many));
	assert_false(outside(x, prompts(1, 1000, 1)));
	executor_free(x);
	/* where it is known what was measured */
	steps[0].batch.max = 128;
	steps[0].context.max = 1500;
	steps[0].prompt_tok.max = 4000;
	x = predict(&of, "opt-13b", &(struct cost_want){.tp = 1, .kv_bits = 16});
	assert_false(outside(x, (struct step){.decode_seq = 128, .decode_ctx = 128 * 1500}));
	assert_true(outside(x, (struct step){.decode_seq = 128, .decode_ctx = 128 * 1500 + 1}));
	assert_true(outside(x, (struct step){.decode_seq = 129, .decode_ctx = 1290}));
	assert_true(outside(x, prompts(1, 4001, 0)));
	assert_false(outside(x, prompts(1, 4000, 0)));
	assert_true(outside(x, prompts(1, 1000, 1))); /* a chunk that no table has */
	executor_free(x);
	/* what it does not have */
	struct err e;
	const struct cost_want two = {.tp = 2, .kv_bits = 16}, kv8 = {.tp = 2, .kv_bits = 8};
	struct model m = load_model("opt-66b");
	x = cost_predict_new(&m, &of.device, &two, &e);
	assert_refused(x ? 0 : -1, e, "opt-13b at tp 1, 2; none of opt-66b at tp 2");
	assert_true(cost_decode_step_ns(&m, &of.device, 2, 1, 100, &e) < 0);
	assert_refused(cost_predict_check(&m, &of.device, &two, &e), e, "none of opt-66b at tp 2");
	m = load_model("opt-13b");
	assert_fine(cost_predict_check(&m, &of.device, &two, &e), e);
	assert_refused(cost_predict_check(&m, &of.device, &kv8, &e), e,
		       "of weights and KV in 16 bits: nothing forecasts --kv-bits 8");
	m.weight_bits = 4;
	assert_refused(cost_predict_check(&m, &of.device, &two, &e), e,
		       "nothing forecasts --weight-bits 4");
	measured_init(&of);
	m = load_model("opt-66b");
	assert_fine(cost_predict_check(&m, &of.device, &two, &e), e);
}

static void assert_steps_notes(const struct whole_steps *s, int64_t pp, const char *notes)
{
	struct measured of;
	measured_init(&of);
	of.profile.n_fits = 0;
	struct whole_steps own = *s;
	of.profile.steps = &own;
	of.profile.n_steps = 1;
	const struct cost_want w = {.tp = 1, .pp = pp, .kv_bits = 16};
	struct executor *x = predict(&of, "opt-13b", &w);
	assert_string_equal(x->notes, notes);
	executor_free(x);
}

/* A share of 1 is a sum that nobody measured, but where mixed steps were, and had that share. */
static void test_notes_of_whole_steps(void **state)
{
	(void)state;
	struct whole_steps s = opt_13b;
	assert_steps_notes(&s, 1, "");
	assert_steps_notes(&s, 2, "roofline-sends");
	s.mixed_share = 1;
	assert_steps_notes(&s, 1, "mixed-sum");
	assert_steps_notes(&s, 2, "roofline-sends mixed-sum");
	s.mixed_held_out.folds = 5;
	assert_steps_notes(&s, 1, "");
	struct executor *x;
	struct device d;
	struct err e;
	struct model m = load_model("opt-13b");
	assert_fine(device_load(&d, "a100-80g-distserve", &e), e);
	x = cost_predict_new(&m, &d, &(struct cost_want){.tp = 1, .kv_bits = 16}, &e);
	assert_non_null(x);
	assert_string_equal(x->notes, "mixed-sum");
	executor_free(x);
	device_release(&d);
}

static void test_a_decode_step_is_asked_for(void **state)
{
	(void)state;
	struct measured of;
	measured_init(&of);
	struct model m = load_model("llama-3-8b");
	struct err e;
	double want = llama_rows_ns(4, 4) + 32 * decode_ns(4, 500, 0);
	assert_near(cost_decode_step_ns(&m, &of.device, 1, 4, 2000, &e), want, 1e-9 * want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode_steps_are_the_sum),
		cmocka_unit_test(test_prefill_steps_are_the_sum),
		cmocka_unit_test(test_constants_of_the_roofline),
		cmocka_unit_test(test_mixed_steps),
		cmocka_unit_test(test_pieces_to_the_bit),
		cmocka_unit_test(test_few_pieces),
		cmocka_unit_test(test_the_longest_sequence),
		cmocka_unit_test(test_more_never_costs_less),
		cmocka_unit_test(test_the_profiles_that_come_along),
		cmocka_unit_test(test_prompts_that_are_not_alike),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_a_missing_part_is_the_roofline),
		cmocka_unit_test(test_beyond_what_was_measured),
		cmocka_unit_test(test_unified_scope),
		cmocka_unit_test(test_scope_of_a_file),
		cmocka_unit_test(test_weight_bits),
		cmocka_unit_test(test_quantised_by_the_kernel_before),
		cmocka_unit_test(test_the_rest),
		cmocka_unit_test(test_reduces),
		cmocka_unit_test(test_whole_steps),
		cmocka_unit_test(test_notes_of_whole_steps),
		cmocka_unit_test(test_a_decode_step_is_asked_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
