#include "sim/metrics.h"
#include <gsl/gsl_fit.h>
#include <string.h>

static const double NS = 1e9;

bool slo_any(const struct slo *slo)
{
	return !isnan(slo->ttft_ns) || !isnan(slo->tpot_ns) || !isnan(slo->e2e_ns) ||
	       !isnan(slo->maxgap_ns);
}

void metrics_init(struct metrics *m, const struct slo *slo, bool keep_all)
{
	*m = (struct metrics){.slo = *slo, .keep_all = keep_all, .stride = 1};
	m->backlog = xcalloc(BACKLOG_POINTS, sizeof(*m->backlog));
}

static void series_release(struct series *s)
{
	free(s->all);
	hist_release(&s->hist);
}

void metrics_release(struct metrics *m)
{
	series_release(&m->ttft);
	series_release(&m->tpot);
	series_release(&m->e2e);
	series_release(&m->norm);
	series_release(&m->queue);
	free(m->backlog);
}

static void series_add(struct metrics *m, struct series *s, double value_ns)
{
	s->sum += value_ns;
	s->n++;
	if (!m->keep_all) {
		hist_add(&s->hist, value_ns, 1);
		return;
	}
	if (s->n > s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->all = xrealloc(s->all, s->room * sizeof(*s->all));
	}
	s->all[s->n - 1] = value_ns;
}

static double series_mean_s(const struct series *s)
{
	return s->n ? s->sum / (double)s->n / NS : NAN;
}

static double series_percentile_s(struct series *s, bool keep_all, int p)
{
	if (s->n == 0)
		return NAN;
	return (keep_all ? stats_percentile(s->all, s->n, p) : hist_percentile(&s->hist, p)) / NS;
}

bool metrics_arrival(struct metrics *m, int64_t t_ns)
{
	if (m->requests == 0)
		m->first_arrive_ns = t_ns;
	m->last_arrive_ns = t_ns;
	return m->requests++ % m->stride == 0;
}

void metrics_backlog(struct metrics *m, int64_t t_ns, int64_t waiting)
{
	if (m->n_backlog == BACKLOG_POINTS) {
		for (int64_t i = 0; i < BACKLOG_POINTS / 2; i++)
			m->backlog[i] = m->backlog[2 * i];
		m->n_backlog = BACKLOG_POINTS / 2;
		m->stride *= 2;
	}
	m->backlog[m->n_backlog++] = (struct backlog_point){t_ns, waiting, m->completed};
}

/* value <= target; a missing value or target passes */
static bool meets(double value_ns, double target_ns)
{
	return isnan(value_ns) || isnan(target_ns) || value_ns <= target_ns;
}

static void add_completed(struct metrics *m, const struct record *r)
{
	double ttft = (double)(r->first_token_ns - r->arrive_ns);
	double e2e = (double)(r->finish_ns - r->arrive_ns);
	double tpot = r->output_tok > 1 ? (double)(r->finish_ns - r->first_token_ns) /
						  (double)(r->output_tok - 1)
					: NAN;

	m->completed++;
	m->output_tok += r->output_tok;
	if (r->finish_ns > m->last_finish_ns)
		m->last_finish_ns = r->finish_ns;
	series_add(m, &m->ttft, ttft);
	if (!isnan(tpot))
		series_add(m, &m->tpot, tpot);
	series_add(m, &m->e2e, e2e);
	series_add(m, &m->norm, e2e / (double)r->output_tok);
	series_add(m, &m->queue, (double)(r->schedule_ns - r->arrive_ns));
	m->good += meets(ttft, m->slo.ttft_ns) && meets(tpot, m->slo.tpot_ns) &&
		   meets(e2e, m->slo.e2e_ns) && meets(r->max_gap_ns, m->slo.maxgap_ns);
}

void metrics_record(struct metrics *m, const struct record *r, int64_t gap_ns, int64_t gaps)
{
	stats_sum_add(&m->gap_sum, gap_ns);
	m->gaps += gaps;
	switch (r->status) {
	case RECORD_COMPLETED:
		add_completed(m, r);
		break;
	case RECORD_REJECTED:
		m->rejected++;
		break;
	case RECORD_ABORTED:
		m->aborted++;
		break;
	case RECORD_UNFINISHED:
		m->unfinished++;
		break;
	}
}

/*
 * Whether the backlog grows by more than 5% of the offered rate: the slope of a straight line
 * through the number of waiting requests at arrivals of the second half of the arrival window; or
 * what waits at its end over its whole length (a rush in the middle leaves the second half flat or
 * falling). NULL below 10 points in the second half.
 */
static int64_t saturated(const struct metrics *m, double offered_rps)
{
	int64_t half_ns = m->first_arrive_ns + (m->last_arrive_ns - m->first_arrive_ns) / 2;
	double x[BACKLOG_POINTS], y[BACKLOG_POINTS];
	double c0, c1, cov00, cov01, cov11, sumsq;
	size_t n = 0;

	for (int64_t i = 0; i < m->n_backlog; i++) {
		if (m->backlog[i].t_ns < half_ns)
			continue;
		x[n] = (double)(m->backlog[i].t_ns - half_ns) / NS;
		y[n++] = (double)m->backlog[i].waiting;
	}
	if (n < 10 || !isfinite(offered_rps))
		return FIELD_NULL_INT;
	gsl_fit_linear(x, 1, y, 1, n, &c0, &c1, &cov00, &cov01, &cov11, &sumsq);
	return c1 > 0.05 * offered_rps || y[n - 1] > 0.05 * (double)m->requests;
}

/*
 * Completions from about the first tenth of the arrival window to its end, no ramp and no drain:
 * between the points that are kept next to both.
 */
static double steady_rps(const struct metrics *m)
{
	int64_t from_ns = m->first_arrive_ns + (m->last_arrive_ns - m->first_arrive_ns) / 10;
	int64_t i = 0, last = m->n_backlog - 1;

	while (i < last && m->backlog[i].t_ns < from_ns)
		i++;
	if (last < 1 || m->backlog[last].t_ns <= m->backlog[i].t_ns)
		return NAN;
	return (double)(m->backlog[last].completed - m->backlog[i].completed) /
	       ((double)(m->backlog[last].t_ns - m->backlog[i].t_ns) / NS);
}

static double per_second(double what, double span_s)
{
	return span_s > 0 ? what / span_s : NAN;
}

static void fill_rates(const struct metrics *m, struct summary *s)
{
	double arrive_s = (double)(m->last_arrive_ns - m->first_arrive_ns) / NS;
	double span_s = m->completed ? (double)(m->last_finish_ns - m->first_arrive_ns) / NS : NAN;

	s->makespan_s = span_s;
	s->offered_rps = m->requests < 2 ? NAN
			 : arrive_s > 0	 ? (double)(m->requests - 1) / arrive_s
					 : INFINITY;
	s->throughput_rps = per_second((double)m->completed, span_s);
	s->output_tps = per_second((double)m->output_tok, span_s);
	s->throughput_steady_rps = steady_rps(m);
	s->saturated = saturated(m, s->offered_rps);
	s->goodput_rps = s->attainment = NAN;
	if (slo_any(&m->slo)) {
		s->goodput_rps = per_second((double)m->good, span_s);
		if (m->requests > 0)
			s->attainment = (double)m->good / (double)m->requests;
	}
}

void metrics_summary(struct metrics *m, const struct hist *itl, struct summary *s)
{
	bool all = m->keep_all;

	s->requests = m->requests;
	s->completed = m->completed;
	s->rejected = m->rejected;
	s->unfinished = m->unfinished;
	s->aborted = m->aborted;
	fill_rates(m, s);
	s->ttft_mean_s = series_mean_s(&m->ttft);
	s->ttft_p50_s = series_percentile_s(&m->ttft, all, 50);
	s->ttft_p90_s = series_percentile_s(&m->ttft, all, 90);
	s->ttft_p99_s = series_percentile_s(&m->ttft, all, 99);
	s->tpot_mean_s = series_mean_s(&m->tpot);
	s->tpot_p50_s = series_percentile_s(&m->tpot, all, 50);
	s->tpot_p90_s = series_percentile_s(&m->tpot, all, 90);
	s->tpot_p99_s = series_percentile_s(&m->tpot, all, 99);
	s->itl_mean_s = stats_sum_mean(&m->gap_sum, m->gaps) / NS;
	s->itl_p50_s = hist_percentile(itl, 50) / NS;
	s->itl_p99_s = hist_percentile(itl, 99) / NS;
	s->e2e_mean_s = series_mean_s(&m->e2e);
	s->e2e_p50_s = series_percentile_s(&m->e2e, all, 50);
	s->e2e_p99_s = series_percentile_s(&m->e2e, all, 99);
	s->norm_latency_mean_s = series_mean_s(&m->norm);
	s->queue_mean_s = series_mean_s(&m->queue);
	s->queue_p99_s = series_percentile_s(&m->queue, all, 99);
	snprintf(s->percentiles, sizeof(s->percentiles), "%s", all ? "exact" : "histogram");
}
