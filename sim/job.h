/*
 * job.h: a request as the engine knows it: the policy's part first, then what policies may not see.
 *
 * Owned by the simulation's pool (job_take, job_give), and by exactly one place at a time: a queue,
 * an instance, or a transfer.
 */
#ifndef SIM_JOB_H
#define SIM_JOB_H

#include "sim/policy.h"
#include "sim/prefix.h"

enum job_state {
	JOB_FREE,	/* in the pool */
	JOB_WAITING,	/* in the queue of its instance */
	JOB_PREFILLING, /* running, its sequence is not wholly prefilled */
	JOB_DECODING,	/* running */
	JOB_DONE,	/* delivered, or held until its padded batch ends */
	JOB_SWAPPED,	/* its blocks are in host memory */
	JOB_MOVING, /* between instances: its blocks are kept where it was, reserved where it goes
		     */
};

struct job {
	struct request req; /* first: a policy's pointer is the engine's */
	enum job_state state;
	int32_t instance;   /* index of the instance it is or was last at */
	int32_t batch;	    /* of its instance */
	int32_t to_batch;   /* of the instance that has pulled it */
	int64_t output_tok; /* n, the truth */
	int64_t stop_tok;   /* tokens after which its present instance is done with it */
	int64_t ask_tok;    /* max_tok of the whole request; req.max_tok may be less in a phase */
	int64_t gen_tok; /* tokens produced; while decoding, when it joined: see job_generated() */
	int64_t join_clock; /* decode clock of the instance when it joined */
	int64_t seq_tok;    /* tokens to prefill: P, or P + g after a recomputation */
	int64_t done_tok;   /* of them, prefilled so far */
	int64_t redo_tok;   /* of them, computed before a recomputation: what is done again */
	int64_t pad_tok;    /* padding of its prompt in a static batch */
	int64_t blocks; /* held in the pool, or in host memory; while growing: see job_blocks() */
	int64_t extra_tok; /* slots reserved beyond the (padded) prompt, when reserved */
	int64_t growth;	   /* while it decodes: blocks that it takes when its last one is full */
	bool below_window; /* while it decodes: its context is below the model's window */
	bool reserved;	   /* its blocks were all taken at admission */
	bool keep_kv;	   /* when done here its blocks stay until job_release_kv() */
	bool prepaid;	   /* holds the block of its next token already */
	bool doomed;	   /* out of time, it leaves at the next boundary */
	bool timed;	   /* its deadline is still to come */
	bool deferred;	   /* all its tokens are delivered when its batch ends */
	int64_t admit_seq; /* order of admission at its instance */
	int64_t schedule_ns, first_ns; /* s and f, -1 before */
	int64_t last_ns;	       /* last delivery before it joined the decoding set */
	int64_t since_ns;	       /* gaps from here on are in the instance's record of gaps */
	double max_gap_ns;	       /* longest gap before since_ns; -1: none */
	int64_t preemptions;
	int64_t address; /* of its chunk in a buddy pool */
	struct prompt
		*prompt;    /* where its pool remembers prompts, and the trace has ids; its own */
	int64_t cached_tok; /* found known at its first admission */
	int64_t source_blocks; /* kept at instance `source` until its transfer ends at moved_ns */
	int32_t source;
	int64_t moved_ns;	     /* -1: not pulled yet */
	int64_t client, session;     /* of the trace */
	struct job *older, *younger; /* where timed: by deadline */
	struct job *prev, *next;     /* in the list that its state says */
	size_t heap_pos;	     /* in the waiting or the finish heap */
};

/* Jobs are recycled: memory follows the requests in flight. */
struct job_pool {
	struct job *free;
	void **slabs;
	size_t n_slabs;
};

struct job *job_take(struct job_pool *p); /* zeroed but for times of -1, waiting */
void job_give(struct job_pool *p, struct job *j);
/* The jobs in use, by idx, in memory that the caller frees. */
struct job **job_pool_all(const struct job_pool *p, size_t *n);
void job_pool_release(struct job_pool *p);

/* A doubly linked list in admission order. */
struct job_list {
	struct job *first, *last;
	int64_t n;
};

void list_append(struct job_list *l, struct job *j);
void list_insert_by_admission(struct job_list *l, struct job *j); /* searched from the end */
void list_remove(struct job_list *l, struct job *j);

#endif
