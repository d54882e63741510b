/*
 * Cases as one line of text and back, and smaller cases that still fail: with differences that are
 * planted, since the real ones are mended.
 */
#include "tests/agree.h"
#include "tests/testing.h"
#include <string.h>

static char *line_of(const struct ref_config *c, const struct ref_request *req, size_t n)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	ref_print_line(out, c, req, n);
	fclose(out);
	return text;
}

static void random_case(unsigned long seed, struct ref_config *c, struct ref_request **q, size_t *n)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

	gsl_rng_set(rng, seed);
	reference_random_case(rng, (enum ref_kind)(seed % 4), c, q, n);
	agree_level(c, *q, *n);
	gsl_rng_free(rng);
}

/* What is read back is printed alike, and gives the same schedule. */
static void test_round_trip(void **state)
{
	(void)state;
	for (unsigned long seed = 1; seed <= 2000; seed++) {
		struct ref_config c, back;
		struct ref_request *q, *q_back;
		size_t n, n_back;
		struct err e;
		struct ref_run run, run_back;
		char *line, *line_back;

		random_case(seed, &c, &q, &n);
		line = line_of(&c, q, n);
		assert_fine(ref_parse_line(line, &back, &q_back, &n_back, &e), e);
		line_back = line_of(&back, q_back, n_back);
		assert_string_equal(line, line_back);
		assert_i64(n, n_back);
		reference_run(&c, q, n, &run);
		reference_run(&back, q_back, n, &run_back);
		assert_i64(run.started, run_back.started);
		for (size_t r = 0; r < n; r++) {
			assert_i64(run.outcome[r].status, run_back.outcome[r].status);
			assert_i64(run.outcome[r].c_ns, run_back.outcome[r].c_ns);
		}
		reference_release(&run);
		reference_release(&run_back);
		free(line);
		free(line_back);
		free(q);
		free(q_back);
	}
}

static void test_bad_lines(void **state)
{
	static const char *const bad[][2] = {
		{"seats=2", "a case has requests="},
		{"requests=0:1", "request '0:1' is not"},
		{"requests=0:1:x", "request '0:1:x' is not"},
		{"requests=0:1:1:0:0:0:-1:7.y", "'y' is no hash id"},
		{"seats=two requests=0:1:1", "seats: 'two'"},
		{"policy=best requests=0:1:1", "policy: 'best'"},
		{"colour=red requests=0:1:1", "'colour=red' is no setting"},
		{"requests", "'requests' is not name=value"},
	};
	struct ref_config c;
	struct ref_request *q;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err e = {""};

		assert_refused(ref_parse_line(bad[i][0], &c, &q, &n, &e), e, bad[i][1]);
		free(q);
	}
}

static int64_t not_plain(const struct ref_config *c)
{
	int64_t n = 0;

	for (const struct ref_setting *f = ref_settings; f->name; f++)
		n += ref_get(c, f) != f->plain;
	return n;
}

/* Two settings and one number of one request. */
static bool planted(void *arg, const struct ref_config *c, const struct ref_request *q, size_t n)
{
	int64_t *asked = arg;

	++*asked;
	for (size_t r = 0; r < n; r++)
		if (q[r].prompt_tok >= 7 && c->policy.chunk > 0 && c->pp >= 2)
			return true;
	return false;
}

static void test_planted_setting(void **state)
{
	int64_t tried = 0;

	(void)state;
	for (unsigned long seed = 2; seed < 2000; seed += 4) {
		struct ref_config c;
		struct ref_request *q;
		size_t n;
		int64_t asked = 0;

		random_case(seed, &c, &q, &n);
		if (planted(&asked, &c, q, n)) {
			shrink_case(&c, q, &n, planted, &asked);
			assert_i64(n, 1);
			assert_i64(q[0].prompt_tok, 7);
			assert_i64(q[0].output_tok, 1);
			assert_i64(q[0].hash_n + q[0].session + q[0].max_tok, 0);
			assert_i64(c.pp, 2);
			assert_true(not_plain(&c) <= 3);
			assert_true(asked < 2000);
			tried++;
		}
		free(q);
	}
	print_message("%lld cases made smaller\n", (long long)tried);
	assert_true(tried > 20);
}

/* A reference with one seat less than the engine has. */
static bool differs(void *arg, const struct ref_config *c, const struct ref_request *q, size_t n)
{
	struct ref_config other = *c;
	struct harness_result e;
	struct ref_run run;
	bool differ;

	(void)arg;
	if (c->policy.seats < 2)
		return false;
	other.policy.seats--;
	reference_run(&other, q, n, &run);
	agree_engine(c, q, n, false, &e);
	differ = agree_compare(c, &e, &run).text[0];
	reference_release(&run);
	harness_release(&e);
	return differ;
}

/* Few requests and settings are left of what differs since a seat is missing. */
static void test_planted_difference(void **state)
{
	int64_t tried = 0;

	(void)state;
	for (unsigned long seed = 1; seed <= 250; seed++) {
		struct ref_config c;
		struct ref_request *q;
		size_t n;

		random_case(seed, &c, &q, &n);
		if (!c.disaggregated && differs(NULL, &c, q, n)) {
			size_t before = n;
			char *line;

			shrink_case(&c, q, &n, differs, NULL);
			assert_true(differs(NULL, &c, q, n));
			line = line_of(&c, q, n);
			if (n > 3 || not_plain(&c) > 4)
				print_message("of %zu requests: %s\n", before, line);
			assert_true(n <= 5 && not_plain(&c) <= 5);
			free(line);
			tried++;
		}
		free(q);
	}
	print_message("%lld cases made smaller\n", (long long)tried);
	assert_true(tried > 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_planted_setting),
		cmocka_unit_test(test_planted_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
