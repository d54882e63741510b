/* Sequences of a point, and what takes how long. */

#include "calibrate/cpu_time.h"
#include "calibrate/cpu_facts.h"
#include <inttypes.h>

/* Contexts of the decoding sequences: as even as they can be, or one long one and the rest even. */
static void add_decodes(const struct point *p, struct backend_seq *to)
{
	int64_t left = p->decode_ctx, i = 0;

	if (p->longest) {
		to[i++] = (struct backend_seq){1, p->longest - 1, true};
		left -= p->longest;
	}
	for (; i < p->decode_seq; i++) {
		int64_t ctx = left / (p->decode_seq - i);
		to[i] = (struct backend_seq){1, ctx - 1, true};
		left -= ctx;
	}
}

int cpu_time_seqs(const struct point *p, struct backend_seq **seqs, size_t *n, struct err *e)
{
	int64_t others = p->decode_ctx - p->longest, rest = p->decode_seq - (p->longest > 0);

	if (p->prefill_seq < 0 || p->decode_seq < 0 || p->prefill_seq + p->decode_seq < 1 ||
	    (p->prefill_seq && (p->new_tok < 1 || p->prior_tok < 0)) || rest < 0 ||
	    (p->decode_seq ? others < rest || (!rest && others) : p->decode_ctx != 0))
		return err_set(e,
			       "%" PRId64 " prompts of %" PRId64 " tokens after %" PRId64
			       " and %" PRId64 " decodes of %" PRId64
			       " together, the longest %" PRId64 ": no such sequences",
			       p->prefill_seq, p->new_tok, p->prior_tok, p->decode_seq,
			       p->decode_ctx, p->longest);
	*n = (size_t)(p->prefill_seq + p->decode_seq);
	*seqs = xcalloc(*n, sizeof(**seqs));
	for (int64_t i = 0; i < p->prefill_seq; i++)
		(*seqs)[i] = (struct backend_seq){p->new_tok, p->prior_tok, true};
	if (p->decode_seq)
		add_decodes(p, *seqs + p->prefill_seq);
	return 0;
}

int cpu_time_step(struct cpu_step *s, const struct backend_seq *seqs, size_t n, double *ns,
		  struct err *e)
{
	if (cpu_step_plan(s, seqs, n, e) < 0)
		return -1;
	double begin = cpu_now_ns();
	cpu_step_run(s);
	*ns = cpu_now_ns() - begin;
	return 0;
}

static int whole_step(struct cpu_step *s, const struct point *p, double *ns, struct err *e)
{
	struct backend_seq *seqs = NULL;
	size_t n = 0;

	if (cpu_time_seqs(p, &seqs, &n, e) < 0)
		return -1;
	int result = cpu_time_step(s, seqs, n, ns, e);
	free(seqs);
	return result;
}

int cpu_time(struct cpu_step *s, const struct point *p, double *ns, struct err *e)
{
	switch (p->op) {
	case OP_STEP:
		return whole_step(s, p, ns, e);
	default:
		return 1;
	}
}
