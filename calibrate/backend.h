/*
 * backend.h: real transformer layers on real hardware: "cpu", compiled in, and "cuda", a module
 * that is loaded when it is asked for. Plain types alone: the module is written in CUDA C++.
 *
 * A backend holds random weights of one model (its share where tp > 1: what one device multiplies,
 * without the all-reduces) and a KV pool of random numbers, and runs steps of sequences that have
 * no names: each new token attends to so many cached ones. Nothing that a step computes is kept for
 * the next but what it wrote into the pool.
 *
 * One thread at a time may call a backend. Times are of a monotonic clock or of events of the
 * device, in ns.
 */
#ifndef CALIBRATE_BACKEND_H
#define CALIBRATE_BACKEND_H

#include "calibrate/model.h"
#include "calibrate/point.h"

#ifdef __cplusplus
extern "C" {
#endif

struct backend_want {
	const struct model *model; /* not kept */
	int64_t tp;
	int64_t max_tok;  /* new tokens of a step at most */
	int64_t max_seqs; /* sequences of a step at most */
	int64_t kv_tok;	  /* slots of the KV pool: no step may need more */
	int64_t block_tok;
	int kv_bits;	 /* 16 (the backend's own type), 8, 4, 2 */
	int64_t threads; /* cpu: 0 is all */
	uint64_t seed;
	/* "; " and what helps, said behind the sentence where memory is short; NULL: nothing */
	const char *if_short;
};

/* A sequence of a step: new_tok tokens after prior_tok cached ones; 1 where it decodes. */
struct backend_seq {
	int64_t new_tok, prior_tok;
	bool sampled; /* its last token goes through the head and is sampled */
};

/* What profiles say of the device; "" and 0 where it is not known. */
struct backend_facts {
	char device[128], driver[64], clocks[128];
	int64_t memory_bytes;
	double peak_bytes_s, peak_flops; /* of the data sheet, or the best ever seen here */
	bool seen;			 /* the latter: a sweep that sees more raises them */
};

struct backend; /* the backend's own */

struct backend_ops {
	const char *name, *summary;
	/* -1: a sentence: no such device; or too little memory: what is needed, what there is. */
	int (*open)(struct backend **b, const struct backend_want *w, struct err *e);
	void (*close)(struct backend *b);
	void (*facts)(struct backend *b, struct backend_facts *f);
	/*
	 * Runs one step of n sequences; ns is what it took from an idle device on, its launch
	 * included, as a server sees it. -1: a failure of the device.
	 */
	int (*step)(struct backend *b, const struct backend_seq *seqs, size_t n, double *ns,
		    struct err *e);
	/*
	 * Times one run of the operation at these sizes (p->ns is not read), without its launch, on
	 * inputs and weights other than those of the call before; OP_STEP: as step(). -1: it cannot
	 * (the sentence says why); 1: it does not know the operation, or has too little memory for
	 * these sizes (then there is a sentence), and is as it was.
	 */
	int (*time)(struct backend *b, const struct point *p, double *ns, struct err *e);
	/*
	 * Every kernel against a reference in double precision on fresh random inputs, one line
	 * each on `say` (kernel, sizes, largest error, bound). -1: one is beyond its bound, or
	 * failed.
	 */
	int (*check)(uint64_t seed, void (*say)(void *arg, const char *line), void *arg,
		     struct err *e);
	/* Its device alone, where facts() takes time. May be NULL. */
	void (*device)(struct backend *b, char *name, size_t size);
};

/*
 * The sequences of a point, prompts first, all sampled: n is set to their number. A decoding
 * sequence attends to its own token too, so that a context of c is 1 after c - 1; the longest is
 * `longest`, the others share the rest evenly. -1: sizes that cannot be. The caller frees *seqs.
 */
int backend_seqs(const struct point *p, struct backend_seq **seqs, size_t *n, struct err *e);

extern const struct backend_ops backend_cpu;

/*
 * By name: "cpu", or "cuda": the module omnibus-cuda.so beside the program (or where
 * OMNIBUS_CUDA_MODULE says). NULL: a sentence: no such backend, no module, no GPU.
 */
const struct backend_ops *backend_find(const char *name, struct err *e);

#ifdef __cplusplus
}
#endif

#endif
