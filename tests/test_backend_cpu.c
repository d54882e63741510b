/* The backend "cpu": its kernels against double precision, what a step refuses, and that the checks
 * would see an error. */

#include "calibrate/cpu_blas.h"
#include "calibrate/cpu_check.h"
#include "tests/small_cpu.h"
#include "tests/testing.h"

static double run_logits(const struct backend_want *w, const struct backend_seq *seqs, size_t n,
			 int64_t shift)
{
	struct cpu_step s;
	struct err e;

	assert_fine(blas_load(&e), e);
	cpu_step_init(&s, w);
	assert_fine(cpu_step_plan(&s, seqs, n, &e), e);
	cpu_step_run(&s);
	double error = cpu_check_logits(&s, shift);
	cpu_step_release(&s);
	return error;
}

static const struct backend_seq mixed[] = {{33, 17, true}, {1, 100, true}, {5, 0, false},
					   {1, 15, true},  {1, 16, true},  {2, 129, true}};
enum { N_MIXED = sizeof(mixed) / sizeof(mixed[0]) };

static void whole_steps_are_right(void **state)
{
	(void)state;
	struct model m = load_model("tiny");
	struct backend_want w = small_want(&m);
	double error = run_logits(&w, mixed, N_MIXED, 0);

	print_message("error of logits %.2e\n", error);
	assert_true(error < 1e-4);
}

static void a_wrong_block_is_seen(void **state)
{
	(void)state;
	struct model m = load_model("tiny");
	struct backend_want w = small_want(&m);

	assert_true(run_logits(&w, mixed, N_MIXED, 1) > 1e-2);
}

static void say_line(void *arg, const char *line)
{
	(void)arg;
	print_message("%s\n", line);
}

static void every_kernel_is_right(void **state)
{
	(void)state;
	struct err e;

	for (uint64_t seed = 1; seed <= 2; seed++)
		assert_fine(backend_cpu.check(seed, say_line, NULL, &e), e);
}

static int step(struct backend *b, int64_t new_tok, int64_t prior_tok, size_t n, struct err *e)
{
	struct backend_seq seqs[9];
	double ns = 0;

	for (size_t i = 0; i < n; i++)
		seqs[i] = (struct backend_seq){new_tok, prior_tok, true};
	int result = backend_cpu.step(b, seqs, n, &ns, e);
	assert_true(result < 0 || ns > 0);
	return result;
}

/* Each limit is reached, and passed by one. */
static void what_a_step_holds(void **state)
{
	(void)state;
	struct backend *b = open_tiny();
	struct err e;

	assert_fine(step(b, 64, 0, 1, &e), e);
	assert_refused(step(b, 65, 0, 1, &e), e, "a step of 65 tokens: there is room for 64");
	assert_fine(step(b, 1, 0, 8, &e), e);
	assert_refused(step(b, 1, 0, 9, &e), e, "9 sequences: it must have from 1 to 8");
	assert_refused(step(b, 1, 0, 0, &e), e, "0 sequences");
	assert_fine(step(b, 1, 511, 1, &e), e);
	assert_refused(step(b, 1, 512, 1, &e), e,
		       "take 33 KV blocks of 16 tokens: the pool has 32");
	/* a block is one sequence's alone */
	assert_fine(step(b, 1, 63, 8, &e), e);
	assert_refused(step(b, 1, 64, 8, &e), e, "take 40 KV blocks");
	assert_refused(step(b, 0, 5, 1, &e), e, "0 new tokens after 5");
	assert_refused(step(b, 1, -1, 1, &e), e, "1 new tokens after -1");
	backend_cpu.close(b);
}

/* A pool in few bits, by way of the window: whole steps go through. */
static void steps_in_all_bits(void **state)
{
	(void)state;
	struct model m = load_model("tiny");
	struct backend_want w = small_want(&m);
	struct backend *b;
	struct err e;

	for (w.kv_bits = 2; w.kv_bits <= 16; w.kv_bits *= 2) {
		double ns = 0;
		assert_fine(backend_cpu.open(&b, &w, &e), e);
		for (int i = 0; i < 2; i++)
			assert_fine(backend_cpu.step(b, mixed, N_MIXED, &ns, &e), e);
		/* all slots that were wanted, though blocks are larger */
		assert_fine(step(b, 1, 63, 8, &e), e);
		backend_cpu.close(b);
	}
}

/* Every kind of dense layer: LayerNorm, learned positions, biases, one norm, norms of heads. */
static void kinds_of_layers(void **state)
{
	(void)state;
	struct model kinds[5];
	double error;

	for (int i = 0; i < 5; i++) {
		kinds[i] = load_model("tiny");
		kinds[i].layers = 2;
	}
	kinds[0].norm_bias = kinds[0].mlp_bias = kinds[0].o_bias = kinds[0].qkv_bias = true;
	kinds[1].positions = 100;
	kinds[1].gated = false;
	kinds[2].norms = 1;
	kinds[2].head_bias = true;
	kinds[2].tied = false;
	kinds[3].qk_norm = true;
	kinds[4].context = 64; /* positions begin anew */
	for (int i = 0; i < 5; i++)
		for (int64_t tp = 1; tp <= 2; tp++) {
			struct backend_want w = small_want(&kinds[i]);
			w.tp = tp;
			error = run_logits(&w, mixed + 1, N_MIXED - 1, 0);
			print_message("kind %d, tp %d: %.2e\n", i, (int)tp, error);
			assert_true(error < 1e-4);
		}
}

static void refused(const char *model, struct backend_want w, const char *part)
{
	struct model m = load_model(model);
	struct backend *b;
	struct err e;

	w.model = &m;
	assert_refused(backend_cpu.open(&b, &w, &e), e, part);
}

static void what_is_not_opened(void **state)
{
	(void)state;
	struct backend_want w = small_want(NULL);

	refused("mixtral-8x7b", w, "mixtral-8x7b has a mixture of experts: there are no kernels");
	refused("deepseek-v2-lite", w, "a mixture of experts");
	refused("mistral-7b-v0.1", w, "layers with a sliding window");
	w.kv_tok = INT32_MAX;
	refused("llama-3.1-405b", w, "GiB are free on this machine");
	w.kv_tok = 0;
	refused("tiny", w, "KV slots are 0: they must be from 1");
	w = small_want(NULL);
	w.tp = 3;
	refused("tiny", w, "tp 3 does not divide the attention heads of tiny, 4");
	w = small_want(NULL);
	w.kv_bits = 5;
	refused("tiny", w, "KV bits are 5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_steps_are_right), cmocka_unit_test(a_wrong_block_is_seen),
		cmocka_unit_test(every_kernel_is_right), cmocka_unit_test(what_a_step_holds),
		cmocka_unit_test(steps_in_all_bits),	 cmocka_unit_test(kinds_of_layers),
		cmocka_unit_test(what_is_not_opened),
	};

	return cmocka_run_group_tests_name("backend_cpu", tests, NULL, NULL);
}
