#include "sim/timeout.h"

/* Deadlines */

static void set_next(struct sim *s)
{
	const struct job *j = s->deadline_first;

	if (j)
		agenda_set(&s->agenda, EVENT_TIMEOUT, 0, j->req.arrive_ns + s->c->timeout_ns);
	else
		agenda_clear(&s->agenda, EVENT_TIMEOUT, 0);
}

void timeout_start(struct sim *s, struct job *j)
{
	if (s->c->timeout_ns <= 0)
		return;
	j->timed = true;
	j->older = s->deadline_last;
	if (j->older)
		j->older->younger = j;
	else
		s->deadline_first = j;
	s->deadline_last = j;
	if (!j->older)
		set_next(s);
}

void timeout_cancel(struct sim *s, struct job *j)
{
	if (!j->timed)
		return;
	j->timed = false;
	if (j->younger)
		j->younger->older = j->older;
	else
		s->deadline_last = j->older;
	if (j->older) {
		j->older->younger = j->younger;
		return;
	}
	s->deadline_first = j->younger;
	set_next(s);
}

/* Aborts */

/* A step computes j, or takes it in at its end. */
static bool in_a_step(const struct instance *in, const struct job *j)
{
	return in->b.busy && j->state != JOB_WAITING && j->state != JOB_SWAPPED;
}

static void abort_at(struct sim *s, struct instance *in, struct job *j)
{
	instance_abort(in, j, s->now_ns);
	sim_abort(s, j);
	if (s->shape->moved)
		s->shape->moved(s, in);
}

void timeout_expire(struct sim *s)
{
	struct job *j = s->deadline_first;
	struct instance *in = &s->instances[j->instance];

	timeout_cancel(s, j);
	if (j->state == JOB_MOVING && s->shape->expire(s, j))
		return;
	instance_use(in, j->batch);
	if (in_a_step(in, j)) {
		j->doomed = in->b.doomed = true;
		if (!in->b.in_single)
			sim_notify(s, in);
		return;
	}
	abort_at(s, in, j);
	in->ended = false; /* all batches are told here */
	sim_notify(s, in);
}

static void abort_doomed(struct sim *s, struct instance *in, struct job_list *l)
{
	for (struct job *j = l->first, *next; j; j = next) {
		next = j->next;
		if (j->doomed)
			abort_at(s, in, j);
	}
}

void timeout_boundary(struct sim *s, struct instance *in)
{
	in->b.doomed = false;
	/* those that wait for the end of a padded batch first: they are not to be delivered by it
	 */
	abort_doomed(s, in, &in->b.held.deferred);
	abort_doomed(s, in, &in->b.running);
	abort_doomed(s, in, &in->b.joining);
}
