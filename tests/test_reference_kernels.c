/* The reference of kernels in double precision, against values worked out by hand. */

#include "calibrate/reference.h"
#include "tests/load.h"
#include "tests/testing.h"
#include <math.h>
#include <string.h>

#define NEAR 1e-12

static void products(void **state)
{
	(void)state;
	const double x[] = {1, 2, 3, 4, 5, 6};
	const float w[] = {1, 0, -1, 2, 2, 2}, bias[] = {10, 20};
	double y[4];

	reference_gemm(x, w, NULL, 2, 2, 3, y);
	assert_near(y[0], 1 - 3, 0);
	assert_near(y[1], 2 + 4 + 6, 0);
	assert_near(y[2], 4 - 6, 0);
	assert_near(y[3], 8 + 10 + 12, 0);
	reference_gemm(x, w, bias, 2, 2, 3, y);
	assert_near(y[0], 8, 0);
	assert_near(y[3], 50, 0);
}

/* (3, 4): the mean square is 25 / 2; the mean 7 / 2, the variance 1 / 4. */
static void norms(void **state)
{
	(void)state;
	double x[] = {1, 1}, y[2];
	const double add[] = {2, 3};
	const float weight[] = {1, 2}, bias[] = {5, 6};

	reference_norm(x, add, weight, NULL, 1, 2, y);
	assert_near(x[0], 3, 0);
	assert_near(x[1], 4, 0);
	assert_near(y[0], 3 / sqrt(12.5 + 1e-5), NEAR);
	assert_near(y[1], 2 * 4 / sqrt(12.5 + 1e-5), NEAR);
	reference_norm(x, NULL, weight, bias, 1, 2, y);
	assert_near(y[0], 5 - 0.5 / sqrt(0.25 + 1e-5), NEAR);
	assert_near(y[1], 6 + 2 * 0.5 / sqrt(0.25 + 1e-5), NEAR);
}

/* Pairs are (0, 2) and (1, 3); the second turns a hundredth as fast: 10000 to the power of -1/2. */
static void rotations(void **state)
{
	(void)state;
	double x[] = {1, 1, 0, 0, /* the next head */ 0, 0, 2, 0};

	reference_rope(x, 2, 4, 3);
	assert_near(x[0], cos(3), NEAR);
	assert_near(x[2], sin(3), NEAR);
	assert_near(x[1], cos(0.03), NEAR);
	assert_near(x[3], sin(0.03), NEAR);
	assert_near(x[4], -2 * sin(3), NEAR);
	assert_near(x[6], 2 * cos(3), NEAR);
}

/* SiLU of ln 3 is ln 3 x 3 / 4. GELU of 1 by tanh: 0.841192. */
static void activations(void **state)
{
	(void)state;
	const double gated[] = {log(3), 0, 2, 5}, plain[] = {1, -1, 0};
	double y[3];

	reference_act(gated, true, 1, 2, y);
	assert_near(y[0], 2 * 0.75 * log(3), NEAR);
	assert_near(y[1], 0, 0);
	reference_act(plain, false, 1, 3, y);
	assert_near(y[0], 0.841192, 5e-7);
	assert_near(y[1], 0.841192 - 1, 5e-7);
	assert_near(y[2], 0, 0);
}

/*
 * One cached token, two new ones, two heads on one KV head of width 1: scores are q k. The first
 * new token does not see the second.
 */
static void attention(void **state)
{
	(void)state;
	const double q[] = {0, log(3), 0, log(3)}, k[] = {1, 0, 1}, v[] = {8, 4, 0};
	const struct reference_attention a = {q, k, v, 2, 1, 2, 1, 1};
	double out[4];

	reference_attention(&a, out);
	assert_near(out[0], 6, NEAR);			  /* equal weights of 8 and 4 */
	assert_near(out[1], (3 * 8 + 4) / 4.0, NEAR);	  /* weights 3 and 1 */
	assert_near(out[2], 4, NEAR);			  /* of 8, 4, 0 */
	assert_near(out[3], (3 * 8 + 4 + 0) / 7.0, NEAR); /* weights 3, 1, 3 */
}

/* Two KV heads: heads 0 and 1 are with the first, 2 and 3 with the second; width 4 halves scores.
 */
static void groups_of_heads(void **state)
{
	(void)state;
	double q[16] = {0}, k[16] = {0}, v[16] = {0}, out[16];
	const struct reference_attention a = {q, k, v, 1, 1, 4, 2, 4};

	for (int h = 0; h < 4; h++)
		q[4 * h] = 2 * log(3);
	k[0] = k[4] = 1; /* of the first token */
	v[0] = 1;
	v[4] = 100;
	reference_attention(&a, out);
	assert_near(out[0], 0.75, NEAR);
	assert_near(out[4], 0.75, NEAR);
	assert_near(out[8], 75, NEAR);
	assert_near(out[12], 75, NEAR);
}

static void nothing_cached(void *arg, int64_t layer, size_t seq, double *k, double *v)
{
	int *calls = arg;

	(void)layer;
	(void)seq;
	(void)k;
	(void)v;
	++*calls;
}

/* Layers whose last matrices are 0 add nothing: logits are the head's, of the embedding. */
static void a_step_without_layers(void **state)
{
	(void)state;
	struct model m = load_model("tiny");
	struct weights w;
	const int64_t token[] = {7, 4095, 12};
	const struct reference_seq seqs[] = {
		{token, 2, 0, true}, {token + 2, 1, 0, false}, {token, 1, 0, true}};
	double x[256], y[256], want[4096], *got = xcalloc(2 * 4096, sizeof(*got));
	int calls = 0;

	m.layers = 2;
	weights_make(&w, &m, 1, 1, 1);
	for (int64_t i = 0; i < w.layers; i++) {
		memset(w.layer[i].o, 0, sizeof(float) * 256 * 256);
		memset(w.layer[i].down, 0, sizeof(float) * 256 * 768);
	}
	reference_step(&w, seqs, 3, nothing_cached, &calls, got);
	assert_i64(calls, 6); /* 3 sequences, 2 layers */
	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < 256; j++)
			x[j] = (double)w.embed[token[i ? 0 : 1] * 256 + j];
		reference_norm(x, NULL, w.final_norm, NULL, 1, 256, y);
		reference_gemm(y, w.head, NULL, 1, 4096, 256, want);
		for (int j = 0; j < 4096; j++)
			assert_near(got[i * 4096 + j], want[j], 1e-9);
	}
	free(got);
	weights_release(&w);
}

/* What weights promise: their number, no zeros, the same at any number of threads. */
static void weights_are_as_told(void **state)
{
	(void)state;
	struct model m = load_model("tiny");
	struct weights a, b;

	for (int64_t tp = 1; tp <= 2; tp++) {
		weights_make(&a, &m, tp, 3, 1);
		weights_make(&b, &m, tp, 3, 2);
		/* each array begins on a line of its own, and all of these are whole lines */
		assert_i64(a.bytes, model_weights_bytes(&m, tp));
		assert_i64(a.bytes, weights_bytes(&m, tp));
		assert_memory_equal(a.memory, b.memory, (size_t)a.bytes);
		const float *x = a.memory;
		for (int64_t i = 0; i < a.bytes / (int64_t)sizeof(float); i++)
			assert_true(isnormal(x[i]));
		weights_release(&a);
		weights_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products),
		cmocka_unit_test(norms),
		cmocka_unit_test(rotations),
		cmocka_unit_test(activations),
		cmocka_unit_test(attention),
		cmocka_unit_test(groups_of_heads),
		cmocka_unit_test(a_step_without_layers),
		cmocka_unit_test(weights_are_as_told),
	};

	return cmocka_run_group_tests_name("reference_kernels", tests, NULL, NULL);
}
