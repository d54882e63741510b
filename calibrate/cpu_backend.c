/* The backend "cpu": layers on this machine's processor, in 32-bit floats. */

#include "calibrate/backend.h"
#include "calibrate/cpu_blas.h"
#include "calibrate/cpu_check.h"
#include "calibrate/cpu_facts.h"
#include "calibrate/cpu_time.h"
#include <inttypes.h>

struct backend {
	struct cpu_step step;
	struct cpu_time time;
	struct backend_facts facts; /* measured once */
	bool has_facts;
};

static int check_want(const struct backend_want *w, struct err *e)
{
	const struct {
		const char *what;
		int64_t is, min;
	} counts[] = {
		{"tokens a step", w->max_tok, 1}, {"sequences a step", w->max_seqs, 1},
		{"KV slots", w->kv_tok, 1},	  {"tokens a KV block", w->block_tok, 1},
		{"threads", w->threads, 0},
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (counts[i].is < counts[i].min || counts[i].is > INT32_MAX)
			return err_set(e, "%s are %" PRId64 ": they must be from %" PRId64 " to %d",
				       counts[i].what, counts[i].is, counts[i].min, INT32_MAX);
	if (model_check_kv_bits(w->kv_bits, e) < 0)
		return -1;
	if (w->kv_bits <= 4 && w->model->head_dim % QUANT_GROUP)
		return err_set(
			e, "heads of %s are %" PRId64 " wide: %d-bit KV has groups of %d channels",
			w->model->name, w->model->head_dim, w->kv_bits, QUANT_GROUP);
	return weights_check(w->model, w->tp, e);
}

static int open_model(struct backend **b, const struct backend_want *w, struct err *e)
{
	if (check_want(w, e) < 0 || blas_load(e) < 0)
		return -1;
	int64_t needed = cpu_step_bytes(w), there = cpu_memory_free();
	if (needed > there)
		return err_set(e,
			       "%s with %" PRId64 " KV slots takes %.1f GiB in 32-bit floats: "
			       "%.1f GiB are free on this machine%s",
			       w->model->name, w->kv_tok, (double)needed / 0x1p30,
			       (double)there / 0x1p30, w->if_short ? w->if_short : "");
	*b = xcalloc(1, sizeof(**b));
	cpu_step_init(&(*b)->step, w);
	cpu_time_init(&(*b)->time, &(*b)->step);
	return 0;
}

static void close_model(struct backend *b)
{
	if (!b)
		return;
	cpu_time_release(&b->time);
	cpu_step_release(&b->step);
	free(b);
}

static void facts(struct backend *b, struct backend_facts *f)
{
	if (!b->has_facts)
		cpu_facts(&b->step.ops, b->step.weights.bytes, &b->facts);
	b->has_facts = true;
	*f = b->facts;
}

static void device(struct backend *b, char *name, size_t size)
{
	(void)b;
	cpu_name(name, size);
}

static int step(struct backend *b, const struct backend_seq *seqs, size_t n, double *ns,
		struct err *e)
{
	return cpu_time_step(&b->step, seqs, n, ns, e);
}

static int time_op(struct backend *b, const struct point *p, double *ns, struct err *e)
{
	return cpu_time_op(&b->time, p, ns, e);
}

const struct backend_ops backend_cpu = {
	.name = "cpu",
	.summary = "this machine's processor: OpenBLAS and attention of our own, 32-bit floats",
	.open = open_model,
	.close = close_model,
	.facts = facts,
	.step = step,
	.time = time_op,
	.check = cpu_check,
	.device = device,
};
