/* profile_json.h: names of the fields of a profile's file; within profile_read.c, profile_write.c.
 */
#ifndef CALIBRATE_PROFILE_JSON_H
#define CALIBRATE_PROFILE_JSON_H

#include "calibrate/config.h"
#include "calibrate/form.h"
#include "calibrate/profile.h"
#include <jansson.h>

/* The number of the format; a file of another one is refused. */
enum { PROFILE_FORMAT = 1 };

/* Sizes that a shape can hold. */
struct shape_field {
	const char *key;
	size_t offset; /* of an int64_t in struct point */
};
extern const struct shape_field shape_fields[]; /* ends with a NULL key */

int64_t *shape_at(struct point *p, const struct shape_field *f);

/* A part of a file, called `what` in sentences: "PATH: fits[3]". Its failure is the whole's. */
enum { PART_LABEL_MAX = 512 };
struct part {
	struct config config;
	char label[PART_LABEL_MAX];
};
void part_init(struct part *p, const struct config *outer, const json_t *root, const char *what);
/* The object of a key, required. */
void part_open(struct part *p, struct config *outer, const char *key);
void part_close(const struct part *p, struct config *outer);

/* n numbers of at least `min`, required. */
void read_reals(struct config *c, const char *key, double *to, size_t n, double min);
void read_held_out(struct config *c, const char *key, struct held_out *h);
void read_range(struct config *c, const char *key, struct range *r);
void read_fit(struct config *c, struct fit *f); /* f is zeroed; release it in any case */

/* Whether a profile's text is what an object holds: it has the key "omnibus_profile". */
bool profile_is(const json_t *root);
struct profile *profile_from(const json_t *root, const char *name, struct err *e);
/* The same of a file of the user's own: profile_check(), too. */
struct profile *profile_of_file(const json_t *root, const char *path, struct err *e);

#endif
