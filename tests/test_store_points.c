/* A calibration in the database: points as they come, fits, how it ended. */
#include "results/store_points.h"

#include <string.h>
#include <unistd.h>

#include "calibrate/form.h"
#include "tests/stored.h"

static const struct calibration_info info = {
	.backend = "cpu",
	.device = "a device",
	.clocks = "2 GHz",
	.model = "tiny",
	.tp = 1,
	.threads = 2,
	.budget_s = 1.5,
	.seed = 7,
	.started = "2026-01-02T03:04:05Z",
};

static struct store_points *open_here(const char *path)
{
	struct err e;
	struct store_points *s = store_points_open(path, &info, &e);

	if (!s)
		fail_msg("%s", e.text);
	return s;
}

static void test_a_calibration_and_how_it_ended(void **state)
{
	const char *path = testing_path("end.db");
	struct store_points *s = open_here(path);
	struct err e;

	(void)state;
	assert_i64(store_points_id(s), 1);
	assert_query(path,
		     "SELECT id, backend, device, driver IS NULL, clocks, model, tp, threads, "
		     "budget_s, seed, status, profile IS NULL, started, wall_s IS NULL "
		     "FROM calibration",
		     "1|cpu|a device|1|2 GHz|tiny|1|2|1.5|7|running|1|2026-01-02T03:04:05Z|1");
	assert_fine(store_points_end(s, "complete", "a.json", 2.5, &e), e);
	store_points_close(s);
	assert_query(path, "SELECT status, profile, wall_s FROM calibration",
		     "complete|a.json|2.5");
	s = open_here(path);
	assert_i64(store_points_id(s), 2);
	store_points_close(s);
	assert_query(path, "SELECT count(*), sum(status = 'running') FROM calibration", "2|1");
}

/* Every size in its own column. */
static void test_every_field_of_a_point(void **state)
{
	const char *path = testing_path("fields.db");
	struct store_points *s = open_here(path);
	const struct point p = {.op = OP_MIXED,
				.bits = 8,
				.m = 1,
				.n = 2,
				.k = 3,
				.heads = 4,
				.kv_heads = 5,
				.head_dim = 6,
				.prefill_seq = 7,
				.new_tok = 8,
				.prior_tok = 9,
				.decode_seq = 10,
				.decode_ctx = 11,
				.longest = 12,
				.devices = 13,
				.bytes = 14,
				.ns = 15.5,
				.min_ns = 14.5,
				.mean_ns = 15.75,
				.max_ns = 16.5,
				.repeats = 17};
	struct err e;

	(void)state;
	assert_fine(store_points_put(s, 3, &p, &e), e);
	assert_fine(store_points_flush(s, &e), e);
	assert_query(path,
		     "SELECT idx, op, bits, m, n, k, heads, kv_heads, head_dim, prefill_seq, "
		     "new_tok, prior_tok, decode_seq, decode_ctx, longest, devices, bytes, ns, "
		     "min_ns, mean_ns, max_ns, repeats FROM point",
		     "3|mixed|8|1|2|3|4|5|6|7|8|9|10|11|12|13|14|15.5|14.5|15.75|16.5|17");
	store_points_close(s);
}

/* What was put is there without an end; a point that comes again takes the place of the first. */
static void test_points_as_they_come(void **state)
{
	const char *path = testing_path("come.db");
	struct store_points *s = open_here(path);
	struct point p = {.op = OP_NORM, .bits = 16, .ns = 1, .repeats = 1};
	struct err e;

	(void)state;
	for (int64_t i = 0; i < 100; i++)
		assert_fine(store_points_put(s, i, &p, &e), e);
	assert_query(path, "SELECT count(*) > 64 FROM point", "1");
	p.ns = 2;
	assert_fine(store_points_put(s, 0, &p, &e), e);
	assert_fine(store_points_flush(s, &e), e);
	assert_query(path, "SELECT count(*), sum(ns) FROM point", "100|101.0");
	store_points_close(s);
	assert_query(path, "SELECT status FROM calibration", "running");
}

static void test_a_fit_with_its_coefficients(void **state)
{
	static const struct form form = {.name = "line", .op = OP_GEMM};
	const char *path = testing_path("fit.db");
	struct store_points *s = open_here(path);
	struct fit f = {
		.op = OP_GEMM,
		.bits = 16,
		.form = &form,
		.shape = {.n = 2, .k = 3, .heads = 4, .kv_heads = 5, .head_dim = 6},
		.coef = {{.name = "t0_ns", .value = 1.5, .error = 0.5}, {.name = "x", .value = 2}},
		.n_coefs = 2,
		.points = 9,
		.hash = "0123456789abcdef",
		.held_out = {.folds = 5, .median = 0.25, .p90 = 0.5, .max = 0.75},
	};
	struct err e;

	(void)state;
	assert_fine(store_points_fit(s, 0, &f, &e), e);
	assert_fine(store_points_fit(s, 1, &f, &e), e);
	assert_query(path, "SELECT * FROM fit WHERE idx = 1",
		     "1|1|gemm|16|line|2|3|4|5|6|9|0123456789abcdef|5|0.25|0.5|0.75");
	assert_query(path, "SELECT * FROM coefficient WHERE fit_idx = 1",
		     "1|1|t0_ns|1.5|0.5;1|1|x|2.0|0.0");
	store_points_close(s);
}

/* Rows go with their calibration, and runs of the same file are none of its business. */
static void test_deleted_with_its_calibration(void **state)
{
	const char *path = testing_path("delete.db");
	struct store_points *s = open_here(path);
	struct point p = {.op = OP_NORM, .bits = 16, .ns = 1};
	struct summary sum;
	struct err e;
	sqlite3 *db;

	(void)state;
	assert_fine(store_points_put(s, 0, &p, &e), e);
	assert_fine(store_points_end(s, "failed", NULL, 1, &e), e);
	store_points_close(s);
	assert_fine(stored_run(path, 1, 3, &sum, &e), e);
	assert_query(path, "SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM point)",
		     "1|1");
	assert_i64(sqlite3_open(path, &db), SQLITE_OK);
	assert_i64(sqlite3_exec(db, "PRAGMA foreign_keys = ON; DELETE FROM calibration", NULL, NULL,
				NULL),
		   SQLITE_OK);
	sqlite3_close(db);
	assert_query(path, "SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM point)",
		     "1|0");
}

static void test_files_that_are_refused(void **state)
{
	const char *text = testing_file("text.db", "no database, but long enough to be looked at");
	struct err e;

	(void)state;
	assert_null(store_points_open(text, &info, &e));
	assert_non_null(strstr(e.text, text));
	assert_null(store_points_open(testing_path("none/a.db"), &info, &e));
	assert_refused(store_points_check(testing_path("none/a.db"), &e), e, "none/a.db");
	assert_fine(store_points_check(testing_path("new.db"), &e), e);
	assert_i64(access(testing_path("new.db"), F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_calibration_and_how_it_ended),
		cmocka_unit_test(test_every_field_of_a_point),
		cmocka_unit_test(test_points_as_they_come),
		cmocka_unit_test(test_a_fit_with_its_coefficients),
		cmocka_unit_test(test_deleted_with_its_calibration),
		cmocka_unit_test(test_files_that_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
