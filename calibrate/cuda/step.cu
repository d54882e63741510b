/* Steps: planned, brought to the device, run from a graph where they are decodes alone. */

#include "number.cuh"
#include "session.h"
#include <algorithm>
#include <cinttypes>

int session_elapsed(backend *b, double *ns, err *e)
{
	float ms = 0;

	if (failed(cudaEventSynchronize(b->end), "a step", e) < 0 || failed_since("a step", e) < 0)
		return -1;
	if (failed(cudaEventElapsedTime(&ms, b->begin, b->end), "timing", e) < 0)
		return -1;
	*ns = 1e6 * (double)ms;
	return 0;
}

/* Sequences of a graph that takes n: 1, 2, 4, then multiples of 8. */
static int64_t padded(int64_t n)
{
	return n <= 2 ? n : n <= 4 ? 4 : (n + 7) / 8 * 8;
}

static bool captured(const backend_seq *seqs, size_t n)
{
	return (int64_t)n <= graph_seqs && std::all_of(seqs, seqs + n, [](const backend_seq &s) {
		       return s.new_tok == 1 && s.sampled;
	       });
}

static int check_step(const backend *b, const backend_seq *seqs, size_t n, err *e)
{
	int64_t tok = 0;

	for (size_t i = 0; i < n; i++) {
		if (seqs[i].new_tok < 1 || seqs[i].prior_tok < 0)
			return err_set(e,
				       "a sequence of %" PRId64 " new tokens after %" PRId64
				       ": at least 1 after 0",
				       seqs[i].new_tok, seqs[i].prior_tok);
		tok += seqs[i].new_tok;
	}
	if (n < 1 || (int64_t)n > b->want.max_seqs || tok > b->want.max_tok)
		return err_set(e,
			       "a step of %zu sequences and %" PRId64
			       " tokens: there is room for 1 to %" PRId64 " and %" PRId64,
			       n, tok, b->want.max_seqs, b->want.max_tok);
	return 0;
}

static int write_ids(backend *b, size_t rows, err *e)
{
	std::vector<int32_t> ids(rows);
	uint64_t seed = hash_64(b->want.seed, ++b->steps);

	for (size_t i = 0; i < rows; i++)
		ids[i] = (int32_t)(hash_64(seed, i) % (uint64_t)b->weights.vocab);
	return failed(cudaMemcpyAsync(b->run.on.ids, ids.data(), rows * sizeof(int32_t),
				      cudaMemcpyHostToDevice, b->main),
		      "copying tokens", e);
}

/* The layers, and the tokens back to the host. */
static int run_layers(backend *b, const plan_counts &n, err *e)
{
	if (forward_run(b->run, b->plans, n, e) < 0)
		return -1;
	if (n.sampled == 0)
		return 0;
	return failed(cudaMemcpyAsync(b->sampled, b->run.on.tokens,
				      (size_t)n.sampled * sizeof(int32_t), cudaMemcpyDeviceToHost,
				      b->main),
		      "copying sampled tokens", e);
}

/* The graph of n decodes; made when it is first asked for. */
static int graph_of(backend *b, int64_t n, cudaGraphExec_t *graph, err *e)
{
	auto known = b->graphs.find(n);
	plan_counts counts = {};

	if (known != b->graphs.end()) {
		*graph = known->second;
		return 0;
	}
	counts.rows = counts.parts = counts.sampled = n;
	counts.items = plan_items_max(b->shape, n);
	counts.recent = plan_recent_max(b->shape, n);
	counts.flushes = b->shape.bits < 8 ? n : 0;
	/* once outside, where kernels are loaded and ways to multiply are looked up */
	if (run_layers(b, counts, e) < 0 ||
	    session_capture(
		    b, [&] { return run_layers(b, counts, e); }, graph, e) < 0)
		return -1;
	b->graphs[n] = *graph;
	return failed(cudaStreamSynchronize(b->main), "the first step of a graph", e);
}

static int run_graph(backend *b, cudaGraphExec_t graph, double *ns, err *e)
{
	if (failed(cudaEventRecord(b->begin, b->main), "timing", e) < 0 ||
	    failed(cudaGraphLaunch(graph, b->main), "starting a graph", e) < 0 ||
	    failed(cudaEventRecord(b->end, b->main), "timing", e) < 0)
		return -1;
	return session_elapsed(b, ns, e);
}

int session_step(backend *b, const backend_seq *seqs, size_t n, double *ns, err *e)
{
	bool graph = captured(seqs, n);
	cudaGraphExec_t ready;

	if (check_step(b, seqs, n, e) < 0 ||
	    plan_step(b->planned, b->shape, b->order.data(), seqs, n, e) < 0)
		return -1;
	if (graph)
		plan_pad(b->planned, b->shape, (size_t)padded((int64_t)n), b->shape.pages,
			 b->recent_pages);
	if (plan_buffers_write(b->plans, b->planned, b->main, e) < 0 ||
	    write_ids(b, b->planned.position.size(), e) < 0)
		return -1;
	if (graph)
		return graph_of(b, padded((int64_t)n), &ready, e) < 0 ? -1
								      : run_graph(b, ready, ns, e);
	if (forward_prepare(b->run, plan_count(b->planned), e) < 0 ||
	    failed(cudaStreamSynchronize(b->main), "copying a plan", e) < 0 ||
	    failed(cudaEventRecord(b->begin, b->main), "timing", e) < 0 ||
	    run_layers(b, plan_count(b->planned), e) < 0 ||
	    failed(cudaEventRecord(b->end, b->main), "timing", e) < 0)
		return -1;
	return session_elapsed(b, ns, e);
}
