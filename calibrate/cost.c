#include "calibrate/cost.h"
#include "calibrate/curve.h"
#include <math.h>

enum { MAX_GEMMS = 16, NODE_DEVICES = 8 };

/* `count` GEMMs of t0 + max(weight_ns + row_ns x rows, flop_ns x rows), weights k x n. */
struct gemm {
	double count, t0_ns, weight_ns, row_ns, flop_ns;
};

struct cost {
	struct executor x;
	struct curve linear; /* every GEMM of every layer but experts, and the all-reduces */
	struct gemm head;
	struct gemm
		experts[2]; /* all of a layer in one grouped kernel; weight_ns is of one expert */
	int n_experts;
	double expert_count, log_miss; /* log(1 - active / experts): a token misses an expert */
	double attend_ns;	       /* constant of the attention kernels of all layers */
	double ctx_ns;		       /* decode attention, a token of context */
	double pair_ns;		       /* prefill attention, a (query, key) pair */
	double read_ns;		       /* KV of a token that prefill attention finds and reads */
	/* the same in the layers with a window, within it */
	double window_ns, window_pair_ns, window_read_ns;
	int64_t graph;
};

/* With `times` its weights read: the experts reached, or 1. */
static double gemm_ns(const struct gemm *g, double rows, double times)
{
	double memory_ns = g->weight_ns * times + g->row_ns * rows;
	double compute_ns = g->flop_ns * rows;
	return g->count * (g->t0_ns + (memory_ns > compute_ns ? memory_ns : compute_ns));
}

/* How many experts n tokens reach, each choosing `active` of them evenly. */
static double experts_read(const struct cost *c, double n)
{
	return c->expert_count * (1 - exp(n * c->log_miss));
}

/* What rows count as in a step that is captured in a graph. */
static int64_t padded(const struct cost *c, int64_t rows)
{
	int64_t size = rows <= 2 ? rows : rows <= 4 ? 4 : (rows + 7) / 8 * 8;
	return size < c->graph ? size : c->graph;
}

static double linear_ns(const struct cost *c, int64_t tok)
{
	double rows = (double)tok, ns = curve_at(&c->linear, rows);
	if (c->n_experts) {
		double read = experts_read(c, rows);
		for (int i = 0; i < c->n_experts; i++)
			ns += gemm_ns(&c->experts[i], rows, read);
	}
	return ns;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Attention of the prompts: their arithmetic, or the context before them, read once a sequence. */
static double prompts_ns(const struct cost *c, const struct step *s)
{
	double compute_ns =
		c->attend_ns + c->pair_ns * s->prefill_pairs + c->window_pair_ns * s->window_pairs;
	double memory_ns = c->attend_ns + c->read_ns * (double)s->prefill_prior +
			   c->window_read_ns * (double)s->window_prior;
	return larger(compute_ns, memory_ns);
}

/* All of a step but the context of its decodes. */
static double base_ns(const struct cost *c, const struct step *s)
{
	int64_t tok = s->prefill_tok + s->decode_seq, sampled = s->prefill_done_seq + s->decode_seq;
	if (tok == 0)
		return 0;
	if (tok <= c->graph) {
		tok = padded(c, tok);
		sampled = padded(c, sampled);
	}
	double ns = linear_ns(c, tok);
	if (sampled > 0)
		ns += gemm_ns(&c->head, (double)sampled, 1);
	if (s->decode_seq > 0)
		ns += c->attend_ns;
	if (s->prefill_tok > 0)
		ns += prompts_ns(c, s);
	return ns;
}

static const struct cost *cost_of(const struct executor *x)
{
	return (const struct cost *)(const void *)x;
}

static double predict_step_ns(const struct executor *x, const struct step *s)
{
	const struct cost *c = cost_of(x);
	return base_ns(c, s) + c->ctx_ns * (double)s->decode_ctx +
	       c->window_ns * (double)s->window_ctx;
}

static void predict_decode(const struct executor *x, const struct decode_batch *b,
			   struct decode_cost *d)
{
	const struct cost *c = cost_of(x);
	const struct step s = {.decode_seq = b->seq};
	d->step_ns = base_ns(c, &s);
	d->ctx_ns = c->ctx_ns;
	d->window_ns = c->window_ns;
	d->ctx_max = INT64_MAX;
	d->outside = false;
}

static void predict_free(struct executor *x)
{
	free(x);
}

static const struct executor_ops predict_ops = {
	.name = "predict",
	.summary = "a cost model of MODEL on DEVICE, from its shape (-m, -d, --tp)",
	.times = "predicted",
	.step_ns = predict_step_ns,
	.decode = predict_decode,
	.free = predict_free,
};

/* `count` GEMMs of rows x k by k x n in the model's type. */
static struct gemm gemm_of(const struct model *m, const struct device *d, int64_t count, int64_t k,
			   int64_t n)
{
	double bytes_ns = (double)m->dtype_bytes / d->gemm_bytes_s * 1e9;
	return (struct gemm){
		.count = (double)count,
		.t0_ns = d->gemm_t0_ns,
		.weight_ns = (double)k * (double)n * bytes_ns,
		.row_ns = (double)(k + n) * bytes_ns,
		.flop_ns = 2 * (double)k * (double)n / d->gemm_flops * 1e9,
	};
}

struct build {
	struct cost *c;
	const struct model *m;
	const struct device *d;
	int64_t tp;
	struct gemm linear[MAX_GEMMS];
	int n_linear;
	/* all-reduces of all layers, and sends between stages: constant, a token */
	double move_ns, move_tok_ns;
};

static void add(struct build *b, int64_t count, int64_t k, int64_t n)
{
	CHECK(b->n_linear < MAX_GEMMS, "%d GEMMs, room for %d", b->n_linear, MAX_GEMMS);
	if (count > 0 && k > 0 && n > 0)
		b->linear[b->n_linear++] = gemm_of(b->m, b->d, count, k, n);
}

static void add_gqa(struct build *b)
{
	const struct model *m = b->m;
	int64_t q = m->heads / b->tp * m->head_dim;
	int64_t kv = model_local_kv_heads(m, b->tp) * m->head_dim;
	add(b, m->layers, m->hidden, q + 2 * kv);
	add(b, m->layers, q, m->hidden);
}

/* Down-projections in one GEMM; kv_b as one, whether it is absorbed into q and o (decode) or not.
 */
static void add_mla(struct build *b)
{
	const struct model *m = b->m;
	int64_t heads = m->heads / b->tp, q = heads * (m->nope_dim + m->rope_dim);
	add(b, m->layers, m->hidden, (m->q_lora ? m->q_lora : q) + m->kv_lora + m->rope_dim);
	add(b, m->layers, m->q_lora, q);
	add(b, m->layers, m->kv_lora, heads * (m->nope_dim + m->v_dim));
	add(b, m->layers, heads * m->v_dim, m->hidden);
}

static void add_mlp(struct build *b, int64_t count, int64_t width)
{
	add(b, count, b->m->hidden, (b->m->gated ? 2 : 1) * width);
	add(b, count, width, b->m->hidden);
}

static struct gemm expert_gemm(const struct build *b, int64_t count, int64_t k, int64_t n)
{
	struct gemm g = gemm_of(b->m, b->d, count, k, n);
	if (b->m->expert_bits > 0)
		g.weight_ns *= b->m->expert_bits / (double)(8 * b->m->dtype_bytes);
	g.row_ns *= (double)b->m->experts_active; /* each token passes through so many experts */
	g.flop_ns *= (double)b->m->experts_active;
	return g;
}

static void add_experts(struct build *b, int64_t count)
{
	const struct model *m = b->m;
	int64_t width = m->expert_inter / b->tp;
	add(b, count, m->hidden, m->experts);
	add_mlp(b, m->experts_shared ? count : 0, m->experts_shared * m->expert_inter / b->tp);
	b->c->experts[0] = expert_gemm(b, count, m->hidden, (m->gated ? 2 : 1) * width);
	b->c->experts[1] = expert_gemm(b, count, width, m->hidden);
	b->c->n_experts = 2;
	b->c->expert_count = (double)m->experts;
	b->c->log_miss = log1p(-(double)m->experts_active / (double)m->experts);
}

/* Two ring all-reduces a layer over the activations of every token. */
static void set_reduce(struct build *b)
{
	double tp = (double)b->tp, calls = 2 * (double)b->m->layers;
	double bytes = (double)(b->m->hidden * b->m->dtype_bytes);
	if (b->tp == 1)
		return;
	b->move_ns += calls * b->d->link_latency_ns;
	b->move_tok_ns += calls * 2 * (tp - 1) / tp * bytes / device_node_bytes_s(b->d) * 1e9;
}

/* Activations of every token from each stage to the next. */
static void set_sends(struct build *b, int64_t pp)
{
	bool node = b->tp * pp <= NODE_DEVICES;
	double latency_ns = node ? b->d->link_latency_ns : b->d->network_latency_ns;
	double bytes_s = node ? device_node_bytes_s(b->d) : b->d->network_bytes_s;
	if (pp <= 1)
		return;
	b->move_ns += (double)(pp - 1) * latency_ns;
	b->move_tok_ns +=
		(double)(pp - 1) * (double)(b->m->hidden * b->m->dtype_bytes) / bytes_s * 1e9;
}

static void set_attention(const struct build *b, int64_t kv_bits)
{
	const struct model *m = b->m;
	bool mla = m->attention == ATTENTION_MLA;
	int64_t local_heads = m->heads / b->tp;
	double heads = (double)local_heads, layers = (double)m->layers;
	double flops_s = 0.5 * b->d->peak_flops, bytes_s = 0.9 * b->d->peak_bytes_s;
	/* numbers multiplied for a (query, key) pair by one head: the score, and the value */
	double prefill =
		mla ? (double)(m->nope_dim + m->rope_dim + m->v_dim) : (double)(2 * m->head_dim);
	double decode = mla ? (double)(2 * m->kv_lora + m->rope_dim) : prefill;
	double full_layers = (double)(m->layers - m->window_layers);
	double window_layers = (double)m->window_layers;
	struct model_kv kv;
	model_kv(m, b->tp, 1, kv_bits, &kv);
	b->c->attend_ns = layers * b->d->gemm_t0_ns;
	b->c->read_ns = (double)kv.full_bytes / bytes_s * 1e9;
	b->c->window_read_ns = (double)kv.window_bytes / bytes_s * 1e9;
	b->c->ctx_ns = larger(b->c->read_ns, full_layers * 2 * heads * decode / flops_s * 1e9);
	b->c->window_ns =
		larger(b->c->window_read_ns, window_layers * 2 * heads * decode / flops_s * 1e9);
	b->c->pair_ns = full_layers * 2 * heads * prefill / flops_s * 1e9;
	b->c->window_pair_ns = window_layers * 2 * heads * prefill / flops_s * 1e9;
}

/* The sum over all GEMMs, which each bend once, where compute outgrows memory. */
static double sum_ns(const struct build *b, double rows)
{
	double ns = b->move_ns + b->move_tok_ns * rows;
	for (int i = 0; i < b->n_linear; i++)
		ns += gemm_ns(&b->linear[i], rows, 1);
	return ns;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* The sum as a curve: exact, since its points are where it bends. */
static void compile_linear(const struct build *b)
{
	double bend[MAX_GEMMS + 2];
	struct curve_point points[MAX_GEMMS + 2];
	size_t n = 0, kept = 0;
	bend[n++] = 1;
	for (int i = 0; i < b->n_linear; i++) {
		const struct gemm *g = &b->linear[i];
		if (g->flop_ns > g->row_ns)
			bend[n++] = g->weight_ns / (g->flop_ns - g->row_ns);
	}
	qsort(bend, n, sizeof(bend[0]), by_value);
	bend[n] = 2 * bend[n - 1] + 1; /* the last piece goes on beyond it */
	n++;
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || bend[i] > points[kept - 1].tok)
			points[kept++] = (struct curve_point){bend[i], sum_ns(b, bend[i])};
	curve_init(&b->c->linear, points, kept);
}

struct executor *cost_predict_new(const struct model *m, const struct device *d,
				  const struct cost_want *w, struct err *e)
{
	(void)e;

	struct cost *c = xcalloc(1, sizeof(*c));
	struct build b = {.c = c, .m = m, .d = d, .tp = w->tp};
	int64_t dense = m->experts ? m->dense_layers : m->layers;
	c->x = (struct executor){.ops = &predict_ops, .notes = "roofline"};
	if (m->attention == ATTENTION_MLA)
		add_mla(&b);
	else
		add_gqa(&b);
	add_mlp(&b, dense, m->inter / w->tp);
	if (m->layers > dense)
		add_experts(&b, m->layers - dense);
	c->head = gemm_of(m, d, 1, m->hidden, (m->vocab + w->tp - 1) / w->tp);
	c->graph = w->graph;
	set_reduce(&b);
	set_sends(&b, w->pp);
	compile_linear(&b);
	set_attention(&b, w->kv_bits);
	return &c->x;
}

double cost_decode_floor_ns(const struct model *m, const struct device *d, int64_t tp)
{
	return (double)model_streamed_token_bytes(m, tp) / d->peak_bytes_s * 1e9;
}

double cost_decode_step_ns(const struct model *m, const struct device *d, int64_t tp, int64_t seqs,
			   int64_t ctx, struct err *e)
{
	const struct cost_want w = {.tp = tp, .kv_bits = 16};
	struct executor *x = cost_predict_new(m, d, &w, e);

	if (!x)
		return -1;
	const struct step s = {
		.decode_seq = seqs,
		.decode_ctx = ctx,
		.window_ctx = ctx < seqs * m->window_tok ? ctx : seqs * m->window_tok,
	};
	double ns = x->ops->step_ns(x, &s);

	executor_free(x);
	return ns;
}
