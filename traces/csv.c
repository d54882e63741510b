/* csv.c: traces as CSV, cut into fields by libcsv, a row at a time. */
#include "traces/csv_source.h"
#include <string.h>

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

/* The name of column `at` (from 1) as the header has it. */
static const char *column_name(const struct csv_source *s, int64_t at)
{
	const char *p = s->names;
	for (int64_t i = 1; p && i < at; i++)
		p += strlen(p) + 1;
	return p;
}

struct cell csv_cell(const struct csv_source *s, int which)
{
	size_t i = (size_t)s->at[which] - 1;
	return (struct cell){
		.file = input_name(s->in),
		.line = s->line,
		.column = s->at[which],
		.name = column_name(s, s->at[which]),
		.text = csv_field(s, i),
		.len = s->field[i + 1] - s->field[i] - 1,
	};
}

int csv_tok(const struct csv_source *s, int which, int64_t *tok, struct err *e)
{
	struct cell c = csv_cell(s, which);
	return cell_tok(&c, tok, e);
}

/* BurstGPT's client is the model and the log type, with a space in between. */
static int read_logged_client(struct csv_source *s, struct trace_row *row, struct err *e)
{
	struct cell model = csv_cell(s, COLUMN_CLIENT), log = csv_cell(s, COLUMN_LOG);
	char text[NAME_MAX_BYTES + 1], shown[SHOWN_SIZE];
	if (strcmp(log.text, burstgpt_logs[0]) != 0 && strcmp(log.text, burstgpt_logs[1]) != 0)
		return cell_refuse(&log, e, "'%s' is neither %s nor %s",
				   show_text(log.text, log.len, shown), burstgpt_logs[0],
				   burstgpt_logs[1]);
	if (model.len == 0)
		return cell_refuse(&model, e, "is empty: expected the name of a model");
	if (model.len + 1 + log.len > NAME_MAX_BYTES)
		return cell_refuse(&model, e, "is too long: expected the name of a model");
	snprintf(text, sizeof(text), "%s %s", model.text, log.text);
	model.text = text;
	model.len += 1 + log.len;
	return cell_name(&model, &s->base.clients, &row->client, e);
}

/* What follows from the lengths. */
static int check_derived(const struct csv_source *s, const struct trace_row *row, struct err *e)
{
	if (s->at[COLUMN_TOTAL]) {
		struct cell c = csv_cell(s, COLUMN_TOTAL);
		if (cell_total(&c, row->prompt_tok + row->output_tok, e))
			return -1;
	}
	if (s->at[COLUMN_RATIO]) {
		struct cell c = csv_cell(s, COLUMN_RATIO);
		if (cell_ratio(&c, e))
			return -1;
	}
	return 0;
}

/* The columns that few formats have. */
static int read_more(struct csv_source *s, struct trace_row *row, struct err *e)
{
	if (s->at[COLUMN_MAX_TOK]) {
		struct cell c = csv_cell(s, COLUMN_MAX_TOK);
		if (cell_limit(&c, &row->max_tok, e))
			return -1;
	}
	/* an empty priority is none */
	if (s->at[COLUMN_PRIORITY] && *csv_field(s, (size_t)s->at[COLUMN_PRIORITY] - 1)) {
		struct cell c = csv_cell(s, COLUMN_PRIORITY);
		if (cell_priority(&c, &row->priority, e))
			return -1;
	}
	if (s->at[COLUMN_LOG]) {
		if (read_logged_client(s, row, e))
			return -1;
	} else if (s->at[COLUMN_CLIENT]) {
		struct cell c = csv_cell(s, COLUMN_CLIENT);
		if (cell_name(&c, &s->base.clients, &row->client, e))
			return -1;
	}
	if (s->at[COLUMN_SESSION]) {
		struct cell c = csv_cell(s, COLUMN_SESSION);
		if (cell_name(&c, &s->base.sessions, &row->session, e))
			return -1;
	}
	if (s->at[COLUMN_SERVICE]) {
		struct cell c = csv_cell(s, COLUMN_SERVICE);
		if (cell_service(&c, s->clock, &row->service_ns, e))
			return -1;
	}
	return check_derived(s, row, e);
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
		struct cell c = csv_cell(s, COLUMN_ARRIVAL);
		if (cell_arrival(&c, &s->clock, &row->arrive_ns, e))
			return -1;
		base->wall_clock = s->clock == CLOCK_WALL;
	}
	if (csv_tok(s, COLUMN_PROMPT, &row->prompt_tok, e) ||
	    csv_tok(s, COLUMN_OUTPUT, &row->output_tok, e))
		return -1;
	return s->more && read_more(s, row, e) ? -1 : 1;
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
	if (read_row(s, e) < 0 || csv_read_header(s, columns, e)) {
		source_free(&s->base);
		return NULL;
	}
	return &s->base;
}
