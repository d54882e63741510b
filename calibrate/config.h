/*
 * config.h: reads values out of a Hugging Face config.json by key, with one sentence for each
 * mistake. Used by config.c and family.c alone.
 *
 * The first failure stays: later reads do nothing but give zero, so that a caller checks once.
 */
#ifndef CALIBRATE_CONFIG_H
#define CALIBRATE_CONFIG_H

#include "calibrate/model.h"
#include <jansson.h>

struct config {
	const json_t *root; /* borrowed */
	const char *path;
	struct err *e;
	bool failed;
};

/* Fails with "PATH: " and the sentence. */
void config_fail(struct config *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* null counts as absent. */
bool config_has(const struct config *c, const char *key);

/* An integer in [1, max], required. */
int64_t config_int(struct config *c, const char *key, int64_t max);
/* The same, or `init` where it is absent; min is 0 or 1. */
int64_t config_int_or(struct config *c, const char *key, int64_t min, int64_t max, int64_t init);
bool config_bool_or(struct config *c, const char *key, bool init);
/* Borrowed; NULL where absent. */
const char *config_text(struct config *c, const char *key);

/* Fills what the family of the key model_type says; m is zeroed but for its name. */
void family_read(struct config *c, struct model *m);

/* Largest sizes: beyond all models, small enough that no product of them overflows 63 bits. */
#define MAX_LAYERS   500
#define MAX_HIDDEN   131072
#define MAX_HEADS    4096
#define MAX_HEAD_DIM 4096
#define MAX_INTER    1048576
#define MAX_VOCAB    16777216
#define MAX_CONTEXT  1073741824
#define MAX_EXPERTS  4096

#endif
