/*
 * disaggregated.c: prefill and decode in pools of instances of their own, as DistServe (OSDI'24,
 * section 3) and Splitwise (ISCA'24, section 4).
 *
 * Instances 0 .. prefill-1 prefill, the others decode. A request that is prefilled joins the ready
 * queue; the decode instance with the most free blocks pulls its head when it has room, over its
 * own inbound link, first in first out. Blocks are held at both ends until the transfer is over.
 *
 * The first token is the prefill's, or (ttft=decode, as servers that discard it) the first that the
 * decode instance produces.
 */
#include "sim/engine.h"
#include "sim/run.h"

struct link {
	struct job_list inbound; /* pulled, the first one is being transferred */
	int64_t free_ns;	 /* end of the last one */
};

struct pools {
	uint32_t prefill, decode;
	struct job_list ready;
	struct link *link; /* of each decode instance */
	enum bound bound;
	int64_t bound_since_ns;
};

static void init(struct sim *s)
{
	const struct choice *c = s->c->choice;
	const struct policy_ops *paged = policy_find("paged");
	struct pools *p = xcalloc(1, sizeof(*p));
	void *decode_state = policy_state_new(paged);
	char seqs[32];
	struct err e;

	p->prefill = (uint32_t)c->shape.prefill;
	p->decode = (uint32_t)c->shape.decode;
	p->link = xcalloc(p->decode, sizeof(*p->link));
	s->shape_state = p;
	s->n_entry = p->prefill;
	s->n = p->prefill + p->decode;
	s->instances = xcalloc(s->n, sizeof(*s->instances));
	snprintf(seqs, sizeof(seqs), "%lld", (long long)c->shape.decode_seqs);
	CHECK(param_set(paged->params, decode_state, "decode", "max_seqs", seqs, &e) == 0 &&
		      param_set(paged->params, decode_state, "decode", "preempt", "swap", &e) == 0,
	      "paged has no max_seqs=%s or preempt=swap", seqs);
	for (uint32_t i = 0; i < s->n; i++) {
		if (i < p->prefill)
			sim_make_instance(s, i, c->policy, c->state, &s->c->hardware);
		else
			sim_make_instance(s, i, paged, decode_state, &s->c->decode_hardware);
	}
	free(decode_state);
}

static void release(struct sim *s)
{
	struct pools *p = s->shape_state;

	free(p->link);
	free(p);
}

static void account_bound(struct sim *s, struct pools *p)
{
	if (p->bound != BOUND_ARRIVALS)
		s->bound_ns[p->bound] += s->now_ns - p->bound_since_ns;
	p->bound_since_ns = s->now_ns;
}

/* What the requests between the pools wait for, from now on. */
static void set_bound(struct sim *s, struct pools *p, enum bound refused)
{
	account_bound(s, p);
	p->bound = BOUND_ARRIVALS;
	for (uint32_t i = 0; i < p->decode; i++)
		if (p->link[i].inbound.n > 1)
			p->bound = BOUND_LINK;
	if (p->ready.n > 0)
		p->bound = refused;
}

static void arrive(struct sim *s, struct job *j)
{
	struct pools *p = s->shape_state;
	struct instance *in = sim_route(s);
	const struct kv *decode = &s->instances[p->prefill].kv;
	bool decodes_first = s->c->choice->shape.ttft == TTFT_DECODE;
	/* what a pull takes is enough for two tokens */
	int64_t least_tok = decodes_first && j->output_tok == 1 ? 2 : j->output_tok;

	j->stop_tok = 1;
	j->req.max_tok = 1;
	j->keep_kv = j->output_tok > 1 || decodes_first;
	j->instance = in->index;
	if (kv_blocks(decode, j->req.prompt_tok + least_tok - 1) > decode->total)
		sim_reject(s, j);
	else
		sim_enqueue(s, in, j);
}

static void done(struct sim *s, struct job *j, int64_t t_ns)
{
	struct pools *p = s->shape_state;

	if (!j->keep_kv) {
		sim_complete(s, j, t_ns);
		return;
	}
	if (s->c->choice->shape.ttft == TTFT_DECODE) {
		j->gen_tok = 0;
		j->first_ns = -1;
	}
	if (j->doomed) {
		instance_release_kv(&s->instances[j->instance], j, j->blocks);
		sim_abort(s, j);
		return;
	}
	j->state = JOB_MOVING;
	j->source = j->instance;
	j->source_blocks = j->blocks;
	j->moved_ns = -1;
	list_append(&p->ready, j);
	agenda_set(&s->agenda, EVENT_PULL, 0, s->now_ns);
}

static void moved(struct sim *s, struct instance *in)
{
	struct pools *p = s->shape_state;

	if (p->ready.n > 0 && (uint32_t)in->index >= p->prefill)
		agenda_set(&s->agenda, EVENT_PULL, 0, s->now_ns);
}

/* Puts the batch with the fewest requests to work, the first among equals. */
static void emptiest_batch(struct instance *in)
{
	int64_t fewest = INT64_MAX;
	int32_t best = 0;

	for (int32_t k = 0; in->pp > 1 && k < in->pp; k++) {
		const struct batch *b = instance_batch(in, k);
		int64_t n = b->running.n + b->joining.n + b->inbound;

		if (n < fewest) {
			fewest = n;
			best = k;
		}
	}
	instance_use(in, best);
}

/* The decode instance with the most free blocks among those that may pull; -1: none. */
static int64_t most_free(struct sim *s, struct pools *p, enum bound *refused)
{
	int64_t best = -1, most = -1;

	*refused = BOUND_SEATS;
	for (uint32_t d = 0; d < p->decode; d++) {
		struct instance *in = &s->instances[p->prefill + d];

		sim_sync(s, in);
		if (instance_swapped(in) > 0) {
			*refused = BOUND_KV;
			continue;
		}
		emptiest_batch(in);
		if (instance_seats_used(in) < s->c->choice->shape.decode_seqs &&
		    kv_free(&in->kv) > most) {
			most = kv_free(&in->kv);
			best = d;
		}
	}
	return best;
}

static double move_bytes(const struct hardware *hw, int64_t prompt_tok)
{
	int64_t within = prompt_tok < hw->window_tok ? prompt_tok : hw->window_tok;

	return (double)prompt_tok * (double)hw->kv_move_bytes +
	       (double)within * (double)hw->window_move_bytes;
}

static void start_transfer(struct sim *s, struct pools *p, uint32_t d, struct job *j)
{
	struct link *link = &p->link[d];
	const struct disaggregated_params *shape = &s->c->choice->shape;
	double bytes = move_bytes(&s->c->hardware, j->req.prompt_tok);
	double gb_s = s->c->link_bytes_s > 0 ? s->c->link_bytes_s / 1e9 : shape->bandwidth_gb_s;
	double cost_ns = shape->latency_s * 1e9 + bytes / gb_s;
	int64_t from_ns = link->free_ns > s->now_ns ? link->free_ns : s->now_ns;

	/* beyond the end of time, where the engine stops, no more is added up */
	j->moved_ns = from_ns > TIME_MAX_NS ? from_ns : from_ns + round_ns(cost_ns);
	link->free_ns = j->moved_ns;
	list_append(&link->inbound, j);
	if (link->inbound.n == 1)
		agenda_set(&s->agenda, EVENT_TRANSFER, d, j->moved_ns);
}

static void pull(struct sim *s)
{
	struct pools *p = s->shape_state;
	enum bound refused = BOUND_KV;

	for (struct job *j; (j = p->ready.first);) {
		int64_t d = most_free(s, p, &refused);

		if (d < 0)
			break;
		struct instance *in = &s->instances[p->prefill + (uint32_t)d];
		int64_t blocks = kv_blocks(&in->kv, j->req.prompt_tok + 1);

		refused = BOUND_KV;
		if (blocks > kv_free(&in->kv))
			break;
		list_remove(&p->ready, j);
		kv_take(&in->kv, blocks);
		in->b.inbound++;
		j->to_batch = in->at;
		j->blocks = blocks;
		j->stop_tok = j->output_tok;
		j->req.max_tok = j->ask_tok;
		start_transfer(s, p, (uint32_t)d, j);
		sim_kv_changed(s, in);
	}
	set_bound(s, p, refused);
}

static void transfer(struct sim *s, uint32_t d)
{
	struct pools *p = s->shape_state;
	struct link *link = &p->link[d];
	struct job *j = link->inbound.first;
	struct instance *source = &s->instances[j->source];
	struct instance *in = &s->instances[p->prefill + d];

	instance_use(in, j->to_batch);
	j->batch = j->to_batch;
	list_remove(&link->inbound, j);
	in->b.inbound--;
	if (link->inbound.first)
		agenda_set(&s->agenda, EVENT_TRANSFER, d, link->inbound.first->moved_ns);
	instance_release_kv(source, j, j->source_blocks);
	instance_join(in, j);
	if (j->doomed) {
		sim_sync(s, in);
		instance_abort(in, j, s->now_ns);
		sim_abort(s, j);
		moved(s, in);
	}
	sim_notify(s, source);
	sim_notify(s, in);
	set_bound(s, p, p->bound);
}

static bool expire(struct sim *s, struct job *j)
{
	struct pools *p = s->shape_state;
	struct instance *source = &s->instances[j->source];

	if (!j->keep_kv) /* it has come, and waits to join */
		return false;
	if (j->moved_ns >= 0) {
		j->doomed = true;
		return true;
	}
	list_remove(&p->ready, j);
	instance_release_kv(source, j, j->source_blocks);
	sim_abort(s, j);
	sim_notify(s, source);
	agenda_set(&s->agenda, EVENT_PULL, 0, s->now_ns);
	return true;
}

static int64_t waiting(const struct sim *s)
{
	const struct pools *p = s->shape_state;

	return p->ready.n;
}

static void close_pools(struct sim *s)
{
	account_bound(s, s->shape_state);
}

const struct shape_ops shape_disaggregated = {
	.name = "disaggregated",
	.summary = "prefill and decode in pools of instances of their own, as DistServe",
	.init = init,
	.release = release,
	.arrive = arrive,
	.done = done,
	.moved = moved,
	.transfer = transfer,
	.pull = pull,
	.expire = expire,
	.waiting = waiting,
	.close = close_pools,
};
