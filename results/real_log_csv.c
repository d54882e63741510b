/* real_log_csv.c: logs as CSV, cut into fields by libcsv. */
#include "results/real_log_reader.h"
#include <csv.h>
#include <math.h>
#include <string.h>

enum { FIELDS_MAX = 256, ROW_MAX = 16 << 20 };

/* Headers that need no --columns. */
static const struct known {
	const char *format;
	const char *name[N_REAL_COLUMNS];
} known[] = {
	/* an engine's own clock: it takes requests in between two steps, and that is their arrival
	 */
	{"vllm-requests-csv",
	 {[REAL_ARRIVAL] = "queued_s",
	  [REAL_PROMPT] = "input_tokens",
	  [REAL_OUTPUT] = "output_tokens",
	  [REAL_SCHEDULED] = "scheduled_s",
	  [REAL_FIRST] = "first_token_s",
	  [REAL_LAST] = "last_token_s"}},
};
enum { N_KNOWN = sizeof(known) / sizeof(known[0]) };

struct reader {
	struct real_log *log;
	const struct real_columns *columns;
	struct input *in;
	enum clock clock;
	int at[N_REAL_COLUMNS]; /* field of each, from 1; 0: none */
	char *names;		/* the header's fields, each with its NUL */
	size_t n_columns;
	/* the row being read; a quoted field goes on over ends of lines */
	bool complete;
	int64_t line;	    /* its first; 0: none yet */
	int64_t field_line; /* where the field that is not complete began */
	char *text;
	size_t text_len, text_size, field[FIELDS_MAX + 1], n;
};

static void on_field(void *data, size_t len, void *arg)
{
	struct reader *r = arg;

	if (r->n++ >= FIELDS_MAX)
		return; /* a row of so many is refused */
	if (r->text_len + len + 1 > r->text_size) {
		r->text_size = 2 * (r->text_len + len + 1);
		r->text = xrealloc(r->text, r->text_size);
	}
	if (len > 0)
		memcpy(r->text + r->text_len, data, len);
	r->text[r->text_len + len] = '\0';
	r->text_len += len + 1;
	r->field[r->n] = r->text_len;
}

static struct cell cell_of(const struct reader *r, enum real_column which)
{
	size_t i = (size_t)r->at[which] - 1;
	const char *name = r->names;

	for (size_t k = 0; k < i; k++)
		name += strlen(name) + 1;
	return (struct cell){.file = input_name(r->in),
			     .line = r->line,
			     .column = r->at[which],
			     .name = name,
			     .text = r->text + r->field[i],
			     .len = r->field[i + 1] - r->field[i] - 1};
}

/* The field of that name, from 1; 0: none. */
static int find_field(const struct reader *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->text + r->field[i], name) == 0)
			return (int)i + 1;
	return 0;
}

/* -1: a sentence where another field behind `at` has its name. */
static int check_once(const struct reader *r, int at, struct err *e)
{
	const char *name = r->text + r->field[at - 1];

	for (size_t i = (size_t)at; i < r->n; i++)
		if (strcmp(r->text + r->field[i], name) == 0)
			return err_set(e,
				       "%s:%lld: the header has '%.100s' in columns %d and %zu: "
				       "--columns takes the number of the one that is meant",
				       input_name(r->in), (long long)r->line, name, at, i + 1);
	return at;
}

/* By name, or by number from 1. */
static int find_column(const struct reader *r, const char *name, struct err *e)
{
	const char *names[FIELDS_MAX];
	int at = find_field(r, name);

	if (at > 0)
		return check_once(r, at, e);
	if (name[strspn(name, "0123456789")] == '\0' && strlen(name) < 4)
		at = atoi(name);
	if (at >= 1 && at <= (int)r->n)
		return at;
	for (size_t i = 0; i < r->n; i++)
		names[i] = r->text + r->field[i];
	return err_unknown(e, "column of the log", name, names, r->n);
}

static const struct known *find_known(const struct reader *r)
{
	for (int i = 0; i < N_KNOWN; i++) {
		int missing = 0;

		for (int k = 0; k < N_REAL_COLUMNS; k++)
			missing += find_field(r, known[i].name[k]) == 0;
		if (missing == 0)
			return &known[i];
	}
	return NULL;
}

static int read_header(struct reader *r, struct err *e)
{
	const char *const *name = r->columns ? r->columns->name : NULL;

	r->log->format = "csv";
	if (!name) {
		const struct known *format = find_known(r);

		if (!format)
			return err_set(e,
				       "%s:%lld: the header is of no log that is known (%s): "
				       "--columns arrival=C,prompt=C,output=C,last=C[,first=C]"
				       "[,scheduled=C][,unit=s|ms|us|ns] says what stands where",
				       input_name(r->in), (long long)r->line, known[0].format);
		name = format->name;
		r->log->format = format->format;
	}
	for (int i = 0; i < N_REAL_COLUMNS; i++) {
		r->at[i] = name[i] ? find_column(r, name[i], e) : 0;
		if (r->at[i] < 0)
			return -1;
	}
	r->names = xcalloc(1, r->text_len + 1);
	memcpy(r->names, r->text, r->text_len);
	r->n_columns = r->n;
	return 0;
}

static int read_time(struct reader *r, enum real_column which, int64_t *ns, struct err *e)
{
	*ns = -1;
	if (r->at[which] == 0)
		return 0;
	struct cell c = cell_of(r, which);

	return cell_arrival(&c, &r->clock, ns, e);
}

static int read_request(struct reader *r, struct err *e)
{
	struct real_request q = {.line = r->line, .gap_mean_ns = NAN, .gap_max_ns = NAN};
	struct cell prompt = cell_of(r, REAL_PROMPT), output = cell_of(r, REAL_OUTPUT);

	if (r->n != r->n_columns)
		return err_set(e, "%s:%lld: the row has %zu columns and the header %zu",
			       input_name(r->in), (long long)q.line, r->n, r->n_columns);
	if (cell_tok(&prompt, &q.prompt_tok, e) < 0 || cell_tok(&output, &q.output_tok, e) < 0)
		return -1;
	if (q.output_tok == 0 || q.prompt_tok == 0) {
		r->log->failed++;
		return 0;
	}
	if (read_time(r, REAL_ARRIVAL, &q.arrive_ns, e) < 0 ||
	    read_time(r, REAL_SCHEDULED, &q.schedule_ns, e) < 0 ||
	    read_time(r, REAL_FIRST, &q.first_ns, e) < 0 ||
	    read_time(r, REAL_LAST, &q.last_ns, e) < 0)
		return -1;
	return real_log_add(r->log, &q, input_name(r->in), e);
}

static void on_row(int end, void *arg)
{
	struct reader *r = arg;

	(void)end;
	r->complete = true;
}

static int is_lf(unsigned char c)
{
	return c == '\n';
}

/* One line of the row, followed by a NUL. */
static int read_line(struct reader *r, struct csv_parser *parser, char *line, size_t len,
		     struct err *e)
{
	size_t n = r->n;
	int64_t line_no = input_line_no(r->in);

	if (r->line == 0)
		r->line = r->field_line = line_no;
	line[len] = '\n'; /* in place of the NUL: see input_line() */
	if (csv_parse(parser, line, len + 1, on_field, on_row, r) != len + 1)
		return err_set(e, "%s:%lld: column %zu: a quote in a wrong place (%s)",
			       input_name(r->in), (long long)line_no, r->n + 1,
			       csv_strerror(csv_error(parser)));
	line[len] = '\0';
	if (r->n > n)
		r->field_line = line_no;
	if (!r->complete && r->text_len + len > ROW_MAX)
		return err_set(e, "%s:%lld: a quoted field of more than 16 MiB", input_name(r->in),
			       (long long)r->field_line);
	return 0;
}

/* The next row that is not blank. 1, 0 at the end, -1. */
static int read_row(struct reader *r, struct csv_parser *parser, struct err *e)
{
	char *line;
	size_t len;

	r->n = r->text_len = 0;
	r->line = 0;
	r->complete = false;
	while (!r->complete) {
		int more = input_line(r->in, &line, &len, e);

		if (more == 0 && r->line > 0)
			return err_set(e, "%s:%lld: a quote that is opened here is never closed",
				       input_name(r->in), (long long)r->field_line);
		if (more <= 0)
			return more;
		if (r->line == 0 && strspn(line, " \t") == len)
			continue;
		if (read_line(r, parser, line, len, e) < 0)
			return -1;
	}
	if (r->n > FIELDS_MAX)
		return err_set(e, "%s:%lld: %zu columns: at most %d can be read", input_name(r->in),
			       (long long)r->line, r->n, FIELDS_MAX);
	return 1;
}

static int read_rows(struct reader *r, struct csv_parser *parser, struct err *e)
{
	int more = read_row(r, parser, e);

	if (more == 0)
		return err_set(e, "%s: is empty: expected the log of a real server",
			       input_name(r->in));
	if (more < 0 || read_header(r, e) < 0)
		return -1;
	while ((more = read_row(r, parser, e)) > 0)
		if (read_request(r, e) < 0)
			return -1;
	return more;
}

int real_log_csv(struct real_log *l, struct input *in, const struct real_columns *columns,
		 struct err *e)
{
	struct reader r = {.log = l,
			   .columns = columns,
			   .in = in,
			   .clock = columns ? columns->clock : CLOCK_S};
	struct csv_parser parser;

	if (csv_init(&parser, CSV_STRICT) != 0)
		no_memory(1, sizeof(parser));
	csv_set_term_func(&parser, is_lf);
	int result = read_rows(&r, &parser, e);

	csv_free(&parser);
	free(r.text);
	free(r.names);
	return result;
}
