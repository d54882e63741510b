/* small_cpu.h: the backend "cpu" with room for small steps: 64 tokens, 8 sequences, 512 slots. */
#ifndef TESTS_SMALL_CPU_H
#define TESTS_SMALL_CPU_H

#include "calibrate/backend.h"
#include "tests/load.h"
#include "tests/testing.h"

static inline struct backend_want small_want(const struct model *m)
{
	return (struct backend_want){.model = m,
				     .tp = 1,
				     .max_tok = 64,
				     .max_seqs = 8,
				     .kv_tok = 512,
				     .block_tok = 16,
				     .kv_bits = 16,
				     .threads = 1,
				     .seed = 1};
}

/* The caller closes it. */
static inline struct backend *open_tiny(void)
{
	struct model m = load_model("tiny");
	const struct backend_want w = small_want(&m);
	struct backend *b;
	struct err e;

	assert_fine(backend_cpu.open(&b, &w, &e), e);
	return b;
}

#endif
