#include "calibrate/profile_chart.h"
#include "calibrate/profile_fit.h"
#include <string.h>

static struct chart_line *add_line(struct chart *c)
{
	CHECK(c->n < CHART_LINES, "%zu lines, room for %d", c->n, CHART_LINES);
	return &c->line[c->n++];
}

static void add_place(struct chart_line *l, double x, double ns, bool inside)
{
	CHECK(l->n < CHART_POINTS, "%zu points, room for %d", l->n, CHART_POINTS);
	l->x[l->n] = x;
	l->ns[l->n] = ns;
	l->inside[l->n++] = inside;
}

static void add_gemm(struct chart *c, const struct profile *p, const char *name, int64_t n,
		     int64_t k)
{
	enum { TOK_MAX = 8192 };
	struct chart_line *l = add_line(c);

	snprintf(l->name, sizeof(l->name), "%s, %lld x %lld", name, (long long)n, (long long)k);
	for (int64_t m = 1; m <= TOK_MAX; m *= 2) {
		const struct point at = {.op = OP_GEMM, .bits = 16, .m = m, .n = n, .k = k};
		enum profile_where where;
		double ns = profile_ns(p, &at, &where);

		add_place(l, (double)m, ns, where == PROFILE_INSIDE);
	}
}

static void set_title(struct chart *c, const char *what, const struct model *m, int64_t tp,
		      const char *by)
{
	char split[32] = "";

	if (tp > 1)
		snprintf(split, sizeof(split), " (tp %lld)", (long long)tp);
	snprintf(c->title, sizeof(c->title), "%s of %s%s by %s", what, m->name, split, by);
}

static void chart_gemm(struct chart *c, const struct profile *p, const struct model *m, int64_t tp)
{
	int64_t heads = m->heads / tp, inter = m->inter / tp;
	int64_t qkv = (heads + 2 * model_local_kv_heads(m, tp)) * m->head_dim;

	*c = (struct chart){.x_label = "tokens", .y_label = "GEMM"};
	set_title(c, "GEMM", m, tp, "tokens");
	if (!profile_has(p, OP_GEMM, 16))
		return;
	add_gemm(c, p, "qkv", qkv, m->hidden);
	add_gemm(c, p, "output", m->hidden, heads * m->head_dim);
	add_gemm(c, p, "up", m->gated ? 2 * inter : inter, m->hidden);
	add_gemm(c, p, "down", m->hidden, inter);
	add_gemm(c, p, "head", (m->vocab + tp - 1) / tp, m->hidden);
}

static void chart_decode(struct chart *c, const struct profile *p, const struct model *m,
			 int64_t tp)
{
	enum { CONTEXT_MIN = 64, CONTEXT_MAX = 131072, BATCH_MAX = 512 };

	*c = (struct chart){.x_label = "context", .y_label = "decode attention of a layer"};
	set_title(c, "decode attention of a layer", m, tp, "context of each sequence");
	if (!profile_has(p, OP_DECODE, 16))
		return;
	for (int64_t batch = 1; batch <= BATCH_MAX; batch *= 8) {
		struct chart_line *l = add_line(c);

		snprintf(l->name, sizeof(l->name), "batch %lld", (long long)batch);
		for (int64_t context = CONTEXT_MIN; context <= CONTEXT_MAX; context *= 2) {
			const struct point at = {.op = OP_DECODE,
						 .bits = 16,
						 .heads = m->heads / tp,
						 .kv_heads = model_local_kv_heads(m, tp),
						 .head_dim = m->head_dim,
						 .decode_seq = batch,
						 .decode_ctx = batch * context};
			enum profile_where where;
			double ns = profile_ns(p, &at, &where);

			add_place(l, (double)context, ns, where == PROFILE_INSIDE);
		}
	}
}

/* Coefficients that were published without a range count as measured anywhere. */
static bool within(const struct range *r, double x)
{
	return !(r->max > 0) || (x >= r->min && x <= r->max);
}

static void chart_steps(struct chart *c, const struct profile *p)
{
	enum { CONTEXT = 1024, BATCH_MAX = 512 };

	*c = (struct chart){.title = "whole decode step by sequences of 1024 tokens",
			    .x_label = "sequences",
			    .y_label = "decode step"};
	for (size_t i = 0; i < p->n_steps && i < CHART_LINES; i++) {
		const struct whole_steps *s = &p->steps[i];
		struct chart_line *l = add_line(c);

		snprintf(l->name, sizeof(l->name), "%.40s, tp %lld", s->model, (long long)s->tp);
		for (int64_t batch = 1; batch <= BATCH_MAX; batch *= 2) {
			const struct point at = {
				.op = OP_STEP, .decode_seq = batch, .decode_ctx = batch * CONTEXT};

			add_place(l, (double)batch, whole_steps_ns(s, &at),
				  within(&s->batch, (double)batch) &&
					  within(&s->context, (double)at.decode_ctx));
		}
	}
}

void profile_charts(struct chart charts[CHARTS], const struct profile *p, const struct model *m,
		    int64_t tp)
{
	chart_gemm(&charts[0], p, m, tp);
	chart_decode(&charts[1], p, m, tp);
	chart_steps(&charts[2], p);
}
