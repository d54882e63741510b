/* sweep_list.c: the sizes that are timed. */
#include "calibrate/sweep.h"

static const int64_t all_counts[] = {1,	   2,	 3,    4,    6,	   8,	 12,	16,   24,  32,
				     48,   64,	 96,   128,  192,  256,	 384,	512,  768, 1024,
				     1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384};
static const int64_t lengths[] = {1, 16, 64, 256, 1024, 4096, 16384, 65536, 131072};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct builder {
	const struct sweep_want *w;
	struct points *list;
	int64_t heads, kv_heads, head_dim; /* of the attention in hand */
	int bits;
};

static int64_t blocks_tok(const struct sweep_want *w, int64_t tok)
{
	return (tok + w->block_tok - 1) / w->block_tok * w->block_tok;
}

/* Whether a step of such sequences has room: tokens, seats, slots, and the model's own context. */
static bool fits(const struct sweep_want *w, const struct point *p)
{
	int64_t new_tok = p->prefill_seq * p->new_tok + p->decode_seq;
	int64_t each = p->decode_seq ? p->decode_ctx / p->decode_seq : 0;
	int64_t slots = p->prefill_seq * blocks_tok(w, p->new_tok + p->prior_tok) +
			p->decode_seq * blocks_tok(w, each + 1) + blocks_tok(w, p->longest);

	return new_tok <= w->max_tok && p->prefill_seq + p->decode_seq <= w->max_seqs &&
	       slots <= w->kv_tok && p->new_tok + p->prior_tok <= w->model->context &&
	       each <= w->model->context && p->longest <= w->model->context;
}

static void add_sequences(struct builder *b, struct point p)
{
	if (!fits(b->w, &p))
		return;
	p.bits = b->bits;
	if (p.op != OP_STEP) {
		p.heads = b->heads;
		p.kv_heads = b->kv_heads;
		p.head_dim = b->head_dim;
	} else {
		p.devices = b->w->tp;
	}
	points_add(b->list, &p);
}

/* An operation of m rows by every few of the counts up to a limit, and the limit itself. */
static void add_rows(struct builder *b, enum op op, int64_t n, int64_t k, int64_t most, size_t each)
{
	struct point p = {.op = op, .bits = 16, .n = n, .k = k};

	if (n <= 0)
		return;
	for (size_t i = 0; i < COUNT(all_counts) && all_counts[i] < most; i += each) {
		p.m = all_counts[i];
		points_add(b->list, &p);
	}
	p.m = most;
	points_add(b->list, &p);
}

/* --- linear layers ------------------------------------------------------------------------------
 */

static void add_gemm(struct builder *b, int64_t k, int64_t n)
{
	for (size_t i = 0; i < b->list->n; i++) {
		const struct point *p = &b->list->at[i];

		if (p->op == OP_GEMM && p->n == n && p->k == k)
			return;
	}
	if (k > 0)
		add_rows(b, OP_GEMM, n, k, b->w->max_tok, 1);
}

static void add_attention_gemms(struct builder *b)
{
	const struct model *m = b->w->model;
	int64_t heads = m->heads / b->w->tp, q = heads * m->head_dim;

	if (m->attention == ATTENTION_GQA) {
		add_gemm(b, m->hidden, q + 2 * model_local_kv_heads(m, b->w->tp) * m->head_dim);
		add_gemm(b, q, m->hidden);
		return;
	}
	q = heads * (m->nope_dim + m->rope_dim);
	add_gemm(b, m->hidden, (m->q_lora ? m->q_lora : q) + m->kv_lora + m->rope_dim);
	add_gemm(b, m->q_lora, q);
	add_gemm(b, m->kv_lora, heads * (m->nope_dim + m->v_dim));
	add_gemm(b, heads * m->v_dim, m->hidden);
}

static void add_mlp_gemms(struct builder *b, int64_t width)
{
	const struct model *m = b->w->model;

	add_gemm(b, m->hidden, (m->gated ? 2 : 1) * width);
	add_gemm(b, width, m->hidden);
}

static void add_gemms(struct builder *b)
{
	const struct model *m = b->w->model;
	int64_t tp = b->w->tp;

	add_attention_gemms(b);
	if (!m->experts || m->dense_layers)
		add_mlp_gemms(b, m->inter / tp);
	if (m->experts) {
		add_gemm(b, m->hidden, m->experts);
		add_mlp_gemms(b, m->expert_inter / tp);
		add_mlp_gemms(b, m->experts_shared * m->expert_inter / tp);
	}
	add_rows(b, OP_GEMM, (m->vocab + tp - 1) / tp, m->hidden, b->w->max_seqs, 1);
}

/* --- attention, steps ---------------------------------------------------------------------------
 */

/* Every few of the counts and of the tokens before. */
static void add_prefills(struct builder *b, enum op op, size_t each)
{
	static const int64_t priors[] = {0, 64, 512, 2048, 8192, 32768};

	for (size_t k = 0; k < COUNT(priors); k += each)
		for (size_t i = 0; i < COUNT(all_counts); i += 3)
			add_sequences(b, (struct point){.op = op,
							.prefill_seq = 1,
							.new_tok = all_counts[i],
							.prior_tok = priors[k]});
	for (int64_t seq = 2; seq <= 32; seq *= each == 1 ? 2 : 4)
		for (int64_t tok = 16; tok <= 512; tok *= 4)
			add_sequences(b,
				      (struct point){.op = op, .prefill_seq = seq, .new_tok = tok});
}

/* Every few of the counts and lengths. */
static void add_decodes(struct builder *b, enum op op, size_t each)
{
	for (size_t i = 0; i < COUNT(all_counts); i += each)
		for (size_t k = 0; k < COUNT(lengths); k += each == 1 ? 1 : 2)
			add_sequences(b, (struct point){.op = op,
							.decode_seq = all_counts[i],
							.decode_ctx = all_counts[i] * lengths[k]});
}

/* The longest of them twice or eight times as long as the mean. */
static void add_unequal(struct builder *b)
{
	for (int64_t seq = 4; seq <= 256; seq *= 4)
		for (int64_t mean = 64; mean <= 4096; mean *= 4)
			for (int64_t ratio = 2; ratio < seq && ratio <= 8; ratio *= 4)
				add_sequences(b, (struct point){.op = OP_DECODE,
								.decode_seq = seq,
								.decode_ctx = seq * mean,
								.longest = ratio * mean});
}

/* Prompts four or sixteen times as long as the one before, and as many more decodes. */
static void add_mixed(struct builder *b, enum op op, int64_t times)
{
	for (int64_t tok = 16; tok <= 4096; tok *= times)
		for (int64_t prior = 0; prior <= 512; prior += 512)
			for (int64_t seq = 1; seq <= 64; seq *= times)
				for (int64_t ctx = 64; ctx <= 1024; ctx *= 4)
					add_sequences(b, (struct point){.op = op,
									.prefill_seq = 1,
									.new_tok = tok,
									.prior_tok = prior,
									.decode_seq = seq,
									.decode_ctx = seq * ctx});
}

/* Fewer where numbers are packed: how times grow is known by then. */
static void add_attention(struct builder *b)
{
	for (int i = 0; i < SWEEP_KV_BITS && b->w->kv_bits[i]; i++) {
		b->bits = b->w->kv_bits[i];
		add_prefills(b, OP_PREFILL, i ? 2 : 1);
		add_decodes(b, OP_DECODE, i ? 2 : 1);
		add_unequal(b);
		add_mixed(b, OP_MIXED, i ? 16 : 4);
	}
	b->bits = 16;
}

static void add_steps(struct builder *b)
{
	b->bits = 16;
	add_decodes(b, OP_STEP, 3);
	add_prefills(b, OP_STEP, 2);
	add_mixed(b, OP_STEP, 16);
}

/* --- the rest -----------------------------------------------------------------------------------
 */

static void add_small(struct builder *b)
{
	const struct sweep_want *w = b->w;
	const struct model *m = w->model;
	int64_t width = m->experts ? m->experts_active * m->expert_inter : m->inter;

	add_rows(b, OP_NORM, m->hidden, 0, w->max_tok, 1);
	if (m->positions == 0)
		add_rows(b, OP_ROPE, (b->heads + b->kv_heads) * b->head_dim, 0, w->max_tok, 1);
	add_rows(b, OP_ACT, width / w->tp, 0, w->max_tok, 1);
	add_rows(b, OP_EMBED, m->hidden, 0, w->max_tok, 1);
	add_rows(b, OP_SAMPLE, (m->vocab + w->tp - 1) / w->tp, 0, w->max_seqs, 1);
}

static void add_copies(struct builder *b)
{
	static const enum op ops[] = {OP_COPY_TO_HOST, OP_COPY_FROM_HOST, OP_COPY_DEVICE};

	for (size_t i = 0; i < COUNT(ops); i++)
		for (int64_t bytes = 4096; bytes <= INT64_C(1) << 26; bytes *= 2)
			points_add(b->list,
				   &(struct point){.op = ops[i], .bits = 16, .bytes = bytes});
}

static void set_heads(struct builder *b, int64_t heads, int64_t kv_heads, int64_t head_dim)
{
	b->heads = heads;
	b->kv_heads = kv_heads;
	b->head_dim = head_dim;
}

/* Sizes between which those of most models lie; what takes too long is left out when it comes. */
static void add_any_model(struct builder *b)
{
	static const int64_t widths[] = {512, 1024, 2048, 4096, 8192, 16384, 32768};
	static const int64_t heads[][3] = {{8, 8, 64}, {16, 4, 128}, {32, 8, 128}, {64, 8, 128}};
	const struct sweep_want *w = b->w;

	for (size_t i = 0; i < COUNT(widths); i++) {
		for (size_t k = i % 2; k < COUNT(widths) - 2; k += 2)
			add_gemm(b, widths[k], widths[i]);
		if (i % 2 == 0) {
			add_rows(b, OP_NORM, widths[i], 0, w->max_tok, 4);
			add_rows(b, OP_ROPE, widths[i], 0, w->max_tok, 4);
			add_rows(b, OP_ACT, 2 * widths[i], 0, w->max_tok, 4);
			add_rows(b, OP_EMBED, widths[i], 0, w->max_tok, 4);
		}
	}
	add_rows(b, OP_SAMPLE, 32768, 0, w->max_seqs, 4);
	add_rows(b, OP_SAMPLE, 131072, 0, w->max_seqs, 4);
	for (size_t i = 0; i < COUNT(heads); i++) {
		set_heads(b, heads[i][0], heads[i][1], heads[i][2]);
		add_attention(b);
	}
}

void sweep_list(const struct sweep_want *w, struct points *list)
{
	const struct model *m = w->model;
	struct builder b = {.w = w, .list = list, .bits = 16};

	set_heads(&b, m->heads / w->tp, model_local_kv_heads(m, w->tp), m->head_dim);
	add_gemms(&b);
	if (m->attention == ATTENTION_GQA)
		add_attention(&b);
	add_small(&b);
	add_copies(&b);
	add_steps(&b);
	if (w->any_model)
		add_any_model(&b);
	sweep_order(list);
}
