/*
 * bench.h: memory for operations that are timed alone: inputs that are other ones each time, random
 * numbers all of them.
 */
#ifndef CALIBRATE_CUDA_BENCH_H
#define CALIBRATE_CUDA_BENCH_H

#include "arena.h"
#include "sim/err.h"
#include <platform.cuh>

/* What a part of it holds. */
enum bench_kind {
	BENCH_NUMBERS, /* bf16 */
	BENCH_BYTES,   /* e4m3, or codes */
	BENCH_SCALES,  /* of codes */
	BENCH_OUT,     /* what is written: bf16 at first */
	N_BENCH_KINDS
};

struct bench {
	struct {
		char *base;
		int64_t bytes, at;
	} part[N_BENCH_KINDS];
	int64_t spread; /* bytes that inputs move over: more than a cache holds */
	char *host;	/* pinned */
	int64_t host_bytes;
	bool lacks_memory; /* for what was needed last */
};

/*
 * Room for what one run takes of a kind, and `spread` more: before the first of it is taken, since
 * what was there before is gone. -1: the device has no such memory; what was there stays.
 */
int bench_need(bench &b, bench_kind kind, int64_t bytes, err *e);
/* The next `bytes`, at a multiple of 256. */
void *bench_take(bench &b, bench_kind kind, int64_t bytes);
/* Pinned memory of the host. */
int bench_need_host(bench &b, int64_t bytes, err *e);
void bench_release(bench &b);

#endif
