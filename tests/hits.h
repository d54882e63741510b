/* hits.h: what a prefix cache without a limit would find in a trace. */
#ifndef TESTS_HITS_H
#define TESTS_HITS_H

#include "traces/trace.h"

struct hits {
	int64_t rows, sessions, turns; /* turns: rows that follow one of their session */
	int64_t prompt_tok, hit_tok;
};

/*
 * Blocks from the start of a prompt whose ids came before count, up to floor((n - 1) / block): one
 * token is always computed. -1: a sentence.
 */
int hits_count(const struct trace_spec *spec, struct hits *h, struct err *e);

#endif
