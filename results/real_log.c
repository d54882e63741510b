#include "results/real_log_reader.h"
#include <math.h>
#include <string.h>

static const char *const keys[N_REAL_COLUMNS + 1] = {
	[REAL_ARRIVAL] = "arrival",	[REAL_PROMPT] = "prompt", [REAL_OUTPUT] = "output",
	[REAL_SCHEDULED] = "scheduled", [REAL_FIRST] = "first",	  [REAL_LAST] = "last",
	[N_REAL_COLUMNS] = "unit"};
static const char *const units[] = {
	[CLOCK_S] = "s", [CLOCK_MS] = "ms", [CLOCK_US] = "us", [CLOCK_NS] = "ns"};
enum { N_UNITS = CLOCK_NS + 1 };

static int find(const char *const *names, int n, const char *name)
{
	int i = 0;

	while (i < n && strcmp(names[i], name) != 0)
		i++;
	return i;
}

static int set_unit(struct real_columns *c, const char *value, struct err *e)
{
	int unit = find(units, N_UNITS, value);

	if (c->clock != CLOCK_UNKNOWN)
		return err_set(e, "--columns: unit is given twice");
	if (unit == N_UNITS)
		return err_unknown(e, "unit in --columns", value, units, N_UNITS);
	c->clock = (enum clock)unit;
	return 0;
}

static int set_column(struct real_columns *c, char *item, struct err *e)
{
	char *value = strchr(item, '=');

	if (!value || value[1] == '\0')
		return err_set(e, "--columns: '%.100s' is not of the form name=value", item);
	*value++ = '\0';
	int key = find(keys, N_REAL_COLUMNS + 1, item);

	if (key > N_REAL_COLUMNS)
		return err_unknown(e, "name in --columns", item, keys, N_REAL_COLUMNS + 1);
	if (key == N_REAL_COLUMNS)
		return set_unit(c, value, e);
	if (c->name[key])
		return err_set(e, "--columns: %s is given twice", item);
	c->name[key] = value;
	return 0;
}

static int set_columns(struct real_columns *c, struct err *e)
{
	for (char *item = c->text, *next; item; item = next) {
		next = strchr(item, ',');
		if (next)
			*next++ = '\0';
		if (set_column(c, item, e) < 0)
			return -1;
	}
	static const enum real_column needed[] = {REAL_ARRIVAL, REAL_PROMPT, REAL_OUTPUT,
						  REAL_LAST};
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!c->name[needed[i]])
			return err_set(e, "--columns: %s is missing: give a column name or number",
				       keys[needed[i]]);
	return 0;
}

int real_columns_parse(const char *text, struct real_columns *c, struct err *e)
{
	*c = (struct real_columns){.text = xstrdup(text), .clock = CLOCK_UNKNOWN};
	if (set_columns(c, e) < 0) {
		real_columns_release(c);
		return -1;
	}
	if (c->clock == CLOCK_UNKNOWN)
		c->clock = CLOCK_S;
	return 0;
}

void real_columns_release(struct real_columns *c)
{
	free(c->text);
	c->text = NULL;
}

/* Where a time is before the arrival it may be none, but a duration. */
static const char one_clock[] = ", each a time on the clock of arrival, and no duration since then";

static int check_order(const struct real_request *r, const char *file, struct err *e)
{
	const struct {
		const char *what;
		int64_t ns;
	} times[] = {{"arrival", r->arrive_ns},
		     {"scheduled", r->schedule_ns},
		     {"first token", r->first_ns},
		     {"last token", r->last_ns}};
	size_t before = 0;

	for (size_t i = 1; i < sizeof(times) / sizeof(times[0]); i++) {
		if (times[i].ns < 0)
			continue;
		if (times[i].ns < times[before].ns)
			return err_set(e,
				       "%s:%lld: %s is %.9g s before %s: expected arrival, "
				       "scheduled, first and last token in this order%s",
				       file, (long long)r->line, times[i].what,
				       (double)(times[before].ns - times[i].ns) / 1e9,
				       times[before].what,
				       times[i].ns < r->arrive_ns ? one_clock : "");
		before = i;
	}
	return 0;
}

int real_log_add(struct real_log *l, const struct real_request *r, const char *file, struct err *e)
{
	if (check_order(r, file, e) < 0)
		return -1;
	if ((l->n & (l->n - 1)) == 0) /* full: 0, 1, 2, 4, ... */
		l->at = xrealloc(l->at, (size_t)(l->n ? 2 * l->n : 1) * sizeof(*l->at));
	l->at[l->n++] = *r;
	return 0;
}

static int by_arrival(const void *a, const void *b)
{
	const struct real_request *x = a, *y = b;

	if (x->arrive_ns != y->arrive_ns)
		return x->arrive_ns < y->arrive_ns ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static void start_at_0(struct real_log *l)
{
	int64_t first_ns = l->at[0].arrive_ns;

	for (int64_t i = 0; i < l->n; i++) {
		struct real_request *r = &l->at[i];

		r->arrive_ns -= first_ns;
		r->last_ns -= first_ns;
		r->schedule_ns -= r->schedule_ns < 0 ? 0 : first_ns;
		r->first_ns -= r->first_ns < 0 ? 0 : first_ns;
	}
}

static int read_log(struct real_log *l, struct input *in, const struct real_columns *columns,
		    struct err *e)
{
	const char *head;
	size_t len;

	if (input_head(in, &head, &len, e) < 0)
		return -1;
	int result = !columns && vllm_is(head, len) ? real_log_vllm(l, in, e)
						    : real_log_csv(l, in, columns, e);

	if (result < 0)
		return -1;
	if (l->n == 0)
		return err_set(e, "%s: no request that succeeded: %lld failed", input_name(in),
			       (long long)l->failed);
	qsort(l->at, (size_t)l->n, sizeof(*l->at), by_arrival);
	start_at_0(l);
	return 0;
}

int real_log_read(struct real_log *l, const char *path, const char *columns, struct err *e)
{
	struct real_columns c = {0};

	*l = (struct real_log){.has_arrivals = true, .rate_rps = NAN};
	if (columns && real_columns_parse(columns, &c, e) < 0)
		return -1;
	struct input *in = input_open(path, e);
	int result = in ? read_log(l, in, columns ? &c : NULL, e) : -1;

	input_close(in);
	real_columns_release(&c);
	if (result < 0)
		real_log_release(l);
	return result;
}

void real_log_release(struct real_log *l)
{
	free(l->at);
	l->at = NULL;
}
