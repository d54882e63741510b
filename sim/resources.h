/*
 * resources.h: what one run runs on: executors, KV pools, shares of stages.
 */
#ifndef SIM_RESOURCES_H
#define SIM_RESOURCES_H

#include "calibrate/cost.h"
#include "sim/host.h"
#include "sim/recording.h"
#include "sim/run_options.h"

struct resources {
	/* of the instances, or the prefill and the decode ones, which may share one */
	struct executor *executor[2];
	struct memory_budget budget[2];
	double *stage_share[2];
	char executor_params[256];
	char device[128]; /* that the times are of; "": not known */
};

/*
 * Fills the hardware of a choice, or of its prefill and its decode instances. `now` says what
 * recordings would say of this run, as far as it is known before; it stays as long as the
 * resources. -1: a sentence; release in any case.
 */
int resources_make(struct resources *res, const struct run_options *o, const struct choice *choice,
		   const struct recording_facts *now, struct hardware *hw,
		   struct hardware *decode_hw, struct err *e);
void resources_release(struct resources *res);

/* Whether a choice has the hardware that it needs; nothing is opened for it. -1: a sentence. */
int resources_check(const struct run_options *o, const struct choice *choice, struct err *e);

/* How steps of such instances are forecast. */
struct cost_want resources_cost(const struct choice *choice, const struct memory_want *want);

/* The scheduler's own time: what the choice says, else the device; 0 where it is real. */
struct host_want resources_host(const struct run_options *o, const struct common_params *p);

#endif
