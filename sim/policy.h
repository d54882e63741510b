/*
 * policy.h: what a batching policy is, what it sees, and what it may ask for. The only header of
 * ours that a file in policies/ includes.
 *
 * A policy decides, the engine counts. The engine calls plan() at a step boundary; the policy looks
 * through view_*() and proposes the next step through plan_*() calls, each of which is checked and
 * answers why it was refused. Queues, KV blocks, seats, token budgets and time are the engine's: a
 * policy cannot oversubscribe them and needs no ledger of its own.
 *
 * plan() is called at the first step boundary at or after an arrival, a finish, a KV shortage, a
 * transfer's end or the time asked for by plan_wait(), after every step that held anything but the
 * decoding of all running requests, and after the first step of a plan that preempted. In between,
 * the decode step that was planned last goes on; a call too many must change nothing.
 *
 * With a pipeline of several stages an instance has as many batches in flight. A plan is for one of
 * them: what runs, what is partly prefilled, last or swapped out is that batch's, and so are
 * limits; the queue and the blocks are the instance's. With async=1 what a plan sees is one step
 * old (SEMANTICS.md).
 *
 * Tokens: a request's *sequence* is its prompt, and after a preemption by recomputation its prompt
 * plus the tokens delivered so far. Slots are KV positions of one token, blocks hold view_block()
 * slots each.
 *
 * In a pool that remembers prompts (POOL_PREFIX) a policy does nothing else than in any other: what
 * is found of a prompt is no longer to be prefilled, and view_rest() says so, of the head before it
 * is admitted too.
 */
#ifndef SIM_POLICY_H
#define SIM_POLICY_H

#include "sim/param.h"
#include <stdbool.h>
#include <stdint.h>

struct view; /* what the policy may see of its instance, now */
struct plan; /* the step being planned */

/* What a policy may know of a request. The true output length is not here on purpose. */
struct request {
	int64_t idx;	    /* row of the trace, from 0, after selection */
	int64_t arrive_ns;  /* at the server */
	int64_t prompt_tok; /* >= 1 */
	int64_t max_tok;    /* the most output tokens that the client allows, >= 1 */
	int64_t priority;   /* lower is to be served first; 0 where the trace says nothing */
};

/* View: reading costs O(1) unless said otherwise */

int64_t view_now(const struct view *v);
bool view_idle(const struct view *v);	    /* no request is running */
int64_t view_running(const struct view *v); /* running requests: partly prefilled and decoding */
int64_t view_waiting(const struct view *v); /* requests in the waiting queue */

/* Head of the waiting queue: what was preempted last, then by rank, then by arrival. NULL: none. */
const struct request *view_head(const struct view *v);
/* The running request that was admitted last: the victim of a preemption. NULL: none. */
const struct request *view_last(const struct view *v);
/* The first running request, in admission order, whose sequence is not wholly prefilled. NULL:
 * none. */
const struct request *view_partial(const struct view *v);
/* The request swapped out that was admitted first. NULL: none. */
const struct request *view_swapped(const struct view *v);

/* Sequence tokens to prefill. For the head, less what it would find known if it were admitted now;
 * for others in the queue, all of them. */
int64_t view_rest(const struct view *v, const struct request *r);
int64_t view_generated(const struct view *v, const struct request *r); /* tokens delivered so far */

int64_t view_block(const struct view *v);    /* slots a block */
int64_t view_kv_total(const struct view *v); /* blocks of the pool */
int64_t view_kv_free(const struct view *v); /* free blocks, after what this plan has taken so far */

/*
 * The true output length. Calling it makes the run an *oracle*, and every row of its results says
 * so.
 */
int64_t view_true_output(const struct view *v, const struct request *r);

/*
 * The output length as a predictor guesses it that is off by up to a share of `error`: the true one
 * times a number between 1 - error and 1 + error that is a request's own for the seed of the run.
 * An oracle all the same.
 */
double view_predicted_output(const struct view *v, const struct request *r, double error);

/*
 * Plan: every call is checked; PLAN_OK is 0. A call that says of itself what must hold before it,
 * and is made all the same, is a bug of the policy: it aborts with a sentence that names the
 * policy.
 */

enum plan_result {
	PLAN_OK,
	PLAN_SEATS,  /* every seat is taken */
	PLAN_KV,     /* KV blocks are short */
	PLAN_TOKENS, /* the step's token budget is short */
	PLAN_HOST,   /* host memory for swapped blocks is full */
};

enum { PLAN_NO_LIMIT = -1 };
enum plan_evict_kind { PLAN_RECOMPUTE, PLAN_SWAP };
enum plan_reply { PLAN_REPLY_REQUEST, PLAN_REPLY_BATCH };

/*
 * Limits of this and later steps: `seats` requests at once, `step_tok` tokens in a step (prompt
 * tokens and one for each decoding request), `spare_blocks` that plan_admit() must leave free; the
 * last is waived while no request runs, so that whatever fits the pool can always be served.
 * PLAN_NO_LIMIT for none. Before the first call there are none.
 */
void plan_limits(struct plan *p, int64_t seats, int64_t step_tok, int64_t spare_blocks);

/*
 * Moves the head of the waiting queue into the running requests. With reserve_tok > 0 that many
 * slots (rounded up to blocks) are taken at once and the request never takes another; with 0 blocks
 * are taken as it grows, and its whole sequence must fit into the free blocks above spare_blocks
 * now, though plan_add() is what takes them. POOL_PREFIX: the known blocks at its start are held
 * from now on, and only what others do not hold already must be free. SEATS, KV.
 */
enum plan_result plan_admit(struct plan *p, const struct request *r, int64_t reserve_tok);

/*
 * Prefills n_tok more tokens (1 <= n_tok <= view_rest()) of a running request in this step, and
 * takes blocks for them. The step that completes the sequence delivers a token. KV, TOKENS.
 */
enum plan_result plan_add(struct plan *p, const struct request *r, int64_t n_tok);

/*
 * Every request whose sequence is prefilled decodes one token in this step, and takes a block where
 * its last one is full. OK also when nobody decodes. KV: nothing is taken; evict and ask again.
 * TOKENS: more of them than step_tok.
 */
enum plan_result plan_decode(struct plan *p);

/* Prompt tokens added to this step so far. */
int64_t plan_prompt_tok(const struct plan *p);
/* Requests that decode in this step so far, a token each. */
int64_t plan_decode_tok(const struct plan *p);
/* Tokens left of step_tok for plan_add(), after decodes and prompts; INT64_MAX without a limit. */
int64_t plan_tok_left(const struct plan *p);

/*
 * Preempts a running request that is not part of this step yet. RECOMPUTE frees its blocks and puts
 * it at the head of the waiting queue; its sequence is then prefilled anew. SWAP moves its blocks
 * to host memory, and makes this step longer by their bytes over PCIe. HOST: nothing was done.
 */
enum plan_result plan_evict(struct plan *p, const struct request *r, enum plan_evict_kind kind);

/* Brings view_swapped() back into the running requests, with blocks for its next token. SEATS, KV.
 */
enum plan_result plan_restore(struct plan *p, const struct request *r);

/*
 * Makes the requests that this plan admits one padded batch (call it before them, when idle): each
 * prompt counts as the longest of them, and so do contexts; a reservation of reserve_tok grows by
 * the padding; a request that is done keeps its seat, its KV and its share of every decode step
 * until the last one is done. `reply` says whether tokens are delivered as they are produced, or
 * all of them at the end of the batch.
 */
void plan_pad(struct plan *p, enum plan_reply reply);

/*
 * Each prompt of this step counts in its cost as the longest of them, as where a kernel computes
 * them padded to a rectangle; budgets and KV are not touched.
 */
void plan_pad_step(struct plan *p);

/* Calls plan() again at the first boundary at or after until_ns (> view_now()). */
void plan_wait(struct plan *p, int64_t until_ns);

/*
 * Says why the policy itself left the head waiting, where no call above was refused. It feeds the
 * `bound` column of the results and nothing else.
 */
void plan_refuse(struct plan *p, enum plan_result why);

/* The table of operations */

/* How the KV pool of an instance is kept. */
enum policy_pool {
	POOL_COUNTED, /* free blocks are counted, wherever they are */
	/* Blocks that prompts filled are known by the trace's hash ids, shared, and kept until they
	 * are needed. Nothing is reserved, padded or swapped. */
	POOL_PREFIX,
	/* A reservation is one contiguous chunk, rounded up to a power of two of blocks, of a buddy
	 * allocator. Everything is reserved, nothing padded or swapped. */
	POOL_BUDDY,
};

struct policy_ops {
	const char *name, *summary;
	const struct param *params; /* parsed into the state at their offsets */
	size_t state_size; /* zeroed memory the engine gives the policy, parameters inside */

	/* Refuses parameters that contradict each other: -1 and a sentence. May be NULL. */
	int (*check)(const void *state, struct err *e);

	/* NULL: POOL_COUNTED. */
	enum policy_pool (*pool)(const void *state);

	/* Order of the waiting queue, lowest first, ties by arrival; fixed at arrival. NULL:
	 * arrival. */
	int64_t (*rank)(const void *state, const struct view *v, const struct request *r);

	/*
	 * Slots that must exist for a request to be served at all, where that is more than prompt +
	 * output - 1: a request for which the whole pool is too small is rejected when it arrives.
	 * May be NULL.
	 */
	int64_t (*need)(const void *state, const struct view *v, const struct request *r);

	void (*plan)(void *state, const struct view *v, struct plan *p);
	void (*on_finish)(void *state, const struct request *r); /* may be NULL */
};

#endif
