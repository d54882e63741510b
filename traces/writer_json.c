/* writer_json.c: the formats of writer.h that are JSON. */
#include "traces/writer.h"
#include <inttypes.h>
#include <string.h>

/* A text in quotes. */
static void put_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

/* ids in the sign that the file had; `space` follows commas and colons. */
static void put_hash_ids(struct writer *w, const struct trace_row *row, const char *name,
			 const char *space)
{
	bool is_unsigned = trace_hash_unsigned(w->trace);
	if (!row->hash_ids || !w->holds[EXTRA_HASH_IDS])
		return;
	fprintf(w->out, ",%s\"%s\":%s[", space, name, space);
	for (int64_t i = 0; i < row->n_hash_ids; i++) {
		if (i > 0)
			fprintf(w->out, ",%s", space);
		if (is_unsigned)
			fprintf(w->out, "%" PRIu64, row->hash_ids[i]);
		else
			fprintf(w->out, "%" PRId64, (int64_t)row->hash_ids[i]);
	}
	fputc(']', w->out);
}

/* One object; `space` follows every comma and colon, as the published files have it. */
static void put_row(struct writer *w, const struct trace_row *row, const char *arrival,
		    int64_t value, const char *hash, const char *space)
{
	fprintf(w->out,
		"{\"%s\":%s%" PRId64 ",%s\"input_length\":%s%" PRId64
		",%s\"output_length\":%s%" PRId64,
		arrival, space, value, space, space, row->prompt_tok, space, space,
		row->output_tok);
	if (row->max_tok > 0)
		fprintf(w->out, ",%s\"max_tokens\":%s%" PRId64, space, space, row->max_tok);
	put_hash_ids(w, row, hash, space);
	fputs("}\n", w->out);
}

static void mooncake_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	put_row(w, row, "timestamp", at_ns / 1000000, "hash_ids", " ");
}

static void ns_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	put_row(w, row, "arrival_time_ns", at_ns, "hash_ids16", "");
}

struct session_end {  /* of each session, by number - 1 */
	int64_t chat; /* the last one; -1: none so far */
	int64_t turns;
};

struct sessions {
	struct session_end *end;
	size_t n;
};

static struct session_end *end_of(struct writer *w, int64_t session)
{
	struct sessions *s = w->own ? w->own : (w->own = xcalloc(1, sizeof(*s)));
	size_t wanted = (size_t)session;
	if (wanted > s->n) {
		size_t n = wanted + 64 > 2 * s->n ? wanted + 64 : 2 * s->n;
		s->end = xrealloc(s->end, n * sizeof(*s->end));
		for (; s->n < n; s->n++)
			s->end[s->n] = (struct session_end){.chat = -1};
	}
	return &s->end[session - 1];
}

/* Chats are numbered anew, and follow one another within a session. */
static void bailian_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	struct session_end alone = {.chat = -1};
	struct session_end *end = row->session > 0 ? end_of(w, row->session) : &alone;
	int64_t id = w->rows - 1;
	fprintf(w->out,
		"{\"chat_id\": %" PRId64 ", \"parent_chat_id\": %" PRId64 ", \"timestamp\": ", id,
		end->chat);
	writer_seconds(w->out, at_ns, 1);
	fprintf(w->out, ", \"input_length\": %" PRId64 ", \"output_length\": %" PRId64,
		row->prompt_tok, row->output_tok);
	if (row->client > 0) {
		fputs(", \"type\": ", w->out);
		put_text(w->out, trace_client_name(w->trace, row->client));
	}
	fprintf(w->out, ", \"turn\": %" PRId64, end->turns + 1);
	put_hash_ids(w, row, "hash_ids", " ");
	fputs("}\n", w->out);
	*end = (struct session_end){id, end->turns + 1};
}

static void bailian_release(struct writer *w)
{
	struct sessions *s = w->own;
	if (s)
		free(s->end);
	free(s);
}

static void ragpulse_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	char session[SESSION_TEXT_SIZE];
	fputs("{\"timestamp\": \"", w->out);
	writer_seconds(w->out, at_ns, 0);
	fprintf(w->out,
		"\", \"input_length\": %" PRId64 ", \"output_length\": %" PRId64
		", \"session_id\": ",
		row->prompt_tok, row->output_tok);
	put_text(w->out, writer_session(w, row, session));
	fputs("}\n", w->out);
}

/* The document has one array after the other, so rows are held. */
struct held_row {
	int64_t prompt_tok, output_tok, at_ns;
};

struct held {
	struct held_row *rows;
	size_t n, size;
};

static void vllm_row(struct writer *w, const struct trace_row *row, int64_t at_ns)
{
	struct held *h = w->own ? w->own : (w->own = xcalloc(1, sizeof(*h)));
	if (h->n == h->size) {
		h->size = h->size ? 2 * h->size : 256;
		h->rows = xrealloc(h->rows, h->size * sizeof(*h->rows));
	}
	h->rows[h->n++] = (struct held_row){row->prompt_tok, row->output_tok, at_ns};
}

static void vllm_end(struct writer *w)
{
	const struct held *h = w->own;
	fprintf(w->out, "{\"num_prompts\": %zu, \"input_lens\": [", h->n);
	for (size_t i = 0; i < h->n; i++)
		fprintf(w->out, "%s%" PRId64, i > 0 ? ", " : "", h->rows[i].prompt_tok);
	fputs("], \"output_lens\": [", w->out);
	for (size_t i = 0; i < h->n; i++)
		fprintf(w->out, "%s%" PRId64, i > 0 ? ", " : "", h->rows[i].output_tok);
	if (trace_has_arrivals(w->trace)) {
		fputs("], \"start_times\": [", w->out);
		for (size_t i = 0; i < h->n; i++) {
			fputs(i > 0 ? ", " : "", w->out);
			writer_seconds(w->out, h->rows[i].at_ns, 1);
		}
	}
	fputs("]}", w->out);
}

static void vllm_release(struct writer *w)
{
	struct held *h = w->own;
	if (h)
		free(h->rows);
	free(h);
}

const struct writer_ops writer_mooncake = {
	.name = "mooncake-jsonl",
	.summary = "as published: whole ms, hash_ids",
	.by_name = true,
	.step_ns = 1000000,
	.holds = {[EXTRA_MAX_TOK] = true, [EXTRA_HASH_IDS] = true},
	.hash_block = 512,
	.hash_rule = TRACE_HASH_CEIL,
	.row = mooncake_row,
};
const struct writer_ops writer_ns = {
	.name = "ns-jsonl",
	.summary = "arrival_time_ns, hash_ids16",
	.by_name = true,
	.step_ns = 1,
	.holds = {[EXTRA_MAX_TOK] = true, [EXTRA_HASH_IDS] = true},
	.hash_block = 16,
	.hash_rule = TRACE_HASH_FLOOR,
	.row = ns_row,
};
const struct writer_ops writer_bailian = {
	.name = "bailian-jsonl",
	.summary = "Qwen-Bailian: seconds, sessions as chats that follow one another, hash_ids",
	.by_name = true,
	.step_ns = 1,
	.seconds = true,
	.holds = {[EXTRA_CLIENT] = true, [EXTRA_SESSION] = true, [EXTRA_HASH_IDS] = true},
	.hash_block = 16,
	.hash_rule = TRACE_HASH_CEIL,
	.row = bailian_row,
	.release = bailian_release,
};
const struct writer_ops writer_ragpulse = {
	.name = "ragpulse-jsonl",
	.summary = "RAGPulse without its hash_ids: seconds as text, session_id",
	.by_name = true,
	.step_ns = 1,
	.holds = {[EXTRA_SESSION] = true},
	.row = ragpulse_row,
};
const struct writer_ops writer_vllm = {
	.name = "vllm-json",
	.summary = "lengths and start_times as vllm bench serve saves them",
	.step_ns = 1,
	.seconds = true,
	.row = vllm_row,
	.end = vllm_end,
	.release = vllm_release,
};
