/* What the backend "cpu" times, one operation at a time, and what it says of the machine. */

#include "calibrate/cpu_time.h"
#include "tests/small_cpu.h"
#include "tests/testing.h"
#include <string.h>

/* Times of a noisy machine say nothing; that there is one, and of what there is none. */
static int time_op(struct backend *b, struct point p, struct err *e)
{
	double ns = 0;
	int result = 0;

	for (int i = 0; i < 3 && !result; i++) {
		result = backend_cpu.time(b, &p, &ns, e);
		assert_true(result || (ns > 0 && ns < 1e12));
	}
	return result;
}

static void every_operation_is_timed(void **state)
{
	(void)state;
	static const struct point points[] = {
		{.op = OP_GEMM, .bits = 16, .m = 7, .n = 300, .k = 100},
		{.op = OP_GEMM, .bits = 16, .m = 1, .n = 1, .k = 1},
		{.op = OP_NORM, .bits = 16, .m = 5, .n = 100},
		{.op = OP_ROPE, .bits = 16, .m = 5, .n = 384},
		{.op = OP_ACT, .bits = 16, .m = 5, .n = 768},
		{.op = OP_EMBED, .bits = 16, .m = 5, .n = 256},
		{.op = OP_SAMPLE, .bits = 16, .m = 5, .n = 4096},
		{.op = OP_COPY_TO_HOST, .bits = 16, .bytes = 5000},
		{.op = OP_COPY_FROM_HOST, .bits = 16, .bytes = 1},
		{.op = OP_COPY_DEVICE, .bits = 16, .bytes = 1 << 20},
		{.op = OP_STEP,
		 .bits = 16,
		 .prefill_seq = 1,
		 .new_tok = 9,
		 .prior_tok = 5,
		 .decode_seq = 3,
		 .decode_ctx = 100,
		 .longest = 60},
	};
	struct backend *b = open_tiny();
	struct err e;

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		assert_i64(time_op(b, points[i], &e), 0);
	assert_i64(time_op(b, (struct point){.op = OP_ALLREDUCE, .bytes = 1, .devices = 2}, &e), 1);
	assert_refused(time_op(b, (struct point){.op = OP_GEMM, .bits = 16, .m = 1, .n = 1}, &e), e,
		       "gemm of m 1, n 1, k 0");
	assert_refused(
		time_op(b, (struct point){.op = OP_GEMM, .bits = 8, .m = 1, .n = 1, .k = 1}, &e), e,
		"gemm in 8 bits");
	assert_refused(
		time_op(b,
			(struct point){.op = OP_STEP, .bits = 8, .decode_seq = 1, .decode_ctx = 9},
			&e),
		e, "a step with 8-bit KV: this pool has 16");
	backend_cpu.close(b);
}

/* The model's heads and others, in all bits, over the same pools again and again. */
static void attention_is_timed(void **state)
{
	(void)state;
	static const int64_t heads[][3] = {{4, 2, 64}, {8, 1, 32}};
	struct backend *b = open_tiny();
	struct err e;

	for (int bits = 2; bits <= 16; bits *= 2)
		for (int i = 0; i < 2; i++) {
			struct point p = {.bits = bits,
					  .heads = heads[i][0],
					  .kv_heads = heads[i][1],
					  .head_dim = heads[i][2]};
			p.op = OP_DECODE;
			p.decode_seq = 4;
			p.decode_ctx = 200;
			p.longest = 101;
			assert_fine(time_op(b, p, &e), e);
			p.op = OP_MIXED;
			p.prefill_seq = 1;
			p.new_tok = 33;
			p.prior_tok = 7;
			assert_fine(time_op(b, p, &e), e);
			p.op = OP_PREFILL;
			p.decode_seq = p.decode_ctx = p.longest = 0;
			assert_fine(time_op(b, p, &e), e);
			p.new_tok = 65;
			assert_refused(time_op(b, p, &e), e, "a step of 65 tokens");
		}
	const struct point odd = {.op = OP_DECODE,
				  .bits = 4,
				  .heads = 4,
				  .kv_heads = 2,
				  .head_dim = 48,
				  .decode_seq = 1,
				  .decode_ctx = 9};
	assert_refused(time_op(b, odd, &e), e, "their width of 2, of 32 in 4 and 2 bits");
	backend_cpu.close(b);
}

static void sequences_of_a_point(void **state)
{
	(void)state;
	struct point p = {.op = OP_MIXED,
			  .prefill_seq = 2,
			  .new_tok = 5,
			  .prior_tok = 3,
			  .decode_seq = 3,
			  .decode_ctx = 20,
			  .longest = 9};
	struct backend_seq *s = NULL;
	size_t n = 0;
	struct err e;

	assert_fine(backend_seqs(&p, &s, &n, &e), e);
	const int64_t want[][2] = {{5, 3}, {5, 3}, {1, 8}, {1, 4}, {1, 5}};
	assert_i64(n, 5);
	for (size_t i = 0; i < n; i++) {
		assert_i64(s[i].new_tok, want[i][0]);
		assert_i64(s[i].prior_tok, want[i][1]);
	}
	free(s);
	p.longest = 0;
	assert_fine(backend_seqs(&p, &s, &n, &e), e);
	assert_i64(n, 5);
	assert_i64(s[2].prior_tok, 5);
	assert_i64(s[3].prior_tok, 6);
	assert_i64(s[4].prior_tok, 6);
	free(s);
	p.longest = 9;
	/* two others cannot share one token */
	p.decode_ctx = 10;
	assert_refused(backend_seqs(&p, &s, &n, &e), e, "no such sequences");
	p.decode_seq = 1;
	assert_refused(backend_seqs(&p, &s, &n, &e), e, "no such sequences");
}

static void facts_are_known(void **state)
{
	(void)state;
	struct backend *b = open_tiny();
	struct backend_facts f;

	backend_cpu.facts(b, &f);
	print_message("%s, %s, %s\n", f.device, f.driver, f.clocks);
	assert_non_null(strstr(f.driver, "OpenBLAS 0."));
	assert_non_null(strstr(f.driver, ", 1 thread"));
	assert_true(f.memory_bytes > 0 && f.peak_bytes_s > 0 && f.peak_flops > 0 && f.seen);
	backend_cpu.close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_is_timed),
		cmocka_unit_test(attention_is_timed),
		cmocka_unit_test(sequences_of_a_point),
		cmocka_unit_test(facts_are_known),
	};

	return cmocka_run_group_tests_name("backend_cpu_time", tests, NULL, NULL);
}
