/*
 * reference_text.h: a case of the reference simulator as one line of text, and back.
 *
 * `name=value ...
 * requests=ARRIVE:PROMPT:OUTPUT[:MAX_TOK[:PRIORITY[:SESSION:THINK[:ID.ID...]]]],...` Settings at
 * their default are left out. One table has every setting, so that what is printed, read and made
 * smaller is the same.
 */
#ifndef TESTS_REFERENCE_TEXT_H
#define TESTS_REFERENCE_TEXT_H

#include "sim/err.h"
#include "tests/reference.h"

enum ref_type { REF_INT, REF_REAL, REF_FLAG, REF_NAME };

struct ref_setting {
	const char *name;
	enum ref_type type;
	size_t at;		  /* in struct ref_config */
	double plain;		  /* the default */
	const char *const *names; /* REF_NAME: by value; ends with NULL */
};
extern const struct ref_setting ref_settings[]; /* ends with a NULL name */

double ref_get(const struct ref_config *c, const struct ref_setting *f);
void ref_set(struct ref_config *c, const struct ref_setting *f, double value);
/*
 * Makes a case one that both simulators accept: settings that exclude each other, hash ids beyond
 * the prompt, arrivals in order from 0.
 */
void ref_level(struct ref_config *c, struct ref_request *q, size_t n);
/* Every setting at its default, and keep_steps. */
struct ref_config ref_plain(void);

void ref_print_line(FILE *out, const struct ref_config *c, const struct ref_request *req, size_t n);
/* The caller frees *req. -1: a sentence. */
int ref_parse_line(const char *line, struct ref_config *c, struct ref_request **req, size_t *n,
		   struct err *e);

#endif
