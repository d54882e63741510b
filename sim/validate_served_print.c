/* validate_served_print.c: what rows of served means come to. */
#include "results/stats.h"
#include "sim/options.h"
#include "sim/validate_served.h"
#include <math.h>
#include <string.h>

enum { N_WORST = 10, SERVERS_MAX = 64 };

/* clang-format off */
static const struct field row_fields[] = {
	FIELD(struct served_row, line, .md = true),
	FIELD(struct served_row, server, .md = true),
	FIELD(struct served_row, tp, .md = true),
	FIELD(struct served_row, prompt_tok, .md = true, .title = "prompt"),
	FIELD(struct served_row, output_tok, .md = true, .title = "output"),
	FIELD(struct served_row, in_flight, .md = true, .title = "in flight"),
	FIELD(struct served_row, ttft_measured_s, .md = true, .title = "TTFT measured s"),
	FIELD(struct served_row, ttft_predicted_s, .md = true, .title = "predicted s"),
	FIELD(struct served_row, ttft_error, .md = true, .title = "error"),
	FIELD(struct served_row, tpot_measured_s, .md = true, .title = "TPOT measured s"),
	FIELD(struct served_row, tpot_predicted_s, .md = true, .title = "predicted s"),
	FIELD(struct served_row, tpot_error, .md = true, .title = "error"),
	{.name = NULL},
};

/* Of a server, or of all. */
struct total {
	char server[48];
	int64_t rows, left_out;
	double tpot_p50, tpot_abs_p50, tpot_abs_p90, ttft_p50, ttft_abs_p50, ttft_abs_p90;
};
static const struct field total_fields[] = {
	FIELD(struct total, server, .md = true),
	FIELD(struct total, rows, .md = true),
	FIELD(struct total, left_out, .md = true, .title = "left out"),
	FIELD(struct total, tpot_p50, .md = true, .title = "TPOT error p50"),
	FIELD(struct total, tpot_abs_p50, .md = true, .title = "TPOT abs error p50"),
	FIELD(struct total, tpot_abs_p90, .md = true, .title = "p90"),
	FIELD(struct total, ttft_p50, .md = true, .title = "TTFT error p50"),
	FIELD(struct total, ttft_abs_p50, .md = true, .title = "TTFT abs error p50"),
	FIELD(struct total, ttft_abs_p90, .md = true, .title = "p90"),
	{.name = NULL},
};

struct reason {
	char server[48], left_out[96];
	int64_t rows;
};
static const struct field reason_fields[] = {
	FIELD(struct reason, server, .md = true),
	FIELD(struct reason, left_out, .md = true, .title = "left out because"),
	FIELD(struct reason, rows, .md = true),
	{.name = NULL},
};
/* clang-format on */

static void quantiles(double *errors, size_t n, double *p50, double *abs_p50, double *abs_p90)
{
	*p50 = stats_percentile(errors, n, 50);
	for (size_t i = 0; i < n; i++)
		errors[i] = fabs(errors[i]);
	*abs_p50 = stats_percentile(errors, n, 50);
	*abs_p90 = stats_percentile(errors, n, 90);
}

/* Of the rows of one server; NULL: of all. */
static struct total total_of(const struct served *s, const char *server)
{
	double *tpot = xcalloc(s->n, sizeof(*tpot)), *ttft = xcalloc(s->n, sizeof(*ttft));
	struct total t = {.rows = 0};
	size_t n_tpot = 0, n_ttft = 0;

	CHECK(s->row, "%zu rows and none of them", s->n);
	snprintf(t.server, sizeof(t.server), "%s", server ? server : "all");
	for (size_t i = 0; i < s->n; i++) {
		const struct served_row *r = &s->row[i];

		if (server && strcmp(r->server, server) != 0)
			continue;
		if (r->left_out[0]) {
			t.left_out++;
			continue;
		}
		t.rows++;
		ttft[n_ttft++] = r->ttft_error;
		if (!isnan(r->tpot_error)) /* of one token there is none */
			tpot[n_tpot++] = r->tpot_error;
	}
	quantiles(tpot, n_tpot, &t.tpot_p50, &t.tpot_abs_p50, &t.tpot_abs_p90);
	quantiles(ttft, n_ttft, &t.ttft_p50, &t.ttft_abs_p50, &t.ttft_abs_p90);
	free(tpot);
	free(ttft);
	return t;
}

static void judge_total(const struct total *t, const struct tolerance *tolerance, char *outside,
			size_t size)
{
	const struct {
		enum metric metric;
		double p50, p90;
	} got[] = {{METRIC_TPOT, t->tpot_abs_p50, t->tpot_abs_p90},
		   {METRIC_TTFT, t->ttft_abs_p50, t->ttft_abs_p90}};

	for (int i = 0; i < 2; i++) {
		enum metric m = got[i].metric;
		double p50 = fmin(tolerance->mean[m], tolerance->p50[m]);

		if (t->rows > 0 && got[i].p50 > p50)
			error_say(outside, size, "%s: %s_p50 is %.4g, tolerance %.4g", t->server,
				  metric_names[m], got[i].p50, p50);
		if (t->rows > 0 && got[i].p90 > tolerance->p90[m])
			error_say(outside, size, "%s: %s_p90 is %.4g, tolerance %.4g", t->server,
				  metric_names[m], got[i].p90, tolerance->p90[m]);
	}
}

static int print_totals(const struct validate_options *o, const struct served *s, char *outside,
			size_t size, struct err *e)
{
	struct total totals[SERVERS_MAX];
	const void *rows[SERVERS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < s->n && n + 1 < SERVERS_MAX; i++) {
		size_t k = 0;

		while (k < n && strcmp(totals[k].server, s->row[i].server) != 0)
			k++;
		if (k == n)
			totals[n++] = total_of(s, s->row[i].server);
	}
	for (size_t i = 0; i < n; i++)
		judge_total(&totals[i], &o->tolerance, outside, size);
	totals[n] = total_of(s, NULL);
	if (totals[n++].rows == 0 && o->tolerance.any)
		error_say(outside, size, "no row counts");
	for (size_t i = 0; i < n; i++)
		rows[i] = &totals[i];
	return validate_print(o, total_fields, rows, n, e);
}

static int print_reasons(const struct validate_options *o, const struct served *s, struct err *e)
{
	struct reason *reasons = xcalloc(s->n, sizeof(*reasons));
	const void **rows = xcalloc(s->n, sizeof(*rows));
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct served_row *r = &s->row[i];
		size_t k = 0;

		if (!r->left_out[0])
			continue;
		while (k < n && (strcmp(reasons[k].server, r->server) != 0 ||
				 strcmp(reasons[k].left_out, r->left_out) != 0))
			k++;
		if (k == n) {
			rows[n] = &reasons[n];
			reasons[n] = (struct reason){.rows = 0};
			memcpy(reasons[n].server, r->server, sizeof(r->server));
			memcpy(reasons[n].left_out, r->left_out, sizeof(r->left_out));
			n++;
		}
		reasons[k].rows++;
	}
	int result = n > 0 ? validate_print_next(o, reason_fields, rows, n, e) : 0;

	free(rows);
	free(reasons);
	return result;
}

static int by_error(const void *a, const void *b)
{
	const struct served_row *const *x = a, *const *y = b;
	double s = fabs((*x)->tpot_error), t = fabs((*y)->tpot_error);

	if (s != t)
		return s > t ? -1 : 1;
	return ((*x)->line > (*y)->line) - ((*x)->line < (*y)->line);
}

static int print_worst(const struct validate_options *o, const struct served *s, struct err *e)
{
	const void **rows = xcalloc(s->n, sizeof(*rows));
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!s->row[i].left_out[0])
			rows[n++] = &s->row[i];
	qsort(rows, n, sizeof(*rows), by_error);
	int result =
		n > 0 ? validate_print_next(o, row_fields, rows, n < N_WORST ? n : N_WORST, e) : 0;

	free(rows);
	return result;
}

int served_print(const struct validate_options *o, const struct served *s, struct err *e)
{
	char outside[768] = "";

	if (print_totals(o, s, outside, sizeof(outside), e) < 0 || print_reasons(o, s, e) < 0 ||
	    print_worst(o, s, e) < 0)
		return EXIT_FAILED;
	if (!outside[0])
		return 0;
	fprintf(stderr, "omnibus validate: outside the tolerance: %s\n", outside);
	return EXIT_OUTSIDE;
}
