/* view.c: what policies see. */
#include "sim/view.h"
#include "sim/rng.h"

int64_t view_now(const struct view *v)
{
	return v->now_ns;
}

bool view_idle(const struct view *v)
{
	return v->in->b.running.n == 0;
}

int64_t view_running(const struct view *v)
{
	return v->in->b.running.n;
}

int64_t view_waiting(const struct view *v)
{
	return queue_len(&v->in->waiting);
}

const struct request *view_head(const struct view *v)
{
	return request_of(queue_head(&v->in->waiting));
}

const struct request *view_last(const struct view *v)
{
	return request_of(v->in->b.running.last);
}

const struct request *view_partial(const struct view *v)
{
	const struct job *found = NULL;
	int64_t left = v->in->b.n_partial;

	/* from the end: the partly prefilled ones are nearly always the last */
	for (const struct job *j = v->in->b.running.last; j && left > 0; j = j->prev) {
		if (j->state == JOB_PREFILLING) {
			found = j;
			left--;
		}
	}
	return request_of(found);
}

const struct request *view_swapped(const struct view *v)
{
	return request_of(v->in->b.swapped.first);
}

int64_t view_rest(const struct view *v, const struct request *r)
{
	struct job *j = job_of(r);

	if (j->state != JOB_WAITING && j->state != JOB_PREFILLING)
		return 0;
	if (v->in->kv.prefix && j == queue_head(&v->in->waiting))
		return j->seq_tok - instance_find(v->in, j) * v->in->kv.block_tok;
	return j->seq_tok - j->done_tok;
}

int64_t view_generated(const struct view *v, const struct request *r)
{
	return job_generated(v->in, job_of(r));
}

int64_t view_block(const struct view *v)
{
	return v->in->kv.block_tok;
}

int64_t view_kv_total(const struct view *v)
{
	return v->in->kv.total;
}

int64_t view_kv_free(const struct view *v)
{
	return kv_free(&v->in->kv);
}

double view_predicted_output(const struct view *v, const struct request *r, double error)
{
	uint64_t mixed = rng_mix(v->in->seed + (uint64_t)r->idx);
	double u = (double)(mixed >> 11) / 9007199254740992.0; /* 2^53 */

	return (double)view_true_output(v, r) * (1 + error * (2 * u - 1));
}

int64_t view_true_output(const struct view *v, const struct request *r)
{
	v->in->oracle = true;
	return job_of(r)->stop_tok;
}
