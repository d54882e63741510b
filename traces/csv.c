/* csv.c: traces as CSV, cut into fields by libcsv, a row at a time. */
#include "traces/source.h"
#include <csv.h>
#include <string.h>

enum { FIELDS_MAX = 256 };

const char azure_csv_header[] = "TIMESTAMP,ContextTokens,GeneratedTokens";
const char burstgpt_header[] =
	"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type";
const char burstgpt_3_header[] = "Timestamp,Session ID,Elapsed time,Model,Request tokens,"
				 "Response tokens,Total tokens,Log Type";
const char lengths_csv_header[] = "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio";
const char *const burstgpt_logs[2] = {"Conversation log", "API log"};
const char *const omnibus_csv_columns[N_COLUMNS] = {
	[COLUMN_ARRIVAL] = "arrive_s",	[COLUMN_PROMPT] = "prompt_tok",
	[COLUMN_OUTPUT] = "output_tok", [COLUMN_MAX_TOK] = "max_tok",
	[COLUMN_PRIORITY] = "priority", [COLUMN_CLIENT] = "client",
	[COLUMN_SESSION] = "session",	[COLUMN_SERVICE] = "service_s",
};

/* Columns that only some headers have, behind those that --columns can name. */
enum {
	COLUMN_TOTAL = N_COLUMNS, /* tokens, only checked */
	COLUMN_LOG,		  /* the second part of a client's name */
	N_CSV_COLUMNS,
};

/* Headers that need no --columns, and what stands where in them. */
static const struct known {
	enum kind kind;
	enum clock clock;
	const char *header;
	int at[N_CSV_COLUMNS]; /* from 1; 0: has none */
	size_t least;	       /* columns, the rest may be missing */
} known[] = {
	{KIND_AZURE_CSV,
	 CLOCK_WALL,
	 azure_csv_header,
	 {[COLUMN_ARRIVAL] = 1, [COLUMN_PROMPT] = 2, [COLUMN_OUTPUT] = 3},
	 3},
	{KIND_BURSTGPT,
	 CLOCK_S,
	 burstgpt_header,
	 {[COLUMN_ARRIVAL] = 1,
	  [COLUMN_CLIENT] = 2,
	  [COLUMN_PROMPT] = 3,
	  [COLUMN_OUTPUT] = 4,
	  [COLUMN_TOTAL] = 5,
	  [COLUMN_LOG] = 6},
	 6},
	{KIND_BURSTGPT_3,
	 CLOCK_S,
	 burstgpt_3_header,
	 {[COLUMN_ARRIVAL] = 1,
	  [COLUMN_SESSION] = 2,
	  [COLUMN_SERVICE] = 3,
	  [COLUMN_CLIENT] = 4,
	  [COLUMN_PROMPT] = 5,
	  [COLUMN_OUTPUT] = 6,
	  [COLUMN_TOTAL] = 7,
	  [COLUMN_LOG] = 8},
	 8},
	{KIND_LENGTHS_CSV,
	 CLOCK_S,
	 lengths_csv_header,
	 {[COLUMN_PROMPT] = 1, [COLUMN_OUTPUT] = 2, [COLUMN_TOTAL] = 3},
	 2},
};
enum { N_KNOWN = sizeof(known) / sizeof(known[0]) };

struct csv_source {
	struct source base;
	struct input *in;
	struct csv_parser parser;
	enum clock clock;
	int64_t at[N_CSV_COLUMNS]; /* column of each, from 1; 0: none */
	bool more;		   /* there is a column behind COLUMN_OUTPUT */
	char *names;		   /* the header's fields one after the other; NULL: no header */
	size_t n_columns;	   /* in every row */
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

static struct cell cell_of(const struct csv_source *s, int which)
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

static int read_tok(const struct csv_source *s, int which, int64_t *tok, struct err *e)
{
	struct cell c = cell_of(s, which);
	return cell_tok(&c, tok, e);
}

/* BurstGPT's client is the model and the log type, with a space in between. */
static int read_logged_client(struct csv_source *s, struct trace_row *row, struct err *e)
{
	struct cell model = cell_of(s, COLUMN_CLIENT), log = cell_of(s, COLUMN_LOG);
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

/* The columns that few formats have. */
static int read_more(struct csv_source *s, struct trace_row *row, struct err *e)
{
	/* An empty limit is no limit, an empty priority none. */
	if (s->at[COLUMN_MAX_TOK] && *field(s, (size_t)s->at[COLUMN_MAX_TOK] - 1) &&
	    read_tok(s, COLUMN_MAX_TOK, &row->max_tok, e))
		return -1;
	if (s->at[COLUMN_PRIORITY] && *field(s, (size_t)s->at[COLUMN_PRIORITY] - 1)) {
		struct cell c = cell_of(s, COLUMN_PRIORITY);
		if (cell_priority(&c, &row->priority, e))
			return -1;
	}
	if (s->at[COLUMN_LOG]) {
		if (read_logged_client(s, row, e))
			return -1;
	} else if (s->at[COLUMN_CLIENT]) {
		struct cell c = cell_of(s, COLUMN_CLIENT);
		if (cell_name(&c, &s->base.clients, &row->client, e))
			return -1;
	}
	if (s->at[COLUMN_SESSION]) {
		struct cell c = cell_of(s, COLUMN_SESSION);
		if (cell_name(&c, &s->base.sessions, &row->session, e))
			return -1;
	}
	if (s->at[COLUMN_SERVICE]) {
		struct cell c = cell_of(s, COLUMN_SERVICE);
		if (cell_service(&c, s->clock, &row->service_ns, e))
			return -1;
	}
	if (!s->at[COLUMN_TOTAL])
		return 0;
	struct cell c = cell_of(s, COLUMN_TOTAL);
	return cell_total(&c, e);
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
	return s->more && read_more(s, row, e) ? -1 : 1;
}

/* Is the row that was read the header, or as much of it as there must be? */
static bool header_is(const struct csv_source *s, const struct known *k)
{
	const char *p = k->header;
	for (size_t i = 0; i < s->n_fields; i++) {
		size_t len = strcspn(p, ",");
		if (strlen(field(s, i)) != len || strncmp(field(s, i), p, len) != 0)
			return false;
		p += len;
		if (*p == '\0')
			return i + 1 == s->n_fields;
		p++;
	}
	return s->n_fields >= k->least;
}

/* Our own header: three columns, and then any of the others. 1: it is, 0: it is not, -1. */
static int read_own_header(struct csv_source *s, struct err *e)
{
	char kind[512];
	for (size_t i = 0; i < s->n_fields; i++) {
		const char *name = field(s, i);
		int which = 0;
		while (which < N_COLUMNS && (!omnibus_csv_columns[which] ||
					     strcmp(omnibus_csv_columns[which], name) != 0))
			which++;
		if (i <= COLUMN_OUTPUT && which != (int)i)
			return 0;
		if (which == N_COLUMNS) {
			snprintf(kind, sizeof(kind), "column of %s:%lld", input_name(s->in),
				 (long long)s->line);
			return err_unknown(e, kind, name, omnibus_csv_columns, COLUMN_SERVICE + 1);
		}
		if (s->at[which])
			return err_set(e, "%s:%lld: column %zu: %s is there twice",
				       input_name(s->in), (long long)s->line, i + 1, name);
		s->at[which] = (int64_t)i + 1;
	}
	s->base.kind = KIND_OMNIBUS_CSV;
	s->clock = CLOCK_S;
	return s->n_fields > COLUMN_OUTPUT;
}

static int detect(struct csv_source *s, struct err *e)
{
	for (size_t i = 0; i < N_KNOWN; i++) {
		if (!header_is(s, &known[i]))
			continue;
		s->base.kind = known[i].kind;
		s->clock = known[i].clock;
		for (int c = 0; c < N_CSV_COLUMNS; c++)
			if (known[i].at[c] <= (int)s->n_fields)
				s->at[c] = known[i].at[c];
		s->base.lengths_only = s->at[COLUMN_ARRIVAL] == 0;
		return 0;
	}
	int own = read_own_header(s, e);
	if (own != 0)
		return own < 0 ? -1 : 0;
	char shown[SHOWN_SIZE], line[256];
	size_t n = 0;
	for (size_t i = 0; i < s->text_len && n < sizeof(line); i++, n++)
		line[n] = s->text[i] ? s->text[i] : ',';
	return err_set(e,
		       "%s:%lld: column 1: '%s' is no header that is known: expected "
		       "TIMESTAMP,ContextTokens,GeneratedTokens (Azure), "
		       "arrive_s,prompt_tok,output_tok[,...], BurstGPT's, "
		       "num_prefill_tokens,num_decode_tokens, a line of JSON, or --columns "
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
	if (columns && columns_has(columns, COLUMN_HASH_IDS))
		return err_set(e, "%s: --columns: hash_ids can only be read from JSON lines",
			       input_name(s->in));
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
	for (int i = COLUMN_OUTPUT + 1; i < N_CSV_COLUMNS; i++)
		s->more = s->more || s->at[i] > 0;
	s->base.has_max_tok = s->at[COLUMN_MAX_TOK] > 0;
	s->base.has_priorities = s->at[COLUMN_PRIORITY] > 0;
	s->base.has_clients = s->at[COLUMN_CLIENT] > 0;
	s->base.has_sessions = s->at[COLUMN_SESSION] > 0;
	s->base.has_service = s->at[COLUMN_SERVICE] > 0;
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
		source_free(&s->base);
		return NULL;
	}
	return &s->base;
}
