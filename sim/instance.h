/*
 * instance.h: one copy of the model on its devices: a policy, a waiting queue, running requests, a
 * KV pool, and the step in progress.
 *
 * In continuous batching every decoding request gains one token a step. So an instance keeps a
 * decode clock (decode steps done), and a request that joins at clock c with g tokens to go is done
 * at c + g: a heap instead of a loop over the batch. A run of equal decode steps is one event
 * (run.h).
 *
 * instance.c has batches and the queue, instance_move.c moves requests between the places below,
 * instance_kv.c has what they need and hold of the pool, decoding.c the sums over those that
 * decode, run.c the arithmetic of runs; plan.c checks what a policy asks for, single.c builds the
 * step from it, engine.c owns time.
 */
#ifndef SIM_INSTANCE_H
#define SIM_INSTANCE_H

#include "results/stats.h"
#include "sim/executor.h"
#include "sim/gaps.h"
#include "sim/heap.h"
#include "sim/kv.h"
#include "sim/queue.h"

/* Consecutive decode steps of the same requests: step j ends at start + round(F(j)). */
struct run {
	bool active;
	int64_t start_ns, clock;      /* when it started; decode clock then */
	int64_t b, ctx;		      /* sequences; their summed context in the first step */
	int64_t window_b, window_ctx; /* those below the window; the context within it */
	struct decode_cost cost;
	int64_t done, begun; /* steps ended and started so far, as accounted */
	int64_t limit;	     /* the step after which the engine has to look: done <= limit */
	int64_t limit_ns;    /* its end */
};

/* A step that is not part of a run. */
struct single {
	struct step step;
	bool decodes;
	bool padded; /* plan_pad_step() */
	int64_t start_ns, end_ns;
	double cost_ns;
	struct job **prefill; /* jobs it prefills; tokens in prefill_tok[] */
	int64_t *prefill_tok;
	int64_t n_prefill, room;
	int64_t moved_blocks; /* swapped out and in */
};

enum bound { BOUND_ARRIVALS, BOUND_SEATS, BOUND_KV, BOUND_TOKENS, BOUND_LINK, N_BOUNDS };

/* Integer sums over the whole simulation. */
struct instance_stats {
	int64_t steps, batch_sum; /* a step; the sequences in it */
	struct stats_sum kv_sum;  /* the blocks in use during it */
	int64_t preemptions, recomputed_tok;
	int64_t cached_tok, queried_tok; /* found known at first admissions, of so many */
	bool outside; /* some step was beyond what the executor's times were made from */
	int64_t bound_ns[N_BOUNDS]; /* time that the head of the queue was refused for this reason
				     */
};

struct instance;

/* What the engine wants to know, and does. */
struct instance_ops {
	/*
	 * The last token that j was here for has been delivered, and j has left (but for the KV of
	 * a keep_kv job): it is the engine's now.
	 */
	void (*done)(void *arg, struct job *j, int64_t t_ns);
	/* What a step costs that is taken by itself and starts now, ns; >= 0. */
	double (*take)(void *arg, struct instance *in, const struct step *s, int64_t now_ns);
	void *arg;
};

/* Requests of a padded batch that are done: they keep seats, KV and their share of each step. */
struct held {
	int64_t n, blocks;
	struct job_list deferred; /* of them, those whose tokens are delivered at the end */
};

/* Requests that take their steps together: one batch an instance, or as many as it has stages. */
struct batch {
	struct job_list running; /* prefilling and decoding, by admission */
	struct job_list swapped; /* by admission */
	struct job_list joining; /* their KV has come, they join at the next boundary */
	int64_t inbound;	 /* their KV is on its way; they have a seat and blocks here */
	struct held held;
	int64_t n_partial; /* prefilling ones among the running */

	int64_t n_decoding;    /* decoding and not held */
	int64_t decode_b;      /* sequences of a decode step: n_decoding + held */
	int64_t decode_ctx;    /* their contexts in the next decode step */
	int64_t window_b;      /* of them, those whose context is below the model's window */
	int64_t window_ctx;    /* their contexts within it */
	int64_t longest_at;    /* context less clock of the one with the longest, where the executor
				  asks and the batch is not padded */
	int64_t clock;	       /* decode steps done */
	int64_t decode_end_ns; /* end of the last one */
	struct heap due;       /* decoding jobs by the clock of their next delivery or finish */
	struct gaps gaps;
	struct job **late; /* joined long after their last token: their next gap is their own */
	int64_t n_late, late_room;
	int64_t prepaid; /* of them, those that hold the block of their next token already */

	bool batch_padded;
	enum plan_reply batch_reply; /* PLAN_REPLY_REQUEST but in a padded batch that says so */

	struct run run;
	struct single single;
	bool busy; /* a step is in progress: the single one, or one of the run */
	bool in_single;
	bool doomed; /* some are to leave at its end, out of time */
	bool plan_due;
};

struct parked;

struct instance {
	int32_t index;
	const char *policy_name;
	const struct policy_ops *policy;
	void *state;
	const struct executor *executor;
	const struct instance_ops *ops;
	struct hist *itl; /* shared: every gap of the simulation */
	bool singly;	  /* each step is taken by itself, with its sequences (single.h) */
	struct step_seq *seqs;
	int64_t seqs_room;
	int64_t stream;	     /* tokens a delivery */
	int64_t block_bytes; /* of one KV block, on one device */
	double pcie_bytes_s;
	uint64_t seed; /* of the run */

	struct kv kv;
	struct queue waiting;
	int64_t admissions;
	int64_t seats, step_tok, spare; /* plan_limits() */

	/* Plans that are made while the step before runs (one batch only): what they cannot see. */
	bool async;
	struct job_list staged;	 /* arrivals that the next plan does not see, the one after does */
	int64_t lag_seats;	 /* of requests that ended with the last step */
	struct kv_hold *lagging; /* what they held; the prompts in it are the instance's */
	int64_t n_lagging, lagging_room;
	int64_t ended_ns; /* end of the last step; -1 once a plan that followed started none */

	/*
	 * With pp > 1 stages there are pp batches: `b` is the one at work, instance_use() puts
	 * another one there. They share the queue, the pool and all that stands outside `b`.
	 */
	int64_t pp;
	int32_t at;	       /* which one `b` is */
	int32_t first_slot;    /* of its batches, in the order of all batches of the simulation */
	struct parked *parked; /* the others, NULL where there is one batch */
	int64_t *stage_ns;     /* when each stage is free */
	const double *stage_share; /* of a step; NULL: equal ones */

	struct batch b;
	bool preempted;	     /* the last plan preempted some */
	bool moved_requests; /* the last plan did what other batches may see: they look again */
	bool ended;	     /* requests ended with the last step: likewise */
	bool oracle;	     /* the policy has looked at a true output length */
	bool replied_batch;  /* tokens were delivered at the end of a batch */
	enum bound bound;    /* what refused the head at the last plan */
	int64_t bound_since_ns;

	struct instance_stats stats;
};

/* A batch that is not at work. */
struct parked {
	struct batch b;
	struct kv_growth growth;
};

struct instance_want {
	int32_t index;
	const char *policy_name;
	const struct policy_ops *policy;
	const void *state; /* state_size bytes with parsed parameters: copied */
	const struct executor *executor;
	const struct instance_ops *ops;
	struct hist *itl;
	int64_t stream, block_tok, kv_blocks, host_blocks, block_bytes;
	int64_t hash_tok; /* of a hash id of the trace; 0: it has none */
	double pcie_bytes_s;
	int64_t window_tok, window_share; /* kv.h */
	bool window_only;
	uint64_t seed;
	int64_t pp; /* batches, stages */
	const double *stage_share;
	int32_t first_slot;
	bool async, singly;
};

void instance_init(struct instance *in, const struct instance_want *w);
void instance_release(struct instance *in);

/* Puts a batch to work: in->b is then that one. */
void instance_switch(struct instance *in, int32_t batch);
static inline void instance_use(struct instance *in, int32_t batch)
{
	if (batch != in->at)
		instance_switch(in, batch);
}
/* Batch k of an instance, whichever is at work. */
const struct batch *instance_batch(const struct instance *in, int32_t k);
/* Its place among all batches of the simulation. */
static inline uint32_t instance_slot(const struct instance *in)
{
	return (uint32_t)(in->first_slot + in->at);
}
/* Requests in the queue, those included that the next plan does not see yet. */
static inline int64_t instance_waiting(const struct instance *in)
{
	return queue_len(&in->waiting) + in->staged.n;
}
/* Over all batches: running and swapped requests. */
int64_t instance_running(const struct instance *in);
int64_t instance_swapped(const struct instance *in);

/* Slots that j needs here to be served at all: P + stop - 1, or what the policy reserves. */
int64_t instance_need_tok(struct instance *in, const struct job *j);
/* A new request joins the queue. */
void instance_enqueue(struct instance *in, struct job *j);
/* A request whose KV was computed elsewhere comes in; its blocks here were taken before
 * (j->blocks). */
void instance_join(struct instance *in, struct job *j);
/* Gives back what a keep_kv job left here. */
void instance_release_kv(struct instance *in, struct job *j, int64_t blocks);
/* Gives back what j holds here: `blocks` of them, its chunk, its known blocks; or all of it at
 * instance_give_lagging(). */
void instance_give_kv(struct instance *in, struct job *j, int64_t blocks);
void instance_give_kv_later(struct instance *in, struct job *j);
void instance_give_lagging(struct instance *in);
/* The whole pool is too small for j. */
bool instance_too_small(struct instance *in, const struct job *j);
/* Blocks at the start of the sequence of j, which waits, that are known now. */
int64_t instance_find(const struct instance *in, struct job *j);
/* j, just admitted, holds them: tokens that it need not compute. */
int64_t instance_take_known(struct instance *in, struct job *j);
/* The first `tok` tokens of the sequence of j have their blocks, and fill them from now on. */
void instance_fill(struct instance *in, struct job *j, int64_t tok);
/* Before anything is taken: the pool as the policy wants it. */
void instance_set_pool(struct instance *in, int64_t hash_tok);

/* Seats taken in the batch at work: by running and held requests, and by those that are on their
 * way here. */
int64_t instance_seats_used(const struct instance *in);
/* Requests at the instance that are not done. */
int64_t instance_outstanding(const struct instance *in);

/* Tokens produced, slots and blocks held of a job at a step boundary. */
int64_t job_generated(const struct instance *in, const struct job *j);
int64_t job_blocks(const struct instance *in, const struct job *j);
/* Deliveries of `gen` tokens: every `stream` of them, and the last one of the request. */
int64_t job_deliveries(const struct instance *in, const struct job *j, int64_t gen);

/* Moves between the places; the caller has checked seats and blocks. */
void instance_admit(struct instance *in, int64_t now_ns); /* the head of the queue */
void instance_evict(struct instance *in, struct job *j, enum plan_evict_kind kind);
void instance_restore(struct instance *in, struct job *j);
void instance_join_waiting(struct instance *in); /* joining -> running, at a boundary */

/*
 * j leaves this instance without being done: it waits, is swapped out, has come in and not joined,
 * or (at a boundary of its batch, which is at work) runs. In a padded batch it is held like one
 * that is done. The caller has accounted for the run up to now.
 */
void instance_abort(struct instance *in, struct job *j, int64_t t_ns);

/* async: a step ends now. Seats and blocks of those that ended one step before come free. */
void instance_catch_up(struct instance *in, int64_t now_ns);
/*
 * async: after a plan at now_ns. What it did not see the next one does: at the end of the step that
 * it started, or now, where it started none (true).
 */
bool instance_look_again(struct instance *in, int64_t now_ns);
/* The end of the single step in progress. */
void instance_end_single(struct instance *in);
/* Delivers and finishes whatever is due at the present decode clock. */
void instance_settle(struct instance *in, int64_t t_ns);

/* The padded batch is over, or none of its requests was taken. */
static inline void instance_unpad(struct instance *in)
{
	in->b.batch_padded = false;
	in->b.batch_reply = PLAN_REPLY_REQUEST;
}

/* Whether decode steps feed the histogram of gaps in bulk (not: delivery in larger pieces). */
static inline bool instance_counts_gaps(const struct instance *in)
{
	return in->stream == 1 && in->b.batch_reply == PLAN_REPLY_REQUEST;
}
/* The first decode step after whatever else: gaps since each request's own last token. */
void instance_first_gaps(struct instance *in, int64_t start_ns, double cost_ns, int64_t end_ns);

/* Calls the policy, and starts the step it planned. wait_ns: its plan_wait(), or -1. */
void instance_plan(struct instance *in, int64_t now_ns, int64_t *wait_ns);

/* Time that passed since the last plan goes to what refused the head of the queue then. */
void instance_account_bound(struct instance *in, int64_t now_ns);

/* Longest gap between deliveries of a job so far, as it stands at its instance; -1: none. */
double instance_max_gap(const struct instance *in, const struct job *j);

#endif
