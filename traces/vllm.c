/*
 * vllm.c: the result file of `vllm bench serve --save-detailed` as a trace: one JSON document with
 * the lengths of each request in arrays, and since December 2025 their start times (s, of a clock
 * of any origin). A document is held in memory whole, and so limited in size.
 */
#include "traces/number.h"
#include "traces/source.h"
#include <jansson.h>
#include <string.h>

enum { DOCUMENT_MAX = 256 << 20 };

enum array { ARRAY_PROMPT, ARRAY_OUTPUT, ARRAY_START, N_ARRAYS };
static const char *const array_names[N_ARRAYS] = {
	[ARRAY_PROMPT] = "input_lens",
	[ARRAY_OUTPUT] = "output_lens",
	[ARRAY_START] = "start_times",
};

struct vllm_source {
	struct source base;
	struct input *in;
	json_t *document;
	const json_t *array[N_ARRAYS];
	size_t n, given;
};

/* Steps over a text in quotes at `at`; where it ends, or `len`. */
static size_t skip_text(const char *text, size_t len, size_t at)
{
	for (at++; at < len && text[at] != '"'; at++)
		at += text[at] == '\\';
	return at + 1 < len ? at + 1 : len;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Told by the first key of the document itself that only such a result has. */
bool vllm_is(const char *text, size_t len)
{
	/* with the quote that ends them */
	static const char *const keys[] = {"input_lens\"", "total_input_tokens\"",
					   "request_throughput\""};
	int depth = 0;
	size_t i = 0;
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		i = 3;
	while (i < len && is_space(text[i]))
		i++;
	if (i == len || text[i] != '{')
		return false;
	while (i < len) {
		size_t from = i + 1;
		char c = text[i];
		i = c == '"' ? skip_text(text, len, i) : i + 1;
		depth += (c == '{' || c == '[') - (c == '}' || c == ']');
		if (depth == 0)
			break; /* the end of the first value: lines of JSON */
		if (c != '"' || depth != 1)
			continue;
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			if (strlen(keys[k]) == i - from &&
			    strncmp(text + from, keys[k], i - from) == 0)
				return true;
	}
	return false;
}

static int refuse(const struct vllm_source *s, struct err *e, enum array which, const char *what)
{
	return err_set(e, "%s:1: field %s: %s", input_name(s->in), array_names[which], what);
}

/* A value of the next row, as text for cell_*(); the buffer has room for any number. */
static int take(const struct vllm_source *s, enum array which, char buf[NUMBER_REAL_SIZE],
		struct cell *c, struct err *e)
{
	const json_t *v = json_array_get(s->array[which], s->given);
	size_t n = 0;
	if (json_is_integer(v))
		n = (size_t)snprintf(buf, NUMBER_REAL_SIZE, "%lld",
				     (long long)json_integer_value(v));
	else if (json_is_real(v))
		n = number_real_print(json_real_value(v), buf);
	*c = (struct cell){.file = input_name(s->in),
			   .line = (int64_t)s->given + 1,
			   .name = array_names[which],
			   .text = buf,
			   .len = n};
	if (n == 0)
		return cell_refuse(c, e, "expected a number for each request");
	return 0;
}

static int vllm_next(struct source *base, struct trace_row *row, struct err *e)
{
	struct vllm_source *s = (struct vllm_source *)base;
	struct cell c;
	char buf[NUMBER_REAL_SIZE];
	enum clock clock = CLOCK_S;
	if (s->given == s->n)
		return 0;
	*row = (struct trace_row){.line = (int64_t)s->given + 1};
	if (take(s, ARRAY_PROMPT, buf, &c, e) || cell_tok(&c, &row->prompt_tok, e) ||
	    take(s, ARRAY_OUTPUT, buf, &c, e) || cell_tok(&c, &row->output_tok, e))
		return -1;
	if (s->array[ARRAY_START] &&
	    (take(s, ARRAY_START, buf, &c, e) || cell_arrival(&c, &clock, &row->arrive_ns, e)))
		return -1;
	s->given++;
	return 1;
}

static double vllm_progress(const struct source *base)
{
	const struct vllm_source *s = (const struct vllm_source *)base;
	return s->n > 0 ? (double)s->given / (double)s->n : 1;
}

static void vllm_free(struct source *base)
{
	struct vllm_source *s = (struct vllm_source *)base;
	json_decref(s->document);
	input_close(s->in);
	free(s);
}

static const struct source_ops vllm_ops = {
	.next = vllm_next,
	.progress = vllm_progress,
	.free = vllm_free,
};

static int find_arrays(struct vllm_source *s, struct err *e)
{
	for (int i = 0; i < N_ARRAYS; i++) {
		const json_t *array = json_object_get(s->document, array_names[i]);
		if (!array && i == ARRAY_START)
			break;
		if (!array)
			return refuse(
				s, e, (enum array)i,
				"is missing: vllm bench serve writes it with --save-detailed");
		if (!json_is_array(array))
			return refuse(s, e, (enum array)i, "expected an array of numbers");
		if (i > 0 && json_array_size(array) != s->n)
			return err_set(e,
				       "%s:1: field %s: has %zu numbers for %zu requests: expected "
				       "one for each",
				       input_name(s->in), array_names[i], json_array_size(array),
				       s->n);
		s->n = json_array_size(array);
		s->array[i] = array;
	}
	s->base.lengths_only = s->array[ARRAY_START] == NULL;
	return 0;
}

static int load(struct vllm_source *s, struct err *e)
{
	char *text, shown[SHOWN_SIZE * 2];
	size_t len;
	json_error_t je;
	if (input_all(s->in, DOCUMENT_MAX, &text, &len, e))
		return -1;
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3, len -= 3;
	s->document = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
	if (!s->document)
		return err_set(e,
			       "%s:%d: column %d: not valid JSON (%s): expected one document of "
			       "vllm bench serve",
			       input_name(s->in), je.line, je.column,
			       show_text(je.text, strlen(je.text), shown));
	return find_arrays(s, e);
}

struct source *vllm_new(struct input *in, struct err *e)
{
	struct vllm_source *s = xcalloc(1, sizeof(*s));
	s->base.ops = &vllm_ops;
	s->base.kind = KIND_VLLM_JSON;
	s->in = in;
	if (load(s, e)) {
		source_free(&s->base);
		return NULL;
	}
	return &s->base;
}
