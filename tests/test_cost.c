/* The executor `predict`: laws that the engine relies on, floors, and how near it is to
 * measurements. */

#include "calibrate/cost.h"
#include "sim/rng.h"
#include "tests/load.h"
#include "tests/testing.h"
#include <math.h>
#include <string.h>

static struct executor *predict_with(const char *model, const char *device,
				     const struct cost_want *w)
{
	struct model m = load_model(model);
	struct err e;
	struct executor *x = cost_predict_new(&m, load_device(device), w, &e);
	assert_fine(x ? 0 : -1, e);
	return x;
}

static struct executor *predict(const char *model, const char *dev, int64_t tp)
{
	return predict_with(model, dev, &(struct cost_want){.tp = tp, .kv_bits = 16});
}

static double step_ns(const struct executor *x, struct step s)
{
	return x->ops->step_ns(x, &s);
}

static double decode_ms(const struct executor *x, int64_t b)
{
	return step_ns(x, (struct step){.decode_seq = b}) / 1e6;
}

/* One prompt of n tokens, none cached. */
static struct step prompt(int64_t n)
{
	return (struct step){.prefill_tok = n,
			     .prefill_seq = 1,
			     .prefill_done_seq = 1,
			     .prefill_pairs = (double)n * (double)(n + 1) / 2};
}

/* case 25 */
static void test_decode_floors(void **state)
{
	(void)state;
	struct model m = load_model("llama-3-8b");
	assert_near(cost_decode_floor_ns(&m, load_device("a100-80g"), 1) / 1e6, 7.361, 0.0005);
	assert_near(cost_decode_floor_ns(&m, load_device("h100"), 1) / 1e6, 4.481, 0.0005);
	assert_near(cost_decode_floor_ns(&m, load_device("h200"), 1) / 1e6, 3.127, 0.0005);
}

struct pair {
	const struct model *m;
	const struct device *d;
	int64_t tp;
	struct executor *x;
};

/* Calls `check` for every built-in model on every device at tp 1, 2, 4 and 8 where that can be. */
static void for_all(void (*check)(const struct pair *p))
{
	size_t n, n_devices;
	const struct model *models = model_list(&n);
	const struct device *devices = device_list(&n_devices);
	struct err e;
	for (size_t i = 0; i < n * n_devices * 4; i++) {
		struct pair p = {.m = &models[i % n],
				 .d = &devices[i / n % n_devices],
				 .tp = (int64_t)1 << (i / n / n_devices)};
		if (model_check_tp(p.m, p.tp, &e))
			continue;
		const struct cost_want w = {.tp = p.tp, .kv_bits = 16};
		p.x = cost_predict_new(p.m, p.d, &w, &e);
		assert_fine(p.x ? 0 : -1, e);
		check(&p);
		executor_free(p.x);
	}
}

static void same_bits(const struct pair *p)
{
	for (int64_t b = 1; b <= 1024; b += 1 + b / 3) {
		for (int64_t ctx = b; ctx < 4000000; ctx = 3 * ctx + 1) {
			struct decode_cost c;
			p->x->ops->decode(p->x, &(struct decode_batch){.seq = b, .ctx = ctx}, &c);
			double got = step_ns(p->x, (struct step){.decode_seq = b,
								 .decode_ctx = ctx,
								 .window_ctx = ctx / 2});
			assert_true(got == c.step_ns + c.ctx_ns * (double)ctx +
						   c.window_ns * (double)(ctx / 2));
			assert_true(isfinite(got) && c.ctx_max == INT64_MAX);
		}
	}
}

static void test_a_decode_step_is_affine_to_the_bit(void **state)
{
	(void)state;
	for_all(same_bits);
}

/* Nothing is faster than reading weights and KV at the peak. */
static void above_floor(const struct pair *p)
{
	double floor_ns = cost_decode_floor_ns(p->m, p->d, p->tp);
	struct model_kv kv;
	model_kv(p->m, p->tp, 1, 16, &kv);
	double kv_ns =
		(double)model_kv_sequence_bytes(p->m, &kv, 100000) / p->d->peak_bytes_s * 1e9;
	double got = step_ns(p->x, (struct step){.decode_seq = 1,
						 .decode_ctx = 100000,
						 .window_ctx = p->m->window_tok});
	assert_true(got > floor_ns + kv_ns);
	/* and the arithmetic of 8192 tokens, at two operations a parameter that multiplies them */
	double params = (double)(model_active_params(p->m) - 2 * p->m->vocab * p->m->hidden);
	double flops_ns = 2 * params * 8192 / (double)p->tp / p->d->peak_flops * 1e9;
	assert_true(step_ns(p->x, prompt(8192)) > flops_ns);
}

/*
 * No step is faster than reading once, at the peak, the KV of all contexts, and the weights: of a
 * mixture of experts those of one token, without the head where nothing is sampled.
 */
static void above_all_bytes(const struct pair *p)
{
	gsl_rng *r = rng_new(11, p->m->name);
	struct model_kv kv;
	model_kv(p->m, p->tp, 1, 16, &kv);
	double head = (double)(p->m->vocab * p->m->hidden * p->m->dtype_bytes) / (double)p->tp;
	for (int i = 0; i < 100; i++) {
		bool decodes = gsl_rng_uniform_int(r, 2);
		double window = (double)p->m->window_tok;
		int64_t ctx = 1 + (int64_t)gsl_rng_uniform_int(r, 200000);
		int64_t prior = (int64_t)gsl_rng_uniform_int(r, 200000);
		int64_t q = 1 + (int64_t)gsl_rng_uniform_int(r, i % 2 ? 4 : 2000);
		struct step s = {.prefill_tok = q, .prefill_seq = 1, .prefill_prior = prior};
		s.prefill_pairs = (double)q * ((double)prior + (double)(q + 1) / 2);
		s.window_prior = (int64_t)fmin((double)prior, window);
		s.window_pairs = (double)q * (double)s.window_prior; /* fewer than there are */
		s.decode_seq = decodes;
		s.decode_ctx = decodes ? ctx : 0;
		s.window_ctx = (int64_t)fmin((double)s.decode_ctx, window);
		double bytes = (double)model_streamed_token_bytes(p->m, p->tp);
		bytes += (double)kv.full_bytes * (double)(prior + s.decode_ctx);
		bytes += (double)kv.window_bytes * (double)(s.window_prior + s.window_ctx);
		if (!decodes)
			bytes -= head;
		assert_true(step_ns(p->x, s) > bytes / p->d->peak_bytes_s * 1e9);
	}
	gsl_rng_free(r);
}

static void test_no_step_reads_faster_than_the_memory(void **state)
{
	(void)state;
	for_all(above_all_bytes);
}

static void test_nothing_is_below_the_roofline(void **state)
{
	(void)state;
	for_all(above_floor);
}

static struct step random_step(gsl_rng *r)
{
	struct step s = {.decode_seq = (int64_t)gsl_rng_uniform_int(r, 300),
			 .prefill_tok = (int64_t)gsl_rng_uniform_int(r, 4096)};
	s.prefill_seq = s.prefill_tok ? 1 + (int64_t)gsl_rng_uniform_int(r, 3) : 0;
	s.prefill_done_seq = s.prefill_seq;
	s.prefill_pairs = (double)s.prefill_tok * (double)(s.prefill_tok + 1) / 2;
	s.decode_ctx = s.decode_seq * (int64_t)gsl_rng_uniform_int(r, 5000);
	s.window_ctx = s.decode_ctx / 3;
	s.window_pairs = s.prefill_pairs / 2;
	s.prefill_prior = s.prefill_seq * (int64_t)gsl_rng_uniform_int(r, 50000);
	s.window_prior = s.prefill_prior / 4;
	return s;
}

/* More of anything never costs less. */
static void monotone(const struct pair *p)
{
	gsl_rng *r = rng_new(7, p->m->name);
	for (int i = 0; i < 200; i++) {
		struct step s = random_step(r), more[9];
		double cost = step_ns(p->x, s);
		for (int k = 0; k < 9; k++)
			more[k] = s;
		more[0].prefill_tok++;
		more[1].decode_seq++;
		more[2].decode_ctx += 1 + (int64_t)gsl_rng_uniform_int(r, 100);
		more[3].prefill_pairs += 0.5;
		more[4].prefill_done_seq++;
		more[5].window_ctx++;
		more[6].window_pairs += 0.5;
		more[7].prefill_prior++;
		more[8].window_prior++;
		for (int k = 0; k < 9; k++)
			assert_true(step_ns(p->x, more[k]) >= cost);
	}
	gsl_rng_free(r);
}

static void test_more_never_costs_less(void **state)
{
	(void)state;
	for_all(monotone);
}

/*
 * Llama-3-8B on an H200, one sequence, by hand. GEMMs (k x n): 4096 x 6144, 4096 x 4096, 4096 x
 * 28672, 14336 x 4096, each t0 + (k n + k + n) x 2 bytes at 3.95 TB/s, in 32 layers; one more t0 a
 * layer for attention; the head 4096 x 128256. A token of context: 131,072 bytes at 0.9 x 4.8 TB/s.
 */
static void test_a_decode_step_by_hand(void **state)
{
	(void)state;
	struct executor *x = predict("llama-3-8b", "h200", 1);
	double layer =
		2.0 * (25165824 + 10240 + 16777216 + 8192 + 117440512 + 32768 + 58720256 + 18432);
	double head = 2.0 * (525336576 + 132352);
	double want = 32 * (5 * 4100 + layer / 3950) + 4100 + head / 3950;
	assert_near(decode_ms(x, 1) * 1e6, want, 1e-6 * want);
	struct decode_cost c;
	x->ops->decode(x, &(struct decode_batch){.seq = 1, .ctx = 0}, &c);
	assert_near(c.ctx_ns, 131072 / 4320.0, 1e-9);
	assert_string_equal(x->notes, "roofline");
	assert_string_equal(x->ops->times, "predicted");
	executor_free(x);
}

/*
 * A prompt of 4096 on the same: all GEMMs but the head's single row are bound by arithmetic at 790
 * TF/s; attention is 4 x 4096 operations a pair and layer at half of 989 TF/s.
 */
static void test_a_prefill_step_by_hand(void **state)
{
	(void)state;
	struct executor *x = predict("llama-3-8b", "h200", 1);
	double n = 4096,
	       layer = 2 * n * (25165824 + 16777216 + 117440512 + 58720256) / 790e12 * 1e9;
	double attention = 4 * 4096 * (n * (n + 1) / 2) / 494.5e12 * 1e9;
	double head = 4100 + 2.0 * (525336576 + 132352) / 3950;
	double want = 32 * (5 * 4100 + layer + attention) + head;
	assert_near(step_ns(x, prompt(4096)), want, 1e-9 * want);
	/* in chunks without completion there is no head, and as many pairs in all */
	struct step first = {.prefill_tok = 2048, .prefill_seq = 1, .prefill_pairs = 1024.0 * 2049};
	struct step second = {.prefill_tok = 2048,
			      .prefill_seq = 1,
			      .prefill_done_seq = 1,
			      .prefill_pairs = 1024.0 * (2 * 2048 + 2049)};
	double sum = step_ns(x, first) + step_ns(x, second);
	assert_near(sum, want + 32 * 5 * 4100, 1e-9 * want);
	executor_free(x);
}

/*
 * After 130,992 cached tokens one is computed: arithmetic would be done in 0.14 ms, reading 130,992
 * x 131,072 bytes at 0.9 x 4.8 TB/s takes 3.97. Linear layers and the head are those of one decode,
 * so the whole step costs what decoding in that context does. At 2000 tokens arithmetic is longer,
 * and context costs nothing beside it.
 */
static void test_a_cached_prompt_by_hand(void **state)
{
	(void)state;
	struct executor *x = predict("llama-3.1-8b", "h200", 1);
	struct step one = {.prefill_tok = 1,
			   .prefill_seq = 1,
			   .prefill_done_seq = 1,
			   .prefill_pairs = 130993,
			   .prefill_prior = 130992};
	double read = 130992.0 * 131072 / 4320, got = step_ns(x, one);
	assert_near(got, decode_ms(x, 1) * 1e6 + read, 1);
	assert_true(got > 6.7e6);
	struct step many = prompt(2000);
	many.prefill_pairs += 2000.0 * 130992;
	double compute = step_ns(x, many);
	many.prefill_prior = 130992;
	assert_true(step_ns(x, many) == compute);
	executor_free(x);
	/* MLA: 70,272 bytes a token on each of 8 devices; a window: 128 of so many, in 12 layers */
	x = predict("deepseek-v3", "h200", 8);
	struct step none = one;
	none.prefill_pairs = none.prefill_prior = 0;
	read = 130992.0 * 70272 / 4320;
	assert_near(step_ns(x, one) - step_ns(x, none), read, 1e-6 * read);
	executor_free(x);
	x = predict("gpt-oss-20b", "h200", 1);
	one.window_pairs = one.window_prior = 128;
	read = 131120.0 * 24576 / 4320;
	assert_near(step_ns(x, one) - step_ns(x, none), read, 1e-6 * read);
	executor_free(x);
}

/*
 * Two GPUs: half of every GEMM, and 64 all-reduces of 5 us and, a token, 2 x 1/2 x 8192 bytes at
 * 450 GB/s. Constants do not shrink.
 */
static void test_tensor_parallelism(void **state)
{
	(void)state;
	struct executor *one = predict("llama-3-8b", "h200", 1),
			*two = predict("llama-3-8b", "h200", 2);
	double constant = (32 * 5 + 1) * 4100.0, reduce = 64 * (5000 + 8192 / 450.0);
	double want = constant + (decode_ms(one, 1) * 1e6 - constant) / 2 + reduce;
	assert_near(decode_ms(two, 1) * 1e6, want, 0.001 * want);
	struct decode_cost a, b;
	one->ops->decode(one, &(struct decode_batch){.seq = 4, .ctx = 0}, &a);
	two->ops->decode(two, &(struct decode_batch){.seq = 4, .ctx = 0}, &b);
	assert_near(b.ctx_ns, a.ctx_ns / 2, 1e-9);
	executor_free(one);
	executor_free(two);
}

/*
 * A mixture of experts: one token reads 8 of 128 experts, many read all: the difference is 120
 * experts of 3 x 2048 x 768 weights in 48 layers at 3.95 TB/s.
 */
static void test_experts_read(void **state)
{
	(void)state;
	struct executor *x = predict("qwen3-30b-a3b", "h200", 1);
	double expert = 2.0 * 3 * 2048 * 768 / 3950;
	double one = decode_ms(x, 1) * 1e6, two = decode_ms(x, 2) * 1e6;
	/* two tokens: 128 (1 - (15/16)^2) = 15.5 experts; other rows add under 2 % of that */
	assert_near(two - one, 48 * 7.5 * expert, 0.02 * 48 * 7.5 * expert);
	double all = decode_ms(x, 200) * 1e6;
	assert_near(all - one, 48 * 120 * expert, 0.05 * 48 * 120 * expert);
	executor_free(x);
}

/* MLA: 70,272 bytes a token, or 128 heads x 2 x (512 + 512 + 64) operations a layer if that is
 * longer. */
static void test_latent_attention(void **state)
{
	(void)state;
	struct cost_want w = {.tp = 8, .kv_bits = 16};
	struct decode_cost c;
	struct executor *x = predict_with("deepseek-v3", "h200", &w);
	x->ops->decode(x, &(struct decode_batch){.seq = 1, .ctx = 0}, &c);
	assert_near(c.ctx_ns, 70272 / 4320.0, 1e-9); /* memory: not divided by tp */
	executor_free(x);
	w.tp = 1;
	x = predict_with("deepseek-v3", "h200", &w);
	x->ops->decode(x, &(struct decode_batch){.seq = 1, .ctx = 0}, &c);
	assert_near(c.ctx_ns, 61 * 128 * 2 * 1088 / 494500.0, 1e-9);
	executor_free(x);
}

/*
 * gpt-oss-20b on an H200: 12 layers read 24,576 bytes a token of context, 12 the same a token
 * within the window; a pair costs 4 x 64 heads x 64 operations a layer. An expert's matrices are
 * 2880 x 5760 and 2880 x 2880 numbers of 4.25 bits, of which one token reads 4 of 32.
 */
static void test_windows_and_small_weights(void **state)
{
	(void)state;
	struct executor *x = predict("gpt-oss-20b", "h200", 1);
	struct decode_cost c;
	x->ops->decode(x, &(struct decode_batch){.seq = 1, .ctx = 1, .window_ctx = 1}, &c);
	assert_near(c.ctx_ns, 24576 / 4320.0, 1e-9);
	assert_near(c.window_ns, 24576 / 4320.0, 1e-9);
	struct step s = prompt(1024), wide = prompt(1024), all = prompt(1024);
	s.window_pairs = 0;
	wide.window_pairs = 100000;
	all.prefill_pairs += 100000;
	double pairs = 12 * 4 * 64 * 64 * 1e5 / 494.5e12 * 1e9;
	assert_near(step_ns(x, wide) - step_ns(x, s), pairs, 1e-6 * pairs);
	assert_near(step_ns(x, all) - step_ns(x, s), pairs, 1e-6 * pairs);
	double qkv = 2880.0 * 5120, o = 4096.0 * 2880, router = 2880.0 * 32;
	double rows =
		(2880 + 5120) + (4096 + 2880) + (2880 + 32) + 4 * (2880 + 5760) + 4 * (2880 + 2880);
	double dense = 2 * (qkv + o + router + rows), experts = 4 * 3 * 2880.0 * 2880 * 4.25 / 8;
	double head = 4100 + 2 * (2880.0 * 201088 + 2880 + 201088) / 3950;
	double want = 24 * (6 * 4100 + (dense + experts) / 3950) + head;
	assert_near(decode_ms(x, 1) * 1e6, want, 1e-9 * want);
	executor_free(x);
}

/*
 * Stages: 3 sends of 8192 bytes a token at 450 GB/s and 5 us each; 4 stages of 4 devices are more
 * than a node: 50 GB/s and 5 us; without NVLink PCIe at 25 GB/s and 20 us.
 */
static void test_sends_between_stages(void **state)
{
	(void)state;
	static const struct {
		const char *device;
		int64_t tp, pp;
		double latency_ns, gb_s;
	} cases[] = {
		{"h200", 1, 4, 5000, 450}, {"h200", 2, 4, 5000, 450},	 {"h200", 4, 4, 5000, 50},
		{"l40s", 1, 2, 20000, 25}, {"l40s", 1, 16, 20000, 12.5},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cost_want w = {.tp = cases[i].tp, .kv_bits = 16};
		struct executor *one = predict_with("llama-3-8b", cases[i].device, &w);
		w.pp = cases[i].pp;
		struct executor *many = predict_with("llama-3-8b", cases[i].device, &w);
		for (int64_t n = 1; n < 1000; n *= 3) {
			double want = (double)(w.pp - 1) *
				      (cases[i].latency_ns + 8192.0 * (double)n / cases[i].gb_s);
			double got = step_ns(many, prompt(n)) - step_ns(one, prompt(n));
			assert_near(got, want, 1e-6 * want);
		}
		executor_free(one);
		executor_free(many);
	}
}

/* A step of at most `graph` tokens costs as the next size that was captured; attention does not. */
static void test_graphs(void **state)
{
	(void)state;
	static const int64_t sizes[][2] = {{1, 1}, {2, 2},  {3, 4},   {4, 4},	 {5, 8},
					   {8, 8}, {9, 16}, {17, 24}, {99, 100}, {100, 100}};
	struct cost_want w = {.tp = 1, .kv_bits = 16};
	struct executor *plain = predict_with("mixtral-8x7b", "h100", &w);
	w.graph = 100;
	struct executor *x = predict_with("mixtral-8x7b", "h100", &w);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct step s = {.decode_seq = sizes[i][0], .decode_ctx = 5000};
		struct step as = {.decode_seq = sizes[i][1], .decode_ctx = 5000};
		assert_true(step_ns(x, s) == step_ns(plain, as));
	}
	/* a chunk of 60 of a prompt and 2 decodes: 64 rows, 2 of the head */
	struct step mixed = {.prefill_tok = 60,
			     .prefill_seq = 1,
			     .prefill_pairs = 1830,
			     .decode_seq = 2,
			     .decode_ctx = 900};
	struct step padded = mixed;
	padded.prefill_tok = 62;
	assert_true(step_ns(x, mixed) == step_ns(plain, padded));
	for (int64_t b = 101; b < 300; b += 7) { /* beyond it nothing is padded */
		struct step s = {.decode_seq = b, .decode_ctx = 5000};
		assert_true(step_ns(x, s) == step_ns(plain, s));
	}
	executor_free(plain);
	executor_free(x);
}

/*
 * Decode steps measured with kernels of real servers, as fitted by A = max(floor, line) + c b and
 * beta (calibrate/README.md): how far off this model is, at b sequences of 1000 tokens.
 */
static void test_it_is_near_measured_decode_steps(void **state)
{
	(void)state;
	static const struct {
		const char *model, *device;
		int64_t tp;
		double floor_ms, line_ms, slope_ms, seq_us, beta_us;
	} fits[] = {
		{"llama-3-8b", "h200", 1, 4.64, 2.47, 0.0099, 8.9, 0.0305},
		{"llama-3-8b", "h100", 1, 6.08, 4.49, 0.0051, 8.4, 0.0445},
		{"llama-3-8b", "a100-80g", 1, 10.8, 4.97, 0.0383, 16.7, 0.0801},
		{"llama-3-70b", "h200", 4, 11.75, 7.96, 0.0352, 13.6, 0.0190},
	};
	static const int64_t batches[] = {1, 8, 32, 64, 128, 256, 512};
	for (size_t i = 0; i < sizeof(fits) / sizeof(fits[0]); i++) {
		struct executor *x = predict(fits[i].model, fits[i].device, fits[i].tp);
		for (size_t k = 0; k < sizeof(batches) / sizeof(batches[0]); k++) {
			int64_t b = batches[k];
			double n = (double)b;
			double line = fits[i].line_ms + fits[i].slope_ms * n;
			double real = fmax(fits[i].floor_ms, line) + fits[i].seq_us * n / 1e3 +
				      fits[i].beta_us * n;
			double got =
				step_ns(x, (struct step){.decode_seq = b, .decode_ctx = 1000 * b}) /
				1e6;
			print_message("%s %s b %d: %.2f ms, measured %.2f, %+.1f %%\n",
				      fits[i].model, fits[i].device, (int)b, got, real,
				      100 * (got / real - 1));
			assert_near(got / real, 1, b <= 8 ? 0.055 : 0.18);
		}
		executor_free(x);
	}
}

static void test_an_empty_step_takes_no_time(void **state)
{
	(void)state;
	struct executor *x = predict("qwen3-30b-a3b", "h100", 2);
	assert_true(step_ns(x, (struct step){.prefill_tok = 0}) == 0);
	executor_free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode_floors),
		cmocka_unit_test(test_a_decode_step_is_affine_to_the_bit),
		cmocka_unit_test(test_nothing_is_below_the_roofline),
		cmocka_unit_test(test_no_step_reads_faster_than_the_memory),
		cmocka_unit_test(test_more_never_costs_less),
		cmocka_unit_test(test_a_decode_step_by_hand),
		cmocka_unit_test(test_a_prefill_step_by_hand),
		cmocka_unit_test(test_a_cached_prompt_by_hand),
		cmocka_unit_test(test_tensor_parallelism),
		cmocka_unit_test(test_experts_read),
		cmocka_unit_test(test_latent_attention),
		cmocka_unit_test(test_windows_and_small_weights),
		cmocka_unit_test(test_sends_between_stages),
		cmocka_unit_test(test_graphs),
		cmocka_unit_test(test_it_is_near_measured_decode_steps),
		cmocka_unit_test(test_an_empty_step_takes_no_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
