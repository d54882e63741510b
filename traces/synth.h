/* synth.h: the parameters of every generator; all of them can be set on each. */
#ifndef TRACES_SYNTH_H
#define TRACES_SYNTH_H

#include "sim/param.h"

struct side { /* lengths of the prompt or of the output; 0: not given */
	int64_t tok;
	double sd, p90;
	int64_t lo, hi;
	double zipf;
	int64_t max;
};

struct synth_params {
	int64_t n, seed, arrivals;
	char rate[PARAM_TEXT_MAX], lengths[PARAM_TEXT_MAX];
	double cv, burst, burst_on, burst_period, swing, day, slot, corr, split;
	struct side prompt, output;
	int64_t prefix_tok, prefixes, open, hash_block, hash_rule;
	double prefix_zipf, turns, think, token_time, follow;
};

extern const struct param synth_params_table[];

struct workload;

/* Whether every parameter that was given ("k=v,...", or NULL) has what it needs to mean anything.
 */
int synth_check_needs(const struct synth_params *p, const struct workload *w, const char *owner,
		      const char *given, struct err *e);

#endif
