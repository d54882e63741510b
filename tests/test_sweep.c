/* What is timed, in which order, how often; and the times that come of it. */
#include "calibrate/sweep.h"

#include <math.h>
#include <string.h>

#include "tests/fake_backend.h"
#include "tests/testing.h"

static struct model model;

static struct sweep_want want_of(double budget_s)
{
	struct err e;

	assert_fine(model_load(&model, "tiny", &e), e);
	return (struct sweep_want){.model = &model,
				   .tp = 1,
				   .max_tok = 2048,
				   .max_seqs = 256,
				   .kv_tok = 65536,
				   .block_tok = 16,
				   .kv_bits = {16, 8},
				   .budget_s = budget_s};
}

static void fake_reset(double noise)
{
	fake = (struct fake){.noise = noise, .unknown = N_OPS};
}

/* With what a test looks at between visits. */
struct watch {
	int64_t stop_after, looks;
	int64_t points, last_idx;
	struct sweep_state state;
};

static bool look(void *arg, const struct sweep_state *s)
{
	struct watch *w = arg;

	w->state = *s;
	return w->stop_after && ++w->looks > w->stop_after;
}

static int keep(void *arg, int64_t idx, const struct point *p, struct err *e)
{
	struct watch *w = arg;

	(void)e;
	assert_true(p->repeats > 0);
	w->points++;
	w->last_idx = idx;
	return 0;
}

static int run_with(const struct sweep_want *w, struct watch *watch, struct sweep_result *r,
		    struct err *e)
{
	const struct sweep_hooks hooks = {.arg = watch, .point = keep, .stop = look};
	struct points list = {.at = NULL};
	struct backend *b[SWEEP_KV_BITS] = {NULL};
	int rc;

	sweep_list(w, &list);
	for (int i = 0; i < 2; i++) {
		const struct backend_want open = {
			.model = w->model, .seed = 1, .kv_bits = i ? 8 : 16};

		assert_fine(fake_backend.open(&b[i], &open, e), *e);
	}
	rc = sweep_run(w, &list, &fake_backend, b, &hooks, r, e);
	for (int i = 0; i < 2; i++)
		fake_backend.close(b[i]);
	points_release(&list);
	return rc;
}

/* --- the list -----------------------------------------------------------------------------------
 */

static bool same_sizes(const struct point *a, const struct point *b)
{
	return sweep_same_family(a, b) && a->m == b->m && a->prefill_seq == b->prefill_seq &&
	       a->new_tok == b->new_tok && a->prior_tok == b->prior_tok &&
	       a->decode_seq == b->decode_seq && a->decode_ctx == b->decode_ctx &&
	       a->longest == b->longest && a->bytes == b->bytes;
}

static void test_no_point_twice_and_none_beyond_the_limits(void **state)
{
	static const char *const names[] = {"tiny", "llama-3-8b", "opt-13b", "gemma-2-9b"};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct sweep_want w = want_of(1);
		struct points list = {.at = NULL};

		assert_fine(model_load(&model, names[i], &e), e);
		sweep_list(&w, &list);
		assert_true(list.n > 300);
		for (size_t k = 0; k < list.n; k++) {
			const struct point *p = &list.at[k];
			int64_t slots =
				p->prefill_seq * (p->new_tok + p->prior_tok) + p->decode_ctx;

			assert_true(p->m <= w.max_tok && slots <= w.kv_tok);
			assert_true(p->prefill_seq * p->new_tok + p->decode_seq <= w.max_tok);
			assert_true(p->prefill_seq + p->decode_seq <= w.max_seqs);
			assert_true(p->longest <= model.context);
			assert_true(p->op < OP_COPY_TO_HOST || p->bytes || p->op == OP_STEP);
			for (size_t other = 0; other < k; other++)
				if (same_sizes(&list.at[other], p))
					fail_msg("point %zu is point %zu", k, other);
		}
		points_release(&list);
	}
}

static size_t count(const struct points *list, enum op op, int bits)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		n += list->at[i].op == op && list->at[i].bits == bits;
	return n;
}

static void test_everything_is_in_the_list(void **state)
{
	struct sweep_want w = want_of(1);
	struct points list = {.at = NULL};
	int64_t shapes[][2] = {{512, 256}, {256, 256}, {1536, 256}, {256, 768}, {4096, 256}};

	(void)state;
	sweep_list(&w, &list);
	for (int op = 0; op < N_OPS; op++)
		if (op != OP_ALLREDUCE && count(&list, (enum op)op, 16) < 8)
			fail_msg("%zu points of %s", count(&list, (enum op)op, 16), op_names[op]);
	for (enum op op = OP_PREFILL; op <= OP_MIXED; op++)
		assert_true(count(&list, op, 8) >= 16);
	for (size_t i = 0; i < 5; i++) { /* qkv, o, gate and up, down, head of tiny */
		size_t n = 0;

		for (size_t k = 0; k < list.n; k++)
			n += list.at[k].op == OP_GEMM && list.at[k].n == shapes[i][0] &&
			     list.at[k].k == shapes[i][1];
		assert_true(n >= 16);
	}
	points_release(&list);
}

/* Each tenth of the order has a tenth of every family, and the first has its range. */
static void test_any_part_of_the_order_covers_the_range(void **state)
{
	struct sweep_want w = want_of(1);
	struct points list = {.at = NULL};

	(void)state;
	sweep_list(&w, &list);
	for (size_t i = 0; i < list.n; i++) {
		size_t before = 0, all = 0, seen = 0;

		for (size_t k = 0; k < list.n; k++) {
			if (!sweep_same_family(&list.at[k], &list.at[i]))
				continue;
			all++;
			before += k < list.n / 2;
			seen += k < i;
		}
		assert_true(before + 2 >= all / 2);
		/* the second of a family is the far corner of it: most tokens or context */
		if (seen == 1 && list.at[i].op == OP_GEMM)
			assert_i64(list.at[i].m, list.at[i].n == 4096 ? 256 : 2048);
	}
	points_release(&list);
}

/* --- timing -------------------------------------------------------------------------------------
 */

static void test_medians_are_the_formula(void **state)
{
	struct sweep_want w = want_of(1e6);
	struct watch watch = {.points = 0};
	struct sweep_result r;
	struct err e;
	double sum = 0;

	(void)state;
	fake_reset(0.02);
	assert_fine(run_with(&w, &watch, &r, &e), e);
	assert_i64(r.points.n, r.listed);
	assert_i64(r.dear + r.late + r.unknown, 0);
	for (size_t i = 0; i < r.points.n; i++) {
		const struct point *p = &r.points.at[i];

		if (p->op == OP_STEP)
			continue;
		assert_true(p->repeats >= SWEEP_ROUNDS);
		assert_true(p->min_ns <= p->ns && p->ns <= p->max_ns);
		assert_near(p->ns / fake_ns(p), 1, 0.05);
		sum += log(p->ns / fake_ns(p));
	}
	assert_near(sum / (double)r.points.n, 0, 0.002);
	assert_i64(fake.opened, fake.closed);
	sweep_release(&r);
}

/* One in ten takes ten times as long. */
static void test_outliers_do_not_move_medians(void **state)
{
	struct sweep_want w = want_of(1e6);
	struct watch watch = {.points = 0};
	struct sweep_result r;
	struct err e;
	size_t off = 0;

	(void)state;
	fake_reset(0.005);
	fake.outlier_every = 10;
	assert_fine(run_with(&w, &watch, &r, &e), e);
	for (size_t i = 0; i < r.points.n; i++) {
		const struct point *p = &r.points.at[i];

		if (p->op != OP_STEP)
			off += fabs(p->ns / fake_ns(p) - 1) > 0.02;
	}
	assert_true(off <= r.points.n / 100);
	sweep_release(&r);
}

/* Repeats go where they differ. */
static void test_more_repeats_where_the_spread_is_wide(void **state)
{
	struct sweep_want w = want_of(1e6);
	struct watch watch = {.points = 0};
	struct sweep_result calm, wild;
	struct err e;
	int64_t calm_calls;

	(void)state;
	fake_reset(0.001);
	assert_fine(run_with(&w, &watch, &calm, &e), e);
	calm_calls = fake.calls;
	fake_reset(0.2);
	assert_fine(run_with(&w, &watch, &wild, &e), e);
	assert_true(fake.calls > 2 * calm_calls);
	for (size_t i = 0; i < wild.points.n; i++)
		assert_true(wild.points.at[i].repeats <= SWEEP_REPEATS_MOST);
	sweep_release(&calm);
	sweep_release(&wild);
}

/* The smallest and the largest rows that were timed of an operation. */
static void check_range(const struct points *points, enum op op,
			double (*size)(const struct point *), double min, double max)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < points->n; i++)
		if (points->at[i].op == op) {
			least = fmin(least, size(&points->at[i]));
			most = fmax(most, size(&points->at[i]));
		}
	if (least > min || most < max)
		fail_msg("%s: %g to %g, not %g to %g", op_names[op], least, most, min, max);
}

static double rows_of(const struct point *p)
{
	return (double)p->m;
}

static double tok_of(const struct point *p)
{
	return (double)(p->prefill_seq * p->new_tok);
}

static double ctx_of(const struct point *p)
{
	return (double)p->decode_ctx;
}

static double bytes_of(const struct point *p)
{
	return (double)p->bytes;
}

static void test_a_part_of_the_budget_covers_the_range(void **state)
{
	struct sweep_want w = want_of(1e6);
	struct watch watch = {.points = 0};
	struct sweep_result all, part;
	struct err e;

	(void)state;
	fake_reset(0.01);
	assert_fine(run_with(&w, &watch, &all, &e), e);
	w.budget_s = all.spent_s / 3;
	fake_reset(0.01);
	assert_fine(run_with(&w, &watch, &part, &e), e);
	assert_true(part.spent_s < 1.35 * w.budget_s);
	assert_true(part.points.n > all.points.n / 5 && part.points.n < all.points.n);
	assert_i64(part.points.n + part.late + part.dear, part.listed);
	check_range(&part.points, OP_GEMM, rows_of, 1, 1024);
	check_range(&part.points, OP_NORM, rows_of, 1, 1024);
	check_range(&part.points, OP_SAMPLE, rows_of, 1, 128);
	check_range(&part.points, OP_PREFILL, tok_of, 1, 512);
	check_range(&part.points, OP_DECODE, ctx_of, 16, 16384);
	check_range(&part.points, OP_STEP, ctx_of, 0, 16384);
	check_range(&part.points, OP_COPY_DEVICE, bytes_of, 4096, 1 << 24);
	sweep_release(&all);
	sweep_release(&part);
}

static void test_a_stop_leaves_the_points_so_far(void **state)
{
	struct sweep_want w = want_of(1e6);
	struct watch watch = {.stop_after = 700};
	struct sweep_result r;
	struct err e;

	(void)state;
	fake_reset(0.01);
	assert_fine(run_with(&w, &watch, &r, &e), e);
	assert_true(r.stopped);
	assert_i64(watch.points, 700);
	assert_true(watch.state.timed > 0 && watch.state.timed <= watch.state.points);
	sweep_release(&r);
}

/* --- backends that cannot -----------------------------------------------------------------------
 */

static void test_what_the_backend_does_not_know_is_left_out(void **state)
{
	struct sweep_want w = want_of(1e6);
	struct watch watch = {.points = 0};
	struct sweep_result r;
	struct err e;

	(void)state;
	fake_reset(0.01);
	fake.unknown = OP_ROPE;
	w.kv_bits[1] = 4; /* which is no pool's: it has 8 */
	assert_fine(run_with(&w, &watch, &r, &e), e);
	assert_i64(count(&r.points, OP_ROPE, 16) + count(&r.points, OP_DECODE, 4), 0);
	assert_i64(r.points.n + r.unknown, r.listed);
	assert_i64(r.n_notes, 4);
	assert_non_null(
		strstr(r.note[0].text, "prefill, 4 bits: there are no 4 bits in this pool"));
	assert_non_null(strstr(r.note[3].text, "rope, 16 bits: unknown to the backend"));
	sweep_release(&r);
}

/* Smaller ones of the same kind were timed: they stay, and the sweep goes on. */
static void test_what_memory_is_short_for_is_left_out(void **state)
{
	struct sweep_want w = want_of(1e6);
	struct watch watch = {.points = 0};
	struct sweep_result r;
	size_t gemms = 0;
	struct err e;

	(void)state;
	fake_reset(0.01);
	fake.most_rows = 1000;
	assert_fine(run_with(&w, &watch, &r, &e), e);
	for (size_t i = 0; i < r.points.n; i++) {
		gemms += r.points.at[i].op == OP_GEMM;
		assert_true(r.points.at[i].op != OP_GEMM || r.points.at[i].m <= 1000);
	}
	assert_true(gemms > 0 && r.unknown > 0);
	assert_i64(r.points.n + r.unknown, r.listed);
	sweep_release(&r);
}

static void test_a_failure_in_the_middle_says_where(void **state)
{
	struct sweep_want w = want_of(1e6);
	struct watch watch = {.points = 0};
	struct sweep_result r;
	struct err e;

	(void)state;
	fake_reset(0.01);
	fake.fails_after = 60000;
	assert_refused(run_with(&w, &watch, &r, &e), e, "the formula is out of order");
	assert_true(watch.points > 100);
	assert_i64(fake.opened, fake.closed);
	sweep_release(&r);
	fake_reset(0.01);
	fake.fails_after = -1;
	fake.calls = 1;
	assert_refused(run_with(&w, &watch, &r, &e), e, "no point could be timed");
	assert_non_null(strstr(e.text, "out of order"));
	sweep_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_point_twice_and_none_beyond_the_limits),
		cmocka_unit_test(test_everything_is_in_the_list),
		cmocka_unit_test(test_any_part_of_the_order_covers_the_range),
		cmocka_unit_test(test_medians_are_the_formula),
		cmocka_unit_test(test_outliers_do_not_move_medians),
		cmocka_unit_test(test_more_repeats_where_the_spread_is_wide),
		cmocka_unit_test(test_a_part_of_the_budget_covers_the_range),
		cmocka_unit_test(test_a_stop_leaves_the_points_so_far),
		cmocka_unit_test(test_what_the_backend_does_not_know_is_left_out),
		cmocka_unit_test(test_what_memory_is_short_for_is_left_out),
		cmocka_unit_test(test_a_failure_in_the_middle_says_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
