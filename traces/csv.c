/* csv.c: traces as CSV, cut into fields by libcsv, a row at a time. */
#include "traces/source.h"
#include <csv.h>
#include <string.h>

enum { FIELDS_MAX = 256 };

const char *const azure_csv_header[N_COLUMNS] = {
	[COLUMN_ARRIVAL] = "TIMESTAMP",
	[COLUMN_PROMPT] = "ContextTokens",
	[COLUMN_OUTPUT] = "GeneratedTokens",
};
const char *const omnibus_csv_header[N_COLUMNS] = {
	[COLUMN_ARRIVAL] = "arrive_s",
	[COLUMN_PROMPT] = "prompt_tok",
	[COLUMN_OUTPUT] = "output_tok",
	[COLUMN_MAX_TOK] = "max_tok",
};

/* Headers that need no --columns; the last column may be missing. */
static const struct known {
	enum kind kind;
	enum clock clock;
	const char *const *header;
} known[] = {
	{KIND_AZURE_CSV, CLOCK_WALL, azure_csv_header},
	{KIND_OMNIBUS_CSV, CLOCK_S, omnibus_csv_header},
};
enum { N_KNOWN = sizeof(known) / sizeof(known[0]) };

struct csv_source {
	struct source base;
	struct input *in;
	struct csv_parser parser;
	enum clock clock;
	int64_t at[N_COLUMNS]; /* column of each, from 1; 0: none */
	char *names;	       /* the header's fields one after the other; NULL: no header */
	size_t n_columns;      /* in every row */
	/* the row being read */
	char *text;
	size_t text_len, text_size;
	size_t field[FIELDS_MAX + 1]; /* where each field starts in text, and where the last ends */
	size_t n_fields;
	int64_t line;
	bool complete;
};

static void on_field(void *data, size_t len, void *arg)
{
	struct csv_source *s = arg;
	if (s->n_fields++ >= FIELDS_MAX)
		return; /* refused when the row is complete */
	if (s->text_len + len + 1 > s->text_size) {
		s->text_size = 2 * (s->text_len + len + 1);
		s->text = xrealloc(s->text, s->text_size);
	}
	if (len > 0)
		memcpy(s->text + s->text_len, data, len);
	s->text[s->text_len + len] = '\0';
	s->text_len += len + 1;
	s->field[s->n_fields] = s->text_len;
}

static void on_row(int end, void *arg)
{
	struct csv_source *s = arg;
	(void)end;
	s->complete = true;
}

static int is_lf(unsigned char c)
{
	return c == '\n';
}

static bool is_blank(const char *line, size_t len)
{
	size_t i = 0;
	while (i < len && (line[i] == ' ' || line[i] == '\t'))
		i++;
	return i == len;
}

/* Reads one row into s->text; a quoted field may go over several lines. 1, 0 at the end, -1. */
static int read_row(struct csv_source *s, struct err *e)
{
	const char *file = input_name(s->in);
	char *line;
	size_t len;
	s->text_len = s->n_fields = 0;
	s->complete = false;
	s->line = 0;
	while (!s->complete) {
		int more = input_line(s->in, &line, &len, e);
		if (more == 0 && s->line > 0)
			return err_set(e, "%s:%lld: a quote that is opened here is never closed",
				       file, (long long)s->line);
		if (more <= 0)
			return more;
		if (s->line == 0 && is_blank(line, len))
			continue;
		if (s->line == 0)
			s->line = input_line_no(s->in);
		line[len] = '\n'; /* in place of the NUL: see input_line() */
		if (csv_parse(&s->parser, line, len + 1, on_field, on_row, s) != len + 1)
			return err_set(e, "%s:%lld: column %zu: a quote in a wrong place (%s)",
				       file, (long long)input_line_no(s->in), s->n_fields + 1,
				       csv_strerror(csv_error(&s->parser)));
		line[len] = '\0';
		if (!s->complete && s->text_len + len > (16 << 20))
			return err_set(e, "%s:%lld: a quoted field of more than 16 MiB", file,
				       (long long)s->line);
	}
	if (s->n_fields > FIELDS_MAX)
		return err_set(e, "%s:%lld: %zu columns: at most %d can be read", file,
			       (long long)s->line, s->n_fields, FIELDS_MAX);
	return 1;
}

static const char *field(const struct csv_source *s, size_t i)
{
	return s->text + s->field[i];
}

/* The name of column `at` (from 1) as the header has it. */
static const char *column_name(const struct csv_source *s, int64_t at)
{
	const char *p = s->names;
	for (int64_t i = 1; p && i < at; i++)
		p += strlen(p) + 1;
	return p;
}

static struct cell cell_of(const struct csv_source *s, enum column which)
{
	size_t i = (size_t)s->at[which] - 1;
	return (struct cell){
		.file = input_name(s->in),
		.line = s->line,
		.column = s->at[which],
		.name = column_name(s, s->at[which]),
		.text = field(s, i),
		.len = s->field[i + 1] - s->field[i] - 1,
	};
}

static int read_tok(const struct csv_source *s, enum column which, int64_t *tok, struct err *e)
{
	struct cell c = cell_of(s, which);
	return cell_tok(&c, tok, e);
}

static int csv_next(struct source *base, struct trace_row *row, struct err *e)
{
	struct csv_source *s = (struct csv_source *)base;
	int more = read_row(s, e);
	if (more <= 0)
		return more;
	if (s->n_fields != s->n_columns)
		return err_set(e, "%s:%lld: column %zu: the row has %zu columns, expected %zu",
			       input_name(s->in), (long long)s->line,
			       (s->n_fields < s->n_columns ? s->n_fields : s->n_columns) + 1,
			       s->n_fields, s->n_columns);
	*row = (struct trace_row){.line = s->line};
	if (s->at[COLUMN_ARRIVAL]) {
		struct cell c = cell_of(s, COLUMN_ARRIVAL);
		if (cell_arrival(&c, &s->clock, &row->arrive_ns, e))
			return -1;
		base->wall_clock = s->clock == CLOCK_WALL;
	}
	if (read_tok(s, COLUMN_PROMPT, &row->prompt_tok, e) ||
	    read_tok(s, COLUMN_OUTPUT, &row->output_tok, e))
		return -1;
	/* An empty limit is no limit. */
	if (s->at[COLUMN_MAX_TOK] && *field(s, (size_t)s->at[COLUMN_MAX_TOK] - 1) &&
	    read_tok(s, COLUMN_MAX_TOK, &row->max_tok, e))
		return -1;
	return 1;
}

static bool header_is(const struct csv_source *s, const char *const *header)
{
	size_t n = header[COLUMN_MAX_TOK] ? N_COLUMNS : N_COLUMNS - 1;
	if (s->n_fields > n || s->n_fields < N_COLUMNS - 1)
		return false;
	for (size_t i = 0; i < s->n_fields; i++)
		if (strcmp(field(s, i), header[i]) != 0)
			return false;
	return true;
}

static int detect(struct csv_source *s, struct err *e)
{
	for (size_t i = 0; i < N_KNOWN; i++) {
		if (!header_is(s, known[i].header))
			continue;
		s->base.kind = known[i].kind;
		s->clock = known[i].clock;
		for (size_t c = 0; c < s->n_fields; c++)
			s->at[c] = (int64_t)c + 1;
		return 0;
	}
	char shown[SHOWN_SIZE], line[256];
	size_t n = 0;
	for (size_t i = 0; i < s->text_len && n < sizeof(line); i++, n++)
		line[n] = s->text[i] ? s->text[i] : ',';
	return err_set(e,
		       "%s:%lld: column 1: '%s' is no header that is known: expected "
		       "TIMESTAMP,ContextTokens,GeneratedTokens (Azure), "
		       "arrive_s,prompt_tok,output_tok[,max_tok], a line of JSON, or --columns "
		       "arrival=..,prompt=..,output=..,unit=..",
		       input_name(s->in), (long long)s->line,
		       show_text(line, n > 0 ? n - 1 : 0, shown));
}

static int find_column(struct csv_source *s, const struct columns *c, enum column which,
		       struct err *e)
{
	if (c->number[which] > (int64_t)s->n_fields)
		return err_set(e, "%s:%lld: --columns names column %lld, the file has %zu",
			       input_name(s->in), (long long)s->line, (long long)c->number[which],
			       s->n_fields);
	s->at[which] = c->number[which];
	if (!c->name[which])
		return 0;
	const char *names[FIELDS_MAX];
	for (size_t i = 0; i < s->n_fields; i++) {
		names[i] = field(s, i);
		if (strcmp(names[i], c->name[which]) == 0) {
			s->at[which] = (int64_t)i + 1;
			return 0;
		}
	}
	char kind[512];
	snprintf(kind, sizeof(kind), "column of %s:%lld", input_name(s->in), (long long)s->line);
	return err_unknown(e, kind, c->name[which], names, s->n_fields);
}

/* The first line is a header unless every column wanted is given by number and holds a number. */
static bool first_is_header(struct csv_source *s, const struct columns *c)
{
	struct err ignored;
	int64_t tok;
	for (enum column i = 0; i < N_COLUMNS; i++)
		if (c->name[i])
			return true;
	return read_tok(s, COLUMN_PROMPT, &tok, &ignored) != 0 &&
	       read_tok(s, COLUMN_OUTPUT, &tok, &ignored) != 0;
}

static int start(struct csv_source *s, const struct columns *columns, struct err *e)
{
	if (read_row(s, e) < 0)
		return -1;
	s->n_columns = s->n_fields;
	bool header = true;
	if (columns) {
		s->base.kind = KIND_CSV;
		s->clock = columns->clock;
		for (enum column i = 0; i < N_COLUMNS; i++)
			if (find_column(s, columns, i, e))
				return -1;
		header = first_is_header(s, columns);
	} else if (detect(s, e)) {
		return -1;
	}
	s->base.has_max_tok = s->at[COLUMN_MAX_TOK] > 0;
	if (header) {
		s->names = xmalloc(s->text_len);
		memcpy(s->names, s->text, s->text_len);
	} else {
		input_again(s->in);
	}
	return 0;
}

static double csv_progress(const struct source *base)
{
	return input_progress(((const struct csv_source *)base)->in);
}

static void csv_free_source(struct source *base)
{
	struct csv_source *s = (struct csv_source *)base;
	csv_free(&s->parser);
	input_close(s->in);
	free(s->names);
	free(s->text);
	free(s);
}

static const struct source_ops csv_ops = {
	.next = csv_next,
	.progress = csv_progress,
	.free = csv_free_source,
};

struct source *csv_new(struct input *in, const struct columns *columns, struct err *e)
{
	struct csv_source *s = xcalloc(1, sizeof(*s));
	s->base.ops = &csv_ops;
	s->in = in;
	CHECK(csv_init(&s->parser, CSV_STRICT) == 0, "libcsv does not start");
	csv_set_term_func(&s->parser, is_lf);
	if (start(s, columns, e)) {
		csv_free_source(&s->base);
		return NULL;
	}
	return &s->base;
}
