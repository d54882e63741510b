#include "sim/host.h"

struct host {
	struct executor x;
	struct executor_ops ops; /* the inner one's names, our functions */
	struct executor *inner;
	double step_ns, seq_ns;
};

static const struct host *host_of(const struct executor *x)
{
	return (const struct host *)(const void *)x;
}

static double overhead_ns(const struct host *h, int64_t seq)
{
	return h->step_ns + h->seq_ns * (double)seq;
}

static double decode_ns(const struct decode_cost *c, int64_t ctx, int64_t window_ctx)
{
	return c->step_ns + c->ctx_ns * (double)ctx + c->window_ns * (double)window_ctx;
}

/* After the step */

static void added_decode(const struct executor *x, const struct decode_batch *b,
			 struct decode_cost *c)
{
	const struct host *h = host_of(x);

	h->inner->ops->decode(h->inner, b, c);
	c->step_ns += overhead_ns(h, b->seq);
}

static double added_step_ns(const struct executor *x, const struct step *s)
{
	const struct host *h = host_of(x);
	struct decode_cost c;

	if (x->ops->runs || s->prefill_tok > 0 || s->decode_seq == 0) {
		double device_ns = h->inner->ops->step_ns(h->inner, s);

		return device_ns < 0 ? device_ns
				     : device_ns + overhead_ns(h, s->prefill_seq + s->decode_seq);
	}
	const struct decode_batch b = {.seq = s->decode_seq,
				       .ctx = s->decode_ctx,
				       .window_ctx = s->window_ctx,
				       .longest = s->decode_longest};
	added_decode(x, &b, &c); /* the same bits as a run has */
	return decode_ns(&c, s->decode_ctx, s->window_ctx);
}

/* Beside it */

static double async_step_ns(const struct executor *x, const struct step *s)
{
	const struct host *h = host_of(x);
	double device_ns = h->inner->ops->step_ns(h->inner, s);
	double host_ns = overhead_ns(h, s->prefill_seq + s->decode_seq);

	return device_ns >= host_ns || device_ns < 0 ? device_ns : host_ns;
}

/* Steps further on, as the batch stands then. */
static double later_ns(const struct decode_cost *c, const struct decode_batch *b, int64_t steps)
{
	return decode_ns(c, b->ctx + steps * b->seq, b->window_ctx + steps * b->window_seq);
}

/* How many more steps after this one the device needs less than host_ns; -1: for ever. */
static int64_t steps_below(const struct decode_cost *c, const struct decode_batch *b,
			   double host_ns)
{
	static const int64_t for_ever = (int64_t)1 << 40; /* and sums of contexts still fit */
	double slope = c->ctx_ns * (double)b->seq + c->window_ns * (double)b->window_seq;
	double about = (host_ns - later_ns(c, b, 0)) / slope;

	if (!(about < (double)for_ever / (double)(b->seq + 1)))
		return -1;
	int64_t steps = (int64_t)about;

	while (steps > 0 && later_ns(c, b, steps) >= host_ns)
		steps--;
	while (later_ns(c, b, steps + 1) < host_ns)
		steps++;
	return steps;
}

static void async_decode(const struct executor *x, const struct decode_batch *b,
			 struct decode_cost *c)
{
	const struct host *h = host_of(x);
	double host_ns = overhead_ns(h, b->seq);

	h->inner->ops->decode(h->inner, b, c);
	if (decode_ns(c, b->ctx, b->window_ctx) >= host_ns)
		return;
	int64_t steps = steps_below(c, b, host_ns);

	if (steps >= 0 && b->ctx + steps * b->seq < c->ctx_max)
		c->ctx_max = b->ctx + steps * b->seq;
	c->step_ns = host_ns;
	c->ctx_ns = 0;
	c->window_ns = 0;
}

static bool host_outside(const struct executor *x, const struct step *s)
{
	const struct host *h = host_of(x);

	return h->inner->ops->outside(h->inner, s);
}

static void host_free(struct executor *x)
{
	executor_free(host_of(x)->inner);
	free(x);
}

struct executor *host_wrap(struct executor *inner, const struct host_want *w)
{
	if (w->host_us <= 0 && w->host_seq_us <= 0)
		return inner;
	struct host *h = xcalloc(1, sizeof(*h));

	h->ops = *inner->ops;
	h->ops.step_ns = w->async ? async_step_ns : added_step_ns;
	h->ops.decode = w->async ? async_decode : added_decode;
	h->ops.free = host_free;
	if (inner->ops->outside)
		h->ops.outside = host_outside;
	h->x = (struct executor){.ops = &h->ops,
				 .notes = inner->notes,
				 .longest = inner->longest,
				 .failure = inner->failure};
	h->inner = inner;
	h->step_ns = w->host_us * 1e3;
	h->seq_ns = w->host_seq_us * 1e3;
	return &h->x;
}
