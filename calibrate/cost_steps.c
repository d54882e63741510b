/* The executor of a device whose whole steps were measured, of some models. */

#include "calibrate/cost_parts.h"
#include <inttypes.h>

struct whole {
	struct executor x;
	char notes[COST_NOTES];
	struct whole_steps steps;
	double send_ns, send_tok_ns; /* between stages */
};

static const struct whole *whole_of(const struct executor *x)
{
	return (const struct whole *)(const void *)x;
}

static double prefill_ns(const struct whole *w, const struct step *s)
{
	const double *a = w->steps.prefill_ns;
	double tok = (double)s->prefill_tok;
	/* of q tokens after p cached ones q^2 + 2 p q, which is the square where none are */
	double squares = 2 * s->prefill_pairs - tok;
	return a[0] + a[1] * tok + a[2] * squares;
}

static void whole_decode(const struct executor *x, const struct decode_batch *b,
			 struct decode_cost *d)
{
	const struct whole *w = whole_of(x);
	const double *a = b->seq <= w->steps.small_max ? w->steps.small_ns : w->steps.large_ns;
	double n = (double)b->seq;
	const struct range *context = &w->steps.context;
	*d = (struct decode_cost){
		.step_ns = a[0] + a[2] * n + w->send_ns + w->send_tok_ns * n,
		.ctx_ns = a[1],
		.ctx_max = INT64_MAX,
	};
	d->outside = w->steps.batch.max > 0 && n > w->steps.batch.max;
	if (context->max <= 0)
		return;
	if ((double)b->ctx > context->max * n)
		d->outside = true;
	else
		d->ctx_max = (int64_t)(context->max * n);
}

static double whole_step_ns(const struct executor *x, const struct step *s)
{
	const struct whole *w = whole_of(x);
	const struct decode_batch b = {.seq = s->decode_seq, .ctx = s->decode_ctx};
	struct decode_cost d;
	double prompts = prefill_ns(w, s);
	whole_decode(x, &b, &d);
	double decodes = d.step_ns + d.ctx_ns * (double)b.ctx;
	if (s->prefill_tok == 0)
		return s->decode_seq > 0 ? decodes : 0;
	prompts += w->send_ns + w->send_tok_ns * (double)s->prefill_tok;
	if (s->decode_seq == 0)
		return prompts;
	return prompts > decodes ? prompts + w->steps.mixed_share * decodes
				 : decodes + w->steps.mixed_share * prompts;
}

static bool whole_outside(const struct executor *x, const struct step *s)
{
	const struct whole *w = whole_of(x);
	const struct decode_batch b = {.seq = s->decode_seq, .ctx = s->decode_ctx};
	struct decode_cost d;
	whole_decode(x, &b, &d);
	if (s->decode_seq > 0 && d.outside)
		return true;
	if (w->steps.prompt_tok.max <= 0)
		return false;
	/* no table of whole steps has prompts after cached tokens */
	return (double)s->prefill_tok > w->steps.prompt_tok.max || s->prefill_prior > 0;
}

static void whole_free(struct executor *x)
{
	free(x);
}

static const struct executor_ops whole_ops = {
	.name = "predict",
	.summary = "whole steps as they were measured of MODEL on DEVICE",
	.times = "predicted",
	.step_ns = whole_step_ns,
	.decode = whole_decode,
	.outside = whole_outside,
	.free = whole_free,
};

/* "opt-13b at tp 1, 2, 4; opt-66b at tp 2" */
static void list_steps(const struct profile *p, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct whole_steps *s = &p->steps[i];
		bool again = i > 0 && strcmp(s->model, s[-1].model) == 0;
		int n = again ? snprintf(text + used, size - used, ", %" PRId64, s->tp)
			      : snprintf(text + used, size - used, "%s%s at tp %" PRId64,
					 i > 0 ? "; " : "", s->model, s->tp);
		if (n < 0 || used + (size_t)n >= size)
			return;
		used += (size_t)n;
	}
}

/* Steps are of the model as it is: of fewer bits nothing is known. */
static int check_bits(const struct device *d, const char *option, int64_t bits, struct err *e)
{
	if (bits == 0 || bits == 16)
		return 0;
	return err_set(e,
		       "whole steps were measured on %s, of weights and KV in 16 bits: nothing "
		       "forecasts %s %" PRId64,
		       d->name, option, bits);
}

const struct whole_steps *cost_steps_find(const struct model *m, const struct device *d,
					  const struct cost_want *w, struct err *e)
{
	int64_t tp = w->tp;
	const struct whole_steps *s = profile_steps(d->profile, m->name, tp);
	char have[256];
	if (check_bits(d, "--weight-bits", m->weight_bits, e) < 0 ||
	    check_bits(d, "--kv-bits", w->kv_bits, e) < 0)
		return NULL;
	if (s)
		return s;
	list_steps(d->profile, have, sizeof(have));
	err_set(e,
		"whole steps were measured on %s, of %s; none of %s at tp %" PRId64
		", and nothing forecasts them",
		d->name, have, m->name, tp);
	return NULL;
}

struct executor *cost_steps_new(const struct cost_build *b, struct err *e)
{
	const struct whole_steps *s = cost_steps_find(b->m, b->d, b->w, e);
	if (!s)
		return NULL;
	struct whole *w = xcalloc(1, sizeof(*w));
	w->x = (struct executor){.ops = &whole_ops, .notes = w->notes};
	w->steps = *s;
	w->send_ns = cost_send_ns(b, 0);
	w->send_tok_ns = cost_send_ns(b, 1) - w->send_ns;
	if (b->w->pp > 1)
		cost_note(w->notes, "roofline-sends");
	if (s->mixed_share == 1 && s->mixed_held_out.folds == 0)
		cost_note(w->notes, "mixed-sum");
	return &w->x;
}
