/*
 * recording.h: every step of a run, what it computed and how long it took, in a file; and an
 * executor that gives these times again, in order, to a run of the same steps.
 *
 * A text of lines: `# name: value` of the run, the names of the columns, a row a step, and a last
 * line with the number of steps and the hash of the trace. Columns: step, from 1; instance; ns;
 * extrapolated, 1 where that is beyond what was measured; prefill: PRIOR+NEW of each sequence whose
 * prompt is computed, with a - behind it where no token comes of it; decode: PRIOR of each sequence
 * that decodes a token after so many, or + where they are those of that instance's last step that
 * had any, each one token longer. A line has at most 16 MiB, a sequence at most 2e9 tokens; nothing
 * follows the last line.
 */
#ifndef SIM_RECORDING_H
#define SIM_RECORDING_H

#include "sim/sim.h"

/* What a recording says of its run. */
struct recording_facts {
	char program[32]; /* version of omnibus */
	char policy[64], params[1024];
	char model[64], device[128]; /* "": none */
	char trace[512];
	char executor[32];
	char times[16], notes[128]; /* of the executor */
	char clock[8];		    /* sim or wall */
	/* of the pool of an instance, of a decode instance; 0: without limit, or there are none */
	int64_t kv_blocks, decode_kv_blocks;
	/* of the model: devices that share a layer, bits of KV and of weights; 0: not known */
	int64_t tp, kv_bits, weight_bits;
	char data_sheet[128]; /* the device that -d named; "": none */
};

/* Writing */

struct recorder;

/* Nothing is under that name before recorder_commit(). NULL: a sentence. */
struct recorder *recorder_new(const char *path, struct err *e);
void recorder_begin(struct recorder *r, const struct recording_facts *f);
/* The `taken` of struct sim_config; `arg` is the recorder. */
int recorder_take(void *arg, const struct step_taken *t, struct err *e);
int recorder_commit(struct recorder *r, const char *trace_hash, struct err *e);
/* Without a commit nothing is left. NULL is allowed. */
void recorder_free(struct recorder *r);

/* Replaying */

/* -1: no recording; the sentence names the line. */
int recording_load_facts(const char *path, struct recording_facts *f, struct err *e);

/*
 * `now` is what a recording of this run would say: where a step is not what was recorded, the
 * sentence tells in what the runs differ. It is kept, the caller's.
 */
struct executor *executor_replay_new(const char *path, const struct recording_facts *now,
				     struct err *e);
/* After the run: -1 where steps are left, or the trace was another one. */
int executor_replay_end(struct executor *x, const char *trace_hash, struct err *e);

#endif
