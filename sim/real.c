#include "sim/real.h"

static int64_t wall_now(const struct sim *s)
{
	return s->c->wall->now(s->c->wall->arg) - s->wall_zero_ns;
}

void real_start(struct sim *s)
{
	if (s->c->wall)
		s->wall_zero_ns = wall_now(s);
}

void real_progress(const struct sim *s)
{
	if (s->c->progress)
		s->c->progress(s->c->progress_arg, s->now_ns,
			       s->metrics.completed + s->metrics.rejected + s->metrics.aborted);
}

/* The end of a step is past when it is known: it needs no sleep. */
void real_wait(struct sim *s, int64_t horizon_ns)
{
	int64_t next_ns = agenda_time(&s->agenda);

	if (next_ns > horizon_ns || next_ns == INT64_MAX || next_ns <= wall_now(s))
		return;
	real_progress(s);
	s->c->wall->sleep_until(s->c->wall->arg, s->wall_zero_ns + next_ns);
}

double real_take(void *arg, struct instance *in, const struct step *step, int64_t now_ns)
{
	struct sim *s = arg;
	const struct executor *x = in->executor;

	if (s->failed)
		return 0;
	struct step_taken t = {.step = step, .instance = in->index, .ns = x->ops->step_ns(x, step)};

	if (!(t.ns >= 0)) {
		CHECK(x->failure, "executor %s fails and does not say why", x->ops->name);
		*s->err = *x->failure;
		s->failed = true;
		return 0;
	}
	if (s->c->wall) /* and the scheduler's own time before it */
		t.ns = (double)(wall_now(s) - now_ns);
	t.outside = x->ops->outside && x->ops->outside(x, step);
	in->stats.outside = in->stats.outside || t.outside;
	s->failed = s->c->taken && s->c->taken(s->c->taken_arg, &t, s->err) < 0;
	return t.ns;
}
