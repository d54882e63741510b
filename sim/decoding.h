/*
 * decoding.h: the requests of a batch that decode: what each adds to the sums over a decode step,
 * when it has to be looked at next, and the gaps between its tokens. instance_move.c alone moves
 * them in and out.
 */
#ifndef SIM_DECODING_H
#define SIM_DECODING_H

#include "sim/instance.h"

/*
 * j, whose sequence is prefilled, decodes from now on. `late`: its last token is older than the
 * last step here, so its first gap is its own.
 */
void decoding_join(struct instance *in, struct job *j, bool late);
/* It no longer does, but for its share of a padded batch's steps; tokens and blocks become its own.
 */
void decoding_stop(struct instance *in, struct job *j);
/* Nor does it count in decode steps any more. */
void decoding_leave(struct instance *in, struct job *j);

/* The next token of j, of which `gen` are produced, at which something is to be done. */
int64_t decoding_next_stop(const struct instance *in, const struct job *j, int64_t gen);

/* Sliding windows: j counts in decode steps with `gen` tokens; it has so many now. */
void decoding_enter_window(struct instance *in, struct job *j, int64_t gen);
void decoding_cross_window(struct instance *in, struct job *j, int64_t gen);

/* The longest context of the next decode step; 0 where the executor does not ask, or none is. */
int64_t decoding_longest(const struct instance *in);

/* One delivery that is not part of a bulk of decode steps; a gap that ended with it. */
void decoding_deliver(struct instance *in, struct job *j, int64_t t_ns);
void decoding_fold_gap(struct job *j, double gap_ns);

#endif
