/*
 * cost.h: the executor `predict`: a model on devices, compiled once into flat arrays, so that a
 * step costs a few multiplications.
 *
 * What was measured of the device (device.profile) is asked for at knots, and blended linearly
 * between them: everything that goes by tokens (GEMMs, norms, rope, activations, embedding,
 * all-reduces) as one curve; head and sampling by sequences; decode attention by sequences and
 * their mean context, affine in context between few knots, so that runs of decode steps have a
 * closed form; prefill attention by sequences, tokens and prior tokens, a step's prompts being
 * taken as sequences all alike with as many tokens and pairs; both in one step by all of these.
 * More of anything never costs less: where measured times fall, the larger one before stays.
 *
 * What was not measured is a roofline: a GEMM takes t0 + max(bytes/BW, flops/F) with constants of
 * the device; decode attention runs at 0.9 of the memory bandwidth, prefill attention at 0.5 of the
 * peak rate, but no faster than the context before it is read. Sends between the stages of a
 * pipeline are bytes over NVLink (PCIe without one), or over the network where tp x pp devices are
 * more than the 8 of a node. A step takes the time of all stages together.
 *
 * The executor's notes, which a run's row has:
 *
 * - roofline: nothing was measured.
 * - roofline-PART: nothing of this part was: gemm, head, rows (norms, rope, activations, embedding,
 *   sampling: 2.2 us a kernel and bytes over bandwidth), allreduce, decode and prefill (attention),
 *   experts, mla, sends.
 * - extrapolated-PART: this part has a shape beyond all that was measured, at any size of a step.
 * - fused-quant: of GEMMs in few bits the quantisation of activations, measured with them, was left
 *   out.
 * - mixed-sum: prefill and decode in one step were not measured: it takes their sum.
 *
 * A run with steps beyond what was measured adds `extrapolated` (executor.h). Where whole steps
 * were measured, these are larger ones, and prompts after cached tokens. README.md has all words.
 */
#ifndef CALIBRATE_COST_H
#define CALIBRATE_COST_H

#include "calibrate/device.h"
#include "calibrate/model.h"
#include "sim/executor.h"

struct cost_want {
	int64_t tp, pp; /* pp 0 is 1 */
	int64_t kv_bits;
	/*
	 * The largest step captured in a graph, in tokens; 0: none. A step of at most so many costs
	 * in its linear layers and its head what the next size captured does: 1, 2, 4, multiples of
	 * 8, and graph itself. Attention is that of the real sequences.
	 */
	int64_t graph;
	/*
	 * Weights of 8 or 4 bits: activations are quantised within the kernel before (static
	 * scales), so that the pass over them which was timed with a GEMM is left out.
	 */
	bool fused_quant;
};

/*
 * For a model and tp that model_check_tp() accepts. Keeps no pointer to its arguments. NULL: what
 * was measured on the device are whole steps, none of this model and tp (the sentence lists those
 * there are), or in other bits. Free with executor_free().
 */
struct executor *cost_predict_new(const struct model *m, const struct device *d,
				  const struct cost_want *w, struct err *e);

/* Whether it would: 0, or -1 and the sentence. */
int cost_predict_check(const struct model *m, const struct device *d, const struct cost_want *w,
		       struct err *e);

/* A decode step of so many sequences whose contexts are ctx tokens together, in ns; < 0 where
 * cost_predict_new() fails. */
double cost_decode_step_ns(const struct model *m, const struct device *d, int64_t tp, int64_t seqs,
			   int64_t ctx, struct err *e);

/*
 * The roofline floor of a decode step, in ns: the weights that one device reads for one sequence
 * over its peak bandwidth (no KV, of a mixture of experts only those of one token).
 */
double cost_decode_floor_ns(const struct model *m, const struct device *d, int64_t tp);
/*
 * That of a prompt of `tok` tokens: two operations for each parameter of the layers that a token
 * goes through, at the peak of `tp` devices (no attention, no head).
 */
double cost_prefill_floor_ns(const struct model *m, const struct device *d, int64_t tp,
			     int64_t tok);

#endif
