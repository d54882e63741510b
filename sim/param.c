#include "sim/param.h"
#include "sim/number.h"
#include "sim/options.h"
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static void *field(const struct param *p, void *values)
{
	return (char *)values + p->offset;
}

static const void *const_field(const struct param *p, const void *values)
{
	return (const char *)values + p->offset;
}

static const struct param *find(const struct param *table, const char *key)
{
	for (const struct param *p = table; p->name; p++)
		if (strcmp(p->name, key) == 0)
			return p;
	return NULL;
}

static int set_choice(const struct param *p, void *values, const char *what, const char *text,
		      struct err *e)
{
	size_t n = 0;
	for (; p->choices[n]; n++) {
		if (strcmp(p->choices[n], text) == 0) {
			*(int64_t *)field(p, values) = (int64_t)n;
			return 0;
		}
	}
	char kind[160];
	snprintf(kind, sizeof(kind), "value of %s", what);
	return err_unknown(e, kind, text, p->choices, n);
}

static int set_text(const struct param *p, void *values, const char *what, const char *text,
		    struct err *e)
{
	size_t len = strlen(text);
	if (len >= PARAM_TEXT_MAX)
		return err_set(e, "%s: '%.100s' has %zu characters, at most %d are allowed", what,
			       text, len, PARAM_TEXT_MAX - 1);
	if (strchr(text, ','))
		return err_set(e, "%s: '%.100s' contains a comma, which separates parameters", what,
			       text);
	memcpy(field(p, values), text, len + 1);
	return 0;
}

static int set_value(const struct param *p, void *values, const char *what, const char *text,
		     struct err *e)
{
	switch (p->kind) {
	case PARAM_INT: {
		int64_t min, max;
		limits_int(p->min, p->max, &min, &max);
		return parse_int(text, what, min, max, field(p, values), e);
	}
	case PARAM_REAL: {
		double min, max;
		limits_real(p->min, p->max, &min, &max);
		return parse_real(text, what, min, max, field(p, values), e);
	}
	case PARAM_CHOICE:
		return set_choice(p, values, what, text, e);
	case PARAM_TEXT:
		return set_text(p, values, what, text, e);
	}
	CHECK(0, "parameter %s has kind %d", p->name, (int)p->kind);
}

void param_defaults(const struct param *table, void *values)
{
	for (const struct param *p = table; p->name; p++) {
		struct err e;
		int result = set_value(p, values, p->name, p->init, &e);
		CHECK(result == 0, "a default that its own table refuses: %s", e.text);
	}
}

int param_set(const struct param *table, void *values, const char *owner, const char *key,
	      const char *value, struct err *e)
{
	const struct param *p = find(table, key);
	if (!p)
		return 1;
	char what[128];
	snprintf(what, sizeof(what), "%s: %s", owner, p->name);
	return set_value(p, values, what, value, e);
}

static int unknown_key(const struct param_set *sets, size_t n, const char *owner, const char *key,
		       struct err *e)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		for (const struct param *p = sets[i].table; p->name; p++)
			count++;
	const char **names = xmalloc((count + 1) * sizeof(*names));
	count = 0;
	for (size_t i = 0; i < n; i++)
		for (const struct param *p = sets[i].table; p->name; p++)
			names[count++] = p->name;
	char kind[160];
	snprintf(kind, sizeof(kind), "parameter of %s", owner);
	err_unknown(e, kind, key, names, count);
	free(names);
	return -1;
}

static int set_in_any(const struct param_set *sets, size_t n, const char *owner, const char *key,
		      const char *value, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		int result = param_set(sets[i].table, sets[i].values, owner, key, value, e);
		if (result <= 0)
			return result;
	}
	return unknown_key(sets, n, owner, key, e);
}

/* Is `key` also the key of an item before `end`? Those items are cut into strings already. */
static int repeated(const char *text, const char *end, const char *key)
{
	for (const char *item = text; item < end; item += strlen(item) + 1) {
		if (strcmp(item, key) == 0)
			return 1;
		item += strlen(item) + 1; /* its value */
	}
	return 0;
}

/* `text` is cut at every '=' and ',' on the way. */
static int parse_items(const struct param_set *sets, size_t n, const char *owner, char *text,
		       struct err *e)
{
	for (char *item = text, *next; item; item = next) {
		next = strchr(item, ',');
		if (next)
			*next++ = '\0';
		char *value = strchr(item, '=');
		if (!value || value == item)
			return err_set(e, "%s: '%.100s' is not of the form name=value", owner,
				       item);
		*value++ = '\0';
		if (repeated(text, item, item))
			return err_set(e, "%s: %.100s is given twice", owner, item);
		if (set_in_any(sets, n, owner, item, value, e) < 0)
			return -1;
	}
	return 0;
}

int param_parse(const struct param_set *sets, size_t n, const char *owner, const char *text,
		struct err *e)
{
	if (!text || !*text)
		return 0;
	char *copy = xstrdup(text);
	int result = parse_items(sets, n, owner, copy, e);
	free(copy);
	return result;
}

/* Its value, and what follows; NULL: it is not among them. */
static const char *find_given(const char *text, const char *name)
{
	size_t len = strlen(name);
	for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, name, len) == 0 && at[len] == '=')
			return at + len + 1;
	return NULL;
}

bool param_is_given(const char *text, const char *name)
{
	return find_given(text, name) != NULL;
}

bool param_is_given_as(const char *text, const char *name, const char *value)
{
	const char *at = find_given(text, name);

	return at && strcspn(at, ",") == strlen(value) && !strncmp(at, value, strlen(value));
}

static void print_value(const struct param *p, const void *values, char *buf, size_t size)
{
	const void *at = const_field(p, values);
	int64_t i;
	switch (p->kind) {
	case PARAM_INT:
		snprintf(buf, size, "%" PRId64, *(const int64_t *)at);
		return;
	case PARAM_REAL:
		print_real(*(const double *)at, buf, size);
		return;
	case PARAM_CHOICE:
		i = *(const int64_t *)at;
		snprintf(buf, size, "%s", p->choices[i]);
		return;
	case PARAM_TEXT:
		snprintf(buf, size, "%s", (const char *)at);
		return;
	}
	CHECK(0, "parameter %s has kind %d", p->name, (int)p->kind);
}

void param_print(const struct param *table, const void *values, char *buf, size_t size)
{
	size_t used = strnlen(buf, size);
	CHECK(used < size, "no end in the %zu bytes of the buffer", size);
	for (const struct param *p = table; p->name; p++) {
		char value[PARAM_TEXT_MAX];
		print_value(p, values, value, sizeof(value));
		bool first = used == 0 || buf[used - 1] == ':';
		int n = snprintf(buf + used, size - used, "%s%s=%s", first ? "" : ",", p->name,
				 value);
		CHECK(n >= 0 && (size_t)n < size - used, "%d characters for %zu bytes", n,
		      size - used);
		used += (size_t)n;
	}
}

static const struct param *param_find(const struct param *table, const char *name,
				      enum param_kind kind)
{
	for (const struct param *p = table; p && p->name; p++)
		if (p->kind == kind && !strcmp(p->name, name))
			return p;
	return NULL;
}

int64_t param_int(const struct param *table, const void *values, const char *name, int64_t none)
{
	const struct param *p = param_find(table, name, PARAM_INT);

	return p ? *(const int64_t *)const_field(p, values) : none;
}

bool param_chooses(const struct param *table, const void *values, const char *name,
		   const char *choice)
{
	const struct param *p = param_find(table, name, PARAM_CHOICE);

	return p && !strcmp(p->choices[*(const int64_t *)const_field(p, values)], choice);
}
