/*
 * engine.h: the simulation in progress, as the engine and its shapes share it (and tests that
 * recount).
 *
 * A shape says what the instances are to each other: where an arrival goes, and what becomes of a
 * request that an instance is done with.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "sim/agenda.h"
#include "sim/instance.h"
#include "sim/sim.h"

struct shape_ops {
	const char *name, *summary;
	/* Sets s->n, s->n_entry and s->instances up, and its own state. */
	void (*init)(struct sim *s);
	void (*release)(struct sim *s); /* may be NULL */
	/* A new job: enqueue it, or reject it with sim_reject(). */
	void (*arrive)(struct sim *s, struct job *j);
	/* An instance is done with j. */
	void (*done)(struct sim *s, struct job *j, int64_t t_ns);
	/* A step of the instance has ended, or a plan was made. May be NULL. */
	void (*moved)(struct sim *s, struct instance *in);
	/* EVENT_TRANSFER, EVENT_PULL. May be NULL. */
	void (*transfer)(struct sim *s, uint32_t index);
	void (*pull)(struct sim *s);
	/*
	 * j, which is JOB_MOVING, is not done in time: it leaves, now or later. False: it is at its
	 * instance already, which sees to it. May be NULL where no job ever is.
	 */
	bool (*expire)(struct sim *s, struct job *j);
	/* Requests that wait between instances. May be NULL. */
	int64_t (*waiting)(const struct sim *s);
	/* The simulation ends now: what is counted by time counts up to here. May be NULL. */
	void (*close)(struct sim *s);
};

extern const struct shape_ops shape_single, shape_disaggregated;

struct sim {
	const struct sim_config *c;
	const struct shape_ops *shape;
	void *shape_state;
	struct instance *instances;
	uint32_t n, n_entry;	 /* instances; those that arrivals go to are the first n_entry */
	uint32_t n_slots;	 /* batches of all instances: places on the agenda */
	uint32_t *slot_instance; /* whose each is; NULL where every instance has one */
	struct instance_ops instance_ops;
	struct router router;
	struct agenda agenda;
	struct job_pool jobs;
	struct hist itl;
	struct metrics metrics;
	struct sim_counts counts;
	int64_t now_ns;
	int64_t wall_zero_ns; /* of c->wall, when it started */
	int64_t plan_now; /* slot of a batch that plans now unless something else comes first; -1 */
	/* The last time at which instances planned, and how far down their order: see sim_sync().
	 */
	int64_t planned_ns;
	int32_t planned;
	int64_t bound_ns[N_BOUNDS]; /* of the shape; the instances have their own */

	struct trace_row next;		  /* where next_known */
	const struct trace_row *arriving; /* during an arrival */
	bool next_known, trace_ended;
	int64_t to_issue; /* closed loop: requests to arrive now */
	int64_t arrived;
	struct sessions *sessions; /* all rows, where some wait for others (then `next` is not
				      used) */
	struct job *deadline_first, *deadline_last; /* timeout.h */

	struct sample *samples;
	int64_t n_samples, sample_ns; /* at least so far apart at one instance */
	int64_t *sampled_ns;	      /* last sample of each instance */
	struct sample *unsampled;     /* its last look, where that was too close to it; t_ns -1 */

	struct step_row *steps; /* of each slot, the step or run in progress; NULL: not asked for */

	bool cut_off; /* by the horizon */
	struct err *err;
	bool failed;
};

/* For shapes. */
void sim_make_instance(struct sim *s, uint32_t index, const struct policy_ops *policy,
		       const void *state, const struct hardware *hw);
/* Something happened that the instance must plan for, at its first boundary from now on. */
void sim_notify(struct sim *s, struct instance *in);
/*
 * Accounts for the run of an instance up to now. A step that starts just now has begun only if the
 * instance would have planned it by now: plans come after whatever else happens at that time, but
 * what happens because of a plan (of an instance further down) comes after those before it.
 */
void sim_sync(struct sim *s, struct instance *in);
/* Its blocks changed while a run is going on: looks again when it will have to stop. */
void sim_kv_changed(struct sim *s, struct instance *in);
/* j joins the queue of an entry instance, or is rejected where its whole pool is too small. */
void sim_enqueue(struct sim *s, struct instance *in, struct job *j);
void sim_reject(struct sim *s, struct job *j);
void sim_complete(struct sim *s, struct job *j, int64_t t_ns);
/* It is in no place any more, and holds nothing. */
void sim_abort(struct sim *s, struct job *j);
/* The instance that an arrival goes to. */
struct instance *sim_route(struct sim *s);

#endif
