#include "sim/samples.h"

static const int64_t FIRST_SPACING_NS = 1000000;

void samples_init(struct sim *s)
{
	s->sample_ns = FIRST_SPACING_NS;
	if (s->c->sample) {
		s->samples = xcalloc(SAMPLES_MAX, sizeof(*s->samples));
		s->sampled_ns = xcalloc(s->n, sizeof(*s->sampled_ns));
	}
	for (uint32_t i = 0; s->sampled_ns && i < s->n; i++)
		s->sampled_ns[i] = -1;
}

/* Keeps those that are far enough apart for the doubled distance. */
static void thin_out(struct sim *s)
{
	int64_t kept = 0;

	s->sample_ns *= 2;
	for (uint32_t i = 0; i < s->n; i++)
		s->sampled_ns[i] = -1;
	for (int64_t i = 0; i < s->n_samples; i++) {
		struct sample *p = &s->samples[i];
		int64_t *last = &s->sampled_ns[p->instance];

		if (*last >= 0 && p->t_ns < *last + s->sample_ns)
			continue;
		*last = p->t_ns;
		s->samples[kept++] = *p;
	}
	s->n_samples = kept;
}

void samples_add(struct sim *s, const struct instance *in)
{
	if (!s->samples)
		return;
	int64_t *last = &s->sampled_ns[in->index];

	while (s->n_samples == SAMPLES_MAX && s->n < SAMPLES_MAX)
		thin_out(s);
	if ((*last >= 0 && s->now_ns < *last + s->sample_ns) || s->n_samples == SAMPLES_MAX)
		return;
	*last = s->now_ns;
	s->samples[s->n_samples++] = (struct sample){.t_ns = s->now_ns,
						     .instance = in->index,
						     .running = instance_running(in),
						     .waiting = instance_waiting(in),
						     .kv_blocks = in->kv.used};
}

void samples_put(struct sim *s)
{
	for (int64_t i = 0; s->c->sample && i < s->n_samples && !s->failed; i++)
		s->failed = s->c->sample(s->c->sink_arg, &s->samples[i], s->err) < 0;
}

void samples_release(struct sim *s)
{
	free(s->samples);
	free(s->sampled_ns);
}
