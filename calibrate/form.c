#include "calibrate/form_parts.h"
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <string.h>

static const struct form *const none[] = {NULL}; /* whole steps: profile.h has coefficients */

static const struct form *const *const forms[N_OPS] = {
	[OP_GEMM] = forms_gemm,
	[OP_PREFILL] = forms_prefill,
	[OP_DECODE] = forms_decode,
	[OP_MIXED] = forms_mixed,
	[OP_NORM] = forms_norm,
	[OP_ROPE] = forms_rope,
	[OP_ACT] = forms_act,
	[OP_EMBED] = forms_embed,
	[OP_SAMPLE] = forms_sample,
	[OP_ALLREDUCE] = forms_allreduce,
	[OP_COPY_TO_HOST] = forms_copy_to_host,
	[OP_COPY_FROM_HOST] = forms_copy_from_host,
	[OP_COPY_DEVICE] = forms_copy_device,
	[OP_STEP] = none,
};

const struct form *const *form_list(enum op op, size_t *n)
{
	*n = 0;
	while (forms[op][*n])
		++*n;
	return forms[op];
}

const struct form *form_find(enum op op, const char *name)
{
	for (const struct form *const *f = forms[op]; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}

size_t form_coefs(const struct form *f)
{
	size_t n = 0;

	while (f->coefs[n])
		n++;
	return n;
}

size_t form_points_least(enum op op)
{
	size_t least = FIT_COEFS;

	if (!forms[op][0])
		return fit_points_least(0);
	for (const struct form *const *f = forms[op]; *f; f++)
		if ((*f)->base_ns && form_coefs(*f) < least)
			least = form_coefs(*f);
	return fit_points_least(least);
}

double form_norm(double a, double b, double p)
{
	double high = fmax(a, b), low = fmin(a, b);

	return high > 0 ? high * pow(1 + pow(low / high, p), 1 / p) : 0;
}

static double quantile(const struct points *p, double q, double (*of)(const struct point *at),
		       bool by_time)
{
	double *v = xmalloc(p->n * sizeof(*v));

	for (size_t i = 0; i < p->n; i++) {
		v[i] = of ? of(&p->at[i]) : p->at[i].ns;
		if (by_time)
			v[i] /= p->at[i].ns;
	}
	gsl_sort(v, 1, p->n);
	double value = gsl_stats_quantile_from_sorted_data(v, 1, p->n, q);
	free(v);
	return value;
}

double form_low_ns(const struct points *p)
{
	return quantile(p, 0.1, NULL, false);
}

double form_high_rate(const struct points *p, double (*work)(const struct point *at))
{
	double rate = quantile(p, 0.9, work, true);

	return rate > 0 ? rate : 1; /* no work at all: the fit says that it is not determined */
}

uint64_t form_hash(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	const uint64_t prime = UINT64_C(0x100000001b3);

	return (((a * prime ^ b) * prime ^ c) * prime ^ d) * prime;
}
