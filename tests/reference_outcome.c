/* What is known of a request in the end. */
#include "tests/reference_state.h"

/* Deliveries are every `stream` tokens, and the last one. */
static void deliveries(const struct sim *s, const struct job *j, struct ref_outcome *o)
{
	int64_t last = -1;

	for (int64_t k = 1; k <= o->tokens; k++) {
		int64_t at = j->token_ns[k - 1];

		if (k % s->cfg->stream != 0 && k != j->output)
			continue;
		if (o->f_ns < 0)
			o->f_ns = at;
		else
			o->max_gap_ns = ref_max(o->max_gap_ns, at - last);
		last = at;
	}
}

void ref_outcome(struct sim *s, int64_t r)
{
	struct job *j = &s->job[r];
	struct ref_outcome *o = &s->out->outcome[r];
	const struct ref_policy *p = &s->cfg->policy;
	/* the tokens of a batch that was not over at the horizon */
	bool kept_back =
		!j->done && !s->cfg->disaggregated && p->kind == REF_STATIC && p->reply_batch;

	*o = (struct ref_outcome){
		.status = !j->arrived	? REF_NOT_ARRIVED
			  : j->rejected ? REF_REJECTED
			  : j->done	? REF_COMPLETED
			  : j->aborted	? REF_ABORTED
					: REF_UNFINISHED,
		.arrive_ns = j->arrived ? j->arrive_ns : -1,
		.s_ns = j->s_ns,
		.f_ns = -1,
		.c_ns = j->c_ns,
		.output_tok = j->output,
		.preemptions = j->preemptions,
		.cached_tok = j->cached,
		.instance = j->instance,
		.decode_instance = j->decode_instance,
		.token_ns = j->token_ns, /* now the outcome's */
		.tokens = kept_back ? 0 : j->got,
	};
	deliveries(s, j, o);
	s->out->preemptions += j->preemptions;
	if (j->done)
		s->out->makespan_ns = ref_max(s->out->makespan_ns, j->c_ns - s->job[0].arrive_ns);
}

void reference_release(struct ref_run *run)
{
	for (size_t r = 0; r < run->n; r++)
		free(run->outcome[r].token_ns);
	free(run->outcome);
	free(run->step);
	*run = (struct ref_run){0};
}
