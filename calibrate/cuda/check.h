/*
 * check.h: every kernel against the references in double precision (calibrate/reference.h), on
 * random inputs. Runs on a device, and in the tests without one.
 */
#ifndef CALIBRATE_CUDA_CHECK_H
#define CALIBRATE_CUDA_CHECK_H

#include "plan.h"
#include <vector>

struct check {
	uint64_t seed, n; /* numbers taken of it */
	void (*say)(void *arg, const char *line);
	void *arg;
	int failures;
	char worst[256]; /* the first line that failed */
};

/* A line: what, the largest error, the bound. */
void check_say(check &c, const char *what, double error, double bound);
/* The largest error of a result, relative to it or to the root of the mean square of all, whichever
 * is larger. */
double check_error(const std::vector<float> &got, const std::vector<double> &want);
/* A uniform number in (-1, 1). */
float check_number(check &c);

void check_elementwise(check &c);
void check_cache(check &c);
void check_attention(check &c);
void check_gemm(check &c);
void check_steps(check &c);

/* Attention of one set of sequences. */
struct attention_case {
	int heads, kv_heads, head_dim, bits;
	int64_t block_tok;
	int decode_blocks;
	std::vector<backend_seq> seqs;
};
/* Weights (and codes of values) and outputs are rounded to 16 bits: 2^-8 each at most. */
constexpr double check_attention_bound = 4 * 0x1p-8;
/* The error of all outputs; the plan is spoilt before it is used, to see that the error shows. */
double check_attention_case(check &c, const attention_case &is, void (*spoil)(plan &p) = nullptr);

#endif
