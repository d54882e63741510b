/*
 * quantiles.h: empirical lengths: quantiles of prompts and outputs at the same probabilities, built
 * in or from a file `p,prompt_tok,output_tok` as `omnibus trace fit` writes it.
 */
#ifndef TRACES_QUANTILES_H
#define TRACES_QUANTILES_H

#include "sim/err.h"
#include "traces/tally.h"

struct quantile {
	double p, prompt_tok, output_tok;
};

struct quantiles { /* p rises from 0 to 1, tokens never fall; n 0: none */
	const struct quantile *rows;
	size_t n;
};

/* The caller frees (void *)q->rows after success. */
int quantiles_read(const char *path, struct quantiles *q, struct err *e);

/* At the probabilities that generators are fitted at; of sorted tallies with n > 0. */
void quantiles_write(FILE *out, const struct tally *prompts, const struct tally *outputs);

#endif
