/* side.h: the law of the lengths of one side, prompts or outputs, from the parameters given. */
#ifndef TRACES_SIDE_H
#define TRACES_SIDE_H

#include "traces/lengths.h"
#include "traces/quantiles.h"
#include "traces/synth.h"

enum which_side { SIDE_PROMPT, SIDE_OUTPUT };

/*
 * -1: a sentence that begins with `owner`. Without a law in `side` the quantiles count, and without
 * those (n 0) the length is 512 or 128.
 */
int side_lengths(const struct side *side, enum which_side which, const struct quantiles *q,
		 const char *owner, struct lengths *l, struct err *e);

#endif
