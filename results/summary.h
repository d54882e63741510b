/*
 * summary.h: the result row of one run: the csv columns, and the table `metric` of the database.
 *
 * Times are seconds, rates are a second, NULLs as field.h says. Definitions of the metrics: README.
 */
#ifndef RESULTS_SUMMARY_H
#define RESULTS_SUMMARY_H

#include "results/field.h"

struct summary {
	int64_t run_id;
	char policy[64];   /* as the user named it: a policy, shape or preset */
	char params[1024]; /* all of them, canonical */
	char times[16];	   /* predicted, measured or fixed */
	char model[64], device[64];
	int64_t requests, completed, rejected, unfinished;
	double offered_rps, throughput_rps, output_tps, goodput_rps, attainment;
	double ttft_mean_s, ttft_p50_s, ttft_p90_s, ttft_p99_s;
	double tpot_mean_s, tpot_p50_s, tpot_p90_s, tpot_p99_s;
	double itl_mean_s, itl_p50_s, itl_p99_s;
	double e2e_mean_s, e2e_p50_s, e2e_p99_s;
	double norm_latency_mean_s, queue_mean_s, queue_p99_s;
	int64_t preemptions, steps;
	double makespan_s, kv_util_mean, batch_mean;
	char bound[16];
	int64_t saturated; /* 0, 1 or NULL */
	/* after the columns every reader knows */
	double throughput_steady_rps; /* ramp and drain cut */
	int64_t aborted;	/* not done in time; requests is the sum with the other three */
	int64_t recomputed_tok; /* tokens prefilled again after preemptions */
	int64_t devices;	/* that all instances need */
	char given[256];	/* parameters that were written, as written */
	char percentiles[16];	/* "exact" or "histogram" (all but ITL, which always is) */
	char notes[256];	/* "oracle", "roofline", ...; space separated */
	int64_t cached_tok;	/* prompt tokens found in a prefix cache */
	double prefix_hit_rate; /* of the prompt tokens of requests admitted */
};

extern const struct field summary_fields[];

#endif
