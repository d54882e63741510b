/* synth.c: generated traces: arrivals and lengths drawn from named streams of one seed. */
#include "traces/synth.h"
#include "sim/param.h"
#include "sim/rng.h"
#include "traces/conversation.h"
#include "traces/streams.h"
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

struct synth {
	struct source base;
	struct synth_params p;
	struct streams streams;
	struct conversation conversation;
	bool converses; /* rows are put into conversations */
	int64_t slot_ns;
	gsl_rng *length;
	double own, shared; /* weights of the copula: output score = shared x prompt's + own */
	int64_t row;
};

static void draw_lengths(struct synth *s, const struct stream_lengths *l, struct trace_row *row)
{
	double prompt = 0, output = 0;
	if (s->streams.draws) {
		prompt = gsl_ran_gaussian_ziggurat(s->length, 1);
		output = gsl_ran_gaussian_ziggurat(s->length, s->own) + s->shared * prompt;
	}
	row->prompt_tok = lengths_at(&l->prompts, prompt);
	row->output_tok = lengths_at(&l->outputs, output);
	if (s->p.split > 0) {
		int64_t both = row->prompt_tok > 2 ? row->prompt_tok : 2;
		int64_t out = llround((double)both / (1 + s->p.split));
		row->output_tok = out < 1 ? 1 : out < both ? out : both - 1;
		row->prompt_tok = both - row->output_tok;
	}
}

static int synth_next(struct source *base, struct trace_row *row, struct err *e)
{
	struct synth *s = (struct synth *)base;
	size_t which;
	if (s->row == s->p.n)
		return 0;
	int64_t now_ns = streams_next(&s->streams, &which);
	int64_t due_ns = s->converses ? conversation_due_ns(&s->conversation) : INT64_MAX;
	bool due = due_ns <= now_ns && due_ns < INT64_MAX;
	if (!due && now_ns == INT64_MAX)
		return err_set(e,
			       "%s: row %lld would arrive after more than 200 years: "
			       "give fewer rows or a higher rate",
			       trace_kinds[base->kind].name, (long long)s->row + 1);
	if (!due)
		streams_take(&s->streams, which);
	else if (s->streams.n > 1)
		which = (size_t)conversation_due_client(&s->conversation) - 1;
	s->row++;
	*row = (struct trace_row){
		.arrive_ns = s->slot_ns > 0 ? now_ns - now_ns % s->slot_ns : now_ns,
		.client = s->streams.n > 1 ? (int64_t)which + 1 : 0,
	};
	draw_lengths(s, streams_lengths(&s->streams, which, due ? due_ns : now_ns), row);
	if (s->converses)
		conversation_place(&s->conversation, due, row);
	return 1;
}

static double synth_progress(const struct source *base)
{
	const struct synth *s = (const struct synth *)base;
	return (double)s->row / (double)s->p.n;
}

static void synth_free(struct source *base)
{
	struct synth *s = (struct synth *)base;
	streams_release(&s->streams);
	if (s->converses)
		conversation_release(&s->conversation);
	gsl_rng_free(s->length);
	free(s);
}

static const struct source_ops synth_ops = {
	.next = synth_next,
	.progress = synth_progress,
	.free = synth_free,
};

/* The longest prompt that a row can have. */
static int64_t longest_prompt(const struct synth *s)
{
	const struct synth_params *p = &s->p;
	int64_t drawn = 0;
	if (p->turns > 1)
		return p->prompt.max;
	for (size_t i = 0; i < s->streams.n; i++)
		for (size_t k = 0; k < s->streams.at[i].n_lengths; k++) {
			double tok = s->streams.at[i].lengths[k].prompts.tok[LENGTHS_CELLS];
			drawn = (int64_t)tok > drawn ? (int64_t)tok : drawn;
		}
	drawn += p->prefix_tok;
	return drawn < p->prompt.max ? drawn : p->prompt.max;
}

static int check_ids(const struct synth *s, const char *owner, struct err *e)
{
	int64_t longest = longest_prompt(s), ids = longest / s->p.hash_block;
	if (ids <= CONVERSATION_IDS_MAX)
		return 0;
	return err_set(e,
		       "%s: prompts of up to %lld tokens have up to %lld hash ids of "
		       "hash_block=%lld: at most %lld can be; give a larger hash_block or a "
		       "smaller prompt_max",
		       owner, (long long)longest, (long long)ids, (long long)s->p.hash_block,
		       (long long)CONVERSATION_IDS_MAX);
}

static int set_conversation(struct synth *s, uint64_t seed, const char *owner, struct err *e)
{
	const struct synth_params *p = &s->p;
	struct conversation_spec spec = {
		.prefix_tok = p->prefix_tok,
		.prefixes = p->prefixes,
		.prefix_zipf = p->prefix_zipf,
		.turns = p->turns,
		.think_s = p->think,
		.follow = p->follow,
		.open = p->open,
		.token_s = p->token_time,
		.prompt_max = p->prompt.max,
		.hash_block = p->hash_block,
		.hash_rule = (enum trace_hash_rule)(p->hash_rule + TRACE_HASH_CEIL),
		.seed = seed,
	};
	if (p->turns > 1 && p->follow > 0)
		return err_set(e, "%s: turns and follow cannot both be given", owner);
	if (p->turns > 1 && p->slot > 0)
		return err_set(e, "%s: slot and turns cannot both be given", owner);
	if (p->prefix_tok >= p->prompt.max)
		return err_set(e,
			       "%s: prefix_tok=%lld leaves no prompt of its own below "
			       "prompt_max=%lld",
			       owner, (long long)p->prefix_tok, (long long)p->prompt.max);
	bool converses = conversation_is_needed(&spec);
	if (converses && check_ids(s, owner, e))
		return -1;
	s->converses = converses;
	if (s->converses)
		conversation_init(&s->conversation, &spec);
	s->base.hash_block = s->converses ? p->hash_block : 0;
	s->base.hash_rule = spec.hash_rule;
	s->base.has_sessions = s->base.has_service = p->turns > 1 || p->follow > 0;
	return 0;
}

static void set_clients(struct synth *s, const struct workload *w)
{
	s->base.has_clients = w->n_clients > 0;
	for (size_t i = 0; i < w->n_clients; i++) {
		const char *name = w->clients[i].name;
		int64_t number = names_number(&s->base.clients, name, strlen(name));
		CHECK(number == (int64_t)i + 1, "client %s has number %lld, not %zu", name,
		      (long long)number, i + 1);
	}
}

static int start(struct synth *s, const struct workload *w, const char *owner, const char *params,
		 uint64_t seed, bool check_only, struct err *e)
{
	static const double pi = 3.14159265358979323846;
	struct param_set set = {synth_params_table, &s->p};
	param_defaults(synth_params_table, &s->p);
	if (param_parse(&set, 1, owner, w->init, e) || param_parse(&set, 1, owner, params, e))
		return -1;
	if (check_only)
		s->p.lengths[0] = '\0';
	uint64_t own_seed = s->p.seed >= 0 ? (uint64_t)s->p.seed : seed;
	if (streams_init(&s->streams, &s->p, w, own_seed, owner, e) ||
	    synth_check_needs(&s->p, w, owner, params, e) ||
	    set_conversation(s, own_seed, owner, e))
		return -1;
	set_clients(s, w);
	s->length = rng_new(own_seed, "length");
	s->slot_ns = llround(s->p.slot * 1e9);
	/* Pearson's correlation of two normal numbers whose ranks correlate by corr. */
	s->shared = 2 * sin(pi * s->p.corr / 6);
	s->own = sqrt(fmax(0, 1 - s->shared * s->shared));
	return 0;
}

static struct source *make(const char *text, uint64_t seed, bool check_only, struct err *e)
{
	char name[PARAM_TEXT_MAX], owner[PARAM_TEXT_MAX + 8];
	size_t len = strcspn(text, ",");
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	snprintf(owner, sizeof(owner), "synth:%s", name);
	const struct workload *w = workload_find(name, e);
	if (!w)
		return NULL;
	struct synth *s = xcalloc(1, sizeof(*s));
	s->base.ops = &synth_ops;
	s->base.kind = w->kind;
	if (start(s, w, owner, text[len] ? text + len + 1 : NULL, seed, check_only, e)) {
		source_free(&s->base);
		return NULL;
	}
	return &s->base;
}

struct source *synth_new(const char *text, uint64_t seed, struct err *e)
{
	return make(text, seed, false, e);
}

int synth_check(const char *text, uint64_t seed, struct err *e)
{
	struct source *s = make(text, seed, true, e);
	source_free(s);
	return s ? 0 : -1;
}
