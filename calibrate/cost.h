/*
 * cost.h: the executor `predict`: a model on devices, compiled once into flat arrays, so that a
 * step costs a few multiplications. Behind this interface a calibrated profile will stand.
 *
 * A step takes the time of all stages of a pipeline together, and of the sends between them: the
 * activations of every token over NVLink (PCIe without one), or over the network where tp x pp
 * devices are more than the 8 of a node.
 *
 * Provisional: no part is calibrated yet, and the executor's notes say `roofline`. A GEMM takes
 * t0 + max(bytes/BW, flops/F) with constants fitted to public measurements; decode attention runs
 * at 0.9 of the memory bandwidth, prefill attention at 0.5 of the peak rate, but no faster than the
 * context before it is read.
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
};

/*
 * For a model and tp that model_check_tp() accepts. Keeps no pointer to its arguments. NULL: what
 * was measured on the device are whole steps, none of this model and tp; the sentence lists those
 * there are. Free with executor_free().
 */
struct executor *cost_predict_new(const struct model *m, const struct device *d,
				  const struct cost_want *w, struct err *e);

/* A decode step of so many sequences whose contexts are ctx tokens together, in ns; < 0 where
 * cost_predict_new() fails. */
double cost_decode_step_ns(const struct model *m, const struct device *d, int64_t tp, int64_t seqs,
			   int64_t ctx, struct err *e);

/*
 * The roofline floor of a decode step, in ns: the weights that one device reads for one sequence
 * over its peak bandwidth (no KV, of a mixture of experts only those of one token).
 */
double cost_decode_floor_ns(const struct model *m, const struct device *d, int64_t tp);

#endif
