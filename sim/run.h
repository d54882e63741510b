/*
 * run.h: the arithmetic of a run of decode steps of one instance: ends of steps in closed form, and
 * accounting for any number of them at once.
 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "sim/instance.h"

/*
 * llround() of a time that is not negative, inline: the one place where times are rounded. Times
 * above TIME_MAX_NS, 126 years, count as that and a bit: two of them still add up, and the engine
 * stops there.
 */
#define TIME_MAX_NS INT64_C(4000000000000000000)

static inline int64_t round_ns(double t)
{
	if (!(t < (double)TIME_MAX_NS))
		return TIME_MAX_NS + 1;
	int64_t whole = (int64_t)t;

	return whole + (t - (double)whole >= 0.5);
}

/* A run ends after so many steps, and a new one starts: sums over contexts stay exact. */
#define RUN_STEPS_MAX (INT64_C(1) << 20)

/* End of the run's step j, F's closed form rounded: start + round(j A + beta (j ctx + b j(j-1)/2)).
 */
int64_t run_end_ns(const struct run *r, int64_t j);
/* What its step j costs, unrounded. */
double run_step_ns(const struct run *r, int64_t j);
/* Whether that is so long that it ends after the step before, with a margin. */
static inline bool run_step_is_long(const struct run *r, int64_t j)
{
	return r->cost.step_ns >= 2 || run_step_ns(r, j) >= 2; /* contexts only add to it */
}

/* The blocks of a decode step that starts now. False: they are short, nothing changed. */
bool run_take_blocks(struct instance *in);

/*
 * The decode step that was planned starts, its blocks taken: as the next step of the run where that
 * goes on, as the first of a new one where the requests or the piece of the cost model have
 * changed.
 */
void run_next(struct instance *in, int64_t now_ns);

/* The same without a plan: the step that was going on. False: blocks are short, nothing changed. */
bool run_continue(struct instance *in, int64_t now_ns);

/*
 * Accounts for the steps that have ended by t_ns, and for one more that started before t_ns. Does
 * not go beyond the limit.
 */
void run_sync(struct instance *in, int64_t t_ns);

/* The same, and the step that starts just at t_ns. */
void run_pass(struct instance *in, int64_t t_ns);

/* The first step that ends at t_ns or later becomes the limit. */
void run_cut(struct instance *in, int64_t t_ns);

/* The limit anew, after blocks were taken from the pool or given back. */
void run_set_limit(struct instance *in);

#endif
