/* writer_csv.c: the formats of writer.h that are CSV. */
#include "traces/number.h"
#include "traces/source.h"
#include "traces/writer.h"
#include <inttypes.h>
#include <string.h>

/* A field, in quotes where it must be. */
static void put_text(FILE *out, const char *text)
{
	if (text[strcspn(text, ",\"\r\n")] == '\0' && *text != ' ' && *text != '\t' &&
	    (*text == '\0' || !strchr(" \t", text[strlen(text) - 1]))) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void azure_begin(struct writer *w)
{
	fputs(azure_csv_header, w->out);
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
	fprintf(w->out, "%s\n", azure_csv_header);
}

static void azure_2024_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	char when[NUMBER_CLOCK_SIZE];
	number_clock_print(at_ns, 6, ' ', when);
	fprintf(w->out, "%s+00:00,%" PRId64 ",%" PRId64 "\n", when, row->prompt_tok,
		row->output_tok);
}

/* The columns of our own csv behind the lengths. */
static const struct {
	enum extra extra;
	enum column column;
} own_extras[] = {
	{EXTRA_MAX_TOK, COLUMN_MAX_TOK}, {EXTRA_PRIORITY, COLUMN_PRIORITY},
	{EXTRA_CLIENT, COLUMN_CLIENT},	 {EXTRA_SESSION, COLUMN_SESSION},
	{EXTRA_SERVICE, COLUMN_SERVICE},
};
enum { N_OWN_EXTRAS = sizeof(own_extras) / sizeof(own_extras[0]) };

static void omnibus_begin(struct writer *w)
{
	for (int i = COLUMN_ARRIVAL; i <= COLUMN_OUTPUT; i++)
		fprintf(w->out, "%s%s", i > 0 ? "," : "", omnibus_csv_columns[i]);
	for (int i = 0; i < N_OWN_EXTRAS; i++)
		if (w->holds[own_extras[i].extra])
			fprintf(w->out, ",%s", omnibus_csv_columns[own_extras[i].column]);
	fputc('\n', w->out);
}

static void put_extra(struct writer *w, const struct trace_row *row, enum extra which)
{
	char session[SESSION_TEXT_SIZE];
	switch (which) {
	case EXTRA_MAX_TOK:
		if (row->max_tok > 0)
			fprintf(w->out, "%" PRId64, row->max_tok);
		break;
	case EXTRA_PRIORITY:
		fprintf(w->out, "%" PRId64, row->priority);
		break;
	case EXTRA_CLIENT:
		put_text(w->out, trace_client_name(w->trace, row->client));
		break;
	case EXTRA_SESSION:
		put_text(w->out, writer_session(w, row, session));
		break;
	case EXTRA_SERVICE:
		if (row->service_ns > 0)
			writer_seconds(w->out, row->service_ns, 0);
		break;
	case EXTRA_HASH_IDS:
	case N_EXTRAS:
		break;
	}
}

static void omnibus_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	fprintf(w->out, "%" PRId64 ".%09" PRId64 ",%" PRId64 ",%" PRId64, at_ns / 1000000000,
		at_ns % 1000000000, row->prompt_tok, row->output_tok);
	for (int i = 0; i < N_OWN_EXTRAS; i++) {
		if (!w->holds[own_extras[i].extra])
			continue;
		fputc(',', w->out);
		put_extra(w, row, own_extras[i].extra);
	}
	fputc('\n', w->out);
}

/* With the log it must be a name that can be read. */
enum { MODEL_MAX_BYTES = NAME_MAX_BYTES - sizeof(" Conversation log") + 1 };

/* Bytes of the client's name in front of " Conversation log" or " API log", which is *log; all,
 * and a log that fits the row, where it has neither. */
static size_t split_client(const struct trace_row *row, const char *name, const char **log)
{
	size_t len = strlen(name);
	for (int i = 0; i < 2; i++) {
		size_t n = strlen(burstgpt_logs[i]) + 1;
		if (len > n && name[len - n] == ' ' &&
		    strcmp(name + len - n + 1, burstgpt_logs[i]) == 0) {
			*log = burstgpt_logs[i];
			return len - n;
		}
	}
	*log = burstgpt_logs[row->session > 0 ? 0 : 1];
	return len;
}

/* What the rows of both versions end with. */
static void put_burstgpt(struct writer *w, const struct trace_row *row)
{
	const char *name = trace_client_name(w->trace, row->client), *log;
	char model[NAME_MAX_BYTES + 1];
	size_t len = split_client(row, name, &log);
	w->renamed += row->client > 0 && name[len] == '\0';
	while (len > MODEL_MAX_BYTES || ((unsigned char)name[len] >> 6 == 2))
		len--; /* to the start of a character */
	snprintf(model, sizeof(model), "%.*s", (int)len, name);
	if (len == 0)
		snprintf(model, sizeof(model), "unknown");
	put_text(w->out, model);
	fprintf(w->out, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%s\n", row->prompt_tok,
		row->output_tok, row->prompt_tok + row->output_tok, log);
}

static void burstgpt_begin(struct writer *w)
{
	fprintf(w->out, "%s\n", burstgpt_header);
}

static void burstgpt_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	writer_seconds(w->out, at_ns, 0);
	fputc(',', w->out);
	put_burstgpt(w, row);
}

static void burstgpt_3_begin(struct writer *w)
{
	fprintf(w->out, "%s\n", burstgpt_3_header);
}

static void burstgpt_3_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	char session[SESSION_TEXT_SIZE];
	writer_seconds(w->out, at_ns, 1);
	fputc(',', w->out);
	put_text(w->out, writer_session(w, row, session));
	fputc(',', w->out);
	writer_seconds(w->out, row->service_ns, 0);
	fputc(',', w->out);
	put_burstgpt(w, row);
}

static void lengths_begin(struct writer *w)
{
	fprintf(w->out, "%s\n", lengths_csv_header);
}

/* The ratio with the fewest digits that give back the same double, as published. */
static void lengths_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	(void)at_ns;
	double ratio = (double)row->prompt_tok / (double)row->output_tok;
	char text[40];
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, ratio);
		if (strtod(text, NULL) == ratio)
			break;
	}
	if (ratio >= 10 && strchr(text, 'e'))
		snprintf(text, sizeof(text), "%.0f", ratio);
	fprintf(w->out, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%s%s\n", row->prompt_tok,
		row->output_tok, row->prompt_tok + row->output_tok, text,
		strpbrk(text, ".e") ? "" : ".0");
}

const struct writer_ops writer_omnibus = {
	.name = "csv",
	.summary = "our own: seconds with 9 decimals, and columns for all but hash ids",
	.step_ns = 1,
	.holds = {[EXTRA_MAX_TOK] = true,
		  [EXTRA_PRIORITY] = true,
		  [EXTRA_CLIENT] = true,
		  [EXTRA_SESSION] = true,
		  [EXTRA_SERVICE] = true},
	.begin = omnibus_begin,
	.row = omnibus_row,
};
const struct writer_ops writer_azure = {
	.name = "azure-csv",
	.summary = "as published in 2023: dates in 100 ns, CR LF",
	.step_ns = 100,
	.wall_clock = true,
	.begin = azure_begin,
	.row = azure_row,
};
const struct writer_ops writer_azure_2024 = {
	.name = "azure-2024-csv",
	.summary = "as published in 2024: dates in us with +00:00",
	.step_ns = 1000,
	.wall_clock = true,
	.begin = azure_2024_begin,
	.row = azure_2024_row,
};
const struct writer_ops writer_burstgpt = {
	.name = "burstgpt-csv",
	.summary = "BurstGPT 1 and 2: seconds, Model and Log Type from the client's name",
	.step_ns = 1,
	.holds = {[EXTRA_CLIENT] = true},
	.begin = burstgpt_begin,
	.row = burstgpt_row,
};
const struct writer_ops writer_burstgpt_3 = {
	.name = "burstgpt-3-csv",
	.summary = "BurstGPT 3: with sessions and the recorded time of service",
	.step_ns = 1,
	.holds = {[EXTRA_CLIENT] = true, [EXTRA_SESSION] = true, [EXTRA_SERVICE] = true},
	.begin = burstgpt_3_begin,
	.row = burstgpt_3_row,
};
const struct writer_ops writer_lengths = {
	.name = "lengths-csv",
	.summary = "num_prefill_tokens, num_decode_tokens, their sum and ratio; no arrivals",
	.begin = lengths_begin,
	.row = lengths_row,
};
