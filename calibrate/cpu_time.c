/* Sequences of a point, and what takes how long. */

#include "calibrate/cpu_time.h"
#include "calibrate/cpu_facts.h"
#include "sim/rng.h"
#include <inttypes.h>

int cpu_time_step(struct cpu_step *s, const struct backend_seq *seqs, size_t n, double *ns,
		  struct err *e)
{
	if (cpu_step_plan(s, seqs, n, e) < 0)
		return -1;
	double begin = cpu_now_ns();
	cpu_step_run(s);
	*ns = cpu_now_ns() - begin;
	return 0;
}

void cpu_time_init(struct cpu_time *t, struct cpu_step *s)
{
	*t = (struct cpu_time){.step = s, .seq = xcalloc((size_t)s->max_seqs, sizeof(*t->seq))};
	cpu_arena_init(&t->arena, s->weights.layers, s->weights.bytes, s->ops.threads);
}

void cpu_time_release(struct cpu_time *t)
{
	for (size_t i = 0; i < t->n_rigs; i++) {
		cpu_attention_release(&t->rig[i].attention);
		cpu_kv_release(&t->rig[i].own);
		free(t->rig[i].table);
	}
	cpu_arena_release(&t->arena);
	free(t->rig);
	free(t->seq);
}

static int whole_step(struct cpu_time *t, const struct point *p, double *ns, struct err *e)
{
	struct backend_seq *seqs = NULL;
	size_t n = 0;

	if (p->bits != t->step->kv.is.bits)
		return err_set(e, "a step with %d-bit KV: this pool has %d", p->bits,
			       t->step->kv.is.bits);
	if (backend_seqs(p, &seqs, &n, e) < 0)
		return -1;
	int result = cpu_time_step(t->step, seqs, n, ns, e);
	free(seqs);
	return result;
}

static int gemm(struct cpu_time *t, const struct point *p, double *ns, struct err *e)
{
	struct cpu_gemm g = {.m = p->m, .n = p->n, .k = p->k};

	g.w = cpu_arena_part(&t->arena, p->n * p->k, e);
	g.y = g.w ? cpu_arena_room(&t->arena, 1, p->m * p->n, e) : NULL;
	g.x = g.y ? cpu_arena_input(&t->arena, 0, p->m * p->k, e) : NULL;
	if (!g.x)
		return -1;
	double begin = cpu_now_ns();
	cpu_gemm(&t->step->ops, &g);
	*ns = cpu_now_ns() - begin;
	return 0;
}

static int norm(struct cpu_time *t, const struct point *p, double *ns, struct err *e)
{
	struct cpu_norm g = {.m = p->m, .n = p->n};
	bool layer_norm = t->step->weights.layer_norm;

	g.weight = cpu_arena_part(&t->arena, p->n, e);
	g.bias = layer_norm ? g.weight : NULL;
	g.y = g.weight ? cpu_arena_room(&t->arena, 2, p->m * p->n, e) : NULL;
	g.x = g.y ? cpu_arena_input(&t->arena, 0, p->m * p->n, e) : NULL;
	g.add = g.x ? cpu_arena_input(&t->arena, 1, p->m * p->n, e) : NULL;
	if (!g.add)
		return -1;
	double begin = cpu_now_ns();
	cpu_norm(&t->step->ops, &g);
	*ns = cpu_now_ns() - begin;
	return 0;
}

/* Random places: tokens of a table, or positions. */
static int64_t *places(struct cpu_time *t, int64_t m, int64_t below)
{
	int64_t *x = xmalloc((size_t)m * sizeof(*x));

	for (int64_t i = 0; i < m; i++)
		x[i] = (int64_t)(rng_mix(t->step->draws++) % (uint64_t)below);
	return x;
}

static int rope(struct cpu_time *t, const struct point *p, double *ns, struct err *e)
{
	const struct cpu_ops *o = &t->step->ops;
	const struct weights_layer *l = t->step->weights.layer;

	if (!o->positions)
		return 1; /* positions are learned */
	if (p->n % o->head_dim || (p->head_dim && p->head_dim != o->head_dim))
		return err_set(e, "heads that are no multiple of %" PRId64 ", the model's",
			       o->head_dim);
	float *x = cpu_arena_input(&t->arena, 0, p->m * p->n, e);
	if (!x)
		return -1;
	/* how many of the heads are keys matters to their norms alone, which cost the same */
	const struct cpu_rope g = {.qk = x,
				   .m = p->m,
				   .stride = p->n,
				   .heads = p->n / o->head_dim,
				   .q_norm = l->q_norm,
				   .position = places(t, p->m, o->positions)};
	double begin = cpu_now_ns();
	cpu_rope(o, &g);
	*ns = cpu_now_ns() - begin;
	free((void *)g.position);
	return 0;
}

static int act(struct cpu_time *t, const struct point *p, double *ns, struct err *e)
{
	bool gated = t->step->weights.gated;
	float *y = cpu_arena_room(&t->arena, 1, p->m * p->n, e);
	const float *x = y ? cpu_arena_input(&t->arena, 0, p->m * (gated ? 2 : 1) * p->n, e) : NULL;

	if (!x)
		return -1;
	double begin = cpu_now_ns();
	cpu_act(&t->step->ops, x, gated, p->m, p->n, y);
	*ns = cpu_now_ns() - begin;
	return 0;
}

static int embed(struct cpu_time *t, const struct point *p, double *ns, struct err *e)
{
	int64_t vocab = t->step->weights.vocab;
	struct cpu_embed g = {.m = p->m, .n = p->n};

	g.table = cpu_arena_part(&t->arena, vocab * p->n, e);
	g.x = g.table ? cpu_arena_input(&t->arena, 0, p->m * p->n, e) : NULL;
	if (!g.x)
		return -1;
	int64_t *token = places(t, p->m, vocab);
	g.token = token;
	double begin = cpu_now_ns();
	cpu_embed(&t->step->ops, &g);
	*ns = cpu_now_ns() - begin;
	free(token);
	return 0;
}

static int sample(struct cpu_time *t, const struct point *p, double *ns, struct err *e)
{
	const float *x = cpu_arena_input(&t->arena, 0, p->m * p->n, e);

	if (!x)
		return -1;
	int64_t *best = places(t, p->m, 1);
	double begin = cpu_now_ns();
	cpu_argmax(&t->step->ops, x, p->m, p->n, best);
	*ns = cpu_now_ns() - begin;
	free(best);
	return 0;
}

/* Host and device are one: each copy is one within memory. */
static int copy(struct cpu_time *t, const struct point *p, double *ns, struct err *e)
{
	int64_t n = (p->bytes + (int64_t)sizeof(float) - 1) / (int64_t)sizeof(float);
	float *x = cpu_arena_part(&t->arena, 2 * n, e);

	if (!x)
		return -1;
	double begin = cpu_now_ns();
	cpu_copy(&t->step->ops, x, n, x + n);
	*ns = cpu_now_ns() - begin;
	return 0;
}

static const struct {
	int (*run)(struct cpu_time *t, const struct point *p, double *ns, struct err *e);
	bool mn, k, bytes; /* sizes that must be at least 1 */
} timed[N_OPS] = {
	[OP_GEMM] = {.run = gemm, .mn = true, .k = true},
	[OP_PREFILL] = {.run = cpu_time_attention},
	[OP_DECODE] = {.run = cpu_time_attention},
	[OP_MIXED] = {.run = cpu_time_attention},
	[OP_NORM] = {.run = norm, .mn = true},
	[OP_ROPE] = {.run = rope, .mn = true},
	[OP_ACT] = {.run = act, .mn = true},
	[OP_EMBED] = {.run = embed, .mn = true},
	[OP_SAMPLE] = {.run = sample, .mn = true},
	[OP_COPY_TO_HOST] = {.run = copy, .bytes = true},
	[OP_COPY_FROM_HOST] = {.run = copy, .bytes = true},
	[OP_COPY_DEVICE] = {.run = copy, .bytes = true},
	[OP_STEP] = {.run = whole_step},
};

static bool fits(int64_t size)
{
	return size >= 1 && size <= INT32_MAX;
}

int cpu_time_op(struct cpu_time *t, const struct point *p, double *ns, struct err *e)
{
	if (!timed[p->op].run)
		return 1;
	if ((timed[p->op].mn && (!fits(p->m) || !fits(p->n))) || (timed[p->op].k && !fits(p->k)) ||
	    (timed[p->op].bytes && p->bytes < 1))
		return err_set(e,
			       "%s of m %" PRId64 ", n %" PRId64 ", k %" PRId64 ", %" PRId64
			       " bytes: its sizes must be from 1 to %d",
			       op_names[p->op], p->m, p->n, p->k, p->bytes, INT32_MAX);
	if (timed[p->op].mn && p->bits != 16)
		return err_set(e, "%s in %d bits: weights are in 16 (32-bit floats here)",
			       op_names[p->op], p->bits);
	return timed[p->op].run(t, p, ns, e);
}
