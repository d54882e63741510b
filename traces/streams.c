/* streams.c: see streams.h. */
#include "traces/streams.h"
#include "sim/options.h"
#include "traces/side.h"
#include <math.h>
#include <string.h>

enum { HOURS = 24, WINDOWS = 4 };

static int check(const struct synth_params *p, const struct workload *w, const char *owner,
		 struct err *e)
{
	if (p->cv > 0 && p->cv < 0.01)
		return err_set(e, "%s: cv=%g: expected 0.01 to 100", owner, p->cv);
	if (w->n_clients > 0 && p->swing > 0)
		return err_set(e, "%s: swing: its clients have days of their own", owner);
	if (strcmp(p->rate, "inf") == 0 && (w->n_clients > 0 || p->turns > 1 || p->follow > 0))
		return err_set(e, "%s: rate=inf: clients, turns and follow need a finite rate",
			       owner);
	return 0;
}

static double mean_rate(const struct client *c)
{
	double sum = 0;
	for (int i = 0; i < HOURS; i++)
		sum += c->hour[i];
	return sum / HOURS;
}

static double total_rate(const struct workload *w)
{
	double sum = 0;
	for (size_t i = 0; i < w->n_clients; i++)
		sum += mean_rate(&w->clients[i]);
	return sum;
}

/* `client` is NULL where there is one stream only. */
static int set_arrivals(struct stream *t, const struct synth_params *p, const struct client *client,
			double rate_rps, uint64_t seed, const char *owner, struct err *e)
{
	char name[64];
	struct arrivals_spec spec = {
		.kind = (enum arrivals_kind)p->arrivals,
		.rate_rps = rate_rps,
		.cv = p->cv > 0 ? p->cv
		      : client	? client->cv
				: 1,
		.burst = p->burst,
		.burst_on_s = p->burst_on,
		.burst_period_s = p->burst_period,
		.swing = p->swing,
		.day_s = p->swing > 0 ? p->day : 0,
	};
	if (client) {
		snprintf(name, sizeof(name), "arrival/%s", client->name);
		spec.stream = name;
		spec.day_s = p->day;
		spec.day = client->hour;
		spec.n_day = HOURS;
		spec.gap_first = true;
	}
	if (arrivals_init(&t->arrivals, &spec, seed, owner, e))
		return -1;
	int64_t first = arrivals_next(&t->arrivals);
	t->next_ns = first < 0 ? INT64_MAX : first;
	return 0;
}

static int set_lengths(struct stream *t, const struct synth_params *p, const struct quantiles *q,
		       size_t n, const char *owner, struct err *e)
{
	t->lengths = xcalloc(n, sizeof(*t->lengths));
	t->n_lengths = n;
	for (size_t i = 0; i < n; i++)
		if (side_lengths(&p->prompt, SIDE_PROMPT, &q[i], owner, &t->lengths[i].prompts,
				 e) ||
		    side_lengths(&p->output, SIDE_OUTPUT, &q[i], owner, &t->lengths[i].outputs, e))
			return -1;
	return 0;
}

/* Lengths of every stream; `given` are those of a file, or NULL. */
static int set_all_lengths(struct streams *s, const struct synth_params *p,
			   const struct workload *w, const struct quantiles *given,
			   const char *owner, struct err *e)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct quantiles *q =
			w->n_clients > 0 ? w->clients[i].quantiles : &w->quantiles;
		size_t n = w->n_clients > 0 && !given ? WINDOWS : 1;
		if (set_lengths(&s->at[i], p, given ? given : q, n, owner, e))
			return -1;
		for (size_t k = 0; k < n; k++) {
			const struct stream_lengths *l = &s->at[i].lengths[k];
			s->draws |= l->prompts.tok[0] < l->prompts.tok[LENGTHS_CELLS] ||
				    l->outputs.tok[0] < l->outputs.tok[LENGTHS_CELLS];
		}
	}
	return 0;
}

static int set_rates(struct streams *s, const struct synth_params *p, const struct workload *w,
		     uint64_t seed, const char *owner, struct err *e)
{
	double rate;
	char what[128];
	s->at_once = strcmp(p->rate, "inf") == 0;
	if (s->at_once)
		return 0;
	snprintf(what, sizeof(what), "%s: rate (requests a second, or inf)", owner);
	if (parse_real(p->rate, what, 1e-9, 1e9, &rate, e))
		return -1;
	for (size_t i = 0; i < s->n; i++) {
		const struct client *c = w->n_clients > 0 ? &w->clients[i] : NULL;
		double part = c ? mean_rate(c) / total_rate(w) : 1;
		/* Only the first turn of a session arrives by itself. */
		if (set_arrivals(&s->at[i], p, c, rate * part / p->turns, seed, owner, e))
			return -1;
	}
	return 0;
}

int streams_init(struct streams *s, const struct synth_params *p, const struct workload *w,
		 uint64_t seed, const char *owner, struct err *e)
{
	struct quantiles file;
	if (check(p, w, owner, e))
		return -1;
	s->n = s->taken = w->n_clients > 0 ? w->n_clients : 1;
	s->at = xcalloc(s->n, sizeof(*s->at));
	if (set_rates(s, p, w, seed, owner, e))
		return -1;
	if (p->lengths[0] == '\0')
		return set_all_lengths(s, p, w, NULL, owner, e);
	if (quantiles_read(p->lengths, &file, e))
		return -1;
	int result = set_all_lengths(s, p, w, &file, owner, e);
	free((void *)file.rows);
	return result;
}

void streams_release(struct streams *s)
{
	for (size_t i = 0; i < s->n; i++) {
		arrivals_release(&s->at[i].arrivals);
		free(s->at[i].lengths);
	}
	free(s->at);
	*s = (struct streams){0};
}

int64_t streams_next(struct streams *s, size_t *which)
{
	*which = 0;
	if (s->at_once)
		return 0;
	if (s->taken < s->n) {
		int64_t next_ns = arrivals_next(&s->at[s->taken].arrivals);
		s->at[s->taken].next_ns = next_ns < 0 ? INT64_MAX : next_ns;
		s->taken = s->n;
	}
	for (size_t i = 1; i < s->n; i++)
		if (s->at[i].next_ns < s->at[*which].next_ns)
			*which = i;
	return s->at[*which].next_ns;
}
