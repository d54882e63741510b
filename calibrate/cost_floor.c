/* Single decode steps: as forecast, and what no device can be below. */

#include "calibrate/cost.h"
#include <math.h>

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

double cost_prefill_floor_ns(const struct model *m, const struct device *d, int64_t tp, int64_t tok)
{
	/* neither looked up nor, like the head, used for the last token alone */
	int64_t ends = (m->positions + (m->tied ? 1 : 2) * m->vocab) * m->hidden;
	double params = (double)(model_active_params(m) - ends);
	double flops_s = d->peak_flops * fmax(1, 16 / model_expert_bits(m));

	return 2 * params * (double)tok / flops_s / (double)tp * 1e9;
}

double cost_decode_floor_ns(const struct model *m, const struct device *d, int64_t tp)
{
	return (double)model_streamed_token_bytes(m, tp) / d->peak_bytes_s * 1e9;
}
