/* Attention of several sequences at a time, and what it leaves in the pool. */

#include "calibrate/cpu_check.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SEQS = 4, LAYERS = 2, LAYER = 1, MOST_TOK = 1000 };

/* Keys and values as attention sees them, [ctx][kv_heads][head_dim], of each sequence. */
struct trial {
	struct cpu_ops ops;
	struct cpu_kv kv;
	struct cpu_attention attention;
	struct cpu_seq seq[SEQS];
	struct cpu_kv_rows rows;
	float *qkv, *out;
	double *seen[SEQS][KV_KINDS];
	int64_t heads, tok;
	char sizes[96];
};

static int64_t context(const struct cpu_seq *s)
{
	return s->prior_tok + s->new_tok;
}

/* A prompt, a chunk of one, a few tokens after some, a decode. */
static void choose_seqs(struct trial *t, struct cpu_report *r)
{
	const int64_t sizes[SEQS][2] = {
		{1 + cpu_report_below(r, 80), 0},
		{1 + cpu_report_below(r, 150), cpu_report_below(r, 200)},
		{1 + cpu_report_below(r, 4), 100 + cpu_report_below(r, 60)},
		{1, cpu_report_below(r, 300)},
	};
	int64_t block = 0;

	for (int i = 0; i < SEQS; i++) {
		struct cpu_seq *s = &t->seq[i];
		*s = (struct cpu_seq){.row = t->tok,
				      .new_tok = sizes[i][0],
				      .prior_tok = sizes[i][1],
				      .block = t->kv.order + block,
				      .window = SEQS - 1 - i};
		block += cpu_kv_blocks(&t->kv, context(s));
		t->tok += s->new_tok;
		snprintf(t->sizes + strlen(t->sizes), sizeof(t->sizes) - strlen(t->sizes),
			 "%s%" PRId64 " after %" PRId64, i ? ", " : "", s->new_tok, s->prior_tok);
	}
}

static void make_trial(struct trial *t, struct cpu_report *r, const struct cpu_kernels *k, int bits)
{
	static const int64_t heads[][3] = {{4, 2, 64}, {3, 3, 32}, {16, 1, 96}, {6, 2, 128}};
	const int64_t *h = heads[cpu_report_below(r, 4)];
	int64_t block_tok = cpu_kv_block_tok(1 + cpu_report_below(r, 40), bits);
	const struct cpu_kv_want w = {
		.layers = LAYERS,
		.kv_heads = h[1],
		.head_dim = h[2],
		.block_tok = block_tok,
		.blocks = MOST_TOK / block_tok + SEQS,
		.windows = SEQS,
		.bits = bits,
		.seed = ++r->seed,
		.threads = 1,
	};
	int64_t width = (h[0] + 2 * h[1]) * h[2];

	*t = (struct trial){.heads = h[0]};
	cpu_ops_init(&t->ops, 0, 2, 0);
	t->ops.kernels = k;
	cpu_kv_init(&t->kv, &w);
	choose_seqs(t, r);
	cpu_attention_init(&t->attention, &t->ops, h[0], h[1], h[2], t->tok, SEQS);
	t->qkv = xmalloc((size_t)(t->tok * width) * sizeof(float));
	t->out = xmalloc((size_t)(t->tok * h[0] * h[2]) * sizeof(float));
	weights_fill(t->qkv, t->tok * width, 0, sqrtf(3), ++r->seed, 1);
	t->rows = (struct cpu_kv_rows){.x = {t->qkv + h[0] * h[2], t->qkv + (h[0] + h[1]) * h[2]},
				       .stride = width};
	for (int i = 0; i < SEQS; i++)
		for (int kind = 0; kind < KV_KINDS; kind++)
			t->seen[i][kind] = xcalloc((size_t)(context(&t->seq[i]) * h[1] * h[2]),
						   sizeof(double));
}

static void free_trial(struct trial *t)
{
	cpu_attention_release(&t->attention);
	cpu_kv_release(&t->kv);
	cpu_ops_release(&t->ops);
	free(t->qkv);
	free(t->out);
	for (int i = 0; i < SEQS; i++)
		for (int kind = 0; kind < KV_KINDS; kind++)
			free(t->seen[i][kind]);
}

/* Calls `each` for every number of sequences i: token, KV head, channel. */
static void for_numbers(struct trial *t, int i, int kind,
			void (*each)(struct trial *t, int i, int kind, const int64_t at[3],
				     double *seen, void *arg),
			void *arg)
{
	const struct cpu_kv_want *w = &t->kv.is;
	double *seen = t->seen[i][kind];

	for (int64_t tok = 0; tok < context(&t->seq[i]); tok++)
		for (int64_t h = 0; h < w->kv_heads; h++)
			for (int64_t c = 0; c < w->head_dim; c++)
				each(t, i, kind, (const int64_t[]){tok, h, c}, seen++, arg);
}

static double computed(const struct trial *t, int i, int kind, const int64_t at[3])
{
	int64_t row = t->seq[i].row + at[0] - t->seq[i].prior_tok;
	return (double)t->rows.x[kind][row * t->rows.stride + at[1] * t->kv.is.head_dim + at[2]];
}

static double in_window(const struct trial *t, int i, int kind, const int64_t at[3])
{
	int64_t window = LAYER * t->kv.is.windows + t->seq[i].window;
	int64_t row = (window * t->kv.is.kv_heads + at[1]) * 128 + at[0] % 128;
	return (double)t->kv.window[kind][row * t->kv.is.head_dim + at[2]];
}

static bool grouped(const struct trial *t)
{
	return t->kv.is.bits < 8;
}

/* Tokens before it are codes once `ctx` are cached: all; KIVI: not those in the window. */
static int64_t coded(const struct trial *t, int kind, int64_t ctx)
{
	if (!grouped(t))
		return ctx;
	if (kind == KV_KEYS)
		return ctx / 128 * 128;
	return ctx < 128 ? 0 : ctx - 128;
}

/* Before the run: what is cached, and the new numbers as they are. */
static void see(struct trial *t, int i, int kind, const int64_t at[3], double *seen, void *arg)
{
	const struct cpu_seq *s = &t->seq[i];
	double scale;

	(void)arg;
	if (at[0] >= s->prior_tok)
		*seen = computed(t, i, kind, at);
	else if (at[0] >= coded(t, kind, s->prior_tok))
		*seen = in_window(t, i, kind, at);
	else
		*seen = cpu_check_number(&t->kv, kind, LAYER, s, at[1], at[0], at[2], &scale);
}

/* How far what is cached now is from what was seen, the largest in scales; of floats it is 0. */
static void compare(struct trial *t, int i, int kind, const int64_t at[3], double *seen, void *arg)
{
	double *most = arg, scale = 0, now;

	if (at[0] >= coded(t, kind, context(&t->seq[i])))
		now = in_window(t, i, kind, at);
	else
		now = cpu_check_number(&t->kv, kind, LAYER, &t->seq[i], at[1], at[0], at[2],
				       &scale);
	double off = fabs(now - *seen) / (scale > 0 ? scale : 1);
	*most = off <= *most ? *most : off;
	/* in 8 bits attention sees new tokens as codes, too */
	if (!grouped(t))
		*seen = now;
}

static double error_of(struct trial *t, int i)
{
	const struct cpu_seq *s = &t->seq[i];
	int64_t d = t->kv.is.head_dim, width = t->heads * d, n = s->new_tok * width;
	double *q = xmalloc((size_t)n * sizeof(*q)), *want = xmalloc((size_t)n * sizeof(*want));

	for (int64_t j = 0; j < n; j++)
		q[j] = (double)t->qkv[(s->row + j / width) * t->rows.stride + j % width];
	const struct reference_attention a = {.q = q,
					      .k = t->seen[i][KV_KEYS],
					      .v = t->seen[i][KV_VALUES],
					      .new_tok = s->new_tok,
					      .prior_tok = s->prior_tok,
					      .heads = t->heads,
					      .kv_heads = t->kv.is.kv_heads,
					      .head_dim = d};
	reference_attention(&a, want);
	double error = cpu_check_error(t->out + s->row * width, want, n);
	free(q);
	free(want);
	return error;
}

static void check_bits(struct cpu_report *r, const struct cpu_kernels *k, int bits)
{
	struct trial t;
	double off = 0, error = 0;
	char name[64];

	make_trial(&t, r, k, bits);
	for (int i = 0; i < SEQS; i++)
		for (int kind = 0; kind < KV_KINDS; kind++)
			for_numbers(&t, i, kind, see, NULL);
	cpu_attention_plan(&t.attention, t.seq, SEQS);
	cpu_attention_run(&t.attention, &t.kv, LAYER, t.qkv, &t.rows, t.out);
	for (int i = 0; i < SEQS; i++) {
		for (int kind = 0; kind < KV_KINDS; kind++)
			for_numbers(&t, i, kind, compare, &off);
		double e = error_of(&t, i);
		error = e <= error ? error : e;
	}
	snprintf(name, sizeof(name), "attention %s %d-bit", k->name, bits);
	cpu_report(r, name, t.sizes, error, 1e-4);
	/* half a step, and the rounding of a division of floats */
	snprintf(name, sizeof(name), "cache %s %d-bit", k->name, bits);
	cpu_report(r, name, t.sizes, off, bits == 16 ? 0 : 0.5001);
	free_trial(&t);
}

void cpu_check_attention(struct cpu_report *r, const struct cpu_kernels *k)
{
	static const int bits[] = {16, 8, 4, 2};

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		check_bits(r, k, bits[i]);
}
