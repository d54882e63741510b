/*
 * Whole steps forecast from the profiles that omnibus comes with, against sums of the measured
 * times themselves: a model whose shapes all are in the tables of kernels, at their batches,
 * lengths and tokens. These times were fitted too: what is seen here is what fits, knots and
 * straight lines lose together. Held-out errors are in the profiles.
 */

#include "calibrate/cost.h"
#include "tests/testing.h"
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 32 layers, 32 heads, 8 of them for KV, of 128; MLP of 8192 x 3, vocabulary of 65,536. */
static const char config[] =
	"{\"model_type\": \"llama\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
	"\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"head_dim\": 128, "
	"\"intermediate_size\": 8192, \"vocab_size\": 65536, \"max_position_embeddings\": 131072, "
	"\"torch_dtype\": \"bfloat16\"}";

enum { MOST_TOK = 32768, COLUMNS = 6, MOST_ROWS = 400 };

/* Times of a layer's four GEMMs together, and of the head, by tokens; 0: not all are there. */
struct gemms {
	double layer_ns[MOST_TOK + 1], head_ns[MOST_TOK + 1];
	int n[MOST_TOK + 1];
};

struct errors {
	double at[MOST_ROWS];
	size_t n;
};

/* Calls `row` for each line in bf16 with its numbers after the first `text` columns. */
static void each_row(const char *path, int text, void (*row)(void *arg, const double *v), void *arg)
{
	char line[256];
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		double v[COLUMNS] = {0};
		char *at = line;
		bool ours = strncmp(line, "bfloat16", 8) == 0;
		for (int i = 0; i < text && ours; i++) {
			ours = strncmp(at, "bfloat16", 8) == 0;
			at = strchr(at, ',') + 1;
		}
		for (int i = 0; i < COLUMNS && ours; i++) {
			v[i] = strtod(at, &at);
			at += *at == ',';
		}
		if (ours)
			row(arg, v);
	}
	fclose(f);
}

static void add_gemm(void *arg, const double *v)
{
	static const double shapes[4][2] = {
		{6144, 4096}, {4096, 4096}, {16384, 4096}, {4096, 8192}};
	struct gemms *g = arg;
	size_t m = (size_t)v[0];
	assert_true(m <= MOST_TOK);
	if (v[1] == 65536 && v[2] == 4096)
		g->head_ns[m] = v[3] * 1e6;
	for (int i = 0; i < 4; i++) {
		if (v[1] == shapes[i][0] && v[2] == shapes[i][1]) {
			g->layer_ns[m] += v[3] * 1e6;
			g->n[m]++;
		}
	}
}

struct compare {
	const struct gemms *gemms;
	const struct executor *x;
	const struct device *d;
	bool prefill;
	struct errors errors;
};

/* What is no part of the tables and a roofline in the forecast: four kernels a layer, embedding,
 * last norm and sampling of 2.2 us each, and bytes at 0.9 of the bandwidth. */
static double rows_ns(const struct device *d, double tok, double sampled)
{
	double layer = 2 * 4 * 4096 + 2 * 40 * 128 + 3 * 8192;
	double numbers = tok * (32 * layer + 4 * 4096 + 2 * 4096) + sampled * 65536;
	return (32 * 4 + 3) * 2200 + numbers * 2 / (0.9 * d->peak_bytes_s) * 1e9;
}

/* num_heads, num_kv_heads, batch, length, ms */
static void compare(void *arg, const double *v)
{
	struct compare *c = arg;
	double tok = c->prefill ? v[2] * v[3] : v[2];
	const struct gemms *g = c->gemms;
	if (v[0] != 32 || v[1] != 8 || tok > MOST_TOK || g->n[(size_t)tok] < 4 ||
	    g->head_ns[(size_t)v[2]] <= 0)
		return;
	double sum = 32 * (g->layer_ns[(size_t)tok] + v[4] * 1e6) + g->head_ns[(size_t)v[2]];
	struct step s = {.decode_seq = (int64_t)v[2], .decode_ctx = (int64_t)(v[2] * v[3])};
	if (c->prefill)
		s = (struct step){.prefill_tok = (int64_t)tok,
				  .prefill_seq = (int64_t)v[2],
				  .prefill_done_seq = (int64_t)v[2],
				  .prefill_pairs = v[2] * v[3] * (v[3] + 1) / 2};
	double got = c->x->ops->step_ns(c->x, &s) - rows_ns(c->d, tok, v[2]);
	assert_true(c->errors.n < MOST_ROWS);
	c->errors.at[c->errors.n++] = fabs(got / sum - 1);
}

static void bounds(struct errors *e, const char *what, double median, double p90)
{
	gsl_sort(e->at, 1, e->n);
	double half = gsl_stats_quantile_from_sorted_data(e->at, 1, e->n, 0.5);
	double most = gsl_stats_quantile_from_sorted_data(e->at, 1, e->n, 0.9);
	print_message("%s: %zu steps, median %.2f %%, p90 %.2f %%\n", what, e->n, 100 * half,
		      100 * most);
	assert_true(e->n >= 50);
	assert_true(half <= median && most <= p90);
}

static void compare_device(const char *device, const char *tables)
{
	char name[128];
	struct model m;
	struct device d;
	struct err e;
	const char *path[3];
	static const char *const parts[3] = {"gemm", "attn_decode", "attn_prefill"};
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "measured/kernels/%s.%s.csv", tables, parts[i]);
		path[i] = testing_shared(name);
		if (!path[i]) {
			print_message("no %s: left out\n", name);
			skip();
		}
	}
	assert_fine(model_load(&m, testing_file("grid.json", config), &e), e);
	assert_fine(device_load(&d, device, &e), e);
	struct executor *x =
		cost_predict_new(&m, &d, &(struct cost_want){.tp = 1, .kv_bits = 16}, &e);
	assert_fine(x ? 0 : -1, e);
	assert_string_equal(x->notes, "roofline-rows mixed-sum");
	struct gemms *g = xcalloc(1, sizeof(*g));
	each_row(path[0], 1, add_gemm, g);
	for (int i = 1; i < 3; i++) {
		struct compare c = {.gemms = g, .x = x, .d = &d, .prefill = i == 2};
		each_row(path[i], 2, compare, &c);
		snprintf(name, sizeof(name), "%s %s", device, i == 2 ? "prefill" : "decode");
		bounds(&c.errors, name, 0.03, i == 2 ? 0.08 : 0.06);
	}
	free(g);
	executor_free(x);
	device_release(&d);
}

static void test_h100(void **state)
{
	(void)state;
	compare_device("h100", "h100_sxm.vllm-0.24.0");
}

static void test_h200(void **state)
{
	(void)state;
	compare_device("h200", "h200_sxm.vllm-0.24.0");
}

static void test_b200(void **state)
{
	(void)state;
	compare_device("b200", "b200_sxm.vllm-0.24.0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_h100),
		cmocka_unit_test(test_h200),
		cmocka_unit_test(test_b200),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
