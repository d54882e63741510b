/*
 * session.h: an open backend: a model's share, its KV pool and what its steps need, in one block of
 * device memory.
 */
#ifndef CALIBRATE_CUDA_SESSION_H
#define CALIBRATE_CUDA_SESSION_H

#include "bench.h"
#include "failure.h"
#include "forward.h"
#include "hardware.h"
#include "plan_buffers.h"
#include <map>

constexpr int64_t graph_seqs = 512; /* the largest decode step that is captured */
/* The longest embeddings in a row that have ids of their own. */
constexpr int64_t timed_ids_runs = 16;
/* What one block fills in some 50 us: longer than the launch of a graph takes. */
constexpr int64_t queued_numbers = 1 << 17;

struct backend {
	backend_want want; /* want.model is model */
	model shape_of;
	hardware gpu;
	share weights;
	char *memory;
	forward run;
	plan_shape shape;
	plan planned;
	plan_arrays plans;
	std::vector<int32_t> order; /* pages of the pool, for plans */
	int32_t *pages, *straight;  /* the same on the device; 0, 1, 2, ... */
	uint32_t *turns;
	int64_t stage_pages, recent_pages; /* without the spare one */
	stream main, side;
	event begin, end, forked, joined;
	/* Decode steps of so many sequences. */
	std::map<int64_t, cudaGraphExec_t> graphs;
	bench tests;
	int32_t *timed_order; /* pages of a timed operation */
	int64_t timed_pages;  /* at most */
	int32_t *timed_ids;   /* of timed embeddings: timed_ids_runs * max_tok */
	int64_t next_id;      /* in them, of the next run */
	bf16 *queued;	      /* is written before what is timed begins */
	int32_t *sampled;     /* pinned: the tokens of a step */
	uint64_t steps;	      /* run so far */
};

/* backend_ops of the same names. */
int session_open(backend **b, const backend_want *w, err *e);
void session_close(backend *b);
int session_step(backend *b, const backend_seq *seqs, size_t n, double *ns, err *e);
int session_time(backend *b, const point *p, double *ns, err *e);

/* Between two events of the stream main, in ns; waits for the second. */
int session_elapsed(backend *b, double *ns, err *e);
/* What is launched by `run` becomes a graph. */
template <typename F> int session_capture(backend *b, F run, cudaGraphExec_t *graph, err *e)
{
	cudaGraph_t captured = nullptr;

	if (failed(cudaStreamBeginCapture(b->main, cudaStreamCaptureModeThreadLocal),
		   "beginning a graph", e) < 0)
		return -1;
	int r = run();
	cudaError_t ended = cudaStreamEndCapture(b->main, &captured);

	if (r == 0)
		r = failed(ended, "capturing a graph", e);
	if (r == 0)
		r = failed(cudaGraphInstantiate(graph, captured, 0), "making a graph", e);
	if (captured)
		cudaGraphDestroy(captured);
	if (r == 0) {
		r = failed(cudaGraphUpload(*graph, b->main), "uploading a graph", e);
		if (r < 0)
			cudaGraphExecDestroy(*graph);
	}
	return r;
}

#endif
