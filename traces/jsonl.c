/* jsonl.c: traces as one JSON object a line, parsed by jansson; a table says what its fields mean.
 */
#include "traces/number.h"
#include "traces/source.h"
#include <jansson.h>
#include <string.h>

enum hash_rule { HASH_CEIL, HASH_FLOOR }; /* is the last, partial block counted? */

struct json_format {
	enum kind kind;
	const char *field[N_COLUMNS]; /* the limit may be missing in a row */
	const char *hash;	      /* may be missing in a row; NULL: no such field */
	enum clock clock;
	int64_t block; /* tokens of a hash id */
	enum hash_rule rule;
};

static const struct json_format formats[] = {
	{
		.kind = KIND_MOONCAKE,
		.field = {"timestamp", "input_length", "output_length", "max_tokens"},
		.hash = "hash_ids",
		.clock = CLOCK_MS,
		.block = 512,
		.rule = HASH_CEIL,
	},
	{
		.kind = KIND_NS_JSONL,
		.field = {"arrival_time_ns", "input_length", "output_length", "max_tokens"},
		.hash = "hash_ids16",
		.clock = CLOCK_NS,
		.block = 16,
		.rule = HASH_FLOOR,
	},
};
enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

struct jsonl_source {
	struct source base;
	struct input *in;
	struct json_format format;
	bool others_allowed; /* fields that the format does not name are let pass */
	char *names;	     /* text behind the names of format.field, where --columns gave them */
	uint64_t *hash_ids;
	size_t hash_size;
};

static int refuse(const struct jsonl_source *s, struct err *e, const char *name, const char *what)
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
	*object = json_loadb(line, len, JSON_REJECT_DUPLICATES, &je);
	if (!*object)
		return err_set(e,
			       "%s:%lld: column %d: not valid JSON (%s): expected one object a "
			       "line",
			       input_name(s->in), (long long)input_line_no(s->in), je.column,
			       je.text);
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
static const char *value_text(const json_t *v, char buf[40], size_t *len)
{
	if (json_is_string(v)) {
		*len = json_string_length(v);
		return json_string_value(v);
	}
	int n = -1;
	if (json_is_integer(v)) {
		n = snprintf(buf, 40, "%lld", (long long)json_integer_value(v));
	} else if (json_is_real(v)) {
		n = snprintf(buf, 40, "%.15g", json_real_value(v));
		if (strtod(buf, NULL) != json_real_value(v))
			n = snprintf(buf, 40, "%.17g", json_real_value(v));
	}
	*len = n > 0 ? (size_t)n : 0;
	return n > 0 ? buf : NULL;
}

/* One of the columns of the format. 1: it is there, 0: it is not. */
static int read_field(struct jsonl_source *s, const json_t *object, enum column which,
		      int64_t *value, struct err *e)
{
	const char *name = s->format.field[which];
	const json_t *v = name ? json_object_get(object, name) : NULL;
	char buf[40];
	if (!v && which == COLUMN_MAX_TOK)
		return 0;
	if (!v)
		return refuse(s, e, name, "is missing");
	struct cell c = {.file = input_name(s->in), .line = input_line_no(s->in), .name = name};
	c.text = value_text(v, buf, &c.len);
	if (!c.text)
		return refuse(s, e, name, "expected a number");
	if (which == COLUMN_ARRIVAL ? cell_arrival(&c, &s->format.clock, value, e)
				    : cell_tok(&c, value, e))
		return -1;
	return 1;
}

/* The ids must be as many as the prompt has blocks. */
static int check_hash_count(const struct jsonl_source *s, const struct trace_row *row, int64_t n,
			    struct err *e)
{
	int64_t block = s->base.hash_block;
	bool partial = s->format.rule == HASH_CEIL;
	int64_t want = (row->prompt_tok + (partial ? block - 1 : 0)) / block;
	if (n == want)
		return 0;
	char what[256];
	snprintf(what, sizeof(what),
		 "%lld ids for %lld prompt tokens: expected %lld, %s of %lld tokens", (long long)n,
		 (long long)row->prompt_tok, (long long)want,
		 partial ? "one a block, the last may be partial," : "one a full block",
		 (long long)block);
	return refuse(s, e, s->format.hash, what);
}

static int read_hash_ids(struct jsonl_source *s, const json_t *object, struct trace_row *row,
			 struct err *e)
{
	const json_t *ids = s->format.hash ? json_object_get(object, s->format.hash) : NULL;
	if (!ids)
		return 0;
	if (!json_is_array(ids))
		return refuse(s, e, s->format.hash, "expected an array of whole numbers");
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
			return refuse(s, e, s->format.hash, "expected an array of whole numbers");
		s->hash_ids[i] = (uint64_t)json_integer_value(id);
	}
	row->hash_ids = s->hash_ids;
	row->n_hash_ids = (int64_t)n;
	return 0;
}

static bool is_named(const struct json_format *f, const char *key)
{
	for (enum column i = 0; i < N_COLUMNS; i++)
		if (f->field[i] && strcmp(f->field[i], key) == 0)
			return true;
	return f->hash && strcmp(f->hash, key) == 0;
}

/* A field nobody knows may change what the others mean: only --columns lets it pass. */
static int check_names(const struct jsonl_source *s, json_t *object, struct err *e)
{
	const char *key;
	json_t *value;
	json_object_foreach(object, key, value)
	{
		if (!is_named(&s->format, key))
			return refuse(s, e, key,
				      "is not part of this format; --columns "
				      "arrival=..,prompt=..,output=..,unit=.. reads any");
	}
	return 0;
}

static int read_object(struct jsonl_source *s, json_t *object, struct trace_row *row, struct err *e)
{
	*row = (struct trace_row){.line = input_line_no(s->in)};
	if (s->format.field[COLUMN_ARRIVAL] &&
	    read_field(s, object, COLUMN_ARRIVAL, &row->arrive_ns, e) < 0)
		return -1;
	s->base.wall_clock = s->format.clock == CLOCK_WALL;
	if (read_field(s, object, COLUMN_PROMPT, &row->prompt_tok, e) < 0 ||
	    read_field(s, object, COLUMN_OUTPUT, &row->output_tok, e) < 0 ||
	    read_field(s, object, COLUMN_MAX_TOK, &row->max_tok, e) < 0 ||
	    read_hash_ids(s, object, row, e))
		return -1;
	s->base.has_max_tok = s->base.has_max_tok || row->max_tok > 0;
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
	const struct json_format *found = NULL;
	for (size_t i = 0; i < N_FORMATS && !found; i++)
		if (json_object_get(object, formats[i].field[COLUMN_ARRIVAL]))
			found = &formats[i];
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
	s->format = (struct json_format){.kind = KIND_JSONL, .clock = c->clock};
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
	free(s);
}

static const struct source_ops jsonl_ops = {
	.next = jsonl_next,
	.progress = jsonl_progress,
	.free = jsonl_free,
};

struct source *jsonl_new(struct input *in, const struct columns *columns, int64_t hash_block,
			 struct err *e)
{
	struct jsonl_source *s = xcalloc(1, sizeof(*s));
	s->base.ops = &jsonl_ops;
	s->in = in;
	if (columns ? take_columns(s, columns, e) : detect(s, e)) {
		jsonl_free(&s->base);
		return NULL;
	}
	input_again(in);
	s->base.kind = s->format.kind;
	if (s->format.hash)
		s->base.hash_block = hash_block > 0 ? hash_block : s->format.block;
	return &s->base;
}
