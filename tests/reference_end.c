/* How requests end: done, rejected, aborted; and what becomes of their seats and blocks. */
#include "tests/reference_state.h"

/* Closed loop: the next request of the trace arrives now. Sessions: the next of its own, later. */
static void ended(struct sim *s, int64_t r)
{
	int64_t next = s->job[r].next;

	if (s->cfg->closed_loop > 0 && s->released < s->n)
		s->job[s->released++].arrive_ns = s->now;
	if (next < 0)
		return;
	CHECK(s->job[next].arrive_ns < 0 && s->req[next].think_ns >= 0, "request %lld",
	      (long long)next);
	s->job[next].arrive_ns = s->now + s->req[next].think_ns;
	s->out->seen.follow_ups++;
}

/* A request that ends; where it is not disaggregated, it is outstanding until then. */
static void not_outstanding(struct sim *s, const struct job *j)
{
	if (!s->cfg->disaggregated)
		s->inst[j->instance].outstanding--;
}

void ref_rejected(struct sim *s, int64_t r)
{
	s->job[r].rejected = true;
	ended(s, r);
}

void ref_job_done(struct sim *s, int64_t r)
{
	struct job *j = &s->job[r];

	CHECK(j->got == j->output && !j->done && !j->aborted, "request %lld: %lld of %lld",
	      (long long)r, (long long)j->got, (long long)j->output);
	CHECK(j->host == 0, "host %lld", (long long)j->host);
	s->out->seen.saved_by_last_step += j->doomed;
	j->done = true;
	j->c_ns = s->now;
	not_outstanding(s, j);
	ended(s, r);
}

void ref_deliver(struct sim *s, struct batch *b, int64_t r)
{
	struct job *j = &s->job[r];

	if (b->in->prefill_only && s->cfg->ttft_decode)
		return;
	CHECK(j->got < j->limit, "request %lld has %lld tokens", (long long)r, (long long)j->got);
	j->token_ns[j->got++] = s->now;
}

bool ref_over(const struct batch *b, const struct job *j)
{
	if (b->in->prefill_only)
		return j->aborted || j->prefilled == j->seq;
	return j->aborted || j->got == j->output;
}

void ref_leave(struct sim *s, struct batch *b, int64_t r)
{
	struct inst *in = b->in;
	struct job *j = &s->job[r];
	bool later = s->cfg->async && in->policy->kind != REF_STATIC && !j->aborted;

	ref_remove(&b->running, r);
	in->outstanding -= in->prefill_only;
	ref_all_due(in);
	if (in->prefill_only && !j->aborted && j->got < j->output) { /* to be decoded elsewhere */
		j->source = j->place;
		j->kept = j->blocks;
		b->held_seats += later;
		ref_push(&s->ready, r);
	} else if (later) {
		ref_push(&b->held, r);
		return;
	} else {
		ref_free(s, in, j, j->blocks);
	}
	j->blocks = 0;
	j->place = -1;
}

bool ref_free_held(struct sim *s, struct batch *b)
{
	bool any = b->held.n + b->held_seats > 0;

	b->held_seats = 0;
	while (b->held.n > 0) {
		struct job *j = &s->job[b->held.at[0]];

		ref_remove(&b->held, b->held.at[0]);
		ref_free(s, b->in, j, j->blocks);
		j->blocks = 0;
		j->place = -1;
	}
	if (any)
		ref_all_due(b->in);
	return any;
}

/* --- timeouts --- */

static bool has(const struct list *l, int64_t r)
{
	for (int64_t i = 0; i < l->n; i++)
		if (l->at[i] == r)
			return true;
	return false;
}

/* At one time: by instance, then by batch, then in the order of admission. */
static bool goes_before(const struct job *a, const struct job *b)
{
	int64_t at = a->place < 0 ? a->source : a->place, bt = b->place < 0 ? b->source : b->place;

	if (at != bt)
		return at < bt;
	return a->batch != b->batch ? a->batch < b->batch : a->order < b->order;
}

int64_t ref_next_timeout(const struct sim *s, int64_t *who)
{
	int64_t first = -1;

	if (s->cfg->timeout_ns == 0)
		return -1;
	for (int64_t r = 0; r < s->n; r++) {
		const struct job *j = &s->job[r], *to = &s->job[first < 0 ? r : first];

		if (!j->arrived || j->rejected || j->done || j->aborted || j->doomed)
			continue;
		if (first < 0 || j->arrive_ns < to->arrive_ns ||
		    (j->arrive_ns == to->arrive_ns && goes_before(j, to)))
			first = r;
	}
	*who = first;
	return first < 0 ? -1 : s->job[first].arrive_ns + s->cfg->timeout_ns;
}

static void aborted(struct sim *s, int64_t r)
{
	struct job *j = &s->job[r];

	CHECK(!j->done && !j->aborted, "request %lld", (long long)r);
	j->aborted = true;
	not_outstanding(s, j);
	ended(s, r);
}

/* From where it holds no seat: a queue, host memory, what waits for its pull. */
static bool abort_waiting(struct sim *s, int64_t r)
{
	struct ref_seen *seen = &s->out->seen;
	struct job *j = &s->job[r];

	for (int64_t i = 0; i < s->inst_n; i++) {
		struct inst *in = &s->inst[i];

		if (has(&in->waiting, r)) {
			ref_remove(&in->waiting, r);
			in->outstanding -= in->prefill_only;
			ref_all_due(in);
			seen->aborted_waiting++;
			return true;
		}
		if (j->place == i && has(&in->batch[j->batch].swapped, r)) {
			ref_remove(&in->batch[j->batch].swapped, r);
			in->host_free += j->host;
			j->host = 0;
			j->place = -1;
			ref_all_due(in);
			seen->aborted_swapped++;
			return true;
		}
	}
	if (!has(&s->ready, r))
		return false;
	ref_remove(&s->ready, r);
	ref_free(s, &s->inst[j->source], j, j->kept);
	ref_all_due(&s->inst[j->source]);
	j->kept = 0;
	j->source = -1;
	seen->aborted_ready++;
	return true;
}

static void abort_running(struct sim *s, int64_t r)
{
	struct job *j = &s->job[r];
	struct inst *in = &s->inst[j->place];
	struct batch *b = &in->batch[j->batch];

	if (in->policy->kind == REF_STATIC) { /* it keeps its seat */
		s->out->seen.aborted_held++;
		ref_all_due(in);
		return;
	}
	s->out->seen.aborted_running++;
	if (!has(&b->joining, r)) {
		ref_leave(s, b, r);
		return;
	}
	ref_remove(&b->joining, r);
	ref_free(s, in, j, j->blocks);
	j->blocks = 0;
	j->place = -1;
	ref_all_due(in);
}

static void abort_moving(struct sim *s, int64_t r)
{
	struct job *j = &s->job[r];

	ref_free(s, &s->inst[j->place], j, j->blocks);
	ref_all_due(&s->inst[j->place]);
	j->blocks = 0;
	j->place = -1;
	s->out->seen.aborted_moving++;
}

void ref_abort(struct sim *s, int64_t r)
{
	struct job *j = &s->job[r];

	aborted(s, r);
	if (has(&s->inst[j->place].inbound, r))
		abort_moving(s, r);
	else
		abort_running(s, r);
}

void ref_timeout(struct sim *s, int64_t r)
{
	struct job *j = &s->job[r];
	struct batch *b;

	if (abort_waiting(s, r)) {
		aborted(s, r);
		return;
	}
	b = &s->inst[j->place].batch[j->batch];
	j->doomed = true;
	if (b->busy || has(&s->inst[j->place].inbound, r))
		return;
	ref_abort(s, r);
	if (b->in->policy->kind == REF_STATIC)
		ref_static_over(s, b);
}
