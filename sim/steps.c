#include "sim/steps.h"
#include "sim/run.h"

void steps_init(struct sim *s)
{
	if (s->c->step)
		s->steps = xcalloc(s->n_slots, sizeof(*s->steps));
}

static void put(struct sim *s, const struct step_row *row)
{
	if (!s->failed)
		s->failed = s->c->step(s->c->sink_arg, row, s->err) < 0;
}

/* The run that was going on at this place, as far as it came. */
static void put_run(struct sim *s, struct step_row *row)
{
	if (row->steps > 0)
		put(s, row);
	*row = (struct step_row){0};
}

void steps_planned(struct sim *s, const struct instance *in)
{
	struct step_row *row = &s->steps[instance_slot(in)];
	const struct batch *b = &in->b;

	if (b->busy && !b->in_single && b->run.begun > 1) /* it goes on */
		return;
	put_run(s, row);
	if (!b->busy)
		return;
	*row = (struct step_row){.instance = in->index,
				 .batch = in->at,
				 .kind = STEP_DECODE,
				 .start_ns = b->run.start_ns,
				 .decode_seq = b->run.b,
				 .decode_ctx = b->run.ctx,
				 .kv_blocks = in->kv.used};
	if (!b->in_single)
		return;
	row->start_ns = b->single.start_ns;
	row->prefill_tok = b->single.step.prefill_tok;
	row->decode_seq = b->single.step.decode_seq;
	row->decode_ctx = b->single.step.decode_ctx;
	row->moved_bytes = b->single.moved_blocks * in->block_bytes;
	if (row->prefill_tok > 0)
		row->kind = row->decode_seq > 0 ? STEP_MIXED : STEP_PREFILL;
}

void steps_ended(struct sim *s, const struct instance *in)
{
	struct step_row *row = &s->steps[instance_slot(in)];

	if (in->b.in_single) {
		row->steps = 1;
		row->end_ns = in->b.single.end_ns;
		put_run(s, row);
	} else {
		row->steps = in->b.run.done;
		row->end_ns = run_end_ns(&in->b.run, row->steps);
	}
}

void steps_close(struct sim *s)
{
	for (uint32_t i = 0; s->steps && i < s->n; i++) {
		const struct instance *in = &s->instances[i];

		/* a single step that the horizon cut off has not ended; nor do pipelines have runs
		 */
		if (in->pp > 1 || in->b.in_single)
			continue;
		if (in->b.busy)
			steps_ended(s, in);
		put_run(s, &s->steps[in->first_slot]);
	}
}

void steps_release(struct sim *s)
{
	free(s->steps);
}
