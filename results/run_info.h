/*
 * run_info.h: every setting of a run, as the table `run` of the database stores it, and what was
 * found in its trace (fields with `.found`), which tells no two settings apart.
 *
 * Nothing about threads, fast-forward or how long it took is here: they change no result.
 */
#ifndef RESULTS_RUN_INFO_H
#define RESULTS_RUN_INFO_H

#include "results/field.h"

struct run_info {
	char policy[64], given[256], params[1024]; /* as in the summary */
	char executor[32], executor_params[256], notes[256];
	char model[64], model_source[512], device[64];
	int64_t tp, pp, instances;
	char router[32];
	char trace[512], trace_format[32], trace_hash[24]; /* hash: 16 hex digits */
	char columns[256];				   /* --columns */
	int64_t trace_rows;
	char zero[8]; /* --zero */
	int64_t skipped_zero, clamped_zero, skipped_zero_prompt, left_out;
	int64_t hash_block; /* tokens a prefix hash stands for; NULL without hashes */
	char hash_rule[8];
	char sessions[8]; /* --sessions */
	int64_t session_count, overlapping_turns, unknown_parents;
	char arrivals[16];	/* --arrivals; NULL: as recorded */
	double cv;		/* --cv */
	double rate_rps, speed; /* NULL: as recorded; rate infinity is stored as 9e999 */
	int64_t closed_loop, skip, limit;
	double window_from_s, window_to_s;
	int64_t seed;
	double horizon_s;
	int64_t max_model_len;
	char too_long[16];
	int64_t too_long_rejected, too_long_truncated;
	int64_t queue_limit, queue_full;
	double timeout_s;
	char max_tokens[24];
	int64_t kv_blocks, block_tok, weight_bits, kv_bits, kv_token_bytes, kv_window_bytes,
		window_tok;
	int64_t memory_bytes, weights_bytes, usable_bytes, decode_instances, decode_kv_blocks;
	double utilization;
	int64_t reserve_bytes;
	double slo_ttft_s, slo_tpot_s, slo_e2e_s, slo_maxgap_s;
	double host_us, host_seq_us;
	char clock[8]; /* --clock */
	char program_version[32];
};

extern const struct field run_info_fields[];

#endif
