/*
 * plan_buffers.h: where plans lie on the device, at the same places for every step, so that a graph
 * finds them there.
 */
#ifndef CALIBRATE_CUDA_PLAN_BUFFERS_H
#define CALIBRATE_CUDA_PLAN_BUFFERS_H

#include "arena.h"
#include "attention.h"

struct plan_room {
	int64_t rows, seqs;
	int64_t moves; /* groups of 32 tokens of all sequences together */
};

void plan_buffers_place(plan_arrays &a, const plan_room &room, const plan_shape &shape, arena &at);
/* -1: a copy fails. */
int plan_buffers_write(const plan_arrays &a, const plan &p, stream s, err *e);

#endif
