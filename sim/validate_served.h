/* validate_served.h: rows of served means and what becomes of them; within validate_served*.c. */
#ifndef SIM_VALIDATE_SERVED_H
#define SIM_VALIDATE_SERVED_H

#include "sim/validate.h"

struct server;

struct served_row {
	int64_t line;
	char server[48], model[64], precision[16], quantised[16];
	int64_t prompt_tok, output_tok, in_flight, tp;
	double ttft_measured_s, ttft_predicted_s, ttft_error;
	double tpot_measured_s, tpot_predicted_s, tpot_error;
	char left_out[96]; /* why; "": it counts */
	const struct server *of;
};

struct served {
	struct served_row *row;
	size_t n;
};

/* Errors by server, why rows are left out, the worst rows. The exit code. */
int served_print(const struct validate_options *o, const struct served *s, struct err *e);

#endif
