/* sweep.c: points timed in rounds, as long as the budget lasts. */
#include "calibrate/sweep.h"
#include "calibrate/sweep_repeats.h"
#include <math.h>
#include <string.h>
#include <time.h>

/*
 * In a server steps follow each other: what one reads, the next finds where that left it. So runs
 * that do not count come first, for so long (and so many at most), which is enough for a rotation
 * through as many bytes as a step of a small model reads; then some count, for as long again.
 */
static const double SETTLE_NS = 4e6;
enum { SETTLE_RUNS = 200, COUNTED_RUNS = 5 };
/* Of the budget: what is planned for the rounds of all points; what one of them may take. */
static const double PLANNED = 0.85, ONE = 0.02;
/* And what an operation may take as long as others wait, so that dear ones leave time for cheap. */
static const double OP_SHARE = 0.03, op_share[N_OPS] = {[OP_GEMM] = 0.2,
							[OP_PREFILL] = 0.15,
							[OP_DECODE] = 0.2,
							[OP_MIXED] = 0.15,
							[OP_STEP] = 0.15};
/* Beyond so much of the budget the rounds end as they are. */
static const double LATE = 1.3;
struct sweep {
	const struct sweep_want *w;
	const struct backend_ops *ops;
	struct backend *const *b;
	const struct sweep_hooks *hooks;
	struct sweep_result *r;
	struct timing *t;
	size_t n;
	double spent_ns;
	double planned_ns;   /* rounds to come of the points in hand */
	double op_ns[N_OPS]; /* all rounds of those of an operation */
	struct sweep_state state;
};

/* What one visit came to. */
enum visit { VISIT_FINE, VISIT_STOP, VISIT_CANNOT, VISIT_FAILED };

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* --- what a point will take ---------------------------------------------------------------------
 */

/* A visit to a point that takes so long. */
static double visit_ns(double ns)
{
	if (ns >= SETTLE_NS)
		return ns;
	return fmin(SETTLE_NS, SETTLE_RUNS * ns) + fmin(SETTLE_NS, COUNTED_RUNS * ns) + ns;
}

/* As it is proportional to the nearest one that was timed; 0: none was. */
static double expected_ns(const struct sweep *s, const struct point *p)
{
	double nearest = INFINITY, ns = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct timing *t = &s->t[i];
		double ratio = t->in_hand && t->point.op == p->op
				       ? sweep_work(p) / sweep_work(&t->point)
				       : 0;

		if (ratio > 0 && fabs(log(ratio)) < nearest) {
			nearest = fabs(log(ratio));
			ns = visit_ns(t->point.ns * ratio);
		}
	}
	return ns;
}

/* --- one visit ----------------------------------------------------------------------------------
 */

static struct backend *backend_of(const struct sweep *s, const struct point *p)
{
	bool attends = p->op == OP_PREFILL || p->op == OP_DECODE || p->op == OP_MIXED;

	for (int i = 0; i < SWEEP_KV_BITS && attends; i++)
		if (s->w->kv_bits[i] == p->bits)
			return s->b[i];
	return s->b[0];
}

static int run_once(struct sweep *s, const struct point *p, double *ns, struct err *e)
{
	return s->ops->time(backend_of(s, p), p, ns, e);
}

/*
 * Runs that do not count, at least one where it is not known how long it takes. What a backend does
 * around a run counts as time here.
 */
static int settle(struct sweep *s, const struct timing *t, double *all_ns, struct err *e)
{
	double start_ns = now_ns();
	int rc = 0, runs = 0;

	if (t->point.repeats > 0 && t->point.ns >= SETTLE_NS)
		return 0;
	for (; *all_ns < SETTLE_NS && now_ns() - start_ns < SETTLE_NS && runs < SETTLE_RUNS && !rc;
	     runs++) {
		double ns = 0;

		rc = run_once(s, &t->point, &ns, e);
		*all_ns += ns;
	}
	return rc;
}

/* Runs it, once caches are as it leaves them. As backend_ops.time(). */
static int run_visit(struct sweep *s, struct timing *t, struct err *e)
{
	double ns, all_ns = 0, counted_ns = 0, start_ns = now_ns();
	int rc = settle(s, t, &all_ns, e);

	for (int i = 0; i < COUNTED_RUNS && !rc && counted_ns < SETTLE_NS &&
			t->point.repeats < SWEEP_REPEATS_MOST;
	     i++) {
		rc = run_once(s, &t->point, &ns, e);
		if (rc)
			break;
		if (!(ns > 0 && isfinite(ns)))
			return err_set(e, "%.17g ns are no time", ns);
		counted_ns += ns;
		timing_add(t, ns);
	}
	s->spent_ns += fmax(all_ns + counted_ns, now_ns() - start_ns);
	return rc;
}

static bool has_timed(const struct sweep *s, const struct point *p)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->t[i].in_hand && sweep_same_family(&s->t[i].point, p))
			return true;
	return false;
}

static bool asked_to_stop(struct sweep *s, double left_ns)
{
	s->state.spent_s = s->spent_ns / 1e9;
	s->state.left_s = left_ns / 1e9;
	s->r->stopped = s->hooks->stop && s->hooks->stop(s->hooks->arg, &s->state);
	return s->r->stopped;
}

/* What the backend cannot do from the start is left out; what fails later is a failure. */
static enum visit visit(struct sweep *s, struct timing *t, double left_ns, struct err *e)
{
	struct err why = {.text = "unknown to the backend"};
	char name[200];
	int rc;

	if (asked_to_stop(s, left_ns))
		return VISIT_STOP;
	rc = run_visit(s, t, &why);
	if (rc && !t->in_hand && (rc > 0 || !has_timed(s, &t->point))) {
		*e = why;
		return VISIT_CANNOT;
	}
	if (rc) {
		sweep_name(&t->point, name, sizeof(name));
		err_set(e, "%s: %.700s", name, why.text);
		return VISIT_FAILED;
	}
	t->in_hand = true;
	if (s->hooks->point && s->hooks->point(s->hooks->arg, t - s->t, &t->point, e))
		return VISIT_FAILED;
	return VISIT_FINE;
}

/* --- rounds -------------------------------------------------------------------------------------
 */

static void note_unknown(struct sweep *s, const struct point *p, const struct err *why)
{
	s->r->unknown++;
	for (size_t i = 0; i < s->n; i++) /* the first of its kind alone */
		if (&s->t[i].point == p)
			break;
		else if (s->t[i].point.op == p->op && s->t[i].point.bits == p->bits)
			return;
	if (s->r->n_notes < SWEEP_NOTES)
		err_set(&s->r->note[s->r->n_notes++], "%s, %d bits: %.800s", op_names[p->op],
			p->bits, why->text);
}

enum afford { AFFORD, AFFORD_LATER, TOO_DEAR, TOO_LATE };

/* Whether there is time for so long a visit in every round. */
static enum afford affords(const struct sweep *s, const struct point *p, bool first)
{
	double rounds_ns = expected_ns(s, p) * SWEEP_ROUNDS, budget_ns = s->w->budget_s * 1e9;
	double share = op_share[p->op] > 0 ? op_share[p->op] : OP_SHARE;

	if (s->spent_ns + s->planned_ns + rounds_ns > PLANNED * budget_ns)
		return TOO_LATE;
	if (rounds_ns > ONE * budget_ns)
		return TOO_DEAR;
	return first && s->op_ns[p->op] + rounds_ns > share * budget_ns ? AFFORD_LATER : AFFORD;
}

static enum visit first_visit(struct sweep *s, struct timing *t, struct err *e)
{
	double left_ns = s->w->budget_s * 1e9 - s->spent_ns;
	enum visit v = visit(s, t, left_ns, e);

	if (v == VISIT_CANNOT) {
		note_unknown(s, &t->point, e);
		return VISIT_FINE;
	}
	if (v == VISIT_FINE) {
		s->state.timed++;
		s->planned_ns += visit_ns(t->point.ns) * (SWEEP_ROUNDS - 1);
		s->op_ns[t->point.op] += visit_ns(t->point.ns) * SWEEP_ROUNDS;
	}
	return v;
}

/*
 * A first look at every point that the budget holds, in order. What seemed to take too long may not
 * once its neighbours are known, and time that cheap operations leave is for the others: so there
 * is a second pass over those.
 */
static enum visit first_round(struct sweep *s, struct err *e)
{
	bool *seen = xcalloc(s->n, sizeof(*seen));
	enum visit v = VISIT_FINE;

	for (int pass = 0; pass < 2 && v == VISIT_FINE; pass++) {
		s->r->dear = s->r->late = 0;
		for (size_t i = 0; i < s->n && v == VISIT_FINE; i++) {
			enum afford may = seen[i] ? TOO_LATE : affords(s, &s->t[i].point, !pass);

			if (may == AFFORD) {
				seen[i] = true;
				v = first_visit(s, &s->t[i], e);
			} else if (!seen[i]) {
				s->r->dear += may == TOO_DEAR;
				s->r->late += may != TOO_DEAR;
			}
		}
	}
	free(seen);
	return v;
}

static enum visit one_round(struct sweep *s, bool (*wants)(const struct timing *), struct err *e)
{
	enum visit v = VISIT_FINE;

	for (size_t i = 0; i < s->n && v == VISIT_FINE; i++) {
		struct timing *t = &s->t[i];

		if (!t->in_hand || (wants && !wants(t)))
			continue;
		if (s->spent_ns > (wants ? 1 : LATE) * s->w->budget_s * 1e9)
			break;
		if (!wants)
			s->planned_ns -= visit_ns(t->point.ns);
		v = visit(s, t, fmax(s->planned_ns, 0), e);
	}
	return v;
}

static enum visit all_rounds(struct sweep *s, struct err *e)
{
	enum visit v = first_round(s, e);

	for (int i = 1; i < SWEEP_ROUNDS && v == VISIT_FINE; i++) {
		s->state.round = i;
		v = one_round(s, NULL, e);
	}
	for (int i = 0; i < SWEEP_REPEATS_MOST && v == VISIT_FINE; i++) {
		s->state.round++;
		v = one_round(s, timing_wants_more, e);
	}
	return v;
}

/* --- all of it ----------------------------------------------------------------------------------
 */

static void start(struct sweep *s, const struct points *list)
{
	s->n = s->r->listed = s->state.points = list->n;
	s->t = xcalloc(s->n, sizeof(*s->t));
	for (size_t i = 0; i < s->n; i++) {
		s->t[i].point = list->at[i];
		s->t[i].ns = xcalloc(SWEEP_REPEATS_MOST, sizeof(double));
	}
}

static void end(struct sweep *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->t[i].in_hand && s->t[i].point.repeats >= SWEEP_REPEATS_LEAST)
			points_add(&s->r->points, &s->t[i].point);
		else if (s->t[i].in_hand)
			s->r->late++;
		free(s->t[i].ns);
	}
	s->r->spent_s = s->spent_ns / 1e9;
	free(s->t);
}

int sweep_run(const struct sweep_want *w, const struct points *list, const struct backend_ops *ops,
	      struct backend *const *b, const struct sweep_hooks *hooks, struct sweep_result *r,
	      struct err *e)
{
	struct sweep s = {.w = w, .ops = ops, .b = b, .hooks = hooks, .r = r};
	enum visit v;

	*r = (struct sweep_result){.listed = 0};
	start(&s, list);
	v = all_rounds(&s, e);
	end(&s);
	if (v == VISIT_FAILED)
		return -1;
	if (r->points.n == 0 && !r->stopped)
		return err_set(e, "no point could be timed within %g s%s%.700s", w->budget_s,
			       r->n_notes ? ": " : "", r->n_notes ? r->note[0].text : "");
	return 0;
}

void sweep_release(struct sweep_result *r)
{
	points_release(&r->points);
}
