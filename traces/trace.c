/* trace.c: selection, order, scaling and counting over any source of rows. */
#include "traces/trace.h"
#include "traces/arrivals.h"
#include "traces/number.h"
#include "traces/source.h"
#include "traces/turns.h"
#include <math.h>
#include <string.h>

struct trace {
	struct trace_spec spec;
	struct source *source;
	struct trace_counts counts;
	int64_t read;	       /* rows seen */
	int64_t first_read_ns; /* of the first row seen: windows count from there */
	int64_t last_read_ns, last_read_line;
	int64_t to_skip;
	int64_t base_ns; /* of the first row given */
	double factor;	 /* arrivals are multiplied by it; 1: they stay integers */
	bool ended;
	bool draws; /* arrivals are drawn, in place of those recorded */
	struct arrivals arrivals;
	struct turns turns;
};

const char *const trace_zero_names[N_TRACE_ZERO + 1] = {
	[TRACE_ZERO_SKIP] = "skip", [TRACE_ZERO_CLAMP] = "clamp", [TRACE_ZERO_ERROR] = "error"};
const char *const trace_hash_names[N_TRACE_HASH + 1] = {
	[TRACE_HASH_OF_FORMAT] = "", [TRACE_HASH_CEIL] = "ceil", [TRACE_HASH_FLOOR] = "floor"};

static const char *spec_name(const struct trace_spec *spec)
{
	return strcmp(spec->source, "-") == 0 ? "standard input" : spec->source;
}

static int check_spec(const struct trace_spec *s, struct err *e)
{
	if (!s->source || !*s->source)
		return err_set(e, "no trace is given: expected a file, \"-\" or synth:NAME");
	if (s->skip < 0 || s->limit < 0)
		return err_set(e, "%s: rows to skip and to read must not be negative", s->source);
	if (s->hash_block < 0)
		return err_set(e, "%s: the block of hash ids must be at least 1 token", s->source);
	if (!(s->rate_rps >= 0) || isinf(s->rate_rps))
		return err_set(e, "%s: the rate must be above 0 requests a second, or inf",
			       s->source);
	if (!(s->speed >= 0) || isinf(s->speed))
		return err_set(e, "%s: the speed must be a number above 0", s->source);
	if (s->arrivals && !(s->rate_rps > 0) && !s->rate_inf)
		return err_set(e, "%s: --arrivals %s needs a rate, or inf", s->source, s->arrivals);
	return 0;
}

int trace_measure(const struct trace_spec *spec, struct trace_span *span, struct err *e)
{
	struct trace_spec plain = *spec;
	plain.rate_rps = plain.speed = 0;
	plain.rate_inf = false;
	struct trace *t = trace_open(&plain, e);
	if (!t)
		return -1;
	struct trace_row row;
	int more;
	while ((more = trace_next(t, &row, e)) > 0)
		;
	*span = (struct trace_span){t->counts.rows, t->counts.last_ns};
	trace_close(t);
	return more;
}

/* The factor that gives the selection the rate wanted. */
static int find_factor(const struct trace_spec *spec, double *factor, struct err *e)
{
	struct trace_span span;
	if (spec->span)
		span = *spec->span;
	else if (trace_measure(spec, &span, e))
		return -1;
	if (span.last_ns == 0)
		return err_set(e,
			       "%s: a rate needs at least two rows that arrive at different "
			       "times, this has %lld at one time",
			       spec_name(spec), (long long)span.rows);
	*factor = (double)(span.rows - 1) * 1e9 / spec->rate_rps / (double)span.last_ns;
	if ((double)span.last_ns * *factor > (double)NUMBER_NS_MAX)
		return err_set(e,
			       "%s: at a rate of %g a second its %lld rows arrive over more than "
			       "200 years: give a higher rate or fewer rows (--limit)",
			       spec_name(spec), spec->rate_rps, (long long)span.rows);
	return 0;
}

int trace_check(const struct trace_spec *spec, struct err *e)
{
	return source_check(spec, e);
}

static int find_arrivals(const char *name, enum arrivals_kind *kind, struct err *e)
{
	for (int i = 0; i < N_ARRIVALS; i++) {
		if (strcmp(arrivals_names[i], name) == 0) {
			*kind = (enum arrivals_kind)i;
			return 0;
		}
	}
	return err_unknown(e, "--arrivals", name, arrivals_names, N_ARRIVALS);
}

/* The arrivals that stand in for those recorded. */
static int start_arrivals(struct trace *t, struct err *e)
{
	const struct trace_spec *s = &t->spec;
	struct arrivals_spec want = {
		.rate_rps = s->rate_rps, .cv = s->cv > 0 ? s->cv : 1, .stream = "arrivals"};
	if (find_arrivals(s->arrivals, &want.kind, e) ||
	    arrivals_init(&t->arrivals, &want, s->seed, "--arrivals", e))
		return -1;
	t->draws = true;
	return 0;
}

static int check_arrivals(const struct trace *t, struct err *e)
{
	const struct trace_spec *s = &t->spec;
	if (!t->source->lengths_only || t->draws || s->rate_inf || s->lengths_will_do)
		return 0;
	return err_set(e,
		       "%s: has lengths and no arrivals: give --arrivals poisson --rate R to draw "
		       "some, or --rate inf to have all at 0",
		       spec_name(s));
}

struct trace *trace_open(const struct trace_spec *spec, struct err *e)
{
	if (check_spec(spec, e))
		return NULL;
	struct trace *t = xcalloc(1, sizeof(*t));
	t->spec = *spec;
	t->to_skip = spec->skip;
	t->factor = 1;
	t->counts.hash = UINT64_C(0xcbf29ce484222325);
	bool draws = spec->arrivals && !spec->rate_inf;
	if ((draws && start_arrivals(t, e)) || !(t->source = source_open(spec, e)) ||
	    check_arrivals(t, e) ||
	    (spec->rate_rps > 0 && !draws && find_factor(spec, &t->factor, e))) {
		trace_close(t);
		return NULL;
	}
	return t;
}

/* The next row as it stands in the file, in order. */
static int read_row(struct trace *t, struct trace_row *row, struct err *e)
{
	int more = t->source->ops->next(t->source, row, e);
	if (more <= 0)
		return more;
	if (t->read++ == 0)
		t->first_read_ns = row->arrive_ns;
	else if (row->arrive_ns < t->last_read_ns)
		return err_set(e,
			       "%s:%lld: arrives %.9g s before the row of line %lld: expected "
			       "rows in the order of their arrival (--sort sorts them)",
			       spec_name(&t->spec), (long long)row->line,
			       (double)(t->last_read_ns - row->arrive_ns) * 1e-9,
			       (long long)t->last_read_line);
	t->last_read_ns = row->arrive_ns;
	t->last_read_line = row->line;
	return 1;
}

/* Reads on to a row that is selected. 0: there is none. */
static int select_row(struct trace *t, struct trace_row *row, struct err *e)
{
	struct trace_counts *c = &t->counts;
	for (;;) {
		int more = read_row(t, row, e);
		if (more <= 0)
			return more;
		int64_t since = row->arrive_ns - t->first_read_ns;
		if (t->spec.window && since >= t->spec.window_to_ns) {
			c->left_out++;
			return 0;
		}
		bool no_output = row->output_tok == 0;
		if (t->spec.zero == TRACE_ZERO_ERROR && (no_output || row->prompt_tok == 0))
			return err_set(e,
				       "%s:%lld: %s tokens are 0: --zero error refuses such rows, "
				       "--zero skip and clamp do not",
				       spec_name(&t->spec), (long long)row->line,
				       no_output ? "output" : "prompt");
		if (no_output && t->spec.zero == TRACE_ZERO_SKIP)
			c->skipped_zero++;
		else if (row->prompt_tok == 0)
			c->skipped_zero_prompt++;
		else if (t->spec.window && since < t->spec.window_from_ns)
			c->left_out++;
		else if (t->to_skip > 0)
			t->to_skip--, c->left_out++;
		else
			return 1;
	}
}

/* What the source and the sessions have counted so far. */
static void count(struct trace *t)
{
	struct trace_counts *c = &t->counts;
	c->sessions = t->turns.sessions;
	c->overlapping = t->turns.overlapping;
	c->unknown_parents = t->source->unknown_parents;
	c->restarts = t->source->restarts;
	c->unusable_ids = t->source->unusable_ids;
}

/* Puts the row where --arrivals, --rate or --speed has it. */
static int place(struct trace *t, struct trace_row *row, struct err *e)
{
	double scaled;
	if (t->draws) {
		row->arrive_ns = arrivals_next(&t->arrivals);
		if (row->arrive_ns >= 0)
			return 0;
		scaled = INFINITY;
	} else if (t->spec.rate_rps > 0)
		scaled = (double)row->arrive_ns * t->factor;
	else if (t->spec.rate_inf)
		scaled = 0;
	else if (t->spec.speed > 0)
		scaled = (double)row->arrive_ns / t->spec.speed;
	else
		return 0;
	if (scaled > (double)NUMBER_NS_MAX)
		return err_set(e,
			       "%s:%lld: at this rate or speed the row arrives after more than "
			       "200 years",
			       spec_name(&t->spec), (long long)row->line);
	row->arrive_ns = llround(scaled);
	return 0;
}

/* One word into a hash; the shift lets high bits reach the low ones too. */
static uint64_t hash_word(uint64_t hash, int64_t word)
{
	hash = (hash ^ (uint64_t)word) * UINT64_C(0x100000001b3);
	return hash ^ (hash >> 32);
}

/* What only some traces have. */
static uint64_t hash_more(uint64_t hash, const struct trace_row *row)
{
	hash = hash_word(hash_word(hash, row->max_tok), row->priority);
	hash = hash_word(hash_word(hash, row->client), row->session);
	if (row->session > 0)
		hash = hash_word(hash, row->think_ns);
	for (int64_t i = 0; i < row->n_hash_ids; i++)
		hash = hash_word(hash, (int64_t)row->hash_ids[i]);
	return hash;
}

static int no_rows(const struct trace *t, struct err *e)
{
	const struct trace_counts *c = &t->counts;
	return err_set(e,
		       "%s: no rows: %lld read, %lld of them without output tokens, %lld without "
		       "prompt tokens, %lld left out by skip and window",
		       spec_name(&t->spec), (long long)t->read, (long long)c->skipped_zero,
		       (long long)c->skipped_zero_prompt, (long long)c->left_out);
}

int trace_next(struct trace *t, struct trace_row *row, struct err *e)
{
	struct trace_counts *c = &t->counts;
	if (t->ended || (t->spec.limit > 0 && c->rows == t->spec.limit))
		return 0;
	int more = select_row(t, row, e);
	t->ended = more <= 0;
	if (t->ended)
		count(t);
	if (more < 0)
		return -1;
	if (more == 0)
		return c->rows > 0 ? 0 : no_rows(t, e);
	if (row->output_tok == 0)
		row->output_tok = 1, c->clamped_zero++;
	if (c->rows == 0)
		t->base_ns = row->arrive_ns;
	row->arrive_ns -= t->base_ns;
	c->hash = hash_word(hash_word(hash_word(c->hash, row->arrive_ns), row->prompt_tok),
			    row->output_tok);
	if (row->max_tok > 0 || row->client > 0 || row->session > 0 || row->priority != 0 ||
	    row->n_hash_ids > 0)
		c->hash = hash_more(c->hash, row);
	turns_add(&t->turns, row);
	count(t);
	if (place(t, row, e))
		return -1;
	c->rows++;
	c->last_ns = row->arrive_ns;
	c->prompt_tok += row->prompt_tok;
	c->output_tok += row->output_tok;
	return 1;
}

const struct trace_counts *trace_counts(const struct trace *t)
{
	return &t->counts;
}

const char *trace_format(const struct trace *t)
{
	return trace_kinds[t->source->kind].name;
}

int64_t trace_hash_block(const struct trace *t)
{
	return t->source->hash_block;
}

enum trace_hash_rule trace_hash_rule(const struct trace *t)
{
	return t->source->hash_rule;
}

bool trace_hash_unsigned(const struct trace *t)
{
	return t->source->hash_unsigned;
}

int64_t trace_base_ns(const struct trace *t, bool *wall_clock)
{
	*wall_clock = t->source->wall_clock && !t->draws;
	return t->draws ? 0 : t->base_ns;
}

bool trace_has_max_tok(const struct trace *t)
{
	return t->source->has_max_tok;
}

bool trace_has_sessions(const struct trace *t)
{
	return t->source->has_sessions;
}

bool trace_has_clients(const struct trace *t)
{
	return t->source->has_clients;
}

bool trace_has_priorities(const struct trace *t)
{
	return t->source->has_priorities;
}

bool trace_has_service(const struct trace *t)
{
	return t->source->has_service;
}

bool trace_has_arrivals(const struct trace *t)
{
	return t->draws || !t->source->lengths_only;
}

const char *trace_client_name(const struct trace *t, int64_t client)
{
	return names_text(&t->source->clients, client);
}

const char *trace_session_name(const struct trace *t, int64_t session)
{
	return names_text(&t->source->sessions, session);
}

double trace_progress(const struct trace *t)
{
	double of_source = t->ended ? 1 : t->source->ops->progress(t->source);
	double of_limit = t->spec.limit > 0 ? (double)t->counts.rows / (double)t->spec.limit : 0;
	return of_source > of_limit ? of_source : of_limit;
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	source_free(t->source);
	if (t->draws)
		arrivals_release(&t->arrivals);
	turns_release(&t->turns);
	free(t);
}
