/*
 * real_log.h: what a real server's clients or engine wrote down of each request: when it came, how
 * long it was, when its tokens were there. What a forecast is held against.
 *
 * Read: a CSV with a header whose columns are named (`arrival=C,prompt=C,output=C,last=C[,first=C]
 * [,scheduled=C][,unit=s|ms|us|ns]`, by name or number from 1), one whose header is known (the
 * requests of a run of vLLM's engine, on its own clock), and the document of `vllm bench serve
 * --save-result --save-detailed`. In a CSV first, last and scheduled are times on the same clock as
 * arrival, and no durations since then.
 */
#ifndef RESULTS_REAL_LOG_H
#define RESULTS_REAL_LOG_H

#include "sim/err.h"
#include <stdbool.h>
#include <stdint.h>

/* Times are ns after the first arrival. */
struct real_request {
	int64_t line; /* of the file, from 1; of a document: the request's number, from 1 */
	int64_t arrive_ns, prompt_tok, output_tok; /* 0 where the log has no arrivals */
	int64_t schedule_ns, first_ns;		   /* -1: not in the log */
	int64_t last_ns;
	double gap_mean_ns, gap_max_ns; /* between deliveries; NaN: not in the log, or none */
};

struct real_log {
	struct real_request *at; /* by arrival, equal ones as in the file */
	int64_t n;
	int64_t failed;	   /* requests that did not succeed, left out */
	bool has_arrivals; /* false: when requests came is not in the file */
	double rate_rps;   /* what the file says it was; infinity: all at once; NaN: nothing */
	int64_t in_flight; /* the client's limit on requests in flight; 0: none */
	const char *format;
};

/*
 * `columns` NULL: told from the file. -1: a sentence with file, line and column: a time before the
 * one that it follows, a column that is not there, no request at all. Release after success only.
 */
int real_log_read(struct real_log *l, const char *path, const char *columns, struct err *e);
void real_log_release(struct real_log *l);

#endif
