/* Sequences of a point. */

#include "calibrate/backend.h"
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

int backend_seqs(const struct point *p, struct backend_seq **seqs, size_t *n, struct err *e)
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
