/* jsonl.c: traces as one JSON object a line, parsed by jansson; a table says what its fields mean.
 */
#include "traces/jsonl_source.h"
#include "traces/number.h"
#include <string.h>

int jsonl_refuse(const struct jsonl_source *s, struct err *e, const char *name, const char *what)
{
	struct cell c = {.file = input_name(s->in), .line = input_line_no(s->in), .name = name};
	return cell_refuse(&c, e, "%s", what);
}

/* The next line that is not blank, as an object. 1, 0 at the end, -1. */
static int next_object(struct jsonl_source *s, json_t **object, struct err *e)
{
	char *line;
	size_t len;
	json_error_t je;
	for (;;) {
		int more = input_line(s->in, &line, &len, e);
		if (more <= 0)
			return more;
		if (line[strspn(line, " \t")] != '\0')
			break;
	}
	*object = jsonl_load(s, line, len, &je);
	if (!*object) {
		char shown[SHOWN_SIZE * 2];
		return err_set(e,
			       "%s:%lld: column %d: not valid JSON (%s): expected one object a "
			       "line",
			       input_name(s->in), (long long)input_line_no(s->in), je.column,
			       show_text(je.text, strlen(je.text), shown));
	}
	if (json_is_object(*object))
		return 1;
	json_decref(*object);
	return err_set(e, "%s:%lld: column 1: expected a JSON object in braces", input_name(s->in),
		       (long long)input_line_no(s->in));
}

/*
 * The text of a number or string; numbers get the fewest digits that give back the same double, so
 * that up to 15 digits of the file are exact. NULL: neither.
 */
static const char *value_text(const json_t *v, char buf[NUMBER_REAL_SIZE], size_t *len)
{
	if (json_is_string(v)) {
		*len = json_string_length(v);
		return json_string_value(v);
	}
	int n = 0;
	if (json_is_integer(v))
		n = snprintf(buf, NUMBER_REAL_SIZE, "%lld", (long long)json_integer_value(v));
	else if (json_is_real(v))
		n = (int)number_real_print(json_real_value(v), buf);
	*len = (size_t)n;
	return n > 0 ? buf : NULL;
}

/* One of the columns of the format, into the row. 0 too where it may be missing, and is. */
static int read_field(struct jsonl_source *s, const json_t *object, enum column which,
		      struct trace_row *row, struct err *e)
{
	const char *name = s->format.field[which];
	const json_t *v = name ? json_object_get(object, name) : NULL;
	char buf[NUMBER_REAL_SIZE];
	if (!v && which > COLUMN_OUTPUT)
		return 0;
	if (!v)
		return jsonl_refuse(s, e, name, "is missing");
	struct cell c = {.file = input_name(s->in), .line = input_line_no(s->in), .name = name};
	c.text = value_text(v, buf, &c.len);
	bool is_text = which == COLUMN_CLIENT || which == COLUMN_SESSION;
	if (!c.text && json_is_null(v) && which > COLUMN_OUTPUT)
		return 0;
	if (!c.text)
		return jsonl_refuse(s, e, name, is_text ? "expected a text" : "expected a number");
	switch (which) {
	case COLUMN_ARRIVAL:
		return cell_arrival(&c, &s->format.clock, &row->arrive_ns, e);
	case COLUMN_PROMPT:
		return cell_tok(&c, &row->prompt_tok, e);
	case COLUMN_OUTPUT:
		return cell_tok(&c, &row->output_tok, e);
	case COLUMN_MAX_TOK:
		return cell_limit(&c, &row->max_tok, e);
	case COLUMN_PRIORITY:
		return cell_priority(&c, &row->priority, e);
	case COLUMN_CLIENT:
		return cell_name(&c, &s->base.clients, &row->client, e);
	case COLUMN_SESSION:
		return cell_name(&c, &s->base.sessions, &row->session, e);
	case COLUMN_SERVICE:
		return cell_service(&c, s->format.clock, &row->service_ns, e);
	case COLUMN_HASH_IDS:
	case N_COLUMNS:
		break;
	}
	return 0;
}

/* The ids must be as many as the prompt has blocks. */
static int check_hash_count(const struct jsonl_source *s, const struct trace_row *row, int64_t n,
			    struct err *e)
{
	int64_t block = s->base.hash_block;
	bool partial = s->base.hash_rule == TRACE_HASH_CEIL;
	int64_t want = (row->prompt_tok + (partial ? block - 1 : 0)) / block;
	if (n == want)
		return 0;
	char what[256];
	snprintf(what, sizeof(what),
		 "%lld ids for %lld prompt tokens: expected %lld, %s of %lld tokens", (long long)n,
		 (long long)row->prompt_tok, (long long)want,
		 partial ? "one a block, the last may be partial," : "one a full block",
		 (long long)block);
	return jsonl_refuse(s, e, s->format.field[COLUMN_HASH_IDS], what);
}

/* Ids of blocks by themselves become ids of all up to them: two prompts share one where they are
 * the same from the start. */
static void chain_ids(uint64_t *ids, size_t n)
{
	uint64_t all = 0;
	for (size_t i = 0; i < n; i++) {
		all = (all ^ ids[i]) * UINT64_C(0x9e3779b97f4a7c15) + 1;
		all ^= all >> 32;
		ids[i] = all;
	}
}

static int read_hash_ids(struct jsonl_source *s, const json_t *object, struct trace_row *row,
			 struct err *e)
{
	const char *name = s->format.field[COLUMN_HASH_IDS];
	const json_t *ids = name ? json_object_get(object, name) : NULL;
	if (!ids)
		return 0;
	if (!json_is_array(ids))
		return jsonl_refuse(s, e, name, "expected an array of whole numbers");
	size_t n = json_array_size(ids);
	if (check_hash_count(s, row, (int64_t)n, e))
		return -1;
	if (n > s->hash_size || !s->hash_ids) {
		s->hash_size = n + 16;
		s->hash_ids = xrealloc(s->hash_ids, s->hash_size * sizeof(*s->hash_ids));
	}
	for (size_t i = 0; i < n; i++) {
		const json_t *id = json_array_get(ids, i);
		if (!json_is_integer(id))
			return jsonl_refuse(s, e, name, "expected an array of whole numbers");
		s->hash_ids[i] = (uint64_t)json_integer_value(id);
	}
	if (s->format.of_block && !s->raw_hash_ids)
		chain_ids(s->hash_ids, n);
	row->hash_ids = s->hash_ids;
	row->n_hash_ids = (int64_t)n;
	return 0;
}

static bool is_named(const struct json_format *f, const char *key)
{
	for (int i = 0; i < N_COLUMNS; i++)
		if (f->field[i] && strcmp(f->field[i], key) == 0)
			return true;
	for (size_t i = 0; i < sizeof(f->others) / sizeof(f->others[0]); i++)
		if (f->others[i] && strcmp(f->others[i], key) == 0)
			return true;
	return false;
}

/* A field nobody knows may change what the others mean: only --columns lets it pass. */
static int check_names(const struct jsonl_source *s, json_t *object, struct err *e)
{
	const char *key;
	json_t *value;
	json_object_foreach(object, key, value)
	{
		if (!is_named(&s->format, key))
			return jsonl_refuse(s, e, key,
					    "is not part of this format; --columns "
					    "arrival=..,prompt=..,output=..,unit=.. reads any");
	}
	return 0;
}

static int read_object(struct jsonl_source *s, json_t *object, struct trace_row *row, struct err *e)
{
	*row = (struct trace_row){.line = input_line_no(s->in)};
	for (int i = s->format.field[COLUMN_ARRIVAL] ? 0 : 1; i < COLUMN_HASH_IDS; i++)
		if (s->format.field[i] && read_field(s, object, (enum column)i, row, e))
			return -1;
	s->base.wall_clock = s->format.clock == CLOCK_WALL;
	s->base.has_max_tok = s->base.has_max_tok || row->max_tok > 0;
	if (read_hash_ids(s, object, row, e))
		return -1;
	if (s->format.finish && s->format.finish(s, object, row, e))
		return -1;
	return s->others_allowed ? 0 : check_names(s, object, e);
}

static int jsonl_next(struct source *base, struct trace_row *row, struct err *e)
{
	struct jsonl_source *s = (struct jsonl_source *)base;
	json_t *object;
	int more = next_object(s, &object, e);
	if (more <= 0)
		return more;
	int result = read_object(s, object, row, e);
	json_decref(object);
	return result ? -1 : 1;
}

static int detect(struct jsonl_source *s, struct err *e)
{
	json_t *object;
	if (next_object(s, &object, e) <= 0)
		return -1;
	const struct json_format *found = json_format_find(object);
	json_decref(object);
	if (!found)
		return err_set(e,
			       "%s:%lld: field timestamp: is missing: expected timestamp (ms) or "
			       "arrival_time_ns, input_length, output_length, or --columns",
			       input_name(s->in), (long long)input_line_no(s->in));
	s->format = *found;
	return 0;
}

static int take_columns(struct jsonl_source *s, const struct columns *c, struct err *e)
{
	s->format = (struct json_format){
		.kind = KIND_JSONL, .clock = c->clock, .rule = TRACE_HASH_CEIL};
	s->others_allowed = true;
	size_t len = 0;
	for (enum column i = 0; i < N_COLUMNS; i++) {
		if (c->number[i])
			return err_set(e,
				       "%s: --columns: the fields of JSON lines have names, not "
				       "numbers",
				       input_name(s->in));
		len += c->name[i] ? strlen(c->name[i]) + 1 : 0;
	}
	char *p = s->names = xmalloc(len);
	for (enum column i = 0; i < N_COLUMNS; i++) {
		if (!c->name[i])
			continue;
		s->format.field[i] = strcpy(p, c->name[i]);
		p += strlen(p) + 1;
	}
	return 0;
}

static double jsonl_progress(const struct source *base)
{
	return input_progress(((const struct jsonl_source *)base)->in);
}

static void jsonl_free(struct source *base)
{
	struct jsonl_source *s = (struct jsonl_source *)base;
	input_close(s->in);
	free(s->names);
	free(s->hash_ids);
	free(s->wide);
	chats_release(&s->chats);
	free(s);
}

static const struct source_ops jsonl_ops = {
	.next = jsonl_next,
	.progress = jsonl_progress,
	.free = jsonl_free,
};

struct source *jsonl_new(struct input *in, const struct columns *columns,
			 const struct trace_spec *spec, struct err *e)
{
	struct jsonl_source *s = xcalloc(1, sizeof(*s));
	const char *const *field = s->format.field;
	s->base.ops = &jsonl_ops;
	s->in = in;
	s->raw_hash_ids = spec->raw_hash_ids;
	if (columns ? take_columns(s, columns, e) : detect(s, e)) {
		source_free(&s->base);
		return NULL;
	}
	input_again(in);
	s->base.kind = s->format.kind;
	s->base.has_priorities = field[COLUMN_PRIORITY] != NULL;
	s->base.has_clients = field[COLUMN_CLIENT] != NULL;
	s->base.has_sessions = field[COLUMN_SESSION] != NULL || s->format.kind == KIND_BAILIAN;
	s->base.has_service = field[COLUMN_SERVICE] != NULL;
	if (!field[COLUMN_HASH_IDS])
		return &s->base;
	s->base.hash_block = spec->hash_block > 0 ? spec->hash_block : s->format.block;
	s->base.hash_rule = spec->hash_rule ? spec->hash_rule : s->format.rule;
	if (s->base.hash_block > 0)
		return &s->base;
	err_set(e, "%s: --columns: hash_ids needs --hash-block, the tokens that an id stands for",
		input_name(in));
	source_free(&s->base);
	return NULL;
}
