/* Attention alone, with any heads and bits. */

#include "calibrate/cpu_facts.h"
#include "calibrate/cpu_time.h"
#include <inttypes.h>

static bool is_of(const struct cpu_time_rig *r, const struct point *p)
{
	return r->attention.heads == p->heads && r->attention.kv_heads == p->kv_heads &&
	       r->attention.head_dim == p->head_dim && r->kv->is.bits == p->bits;
}

/* The model's own heads are cached in as many layers as the model has, others in one. */
static struct cpu_kv_want pool_want(const struct cpu_step *s, const struct point *p)
{
	const struct cpu_kv_want *like = &s->kv.is;
	struct cpu_kv_want w = *like;

	w.kv_heads = p->kv_heads;
	w.head_dim = p->head_dim;
	w.layers = w.kv_heads == like->kv_heads && w.head_dim == like->head_dim ? like->layers : 1;
	w.bits = p->bits;
	w.block_tok = cpu_kv_block_tok(like->block_tok, p->bits);
	w.blocks = (like->blocks * like->block_tok + w.block_tok - 1) / w.block_tok;
	w.blocks += w.block_tok > like->block_tok ? s->max_seqs : 0;
	return w;
}

static int make_rig(struct cpu_time *t, const struct point *p, struct err *e)
{
	struct cpu_step *s = t->step;
	const struct cpu_kv_want w = pool_want(s, p);
	bool same = w.kv_heads == s->kv.is.kv_heads && w.head_dim == s->kv.is.head_dim &&
		    w.bits == s->kv.is.bits;

	if (!same && cpu_arena_fits(cpu_kv_bytes(&w), e) < 0)
		return -1;
	t->rig = xrealloc(t->rig, (t->n_rigs + 1) * sizeof(*t->rig));
	struct cpu_time_rig *r = &t->rig[t->n_rigs++];
	*r = (struct cpu_time_rig){.table = xcalloc((size_t)w.blocks, sizeof(*r->table))};
	cpu_attention_init(&r->attention, &s->ops, p->heads, p->kv_heads, p->head_dim, s->max_tok,
			   s->max_seqs);
	if (!same)
		cpu_kv_init(&r->own, &w);
	return 0;
}

static struct cpu_time_rig *find_rig(struct cpu_time *t, const struct point *p, struct err *e)
{
	/* pools lie within rigs, which move as they grow */
	for (size_t i = 0; i < t->n_rigs; i++) {
		t->rig[i].kv = t->rig[i].own.order ? &t->rig[i].own : &t->step->kv;
		if (is_of(&t->rig[i], p))
			return &t->rig[i];
	}
	return make_rig(t, p, e) < 0 ? NULL : find_rig(t, p, e);
}

static int check_heads(const struct point *p, struct err *e)
{
	if (model_check_kv_bits(p->bits, e) < 0)
		return -1;
	if (p->heads < 1 || p->kv_heads < 1 || p->heads % p->kv_heads || p->head_dim < 2 ||
	    p->head_dim % (p->bits <= 4 ? QUANT_GROUP : 2))
		return err_set(e,
			       "attention of %" PRId64 " heads with %" PRId64 " KV heads, %" PRId64
			       " wide, in %d bits: heads must be a multiple of KV heads, and "
			       "their width of 2, of 32 in 4 and 2 bits",
			       p->heads, p->kv_heads, p->head_dim, p->bits);
	return 0;
}

/* Blocks and layer of this turn: all layers, then other blocks, until a step's bytes were read. */
static int64_t choose_blocks(struct cpu_time *t, struct cpu_time_rig *r, int64_t blocks)
{
	const struct cpu_kv_want *w = &r->kv->is;
	/* at least a block of them, each of at least a byte */
	int64_t bytes = cpu_kv_bytes(w) / (w->layers * w->blocks) * (blocks > 1 ? blocks : 1);
	int64_t turns = t->step->weights.bytes / bytes + t->step->weights.layers;
	int64_t turn = r->turn++ % turns, from = turn / w->layers * blocks;

	for (int64_t i = 0; i < blocks; i++)
		r->table[i] = r->kv->order[(from + i) % w->blocks];
	return turn % w->layers;
}

/* Sequences, one behind the other in the table. -1: no room; else their tokens and blocks. */
static int place(struct cpu_time *t, struct cpu_time_rig *r, const struct backend_seq *seqs,
		 size_t n, int64_t *tok, int64_t *blocks, struct err *e)
{
	*tok = *blocks = 0;
	if (cpu_step_check(t->step, r->kv, seqs, n, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		t->seq[i] = (struct cpu_seq){.row = *tok,
					     .new_tok = seqs[i].new_tok,
					     .prior_tok = seqs[i].prior_tok,
					     .block = r->table + *blocks,
					     .window = (int64_t)i};
		*tok += seqs[i].new_tok;
		*blocks += cpu_kv_blocks(r->kv, seqs[i].new_tok + seqs[i].prior_tok);
	}
	return 0;
}

int cpu_time_attention(struct cpu_time *t, const struct point *p, double *ns, struct err *e)
{
	struct backend_seq *seqs = NULL;
	size_t n = 0;

	if (check_heads(p, e) < 0 || backend_seqs(p, &seqs, &n, e) < 0)
		return -1;
	struct cpu_time_rig *r = find_rig(t, p, e);
	int64_t tok = 0, blocks = 0;
	int placed = r ? place(t, r, seqs, n, &tok, &blocks, e) : -1;
	free(seqs);
	if (placed < 0)
		return -1;
	int64_t width = (p->heads + 2 * p->kv_heads) * p->head_dim;
	float *out = cpu_arena_room(&t->arena, 1, tok * p->heads * p->head_dim, e);
	const float *q = out ? cpu_arena_input(&t->arena, 0, tok * width, e) : NULL;
	if (!q)
		return -1;
	const float *k = q + p->heads * p->head_dim;
	const struct cpu_kv_rows rows = {.x = {k, k + p->kv_heads * p->head_dim}, .stride = width};
	int64_t layer = choose_blocks(t, r, blocks);
	cpu_attention_plan(&r->attention, t->seq, n);
	double begin = cpu_now_ns();
	cpu_attention_run(&r->attention, r->kv, layer, q, &rows, out);
	*ns = cpu_now_ns() - begin;
	return 0;
}
