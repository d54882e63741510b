/* columns.c: the texts of --columns and --window. */
#include "traces/number.h"
#include "traces/source.h"
#include <string.h>

static const char *const keys[] = {
	[COLUMN_ARRIVAL] = "arrival",	[COLUMN_PROMPT] = "prompt",
	[COLUMN_OUTPUT] = "output",	[COLUMN_MAX_TOK] = "max_tokens",
	[COLUMN_PRIORITY] = "priority", [COLUMN_CLIENT] = "client",
	[COLUMN_SESSION] = "session",	[COLUMN_SERVICE] = "service",
	[COLUMN_HASH_IDS] = "hash_ids", [N_COLUMNS] = "unit",
};
static const char *const units[] = {
	[CLOCK_S] = "s", [CLOCK_MS] = "ms", [CLOCK_US] = "us", [CLOCK_NS] = "ns"};
enum { N_KEYS = N_COLUMNS + 1, N_UNITS = CLOCK_NS + 1 };

static int set_unit(struct columns *c, const char *value, struct err *e)
{
	if (c->clock != CLOCK_UNKNOWN)
		return err_set(e, "--columns: unit is given twice");
	for (int i = 0; i < N_UNITS; i++) {
		if (strcmp(units[i], value) == 0) {
			c->clock = (enum clock)i;
			return 0;
		}
	}
	return err_unknown(e, "unit in --columns", value, units, N_UNITS);
}

static int set_column(struct columns *c, enum column which, const char *value, struct err *e)
{
	if (columns_has(c, which) || (which == COLUMN_ARRIVAL && c->no_arrival))
		return err_set(e, "--columns: %s is given twice", keys[which]);
	if (which == COLUMN_ARRIVAL && strcmp(value, "none") == 0) {
		c->no_arrival = true;
	} else if (value[strspn(value, "0123456789")] == '\0') {
		bool exact;
		if (number_decimal(value, strlen(value), 0, 100000, &c->number[which], &exact) ||
		    c->number[which] == 0)
			return err_set(e, "--columns: %s=%s: columns are numbered from 1",
				       keys[which], value);
	} else {
		c->name[which] = value;
	}
	return 0;
}

static int set_item(struct columns *c, char *item, struct err *e)
{
	char *value = strchr(item, '=');
	if (!value || value[1] == '\0')
		return err_set(e, "--columns: '%.100s' is not of the form name=value", item);
	*value++ = '\0';
	for (int i = 0; i < N_COLUMNS; i++)
		if (strcmp(keys[i], item) == 0)
			return set_column(c, (enum column)i, value, e);
	if (strcmp(keys[N_COLUMNS], item) == 0)
		return set_unit(c, value, e);
	return err_unknown(e, "name in --columns", item, keys, N_KEYS);
}

static int parse_items(struct columns *c, struct err *e)
{
	for (char *item = c->text, *next; item; item = next) {
		next = strchr(item, ',');
		if (next)
			*next++ = '\0';
		if (set_item(c, item, e))
			return -1;
	}
	if (!columns_has(c, COLUMN_ARRIVAL) && !c->no_arrival)
		return err_set(e, "--columns: arrival is missing: give a column, or arrival=none "
				  "where everything arrives at once");
	for (enum column i = COLUMN_PROMPT; i <= COLUMN_OUTPUT; i++)
		if (!columns_has(c, i))
			return err_set(e, "--columns: %s is missing: give a column name or number",
				       keys[i]);
	return 0;
}

int columns_parse(const char *text, struct columns *c, struct err *e)
{
	*c = (struct columns){.text = xstrdup(text), .clock = CLOCK_UNKNOWN};
	if (parse_items(c, e)) {
		columns_release(c);
		return -1;
	}
	return 0;
}

void columns_release(struct columns *c)
{
	free(c->text);
	c->text = NULL;
}

int trace_parse_columns(const char *text, struct trace_spec *spec, struct err *e)
{
	struct columns c;
	if (columns_parse(text, &c, e))
		return -1;
	columns_release(&c);
	spec->columns = text;
	return 0;
}

static int parse_side(const char *text, const char *from, size_t len, int64_t absent, int64_t *ns,
		      struct err *e)
{
	bool exact;
	*ns = absent;
	if (len > 0 && number_decimal(from, len, 9, NUMBER_NS_MAX, ns, &exact))
		return err_set(e,
			       "--window %.100s: expected FROM:TO in seconds, such as 600:1200 or "
			       "600:",
			       text);
	return 0;
}

int trace_parse_window(const char *text, struct trace_spec *spec, struct err *e)
{
	const char *colon = strchr(text, ':');
	int64_t from, to;
	if (!colon)
		return err_set(e,
			       "--window %.100s: expected FROM:TO in seconds, such as 600:1200 or "
			       "600:",
			       text);
	if (parse_side(text, text, (size_t)(colon - text), 0, &from, e) ||
	    parse_side(text, colon + 1, strlen(colon + 1), INT64_MAX, &to, e))
		return -1;
	if (from >= to)
		return err_set(e, "--window %.100s: is empty: FROM must be less than TO", text);
	spec->window = true;
	spec->window_from_ns = from;
	spec->window_to_ns = to;
	return 0;
}
