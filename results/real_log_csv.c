/* real_log_csv.c: logs as CSV, cut into fields by libcsv. */
#include "results/real_log_reader.h"
#include <csv.h>
#include <math.h>
#include <string.h>

enum { FIELDS_MAX = 256 };

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
	struct err *e;
	bool failed, has_header;
	enum clock clock;
	int at[N_REAL_COLUMNS]; /* field of each, from 1; 0: none */
	char *names;		/* the header's fields, each with its NUL */
	size_t n_columns;
	/* the row being read */
	char *text;
	size_t text_len, text_size, field[FIELDS_MAX + 1], n;
};

static void on_field(void *data, size_t len, void *arg)
{
	struct reader *r = arg;

	if (r->n == FIELDS_MAX)
		return; /* a row of so many is refused */
	if (r->text_len + len + 1 > r->text_size) {
		r->text_size = 2 * (r->text_len + len + 1);
		r->text = xrealloc(r->text, r->text_size);
	}
	memcpy(r->text + r->text_len, data, len);
	r->text[r->text_len + len] = '\0';
	r->text_len += len + 1;
	r->field[++r->n] = r->text_len;
}

static struct cell cell_of(const struct reader *r, enum real_column which)
{
	size_t i = (size_t)r->at[which] - 1;
	const char *name = r->names;

	for (size_t k = 0; k < i; k++)
		name += strlen(name) + 1;
	return (struct cell){.file = input_name(r->in),
			     .line = input_line_no(r->in),
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

/* By name, or by number from 1. */
static int find_column(const struct reader *r, const char *name, struct err *e)
{
	const char *names[FIELDS_MAX];
	int at = find_field(r, name);

	if (at == 0 && name[strspn(name, "0123456789")] == '\0' && strlen(name) < 4)
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
				       input_name(r->in), (long long)input_line_no(r->in),
				       known[0].format);
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
	r->has_header = true;
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
	struct real_request q = {
		.line = input_line_no(r->in), .gap_mean_ns = NAN, .gap_max_ns = NAN};
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
	bool blank = r->n == 0 || (r->n == 1 && r->field[1] == 1);

	(void)end;
	if (!r->failed && !blank) {
		int result = r->n == FIELDS_MAX
				     ? err_set(r->e, "%s:%lld: at most %d columns can be read",
					       input_name(r->in), (long long)input_line_no(r->in),
					       FIELDS_MAX - 1)
			     : r->has_header ? read_request(r, r->e)
					     : read_header(r, r->e);
		r->failed = result < 0;
	}
	r->n = r->text_len = 0;
}

static int read_rows(struct reader *r, struct csv_parser *parser, struct err *e)
{
	char *line;
	size_t len;
	int more;

	while (!r->failed && (more = input_line(r->in, &line, &len, e)) > 0) {
		line[len] = '\n'; /* in place of the NUL: see input_line() */
		if (csv_parse(parser, line, len + 1, on_field, on_row, r) != len + 1)
			return err_set(e, "%s:%lld: column %zu: a quote in a wrong place (%s)",
				       input_name(r->in), (long long)input_line_no(r->in), r->n + 1,
				       csv_strerror(csv_error(parser)));
		line[len] = '\0';
	}
	if (r->failed || more < 0)
		return -1;
	if (r->n > 0 || r->text_len > 0)
		return err_set(e, "%s: a quote is opened in the last row and never closed",
			       input_name(r->in));
	if (!r->has_header)
		return err_set(e, "%s: is empty: expected the log of a real server",
			       input_name(r->in));
	return 0;
}

int real_log_csv(struct real_log *l, struct input *in, const struct real_columns *columns,
		 struct err *e)
{
	struct reader r = {.log = l,
			   .columns = columns,
			   .in = in,
			   .e = e,
			   .clock = columns ? columns->clock : CLOCK_S};
	struct csv_parser parser;

	if (csv_init(&parser, CSV_STRICT) != 0)
		no_memory(1, sizeof(parser));
	int result = read_rows(&r, &parser, e);

	csv_free(&parser);
	free(r.text);
	free(r.names);
	return result;
}
