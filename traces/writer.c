/* writer.c: see writer.h. */
#include "traces/writer.h"
#include "traces/number.h"
#include "traces/source.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { N_WRITERS = 5 };
/* Where the source has no dates of its own the rows start at 2024-01-01 00:00:00. */
#define START_NS     (INT64_C(1704067200) * 1000000000)
#define CLOCK_MAX_NS (INT64_C(6311433600) * 1000000000) /* 2170-01-01 */

static void begin_columns(struct writer *w, const char *const *header, const char *eol)
{
	for (int i = 0; i < N_COLUMNS; i++)
		if (i < COLUMN_MAX_TOK || w->max_tok)
			fprintf(w->out, "%s%s", i > 0 ? "," : "", header[i]);
	fputs(eol, w->out);
}

static void azure_begin(struct writer *w)
{
	begin_columns(w, azure_csv_header, "");
}

/* As published: CR LF between rows, and nothing behind the last one. */
static void azure_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	char when[NUMBER_CLOCK_SIZE];
	number_clock_print(at_ns, 7, ' ', when);
	fprintf(w->out, "\r\n%s,%" PRId64 ",%" PRId64, when, row->prompt_tok, row->output_tok);
}

static void azure_2024_begin(struct writer *w)
{
	begin_columns(w, azure_csv_header, "\n");
}

static void azure_2024_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	char when[NUMBER_CLOCK_SIZE];
	number_clock_print(at_ns, 6, ' ', when);
	fprintf(w->out, "%s+00:00,%" PRId64 ",%" PRId64 "\n", when, row->prompt_tok,
		row->output_tok);
}

static void csv_begin(struct writer *w)
{
	begin_columns(w, omnibus_csv_header, "\n");
}

static void csv_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	fprintf(w->out, "%" PRId64 ".%09" PRId64 ",%" PRId64 ",%" PRId64, at_ns / 1000000000,
		at_ns % 1000000000, row->prompt_tok, row->output_tok);
	if (w->max_tok)
		fputc(',', w->out);
	if (w->max_tok && row->max_tok > 0)
		fprintf(w->out, "%" PRId64, row->max_tok);
	fputc('\n', w->out);
}

static void json_begin(struct writer *w)
{
	(void)w;
}

/* One object; `space` follows every comma and colon, as the published files have it. */
static void json_row(struct writer *w, const struct trace_row *row, const char *arrival,
		     int64_t value, const char *hash, const char *space)
{
	fprintf(w->out,
		"{\"%s\":%s%" PRId64 ",%s\"input_length\":%s%" PRId64
		",%s\"output_length\":%s%" PRId64,
		arrival, space, value, space, space, row->prompt_tok, space, space,
		row->output_tok);
	if (row->max_tok > 0)
		fprintf(w->out, ",%s\"max_tokens\":%s%" PRId64, space, space, row->max_tok);
	if (row->hash_ids && strcmp(trace_format(w->trace), w->ops->name) == 0) {
		fprintf(w->out, ",%s\"%s\":%s[", space, hash, space);
		for (int64_t i = 0; i < row->n_hash_ids; i++) /* signed, as jansson reads them */
			fprintf(w->out, "%s%s%" PRId64, i > 0 ? "," : "", i > 0 ? space : "",
				(int64_t)row->hash_ids[i]);
		fputc(']', w->out);
	}
	fputs("}\n", w->out);
}

static void mooncake_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	json_row(w, row, "timestamp", at_ns / 1000000, "hash_ids", " ");
}

static void ns_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	json_row(w, row, "arrival_time_ns", at_ns, "hash_ids16", "");
}

static const struct writer_ops azure_ops = {
	.name = "azure-csv",
	.summary = "as published in 2023: dates in 100 ns, CR LF",
	.step_ns = 100,
	.wall_clock = true,
	.begin = azure_begin,
	.row = azure_row,
};
static const struct writer_ops azure_2024_ops = {
	.name = "azure-2024-csv",
	.summary = "as published in 2024: dates in us with +00:00",
	.step_ns = 1000,
	.wall_clock = true,
	.begin = azure_2024_begin,
	.row = azure_2024_row,
};
static const struct writer_ops csv_ops = {
	.name = "csv",
	.summary = "our own: seconds with 9 decimals, prompt, output and limit",
	.step_ns = 1,
	.max_tok = true,
	.begin = csv_begin,
	.row = csv_row,
};
static const struct writer_ops mooncake_ops = {
	.name = "mooncake-jsonl",
	.summary = "as published: whole ms, hash_ids",
	.step_ns = 1000000,
	.max_tok = true,
	.hash_ids = true,
	.begin = json_begin,
	.row = mooncake_row,
};
static const struct writer_ops ns_ops = {
	.name = "ns-jsonl",
	.summary = "arrival_time_ns, hash_ids16",
	.step_ns = 1,
	.max_tok = true,
	.hash_ids = true,
	.begin = json_begin,
	.row = ns_row,
};

const struct writer_ops *const writers[N_WRITERS + 1] = {&csv_ops, &azure_ops, &azure_2024_ops,
							 &mooncake_ops, &ns_ops};

const struct writer_ops *writer_find(const char *name, struct err *e)
{
	const char *names[N_WRITERS];
	for (size_t i = 0; i < N_WRITERS; i++) {
		names[i] = writers[i]->name;
		if (strcmp(name, names[i]) == 0)
			return writers[i];
	}
	err_unknown(e, "format", name, names, N_WRITERS);
	return NULL;
}

/* Before the first row: from here on the source's clock is known. */
static void begin(struct writer *w, const struct trace_row *first)
{
	bool dates;
	int64_t base_ns = trace_base_ns(w->trace, &dates);
	if (dates == w->ops->wall_clock)
		w->start_ns = base_ns;
	else
		w->start_ns = w->ops->wall_clock ? START_NS : 0;
	w->max_tok = w->ops->max_tok && (first->max_tok > 0 || trace_has_max_tok(w->trace));
	w->ops->begin(w);
}

static int write_row(struct writer *w, const struct trace_row *row, struct err *e)
{
	int64_t exact_ns = w->start_ns + row->arrive_ns;
	int64_t at_ns = (exact_ns + w->ops->step_ns / 2) / w->ops->step_ns * w->ops->step_ns;
	bool keeps_ids = w->ops->hash_ids && strcmp(trace_format(w->trace), w->ops->name) == 0;
	if (w->ops->wall_clock && at_ns >= CLOCK_MAX_NS)
		return err_set(e, "row %" PRId64 " arrives after 2169, which %s cannot hold",
			       w->rows + 1, w->ops->name);
	w->rows++;
	w->rounded += at_ns != exact_ns;
	w->lost_hash_ids += row->hash_ids && !keeps_ids;
	w->lost_max_tok += row->max_tok > 0 && !w->max_tok;
	w->ops->row(w, row, at_ns);
	return 0;
}

int writer_copy(struct writer *w, const struct writer_ops *ops, struct trace *t, FILE *out,
		struct err *e)
{
	*w = (struct writer){.ops = ops, .out = out, .trace = t};
	struct trace_row row;
	int more;
	while ((more = trace_next(t, &row, e)) > 0) {
		if (w->rows == 0)
			begin(w, &row);
		if (write_row(w, &row, e))
			return -1;
		if (ferror(out))
			return err_set(e, "cannot write the trace: %s", strerror(errno));
	}
	return more;
}
