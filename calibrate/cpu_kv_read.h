/*
 * cpu_kv_read.h: cached and new keys and values as rows of floats, for attention: in 16 bits where
 * they lie, else unpacked.
 */
#ifndef CALIBRATE_CPU_KV_READ_H
#define CALIBRATE_CPU_KV_READ_H

#include "calibrate/cpu_kernels.h"
#include "calibrate/cpu_kv.h"

/* One sequence and KV head in one layer. */
struct cpu_kv_reader {
	const struct cpu_kv *kv;
	const struct cpu_kernels *kernels;
	int64_t layer, head;
	const struct cpu_seq *s;
	const struct cpu_kv_rows *rows;
	float *pair; /* room for 2 head_dim numbers */
};

/* n rows of head_dim, `stride` apart */
struct cpu_kv_piece {
	const float *x;
	int64_t n, stride;
};

/*
 * Of tokens tok, tok + 1, .. below `end`, as many as lie together: at least one. `room` is for
 * (end - tok) rows; what has to be unpacked goes there, head_dim apart.
 */
struct cpu_kv_piece cpu_kv_read(const struct cpu_kv_reader *r, int kind, int64_t tok, int64_t end,
				float *room);

#endif
