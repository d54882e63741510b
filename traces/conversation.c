/* conversation.c: see conversation.h. */
#include "traces/conversation.h"
#include "sim/rng.h"
#include "traces/number.h"
#include <math.h>
#include <string.h>

bool conversation_is_needed(const struct conversation_spec *s)
{
	return s->prefix_tok > 0 || s->turns > 1 || s->follow > 0;
}

void conversation_init(struct conversation *c, const struct conversation_spec *spec)
{
	size_t n = (size_t)spec->prefixes;
	double *weight = xcalloc(n, sizeof(*weight));
	*c = (struct conversation){.spec = *spec};
	c->session_rng = rng_new(spec->seed, "session");
	c->prefix_rng = rng_new(spec->seed, "prefix");
	for (size_t i = 0; i < n; i++)
		weight[i] = pow((double)(i + 1), -spec->prefix_zipf);
	c->popularity = gsl_ran_discrete_preproc(n, weight);
	if (!c->popularity)
		no_memory(n, sizeof(*weight));
	free(weight);
	if (spec->follow > 0)
		c->places = xcalloc((size_t)spec->open, sizeof(*c->places));
	c->key = rng_mix(spec->seed ^ UINT64_C(0x6861736820696473));
}

void conversation_release(struct conversation *c)
{
	gsl_rng_free(c->session_rng);
	gsl_rng_free(c->prefix_rng);
	if (c->popularity)
		gsl_ran_discrete_free(c->popularity);
	free(c->turns);
	free(c->places);
	free(c->ids);
	*c = (struct conversation){0};
}

static bool before(const struct turn *a, const struct turn *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->session < b->session;
}

static void make_room(struct conversation *c)
{
	if (c->n < c->room)
		return;
	c->room = c->room ? 2 * c->room : 64;
	c->turns = xrealloc(c->turns, c->room * sizeof(*c->turns));
}

static void heap_add(struct conversation *c, struct turn t)
{
	make_room(c);
	size_t i = c->n++;
	for (; i > 0 && before(&t, &c->turns[(i - 1) / 2]); i = (i - 1) / 2)
		c->turns[i] = c->turns[(i - 1) / 2];
	c->turns[i] = t;
}

static struct turn heap_take(struct conversation *c)
{
	struct turn first = c->turns[0], last = c->turns[--c->n];
	size_t i = 0;
	for (size_t child; (child = 2 * i + 1) < c->n; i = child) {
		if (child + 1 < c->n && before(&c->turns[child + 1], &c->turns[child]))
			child++;
		if (!before(&c->turns[child], &last))
			break;
		c->turns[i] = c->turns[child];
	}
	c->turns[i] = last;
	return first;
}

static struct turn begin(struct conversation *c, int64_t client)
{
	struct turn t = {.session = ++c->sessions,
			 .client = client,
			 .think_ns = -1,
			 .history_tok = c->spec.prefix_tok};
	if (c->spec.prefix_tok > 0)
		t.prefix = (int64_t)gsl_ran_discrete(c->prefix_rng, c->popularity);
	return t;
}

/* When the row is thought to have ended, by a nominal time a token. */
static int64_t set_service(const struct conversation *c, struct trace_row *row)
{
	double ns = (double)row->output_tok * c->spec.token_s * 1e9;
	int64_t most = NUMBER_NS_MAX - row->arrive_ns;
	row->service_ns = ns < (double)most ? (int64_t)(ns + 0.5) : most;
	return row->arrive_ns + row->service_ns;
}

/* After a row of a session: whether and when there is another. */
static void plan_turn(struct conversation *c, struct turn t, struct trace_row *row)
{
	bool more = gsl_rng_uniform(c->session_rng) * c->spec.turns < c->spec.turns - 1;
	double think = gsl_ran_exponential(c->session_rng, c->spec.think_s * 1e9);
	int64_t end = set_service(c, row);
	t.history_tok = row->prompt_tok + row->output_tok;
	if (!more || t.history_tok >= c->spec.prompt_max ||
	    !(think < (double)(NUMBER_NS_MAX - end)))
		return;
	t.think_ns = (int64_t)(think + 0.5);
	t.at_ns = end + t.think_ns;
	heap_add(c, t);
}

/* How many of the sorted places are before this one. */
static size_t places_before(const struct place *places, size_t n, struct place p)
{
	size_t low = 0;
	while (low < n) {
		size_t mid = low + (n - low) / 2;
		const struct place *q = &places[mid];
		if (q->history_tok < p.history_tok ||
		    (q->history_tok == p.history_tok && q->at < p.at))
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

/* The longest conversation that has ended and fits before the row's prompt; -1: none. */
static long find_followed(const struct conversation *c, const struct trace_row *row)
{
	if (!(gsl_rng_uniform(c->session_rng) < c->spec.follow))
		return -1;
	size_t i = places_before(c->places, c->n, (struct place){row->prompt_tok, 0});
	while (i-- > 0) {
		const struct turn *t = &c->turns[c->places[i].at];
		if (t->at_ns <= row->arrive_ns && t->client == row->client)
			return (long)c->places[i].at;
	}
	return -1;
}

/* Puts the session of the row back where it was, or in the place of the oldest one. */
static void keep_open(struct conversation *c, long at, struct turn t, struct trace_row *row)
{
	size_t i = at < 0 ? c->oldest : (size_t)at, n = c->n;
	t.history_tok = row->prompt_tok + row->output_tok;
	t.at_ns = set_service(c, row);
	if (at < 0 && n < (size_t)c->spec.open) {
		make_room(c);
		i = c->n++;
	} else {
		size_t old =
			places_before(c->places, n, (struct place){c->turns[i].history_tok, i});
		memmove(&c->places[old], &c->places[old + 1], (--n - old) * sizeof(*c->places));
		if (at < 0)
			c->oldest = (c->oldest + 1) % c->n;
	}
	struct place p = {t.history_tok, i};
	size_t new = places_before(c->places, n, p);
	memmove(&c->places[new + 1], &c->places[new], (n - new) * sizeof(*c->places));
	c->places[new] = p;
	c->turns[i] = t;
}

/* Blocks of the system prompt, then of the session; the last one may be partial. */
static void set_ids(struct conversation *c, const struct turn *t, struct trace_row *row)
{
	int64_t block = c->spec.hash_block, full = row->prompt_tok / block;
	int64_t shared = c->spec.prefix_tok / block;
	bool partial = c->spec.hash_rule == TRACE_HASH_CEIL && row->prompt_tok % block > 0;
	size_t n = (size_t)(full + partial);
	uint64_t prefix = rng_mix(c->key ^ (uint64_t)t->prefix);
	uint64_t session = rng_mix(~c->key ^ (uint64_t)t->session);
	if (n > c->ids_room) {
		c->ids_room = 2 * n;
		free(c->ids);
		c->ids = xmalloc(c->ids_room * sizeof(*c->ids));
	}
	for (size_t i = 0; i < n; i++)
		c->ids[i] = rng_mix(((int64_t)i < shared ? prefix : session) + i) >> 1;
	/* what stands at a place of a session never changes, but this is less than a block of it */
	if (partial)
		c->ids[n - 1] = rng_mix(c->ids[n - 1] ^ (uint64_t)row->prompt_tok << 20) >> 1;
	row->hash_ids = c->ids;
	row->n_hash_ids = (int64_t)n;
}

static struct turn place_turn(struct conversation *c, bool due, struct trace_row *row)
{
	struct turn t = due ? heap_take(c) : begin(c, row->client);
	int64_t room = c->spec.prompt_max - t.history_tok;
	if (due)
		row->arrive_ns = t.at_ns;
	row->client = t.client;
	row->think_ns = t.think_ns;
	row->prompt_tok = t.history_tok + (row->prompt_tok < room ? row->prompt_tok : room);
	if (c->spec.turns > 1)
		plan_turn(c, t, row);
	return t;
}

static struct turn place_follower(struct conversation *c, struct trace_row *row)
{
	int64_t room = c->spec.prompt_max - c->spec.prefix_tok;
	row->prompt_tok = c->spec.prefix_tok + (row->prompt_tok < room ? row->prompt_tok : room);
	long at = find_followed(c, row);
	struct turn t = at < 0 ? begin(c, row->client) : c->turns[at];
	row->think_ns = at < 0 ? -1 : row->arrive_ns - t.at_ns;
	keep_open(c, at, t, row);
	return t;
}

void conversation_place(struct conversation *c, bool due, struct trace_row *row)
{
	bool follows = c->spec.follow > 0;
	struct turn t = follows ? place_follower(c, row) : place_turn(c, due, row);
	if (follows || c->spec.turns > 1)
		row->session = t.session;
	else
		row->think_ns = 0;
	set_ids(c, &t, row);
}
