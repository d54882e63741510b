/* Tiles of keys, rows of queries, and the running softmax between them. */

#include "calibrate/cpu_attention.h"
#include "calibrate/cpu_blas.h"
#include "calibrate/cpu_kv_read.h"
#include "sim/err.h"
#include <math.h>
#include <omp.h>
#include <string.h>

enum {
	TILE = 128, /* keys at a time */
	ROWS = 64,  /* queries x heads of a group, about, in a task */
	FEW = 8	    /* rows up to which blocks are read where they lie */
};

/* What a thread has: rows of q and o, max and sum of each row, scores, gathered keys and values. */
struct desk {
	float *q, *o, *max, *sum, *s, *k, *v, *pair;
};

static int64_t group(const struct cpu_attention *a)
{
	return a->heads / a->kv_heads;
}

static int64_t task_queries(const struct cpu_attention *a)
{
	return group(a) < ROWS ? ROWS / group(a) : 1;
}

static int64_t max_rows(const struct cpu_attention *a)
{
	return task_queries(a) * group(a);
}

static int64_t desk_floats(const struct cpu_attention *a)
{
	int64_t rows = max_rows(a), d = a->head_dim;
	return 2 * rows * d + 2 * rows + rows * TILE + 2 * (int64_t)TILE * d + 2 * d;
}

static struct desk desk(const struct cpu_attention *a)
{
	int64_t rows = max_rows(a), d = a->head_dim;
	struct desk t = {.q = a->scratch + omp_get_thread_num() * desk_floats(a)};

	t.o = t.q + rows * d;
	t.k = t.o + rows * d;
	t.v = t.k + TILE * d;
	t.s = t.v + TILE * d;
	t.max = t.s + rows * TILE;
	t.sum = t.max + rows;
	t.pair = t.sum + rows;
	return t;
}

void cpu_attention_init(struct cpu_attention *a, const struct cpu_ops *o, int64_t heads,
			int64_t kv_heads, int64_t head_dim, int64_t max_tok, int64_t max_seqs)
{
	*a = (struct cpu_attention){
		.ops = o, .heads = heads, .kv_heads = kv_heads, .head_dim = head_dim};
	a->room = (size_t)((max_tok / task_queries(a) + max_seqs) * kv_heads);
	a->task = xmalloc(a->room * sizeof(*a->task));
	a->scratch = xmalloc((size_t)(o->threads * desk_floats(a)) * sizeof(float));
}

void cpu_attention_release(struct cpu_attention *a)
{
	free(a->task);
	free(a->scratch);
	*a = (struct cpu_attention){0};
}

/* Of a prompt the last queries first: they see most, and a long task at the end is waited for. */
static void plan_seq(struct cpu_attention *a, const struct cpu_seq *s)
{
	int64_t queries = task_queries(a);

	for (int64_t first = (s->new_tok - 1) / queries * queries; first >= 0; first -= queries)
		for (int64_t h = 0; h < a->kv_heads; h++) {
			int64_t left = s->new_tok - first;
			CHECK(a->n_tasks < a->room, "%zu of %zu tasks", a->n_tasks, a->room);
			a->task[a->n_tasks++] = (struct cpu_attention_task){
				.seq = s,
				.kv_head = h,
				.first = first,
				.n = left < queries ? left : queries,
			};
		}
}

void cpu_attention_plan(struct cpu_attention *a, const struct cpu_seq *seqs, size_t n)
{
	a->n_tasks = 0;
	a->seqs = seqs;
	a->n_seqs = n;
	for (size_t i = 0; i < n; i++)
		plan_seq(a, &seqs[i]);
}

/* A task under way. */
struct work {
	const struct cpu_attention *a;
	const struct cpu_attention_task *t;
	struct cpu_kv_reader reader;
	int64_t rows;
	struct desk desk;
};

static void load_queries(struct work *w, const float *q, int64_t stride)
{
	int64_t g = group(w->a), d = w->a->head_dim;
	/* scores are powers of 2, not of e */
	float scale = 1.44269504F / sqrtf((float)d);

	for (int64_t r = 0; r < w->rows; r++) {
		int64_t row = w->t->seq->row + w->t->first + r / g;
		const float *from = q + row * stride + (w->t->kv_head * g + r % g) * d;
		for (int64_t i = 0; i < d; i++) {
			w->desk.q[r * d + i] = from[i] * scale;
			w->desk.o[r * d + i] = 0;
		}
		w->desk.max[r] = -INFINITY;
		w->desk.sum[r] = 0;
	}
}

/* A piece of a tile to where it was wanted, unless it is there. */
static void gather(const struct cpu_kv_piece *p, int64_t d, float *to)
{
	for (int64_t i = 0; i < p->n && p->x != to; i++)
		memcpy(to + i * d, p->x + i * p->stride, (size_t)d * sizeof(float));
}

static void scores(const struct work *w, int64_t from, int64_t end)
{
	int64_t d = w->a->head_dim;
	const struct desk *t = &w->desk;
	struct cpu_kv_piece p;

	for (int64_t tok = from; tok < end; tok += p.n) {
		float *room = t->k + (tok - from) * d;
		p = cpu_kv_read(&w->reader, KV_KEYS, tok, end, room);
		if (w->rows <= FEW)
			w->a->ops->kernels->scores(t->q, w->rows, d, p.x, p.stride, p.n,
						   t->s + tok - from, TILE);
		else
			gather(&p, d, room);
	}
	if (w->rows > FEW)
		blas_gemm(w->rows, end - from, d, (struct blas_matrix){t->q, d},
			  (struct blas_matrix){t->k, d}, true, false, t->s, TILE);
}

/* The softmax of the tile: a query sees the keys up to its own. */
static void soften(const struct work *w, int64_t from, int64_t end)
{
	int64_t g = group(w->a), d = w->a->head_dim;
	const struct desk *t = &w->desk;

	for (int64_t r = 0; r < w->rows; r++) {
		int64_t sees = w->t->seq->prior_tok + w->t->first + r / g + 1 - from;
		int64_t n = sees < end - from ? sees : end - from;
		float before = t->max[r];
		float shrink = w->a->ops->kernels->softmax(t->s + r * TILE, n < 0 ? 0 : n,
							   end - from, &t->max[r], &t->sum[r]);
		if (t->max[r] > before)
			for (int64_t i = 0; i < d; i++)
				t->o[r * d + i] *= shrink;
	}
}

static void weigh(const struct work *w, int64_t from, int64_t end)
{
	int64_t d = w->a->head_dim;
	const struct desk *t = &w->desk;
	struct cpu_kv_piece p;

	for (int64_t tok = from; tok < end; tok += p.n) {
		float *room = t->v + (tok - from) * d;
		p = cpu_kv_read(&w->reader, KV_VALUES, tok, end, room);
		if (w->rows <= FEW)
			w->a->ops->kernels->weigh(t->s + tok - from, TILE, w->rows, p.x, p.stride,
						  p.n, d, t->o);
		else
			gather(&p, d, room);
	}
	if (w->rows > FEW)
		blas_gemm(w->rows, d, end - from, (struct blas_matrix){t->s, TILE},
			  (struct blas_matrix){t->v, d}, false, true, t->o, d);
}

static void store(const struct work *w, float *out)
{
	int64_t g = group(w->a), d = w->a->head_dim;

	for (int64_t r = 0; r < w->rows; r++) {
		int64_t row = w->t->seq->row + w->t->first + r / g;
		float *to = out + (row * w->a->heads + w->t->kv_head * g + r % g) * d;
		float share = 1 / w->desk.sum[r];
		for (int64_t i = 0; i < d; i++)
			to[i] = w->desk.o[r * d + i] * share;
	}
}

static void run_task(struct work *w, const float *q, float *out)
{
	int64_t ctx = w->t->seq->prior_tok + w->t->first + w->t->n;

	load_queries(w, q, w->reader.rows->stride);
	for (int64_t from = 0; from < ctx; from += TILE) {
		int64_t end = from + TILE < ctx ? from + TILE : ctx;
		scores(w, from, end);
		soften(w, from, end);
		weigh(w, from, end);
	}
	store(w, out);
}

void cpu_attention_run(const struct cpu_attention *a, struct cpu_kv *kv, int64_t layer,
		       const float *q, const struct cpu_kv_rows *rows, float *out)
{
	if (!cpu_kv_is_late(kv))
		cpu_kv_write(kv, layer, a->seqs, a->n_seqs, rows);
#pragma omp parallel for num_threads(a->ops->threads) schedule(dynamic, 1)
	for (size_t i = 0; i < a->n_tasks; i++) {
		const struct cpu_attention_task *t = &a->task[i];
		struct work w = {.a = a, .t = t, .rows = t->n * group(a), .desk = desk(a)};
		w.reader = (struct cpu_kv_reader){.kv = kv,
						  .kernels = a->ops->kernels,
						  .layer = layer,
						  .head = t->kv_head,
						  .s = t->seq,
						  .rows = rows,
						  .pair = w.desk.pair};
		run_task(&w, q, out);
	}
	if (cpu_kv_is_late(kv))
		cpu_kv_write(kv, layer, a->seqs, a->n_seqs, rows);
}
