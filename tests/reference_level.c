/* What excludes each other in a case is taken out of it. */
#include "tests/reference_state.h"
#include "tests/reference_text.h"

/* What the kind does not have is at its default. */
static void level_policy(struct ref_policy *p)
{
	struct ref_policy plain = ref_plain().policy;

	if (p->kind != REF_PAGED) {
		plain.kind = p->kind;
		plain.seats = p->seats;
		plain.wait_ns = p->kind == REF_STATIC ? p->wait_ns : 0;
		plain.reply_batch = p->kind == REF_STATIC && p->reply_batch;
		plain.reserve = p->kind == REF_CONTINUOUS ? p->reserve : plain.reserve;
		plain.buddy = p->kind == REF_CONTINUOUS && p->buddy;
		*p = plain;
		return;
	}
	p->wait_ns = 0;
	p->reply_batch = p->buddy = false;
	p->reserve = plain.reserve;
	p->prefix = p->prefix && !p->swap;
	p->max_batched_tok = ref_max(1, p->max_batched_tok);
	if (p->order == REF_FCFS || p->order == REF_PRIORITY)
		p->predict_error = 0;
	if (p->chunk == 0)
		return;
	p->chunk = ref_max(p->chunk, p->seats);
	p->mixed = false;
	p->max_paddings = -1;
	p->max_batched_tok = plain.max_batched_tok;
	p->watermark = 0;
}

static void level_requests(struct ref_config *c, struct ref_request *q, size_t n)
{
	bool first[8];

	for (int k = 0; k < 8; k++)
		first[k] = true;
	for (size_t r = 0; r < n; r++) {
		int64_t ids = c->hash_block == 0 ? 0 : ref_ceil(q[r].prompt_tok, c->hash_block);

		q[r].hash_n = ref_min(q[r].hash_n, ids);
		q[r].session = ref_min(q[r].session, 7);
		if (q[r].session == 0 || first[q[r].session])
			q[r].think_ns = -1;
		else
			q[r].think_ns = ref_max(0, q[r].think_ns);
		first[q[r].session] = false;
		if (r > 0)
			q[r].arrive_ns = ref_max(q[r].arrive_ns, q[r - 1].arrive_ns);
	}
	q[0].arrive_ns = 0;
}

static void level_shape(struct ref_config *c)
{
	struct ref_config plain = ref_plain();

	if (!c->disaggregated) {
		c->decode = plain.decode;
		c->decode_instances = plain.decode_instances;
		c->decode_blocks = plain.decode_blocks;
		c->decode_pp = plain.decode_pp;
		c->latency_ns = plain.latency_ns;
		c->link_bytes_s = plain.link_bytes_s;
		c->ttft_decode = false;
	}
	c->decode.kind = REF_PAGED;
	c->decode.swap = true;
}

void ref_level(struct ref_config *c, struct ref_request *q, size_t n)
{
	level_shape(c);
	level_policy(&c->policy);
	level_policy(&c->decode);
	if (c->async)
		c->pp = c->decode_pp = 1;
	if (c->window_tok > 0) {
		c->policy.prefix = false;
		c->window_share = c->window_only ? 1 : c->window_share; /* of nothing */
	} else {
		c->window_tok_ns = 0;
		c->window_share = 1;
		c->window_only = false;
		c->window_token_bytes = 0;
	}
	if (c->kv_token_bytes == 0)
		c->host_blocks = 0;
	if (!c->policy.prefix)
		c->hash_block = 0;
	if (c->hash_block > 0 && c->hash_block % c->block_tok != 0 &&
	    c->block_tok % c->hash_block != 0)
		c->hash_block = c->block_tok;
	level_requests(c, q, n);
}
