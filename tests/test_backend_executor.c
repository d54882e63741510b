/*
 * The executor around a backend: what the backend is asked for, step by step, when it is opened
 * anew, and what its failures become. The backend is one that keeps what it is asked.
 */
#include "sim/backend_executor.h"
#include "tests/harness.h"
#include "tests/testing.h"
#include <string.h>

struct backend {
	struct backend_want want;
};

static struct {
	int64_t opened, closed, steps;
	struct backend_want want; /* the last one */
	int64_t fail_open, fail_step;
	double ns;	/* of a step; 0: 1000 and 10 a new token */
	char text[512]; /* prior+new of every sequence */
} asked;

static int count_open(struct backend **b, const struct backend_want *w, struct err *e)
{
	if (++asked.opened == asked.fail_open)
		return err_set(e, "%lld slots are too many", (long long)w->kv_tok);
	asked.want = *w;
	*b = xcalloc(1, sizeof(**b));
	(*b)->want = *w;
	return 0;
}

static void count_close(struct backend *b)
{
	asked.closed++;
	free(b);
}

static void count_facts(struct backend *b, struct backend_facts *f)
{
	(void)b;
	snprintf(f->device, sizeof(f->device), "a list");
}

/* What it is opened for is enough for every step. */
static void check_room(const struct backend *b, const struct backend_seq *seqs, size_t n)
{
	int64_t tok = 0, blocks = 0, block = b->want.block_tok;

	for (size_t i = 0; i < n; i++) {
		tok += seqs[i].new_tok;
		blocks += (seqs[i].prior_tok + seqs[i].new_tok + block - 1) / block;
	}
	CHECK(tok <= b->want.max_tok && (int64_t)n <= b->want.max_seqs,
	      "%lld tokens of %zu sequences", (long long)tok, n);
	CHECK(blocks <= b->want.kv_tok / block, "%lld blocks of %lld", (long long)blocks,
	      (long long)(b->want.kv_tok / block));
}

static int count_step(struct backend *b, const struct backend_seq *seqs, size_t n, double *ns,
		      struct err *e)
{
	if (++asked.steps == asked.fail_step)
		return err_set(e, "the device is lost");
	check_room(b, seqs, n);
	*ns = 1000;
	for (size_t i = 0; i < n; i++) {
		size_t at = strlen(asked.text);

		*ns += 10 * (double)seqs[i].new_tok;
		snprintf(asked.text + at, sizeof(asked.text) - at, "%s%lld+%lld%s", i ? " " : "",
			 (long long)seqs[i].prior_tok, (long long)seqs[i].new_tok,
			 seqs[i].sampled ? "" : "-");
	}
	strcat(asked.text, "\n");
	if (asked.ns)
		*ns = asked.ns;
	return 0;
}

static const struct backend_ops counting = {
	.name = "counting",
	.summary = "counts what it is asked",
	.open = count_open,
	.close = count_close,
	.facts = count_facts,
	.step = count_step,
};

static const struct model model = {.name = "none"};

static struct backend_want wanted(void)
{
	return (struct backend_want){.model = &model,
				     .tp = 1,
				     .max_tok = 64,
				     .max_seqs = 2,
				     .kv_tok = 128,
				     .block_tok = 16,
				     .kv_bits = 16};
}

static struct executor *opened(const struct backend_want *w)
{
	struct err e;

	memset(&asked, 0, sizeof(asked));
	struct executor *x = backend_executor_new(&counting, w, &e);

	assert_fine(x ? 0 : -1, e);
	assert_true(x->ops->runs);
	assert_string_equal(x->ops->name, "counting");
	assert_string_equal(x->ops->times, "measured");
	assert_i64(asked.opened, 1);
	assert_string_equal(x->notes, w->tp > 1 ? "no-allreduce" : "");
	asked.text[0] = '\0'; /* its first steps are nobody's */
	return x;
}

static void assert_closed(struct executor *x)
{
	executor_free(x);
	assert_i64(asked.closed, asked.opened);
}

/* A run: the times of the backend, its device, each step as the scheduler made it. */
static void test_a_run(void **state)
{
	static const struct trace_row two[] = {{.prompt_tok = 5, .output_tok = 3},
					       {.prompt_tok = 7, .output_tok = 2}};
	struct harness_options o = harness_default("paged:chunk=9,max_seqs=2", NULL);
	const struct backend_want w = wanted();
	struct executor *x = opened(&w);
	char device[32];
	struct harness_result r;

	(void)state;
	o.executor = x;
	o.block_tok = 16;
	harness_run(&o, two, 2, &r);
	assert_fine(r.rc, r.err);
	assert_string_equal(asked.text, "0+5 0+4-\n4+3 5+1\n6+1 7+1\n");
	assert_i64(r.record[0].first_token_ns, 1090);
	assert_i64(r.record[0].finish_ns, 1090 + 1040 + 1020);
	assert_string_equal(r.summary.times, "measured");
	backend_executor_device(x, device, sizeof(device));
	assert_string_equal(device, "a list");
	harness_release(&r);
	assert_closed(x);
}

static double one_step(struct executor *x, const struct step_seq *seqs, int64_t n)
{
	const struct step s = {.seqs = seqs, .n_seqs = n};

	return x->ops->step_ns(x, &s);
}

/* Twice the tokens or sequences as often as it takes; of the pool an eighth more. */
static void test_it_grows(void **state)
{
	(void)state;
	const struct backend_want w = wanted();
	struct executor *x = opened(&w);
	struct step_seq three[3] = {
		{.new_tok = 1, .prior_tok = 15}, {.new_tok = 1, .prior_tok = 16}, {.new_tok = 62}};

	assert_near(one_step(x, three, 2), 1020, 0);
	assert_i64(asked.opened, 1);
	assert_near(one_step(x, three, 3), 1640, 0);
	assert_i64(asked.opened, 2);
	assert_i64(asked.want.max_seqs, 4);
	assert_i64(asked.want.max_tok, 64);
	three[2].new_tok = 65; /* 67 tokens; 1, 2 and 5 blocks */
	assert_near(one_step(x, three, 3), 1670, 0);
	assert_i64(asked.opened, 3);
	assert_i64(asked.want.max_tok, 128);
	assert_i64(asked.want.kv_tok, 128);
	three[2].prior_tok = 16; /* and 6 blocks: 144 slots */
	assert_near(one_step(x, three, 3), 1670, 0);
	assert_i64(asked.opened, 4);
	assert_i64(asked.want.kv_tok, 144 + 18);
	assert_near(one_step(x, three, 3), 1670, 0);
	assert_i64(asked.opened, 4);
	assert_i64(asked.closed, 3);
	assert_closed(x);
}

static void test_it_cannot_grow(void **state)
{
	(void)state;
	const struct backend_want w = wanted();
	struct executor *x = opened(&w);
	const struct step_seq large = {.new_tok = 1, .prior_tok = 799};

	asked.fail_open = 2;
	assert_true(one_step(x, &large, 1) < 0);
	assert_string_equal(x->failure->text, "executor counting: 900 slots are too many");
	executor_free(x);
	assert_i64(asked.closed, 1);
}

static void test_failures(void **state)
{
	(void)state;
	const struct backend_want w = wanted();
	const struct step_seq one = {.new_tok = 1};
	struct executor *x = opened(&w);

	asked.fail_step = asked.steps + 1;
	assert_true(one_step(x, &one, 1) < 0);
	assert_string_equal(x->failure->text, "executor counting: the device is lost");
	asked.ns = -3;
	assert_true(one_step(x, &one, 1) < 0);
	assert_string_equal(x->failure->text, "executor counting: a step took -3 ns");
	assert_closed(x);
}

/* Times of one device of two are no times of both, and say so. */
static void test_a_share(void **state)
{
	struct backend_want w = wanted();

	(void)state;
	w.tp = 2;
	executor_free(opened(&w));
}

/* In its first steps too. */
static void test_it_cannot_open(void **state)
{
	(void)state;
	const struct backend_want w = wanted();
	struct err e;

	memset(&asked, 0, sizeof(asked));
	asked.fail_open = 1;
	assert_refused(backend_executor_new(&counting, &w, &e) ? 0 : -1, e,
		       "executor counting: 128 slots are too many");
	memset(&asked, 0, sizeof(asked));
	asked.fail_step = 1;
	assert_refused(backend_executor_new(&counting, &w, &e) ? 0 : -1, e,
		       "executor counting: the device is lost");
	assert_i64(asked.closed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_run),	       cmocka_unit_test(test_it_grows),
		cmocka_unit_test(test_it_cannot_grow), cmocka_unit_test(test_failures),
		cmocka_unit_test(test_it_cannot_open), cmocka_unit_test(test_a_share),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
