/* synth_needs.c: parameters that say nothing beside the others. */
#include "traces/arrivals.h"
#include "traces/synth.h"
#include "traces/workloads.h"
#include <string.h>

enum need {
	CV_OF_GAPS,
	BURST,
	FINITE_BURST,
	SWING,
	FINITE_SWING,
	FINITE_SLOT,
	NO_SPLIT,
	PREFIX,
	PREFIXES,
	TURNS,
	SESSIONS,
	FOLLOW,
	HASH_IDS,
};

static const char *const needed[] = {
	[CV_OF_GAPS] = "arrivals=gamma or arrivals=weibull, and a finite rate",
	[BURST] = "burst above 1",
	[FINITE_BURST] = "a finite rate",
	[SWING] = "swing above 0",
	[FINITE_SWING] = "a finite rate",
	[FINITE_SLOT] = "a finite rate",
	[NO_SPLIT] = "split=0: with split one length is drawn, by the prompt's law",
	[PREFIX] = "prefix_tok above 0",
	[PREFIXES] = "prefix_tok above 0 and prefixes above 1",
	[TURNS] = "turns above 1",
	[SESSIONS] = "turns above 1 or follow above 0",
	[FOLLOW] = "follow above 0",
	[HASH_IDS] = "prefix_tok, turns or follow, with which rows have hash ids",
};

static const struct {
	const char *name;
	enum need need;
} needs[] = {
	{"cv", CV_OF_GAPS},	   {"burst", FINITE_BURST},   {"burst_on", BURST},
	{"burst_period", BURST},   {"swing", FINITE_SWING},   {"day", SWING},
	{"slot", FINITE_SLOT},	   {"output", NO_SPLIT},      {"output_sd", NO_SPLIT},
	{"output_p90", NO_SPLIT},  {"output_lo", NO_SPLIT},   {"output_hi", NO_SPLIT},
	{"output_zipf", NO_SPLIT}, {"output_max", NO_SPLIT},  {"corr", NO_SPLIT},
	{"prefixes", PREFIX},	   {"prefix_zipf", PREFIXES}, {"think", TURNS},
	{"token_time", SESSIONS},  {"open", FOLLOW},	      {"hash_block", HASH_IDS},
	{"hash_rule", HASH_IDS},
};

static bool is_met(enum need need, const struct synth_params *p, const struct workload *w)
{
	bool finite = strcmp(p->rate, "inf") != 0, sessions = p->turns > 1 || p->follow > 0;
	switch (need) {
	case CV_OF_GAPS:
		return !(p->cv > 0) || (finite && (p->arrivals == ARRIVALS_GAMMA ||
						   p->arrivals == ARRIVALS_WEIBULL));
	case BURST:
		return p->burst > 1;
	case FINITE_BURST:
		return finite || !(p->burst > 1);
	case SWING:
		return p->swing > 0 || w->n_clients > 0;
	case FINITE_SWING:
		return finite || !(p->swing > 0);
	case FINITE_SLOT:
		return finite || !(p->slot > 0);
	case NO_SPLIT:
		return !(p->split > 0);
	case PREFIX:
		return p->prefix_tok > 0;
	case PREFIXES:
		return p->prefix_tok > 0 && p->prefixes > 1;
	case TURNS:
		return p->turns > 1;
	case SESSIONS:
		return sessions;
	case FOLLOW:
		return p->follow > 0;
	case HASH_IDS:
		return p->prefix_tok > 0 || sessions;
	}
	CHECK(0, "need %d", (int)need);
}

int synth_check_needs(const struct synth_params *p, const struct workload *w, const char *owner,
		      const char *given, struct err *e)
{
	/* A name that stands for a law alone is what it stands for; a workload is more than its
	 * arrivals, and may do without some of them. */
	bool law = w->n_clients == 0 && w->quantiles.n == 0;
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		const char *name = needs[i].name;
		if ((param_is_given(given, name) || (law && param_is_given(w->init, name))) &&
		    !is_met(needs[i].need, p, w))
			return err_set(e, "%s: %s needs %s", owner, name, needed[needs[i].need]);
	}
	return 0;
}
