/* writer.c: see writer.h; the formats themselves are in writer_csv.c and writer_json.c. */
#include "traces/writer.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Where the source has no dates of its own the rows start at 2024-01-01 00:00:00. */
#define START_NS     (INT64_C(1704067200) * 1000000000)
#define CLOCK_MAX_NS (INT64_C(6311433600) * 1000000000) /* 2170-01-01 */

const struct writer_ops *const writers[] = {
	&writer_omnibus,  &writer_azure,    &writer_azure_2024, &writer_mooncake,
	&writer_ns,	  &writer_burstgpt, &writer_burstgpt_3, &writer_bailian,
	&writer_ragpulse, &writer_vllm,	    &writer_lengths,	NULL,
};
enum { N_WRITERS = sizeof(writers) / sizeof(writers[0]) - 1 };

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

void writer_seconds(FILE *out, int64_t ns, int least)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%" PRId64 ".%09" PRId64, ns / 1000000000,
			 ns % 1000000000);
	for (int decimals = 9; decimals > least && text[n - 1] == '0'; decimals--)
		n--;
	fprintf(out, "%.*s", text[n - 1] == '.' ? n - 1 : n, text);
}

const char *writer_session(const struct writer *w, const struct trace_row *row,
			   char buf[SESSION_TEXT_SIZE])
{
	const char *name = trace_session_name(w->trace, row->session);
	if (*name || row->session == 0)
		return name;
	snprintf(buf, SESSION_TEXT_SIZE, "%" PRId64, row->session);
	return buf;
}

/* Before the first row: from here on the source's clock is known. */
static void begin(struct writer *w, const struct trace_row *first)
{
	const struct trace *t = w->trace;
	bool dates;
	int64_t base_ns = trace_base_ns(t, &dates);
	if (dates == w->ops->wall_clock)
		w->start_ns = base_ns;
	else
		w->start_ns = w->ops->wall_clock ? START_NS : 0;
	const bool has[N_EXTRAS] = {
		[EXTRA_MAX_TOK] = w->ops->by_name || first->max_tok > 0 || trace_has_max_tok(t),
		[EXTRA_PRIORITY] = first->priority != 0 || trace_has_priorities(t),
		[EXTRA_CLIENT] = first->client > 0 || trace_has_clients(t),
		[EXTRA_SESSION] = first->session > 0 || trace_has_sessions(t),
		[EXTRA_SERVICE] = first->service_ns > 0 || trace_has_service(t),
		[EXTRA_HASH_IDS] = trace_hash_block(t) == w->ops->hash_block &&
				   trace_hash_rule(t) == w->ops->hash_rule,
	};
	for (int i = 0; i < N_EXTRAS; i++)
		w->holds[i] = w->ops->holds[i] && has[i];
	if (w->ops->begin)
		w->ops->begin(w);
}

static void count_losses(struct writer *w, const struct trace_row *row)
{
	w->lost[EXTRA_MAX_TOK] += row->max_tok > 0 && !w->holds[EXTRA_MAX_TOK];
	w->lost[EXTRA_PRIORITY] += row->priority != 0 && !w->holds[EXTRA_PRIORITY];
	w->lost[EXTRA_CLIENT] += row->client > 0 && !w->holds[EXTRA_CLIENT];
	w->lost[EXTRA_SESSION] += row->session > 0 && !w->holds[EXTRA_SESSION];
	w->lost[EXTRA_SERVICE] += row->service_ns > 0 && !w->holds[EXTRA_SERVICE];
	w->lost[EXTRA_HASH_IDS] += row->hash_ids && !w->holds[EXTRA_HASH_IDS];
}

static int write_row(struct writer *w, const struct trace_row *row, struct err *e)
{
	int64_t exact_ns = w->start_ns + row->arrive_ns, step_ns = w->ops->step_ns;
	if (w->ops->seconds && exact_ns >= (INT64_C(1) << 23) * 1000000000)
		step_ns = 10000;
	int64_t at_ns = step_ns > 0 ? (exact_ns + step_ns / 2) / step_ns * step_ns : exact_ns;
	if (w->ops->wall_clock && at_ns >= CLOCK_MAX_NS)
		return err_set(e, "row %" PRId64 " arrives after 2169, which %s cannot hold",
			       w->rows + 1, w->ops->name);
	w->rows++;
	w->rounded += at_ns != exact_ns;
	w->lost_arrivals += step_ns == 0 && trace_has_arrivals(w->trace);
	count_losses(w, row);
	w->ops->row(w, row, at_ns);
	return 0;
}

static int write_rows(struct writer *w, struct trace *t, struct err *e)
{
	struct trace_row row;
	int more;
	while ((more = trace_next(t, &row, e)) > 0) {
		if (w->rows == 0)
			begin(w, &row);
		if (write_row(w, &row, e))
			return -1;
		if (ferror(w->out))
			return err_set(e, "cannot write the trace: %s", strerror(errno));
	}
	if (more == 0 && w->ops->end)
		w->ops->end(w);
	return more;
}

int writer_copy(struct writer *w, const struct writer_ops *ops, struct trace *t, FILE *out,
		struct err *e)
{
	*w = (struct writer){.ops = ops, .out = out, .trace = t};
	int result = write_rows(w, t, e);
	if (ops->release)
		ops->release(w);
	return result;
}
