/* The recount over all instances: every request is in one place, and so is every block. */
#include "tests/audit.h"

struct places {
	const struct job **at;
	int64_t n, room;
};

static void put(struct places *p, const struct job *j)
{
	if (p->n == p->room) {
		p->room = p->room ? 2 * p->room : 64;
		p->at = xrealloc(p->at, (size_t)p->room * sizeof(*p->at));
	}
	p->at[p->n++] = j;
}

static int64_t put_list(struct places *p, const struct job_list *l)
{
	int64_t n = 0;

	for (const struct job *j = l->first; j; j = j->next, n++)
		put(p, j);
	CHECK(n == l->n, "%lld in a list of %lld", (long long)n, (long long)l->n);
	return n;
}

static void put_instance(struct places *p, const struct instance *in)
{
	int64_t from = p->n;

	put_list(p, &in->staged);

	put_list(p, &in->waiting.front);
	for (size_t i = 0; i < in->waiting.ranked.n; i++)
		put(p, in->waiting.ranked.at[i].job);
	for (int64_t i = from; i < p->n; i++)
		CHECK(p->at[i]->state == JOB_WAITING && p->at[i]->blocks == 0,
		      "a waiting request in state %d with %lld blocks", (int)p->at[i]->state,
		      (long long)p->at[i]->blocks);
	for (int32_t k = 0; k < in->pp; k++) {
		const struct batch *b = instance_batch(in, k);

		put_list(p, &b->running);
		put_list(p, &b->swapped);
		put_list(p, &b->joining);
		put_list(p, &b->held.deferred);
	}
	CHECK(p->n - from == instance_outstanding(in), "%lld requests at instance %d, not %lld",
	      (long long)(p->n - from), in->index, (long long)instance_outstanding(in));
}

static int by_address(const void *a, const void *b)
{
	const struct job *x = *(const struct job *const *)a, *y = *(const struct job *const *)b;

	return (x > y) - (x < y);
}

/* Blocks of requests between instances: kept where they were, reserved where they go. */
struct moving {
	int64_t n, pulled, kept[AUDIT_INSTANCES], reserved;
};

static struct moving count_moving(const struct audit *a)
{
	struct moving m = {0};

	for (size_t i = 0; i < a->n_all; i++) {
		const struct job *j = a->all[i];

		if (j->state != JOB_MOVING || !j->keep_kv)
			continue;
		m.n++;
		m.kept[j->source] += j->source_blocks;
		if (j->moved_ns >= 0) {
			m.pulled++;
			m.reserved += j->blocks;
		}
	}
	return m;
}

static void check_places(const struct audit *a, const struct sim *s, const struct moving *m)
{
	struct places p = {0};
	int64_t ended = s->metrics.completed + s->metrics.rejected + s->metrics.aborted;

	for (uint32_t i = 0; i < s->n; i++)
		put_instance(&p, &s->instances[i]);
	if (p.n > 1)
		qsort(p.at, (size_t)p.n, sizeof(*p.at), by_address);
	for (int64_t i = 1; i < p.n; i++)
		CHECK(p.at[i] != p.at[i - 1], "request %lld is in places %lld and %lld",
		      (long long)p.at[i]->req.idx, (long long)i - 1, (long long)i);
	CHECK(p.n + m->n == (int64_t)a->n_all, "%lld in lists, %lld between instances, %zu in use",
	      (long long)p.n, (long long)m->n, a->n_all);
	CHECK(s->arrived == ended + (int64_t)a->n_all, "%lld arrived, %lld ended, %zu in use",
	      (long long)s->arrived, (long long)ended, a->n_all);
	free(p.at);
}

static void check_decode_seats(const struct sim *s, const struct moving *m)
{
	int64_t seats = s->c->choice->shape.decode_seqs, inbound = 0;

	for (uint32_t i = s->n_entry; i < s->n; i++) {
		const struct instance *in = &s->instances[i];

		for (int32_t k = 0; k < in->pp; k++) {
			const struct batch *b = instance_batch(in, k);
			int64_t n = b->running.n + b->joining.n + b->inbound;

			CHECK(n <= seats, "%lld requests on %lld seats", (long long)n,
			      (long long)seats);
			inbound += b->inbound;
		}
	}
	CHECK(inbound == m->pulled, "%lld inbound, %lld pulled", (long long)inbound,
	      (long long)m->pulled);
}

void audit_sim(void *arg, const struct sim *s, int32_t instance)
{
	struct audit *a = arg;
	int64_t outside, reserved = 0;

	(void)instance;
	CHECK(s->n_slots <= AUDIT_INSTANCES, "%u batches of %d", s->n_slots, AUDIT_INSTANCES);
	a->calls++;
	a->all = job_pool_all(&s->jobs, &a->n_all);
	struct moving m = count_moving(a);

	for (uint32_t i = 0; i < s->n; i++) {
		outside = audit_instance(a, &s->instances[i]);
		if (i >= s->n_entry)
			reserved += outside;
		else
			CHECK(outside == m.kept[i], "instance %u: %lld blocks of nobody, not %lld",
			      i, (long long)outside, (long long)m.kept[i]);
	}
	CHECK(reserved == m.reserved, "%lld blocks reserved for transfers, not %lld",
	      (long long)reserved, (long long)m.reserved);
	check_places(a, s, &m);
	if (s->n > s->n_entry)
		check_decode_seats(s, &m);
	free(a->all);
	a->all = NULL;
}
