/*
 * reference_state.h: the state of the reference simulator, shared by its own files and nobody else.
 * Lists are plain arrays of request indices.
 */
#ifndef TESTS_REFERENCE_STATE_H
#define TESTS_REFERENCE_STATE_H

#include "sim/err.h"
#include "tests/reference.h"

struct list {
	int64_t *at;
	int64_t n;
};

struct job {
	int64_t prompt, output, max_tok;
	int64_t arrive_ns, s_ns, c_ns;
	int64_t limit; /* tokens to be delivered where it is now: 1 on a prefill instance */
	int64_t got;   /* g: tokens delivered */
	int64_t seq, prefilled; /* length of the sequence, and how much of it is computed */
	int64_t order;		/* of admission, where it runs */
	int64_t place;		/* instance whose blocks `blocks` are; -1: none */
	int64_t blocks, host;	/* held in the pool, in host memory */
	int64_t source, kept;	/* prefill instance and its blocks until the transfer has ended */
	int64_t add;		/* prompt tokens in the step that goes on */
	int64_t preemptions;
	int64_t instance, decode_instance;
	bool recomputed, rejected, arrived, done;
	bool decodes; /* in the step that goes on */
	int64_t *token_ns;
};

struct inst {
	const struct ref_policy *policy;
	int64_t total, free, host_total, host_free;
	bool prefill_only, decode_only;

	struct list waiting, running, swapped; /* FCFS; by admission; by admission */
	struct list inbound, joining; /* being transferred to it; transferred, not joined yet */
	int64_t *inbound_end_ns;
	int64_t link_end_ns;

	bool busy; /* a step goes on */
	bool due;  /* plan() is to be called at the next boundary */
	int64_t wait_ns;
	int64_t outstanding;

	/* the step that goes on, or is being planned */
	int64_t start_ns, end_ns, prefill_tok, decode_seq, ctx, moved_blocks, used;

	/* the run: consecutive pure decode steps of the same requests */
	struct list run;
	int64_t run_start_ns, run_step, run_ctx;

	int64_t pmax, batch_got; /* static: padded prompt, tokens that the batch has delivered */
};

struct sim {
	const struct ref_config *cfg;
	struct job *job;
	int64_t n;
	struct inst *inst;
	int64_t inst_n; /* prefill or colocated first, then decode */
	struct list ready;
	int64_t now, next, released, arrivals, orders;
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

int64_t ref_blocks(const struct sim *s, int64_t slots);
int64_t ref_seats_used(const struct inst *in);
/* Slots that the policy reserves for a request; 0: it takes blocks as it grows. */
int64_t ref_reservation(const struct ref_policy *p, const struct job *j);

/* --- what plans are made of --- */

void ref_take(struct inst *in, struct job *j, int64_t blocks);
void ref_admit(struct sim *s, struct inst *in); /* the head of the queue: from waiting to running */
void ref_add(struct inst *in, struct job *j, int64_t tok); /* prompt tokens in this step */
void ref_decode(struct inst *in, struct job *j, int64_t ctx);

void ref_plan_static(struct sim *s, struct inst *in);
void ref_plan_continuous(struct sim *s, struct inst *in);
void ref_plan_paged(struct sim *s, struct inst *in);
/* Blocks that the next decode step of all wholly prefilled running requests takes. */
int64_t ref_decode_need(const struct sim *s, const struct inst *in);
/* All of them decode; the blocks are there. */
void ref_decode_all(struct sim *s, struct inst *in);
void ref_static_step_end(struct sim *s, struct inst *in);

/* A step boundary: plan() if something was due, else the same decode step goes on. */
void ref_boundary(struct sim *s, struct inst *in);
void ref_step_end(struct sim *s, struct inst *in);

/* A token of job `r` at the end of the step that ends now. */
void ref_deliver(struct sim *s, struct inst *in, int64_t r);
/* Job `r` leaves its instance, whose last step of it has ended. */
void ref_leave(struct sim *s, struct inst *in, int64_t r);
void ref_job_done(struct sim *s, int64_t r);

/* --- disaggregated --- */

/* The decode instance that can pull the head of the ready queue now, or -1. */
int64_t ref_puller(const struct sim *s);
void ref_pull(struct sim *s, int64_t puller);
void ref_transfer_end(struct sim *s, int64_t to);
void ref_join(struct sim *s, struct inst *in);

void ref_check(const struct sim *s);

#endif
