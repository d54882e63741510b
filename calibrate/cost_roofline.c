/* Weights of a model that are multiplied, and all of a step as a roofline: constants of the device,
 * fitted to public measurements or shares of its peaks. */

#include "calibrate/cost_parts.h"
#include <math.h>

/* The router stays in the model's own type, whatever the bits of the others. */
static void add(struct cost_build *b, int64_t count, int64_t k, int64_t n, double bits)
{
	CHECK(b->n_linear < COST_MATRICES, "%d GEMMs, room for %d", b->n_linear, COST_MATRICES);
	if (count > 0 && k > 0 && n > 0)
		b->linear[b->n_linear++] = (struct matrix){count, k, n, bits};
}

static void add_gqa(struct cost_build *b)
{
	const struct model *m = b->m;
	int64_t tp = b->w->tp, q = m->heads / tp * m->head_dim;
	int64_t kv = model_local_kv_heads(m, tp) * m->head_dim;
	double bits = model_linear_bits(m);
	add(b, m->layers, m->hidden, q + 2 * kv, bits);
	add(b, m->layers, q, m->hidden, bits);
}

/* Down-projections in one GEMM; kv_b as one, whether it is absorbed into q and o (decode) or not.
 */
static void add_mla(struct cost_build *b)
{
	const struct model *m = b->m;
	int64_t heads = m->heads / b->w->tp, q = heads * (m->nope_dim + m->rope_dim);
	double bits = model_linear_bits(m);
	add(b, m->layers, m->hidden, (m->q_lora ? m->q_lora : q) + m->kv_lora + m->rope_dim, bits);
	add(b, m->layers, m->q_lora, q, bits);
	add(b, m->layers, m->kv_lora, heads * (m->nope_dim + m->v_dim), bits);
	add(b, m->layers, heads * m->v_dim, m->hidden, bits);
}

static void add_mlp(struct cost_build *b, int64_t count, int64_t width)
{
	double bits = model_linear_bits(b->m);
	add(b, count, b->m->hidden, (b->m->gated ? 2 : 1) * width, bits);
	add(b, count, width, b->m->hidden, bits);
}

void cost_list_matrices(struct cost_build *b)
{
	const struct model *m = b->m;
	int64_t tp = b->w->tp, own = 8 * m->dtype_bytes, sparse = model_expert_layers(m);
	if (m->attention == ATTENTION_MLA)
		add_mla(b);
	else
		add_gqa(b);
	add_mlp(b, m->layers - sparse, m->inter / tp);
	if (sparse > 0) {
		add(b, sparse, m->hidden, m->experts, (double)own);
		add_mlp(b, m->experts_shared ? sparse : 0,
			m->experts_shared * m->expert_inter / tp);
	}
	b->head = (struct matrix){1, m->hidden, (m->vocab + tp - 1) / tp, (double)own};
}

struct gemm cost_gemm(const struct cost_build *b, const struct matrix *w)
{
	const struct device *d = b->d;
	double k = (double)w->k, n = (double)w->n;
	return (struct gemm){
		.count = (double)w->count,
		.t0_ns = d->gemm_t0_ns,
		.weight_ns = k * n * w->bits / 8 / d->gemm_bytes_s * 1e9,
		.row_ns = (k + n) * (double)b->m->dtype_bytes / d->gemm_bytes_s * 1e9,
		.flop_ns = 2 * k * n / d->gemm_flops * 1e9,
	};
}

static struct gemm expert_gemm(const struct cost_build *b, int64_t count, int64_t k, int64_t n)
{
	const struct matrix w = {count, k, n, model_expert_bits(b->m)};
	struct gemm g = cost_gemm(b, &w);
	g.row_ns *= (double)b->m->experts_active; /* each token passes through so many experts */
	g.flop_ns *= (double)b->m->experts_active;
	return g;
}

static void set_experts(struct cost_build *b)
{
	const struct model *m = b->m;
	int64_t count = model_expert_layers(m), width = m->expert_inter / b->w->tp;
	if (count == 0)
		return;
	b->c->experts[0] = expert_gemm(b, count, m->hidden, (m->gated ? 2 : 1) * width);
	b->c->experts[1] = expert_gemm(b, count, width, m->hidden);
	b->c->n_experts = 2;
	b->c->expert_count = (double)m->experts;
	b->c->log_miss = log1p(-(double)m->experts_active / (double)m->experts);
}

/* Two ring all-reduces a layer over the activations of every token. */
double cost_reduce_ns(const struct cost_build *b, double tok)
{
	double tp = (double)b->w->tp, calls = 2 * (double)b->m->layers;
	double bytes = tok * (double)(b->m->hidden * b->m->dtype_bytes);
	if (b->w->tp == 1)
		return 0;
	double wire_ns = 2 * (tp - 1) / tp * bytes / device_node_bytes_s(b->d) * 1e9;
	return calls * (b->d->link_latency_ns + wire_ns);
}

/* Activations of every token from each stage to the next. */
double cost_send_ns(const struct cost_build *b, double tok)
{
	bool node = b->w->tp * b->w->pp <= NODE_DEVICES;
	double latency_ns = node ? b->d->link_latency_ns : b->d->network_latency_ns;
	double bytes_s = node ? device_node_bytes_s(b->d) : b->d->network_bytes_s;
	double bytes = tok * (double)(b->m->hidden * b->m->dtype_bytes);
	if (b->w->pp <= 1)
		return 0;
	return (double)(b->w->pp - 1) * (latency_ns + bytes / bytes_s * 1e9);
}

static void set_attention(const struct cost_build *b)
{
	const struct model *m = b->m;
	bool mla = m->attention == ATTENTION_MLA;
	double heads = (double)(m->heads / b->w->tp), layers = (double)m->layers;
	double flops_s = 0.5 * b->d->peak_flops, bytes_s = 0.9 * b->d->peak_bytes_s;
	/* numbers multiplied for a (query, key) pair by one head: the score, and the value */
	double prefill =
		mla ? (double)(m->nope_dim + m->rope_dim + m->v_dim) : (double)(2 * m->head_dim);
	double decode = mla ? (double)(2 * m->kv_lora + m->rope_dim) : prefill;
	double window_layers = (double)m->window_layers, full_layers = layers - window_layers;
	struct cost_attend *a = &b->c->attend;
	struct model_kv kv;
	model_kv(m, b->w->tp, 1, b->w->kv_bits, &kv);
	a->call_ns = layers * b->d->gemm_t0_ns;
	a->read_ns = (double)kv.full_bytes / bytes_s * 1e9;
	a->window_read_ns = (double)kv.window_bytes / bytes_s * 1e9;
	a->ctx_ns = larger(a->read_ns, full_layers * 2 * heads * decode / flops_s * 1e9);
	a->window_ns =
		larger(a->window_read_ns, window_layers * 2 * heads * decode / flops_s * 1e9);
	a->pair_ns = full_layers * 2 * heads * prefill / flops_s * 1e9;
	a->window_pair_ns = window_layers * 2 * heads * prefill / flops_s * 1e9;
	b->c->full_layers = full_layers;
	b->c->window_layers = window_layers;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* The sum of GEMMs, which each bend once, where compute outgrows memory, and of `more`: exact,
 * since its points are where it bends. */
static void sum_curve(const struct cost_build *b, const struct matrix *w, int n,
		      double (*more)(const struct cost_build *b, double rows), struct curve *curve)
{
	double bend[COST_MATRICES + 2];
	struct curve_point points[COST_MATRICES + 2];
	size_t bends = 0, kept = 0;
	bend[bends++] = 1;
	for (int i = 0; i < n; i++) {
		const struct gemm g = cost_gemm(b, &w[i]);
		if (g.flop_ns > g.row_ns)
			bend[bends++] = g.weight_ns / (g.flop_ns - g.row_ns);
	}
	qsort(bend, bends, sizeof(bend[0]), by_value);
	bend[bends] = 2 * bend[bends - 1] + 1; /* the last piece goes on beyond it */
	bends++;
	for (size_t i = 0; i < bends; i++) {
		double ns = more(b, bend[i]);
		for (int k = 0; k < n; k++) {
			const struct gemm g = cost_gemm(b, &w[k]);
			ns += gemm_ns(&g, bend[i], 1);
		}
		if (kept == 0 || bend[i] > points[kept - 1].tok)
			points[kept++] = (struct curve_point){bend[i], ns};
	}
	curve_init(curve, points, kept);
}

static double moves_ns(const struct cost_build *b, double rows)
{
	return cost_reduce_ns(b, rows) + cost_send_ns(b, rows);
}

static double nothing_ns(const struct cost_build *b, double rows)
{
	(void)b;
	(void)rows;
	return 0;
}

void cost_roofline(struct cost_build *b)
{
	sum_curve(b, b->linear, b->n_linear, moves_ns, &b->c->linear);
	sum_curve(b, &b->head, 1, nothing_ns, &b->c->head);
	set_experts(b);
	set_attention(b);
	b->c->cell_ns = b->d->scope_cell_ns;
}
