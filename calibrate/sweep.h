/*
 * sweep.h: what is timed on a device, in which order, and how often.
 *
 * Points of all operations are timed by turns, each operation's own so that they cover its range
 * coarsely first: a sweep that is cut off has seen all of it. Rounds go over all points that the
 * budget holds, so that what disturbs a shared machine for a while is spread over all of them and
 * not taken for the time of one; a point's time is the median of its repeats of all rounds. Points
 * whose repeats differ get more rounds, as long as the budget lasts.
 */
#ifndef CALIBRATE_SWEEP_H
#define CALIBRATE_SWEEP_H

#include "calibrate/backend.h"

enum { SWEEP_KV_BITS = 4 };

struct sweep_want {
	const struct model *model;
	int64_t tp;
	bool any_model;	 /* shapes of other sizes too, so that any model is within what was timed */
	int64_t max_tok; /* of a step; as the backend was opened */
	int64_t max_seqs; /* of a step */
	int64_t kv_tok;	  /* of the pool */
	int64_t block_tok;
	int kv_bits[SWEEP_KV_BITS]; /* 16 first; 0: no more */
	double budget_s;
};

/* Everything worth timing, in the order of timing; times are 0. Appended to the list. */
void sweep_list(const struct sweep_want *w, struct points *list);

/*
 * The order by itself: families (points that differ in sizes of a step alone) take turns, each in
 * shares of its own length; within one, whatever is farthest from all before it comes next, by the
 * logarithm of sizes, from its smallest point on.
 */
void sweep_order(struct points *list);

/* "gemm of 16 tokens, n 768, k 256, 16 bits": for sentences. */
void sweep_name(const struct point *p, char *text, size_t size);

/* Of the slowest repeat over the fastest, the median over points; 0: there are none. */
double sweep_spread(const struct points *points);

/* Whether they differ in sizes of a step alone. */
bool sweep_same_family(const struct point *a, const struct point *b);

/* Grows about as the time does; only ratios within an operation mean anything. */
double sweep_work(const struct point *p);

struct sweep_state {
	size_t points, timed; /* that the list has; that are in hand */
	int round;	      /* 0: the first look at each */
	double spent_s, left_s;
};

struct sweep_hooks {
	void *arg;
	/* A point as it stands, by its place in the order, after each visit. -1: a sentence. */
	int (*point)(void *arg, int64_t idx, const struct point *p, struct err *e);
	/* Between visits. True: the sweep is to stop. */
	bool (*stop)(void *arg, const struct sweep_state *s);
};

enum { SWEEP_NOTES = 8 };

struct sweep_result {
	struct points points; /* with at least SWEEP_REPEATS_LEAST repeats each */
	size_t listed;
	size_t dear;	/* not timed, as one of them would take too much of the budget */
	size_t late;	/* not timed, as the budget was used */
	size_t unknown; /* the backend does not know the operation, or cannot do it */
	double spent_s;
	bool stopped; /* hooks.stop() said so */
	int n_notes;  /* first sentences of what the backend cannot do, one an operation */
	struct err note[SWEEP_NOTES];
};

enum { SWEEP_ROUNDS = 5, SWEEP_REPEATS_LEAST = 3, SWEEP_REPEATS_MOST = 60 };

/*
 * b[i] has a pool of kv_bits[i]; the first one times all that is no attention. -1: the device
 * failed, and the sentence says at which point; or nothing could be timed at all.
 * Points that came before are in the result in any case. Release it.
 */
int sweep_run(const struct sweep_want *w, const struct points *list, const struct backend_ops *ops,
	      struct backend *const *b, const struct sweep_hooks *hooks, struct sweep_result *r,
	      struct err *e);
void sweep_release(struct sweep_result *r);

#endif
