#include "tests/synthetic.h"
#include "tests/testing.h"
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>

struct value {
	const char *name;
	double low, high;
};

static const struct value *find(const struct value *v, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i].name, name))
			return &v[i];
	fail_msg("tests/synthetic.c does not know %s", name);
	return NULL;
}

/* Of a device like an H100: a new coefficient gets a value here. */
void synthetic_truth(const struct form *f, double *coef)
{
	static const struct value truth[] = {
		{"t0_ns", 5000, 0},
		{"bytes_per_ns", 2000, 0},
		{"flops_per_ns", 5e5, 0},
		{"p", 2.5, 0},
		{"quantised_per_ns", 100, 0},
		{"token_ns", 20, 0},
		{"token_head_ns", 0.5, 0},
		{"token_kv_head_ns", 1, 0},
		{"prior_bytes_per_ns", 300, 0},
		{"seq_ns", 500, 0},
		{"seq_head_ns", 20, 0},
		{"seq_kv_head_ns", 100, 0},
		{"uneven_bytes_per_ns", 100, 0},
		{"full_heads", 300, 0},
		{"device_ns", 2000, 0},
	};
	for (size_t i = 0; f->coefs[i]; i++)
		coef[i] = find(truth, sizeof(truth) / sizeof(truth[0]), f->coefs[i])->low;
}

/* Sizes in the order in which form_place() wants them. */
struct point synthetic_sizes(const struct form *f, void *rng)
{
	static const struct value sizes[] = {
		{"m", 1, 8192},		{"n", 1024, 16384},	   {"k", 1024, 16384},
		{"kv_heads", 1, 8},	{"group", 1, 8},	   {"head_dim", 128, 128},
		{"prefill_seq", 1, 16}, {"new_tok", 16, 4096},	   {"prior_tok", 16, 8192},
		{"decode_seq", 1, 256}, {"decode_len", 16, 16384}, {"devices", 2, 8},
		{"bytes", 1024, 1e9},
	};
	struct point at = {.op = f->op, .bits = 16};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		form_place(sizes[i].name,
			   sizes[i].low * pow(sizes[i].high / sizes[i].low, gsl_rng_uniform(rng)),
			   &at);
	at.longest = llround(form_size("decode_len", &at) * (1 + 3 * gsl_rng_uniform(rng)));
	return at;
}

struct points synthetic_points(const struct form *f, const double *coef, size_t n,
			       const struct noise *noise)
{
	struct points p = {.n = 0};
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	gsl_rng_set(rng, (unsigned long)noise->seed);
	for (size_t i = 0; i < n; i++) {
		struct point at = synthetic_sizes(f, rng);
		at.ns = f->base_ns(coef, &at) * exp(gsl_ran_gaussian(rng, noise->spread));
		if (gsl_rng_uniform(rng) < noise->outliers)
			at.ns *= 10;
		points_add(&p, &at);
	}
	gsl_rng_free(rng);
	return p;
}
