/*
 * Damaged traces: whatever bytes are changed, doubled, cut or swapped, a reader gives rows that
 * keep their promises, or one sentence; it never crashes (the sanitizer builds see to that) or
 * hangs.
 */
#include "sim/rng.h"
#include "tests/rows.h"
#include "traces/number.h"
#include <gsl/gsl_rng.h>

static const char *const seeds[] = {
	"TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n"
	"2023-11-16 18:17:04.0319600,3180,8\r\n2023-11-16 18:17:04.0319600,1,0",
	"TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n"
	"2024-05-10 00:00:01-01:00,2399,6\n",
	"arrive_s,prompt_tok,output_tok,max_tok\n0,\"12\",3,\n1e-3,1,2,7\n15.25,100000,1,1\n",
	"{\"timestamp\": 0, \"input_length\": 513, \"output_length\": 5, \"hash_ids\": [7, 8]}\n"
	"{\"timestamp\": 27.5, \"input_length\": 12, \"output_length\": 5, \"hash_ids\": [-1]}\n",
	"{\"arrival_time_ns\":46926808,\"input_length\":33,\"output_length\":5,\"hash_ids16\":[0,1]"
	"}\n"
	"{\"arrival_time_ns\":46926809,\"input_length\":15,\"output_length\":5,\"hash_ids16\":[]}"
	"\n",
};
enum { N_SEEDS = sizeof(seeds) / sizeof(seeds[0]), TEXT_MAX = 1024, ROUNDS = 3000 };

static const char interesting[] = "\n\r\",;:-+.eE0159{}[]\\ \tTZ\x7f\xff\x80";

static size_t mutate(gsl_rng *r, unsigned char *text, size_t len)
{
	for (unsigned long i = gsl_rng_uniform_int(r, 3) + 1; i > 0 && len > 0; i--) {
		size_t at = gsl_rng_uniform_int(r, len),
		       n = gsl_rng_uniform_int(r, len - at < 12 ? len - at : 12) + 1;
		switch (gsl_rng_uniform_int(r, 10)) {
		case 0:
			text[at] = (unsigned char)gsl_rng_uniform_int(r, 256);
			break;
		case 1:
			text[at] = (unsigned char)
				interesting[gsl_rng_uniform_int(r, sizeof(interesting))];
			break;
		case 2: /* left out */
			memmove(text + at, text + at + n, len - at - n);
			len -= n;
			break;
		case 3: /* twice */
			if (len + n <= TEXT_MAX) {
				memmove(text + at + n, text + at, len - at);
				len += n;
			}
			break;
		case 4: /* cut */
			len = at;
			break;
		default: /* another digit at the next digit, so that many stay readable */
			while (at < len && (text[at] < '0' || text[at] > '9'))
				at++;
			if (at < len)
				text[at] = (unsigned char)('0' + gsl_rng_uniform_int(r, 10));
		}
	}
	return len;
}

/* Returns the rows read, or -1 for a sentence. */
static int64_t read_checked(const char *path, bool sort)
{
	struct err e = {""};
	struct trace_spec spec = {.source = path, .sort = sort};
	struct trace *t = trace_open(&spec, &e);
	struct trace_row row;
	int64_t last_ns = 0, n = 0;
	int more = -1;
	while (t && (more = trace_next(t, &row, &e)) > 0) {
		assert_true(row.arrive_ns >= last_ns && row.arrive_ns <= NUMBER_NS_MAX);
		assert_true(row.prompt_tok >= 1 && row.prompt_tok <= NUMBER_TOK_MAX);
		assert_true(row.output_tok >= 1 && row.output_tok <= NUMBER_TOK_MAX);
		assert_true(row.max_tok >= 0 && row.line >= 1);
		last_ns = row.arrive_ns;
		n++;
	}
	if (more < 0) {
		assert_true(strlen(e.text) > strlen("x") && !strchr(e.text, '\n'));
		n = -1;
	} else {
		assert_true(n >= 1); /* no rows would be a sentence */
		assert_i64(trace_counts(t)->rows, n);
	}
	trace_close(t);
	return n;
}

static void damaged_traces(void **state)
{
	(void)state;
	gsl_rng *r = rng_new(1, "damage");
	const char *path = testing_path("damaged");
	for (int s = 0; s < N_SEEDS; s++) {
		int refused = 0, read = 0;
		for (int i = 0; i < ROUNDS; i++) {
			unsigned char text[TEXT_MAX];
			size_t len = strlen(seeds[s]);
			memcpy(text, seeds[s], len);
			len = mutate(r, text, len);
			write_bytes(path, text, len);
			if (read_checked(path, i % 2 == 1) < 0)
				refused++;
			else
				read++;
		}
		if (refused <= ROUNDS / 20 || read <= ROUNDS / 20)
			print_error("seed %d: %d refused, %d read\n", s, refused, read);
		/* Both happen, or the damage was too little or too much to tell anything. */
		assert_true(refused > ROUNDS / 20);
		assert_true(read > ROUNDS / 20);
	}
	gsl_rng_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(damaged_traces)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
