/*
 * param.h: named parameters, `name:k=v,k=v`, described by a table beside the code that uses them.
 *
 * A table ends with an entry whose name is NULL. Values are written into a struct of the owner's at
 * `offset`: int64_t for PARAM_INT and PARAM_CHOICE (the index of the choice), double for
 * PARAM_REAL, char[PARAM_TEXT_MAX] for PARAM_TEXT. One table parses, prints, stores and documents.
 */
#ifndef SIM_PARAM_H
#define SIM_PARAM_H

#include "sim/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum param_kind { PARAM_INT, PARAM_REAL, PARAM_CHOICE, PARAM_TEXT };
enum { PARAM_TEXT_MAX = 64 };

struct param {
	const char *name;
	enum param_kind kind;
	size_t offset;
	const char *init;	    /* default, as the user would write it */
	double min, max;	    /* inclusive, for INT and REAL; both 0: none */
	const char *const *choices; /* NULL-terminated, for CHOICE */
	const char *help;	    /* with the unit */
};

/* Writes every default of the table into `values`. */
void param_defaults(const struct param *table, void *values);

/*
 * Sets one parameter. Returns 0; 1 when the table has no such name (nothing written, so that the
 * caller can ask another table); -1 for a bad value. `owner` is named in the sentence.
 */
int param_set(const struct param *table, void *values, const char *owner, const char *key,
	      const char *value, struct err *e);

/*
 * Parses "k=v,k=v" (NULL or "" is nothing) against `n` tables, the first that knows a name takes
 * it. An unknown name is an error that lists the valid ones; so is a name given twice.
 */
struct param_set {
	const struct param *table;
	void *values;
};
int param_parse(const struct param_set *sets, size_t n, const char *owner, const char *text,
		struct err *e);

/* Is `name` among the items of "k=v,k=v" (NULL: of none)? */
bool param_is_given(const char *text, const char *name);
/* Is "name=value" one of them? */
bool param_is_given_as(const char *text, const char *name, const char *value);

/* An INT by its name; `none` where the table (NULL: of nothing) has no such one. */
int64_t param_int(const struct param *table, const void *values, const char *name, int64_t none);
/* Whether there is a CHOICE of that name, and it stands at `choice`. */
bool param_chooses(const struct param *table, const void *values, const char *name,
		   const char *choice);

/*
 * Appends "k=v,k=v" of the whole table, canonical, to the string in buf, after a comma unless that
 * is empty or ends in a colon (always NUL-terminated, CHECKs the size).
 */
void param_print(const struct param *table, const void *values, char *buf, size_t size);

#endif
