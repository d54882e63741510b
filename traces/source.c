/* source.c: the source that a spec names: a generator, or a reader told by the first bytes. */
#include "traces/source.h"
#include "traces/sorted.h"
#include <string.h>

static const char synth[] = "synth:";

bool source_is_synth(const char *source)
{
	return strncmp(source, synth, strlen(synth)) == 0;
}

/* The first line that is not blank tells JSON from CSV; it will be read again. */
static int first_line(struct input *in, char **line, struct err *e)
{
	size_t len;
	int more;
	do {
		more = input_line(in, line, &len, e);
		if (more < 0)
			return -1;
		if (more == 0)
			return err_set(e,
				       "%s: is empty: expected a trace (CSV with a header, or "
				       "JSON lines)",
				       input_name(in));
		*line += strspn(*line, " \t");
	} while (**line == '\0');
	input_again(in);
	return 0;
}

/* Takes over `in`. */
static struct source *open_reader(struct input *in, const struct trace_spec *spec,
				  const struct columns *columns, struct err *e)
{
	const char *head;
	char *line;
	size_t len;
	if (input_head(in, &head, &len, e) == 0) {
		if (!columns && vllm_is(head, len))
			return vllm_new(in, e);
		if (first_line(in, &line, e) == 0)
			return *line == '{' ? jsonl_new(in, columns, spec, e)
					    : csv_new(in, columns, e);
	}
	input_close(in);
	return NULL;
}

static struct source *open_file(const struct trace_spec *spec, struct err *e)
{
	struct columns columns;
	if (spec->columns && columns_parse(spec->columns, &columns, e))
		return NULL;
	struct input *in = input_open(spec->source, e);
	struct source *source =
		in ? open_reader(in, spec, spec->columns ? &columns : NULL, e) : NULL;
	if (spec->columns)
		columns_release(&columns);
	return source;
}

static int check_options(const struct trace_spec *spec, struct err *e)
{
	if (spec->columns)
		return err_set(e, "%s: a generator has no columns", spec->source);
	if (spec->hash_block > 0 || spec->hash_rule)
		return err_set(e,
			       "%s: the hash ids of a generator are set by its own hash_block and "
			       "hash_rule",
			       spec->source);
	return 0;
}

int source_check(const struct trace_spec *spec, struct err *e)
{
	if (spec->rows || !source_is_synth(spec->source))
		return 0;
	if (check_options(spec, e))
		return -1;
	return synth_check(spec->source + strlen(synth), spec->seed, e);
}

/* Ids that a format has not cannot be of a length. */
static int check_hash_options(const struct source *s, const struct trace_spec *spec, struct err *e)
{
	if (s->hash_block > 0 || (spec->hash_block == 0 && !spec->hash_rule))
		return 0;
	return err_set(e,
		       "%s: %s says what hash ids stand for, and rows of %s have none that do: "
		       "leave it out",
		       strcmp(spec->source, "-") == 0 ? "standard input" : spec->source,
		       spec->hash_block > 0 ? "--hash-block" : "--hash-rule",
		       trace_kinds[s->kind].name);
}

struct source *source_open(const struct trace_spec *spec, struct err *e)
{
	if (!spec->rows && source_is_synth(spec->source))
		return check_options(spec, e)
			       ? NULL
			       : synth_new(spec->source + strlen(synth), spec->seed, e);
	struct source *source =
		spec->rows ? memory_new(spec->rows, spec->n_rows) : open_file(spec, e);
	if (source && check_hash_options(source, spec, e)) {
		source_free(source);
		return NULL;
	}
	return source && spec->sort ? sorted_new(source, e) : source;
}

void source_free(struct source *s)
{
	if (!s)
		return;
	names_release(&s->clients);
	names_release(&s->sessions);
	s->ops->free(s);
}
