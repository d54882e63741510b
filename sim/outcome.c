#include "sim/outcome.h"
#include "sim/sessions.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

void outcome_record(struct sim *s, const struct job *j, enum record_status status,
		    int64_t finish_ns)
{
	struct instance *in = &s->instances[j->instance];

	instance_use(in, j->batch);
	int64_t gen = job_generated(in, j);
	int64_t gaps = 0, gap_ns = 0, last_ns = finish_ns;
	struct record r = {
		.idx = j->req.idx,
		.arrive_ns = j->req.arrive_ns,
		.schedule_ns = j->schedule_ns,
		.first_token_ns = j->first_ns,
		.finish_ns = finish_ns,
		.prompt_tok = j->req.prompt_tok,
		.output_tok = j->output_tok,
		.cached_tok = j->cached_tok,
		.preemptions = j->preemptions,
		.instance = j->instance,
		.client = j->client,
		.session = j->session,
		.priority = j->req.priority,
		.max_gap_ns = instance_max_gap(in, j),
		.status = status,
	};

	if (j->first_ns >= 0) {
		if (status != RECORD_COMPLETED)
			last_ns = gen > j->gen_tok && in->stream == 1 ? in->b.decode_end_ns
								      : j->last_ns;
		gap_ns = last_ns - j->first_ns;
		gaps = job_deliveries(in, j, gen) - 1;
	}
	metrics_record(&s->metrics, &r, gap_ns, gaps);
	if (s->c->record && !s->failed && s->c->record(s->c->sink_arg, &r, s->err) < 0)
		s->failed = true;
}

static const char *bound_name(const struct sim *s)
{
	static const char *const names[] = {"arrivals", "seats", "kv", "tokens", "link"};
	double total[N_BOUNDS]; /* over many instances more ns than an int64_t holds */
	int most = 0;

	for (int b = 0; b < N_BOUNDS; b++) {
		total[b] = (double)s->bound_ns[b];
		/* that nothing waits says something only of instances that arrivals go to */
		for (uint32_t i = 0; i < (b == BOUND_ARRIVALS ? s->n_entry : s->n); i++)
			total[b] += (double)s->instances[i].stats.bound_ns[b];
		if (total[b] > total[most])
			most = b;
	}
	return names[most];
}

/* A word of the table in calibrate/README.md, beside the others. */
static void __attribute__((format(printf, 2, 3)))
add_note(struct summary *out, const char *fmt, ...)
{
	size_t n = strlen(out->notes);
	va_list ap;

	if (n > 0 && n + 1 < sizeof(out->notes))
		out->notes[n++] = ' ';
	va_start(ap, fmt);
	vsnprintf(out->notes + n, sizeof(out->notes) - n, fmt, ap);
	va_end(ap);
}

/* NULLs where no pool remembers prompts. */
static void summarize_cache(const struct sim *s, struct summary *out)
{
	int64_t queried_tok = 0;

	out->cached_tok = FIELD_NULL_INT;
	out->prefix_hit_rate = NAN;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct instance *in = &s->instances[i];

		if (!in->kv.prefix)
			continue;
		if (out->cached_tok == FIELD_NULL_INT)
			out->cached_tok = 0;
		out->cached_tok += in->stats.cached_tok;
		queried_tok += in->stats.queried_tok;
	}
	if (queried_tok > 0)
		out->prefix_hit_rate = (double)out->cached_tok / (double)queried_tok;
}

void outcome_summary(struct sim *s, struct summary *out)
{
	double batch_sum = 0, util_sum = 0;
	bool oracle = false, reply_batch = false, outside = false;
	bool followed = s->sessions && sessions_followed(s->sessions);

	metrics_summary(&s->metrics, &s->itl, out);
	if (s->c->closed_loop > 0) /* arrivals follow completions: no rate is offered */
		out->offered_rps = NAN;
	if (s->c->closed_loop > 0 || followed) /* and a backlog cannot grow as it would */
		out->saturated = FIELD_NULL_INT;
	out->preemptions = out->steps = out->recomputed_tok = 0;
	summarize_cache(s, out);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct instance_stats *st = &s->instances[i].stats;

		out->preemptions += st->preemptions;
		out->steps += st->steps;
		out->recomputed_tok += st->recomputed_tok;
		batch_sum += (double)st->batch_sum;
		util_sum += stats_sum_value(&st->kv_sum) / (double)s->instances[i].kv.total;
		outside = outside || st->outside;
		oracle = oracle || s->instances[i].oracle;
		reply_batch = reply_batch || s->instances[i].replied_batch;
	}
	out->batch_mean = out->steps ? batch_sum / (double)out->steps : NAN;
	out->kv_util_mean =
		out->steps && !s->c->hardware.kv_unlimited ? util_sum / (double)out->steps : NAN;
	snprintf(out->bound, sizeof(out->bound), "%s", bound_name(s));
	snprintf(out->times, sizeof(out->times), "%s", s->c->hardware.executor->ops->times);
	snprintf(out->notes, sizeof(out->notes), "%s", s->c->hardware.executor->notes);
	s->counts.outside = outside;
	if (outside)
		add_note(out, "extrapolated");
	if (oracle)
		add_note(out, "oracle");
	if (s->counts.beyond_context > 0)
		add_note(out, "beyond-context");
	if (followed)
		add_note(out, "closed-sessions");
	if (reply_batch)
		add_note(out, "reply=batch");
	if (s->c->choice->disaggregated && s->c->choice->shape.ttft == TTFT_DECODE)
		add_note(out, "ttft=decode");
	if (out->cached_tok != FIELD_NULL_INT && s->counts.with_ids == 0)
		add_note(out, "no-hash-ids");
	if (s->c->choice->common.stream > 1)
		add_note(out, "stream=%lld", (long long)s->c->choice->common.stream);
}

struct bin_sink {
	struct sim *s;
	const char *metric;
};

static void put_bin(void *arg, double low, double high, int64_t count)
{
	struct bin_sink *to = arg;
	struct histogram_bin b = {to->metric, low, high, count};

	if (!to->s->failed && to->s->c->bin(to->s->c->sink_arg, &b, to->s->err) < 0)
		to->s->failed = true;
}

void outcome_histograms(struct sim *s)
{
	const struct metrics *m = &s->metrics;
	const struct {
		const char *metric;
		const struct hist *hist;
	} all[] = {
		{"itl", &s->itl},      {"ttft", &m->ttft.hist},		{"tpot", &m->tpot.hist},
		{"e2e", &m->e2e.hist}, {"norm_latency", &m->norm.hist}, {"queue", &m->queue.hist}};

	if (!s->c->bin)
		return;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		hist_each(all[i].hist, put_bin, &(struct bin_sink){s, all[i].metric});
}
