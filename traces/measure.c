/* measure.c: see measure.h. */
#include "traces/measure.h"
#include "sim/utf8.h"
#include <inttypes.h>
#include <string.h>

#define INT_FIELD(f, text)                                                                         \
	{                                                                                          \
		.name = #f, .kind = FIELD_INT, .offset = offsetof(struct measure, f), .md = true,  \
		.help = text                                                                       \
	}
#define REAL_FIELD(f, text)                                                                        \
	{                                                                                          \
		.name = #f, .kind = FIELD_REAL, .offset = offsetof(struct measure, f), .md = true, \
		.help = text                                                                       \
	}
#define TEXT_FIELD(f, text)                                                                        \
	{                                                                                          \
		.name = #f, .kind = FIELD_TEXT, .offset = offsetof(struct measure, f),             \
		.size = sizeof(((struct measure *)0)->f), .md = true, .help = text                 \
	}

const struct field measure_fields[] = {
	TEXT_FIELD(source, "where the rows came from"),
	TEXT_FIELD(format, "its format or generator"),
	INT_FIELD(rows, "rows selected"),
	INT_FIELD(skipped_zero, "rows skipped: no output tokens"),
	INT_FIELD(clamped_zero, "rows given 1 output token in place of none"),
	INT_FIELD(skipped_zero_prompt, "rows skipped: no prompt tokens"),
	INT_FIELD(left_out, "rows left out by skip and window"),
	REAL_FIELD(span_s, "last arrival - first arrival"),
	REAL_FIELD(rate_rps, "(rows - 1) / span"),
	REAL_FIELD(gap_cv, "standard deviation of the gaps / their mean"),
	INT_FIELD(prompt_tok, "prompt tokens, all rows"),
	INT_FIELD(output_tok, "output tokens, all rows"),
	REAL_FIELD(prompt_mean, "prompt tokens a row"),
	REAL_FIELD(prompt_p50, ""),
	REAL_FIELD(prompt_p90, ""),
	REAL_FIELD(prompt_p99, ""),
	INT_FIELD(prompt_max, ""),
	REAL_FIELD(output_mean, "output tokens a row"),
	REAL_FIELD(output_p50, ""),
	REAL_FIELD(output_p90, ""),
	REAL_FIELD(output_p99, ""),
	INT_FIELD(output_max, ""),
	REAL_FIELD(correlation, "Spearman's rank correlation of prompt and output"),
	INT_FIELD(block, "slots of a KV block"),
	INT_FIELD(kv_blocks, "sum of ceil((prompt + output - 1) / block)"),
	INT_FIELD(hash_block, "tokens a prefix hash stands for"),
	TEXT_FIELD(hash_rule, "one hash a block (ceil) or a full block (floor)"),
	INT_FIELD(prefix_tok, "prompt tokens found by an endless prefix cache"),
	REAL_FIELD(prefix_share, "of all prompt tokens"),
	INT_FIELD(sessions, "conversations"),
	INT_FIELD(clients, "named clients"),
	INT_FIELD(overlapping_turns, "rows that arrive before their session's last one has ended"),
	INT_FIELD(unknown_parents, "rows whose parent is not in the trace before them"),
	INT_FIELD(restarts, "times the clock of the file began anew"),
	INT_FIELD(unusable_ids, "rows whose hash ids stand for no block of a fixed length"),
	INT_FIELD(max_model_len, "limit on prompt + output"),
	INT_FIELD(too_long, "rows beyond max_model_len"),
	INT_FIELD(prompt_too_long, "of these, rows whose prompt alone leaves no room for output"),
	TEXT_FIELD(trace_hash, "of arrivals, prompts and outputs, as stored with results"),
	{.name = NULL},
};

/* What is kept from row to row. */
struct seen {
	int64_t last_ns; /* sums over the gaps between arrivals */
	double squares;
	struct tally blocks;  /* hash ids so far */
	struct tally clients; /* with rows */
};

static void add_row(struct measure *m, struct seen *g, const struct trace_row *row)
{
	int64_t total = row->prompt_tok + row->output_tok;
	double gap = (double)(row->arrive_ns - g->last_ns);
	g->squares += gap * gap; /* the first one is 0 */
	g->last_ns = row->arrive_ns;
	tally_add(&m->prompts, row->prompt_tok);
	tally_add(&m->outputs, row->output_tok);
	m->kv_blocks += (total - 1 + m->block - 1) / m->block;
	if (m->max_model_len > 0 && total > m->max_model_len) {
		m->too_long++;
		m->prompt_too_long += row->prompt_tok >= m->max_model_len;
	}
}

/* The blocks that rows before this one have left in a cache without end. At least one token of a
 * prompt is computed, so of n tokens at most (n - 1) / block blocks are found. */
static void add_blocks(struct measure *m, struct seen *seen, const struct trace_row *row,
		       int64_t block)
{
	int64_t found = 0, most = (row->prompt_tok - 1) / block;
	while (found < row->n_hash_ids && tally_has(&seen->blocks, (int64_t)row->hash_ids[found]))
		found++;
	for (int64_t i = found; i < row->n_hash_ids; i++)
		tally_add(&seen->blocks, (int64_t)row->hash_ids[i]);
	m->prefix_tok += (found < most ? found : most) * block;
}

static void summarise(struct measure *m, const struct seen *g, const struct trace *t)
{
	const struct trace_counts *c = trace_counts(t);
	double gaps = (double)(c->rows - 1), mean = (double)c->last_ns / gaps;
	bool has_rate = c->rows > 1 && c->last_ns > 0;
	double variance = g->squares / gaps - mean * mean;
	m->rows = c->rows;
	m->skipped_zero = c->skipped_zero;
	m->skipped_zero_prompt = c->skipped_zero_prompt;
	m->left_out = c->left_out;
	m->span_s = (double)c->last_ns * 1e-9;
	m->rate_rps = has_rate ? 1e9 / mean : (double)NAN;
	m->gap_cv = has_rate ? sqrt(variance > 0 ? variance : 0) / mean : (double)NAN;
	m->prompt_tok = c->prompt_tok;
	m->output_tok = c->output_tok;
	m->clamped_zero = c->clamped_zero;
	m->hash_block = trace_hash_block(t) ? trace_hash_block(t) : FIELD_NULL_INT;
	m->prefix_share = (double)m->prefix_tok / (double)m->prompt_tok;
	if (m->hash_block == FIELD_NULL_INT) {
		m->prefix_tok = FIELD_NULL_INT;
		m->prefix_share = (double)NAN;
	}
	snprintf(m->hash_rule, sizeof(m->hash_rule), "%s", trace_hash_names[trace_hash_rule(t)]);
	m->sessions = trace_has_sessions(t) || c->sessions > 0 ? c->sessions : FIELD_NULL_INT;
	m->overlapping_turns = m->sessions == FIELD_NULL_INT ? m->sessions : c->overlapping;
	m->clients = trace_has_clients(t) || g->clients.distinct > 0 ? (int64_t)g->clients.distinct
								     : FIELD_NULL_INT;
	m->unknown_parents = c->unknown_parents;
	m->restarts = c->restarts;
	m->unusable_ids = c->unusable_ids;
	if (!trace_has_arrivals(t))
		m->span_s = (double)NAN;
	snprintf(m->format, sizeof(m->format), "%s", trace_format(t));
	snprintf(m->trace_hash, sizeof(m->trace_hash), "%016" PRIx64, c->hash);
	if (m->max_model_len == 0)
		m->max_model_len = m->too_long = m->prompt_too_long = FIELD_NULL_INT;
}

static void take_quantiles(const struct tally *t, double *p50, double *p90, double *p99,
			   int64_t *max)
{
	*p50 = tally_quantile(t, 50, 100);
	*p90 = tally_quantile(t, 90, 100);
	*p99 = tally_quantile(t, 99, 100);
	*max = tally_at(t, t->n - 1);
}

/* Pearson's correlation of the middle ranks, from a second pass. */
static int correlate(const struct trace_spec *spec, struct measure *m, struct err *e)
{
	struct trace *t = trace_open(spec, e);
	struct trace_row row;
	double mean = ((double)m->rows + 1) / 2, xx = 0, yy = 0, xy = 0;
	int more = -1;
	while (t && (more = trace_next(t, &row, e)) > 0) {
		double x = tally_middle_rank(&m->prompts, row.prompt_tok) - mean;
		double y = tally_middle_rank(&m->outputs, row.output_tok) - mean;
		xx += x * x;
		yy += y * y;
		xy += x * y;
	}
	trace_close(t);
	m->correlation = xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : (double)NAN;
	return more;
}

static int read_lengths(const struct trace_spec *spec, struct measure *m, struct err *e)
{
	struct trace *t = trace_open(spec, e);
	struct seen seen = {0};
	struct trace_row row;
	int more = -1;
	while (t && (more = trace_next(t, &row, e)) > 0) {
		add_row(m, &seen, &row);
		if (row.client > 0)
			tally_add(&seen.clients, row.client);
		if (row.hash_ids)
			add_blocks(m, &seen, &row, trace_hash_block(t));
	}
	if (more == 0)
		summarise(m, &seen, t);
	tally_release(&seen.blocks);
	tally_release(&seen.clients);
	trace_close(t);
	return more;
}

int measure_trace(const struct trace_spec *spec, int64_t block, int64_t max_model_len,
		  struct measure *m, struct err *e)
{
	*m = (struct measure){.block = block, .max_model_len = max_model_len};
	snprintf(m->source, sizeof(m->source), "%s", spec->source);
	if (read_lengths(spec, m, e)) {
		measure_release(m);
		return -1;
	}
	tally_sort(&m->prompts);
	tally_sort(&m->outputs);
	m->prompt_mean = (double)m->prompt_tok / (double)m->rows;
	m->output_mean = (double)m->output_tok / (double)m->rows;
	take_quantiles(&m->prompts, &m->prompt_p50, &m->prompt_p90, &m->prompt_p99, &m->prompt_max);
	take_quantiles(&m->outputs, &m->output_p50, &m->output_p90, &m->output_p99, &m->output_max);
	if (correlate(spec, m, e)) {
		measure_release(m);
		return -1;
	}
	return 0;
}

void measure_release(struct measure *m)
{
	tally_release(&m->prompts);
	tally_release(&m->outputs);
}

static void print_counts(const struct measure *m, FILE *out)
{
	char source[sizeof(m->source)];
	memcpy(source, m->source, sizeof(source));
	utf8_clean(source);
	fprintf(out, "%-14s %s (%s)\n", "trace", source, m->format);
	fprintf(out, "%-14s %" PRId64 "\n", "rows", m->rows);
	fprintf(out, "%-14s %" PRId64 " without output, %" PRId64 " without prompt\n", "skipped",
		m->skipped_zero, m->skipped_zero_prompt);
	if (m->left_out > 0)
		fprintf(out, "%-14s %" PRId64 " by skip and window\n", "left out", m->left_out);
	if (m->clamped_zero > 0)
		fprintf(out, "%-14s %" PRId64 " with 1 output token in place of none\n", "clamped",
			m->clamped_zero);
	if (isnan(m->span_s))
		fprintf(out, "%-14s no arrivals, only lengths\n", "span");
	else
		fprintf(out, "%-14s %.9g s\n", "span", m->span_s);
	if (m->restarts > 0)
		fprintf(out, "%-14s %" PRId64 " times the clock of the file began anew\n",
			"restarts", m->restarts);
	if (!isnan(m->rate_rps))
		fprintf(out, "%-14s %.6g requests/s, gap CV %.4g\n", "rate", m->rate_rps,
			m->gap_cv);
	fprintf(out, "%-14s %" PRId64 " in, %" PRId64 " out\n", "tokens", m->prompt_tok,
		m->output_tok);
	if (!isnan(m->correlation))
		fprintf(out, "%-14s %.4f (Spearman, prompt and output)\n", "correlation",
			m->correlation);
	fprintf(out, "%-14s %" PRId64 " of %" PRId64 " (prompt + output - 1)\n", "KV blocks",
		m->kv_blocks, m->block);
	if (m->hash_block != FIELD_NULL_INT)
		fprintf(out, "%-14s of %" PRId64 " tokens (%s)\n", "hash ids", m->hash_block,
			m->hash_rule);
	if (m->prefix_tok != FIELD_NULL_INT)
		fprintf(out,
			"%-14s %" PRId64 " of %" PRId64
			" prompt tokens, %.2f %% (cache without end, blocks of %" PRId64 ")\n",
			"prefix share", m->prefix_tok, m->prompt_tok, 100 * m->prefix_share,
			m->hash_block);
	if (m->unusable_ids > 0)
		fprintf(out, "%-14s of no fixed length in %" PRId64 " rows: left out\n", "hash ids",
			m->unusable_ids);
	if (m->sessions != FIELD_NULL_INT)
		fprintf(out, "%-14s %" PRId64 ", %" PRId64 " turns overlap the one before\n",
			"sessions", m->sessions, m->overlapping_turns);
	if (m->unknown_parents > 0)
		fprintf(out, "%-14s %" PRId64 " not in the trace before their rows\n", "parents",
			m->unknown_parents);
	if (m->clients != FIELD_NULL_INT)
		fprintf(out, "%-14s %" PRId64 "\n", "clients", m->clients);
	if (m->max_model_len != FIELD_NULL_INT)
		fprintf(out,
			"%-14s %" PRId64 " rows beyond %" PRId64 ", %" PRId64
			" of them with prompt >= %" PRId64 "\n",
			"too long", m->too_long, m->max_model_len, m->prompt_too_long,
			m->max_model_len);
	fprintf(out, "%-14s %s\n", "hash", m->trace_hash);
}

/* Bins [1, 2), [2, 4), [4, 8)...; every bin between the smallest and the largest is shown. */
static void print_histogram(const struct tally *t, const char *title, FILE *out)
{
	enum { BINS = 32, WIDTH = 50 };
	int64_t count[BINS] = {0}, most = 1;
	int first = BINS, last = 0;
	for (size_t i = 0; i < t->distinct; i++) {
		int bin = 0;
		while (bin < BINS - 1 && t->entries[i].value >> (bin + 1))
			bin++;
		count[bin] += t->entries[i].count;
		most = count[bin] > most ? count[bin] : most;
		first = bin < first ? bin : first;
		last = bin;
	}
	fprintf(out, "\n%s tokens    rows\n", title);
	for (int bin = first; bin <= last; bin++) {
		int bar = (int)((count[bin] * WIDTH + most - 1) / most);
		fprintf(out, "%10" PRId64 "+ %9" PRId64 " %.*s\n", INT64_C(1) << bin, count[bin],
			bar, "##################################################");
	}
}

void measure_print(const struct measure *m, FILE *out)
{
	print_counts(m, out);
	fprintf(out, "\n%-8s %10s %10s %10s %10s %10s\n", "tokens", "mean", "p50", "p90", "p99",
		"max");
	fprintf(out, "%-8s %10.2f %10.10g %10.10g %10.10g %10" PRId64 "\n", "prompt",
		m->prompt_mean, m->prompt_p50, m->prompt_p90, m->prompt_p99, m->prompt_max);
	fprintf(out, "%-8s %10.2f %10.10g %10.10g %10.10g %10" PRId64 "\n", "output",
		m->output_mean, m->output_p50, m->output_p90, m->output_p99, m->output_max);
	print_histogram(&m->prompts, "prompt", out);
	print_histogram(&m->outputs, "output", out);
}
