/*
 * reference_state.h: the state of the reference simulator, shared by its own files and nobody else.
 * Lists are plain arrays of request indices.
 */
#ifndef TESTS_REFERENCE_STATE_H
#define TESTS_REFERENCE_STATE_H

#include "sim/err.h"
#include "tests/reference.h"

enum { REF_PP_MAX = 8 };

struct list {
	int64_t *at;
	int64_t n;
};

struct job {
	int64_t prompt, output, max_tok;
	int64_t arrive_ns, s_ns, c_ns;
	int64_t limit;		/* tokens that its instance knows of: 1 on a prefill instance */
	int64_t got;		/* g: tokens delivered */
	int64_t seq, prefilled; /* length of the sequence, and how much of it is computed */
	int64_t order;		/* of admission, where it runs */
	int64_t place;		/* instance whose blocks `blocks` are; -1: none */
	int64_t batch;		/* where it runs, is swapped out of, or is being transferred to */
	int64_t blocks, host;	/* held in the pool, in host memory */
	int64_t source, kept;	/* prefill instance and its blocks until the transfer has ended */
	int64_t add;		/* prompt tokens in the step that goes on */
	int64_t preemptions, cached;
	int64_t instance, decode_instance;
	int64_t next; /* of its session; -1: none */
	int64_t transfer_end_ns;
	int64_t *block, block_n; /* prefix=on: the blocks it holds, in order */
	int64_t address;	 /* alloc=buddy: of its chunk */
	int64_t rank;
	bool in_front; /* of the waiting queue, since it was preempted */
	bool late;     /* waiting, async: the next plan does not see it */
	int64_t redo;  /* tokens prefilled or delivered before it was preempted by recompute */
	bool rejected, arrived, done;
	bool admitted; /* once */
	bool doomed;   /* to be aborted at the next boundary */
	bool aborted;
	bool decodes; /* in the step that goes on */
	int64_t *token_ns;
};

struct batch {
	struct inst *in;
	int64_t index;			       /* in its instance */
	struct list running, swapped, joining; /* by admission; by admission; transferred */
	struct list held;		       /* async: done, but with their seats and blocks */
	int64_t held_seats; /* async: of those whose blocks are kept for a transfer */

	bool busy;	/* a step goes on */
	bool at_end;	/* one has ended, and its boundary is still to come */
	bool preempted; /* somebody, and no step was started since */
	bool due;	/* plan() is to be called at the next boundary */
	int64_t wait_ns;

	/* the step that goes on, or is being planned */
	int64_t start_ns, end_ns, prefill_tok, prefill_seq, longest, decode_seq, ctx, window_ctx,
		below, moved_blocks, used;

	/* the run: consecutive pure decode steps of the same requests */
	struct list run;
	int64_t run_start_ns, run_step, run_ctx, run_window_ctx, run_below;
	bool run_host; /* as long as the host takes */

	int64_t pmax, batch_got; /* static: padded prompt, tokens that the batch has produced */
};

/* prefix=on: a block of the pool. */
struct cached {
	int64_t holders;
	bool known;
	uint64_t id;
	int64_t part;		 /* of the tokens that the id stands for */
	int64_t released, place; /* when nobody held it any more; where in the prompt it was */
};

/* alloc=buddy */
struct chunk {
	int64_t address, size, top, top_size; /* top: the chunk that it was cut from */
	bool free;
};

struct inst {
	const struct ref_policy *policy;
	int64_t total, free, host_total, host_free;
	bool prefill_only, decode_only;

	struct list waiting;
	struct list inbound; /* being transferred to it */
	int64_t link_end_ns;
	int64_t outstanding;

	struct batch batch[REF_PP_MAX];
	int64_t pp, stage_end_ns[REF_PP_MAX];

	struct cached *cached; /* prefix=on: `total` of them */
	int64_t releases;
	struct chunk *chunk; /* alloc=buddy: by address */
	int64_t chunk_n;
};

struct sim {
	const struct ref_config *cfg;
	const struct ref_request *req;
	struct job *job;
	int64_t n;
	struct inst *inst;
	int64_t inst_n; /* prefill or colocated first, then decode */
	struct list ready;
	int64_t now, released, arrivals, orders;
	struct ref_run *out;
};

static inline int64_t ref_ceil(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

static inline int64_t ref_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t ref_max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void ref_push(struct list *l, int64_t x);
void ref_insert(struct list *l, int64_t at, int64_t x);
void ref_remove(struct list *l, int64_t x);
/* Where it comes by the order of admission. */
void ref_insert_by_admission(const struct sim *s, struct list *l, int64_t r);

/* --- blocks (reference_pool.c) --- */

int64_t ref_blocks(const struct sim *s, int64_t slots);
void ref_pool_init(const struct sim *s, struct inst *in);
void ref_pool_release(struct inst *in);
/* Free ones to request j, which holds its instance's blocks. */
void ref_take(struct sim *s, struct inst *in, struct job *j, int64_t blocks);
/* A reservation of so many blocks: whether it fits, and taking it. */
bool ref_reserve_fits(struct sim *s, const struct inst *in, int64_t blocks);
void ref_reserve(struct sim *s, struct inst *in, struct job *j, int64_t blocks);
/* No pool of this size could hold the reservation, however free. */
bool ref_reserve_never(const struct ref_policy *p, int64_t total, int64_t blocks);
/* All of `blocks` that the job holds there become free, or stay with its other holders. */
void ref_free(struct sim *s, struct inst *in, struct job *j, int64_t blocks);

/* alloc=buddy: powers of two not below and not above n; the pool in chunks; the place of the
 * smallest free chunk of at least `size` (-1: none); taking it, halved until it fits: its address.
 */
int64_t ref_power_up(int64_t n);
int64_t ref_power_down(int64_t n);
void ref_cut(struct inst *in);
int64_t ref_chunk_for(const struct inst *in, int64_t size);
int64_t ref_chunk_take(struct inst *in, int64_t size);
void ref_chunk_free(struct sim *s, struct inst *in, int64_t address, int64_t size);

/* prefix=on: known blocks at the start of the request's prompt, and how many somebody holds. */
int64_t ref_prefix_find(const struct sim *s, const struct inst *in, int64_t r, int64_t *held);
/* They are its own from now on; its sequence starts with them done. */
void ref_prefix_hold(struct sim *s, struct inst *in, int64_t r);
/* What this plan fills with its prompt is known from now on, unless another block is. */
void ref_prefix_know(struct sim *s, struct inst *in, int64_t r);
void ref_pool_check(const struct sim *s, int64_t i);

/* --- what plans are made of (reference_plan.c) --- */

/* The order of the waiting queue; an arrival, and one that was preempted. */
void ref_queue_arrival(struct sim *s, struct inst *in, int64_t r);
void ref_queue_preempted(struct sim *s, struct inst *in, int64_t r);
/* The k-th of the queue that batch b can see, from 0; -1: none. */
int64_t ref_seen(const struct sim *s, const struct batch *b, int64_t k);
void ref_all_due(struct inst *in);

int64_t ref_seats_used(const struct sim *s, const struct batch *b);
/* The batch has a seat for one more, and not its share of the requests yet. */
bool ref_may_admit(struct sim *s, const struct batch *b);
/* pp > 1: it would have its share of the requests with so many more from the queue. */
bool ref_has_share(struct sim *s, const struct batch *b, int64_t more);
/* Slots that the policy reserves for a request; 0: it takes blocks as it grows. */
int64_t ref_reservation(const struct ref_policy *p, const struct job *j);

void ref_admit(struct sim *s, struct batch *b, int64_t r); /* from waiting to running */
void ref_add(struct batch *b, struct job *j, int64_t tok); /* prompt tokens in this step */
void ref_decode(struct sim *s, struct batch *b, struct job *j, int64_t ctx);

void ref_plan_static(struct sim *s, struct batch *b);
void ref_plan_continuous(struct sim *s, struct batch *b);
void ref_plan_paged(struct sim *s, struct batch *b);
/* Blocks that the next decode step of all wholly prefilled running requests takes. */
int64_t ref_decode_need(const struct sim *s, const struct batch *b);
/* All of them decode; the blocks are there. */
void ref_decode_all(struct sim *s, struct batch *b);
void ref_static_step_end(struct sim *s, struct batch *b);
/* Nobody of the batch is to go on: seats and blocks are freed. */
void ref_static_over(struct sim *s, struct batch *b);

/* --- steps (reference_step.c) --- */

/* A step boundary: plan() if something was due, else the same decode step goes on. */
void ref_boundary(struct sim *s, struct batch *b);
void ref_step_end(struct sim *s, struct batch *b);

/* --- ends (reference_end.c) --- */

/* The step that ends now has produced a token of job `r`, or its discarded first one. */
void ref_deliver(struct sim *s, struct batch *b, int64_t r);
/* Nothing more of it is to be done where it runs. */
bool ref_over(const struct batch *b, const struct job *j);
/* Job `r` leaves its batch, whose last step of it has ended. */
void ref_leave(struct sim *s, struct batch *b, int64_t r);
/* Seats and blocks of requests that were done one boundary ago. */
bool ref_free_held(struct sim *s, struct batch *b);
void ref_job_done(struct sim *s, int64_t r);
void ref_rejected(struct sim *s, int64_t r);
/* The time of the next timeout, and whose it is; -1: none. */
int64_t ref_next_timeout(const struct sim *s, int64_t *who);
void ref_timeout(struct sim *s, int64_t r);
/* A doomed request of a batch at a boundary, or being transferred, is aborted. */
void ref_abort(struct sim *s, int64_t r);

/* --- disaggregated --- */

/* The decode instance that can pull the head of the ready queue now, or -1. */
int64_t ref_puller(const struct sim *s);
/* Pulls until the head has to wait. */
void ref_pull(struct sim *s);
void ref_transfer_end(struct sim *s, int64_t to);
void ref_join(struct sim *s, struct batch *b);

/* Into the run's results, to which the times of its tokens go over. */
void ref_outcome(struct sim *s, int64_t r);

void ref_check(const struct sim *s);

#endif
