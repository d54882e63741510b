/*
 * One operation, timed: a few runs in a graph, each on inputs of its own, as they follow each other
 * in a step.
 */

#include "launches.h"
#include "number.cuh"
#include "session.h"
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <functional>
#include <numeric>

/* A run of it, on the next inputs. -1: it cannot. */
typedef std::function<int(err *e)> timed_run;

constexpr double graph_ns = 200e3; /* as many runs as take about that */
constexpr int runs_most = 16;

static int events_about(backend *b, const std::function<int()> &run, double *ns, err *e)
{
	if (failed(cudaEventRecord(b->begin, b->main), "timing", e) < 0 || run() < 0 ||
	    failed(cudaEventRecord(b->end, b->main), "timing", e) < 0)
		return -1;
	return session_elapsed(b, ns, e);
}

static int time_runs(backend *b, const timed_run &run, double *ns, err *e)
{
	cudaGraphExec_t graph;

	/* the first run loads the kernel, the second says how long it takes, about */
	for (int i = 0; i < 2; i++)
		if (events_about(
			    b, [&] { return run(e); }, ns, e) < 0)
			return -1;
	int n = (int)std::clamp(graph_ns / *ns, 1.0, (double)runs_most);
	auto all = [&] {
		for (int i = 0; i < n; i++)
			if (run(e) < 0)
				return -1;
		return 0;
	};

	if (session_capture(b, all, &graph, e) < 0)
		return -1;
	auto start = [&] { return failed(cudaGraphLaunch(graph, b->main), "starting a graph", e); };
	int r = failed(cudaStreamSynchronize(b->main), "uploading a graph", e);

	/* while the device is at work on something else, event and graph are queued: else the time
	 * that the launch takes would be timed too */
	if (r == 0) {
		launch_busy(b->queued, queued_numbers, b->main);
		r = events_about(b, start, ns, e);
	}
	cudaGraphExecDestroy(graph);
	*ns /= n;
	return r;
}

static int in_range(const point *p, int64_t m, int64_t n, int64_t k, err *e)
{
	constexpr int64_t most = INT64_C(1) << 30;

	if (m >= 1 && n >= 1 && k >= 1 && m <= most && n <= most && k <= most)
		return 0;
	return err_set(e, "%s of %" PRId64 " x %" PRId64 " x %" PRId64 ": no such sizes",
		       op_names[p->op], p->m, p->n, p->k);
}

/* Rows of a multiple of 8 numbers, as every one in a step is. */
static int64_t whole(int64_t n)
{
	return (n + 7) / 8 * 8;
}

static bf16 *numbers(backend *b, int64_t n)
{
	return (bf16 *)bench_take(b->tests, BENCH_NUMBERS, n * 2);
}

static bf16 *outputs(backend *b, int64_t n)
{
	return (bf16 *)bench_take(b->tests, BENCH_OUT, n * 2);
}

/* Room for so many numbers of inputs and outputs of a run. */
static int need(backend *b, int64_t in, int64_t out, err *e)
{
	return bench_need(b->tests, BENCH_NUMBERS, 2 * in + 4096, e) < 0 ||
			       bench_need(b->tests, BENCH_OUT, 2 * out + 4096, e) < 0
		       ? -1
		       : 0;
}

static int time_gemm(backend *b, const point *p, double *ns, err *e)
{
	int64_t m = p->m, n = whole(p->n), k = whole(p->k);

	if (p->bits != 16)
		return 1;
	if (in_range(p, m, n, k, e) < 0 || need(b, m * k + n * k, m * n, e) < 0)
		return -1;
	auto run = [&](err *f) {
		return gemm_run(b->run.multiply,
				{numbers(b, m * k), numbers(b, n * k), nullptr, outputs(b, m * n),
				 m, n, k, false},
				b->main, f);
	};
	return time_runs(b, run, ns, e);
}

static int time_norm(backend *b, const point *p, double *ns, err *e)
{
	int64_t n = whole(p->n);

	if (in_range(p, p->m, n, 1, e) < 0 || need(b, p->m * n + 2 * n, 2 * p->m * n, e) < 0)
		return -1;
	auto run = [&](err *) {
		/* x is added to: nothing else reads it */
		norm_args a = {outputs(b, p->m * n),
			       numbers(b, p->m * n),
			       numbers(b, n),
			       b->weights.layer_norm ? numbers(b, n) : nullptr,
			       outputs(b, p->m * n),
			       nullptr,
			       (int)n,
			       1,
			       n,
			       n};

		launch_norm(a, p->m, b->main);
		return 0;
	};
	return time_runs(b, run, ns, e);
}

static int time_activation(backend *b, const point *p, double *ns, err *e)
{
	int64_t n = whole(p->n), in = p->m * n * (b->weights.gated ? 2 : 1);

	if (in_range(p, p->m, n, 1, e) < 0 || need(b, in, p->m * n, e) < 0)
		return -1;
	auto run = [&](err *) {
		launch_activate(numbers(b, in), outputs(b, p->m * n), b->weights.gated, p->m,
				(int)n, b->main);
		return 0;
	};
	return time_runs(b, run, ns, e);
}

static int check_rows(backend *b, const point *p, err *e)
{
	if (p->m <= b->want.max_tok)
		return 0;
	return err_set(e, "%s of %" PRId64 " tokens: there is room for %" PRId64, op_names[p->op],
		       p->m, b->want.max_tok);
}

/* m ids that are others in the next run, lest its rows lie in the cache. */
static const int32_t *other_ids(backend *b, int64_t m)
{
	if (b->next_id + m > timed_ids_runs * b->want.max_tok)
		b->next_id = 0;
	b->next_id += m;
	return b->timed_ids + b->next_id - m;
}

/* The model's own table. */
static int time_embedding(backend *b, const point *p, double *ns, err *e)
{
	const share &s = b->weights;

	if (p->n != s.hidden)
		return err_set(
			e, "an embedding of width %" PRId64 ": that of the open model is %" PRId64,
			p->n, s.hidden);
	if (in_range(p, p->m, p->n, 1, e) < 0 || check_rows(b, p, e) < 0 ||
	    need(b, 0, p->m * p->n, e) < 0)
		return -1;
	std::vector<int32_t> position((size_t)p->m);

	memory_write(b->plans.position, position.data(), position.size() * sizeof(int32_t));
	auto run = [&](err *) {
		launch_embed(s.embed, s.position, other_ids(b, p->m), b->plans.position,
			     outputs(b, p->m * p->n), p->m, (int)p->n, b->main);
		return 0;
	};
	return time_runs(b, run, ns, e);
}

static int time_sampling(backend *b, const point *p, double *ns, err *e)
{
	int64_t n = whole(p->n);

	if (in_range(p, p->m, n, 1, e) < 0 || need(b, p->m * n, 2 * p->m, e) < 0)
		return -1;
	auto run = [&](err *) {
		launch_argmax(numbers(b, p->m * n), (int32_t *)outputs(b, 2 * p->m), p->m, (int)n,
			      b->main);
		return 0;
	};
	return time_runs(b, run, ns, e);
}

/* --- attention ----------------------------------------------------------------------------------
 */

/* The plan of a point's sequences, and what it is run on: sizes of its own, not the model's. */
struct timed_attention {
	plan_shape shape;
	plan planned;
	int head_dim;
	int64_t pages, recent_pages;
};

static int check_heads(const point *p, err *e)
{
	if (p->heads < 1 || p->kv_heads < 1 || p->heads % p->kv_heads ||
	    p->heads > (INT64_C(1) << 15) || !launch_has(p->head_dim, p->bits))
		return err_set(e,
			       "%s of %" PRId64 "/%" PRId64 " heads of %" PRId64
			       ", %d bits: there are kernels for heads of 64 (16 and 8 bits) and "
			       "128, and KV heads that divide the heads",
			       op_names[p->op], p->heads, p->kv_heads, p->head_dim, p->bits);
	return 0;
}

static int64_t pool_numbers(const timed_attention &t, int64_t pages)
{
	return (pages << t.shape.page_shift) * t.shape.kv_heads * t.head_dim;
}

static void take_pool(backend *b, const timed_attention &t, int64_t pages, int bits, kv_pool *p)
{
	int64_t n = pool_numbers(t, pages);
	bench_kind kind = bits == 16 ? BENCH_NUMBERS : BENCH_BYTES;

	*p = kv_pool();
	p->k = bench_take(b->tests, kind, n * bits / 8);
	p->v = bench_take(b->tests, kind, n * bits / 8);
	if (bits < 8) {
		p->k_scales = (uint32_t *)bench_take(b->tests, BENCH_SCALES, n / kivi_group * 4);
		p->v_scales = (uint32_t *)bench_take(b->tests, BENCH_SCALES, n / kivi_group * 4);
	}
	p->kv_heads = t.shape.kv_heads;
	p->page_shift = t.shape.page_shift;
}

/* Rows of positions, norms and the pool's own part are not in it: attention alone. */
static int run_attention(backend *b, const timed_attention &t, attention a)
{
	int64_t rows = (int64_t)t.planned.position.size(), q = (int64_t)a.heads * t.head_dim;
	attention_layer l = {};

	take_pool(b, t, t.pages, t.shape.bits, &l.pool);
	l.pool.pages = b->timed_order;
	if (t.shape.bits < 16 && !t.planned.tiles.empty()) {
		take_pool(b, t, t.shape.stage_pages, 16, &l.stage);
		l.stage.pages = b->straight;
	}
	if (t.shape.bits < 8) {
		take_pool(b, t, t.recent_pages, 16, &l.recent);
		l.recent.pages = b->straight;
	}
	a.qkv = numbers(b, rows * (q + 2 * (int64_t)t.shape.kv_heads * t.head_dim));
	a.out = outputs(b, rows * q);
	a.part = (float *)outputs(b, 2 * t.planned.n_parts * q);
	a.part_top = (float2 *)outputs(b, (int64_t)4 * t.planned.n_parts * a.heads);
	plan_counts n = plan_count(t.planned);

	/* what is cached in fewer bits is brought to where prompts attend: a part of it */
	if (n.loads > 0)
		launch_kv_load(l.pool, l.stage, b->plans.loads, t.head_dim, t.shape.bits, n.loads,
			       b->main);
	attention_both(a, l, b->plans, n);
	return 0;
}

static int need_attention(backend *b, const timed_attention &t, int64_t heads, err *e)
{
	int64_t rows = (int64_t)t.planned.position.size(), q = heads * t.head_dim;
	int64_t pool = 2 * pool_numbers(t, t.pages);
	int64_t wide = t.shape.bits == 16 ? pool : 2 * pool_numbers(t, t.recent_pages);
	int64_t kv = 2 * (int64_t)t.shape.kv_heads * t.head_dim;

	if (t.shape.bits < 16 && !t.planned.tiles.empty())
		wide += 2 * pool_numbers(t, t.shape.stage_pages);
	if (need(b, wide + rows * (q + kv), rows * q + t.planned.n_parts * (2 * q + 4 * heads), e) <
	    0)
		return -1;
	if (t.shape.bits < 16 &&
	    bench_need(b->tests, BENCH_BYTES, pool * t.shape.bits / 8 + 4096, e) < 0)
		return -1;
	return t.shape.bits < 8
		       ? bench_need(b->tests, BENCH_SCALES, pool / kivi_group * 4 + 4096, e)
		       : 0;
}

/* Pages in an order of their own, as many as the sequences need. */
static int plan_attention(backend *b, const point *p, timed_attention &t, err *e)
{
	int64_t page_tok = INT64_C(1) << t.shape.page_shift;
	backend_seq *seqs = nullptr;
	size_t n = 0;
	int64_t rows = 0;

	if (backend_seqs(p, &seqs, &n, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		t.pages += (seqs[i].prior_tok + seqs[i].new_tok + page_tok - 1) / page_tok;
		rows += seqs[i].new_tok;
	}
	t.shape.pages = t.pages;
	t.shape.stage_pages = t.shape.bits < 16 ? t.pages : 0;
	t.recent_pages = t.shape.bits < 8 ? (int64_t)n * plan_recent_pages(t.shape.page_shift) : 0;
	std::vector<int32_t> order((size_t)t.pages);

	std::iota(order.begin(), order.end(), 0);
	for (size_t i = order.size(); i > 1; i--)
		std::swap(order[i - 1], order[hash_64(b->want.seed, i) % i]);
	int r = 0;

	if (rows > b->want.max_tok || (int64_t)n > b->want.max_seqs || t.pages > b->timed_pages ||
	    t.recent_pages > b->timed_pages)
		r = err_set(e,
			    "%s of %zu sequences and %" PRId64 " new tokens with %" PRId64
			    " pages: there is room for %" PRId64 ", %" PRId64 " and %" PRId64,
			    op_names[p->op], n, rows, t.pages, b->want.max_seqs, b->want.max_tok,
			    b->timed_pages);
	else
		r = plan_step(t.planned, t.shape, order.data(), seqs, n, e);
	free(seqs);
	if (r < 0)
		return -1;
	return failed(cudaMemcpyAsync(b->timed_order, order.data(), order.size() * sizeof(int32_t),
				      cudaMemcpyHostToDevice, b->main),
		      "copying pages", e);
}

static int time_attention(backend *b, const point *p, double *ns, err *e)
{
	timed_attention t = {};

	if (check_heads(p, e) < 0)
		return -1;
	t.head_dim = (int)p->head_dim;
	t.shape = b->shape;
	t.shape.kv_heads = (int)p->kv_heads;
	t.shape.group = (int)(p->heads / p->kv_heads);
	t.shape.bits = p->bits;
	t.shape.page_shift = plan_page_shift(b->want.block_tok, p->bits);
	if (plan_attention(b, p, t, e) < 0 ||
	    plan_buffers_write(b->plans, t.planned, b->main, e) < 0 ||
	    need_attention(b, t, p->heads, e) < 0)
		return -1;
	attention a = b->run.attend;

	a.heads = (int)p->heads;
	a.head_dim = t.head_dim;
	a.bits = p->bits;
	return time_runs(
		b, [&](err *) { return run_attention(b, t, a); }, ns, e);
}

/* Positions and the append of m tokens to the pool. */
static int time_rope(backend *b, const point *p, double *ns, err *e)
{
	const share &s = b->weights;
	timed_attention t = {};
	int64_t width = s.qkv_width();
	std::vector<int32_t> at((size_t)std::max<int64_t>(p->m, 0));

	if (p->n != (s.heads + s.kv_heads) * s.head_dim)
		return err_set(e,
			       "positions of width %" PRId64 ": that of the open model is %" PRId64,
			       p->n, (s.heads + s.kv_heads) * s.head_dim);
	if (in_range(p, p->m, p->n, 1, e) < 0 || check_rows(b, p, e) < 0)
		return -1;
	t.shape = b->shape;
	t.shape.bits = 16;
	t.head_dim = (int)s.head_dim;
	t.pages = (p->m >> t.shape.page_shift) + 1;
	std::iota(at.begin(), at.end(), 0);
	memory_write(b->plans.position, at.data(), at.size() * sizeof(int32_t));
	memory_write(b->plans.slot, at.data(), at.size() * sizeof(int32_t));
	if (need(b, p->m * width, 2 * pool_numbers(t, t.pages), e) < 0)
		return -1;
	auto run = [&](err *) {
		kv_pool pool = {outputs(b, pool_numbers(t, t.pages)),
				outputs(b, pool_numbers(t, t.pages)),
				nullptr,
				nullptr,
				b->straight,
				t.shape.kv_heads,
				t.shape.page_shift};
		append_args a = {numbers(b, p->m * width),
				 b->plans.position,
				 b->plans.slot,
				 nullptr,
				 pool,
				 {},
				 b->turns,
				 (int)s.heads};

		launch_append(a, t.head_dim, 16, p->m, b->main);
		return 0;
	};
	return time_runs(b, run, ns, e);
}

static int time_copy(backend *b, const point *p, double *ns, err *e)
{
	int64_t n = p->bytes;

	if (n < 1 || n > (INT64_C(1) << 40))
		return err_set(e, "%s of %" PRId64 " bytes: no such size", op_names[p->op], n);
	if (bench_need(b->tests, BENCH_NUMBERS, n + 256, e) < 0 ||
	    bench_need(b->tests, BENCH_OUT, n + 256, e) < 0 ||
	    (p->op != OP_COPY_DEVICE && bench_need_host(b->tests, n, e) < 0))
		return -1;
	auto run = [&](err *f) {
		void *from = bench_take(b->tests, BENCH_NUMBERS, n);
		void *to = bench_take(b->tests, BENCH_OUT, n);
		cudaMemcpyKind kind = cudaMemcpyDeviceToDevice;

		if (p->op == OP_COPY_TO_HOST) {
			to = b->tests.host;
			kind = cudaMemcpyDeviceToHost;
		} else if (p->op == OP_COPY_FROM_HOST) {
			from = b->tests.host;
			kind = cudaMemcpyHostToDevice;
		}
		return failed(cudaMemcpyAsync(to, from, (size_t)n, kind, b->main), "a copy", f);
	};
	return time_runs(b, run, ns, e);
}

static int time_step(backend *b, const point *p, double *ns, err *e)
{
	backend_seq *seqs = nullptr;
	size_t n = 0;

	if (backend_seqs(p, &seqs, &n, e) < 0)
		return -1;
	int r = session_step(b, seqs, n, ns, e);

	free(seqs);
	return r;
}

static int time_operation(backend *b, const point *p, double *ns, err *e)
{
	switch (p->op) {
	case OP_GEMM:
		return time_gemm(b, p, ns, e);
	case OP_PREFILL:
	case OP_DECODE:
	case OP_MIXED:
		return time_attention(b, p, ns, e);
	case OP_NORM:
		return time_norm(b, p, ns, e);
	case OP_ROPE:
		return time_rope(b, p, ns, e);
	case OP_ACT:
		return time_activation(b, p, ns, e);
	case OP_EMBED:
		return time_embedding(b, p, ns, e);
	case OP_SAMPLE:
		return time_sampling(b, p, ns, e);
	case OP_COPY_TO_HOST:
	case OP_COPY_FROM_HOST:
	case OP_COPY_DEVICE:
		return time_copy(b, p, ns, e);
	case OP_STEP:
		return time_step(b, p, ns, e);
	case OP_ALLREDUCE: /* one device has nobody to sum with */
	case N_OPS:
		break;
	}
	return 1;
}

int session_time(backend *b, const point *p, double *ns, err *e)
{
	b->tests.lacks_memory = false;
	int r = time_operation(b, p, ns, e);

	return r < 0 && b->tests.lacks_memory ? 1 : r;
}
