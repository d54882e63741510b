/*
 * config.h: reads values out of a JSON object by key, with one sentence for each mistake: a Hugging
 * Face config.json, or a device of the user's own.
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

enum { CONFIG_PATH_MAX = 1024 };

struct config_file {
	struct config config;
	json_t *root;
	char path[CONFIG_PATH_MAX];
};

/* Whether a name is a path: it contains a "/" or ends with ".json". */
bool config_is_path(const char *name);
/* Appends where to look for a file of this name, where there is one here. Returns -1. */
int config_suggest(const char *name, const char *kind, struct err *e);
/* Reads a file (a folder stands for the config.json in it) that holds one object, called a `what`
 * in the sentence. */
int config_open(struct config_file *f, const char *path, const char *what, struct err *e);
/* -1: one of the reads failed, the sentence is set. In any case nothing is left to release. */
int config_close(struct config_file *f);
/* Text from outside as a string; what is no UTF-8, of which JSON has none, becomes '?'. */
json_t *config_json(const char *text);
/* A name from a path: "a/b/config.json" is "b", "a/b.json" is "b". '?' as in config_json(). */
void config_name(char *name, size_t size, const char *path);

/* Fails with "PATH: " and the sentence. */
void config_fail(struct config *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* null counts as absent. */
bool config_has(const struct config *c, const char *key);

/* An integer in [1, max], required. */
int64_t config_int(struct config *c, const char *key, int64_t max);
/* The same, or `init` where it is absent; min is 0 or 1. */
int64_t config_int_or(struct config *c, const char *key, int64_t min, int64_t max, int64_t init);
bool config_bool_or(struct config *c, const char *key, bool init);
/* A number in [min, max]; where it is absent `init`, unless it is required. */
double config_real(struct config *c, const char *key, double min, double max, bool required,
		   double init);
/* Borrowed; NULL where absent. */
const char *config_text(struct config *c, const char *key);
/* One line of text of 1 to size - 1 bytes; nothing happens where the key is absent. */
void config_line(struct config *c, const char *key, char *to, size_t size);
/* Fails where the object has any other key; the sentence lists these. */
void config_known(struct config *c, const char *const *names, size_t n);

struct device;
/* A device's fields (device.c); d is zeroed but for its name. */
void device_read(struct config *c, struct device *d);
/* The same fields as an object; new. */
json_t *device_json(const struct device *d);

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
