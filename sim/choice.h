/*
 * choice.h: what `-p NAME[:k=v,...]` names: a batching policy, a shape around policies, or a preset
 * of either; with every parameter resolved.
 */
#ifndef SIM_CHOICE_H
#define SIM_CHOICE_H

#include "sim/policy.h"

/* Parameters that every policy takes, beside its own. */
struct common_params {
	int64_t stream;		     /* tokens a delivery */
	double swap_gib;	     /* host memory for swapped requests, a device */
	int64_t graph;		     /* the largest batch captured in a graph; 0: none is */
	double host_us, host_seq_us; /* the scheduler's own time a step; 0: the device's figures */
	int64_t async;		     /* whether that goes on beside the step (host.h) */
	int64_t fused_quant;	     /* cost.h */
};
extern const struct param common_params[];

/* Whose first token the client gets. */
enum { TTFT_PREFILL, TTFT_DECODE };

/* What KV moves over: the bandwidth that was given, or a link of the device. */
enum { MOVE_GIVEN, MOVE_NVLINK, MOVE_PCIE, MOVE_NETWORK };

/* Parameters of the shape `disaggregated` itself. */
struct disaggregated_params {
	int64_t prefill, decode;       /* instances */
	int64_t prefill_tp, decode_tp; /* 0: the run's --tp */
	int64_t prefill_pp, decode_pp; /* 0: the run's --pp */
	int64_t ttft, link;
	char policy[PARAM_TEXT_MAX]; /* of the prefill instances */
	double bandwidth_gb_s, latency_s;
	int64_t decode_seqs;
};
extern const struct param disaggregated_params[];

struct choice {
	char name[64];	   /* as given: a preset's name stays */
	char given[256];   /* the parameters that were written, as written */
	char params[1024]; /* all of them, canonical */
	bool disaggregated;
	const struct policy_ops
		*policy; /* of the instances; of the prefill ones where disaggregated */
	void *state;	 /* its parameters, policy->state_size bytes */
	struct common_params common;
	struct disaggregated_params shape;
};

/* Parses the text of one -p. */
int choice_parse(struct choice *c, const char *text, struct err *e);
void choice_release(struct choice *c);
/* Its instances (the prefill ones) remember prompts: POOL_PREFIX. */
bool choice_remembers(const struct choice *c);

struct preset {
	const char *name, *means, *source;
};
extern const struct preset presets[]; /* ends with a NULL name */

/* The registry: ends with NULL. */
extern const struct policy_ops *const policies[];
const struct policy_ops *policy_find(const char *name); /* NULL: none */

/* A policy's parameters at their defaults, in memory of their own. */
void *policy_state_new(const struct policy_ops *ops);

#endif
