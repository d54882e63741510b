#include "calibrate/import_table.h"
#include "sim/options.h"
#include "traces/input.h"
#include <csv.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COLUMNS_MAX = 32, CELL_MAX = 128 };

struct cells {
	char text[COLUMNS_MAX][CELL_MAX];
	size_t n;
	bool complete, long_cell;
};

struct table {
	struct input *in;
	struct csv_parser parser;
	struct cells header, row;
	char *header_line;
	struct err *e;
	bool failed;
};

static void on_cell(void *data, size_t len, void *arg)
{
	struct cells *c = arg;

	if (len >= CELL_MAX)
		c->long_cell = true;
	else if (c->n < COLUMNS_MAX)
		snprintf(c->text[c->n], CELL_MAX, "%.*s", (int)len, data ? (char *)data : "");
	c->n++;
}

static void on_row(int end, void *arg)
{
	struct cells *c = arg;

	(void)end;
	c->complete = true;
}

static int fail_line(struct table *t, const char *text)
{
	err_set(t->e, "%.400s:%" PRId64 ": %s", input_name(t->in), input_line_no(t->in), text);
	t->failed = true;
	return -1;
}

/* Cuts a line, that is followed by a NUL, into cells. */
static int cut(struct table *t, char *line, size_t len, struct cells *c)
{
	c->n = 0;
	c->complete = c->long_cell = false;
	line[len] = '\n';
	if (csv_parse(&t->parser, line, len + 1, on_cell, on_row, c) != len + 1)
		return fail_line(t, csv_strerror(csv_error(&t->parser)));
	line[len] = '\0';
	if (!c->complete)
		return fail_line(t, "a quote that is opened here is not closed");
	if (c->n > COLUMNS_MAX)
		return fail_line(t, "more than 32 columns: no table of measurements has so many");
	if (c->long_cell)
		return fail_line(t, "a cell has more than 127 bytes");
	return 1;
}

/* The next line that is not blank. */
static int next_line(struct table *t, struct cells *c, char **line)
{
	size_t len;
	int more;

	do {
		more = input_line(t->in, line, &len, t->e);
		if (more < 0)
			t->failed = true;
		if (more <= 0)
			return more;
	} while (strspn(*line, " \t") == len);
	return cut(t, *line, len, c);
}

struct table *table_open(const char *path, struct err *e)
{
	struct stat st;
	char *line;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		err_set(e, "%.700s is a directory: expected a table of times", path);
		return NULL;
	}
	struct input *in = access(path, R_OK) == 0 ? input_open(path, e) : NULL;

	if (!in) {
		if (access(path, R_OK) != 0)
			err_set(e, "cannot read the table %.700s: %s", path, strerror(errno));
		return NULL;
	}
	struct table *t = xcalloc(1, sizeof(*t));
	t->in = in;
	t->e = e;
	CHECK(csv_init(&t->parser, CSV_STRICT | CSV_APPEND_NULL) == 0, "libcsv does not start");
	int more = next_line(t, &t->header, &line);
	if (more > 0) {
		t->header_line = xstrdup(line);
		return t;
	}
	if (more == 0)
		err_set(e, "%.700s is empty: a table begins with its header", path);
	table_close(t);
	return NULL;
}

void table_close(struct table *t)
{
	if (!t)
		return;
	csv_free(&t->parser);
	input_close(t->in);
	free(t->header_line);
	free(t);
}

const char *table_header(const struct table *t)
{
	return t->header_line;
}

const char *table_name(const struct table *t)
{
	return input_name(t->in);
}

int64_t table_line(const struct table *t)
{
	return input_line_no(t->in);
}

int table_next(struct table *t)
{
	char *line, text[128];

	if (t->failed)
		return -1;
	int more = next_line(t, &t->row, &line);
	if (more <= 0 || t->row.n == t->header.n)
		return more;
	snprintf(text, sizeof(text), "the row has %zu columns, the header %zu", t->row.n,
		 t->header.n);
	return fail_line(t, text);
}

bool table_failed(const struct table *t)
{
	return t->failed;
}

void table_fail(struct table *t, const char *column, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (t->failed)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(t->e, "%.400s:%" PRId64 ": %s %s", input_name(t->in), input_line_no(t->in), column,
		text);
	t->failed = true;
}

const char *table_text(const struct table *t, const char *column)
{
	for (size_t i = 0; i < t->header.n; i++)
		if (strcmp(t->header.text[i], column) == 0)
			return t->row.text[i];
	CHECK(0, "no column %s in %s", column, t->header_line);
}

/* "FILE:LINE: COLUMN", as what a number is in a sentence. */
static void where(const struct table *t, const char *column, char what[512])
{
	snprintf(what, 512, "%.400s:%" PRId64 ": %s", input_name(t->in), input_line_no(t->in),
		 column);
}

int64_t table_int(struct table *t, const char *column, int64_t min, int64_t max)
{
	char what[512];
	int64_t value = 0;

	if (t->failed)
		return 0;
	where(t, column, what);
	t->failed = parse_int(table_text(t, column), what, min, max, &value, t->e) < 0;
	return t->failed ? 0 : value;
}

double table_real(struct table *t, const char *column, double min, double max)
{
	char what[512];
	double value = 0;

	if (t->failed)
		return 0;
	where(t, column, what);
	t->failed = parse_real(table_text(t, column), what, min, max, &value, t->e) < 0;
	return t->failed ? 0 : value;
}

double table_ns(struct table *t, const char *column, double unit_ns)
{
	const double hour_ns = 3600e9;
	double value = table_real(t, column, 0, hour_ns / unit_ns);

	if (!t->failed && !(value > 0))
		table_fail(t, column, "is 0: a time that was measured is above 0");
	return value * unit_ns;
}
