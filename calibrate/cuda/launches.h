/*
 * launches.h: the kernels, with grids and for the sizes that they are compiled for. Nothing waits,
 * and a failed launch is seen when the device is next asked (last_failure()).
 */
#ifndef CALIBRATE_CUDA_LAUNCHES_H
#define CALIBRATE_CUDA_LAUNCHES_H

#include "arguments.h"

/* 64 and 128; numbers of 4 and 2 bits: 128 alone. */
bool launch_has(int64_t head_dim, int bits);

void launch_embed(const bf16 *table, const bf16 *positions, const int32_t *ids,
		  const int32_t *position, bf16 *out, int64_t rows, int n, stream s);
void launch_norm(const norm_args &p, int64_t rows, stream s);
void launch_activate(const bf16 *x, bf16 *out, bool gated, int64_t rows, int n, stream s);
void launch_argmax(const bf16 *logits, int32_t *out, int64_t rows, int n, stream s);
/* bits: of the pool; one of 4 or 2 bits takes no single tokens, p.pool is then the one of its
 * latest tokens. */
void launch_append(const append_args &p, int head_dim, int bits, int64_t rows, stream s);
/* Groups of 32 tokens become codes: *n of at most `most`. */
void launch_kivi_store(const kv_pool &from, const kv_pool &to, const kv_move *moves,
		       const int32_t *n, int head_dim, int bits, int64_t most, stream s);
void launch_kv_load(const kv_pool &from, const kv_pool &to, const kv_move *moves, int head_dim,
		    int bits, int64_t n, stream s);
/* *p.n_items of at most `most`. */
void launch_decode(const decode_args &p, int head_dim, int bits, int64_t most, stream s);
/* n lists of parts. */
void launch_combine(const decode_parts *parts, const decode_args &p, int head_dim, int64_t n,
		    stream s);
void launch_prefill(const prefill_args &p, int head_dim, int64_t tiles, stream s);
void launch_fill(bf16 *out, int64_t n, uint64_t seed, float deviation, float mean, stream s);
/* The same by one block alone, which keeps the stream busy for long with little memory. */
void launch_busy(bf16 *out, int64_t n, stream s);
/* Numbers of 8 bits, or codes; n bytes, a multiple of 4. */
void launch_fill_bytes(void *out, int64_t n, uint64_t seed, stream s);
void launch_fill_scales(uint32_t *out, int64_t n, uint64_t seed, stream s);

#endif
