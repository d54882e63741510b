#include "sim/run.h"
#include "sim/decoding.h"
#include "sim/single.h"
#include <math.h>

int64_t run_end_ns(const struct run *r, int64_t j)
{
	int64_t turns = j * (j - 1) / 2, ctx = j * r->ctx + r->b * turns;
	double ns = (double)j * r->cost.step_ns + r->cost.ctx_ns * (double)ctx;

	if (r->window_ctx > 0)
		ns += r->cost.window_ns * (double)(j * r->window_ctx + r->window_b * turns);
	return r->start_ns + round_ns(ns);
}

double run_step_ns(const struct run *r, int64_t j)
{
	double ns = r->cost.step_ns + r->cost.ctx_ns * (double)(r->ctx + r->b * (j - 1));

	if (r->window_ctx > 0)
		ns += r->cost.window_ns * (double)(r->window_ctx + r->window_b * (j - 1));
	return ns;
}

/* Steps of the run that lie within the present piece of the cost model, and within exact sums. */
static int64_t piece_steps(const struct run *r)
{
	int64_t steps = RUN_STEPS_MAX;

	if (r->cost.ctx_max == INT64_MAX)
		return steps;
	if (r->cost.ctx_max < r->ctx)
		return 1;
	if (r->b > 0 && (r->cost.ctx_max - r->ctx) / r->b < steps)
		steps = (r->cost.ctx_max - r->ctx) / r->b + 1;
	return steps;
}

void run_set_limit(struct instance *in)
{
	struct run *r = &in->b.run;
	int64_t limit = piece_steps(r);

	if (in->b.due.n > 0 && in->b.due.at[0].key - r->clock < limit)
		limit = in->b.due.at[0].key - r->clock;
	CHECK(limit >= r->done, "limit %lld, %lld steps done", (long long)limit,
	      (long long)r->done);
	r->limit = r->begun + kv_steps(&in->kv, r->clock + r->begun, limit - r->begun);
	r->limit_ns = run_end_ns(r, r->limit);
}

/* Steps begun + 1 .. begun + n start: their blocks, and the sums over steps. */
static void begin_steps(struct instance *in, int64_t n)
{
	struct run *r = &in->b.run;

	stats_sum_add(&in->stats.kv_sum, kv_grow(&in->kv, r->clock + r->begun, n));
	in->stats.batch_sum += n * r->b;
	in->stats.steps += n;
	r->begun += n;
}

/* Gaps of steps first .. to, where two contexts grow: an arithmetic sequence all the same. */
static void add_window_gaps(struct instance *in, const struct run *r, int64_t first, int64_t to)
{
	double slope = r->cost.ctx_ns * (double)r->b + r->cost.window_ns * (double)r->window_b;

	hist_add_run(in->itl, run_step_ns(r, 1), slope, 0, 1, first, to, in->b.n_decoding);
}

/* Steps done + 1 .. to end: tokens, contexts and gaps. */
static void end_steps(struct instance *in, int64_t to)
{
	struct run *r = &in->b.run;
	int64_t first = r->done + 1, end_ns = to == r->limit ? r->limit_ns : run_end_ns(r, to);

	in->b.clock += to - r->done;
	in->b.decode_ctx += (to - r->done) * r->b;
	if (r->window_b > 0)
		in->b.window_ctx += (to - r->done) * r->window_b;
	if (instance_counts_gaps(in)) {
		if (first == 1) {
			in->b.decode_end_ns = to == 1 ? end_ns : run_end_ns(r, 1);
			instance_first_gaps(in, r->start_ns, run_step_ns(r, 1),
					    in->b.decode_end_ns);
			first = 2;
		}
		if (first <= to) {
			if (r->window_ctx > 0)
				add_window_gaps(in, r, first, to);
			else
				hist_add_run(in->itl, r->cost.step_ns, r->cost.ctx_ns, r->ctx, r->b,
					     first, to, in->b.n_decoding);
			gaps_run(&in->b.gaps, in->b.decode_end_ns, run_step_ns(r, to), end_ns);
		}
	}
	in->b.decode_end_ns = end_ns;
	r->done = to;
}

/* What the step that starts now costs, alone: its piece is over with it. */
static void take_alone(struct instance *in, struct run *r)
{
	struct step s = {.decode_seq = r->b,
			 .decode_ctx = r->ctx,
			 .decode_longest = decoding_longest(in),
			 .window_ctx = r->window_ctx};

	r->cost = (struct decode_cost){.step_ns = step_take(in, &s, r->start_ns), .ctx_max = -1};
}

static void run_start(struct instance *in, int64_t now_ns)
{
	struct run *r = &in->b.run;

	r->active = true;
	r->start_ns = now_ns;
	r->clock = in->b.clock;
	r->b = in->b.decode_b;
	r->ctx = in->b.decode_ctx;
	r->window_b = in->b.window_b;
	r->window_ctx = in->b.window_ctx;
	r->done = 0;
	r->begun = 1;
	if (in->singly) {
		take_alone(in, r);
	} else {
		const struct decode_batch batch = {r->b, r->ctx, r->window_b, r->window_ctx,
						   decoding_longest(in)};

		in->executor->ops->decode(in->executor, &batch, &r->cost);
		in->stats.outside = in->stats.outside || r->cost.outside;
	}
	in->stats.steps++;
	in->stats.batch_sum += r->b;
	stats_sum_add(&in->stats.kv_sum, in->kv.used);
	run_set_limit(in);
}

void run_next(struct instance *in, int64_t now_ns)
{
	struct run *r = &in->b.run;

	if (!r->active || r->done == piece_steps(r)) {
		run_start(in, now_ns);
		return;
	}
	r->begun++;
	in->stats.steps++;
	in->stats.batch_sum += r->b;
	stats_sum_add(&in->stats.kv_sum, in->kv.used);
	run_set_limit(in);
}

bool run_take_blocks(struct instance *in)
{
	int64_t need = kv_need(&in->kv, in->b.clock) - in->b.prepaid;

	if (need > kv_free(&in->kv))
		return false;
	kv_take(&in->kv, need);
	for (int64_t i = 0; in->b.prepaid > 0 && i < in->b.n_late; i++)
		in->b.late[i]->prepaid = false;
	in->b.prepaid = 0;
	if (!instance_counts_gaps(in))
		in->b.n_late = 0;
	return true;
}

bool run_continue(struct instance *in, int64_t now_ns)
{
	if (!run_take_blocks(in))
		return false;
	run_next(in, now_ns);
	return true;
}

/* About how many steps end within t of the run's start: the root of F(j) = t. */
static double steps_within(const struct run *r, double t)
{
	double half_slope = r->cost.ctx_ns * (double)r->b / 2;

	if (r->window_ctx > 0)
		half_slope += r->cost.window_ns * (double)r->window_b / 2;
	double first = run_step_ns(r, 1) - half_slope; /* F(j) = first j + half_slope j^2 */

	if (half_slope > 0)
		return (sqrt(first * first + 4 * half_slope * t) - first) / (2 * half_slope);
	return first > 0 ? t / first : INFINITY;
}

/*
 * The first step in [from, limit] that ends at t_ns or later, and when. Of several that end just
 * then (they take less than a nanosecond) the first: the next starts after whatever else happens
 * then.
 */
static int64_t reach(const struct run *r, int64_t from, int64_t t_ns, int64_t *end_ns)
{
	double guess = steps_within(r, (double)(t_ns - r->start_ns));
	int64_t j = guess < (double)r->limit ? (int64_t)guess + 1 : r->limit;

	if (j < from)
		j = from;
	if (j > r->limit)
		j = r->limit;
	*end_ns = run_end_ns(r, j);
	/* the guess may be off by rounding: the closed form decides */
	while (j < r->limit && *end_ns < t_ns)
		*end_ns = run_end_ns(r, ++j);
	int64_t before_ns = j > from ? run_end_ns(r, j - 1) : 0;

	if (j == from || before_ns < t_ns)
		return j;
	/* or many steps end at the same time: the first of them by halves */
	for (int64_t high = j - 1; from < high;) {
		int64_t mid = from + (high - from) / 2;

		if (run_end_ns(r, mid) < t_ns)
			from = mid + 1;
		else
			high = mid;
	}
	*end_ns = run_end_ns(r, from);
	return from;
}

/* The last step in [done, limit] that has ended at t_ns, or `done`. */
static int64_t steps_ended(const struct run *r, int64_t t_ns)
{
	int64_t end_ns;

	/* most often asked just when the run ends; its last step took more than a nanosecond */
	if (r->limit_ns < t_ns || r->limit == r->done ||
	    (r->limit_ns == t_ns && run_step_is_long(r, r->limit)))
		return r->limit;
	int64_t j = reach(r, r->done + 1, t_ns, &end_ns);

	return end_ns > t_ns ? j - 1 : j;
}

void run_sync(struct instance *in, int64_t t_ns)
{
	struct run *r = &in->b.run;

	if (!r->active || in->b.in_single || !in->b.busy)
		return;
	int64_t done = steps_ended(r, t_ns);

	if (done > r->begun)
		begin_steps(in, done - r->begun);
	if (done > r->done)
		end_steps(in, done);
	if (done < r->limit && r->begun == done && run_end_ns(r, done) < t_ns)
		begin_steps(in, 1);
}

void run_pass(struct instance *in, int64_t t_ns)
{
	struct run *r = &in->b.run;

	run_sync(in, t_ns);
	if (in->b.busy && !in->b.in_single && r->begun == r->done && r->done < r->limit)
		begin_steps(in, 1);
}

void run_cut(struct instance *in, int64_t t_ns)
{
	struct run *r = &in->b.run;
	int64_t end_ns, j = reach(r, r->done, t_ns, &end_ns);

	if (j == r->done && r->begun > j &&
	    j < r->limit) /* its end is over: the next is under way */
		end_ns = run_end_ns(r, ++j);
	r->limit = j;
	r->limit_ns = end_ns;
}
