/* shape.c: instances that each serve whole requests. */
#include "sim/engine.h"

static void init(struct sim *s)
{
	s->n = s->n_entry = (uint32_t)s->c->instances;
	s->instances = xcalloc(s->n, sizeof(*s->instances));
	for (uint32_t i = 0; i < s->n; i++)
		sim_make_instance(s, i, s->c->choice->policy, s->c->choice->state, &s->c->hardware);
}

static void arrive(struct sim *s, struct job *j)
{
	struct instance *in = sim_route(s);

	j->stop_tok = j->output_tok;
	j->req.max_tok = j->ask_tok;
	j->instance = in->index;
	sim_enqueue(s, in, j);
}

static void done(struct sim *s, struct job *j, int64_t t_ns)
{
	sim_complete(s, j, t_ns);
}

const struct shape_ops shape_single = {
	.name = "single",
	.summary = "every instance serves whole requests",
	.init = init,
	.arrive = arrive,
	.done = done,
};
