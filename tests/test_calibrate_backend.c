/* `omnibus calibrate` on a backend: a formula, so that the profile can be held against it, and the
 * real processor. */
#include "sim/calibrate_backend.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrate/sweep_profile.h"
#include "tests/fake_backend.h"
#include "tests/stored.h"

static struct calibrate_options options_of(const char *output, const char *db)
{
	return (struct calibrate_options){.backend = "fake",
					  .model = "tiny",
					  .tp = 1,
					  .budget_s = 50, /* all of 16 and 8 bits */
					  .seed = 1,
					  .db = db,
					  .output = output,
					  .date = "2026-01-02"};
}

static void fake_reset(double noise)
{
	fake = (struct fake){.noise = noise, .unknown = N_OPS};
}

/* With what is printed on stdout thrown away. */
static int run_quietly(const struct backend_ops *ops, const struct calibrate_options *o,
		       struct err *e)
{
	int saved, code;

	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	assert_non_null(freopen("/dev/null", "w", stdout));
	code = calibrate_on(ops, o, e);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	return code;
}

static void run_fine(const struct calibrate_options *o)
{
	struct err e = {.text = ""};
	int code = run_quietly(&fake_backend, o, &e);

	if (code)
		fail_msg("exit code %d: %s", code, e.text);
}

static struct profile *load(const char *path)
{
	struct err e;
	struct profile *p = profile_load(path, &e);

	if (!p)
		fail_msg("%s", e.text);
	return p;
}

static bool there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* --- what comes out is the formula --------------------------------------------------------------
 */

static void check_op(const struct profile *p, struct point at, double tolerance)
{
	enum profile_where where;
	double ns;

	at.bits = at.bits ? at.bits : 16;
	ns = profile_ns(p, &at, &where);
	if (where != PROFILE_INSIDE || fabs(ns / fake_ns(&at) - 1) > tolerance)
		fail_msg("%s, m %lld, new %lld, ctx %lld, %d bits: %g ns, not %g (where: %d)",
			 op_names[at.op], (long long)at.m, (long long)at.new_tok,
			 (long long)at.decode_ctx, at.bits, ns, fake_ns(&at), where);
}

/* At sizes between those that were timed. */
static void test_the_profile_is_the_formula(void **state)
{
	const char *path = testing_path("formula.json");
	struct calibrate_options o = options_of(path, NULL);
	struct profile *p;

	(void)state;
	fake_reset(0.02);
	run_fine(&o);
	p = load(path);
	for (int64_t m = 1; m <= 2048; m = 1 + m * 3 / 2) {
		check_op(p, (struct point){.op = OP_GEMM, .m = m, .n = 1536, .k = 256}, 0.08);
		check_op(p, (struct point){.op = OP_NORM, .m = m, .n = 256}, 0.08);
	}
	for (int bits = 16; bits >= 8; bits -= 8)
		for (int64_t seq = 1; seq <= 128; seq *= 3) {
			struct point at = {.bits = bits,
					   .heads = 4,
					   .kv_heads = 2,
					   .head_dim = 64,
					   .decode_seq = seq,
					   .decode_ctx = seq * 300};

			at.op = OP_DECODE;
			check_op(p, at, 0.08);
			at.decode_seq = at.decode_ctx = 0;
			at.op = OP_PREFILL;
			at.prefill_seq = 1;
			at.new_tok = 5 * seq;
			at.prior_tok = 100;
			check_op(p, at, 0.1);
		}
	assert_string_equal(p->device.name, "a device of a formula");
	assert_string_equal(p->date, "2026-01-02");
	assert_string_equal(p->clocks, "1 GHz");
	assert_near(p->device.peak_bytes_s, 25e9, 0);
	assert_false(p->peaks_seen);
	assert_near(p->device.pcie_bytes_s, 10e9, 1e9);
	profile_free(p);
}

/* Without a model: shapes that were not timed lie between those that were. */
static void test_shapes_of_any_model(void **state)
{
	const char *path = testing_path("any.json");
	struct calibrate_options o = options_of(path, NULL);
	struct profile *p;

	(void)state;
	fake_reset(0.02);
	o.model = NULL;
	run_fine(&o);
	p = load(path);
	for (int64_t m = 1; m <= 256; m *= 4) {
		check_op(p, (struct point){.op = OP_GEMM, .m = m, .n = 6000, .k = 3000}, 0.1);
		check_op(p, (struct point){.op = OP_NORM, .m = m, .n = 3000}, 0.1);
		check_op(p,
			 (struct point){.op = OP_DECODE,
					.heads = 24,
					.kv_heads = 8,
					.head_dim = 128,
					.decode_seq = m,
					.decode_ctx = 50 * m},
			 0.1);
	}
	profile_free(p);
}

/* A tenth that no part has: the sums fall short of it, and with the rest they do not. */
static void test_whole_steps_beyond_their_parts(void **state)
{
	const char *path = testing_path("rest.json");
	struct calibrate_options o = options_of(path, NULL);
	struct profile *p;

	(void)state;
	fake_reset(0.005);
	run_fine(&o);
	p = load(path);
	assert_true(p->rest.points > 20);
	assert_near(p->rest.sum_median, 0, 0.03);
	profile_free(p);
	fake_reset(0.005);
	fake.rest = 0.1;
	run_fine(&o);
	p = load(path);
	assert_near(p->rest.sum_median, 1 / 1.1 - 1, 0.03);
	assert_true(p->rest.layer_ns > 0 && p->rest.layer_tok_ns > 0);
	assert_true(p->rest.held_out.median < 0.04);
	assert_true(p->rest.tail < 0.001);
	profile_free(p);
}

/* One of eight takes ten times as long: a median does not see it, a mean is 1 + 9 / 8 of it. */
static void test_the_mean_beyond_the_median(void **state)
{
	const char *path = testing_path("tail.json"), *db = testing_path("tail.db");
	struct calibrate_options o = options_of(path, db);
	char want[40];
	const struct point at = {.op = OP_GEMM, .bits = 16, .m = 64, .n = 512, .k = 256};
	struct profile *p;

	(void)state;
	fake_reset(0.005);
	fake.outlier_every = 8;
	run_fine(&o);
	p = load(path);
	assert_near(p->rest.tail, 9.0 / 8, 0.4);
	snprintf(want, sizeof(want), "%.5f", p->rest.tail);
	assert_query(db,
		     "SELECT printf('%.5f', sum(repeats * (mean_ns / ns - 1)) / sum(repeats)) "
		     "FROM point WHERE op = 'step'",
		     want);
	assert_near(profile_ns(p, &at, NULL) / fake_ns(&at), 1 + p->rest.tail, 0.1);
	profile_free(p);
}

static void test_a_device_of_another_name(void **state)
{
	const char *path = testing_path("named.json");
	struct calibrate_options o = options_of(path, NULL);
	struct profile *p;

	(void)state;
	fake_reset(0.01);
	o.device = "mine";
	run_fine(&o);
	p = load(path);
	assert_string_equal(p->device.name, "mine");
	assert_near(p->device.peak_flops, 120e9, 0);
	profile_free(p);
	o.device = "h100"; /* whose data sheet is known */
	run_fine(&o);
	p = load(path);
	assert_string_equal(p->device.name, "h100");
	assert_near(p->device.peak_flops, 989e12, 0);
	profile_free(p);
}

/* Of a profile on the standard output nothing else is there. */
static void test_to_standard_output(void **state)
{
	const char *path = testing_path("out.json");
	struct calibrate_options o = options_of("-", NULL);
	struct err e = {.text = ""};
	int saved, code;

	(void)state;
	fake_reset(0.01);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	assert_non_null(freopen(path, "w", stdout));
	code = calibrate_on(&fake_backend, &o, &e);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	if (code)
		fail_msg("exit code %d: %s", code, e.text);
	profile_free(load(path));
}

static void test_bits_that_the_backend_has_not(void **state)
{
	const char *path = testing_path("bits.json");
	struct calibrate_options o = options_of(path, NULL);
	struct profile *p;

	(void)state;
	fake_reset(0.01);
	fake.cannot_bits = 8;
	o.budget_s = 1e6; /* of 4 and 2 bits too */
	run_fine(&o);
	p = load(path);
	assert_true(profile_has(p, OP_DECODE, 16) && profile_has(p, OP_DECODE, 4));
	assert_false(profile_has(p, OP_DECODE, 8));
	profile_free(p);
	assert_i64(fake.opened, 3);
	assert_i64(fake.closed, 3);
}

/* With what is printed on stderr in a file. */
static void run_telling(const struct calibrate_options *o, const char *told)
{
	int saved;

	fflush(stderr);
	saved = dup(STDERR_FILENO);
	assert_non_null(freopen(told, "w", stderr));
	run_fine(o);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
}

static size_t count_in(const char *path, const char *part)
{
	char text[4096] = "";
	FILE *f = fopen(path, "r");
	size_t n = 0;

	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	for (const char *at = text; (at = strstr(at, part)); at++)
		n++;
	return n;
}

/* All of the same context: what a token of it takes is not to be told from the constant. */
static void test_what_makes_no_fit_is_left_out(void **state)
{
	const char *path = testing_path("mixed.json"), *told = testing_path("mixed.err");
	struct calibrate_options o = options_of(path, NULL);
	struct profile *p;

	(void)state;
	fake_reset(0.02);
	fake.only.op = OP_MIXED;
	fake.only.bits = 8;
	fake.only.ctx = 1024;
	run_telling(&o, told);
	p = load(path);
	assert_true(profile_has(p, OP_MIXED, 16) && profile_has(p, OP_DECODE, 8));
	assert_false(profile_has(p, OP_MIXED, 8));
	profile_free(p);
	assert_i64(count_in(told, "left out: "), 1);
	assert_i64(count_in(told, "omnibus calibrate: left out: mixed, 8 bits: the "), 1);
	assert_i64(count_in(told, " points do not determine "), 1);
}

/* --- what is stored -----------------------------------------------------------------------------
 */

static void test_points_and_fits_are_stored(void **state)
{
	const char *path = testing_path("stored.json"), *db = testing_path("stored.db");
	struct calibrate_options o = options_of(path, db);
	char want[100];
	struct profile *p;

	(void)state;
	fake_reset(0.02);
	run_fine(&o);
	p = load(path);
	assert_query(db, "SELECT status, backend, device, model, tp, seed FROM calibration",
		     "complete|fake|a device of a formula|tiny|1|1");
	assert_query(db, "SELECT min(repeats) >= 5, min(min_ns <= ns AND ns <= max_ns) FROM point",
		     "1|1");
	assert_query(db, "SELECT count(DISTINCT op) FROM point", "13");
	snprintf(want, sizeof(want), "%zu", p->n_fits);
	assert_query(db, "SELECT count(*) FROM fit", want);
	assert_query(
		db,
		"SELECT count(*) FROM fit WHERE n = 0 AND points != (SELECT count(*) FROM point "
		"WHERE point.op = fit.op AND point.bits = fit.bits)",
		"0");
	profile_free(p);
}

/* The slowest repeat over the fastest of the middle point: 1 where nothing disturbs. */
static void test_how_much_repeats_differ(void **state)
{
	const char *path = testing_path("spread.json"), *db = testing_path("spread.db");
	struct calibrate_options o = options_of(path, db);
	char want[100], line[100];
	struct run_output shown;
	struct profile *p;

	(void)state;
	fake_reset(0.1);
	run_fine(&o);
	p = load(path);
	snprintf(want, sizeof(want), "%.6f", p->repeat_spread);
	assert_query(db,
		     "SELECT printf('%.6f', avg(spread)) FROM (SELECT max_ns / min_ns AS spread "
		     "FROM point ORDER BY 1 LIMIT (SELECT 2 - count(*) % 2 FROM point) "
		     "OFFSET (SELECT (count(*) - 1) / 2 FROM point))",
		     want);
	assert_true(p->repeat_spread > 1.1 && p->repeat_spread < 1.6);
	snprintf(line, sizeof(line),
		 "repeats    of half the points the slowest took %.2f times the fastest or more\n",
		 p->repeat_spread);
	profile_free(p);
	shown = testing_run("calibrate --show %s", path);
	assert_exit(shown, 0);
	assert_non_null(strstr(shown.out, line));
	testing_run_free(&shown);
	fake_reset(0);
	o.db = NULL;
	run_fine(&o);
	p = load(path);
	assert_near(p->repeat_spread, 1, 0);
	profile_free(p);
}

/* As a process of its own, since a signal comes. */
static int run_in_child(const struct calibrate_options *o, const char *sentence)
{
	pid_t child = fork();
	struct err e = {.text = ""};
	int status;

	if (child == 0) {
		int code = calibrate_on(&fake_backend, o, &e);

		if (!strstr(e.text, sentence))
			fprintf(stderr, "not '%s': %s\n", sentence, e.text);
		_exit(strstr(e.text, sentence) ? code : 99);
	}
	assert_i64(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_a_signal_leaves_the_points_and_no_profile(void **state)
{
	const char *path = testing_path("signal.json"), *db = testing_path("signal.db");
	struct calibrate_options o = options_of(path, db);

	(void)state;
	fake_reset(0.01);
	fake.raises_after = 20000;
	assert_i64(run_in_child(&o, "interrupted: no profile is written; calibration 1 in"), 1);
	assert_false(there(path));
	assert_i64(testing_count_files(path), 0);
	assert_query(db, "SELECT status, profile IS NULL FROM calibration", "interrupted|1");
	assert_query(db, "SELECT count(*) > 100, count(DISTINCT op), max(repeats) <= 5 FROM point",
		     "1|13|1");
	o.db = NULL;
	assert_i64(run_in_child(&o, "with --db FILE they are kept"), 1);
}

static void test_a_failure_is_told_and_stored(void **state)
{
	const char *path = testing_path("fails.json"), *db = testing_path("fails.db");
	struct calibrate_options o = options_of(path, db);
	struct err e;

	(void)state;
	fake_reset(0.01);
	fake.fails_after = 60000;
	assert_i64(run_quietly(&fake_backend, &o, &e), EXIT_FAILED);
	assert_non_null(strstr(e.text, "the formula is out of order"));
	assert_false(there(path));
	assert_query(db, "SELECT status FROM calibration", "failed");
	assert_query(db, "SELECT count(*) > 100 FROM point", "1");
	assert_i64(fake.opened, fake.closed);
}

/* What stands between the quotes behind `sqlite3 calibration.db`. The caller frees it. */
static char *query_of_readme(void)
{
	static const char before[] = "sqlite3 calibration.db \"";
	FILE *f = fopen(testing_source("calibrate/README.md"), "r");
	char *text = xcalloc(1, 1 << 20), *query;

	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	query = strstr(text, before);
	assert_non_null(query);
	query += strlen(before);
	assert_non_null(strchr(query, '"'));
	*strchr(query, '"') = '\0';
	query = xstrdup(query);
	free(text);
	return query;
}

/* Points of a calibration that failed are none of its rows. */
static void test_the_query_of_the_readme(void **state)
{
	const char *path = testing_path("query.json"), *db = testing_path("query.db");
	struct calibrate_options o = options_of(path, db);
	char *query = query_of_readme(), *want;
	struct err e;

	(void)state;
	fake_reset(0.5);
	fake.fails_after = 60000;
	assert_i64(run_quietly(&fake_backend, &o, &e), EXIT_FAILED);
	assert_query(db, query, "");
	fake_reset(0.01);
	run_fine(&o);
	want = stored_query(db, "SELECT op, bits, count(*), max(max_ns / min_ns) FROM point "
				"WHERE calibration_id = 2 GROUP BY op, bits");
	assert_non_null(strstr(want, "gemm|16|"));
	assert_query(db, query, want);
	free(want);
	free(query);
}

/* --- profiles that are refused ------------------------------------------------------------------
 */

static void refuse(struct calibrate_options *o, const char *sentence)
{
	struct err e = {.text = ""};

	assert_i64(run_quietly(&fake_backend, o, &e), EXIT_FAILED);
	if (!strstr(e.text, sentence))
		fail_msg("not '%s': %s", sentence, e.text);
	assert_false(there(o->output));
}

static void test_times_that_no_device_has(void **state)
{
	struct calibrate_options o = options_of(testing_path("fast.json"), NULL);

	(void)state;
	fake_reset(0.01);
	fake.faster = 100;
	refuse(&o, "what it reads takes");
	fake_reset(0.01);
	fake.faster = 100;
	fake.seen = true; /* then it may be so fast */
	run_fine(&o);
	struct profile *p = load(o.output);
	struct run_output shown = testing_run("calibrate --show %s", o.output);

	assert_true(p->peaks_seen);
	assert_non_null(strstr(shown.out, " at most: a quarter above the best seen\n"));
	testing_run_free(&shown);
	profile_free(p);
}

static void test_a_budget_that_is_too_small(void **state)
{
	struct calibrate_options o = options_of(testing_path("few.json"), NULL);

	(void)state;
	fake_reset(0.01);
	o.budget_s = 1e-3;
	refuse(&o, "");
	o.budget_s = 1e-9;
	refuse(&o, "gemm, 16 bits: 1 points were timed, too few for a profile");
}

/* Of what a step needs. */
static void test_points_that_make_no_fit(void **state)
{
	struct calibrate_options o = options_of(testing_path("no-fit.json"), NULL);

	(void)state;
	fake_reset(0.02);
	fake.only.op = OP_DECODE;
	fake.only.bits = 16;
	fake.only.ctx = 4096;
	refuse(&o, " points do not determine ");
}

static void test_what_can_be_refused_is_refused_before(void **state)
{
	struct calibrate_options o = options_of(testing_path("none/a.json"), NULL);
	struct err e;

	(void)state;
	fake_reset(0.01);
	refuse(&o, "cannot write");
	o = options_of(testing_path("a.json"), testing_path("none/a.db"));
	refuse(&o, "none/a.db");
	o = options_of(testing_path("a.json"), NULL);
	o.model = "tinny";
	assert_i64(run_quietly(&fake_backend, &o, &e), EXIT_USAGE);
	o.model = "tiny";
	o.tp = 3;
	assert_i64(run_quietly(&fake_backend, &o, &e), EXIT_USAGE);
	o.tp = 1;
	o.device = "none/device.json";
	refuse(&o, "none/device.json");
	assert_i64(fake.opened, 0);
}

/* --- the program --------------------------------------------------------------------------------
 */

/* On a busy machine the points of a few seconds may be too few: then that is said. */
static void test_the_processor(void **state)
{
	const char *path = testing_path("cpu.json"), *db = testing_path("cpu.db");
	char wrote[1200];
	struct run_output o = testing_run("calibrate --backend cpu -m tiny --threads 1 --budget 6 "
					  "-o %s --db %s",
					  path, db);

	(void)state;
	assert_query(db, "SELECT backend, model, threads FROM calibration", "cpu|tiny|1");
	assert_query(db, "SELECT count(DISTINCT op) FROM point", "13");
	assert_query(db, "SELECT min(ns > 0 AND min_ns <= ns AND ns <= max_ns) FROM point", "1");
	if (o.code) {
		assert_exit(o, 1);
		assert_query(db, "SELECT status FROM calibration", "failed");
		assert_false(there(path));
		assert_non_null(strstr(o.err, "omnibus calibrate: "));
		print_message("skipped: %s\n", o.err);
		testing_run_free(&o);
		skip();
	}
	assert_non_null(strstr(o.out, "Measured on "));
	assert_non_null(strstr(o.out, "whole steps")); /* or that there were too few */
	snprintf(wrote, sizeof(wrote), "omnibus calibrate: wrote %s\n", path);
	assert_non_null(strstr(o.err, wrote));
	testing_run_free(&o);
	assert_query(db, "SELECT status FROM calibration", "complete");
	profile_free(load(path));
	o = testing_run("capacity -m tiny -d %s", path);
	assert_exit(o, 0);
	testing_run_free(&o);
}

static void test_backends_that_are_there_or_not(void **state)
{
	struct run_output o =
		testing_run("calibrate --backend gpu -m tiny -o %s", testing_path("gpu.json"));

	(void)state;
	assert_exit(o, EXIT_USAGE);
	assert_non_null(strstr(o.err, "gpu"));
	testing_run_free(&o);
	o = testing_run("calibrate --backend cpu --check --seed 3");
	assert_exit(o, 0);
	assert_non_null(strstr(o.out, "bound"));
	testing_run_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_profile_is_the_formula),
		cmocka_unit_test(test_shapes_of_any_model),
		cmocka_unit_test(test_whole_steps_beyond_their_parts),
		cmocka_unit_test(test_the_mean_beyond_the_median),
		cmocka_unit_test(test_a_device_of_another_name),
		cmocka_unit_test(test_to_standard_output),
		cmocka_unit_test(test_bits_that_the_backend_has_not),
		cmocka_unit_test(test_what_makes_no_fit_is_left_out),
		cmocka_unit_test(test_points_and_fits_are_stored),
		cmocka_unit_test(test_how_much_repeats_differ),
		cmocka_unit_test(test_a_signal_leaves_the_points_and_no_profile),
		cmocka_unit_test(test_a_failure_is_told_and_stored),
		cmocka_unit_test(test_the_query_of_the_readme),
		cmocka_unit_test(test_times_that_no_device_has),
		cmocka_unit_test(test_a_budget_that_is_too_small),
		cmocka_unit_test(test_points_that_make_no_fit),
		cmocka_unit_test(test_what_can_be_refused_is_refused_before),
		cmocka_unit_test(test_the_processor),
		cmocka_unit_test(test_backends_that_are_there_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
