/*
 * cpu_arena.h: random numbers to time operations on: weights that are as cold as in a whole step,
 * and inputs that are as hot as where the operation before has just written them.
 */
#ifndef CALIBRATE_CPU_ARENA_H
#define CALIBRATE_CPU_ARENA_H

#include "sim/err.h"
#include <stdint.h>

enum { ARENA_INPUTS = 3 };

/*
 * Weights are parts of one large array, one after the other: before one is used again, as many
 * bytes were used as a step reads, and at least `copies` others of its size (up to 1 GiB of them).
 */
struct cpu_arena {
	int threads;
	int64_t copies, step_bytes;
	float *x;
	int64_t n, at; /* floats; where the next part begins */
	float *input[ARENA_INPUTS];
	int64_t room[ARENA_INPUTS]; /* floats */
	uint64_t turn;		    /* inputs made so far */
};

void cpu_arena_init(struct cpu_arena *a, int64_t copies, int64_t step_bytes, int threads);
void cpu_arena_release(struct cpu_arena *a);

/* The next n numbers, to be read (or overwritten by others of the arena). NULL: too little memory.
 */
float *cpu_arena_part(struct cpu_arena *a, int64_t n, struct err *e);
/* Room number i, for n numbers: kept until it is asked for again. NULL: too little memory. */
float *cpu_arena_room(struct cpu_arena *a, int i, int64_t n, struct err *e);
/* The same, full of random numbers, others each time: written by all threads just now. */
float *cpu_arena_input(struct cpu_arena *a, int i, int64_t n, struct err *e);

/* -1: fewer bytes can be had. */
int cpu_arena_fits(int64_t bytes, struct err *e);

#endif
