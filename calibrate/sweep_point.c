/* sweep_point.c: what sweeps say of one point. */
#include "calibrate/sweep.h"
#include <inttypes.h>

void sweep_name(const struct point *p, char *text, size_t size)
{
	size_t at = (size_t)snprintf(text, size, "%s of", op_names[p->op]);
	const struct {
		const char *what;
		int64_t value;
	} sizes[] = {
		{"rows", p->m},
		{"prompts", p->prefill_seq},
		{"new tokens", p->new_tok},
		{"tokens before", p->prior_tok},
		{"decodes", p->decode_seq},
		{"tokens of context", p->decode_ctx},
		{"of the longest", p->longest},
		{"columns", p->n},
		{"deep", p->k},
		{"heads", p->heads},
		{"bytes", p->bytes},
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && at < size; i++)
		if (sizes[i].value)
			at += (size_t)snprintf(text + at, size - at, " %" PRId64 " %s,",
					       sizes[i].value, sizes[i].what);
	if (at < size)
		snprintf(text + at, size - at, " %d bits", p->bits);
}

double sweep_work(const struct point *p)
{
	double pairs = (double)(p->prefill_seq * p->new_tok) *
		       ((double)p->prior_tok + (double)p->new_tok / 2);
	double attention = pairs + 64 * (double)(p->prefill_seq * p->new_tok) +
			   (double)p->decode_ctx + 64 * (double)p->decode_seq;

	switch (p->op) {
	case OP_GEMM:
		return ((double)p->m + 16) * (double)p->n * (double)p->k;
	case OP_PREFILL:
	case OP_DECODE:
	case OP_MIXED:
		return (attention + 256) * (double)(p->heads * p->head_dim);
	case OP_STEP:
		return attention + 256 * (double)(p->prefill_seq * p->new_tok + p->decode_seq) +
		       4096;
	case OP_ALLREDUCE:
	case OP_COPY_TO_HOST:
	case OP_COPY_FROM_HOST:
	case OP_COPY_DEVICE:
		return (double)p->bytes + 65536;
	default:
		return ((double)p->m + 16) * (double)p->n;
	}
}

bool sweep_same_family(const struct point *a, const struct point *b)
{
	return a->op == b->op && a->bits == b->bits && a->n == b->n && a->k == b->k &&
	       a->heads == b->heads && a->kv_heads == b->kv_heads && a->head_dim == b->head_dim &&
	       a->devices == b->devices;
}
