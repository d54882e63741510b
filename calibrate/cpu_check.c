/* Whole steps, and the report of all checks. */

#include "calibrate/cpu_check.h"
#include "calibrate/cpu_blas.h"
#include "sim/rng.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

double cpu_check_error(const float *got, const double *want, int64_t n)
{
	double square = 0, most = 0;

	for (int64_t i = 0; i < n; i++) {
		double error = fabs((double)got[i] - want[i]);
		square += want[i] * want[i] / (double)n;
		/* what is no number is no small error either */
		most = error <= most ? most : error;
	}
	return most / sqrt(square);
}

struct shifted {
	const struct cpu_step *s;
	int64_t shift;
};

double cpu_check_number(const struct cpu_kv *kv, int kind, int64_t layer, const struct cpu_seq *s,
			int64_t kv_head, int64_t tok, int64_t channel, double *scale)
{
	const struct cpu_kv_want *w = &kv->is;
	int64_t block = layer * w->blocks + s->block[tok / w->block_tok], d = w->head_dim;
	int64_t row = (block * w->kv_heads + kv_head) * w->block_tok + tok % w->block_tok;

	*scale = 0;
	if (w->bits == 16)
		return (double)kv->full[kind][row * d + channel];
	const uint8_t *code = kv->code[kind] + row * d * w->bits / 8;
	if (w->bits == 8) {
		*scale = (double)kv->scale[kind][row];
		return *scale * (double)(int8_t)code[channel];
	}
	const struct quant_pair *p = kind == KV_KEYS
					     ? &kv->pair[kind][row / 32 * d + channel]
					     : &kv->pair[kind][row * (d / 32) + channel / 32];
	*scale = (double)quant_float(p->scale);
	return *scale * quant_unpack(code, d, channel, w->bits) + (double)quant_float(p->zero);
}

static void cached(void *arg, int64_t layer, size_t seq, double *k, double *v)
{
	const struct shifted *at = arg;
	const struct cpu_kv *kv = &at->s->kv;
	const struct cpu_kv_want *w = &kv->is;
	struct cpu_seq q = at->s->seq[seq];
	int64_t first = q.block - kv->order, *block = xmalloc((size_t)w->blocks * sizeof(*block));
	double scale;

	for (int64_t i = 0; i < w->blocks; i++)
		block[i] = kv->order[(first + i + at->shift) % w->blocks];
	q.block = block;
	for (int64_t t = 0; t < q.prior_tok; t++)
		for (int64_t h = 0; h < w->kv_heads; h++)
			for (int64_t i = 0; i < w->head_dim; i++) {
				int64_t to = (t * w->kv_heads + h) * w->head_dim + i;
				k[to] = cpu_check_number(kv, KV_KEYS, layer, &q, h, t, i, &scale);
				v[to] = cpu_check_number(kv, KV_VALUES, layer, &q, h, t, i, &scale);
			}
	free(block);
}

double cpu_check_logits(const struct cpu_step *s, int64_t shift)
{
	struct shifted at = {s, shift};
	struct reference_seq *seqs = xcalloc(s->n_seqs, sizeof(*seqs));
	int64_t n = s->n_sampled * s->weights.vocab, sampled = 0;
	double *want = xcalloc((size_t)n, sizeof(*want));

	for (size_t i = 0; i < s->n_seqs; i++) {
		const struct cpu_seq *q = &s->seq[i];
		int64_t last = q->row + q->new_tok - 1;
		bool is = sampled < s->n_sampled && s->last[sampled] == last;
		seqs[i] = (struct reference_seq){.token = s->token + q->row,
						 .new_tok = q->new_tok,
						 .prior_tok = q->prior_tok,
						 .sampled = is};
		sampled += is;
	}
	reference_step(&s->weights, seqs, s->n_seqs, cached, &at, want);
	double error = cpu_check_error(s->logits, want, n);
	free(want);
	free(seqs);
	return error;
}

void cpu_report(struct cpu_report *r, const char *kernel, const char *sizes, double error,
		double bound)
{
	char line[256];
	bool fine = error <= bound;

	snprintf(line, sizeof(line), "%-22s %-50s error %.2e, bound %.2e%s", kernel, sizes, error,
		 bound, fine ? "" : "  WRONG");
	r->say(r->arg, line);
	if (!fine && !r->failed)
		err_set(r->e, "%s (%s) is off by %.3g, beyond %.3g", kernel, sizes, error, bound);
	r->failed |= !fine;
}

int64_t cpu_report_below(struct cpu_report *r, int64_t n)
{
	return (int64_t)gsl_rng_uniform_int(r->rng, (unsigned long)n);
}

enum { CHECK_TOK = 48, CHECK_SEQS = 6, CHECK_SLOTS = 1024 };

/* Steps of each composition: prompts, chunks of them, decodes, all at once. */
static void check_steps(struct cpu_report *r)
{
	struct model m;
	CHECK(model_load(&m, "tiny", r->e) == 0, "%s", r->e->text);
	const struct backend_want w = {.model = &m,
				       .tp = 1,
				       .max_tok = CHECK_TOK,
				       .max_seqs = CHECK_SEQS,
				       .kv_tok = CHECK_SLOTS,
				       .block_tok = 16,
				       .kv_bits = 16,
				       .seed = r->seed};
	const struct backend_seq steps[][3] = {
		{{1 + cpu_report_below(r, 24), 0, true}},
		{{1 + cpu_report_below(r, 24), 1 + cpu_report_below(r, 200), true}},
		{{1, cpu_report_below(r, 12), true},
		 {1, cpu_report_below(r, 300), true},
		 {1, cpu_report_below(r, 100), true}},
		{{1 + cpu_report_below(r, 12), 0, false},
		 {1 + cpu_report_below(r, 12), cpu_report_below(r, 200), true},
		 {1, cpu_report_below(r, 200), true}},
	};
	struct cpu_step s;

	cpu_step_init(&s, &w);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		size_t n = 0;
		char sizes[64] = "";
		for (; n < 3 && steps[i][n].new_tok; n++)
			snprintf(sizes + strlen(sizes), sizeof(sizes) - strlen(sizes),
				 "%s%" PRId64 " after %" PRId64, n ? ", " : "", steps[i][n].new_tok,
				 steps[i][n].prior_tok);
		CHECK(cpu_step_plan(&s, steps[i], n, r->e) == 0, "%s", r->e->text);
		cpu_step_run(&s);
		cpu_report(r, "step", sizes, cpu_check_logits(&s, 0), 1e-4);
	}
	cpu_step_release(&s);
}

int cpu_check(uint64_t seed, void (*say)(void *arg, const char *line), void *arg, struct err *e)
{
	struct cpu_report r = {.say = say, .arg = arg, .e = e, .seed = seed};
	int n;

	if (blas_load(e) < 0)
		return -1;
	r.rng = rng_new(seed, "check");
	const struct cpu_kernels *const *kernels = cpu_kernels_list(&n);
	for (int i = 0; i < n; i++) {
		cpu_check_rows(&r, kernels[i]);
		cpu_check_attention(&r, kernels[i]);
	}
	check_steps(&r);
	gsl_rng_free(r.rng);
	return r.failed ? -1 : 0;
}
