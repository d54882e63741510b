/* validate_compare.c: the requests of a log beside those of a run, one by one. */
#include "sim/options.h"
#include "sim/validate.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* One request, both ways; NaN: no such time. In seconds. */
struct pair {
	int64_t line;
	double arrive_s;
	int64_t prompt_tok, output_tok;
	double measured[N_METRICS], predicted[N_METRICS];
};

/* A line of the table of the worst. */
struct worst {
	int64_t line;
	double arrive_s;
	int64_t prompt_tok, output_tok;
	double ttft_measured_s, ttft_predicted_s;
	double e2e_measured_s, e2e_predicted_s, e2e_error;
};

/* clang-format off */
static const struct field worst_fields[] = {
	FIELD(struct worst, line, .md = true, .title = "line"),
	FIELD(struct worst, arrive_s, .md = true, .title = "arrives s"),
	FIELD(struct worst, prompt_tok, .md = true, .title = "prompt"),
	FIELD(struct worst, output_tok, .md = true, .title = "output"),
	FIELD(struct worst, ttft_measured_s, .md = true, .title = "TTFT measured s"),
	FIELD(struct worst, ttft_predicted_s, .md = true, .title = "predicted s"),
	FIELD(struct worst, e2e_measured_s, .md = true, .title = "E2E measured s"),
	FIELD(struct worst, e2e_predicted_s, .md = true, .title = "predicted s"),
	FIELD(struct worst, e2e_error, .md = true, .title = "error"),
	{.name = NULL},
};
/* clang-format on */

enum { N_WORST = 10 };

/* From b to a; NaN where either is not known. */
static double between_s(int64_t a_ns, int64_t b_ns)
{
	return a_ns < 0 || b_ns < 0 ? NAN : (double)(a_ns - b_ns) / 1e9;
}

static double tpot_s(int64_t last_ns, int64_t first_ns, int64_t tok)
{
	return tok > 1 ? between_s(last_ns, first_ns) / (double)(tok - 1) : NAN;
}

static struct pair pair_of(const struct real_request *q, const struct validate_run *v,
			   const struct record *r)
{
	double *m, *p;
	struct pair pair = {.line = q->line,
			    .arrive_s = (double)q->arrive_ns / 1e9,
			    .prompt_tok = q->prompt_tok,
			    .output_tok = q->output_tok};

	m = pair.measured;
	m[METRIC_TTFT] = between_s(q->first_ns, q->arrive_ns);
	m[METRIC_NO_QUEUE] = between_s(q->first_ns, q->schedule_ns);
	m[METRIC_TPOT] = tpot_s(q->last_ns, q->first_ns, q->output_tok);
	m[METRIC_ITL] = q->gap_mean_ns / 1e9;
	m[METRIC_GAP] = q->gap_max_ns / 1e9;
	m[METRIC_E2E] = between_s(q->last_ns, q->arrive_ns);
	p = pair.predicted;
	p[METRIC_TTFT] = between_s(r->first_token_ns, r->arrive_ns);
	p[METRIC_NO_QUEUE] = between_s(r->first_token_ns, validate_scheduled_ns(v, r));
	p[METRIC_TPOT] = tpot_s(r->finish_ns, r->first_token_ns, r->output_tok);
	p[METRIC_ITL] = p[METRIC_TPOT];
	p[METRIC_GAP] = r->max_gap_ns < 0 ? NAN : r->max_gap_ns / 1e9;
	p[METRIC_E2E] = between_s(r->finish_ns, r->arrive_ns);
	return pair;
}

/* Requests a second from the first arrival to the last completion. */
static double throughput_rps(const struct real_log *l)
{
	int64_t last_ns = 0;

	for (int64_t i = 0; i < l->n; i++)
		last_ns = l->at[i].last_ns > last_ns ? l->at[i].last_ns : last_ns;
	return last_ns > 0 ? (double)l->n / ((double)last_ns / 1e9) : NAN;
}

static int by_error(const void *a, const void *b)
{
	const struct worst *x = a, *y = b;
	double s = fabs(x->e2e_error), t = fabs(y->e2e_error);

	if (s != t)
		return s > t ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static int print_worst(const struct validate_options *o, const struct pair *pairs, size_t n,
		       struct err *e)
{
	struct worst *all = xcalloc(n + 1, sizeof(*all));
	const void *rows[N_WORST];
	size_t n_all = 0, n_rows;

	for (size_t i = 0; i < n; i++) {
		const struct pair *p = &pairs[i];
		double m = p->measured[METRIC_E2E], f = p->predicted[METRIC_E2E];

		if (!(m > 0)) /* no relative error */
			continue;
		all[n_all++] = (struct worst){.line = p->line,
					      .arrive_s = p->arrive_s,
					      .prompt_tok = p->prompt_tok,
					      .output_tok = p->output_tok,
					      .ttft_measured_s = p->measured[METRIC_TTFT],
					      .ttft_predicted_s = p->predicted[METRIC_TTFT],
					      .e2e_measured_s = m,
					      .e2e_predicted_s = f,
					      .e2e_error = f / m - 1};
	}
	qsort(all, n_all, sizeof(*all), by_error);
	n_rows = n_all < N_WORST ? n_all : N_WORST;
	for (size_t i = 0; i < n_rows; i++)
		rows[i] = &all[i];
	int result = validate_print_next(o, worst_fields, rows, n_rows, e);

	free(all);
	return result;
}

static int print_metrics(const struct validate_options *o, const struct pair *pairs, size_t n,
			 const double throughput[2], char *outside, size_t size, struct err *e)
{
	struct error_row rows[METRIC_THROUGHPUT + 1];
	char zeros[256] = "";
	const void *shown[METRIC_THROUGHPUT + 1];
	size_t n_shown = 0;

	for (int m = 0; m <= METRIC_THROUGHPUT; m++) {
		struct error_pairs p = {0};

		for (size_t i = 0; m != METRIC_THROUGHPUT && i < n; i++)
			error_add(&p, pairs[i].measured[m], pairs[i].predicted[m]);
		if (m == METRIC_THROUGHPUT)
			error_add(&p, throughput[0], throughput[1]);
		error_make(&rows[m], (enum metric)m, &p, &o->tolerance, outside, size);
		if (p.n > 0)
			shown[n_shown++] = &rows[m];
		if (p.zeros > 0)
			error_say(zeros, sizeof(zeros), "%s of %zu", metric_names[m], p.zeros);
		error_release(&p);
	}
	if (zeros[0])
		fprintf(stderr,
			"omnibus validate: requests with a time of 0 in the log are left out of "
			"its errors, as it has none: %s\n",
			zeros);
	return validate_print(o, error_fields, shown, n_shown, e);
}

static void describe(const struct validate_options *o, const struct real_log *l,
		     const struct validate_run *v, int64_t lost)
{
	fprintf(stderr, "omnibus validate: %s: %s, %" PRId64 " requests", o->real, l->format, l->n);
	if (l->failed > 0)
		fprintf(stderr, ", %" PRId64 " more that failed are left out", l->failed);
	fprintf(stderr, "; %s by %s%s%s\n", v->summary.times, v->summary.policy,
		v->summary.notes[0] ? ", " : "", v->summary.notes);
	fputs("omnibus validate: what a server found in a prefix cache is in no such log: none is "
	      "assumed\n",
	      stderr);
	if (lost > 0)
		fprintf(stderr,
			"omnibus validate: %" PRId64
			" requests are not completed in the forecast, and not compared\n",
			lost);
}

int validate_compare(const struct validate_options *o, const struct real_log *l,
		     const struct validate_run *v, struct err *e)
{
	struct pair *pairs = xcalloc((size_t)l->n, sizeof(*pairs));
	char outside[768] = "";
	size_t n = 0;
	const double throughput[2] = {throughput_rps(l), v->summary.throughput_rps};

	for (int64_t i = 0; i < l->n && (size_t)i < v->n; i++)
		if (v->record[i].status == RECORD_COMPLETED)
			pairs[n++] = pair_of(&l->at[i], v, &v->record[i]);
	describe(o, l, v, l->n - (int64_t)n);
	int code = print_metrics(o, pairs, n, throughput, outside, sizeof(outside), e) < 0 ||
				   print_worst(o, pairs, n, e) < 0
			   ? EXIT_FAILED
			   : 0;

	free(pairs);
	if (o->tolerance.any && (size_t)l->n > n)
		error_say(outside, sizeof(outside), "%lld requests are not completed",
			  (long long)l->n - (long long)n);
	if (code == 0 && outside[0]) {
		fprintf(stderr, "omnibus validate: outside the tolerance: %s\n", outside);
		code = EXIT_OUTSIDE;
	}
	return code;
}
