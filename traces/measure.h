/* measure.h: what a trace looks like: the figures of `trace info`, exact, in bounded memory. */
#ifndef TRACES_MEASURE_H
#define TRACES_MEASURE_H

#include "results/field.h"
#include "traces/tally.h"
#include "traces/trace.h"

struct measure {
	char source[256], format[32];
	int64_t rows, skipped_zero, clamped_zero, skipped_zero_prompt, left_out;
	double span_s, rate_rps; /* rate: (rows - 1) / span; NaN where that has no value */
	double gap_cv;		 /* standard deviation of the gaps over their mean */
	int64_t prompt_tok, output_tok;
	double prompt_mean, prompt_p50, prompt_p90, prompt_p99;
	int64_t prompt_max;
	double output_mean, output_p50, output_p90, output_p99;
	int64_t output_max;
	double correlation;	  /* Spearman's, of prompt and output */
	int64_t block, kv_blocks; /* sum of ceil((prompt + output - 1) / block) */
	int64_t hash_block;	  /* FIELD_NULL_INT: no hash ids, and so for the next */
	char hash_rule[8];
	int64_t prefix_tok;  /* prompt tokens that an endless prefix cache would have held */
	double prefix_share; /* of prompt_tok */
	/* FIELD_NULL_INT where the format has none */
	int64_t sessions, clients, overlapping_turns, unknown_parents;
	int64_t restarts, unusable_ids;
	/* NULL without a limit: rows with prompt + output beyond it, and with a prompt that fills
	 * it */
	int64_t max_model_len, too_long, prompt_too_long;
	char trace_hash[24];
	/* the lengths themselves, sorted */
	struct tally prompts, outputs;
};

extern const struct field measure_fields[];

/* Reads the whole trace, twice. `block` >= 1; max_model_len 0: no limit. */
int measure_trace(const struct trace_spec *spec, int64_t block, int64_t max_model_len,
		  struct measure *m, struct err *e);
void measure_release(struct measure *m);

/* The figures for people: a list, and a histogram of prompt and output lengths. */
void measure_print(const struct measure *m, FILE *out);

#endif
