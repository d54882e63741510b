/* recording_read.h: the lines of a recording (recording.h), one after the other. */
#ifndef SIM_RECORDING_READ_H
#define SIM_RECORDING_READ_H

#include "sim/priors.h"
#include "sim/recording.h"

struct reader {
	struct input *in;
	char path[1024];
	char *line; /* of the input */
	int64_t line_number;
};

/* A step as it was recorded. */
struct recorded {
	int64_t step;
	int32_t instance;
	double ns;
	bool outside;
	struct step_seq *prefill; /* heap memory, the owner's to free */
	int64_t n_prefill, prefill_room;
	struct prior_list *decode; /* of the priors */
	int64_t n_decode;
};

/* -1: a sentence; reader_close() in any case. */
int reader_open(struct reader *r, const char *path, struct err *e);
void reader_close(struct reader *r);
/* The next line, without its end, into r->line; -1: there is none. */
int reader_next(struct reader *r, struct err *e);
/* -1: there is another line. */
int reader_end(struct reader *r, struct err *e);
/* "FILE, line N: " and what; -1. */
int reader_refuse(const struct reader *r, const char *what, struct err *e);

/* The lines before the first step. */
int reader_facts(struct reader *r, struct recording_facts *facts, struct err *e);
/* Step number `step` out of r->line, which is cut up. */
int reader_row(struct reader *r, struct priors *priors, int64_t step, struct recorded *row,
	       struct err *e);

#endif
