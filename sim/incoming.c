#include "sim/incoming.h"
#include "sim/sessions.h"
#include "sim/timeout.h"

/* What comes next */

/* Reads the next row, and puts its arrival on the agenda. */
static void read_next(struct sim *s)
{
	int got = s->c->next(s->c->next_arg, &s->next, s->err);

	s->failed = s->failed || got < 0;
	s->next_known = got > 0;
	s->trace_ended = got <= 0;
	if (got <= 0)
		return;
	if (s->c->closed_loop == 0)
		agenda_set(&s->agenda, EVENT_ARRIVAL, 0, s->next.arrive_ns);
	else if (s->to_issue > 0)
		agenda_set(&s->agenda, EVENT_ARRIVAL, 0, s->now_ns);
}

static void set_next(struct sim *s)
{
	int64_t t_ns = sessions_time(s->sessions);

	if (t_ns < INT64_MAX)
		agenda_set(&s->agenda, EVENT_ARRIVAL, 0, t_ns);
	else
		agenda_clear(&s->agenda, EVENT_ARRIVAL, 0);
}

void incoming_start(struct sim *s)
{
	s->to_issue = s->c->closed_loop;
	if (!s->c->has_sessions || s->c->sessions_open || s->c->closed_loop > 0) {
		read_next(s);
		return;
	}
	s->sessions = sessions_new(s->c->next, s->c->next_arg, s->err);
	if (s->sessions)
		set_next(s);
	else
		s->failed = true;
}

void incoming_stop(struct sim *s)
{
	sessions_free(s->sessions);
}

/* In a closed loop the next one comes in at the same time, in a session after some thought. */
void incoming_ended(struct sim *s, int64_t idx)
{
	if (s->c->closed_loop > 0 && !s->trace_ended) {
		s->to_issue++;
		agenda_set(&s->agenda, EVENT_ARRIVAL, 0, s->now_ns);
	}
	if (s->sessions) {
		sessions_ended(s->sessions, idx, s->now_ns);
		set_next(s);
	}
}

/* A request arrives */

static int64_t waiting(const struct sim *s)
{
	int64_t n = s->shape->waiting ? s->shape->waiting(s) : 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += instance_waiting(&s->instances[i]) + instance_swapped(&s->instances[i]);
	return n;
}

static int64_t max_tok_of(struct sim *s, const struct trace_row *row)
{
	int64_t limit = 0;

	if (row->max_tok > 0)
		limit = row->max_tok;
	else if (s->c->max_tokens_rule == MAX_TOKENS_N)
		limit = s->c->max_tokens;
	else if (s->c->max_tokens_rule == MAX_TOKENS_MODEL)
		limit = s->c->context - row->prompt_tok;
	if (limit >= row->output_tok)
		return limit;
	s->counts.raised_max_tok += row->max_tok > 0 || s->c->max_tokens_rule == MAX_TOKENS_N;
	return row->output_tok;
}

/* False: the request is longer than the server takes, even with its output cut. */
static bool fits_model_len(struct sim *s, struct job *j)
{
	int64_t room = s->c->max_model_len - j->req.prompt_tok;

	if (s->c->max_model_len == 0)
		s->counts.beyond_context +=
			s->c->context > 0 && j->req.prompt_tok + j->output_tok > s->c->context;
	if (s->c->max_model_len == 0 || j->output_tok <= room)
		return true;
	if (!s->c->too_long_truncate || room < 1) {
		s->counts.too_long_rejected++;
		return false;
	}
	s->counts.too_long_truncated++;
	j->output_tok = room;
	return true;
}

static void arrive(struct sim *s, struct trace_row *row, int64_t idx)
{
	struct job *j = job_take(&s->jobs);

	s->arriving = row;
	s->arrived++;
	j->output_tok = row->output_tok;
	j->client = row->client;
	j->session = row->session;
	j->req = (struct request){.idx = idx,
				  .arrive_ns = s->now_ns,
				  .prompt_tok = row->prompt_tok,
				  .priority = row->priority};
	timeout_start(s, j);
	if (metrics_arrival(&s->metrics, s->now_ns))
		metrics_backlog(&s->metrics, s->now_ns, waiting(s));
	if (fits_model_len(s, j)) {
		row->output_tok = j->output_tok;
		j->ask_tok = max_tok_of(s, row);
		s->shape->arrive(s, j);
	} else {
		j->instance = sim_route(s)->index;
		sim_reject(s, j);
	}
	s->arriving = NULL;
}

void incoming_next(struct sim *s)
{
	if (s->sessions) {
		struct trace_row row;
		int64_t idx = sessions_take(s->sessions, &row);

		arrive(s, &row, idx);
		set_next(s);
	} else if (s->next_known) {
		s->to_issue -= s->c->closed_loop > 0;
		arrive(s, &s->next, s->arrived);
		read_next(s);
	}
}
