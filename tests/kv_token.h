/* kv_token.h: KV bytes of a token in all layers on one device of tp, for tests with one figure. */
#ifndef TESTS_KV_TOKEN_H
#define TESTS_KV_TOKEN_H

#include "calibrate/model.h"

static inline int64_t kv_token_bytes(const struct model *m, int64_t tp, int64_t kv_bits)
{
	struct model_kv kv;

	model_kv(m, tp, 1, kv_bits, &kv);
	return kv.full_bytes + kv.window_bytes;
}

#endif
