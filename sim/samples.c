#include "sim/samples.h"
#include <string.h>

static const int64_t FIRST_SPACING_NS = 1000000;

static void forget(struct sim *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		s->sampled_ns[i] = s->unsampled[i].t_ns = -1;
}

void samples_init(struct sim *s)
{
	s->sample_ns = FIRST_SPACING_NS;
	if (!s->c->sample)
		return;
	s->samples = xcalloc(SAMPLES_MAX, sizeof(*s->samples));
	s->sampled_ns = xcalloc(s->n, sizeof(*s->sampled_ns));
	s->unsampled = xcalloc(s->n, sizeof(*s->unsampled));
	forget(s);
}

/*
 * Keeps a look that is far enough from the one kept before at its instance; and before it the one
 * in between that was not kept, where that held for long.
 */
static void keep(struct sim *s, struct sample look)
{
	int64_t *last = &s->sampled_ns[look.instance];
	struct sample *between = &s->unsampled[look.instance];

	if (*last >= 0 && look.t_ns < *last + s->sample_ns) {
		*between = look;
		return;
	}
	if (between->t_ns >= 0 && look.t_ns >= between->t_ns + s->sample_ns)
		s->samples[s->n_samples++] = *between;
	between->t_ns = -1;
	*last = look.t_ns;
	s->samples[s->n_samples++] = look;
}

/* Keeps those that are far enough apart for the doubled distance. */
static void thin_out(struct sim *s)
{
	int64_t n = s->n_samples;
	struct sample *newest = xcalloc(s->n, sizeof(*newest));

	memcpy(newest, s->unsampled, s->n * sizeof(*newest));
	forget(s);
	s->sample_ns *= 2;
	s->n_samples = 0;
	for (int64_t i = 0; i < n; i++) /* never more are kept than were looked at */
		keep(s, s->samples[i]);
	for (uint32_t i = 0; i < s->n; i++)
		if (newest[i].t_ns >= 0)
			keep(s, newest[i]);
	free(newest);
}

void samples_add(struct sim *s, const struct instance *in)
{
	if (!s->samples)
		return;
	while (s->n_samples + 2 > SAMPLES_MAX && s->n + 2 <= SAMPLES_MAX)
		thin_out(s);
	if (s->n_samples + 2 > SAMPLES_MAX)
		return;
	keep(s, (struct sample){.t_ns = s->now_ns,
				.instance = in->index,
				.running = instance_running(in),
				.waiting = instance_waiting(in),
				.kv_blocks = in->kv.used});
}

void samples_put(struct sim *s)
{
	for (int64_t i = 0; s->samples && i < s->n_samples && !s->failed; i++)
		s->failed = s->c->sample(s->c->sink_arg, &s->samples[i], s->err) < 0;
	/* how each instance was left */
	for (uint32_t i = 0; s->samples && i < s->n && !s->failed; i++)
		if (s->unsampled[i].t_ns >= 0)
			s->failed = s->c->sample(s->c->sink_arg, &s->unsampled[i], s->err) < 0;
}

void samples_release(struct sim *s)
{
	free(s->samples);
	free(s->sampled_ns);
	free(s->unsampled);
}
