#include "tests/agree.h"
#include <math.h>
#include <string.h>

/* Both ends of a gap are rounded in one of them; and doubles are a little off. */
#define ROUNDING (1 + 1e-6)

static bool differs(struct verdict *v, const char *what, int64_t idx, double engine,
		    double reference)
{
	if (engine == reference)
		return false;
	snprintf(v->text, sizeof(v->text), "%s of %lld: engine %.17g, reference %.17g", what,
		 (long long)idx, engine, reference);
	return true;
}

/* A request's record names the instance that it is or was last at. */
static int64_t last_instance(const struct ref_config *c, const struct ref_outcome *o,
			     int64_t engine)
{
	int64_t decode = c->instances + o->decode_instance;

	if (o->decode_instance < 0)
		return o->instance;
	if (o->status != REF_COMPLETED && o->tokens <= 1) /* the transfer may go on */
		return engine == o->instance ? engine : decode;
	return decode;
}

static bool record_differs(struct verdict *v, const struct ref_config *c, int64_t idx,
			   const struct record *e, const struct ref_outcome *o)
{
	static const enum ref_status status[] = {REF_COMPLETED, REF_REJECTED, REF_UNFINISHED,
						 REF_ABORTED};

	if (differs(v, "index", idx, (double)e->idx,
		    o->status == REF_NOT_ARRIVED ? -1.0 : (double)idx))
		return true;
	if (o->status == REF_NOT_ARRIVED)
		return false;
	if (differs(v, "status", idx, status[e->status], o->status) ||
	    differs(v, "a", idx, (double)e->arrive_ns, (double)o->arrive_ns) ||
	    differs(v, "s", idx, (double)e->schedule_ns, (double)o->s_ns) ||
	    differs(v, "f", idx, (double)e->first_token_ns, (double)o->f_ns) ||
	    differs(v, "c", idx, (double)e->finish_ns, (double)o->c_ns) ||
	    differs(v, "preemptions", idx, (double)e->preemptions, (double)o->preemptions) ||
	    differs(v, "output", idx, (double)e->output_tok, (double)o->output_tok) ||
	    differs(v, "cached", idx, (double)e->cached_tok, (double)o->cached_tok))
		return true;
	if (o->status != REF_REJECTED && differs(v, "instance", idx, (double)e->instance,
						 (double)last_instance(c, o, e->instance)))
		return true;
	/* the engine's gaps are not rounded, the reference's are between rounded times */
	double gap = e->max_gap_ns < 0 ? 0 : e->max_gap_ns;

	if (fabs(gap - (double)o->max_gap_ns) > ROUNDING)
		return differs(v, "longest gap", idx, gap, (double)o->max_gap_ns);
	return false;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Every gap between deliveries, sorted; the caller frees it. */
static int64_t *all_gaps(const struct ref_config *c, const struct ref_run *run, int64_t *n)
{
	int64_t room = 1;

	*n = 0;
	for (size_t r = 0; r < run->n; r++)
		room += run->outcome[r].tokens;
	int64_t *gap = xcalloc((size_t)room, sizeof(*gap));

	for (size_t r = 0; r < run->n; r++) {
		const struct ref_outcome *o = &run->outcome[r];
		int64_t last = -1;

		for (int64_t k = 1; k <= o->tokens; k++) {
			if (k % c->stream != 0 && k != o->output_tok)
				continue;
			if (last >= 0)
				gap[(*n)++] = o->token_ns[k - 1] - last;
			last = o->token_ns[k - 1];
		}
	}
	qsort(gap, (size_t)*n, sizeof(*gap), by_value);
	return gap;
}

/* As many gaps, the same mean, and the k-th smallest within a ns of the bin of the k-th. */
static bool gaps_differ(struct verdict *v, const struct ref_config *c,
			const struct harness_result *e, const struct ref_run *run)
{
	int64_t n, k = 0, sum = 0;
	int64_t *gap = all_gaps(c, run, &n);
	bool differ = false;

	for (size_t i = 0; i < e->n_bins && !differ; i++) {
		const struct harness_bin *b = &e->bin[i];

		if (strcmp(b->metric, "itl") != 0)
			continue;
		for (int64_t end = k + b->count; k < end && k < n && !differ; k++)
			if ((double)gap[k] < b->low_ns - ROUNDING ||
			    (double)gap[k] > b->high_ns + ROUNDING)
				differ = differs(v, "gap in order", k, b->low_ns, (double)gap[k]);
		if (!differ && k == n && i + 1 < e->n_bins && !strcmp(b[1].metric, "itl"))
			differ = differs(v, "gaps, at least", n, (double)n + 1, (double)n);
	}
	differ = differ || differs(v, "gaps", n, (double)k, (double)n);
	for (int64_t i = 0; i < n; i++)
		sum += gap[i];
	double mean = n ? (double)sum / (double)n / 1e9 : NAN;

	if (!differ && fabs(e->summary.itl_mean_s - mean) > 1e-12 * mean)
		differ = differs(v, "mean gap", n, e->summary.itl_mean_s, mean);
	free(gap);
	return differ;
}

/* Share of the KV blocks in use, mean over steps. */
static bool use_differs(struct verdict *v, const struct ref_config *c,
			const struct harness_result *e, const struct ref_run *run)
{
	double sum = 0;

	for (size_t i = 0; i < run->step_n; i++)
		sum += (double)run->step[i].blocks_used /
		       (double)(run->step[i].instance < c->instances ? c->blocks
								     : c->decode_blocks);
	double mean = run->step_n ? sum / (double)run->step_n : NAN;

	return fabs(e->summary.kv_util_mean - mean) > 1e-12 * mean &&
	       differs(v, "share of blocks", -1, e->summary.kv_util_mean, mean);
}

/* Steps of the reference, in the order in which they end; all before `open` are found. */
struct search {
	const struct ref_run *run;
	bool *found;
	size_t open;
};

/* The next step of the row's batch. */
static const struct ref_step *next_of(struct search *at, const struct step_row *row)
{
	while (at->open < at->run->step_n && at->found[at->open])
		at->open++;
	for (size_t i = at->open; i < at->run->step_n; i++) {
		const struct ref_step *s = &at->run->step[i];

		if (at->found[i] || s->instance != row->instance || s->batch != row->batch)
			continue;
		at->found[i] = true;
		return s;
	}
	return NULL;
}

static bool row_differs(struct verdict *v, const struct ref_config *c, int64_t at,
			const struct step_row *row, struct search *in)
{
	const struct ref_step *first = next_of(in, row), *last = first;
	int64_t block_bytes = c->block_tok * c->kv_token_bytes;

	for (int64_t k = 1; last && k < row->steps; k++)
		last = next_of(in, row);
	if (!last)
		return differs(v, "steps, at least", at, (double)in->run->step_n + 1,
			       (double)in->run->step_n);
	return differs(v, "start of step", at, (double)row->start_ns, (double)first->start_ns) ||
	       differs(v, "end of step", at, (double)row->end_ns, (double)last->end_ns) ||
	       differs(v, "prompt tokens of step", at, (double)row->prefill_tok,
		       (double)first->prefill_tok) ||
	       differs(v, "decodes of step", at, (double)row->decode_seq,
		       (double)first->decode_seq) ||
	       differs(v, "contexts of step", at, (double)row->decode_ctx, (double)first->ctx) ||
	       differs(v, "blocks of step", at, (double)row->kv_blocks,
		       (double)first->blocks_used) ||
	       differs(v, "bytes of step", at, (double)row->moved_bytes,
		       (double)(first->moved_blocks * block_bytes));
}

/* Step by step; a run of the engine's may be several runs here, or the other way round. */
static bool steps_differ(struct verdict *v, const struct ref_config *c,
			 const struct harness_result *e, const struct ref_run *run)
{
	struct search in = {run, xcalloc(run->step_n + 1, sizeof(bool)), 0};
	bool differ = false;
	int64_t n = 0;

	for (size_t i = 0; i < e->n_steps && !differ; i++) {
		differ = row_differs(v, c, (int64_t)i, &e->step[i], &in);
		n += e->step[i].steps;
	}
	free(in.found);
	return differ || differs(v, "steps", -1, (double)n, (double)run->step_n);
}

struct verdict agree_compare(const struct ref_config *c, const struct harness_result *e,
			     const struct ref_run *run)
{
	static const struct record none = {.idx = -1};
	struct verdict v = {""};

	if (e->rc < 0) {
		snprintf(v.text, sizeof(v.text), "engine: %.200s", e->err.text);
		return v;
	}
	for (size_t r = 0; r < run->n; r++)
		if (record_differs(&v, c, (int64_t)r, r < e->n ? &e->record[r] : &none,
				   &run->outcome[r]))
			return v;
	if (differs(&v, "preemptions", -1, (double)e->summary.preemptions,
		    (double)run->preemptions) ||
	    gaps_differ(&v, c, e, run))
		return v;
	if (steps_differ(&v, c, e, run))
		return v;
	if (differs(&v, "steps started", -1, (double)e->summary.steps, (double)run->started))
		return v;
	if (c->horizon_ns >= 0) /* the engine counts what follows when a step starts */
		return v;
	if (!differs(&v, "recomputed tokens", -1, (double)e->summary.recomputed_tok,
		     (double)run->recomputed_tok))
		use_differs(&v, c, e, run);
	return v;
}

/* The two ways of the engine give the same bytes. */
static void ways_differ(struct verdict *v, const struct harness_result *fast,
			const struct harness_result *steps)
{
	char *a = harness_text(fast), *b = harness_text(steps);

	if (strcmp(a, b) != 0)
		snprintf(v->text, sizeof(v->text),
			 "fast-forward and single steps give other bytes");
	free(a);
	free(b);
}

struct verdict agree_try(const struct ref_config *c, const struct ref_request *req, size_t n,
			 struct agree_seen *seen)
{
	struct harness_result e[2];
	struct ref_run run;
	struct verdict v = {""};

	reference_run(c, req, n, &run);
	if (run.stuck)
		snprintf(v.text, sizeof(v.text), "the reference is stuck");
	for (int by_step = 0; by_step <= 1; by_step++) {
		struct verdict one;

		agree_engine(c, req, n, by_step, &e[by_step]);
		one = agree_compare(c, &e[by_step], &run);
		if (one.text[0] && !v.text[0])
			snprintf(v.text, sizeof(v.text), "%s: %.230s",
				 by_step ? "step by step" : "fast-forward", one.text);
	}
	if (!v.text[0])
		ways_differ(&v, &e[0], &e[1]);
	if (seen)
		agree_count(seen, &run);
	reference_release(&run);
	harness_release(&e[0]);
	harness_release(&e[1]);
	return v;
}

void agree_explain(FILE *out, const struct ref_config *c, const struct ref_request *req, size_t n)
{
	struct harness_result e;
	struct ref_run run;

	reference_run(c, req, n, &run);
	reference_print_case(out, c, req, n, &run);
	agree_engine(c, req, n, true, &e);
	for (size_t r = 0; r < e.n_ended; r++)
		fprintf(out,
			"  engine: %lld: status %d arrive=%lld s=%lld f=%lld c=%lld preempted=%lld "
			"cached=%lld instance=%lld maxgap=%g\n",
			(long long)e.ended[r].idx, (int)e.ended[r].status,
			(long long)e.ended[r].arrive_ns, (long long)e.ended[r].schedule_ns,
			(long long)e.ended[r].first_token_ns, (long long)e.ended[r].finish_ns,
			(long long)e.ended[r].preemptions, (long long)e.ended[r].cached_tok,
			(long long)e.ended[r].instance, e.ended[r].max_gap_ns);
	reference_release(&run);
	harness_release(&e);
}
