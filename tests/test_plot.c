/* `omnibus plot`: the numbers of each kind against runs worked out by hand, and the pictures. */
#include "results/gnuplot.h"
#include "tests/run_rows.h"
#include "tests/stored.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* A step takes 10 ms, whatever is in it: arrivals at 0 and 1 s, 1 and 3 output tokens. */
#define TWO_REQUESTS "arrive_s,prompt_tok,output_tok\n0,10,1\n1,10,3\n"

static const char *two_requests_db(const char *name, const char *more)
{
	const char *path = testing_path(name), *trace = testing_file("two.csv", TWO_REQUESTS);
	char args[1200];
	struct run_output o;

	snprintf(args, sizeof args, "%s " FAST "--db %s %s", trace, path, more);
	o = run_well(args);
	testing_run_free(&o);
	return path;
}

static void assert_tsv(const char *args, const char *want)
{
	struct run_output o = testing_run("plot %s --format tsv", args);

	assert_exit(o, 0);
	assert_string_equal(o.out, want);
	testing_run_free(&o);
}

static void assert_fails(int code, const char *part, const char *args)
{
	struct run_output o = testing_run("plot %s", args);

	assert_string_equal(o.out, "");
	if (!strstr(o.err, part))
		fail_msg("'%s' lacks '%s'", o.err, part);
	assert_i64(o.code, code);
	testing_run_free(&o);
}

/*
 * The first request: TTFT 10 ms, E2E 10 ms for one token. The second: TTFT 10 ms, E2E 30 ms for
 * three, TPOT 10 ms. One arrival a second is offered; the rate of both is 2 a second with --rate 2.
 * Two arrivals say nothing of saturation.
 */
static void test_latency_rate(void **state)
{
	const char *path = two_requests_db("rate.db", "-p paged -p static --rate 2,1");
	char args[1200];

	(void)state;
	snprintf(args, sizeof args, "latency-rate --db %s --where \"policy = 'paged'\"", path);
	assert_tsv(args, "quantity\tline\trun_id\toffered_rps\tvalue_s\tsaturated\tlost\n"
			 "norm_latency_mean_s\tpaged\t2\t1\t0.01\t\t0\n"
			 "norm_latency_mean_s\tpaged\t1\t2\t0.01\t\t0\n"
			 "ttft_mean_s\tpaged\t2\t1\t0.01\t\t0\n"
			 "ttft_mean_s\tpaged\t1\t2\t0.01\t\t0\n"
			 "tpot_mean_s\tpaged\t2\t1\t0.01\t\t0\n"
			 "tpot_mean_s\tpaged\t1\t2\t0.01\t\t0\n");
}

static void store_ended(const char *path, double rps, int64_t completed, int64_t saturated)
{
	struct summary sum;
	struct run_info info;
	struct err e;
	struct store *s = store_open(path, &e);

	fields_clear(run_info_fields, &info);
	fields_clear(summary_fields, &sum);
	snprintf(sum.policy, sizeof sum.policy, "paged");
	sum.offered_rps = rps;
	sum.ttft_mean_s = 100 * rps;
	sum.requests = 1000;
	sum.completed = completed;
	sum.saturated = saturated;
	assert_fine(store_commit(s, &info, &sum, "", 0, &e), e);
	store_close(s);
}

static size_t count_text(const char *path, const char *what)
{
	char *text = xcalloc(1, 1 << 20);
	FILE *f = fopen(path, "rb");
	size_t n = 0;

	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	free(text);
	return n;
}

/* Of 1000 requests 990 completed is 1% lost, which is not more than that; of 989 it is. */
static void test_lost_requests(void **state)
{
	const char *path = testing_path("lost.db"), *svg = testing_path("lost.svg");
	struct run_output o;

	(void)state;
	store_ended(path, 1, 990, 0);
	store_ended(path, 2, 989, 0);
	store_ended(path, 3, 1000, 1);
	o = testing_run("plot latency-rate --db %s --format tsv", path);
	assert_exit(o, 0);
	assert_non_null(strstr(o.out, "ttft_mean_s\tpaged\t1\t1\t100\t0\t0.01\n"
				      "ttft_mean_s\tpaged\t2\t2\t200\t0\t0.011\n"
				      "ttft_mean_s\tpaged\t3\t3\t300\t1\t0\n"));
	testing_run_free(&o);
	if (!have_tool("gnuplot"))
		return;
	o = testing_run("plot latency-rate --db %s -o %s", path, svg);
	assert_exit(o, 0);
	testing_run_free(&o);
	assert_i64(count_text(svg, "more than 1% of requests rejected, aborted or unfinished"), 1);
	/* of the three points of TTFT two are hollow: a white one lies below each */
	assert_i64(count_text(svg, "color='rgb(255, 255, 255)'"), 2);
}

/* Of 1 and 2 tokens a step, TTFTs of 10 and 30 ms: p50 is halfway, p99 at 10 + 0.99 x 20 ms. */
static void test_statistics(void **state)
{
	const char *path = testing_path("stat.db");
	const char *trace = testing_file("burst.csv", "arrive_s,prompt_tok,output_tok\n"
						      "0,10,2\n0.000001,10,1\n");
	char args[1200];
	struct run_output o;

	(void)state;
	/* one seat: the second starts when the first is done, at 20 ms, and has its token at 30 */
	snprintf(args, sizeof args, "%s " FAST "-p paged:max_seqs=1 --db %s", trace, path);
	o = run_well(args);
	testing_run_free(&o);
	o = testing_run("plot latency-rate --db %s --format tsv --stat p99", path);
	assert_exit(o, 0);
	/* TTFTs 10 ms and 30 ms - 1 us */
	if (!strstr(o.out, "ttft_p99_s\tpaged:max_seqs=1\t1\t1000000\t0.02979901\t\t0\n"))
		fail_msg("%s", o.out);
	testing_run_free(&o);
	o = testing_run("plot latency-rate --db %s --format tsv --stat p50", path);
	if (!strstr(o.out, "ttft_p50_s\tpaged:max_seqs=1\t1\t1000000\t0.0199995\t\t0\n"))
		fail_msg("%s", o.out);
	testing_run_free(&o);
}

/* TTFT of both is 10 ms: one value, share 1. E2E 10 and 30 ms. TPOT: the second request alone. */
static void test_cdf(void **state)
{
	const char *path = two_requests_db("cdf.db", "-p paged");
	char args[1200];

	(void)state;
	snprintf(args, sizeof args, "cdf --db %s", path);
	assert_tsv(args, "quantity\tline\trun_id\tlatency_s\tshare\n"
			 "ttft_s\tpaged\t1\t0.01\t1\n"
			 "tpot_s\tpaged\t1\t0.01\t1\n"
			 "e2e_s\tpaged\t1\t0.01\t0.5\n"
			 "e2e_s\tpaged\t1\t0.03\t1\n");
}

/* The same from the histogram, whose bins are within 0.1%: upper ends. */
static void test_cdf_of_a_histogram(void **state)
{
	const char *path = two_requests_db("hist.db", "-p paged --requests none");
	struct run_output o = testing_run("plot cdf --db %s --format tsv", path);
	double x, y, last_x = 0, last_y = 0;
	size_t n = 0;

	(void)state;
	assert_exit(o, 0);
	assert_non_null(strstr(o.err, "1 of 1 runs have no request rows"));
	for (const char *p = o.out; (p = strstr(p, "e2e_s\tpaged\t1\t")); n++) {
		p += strlen("e2e_s\tpaged\t1\t");
		assert_i64(sscanf(p, "%lf\t%lf", &x, &y), 2);
		assert_true(x > last_x && y > last_y);
		assert_near(x, n == 0 ? 0.01 : 0.03, x * 0.002);
		last_x = x;
		last_y = y;
	}
	assert_i64(n, 2);
	assert_near(last_y, 1, 0);
	testing_run_free(&o);
}

/* A hundred thousand different values become about a thousand points, the last at 1. */
static void test_cdf_of_many(void **state)
{
	const char *path = testing_path("cdf-many.db");
	struct summary sum;
	struct run_info info;
	struct err e;
	struct store *s = store_open(path, &e);
	struct run_output o;
	size_t lines;

	(void)state;
	fields_clear(run_info_fields, &info);
	fields_clear(summary_fields, &sum);
	for (int64_t i = 0; i < 100000; i++) {
		struct record r = stored_record(i);

		r.finish_ns = r.first_token_ns = r.arrive_ns + 1000 + i;
		r.output_tok = 1;
		assert_fine(store_record(s, &r, &e), e);
	}
	assert_fine(store_commit(s, &info, &sum, "", 0, &e), e);
	store_close(s);
	o = testing_run("plot cdf --db %s --format tsv", path);
	assert_exit(o, 0);
	lines = count_lines(o.out);
	assert_true(lines > 2 * 990 && lines < 2 * 1010);
	/* every point is true: x = 1000 + i ns has share (i + 1) / 100000 */
	for (const char *p = strchr(o.out, '\n'); p[1]; p = strchr(p + 1, '\n')) {
		double x, share;

		assert_i64(sscanf(p + 1, "%*s\t1\t%lf\t%lf", &x, &share), 2);
		assert_near(share, (x * 1e9 - 999) / 1e5, 1e-9);
	}
	assert_non_null(strstr(o.out, "\t0.000100999\t1\n"));
	testing_run_free(&o);
}

static void store_samples(const char *path, int64_t kv_blocks, int64_t weights)
{
	/* instance 1 is first seen at 5 s, and at 10 s both at once */
	static const struct sample samples[] = {
		{0, 0, 1, 0, 10},	    {5000000000, 1, 2, 3, 30}, {10000000000, 0, 4, 5, 40},
		{10000000000, 1, 1, 0, 20}, {20000000000, 0, 0, 0, 0},
	};
	struct summary sum;
	struct run_info info;
	struct err e;
	struct store *s = store_open(path, &e);

	fields_clear(run_info_fields, &info);
	fields_clear(summary_fields, &sum);
	snprintf(sum.policy, sizeof sum.policy, "paged");
	snprintf(sum.device, sizeof sum.device, "h200");
	info.kv_blocks = kv_blocks;
	info.instances = 2;
	info.weights_bytes = weights;
	info.usable_bytes = weights > 0 ? 8 * weights : FIELD_NULL_INT;
	info.block_tok = 16;
	info.kv_token_bytes = 1 << 20; /* a block is 16 MiB, 1/64 GiB */
	for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
		assert_fine(store_sample(s, &samples[i], &e), e);
	assert_fine(store_commit(s, &info, &sum, "", 0, &e), e);
	store_close(s);
}

/* Sums over both instances of what was last seen; a pool of 50 blocks each. */
static void test_timeline(void **state)
{
	const char *path = testing_path("time.db");
	char args[1200];

	(void)state;
	store_samples(path, 50, 1);
	snprintf(args, sizeof args, "timeline --db %s", path);
	assert_tsv(args, "quantity\tline\trun_id\tt_s\tvalue\n"
			 "running\tpaged\t1\t0\t1\n"
			 "running\tpaged\t1\t5\t3\n"
			 "running\tpaged\t1\t10\t5\n"
			 "running\tpaged\t1\t20\t1\n"
			 "kv_share\tpaged\t1\t0\t0.1\n"
			 "kv_share\tpaged\t1\t5\t0.4\n"
			 "kv_share\tpaged\t1\t10\t0.6\n"
			 "kv_share\tpaged\t1\t20\t0.2\n"
			 "waiting\tpaged\t1\t0\t0\n"
			 "waiting\tpaged\t1\t5\t3\n"
			 "waiting\tpaged\t1\t10\t5\n"
			 "waiting\tpaged\t1\t20\t0\n");
	store_samples(path, FIELD_NULL_INT, 1); /* a pool without limit: blocks, of all runs */
	snprintf(args, sizeof args, "timeline --each-instance --where 'run_id = 2' --db %s", path);
	assert_tsv(args, "quantity\tline\trun_id\tt_s\tvalue\n"
			 "running\tpaged, instance 0\t2\t0\t1\n"
			 "running\tpaged, instance 0\t2\t10\t4\n"
			 "running\tpaged, instance 0\t2\t20\t0\n"
			 "running\tpaged, instance 1\t2\t5\t2\n"
			 "running\tpaged, instance 1\t2\t10\t1\n"
			 "kv_blocks\tpaged, instance 0\t2\t0\t10\n"
			 "kv_blocks\tpaged, instance 0\t2\t10\t40\n"
			 "kv_blocks\tpaged, instance 0\t2\t20\t0\n"
			 "kv_blocks\tpaged, instance 1\t2\t5\t30\n"
			 "kv_blocks\tpaged, instance 1\t2\t10\t20\n"
			 "waiting\tpaged, instance 0\t2\t0\t0\n"
			 "waiting\tpaged, instance 0\t2\t10\t5\n"
			 "waiting\tpaged, instance 0\t2\t20\t0\n"
			 "waiting\tpaged, instance 1\t2\t5\t3\n"
			 "waiting\tpaged, instance 1\t2\t10\t0\n");
}

/*
 * Between requests an instance is seen to be idle, though it became so less than a millisecond
 * after the look before: steps of 0.2 ms, a request of one token and another 0.1 ms later; one of 3
 * tokens at 50 s, and one of a token at 100 s.
 */
static void test_idle(void **state)
{
	const char *path = testing_path("idle.db");
	const char *trace = testing_file("idle.csv", "arrive_s,prompt_tok,output_tok\n"
						     "0,10,1\n0.0001,10,1\n50,10,3\n100,10,1\n");
	char args[1200];
	struct run_output o;

	(void)state;
	snprintf(args, sizeof args, "%s -x fixed:step_ns=200000 -p paged --db %s", trace, path);
	o = run_well(args);
	testing_run_free(&o);
	o = testing_run("plot timeline --db %s --format tsv", path);
	assert_exit(o, 0);
	assert_non_null(strstr(o.out, "running\tpaged\t1\t0\t1\n"
				      "running\tpaged\t1\t0.0004\t0\n"
				      "running\tpaged\t1\t50\t1\n"
				      "running\tpaged\t1\t50.0006\t0\n"
				      "running\tpaged\t1\t100\t1\n"
				      "running\tpaged\t1\t100.0002\t0\n"
				      "kv_blocks\tpaged\t1\t0\t1\n"));
	testing_run_free(&o);
}

/* 2 GiB of weights and 1/64 GiB a block; with one request running 10 and 20 blocks were seen. */
static void test_memory(void **state)
{
	const char *path = testing_path("memory.db");
	char args[1200];

	(void)state;
	store_samples(path, 50, (int64_t)2 << 30);
	store_samples(path, 50, FIELD_NULL_INT); /* no model: left out */
	snprintf(args, sizeof args, "memory --db %s", path);
	assert_tsv(args, "quantity\tline\trun_id\trunning\tmean_gib\tlow\thigh\n"
			 "weights_kv_gib\tpaged, run 1\t1\t0\t2\t2\t2\n"
			 "weights_kv_gib\tpaged, run 1\t1\t1\t2.234375\t2.15625\t2.3125\n"
			 "weights_kv_gib\tpaged, run 1\t1\t2\t2.46875\t2.46875\t2.46875\n"
			 "weights_kv_gib\tpaged, run 1\t1\t4\t2.625\t2.625\t2.625\n");
	snprintf(args, sizeof args, "memory --db %s --where 'run_id = 2' --format tsv", path);
	assert_fails(1, "no values for memory", args);
}

/* Names tell runs apart by what differs, and by nothing else; never by the rate along a curve. */
static void test_names(void **state)
{
	const char *path = two_requests_db("names.db", "-p paged --rate 1,2 --kv-tokens 160");
	struct run_output o;

	(void)state;
	two_requests_db("names.db", "-p paged --rate 1,2 --kv-tokens 320 --seed 7");
	o = testing_run("plot latency-rate --db %s --format tsv", path);
	assert_exit(o, 0);
	assert_non_null(strstr(o.out, "ttft_mean_s\tpaged, kv_blocks=10\t2\t2\t"));
	assert_non_null(strstr(o.out, "ttft_mean_s\tpaged, kv_blocks=20\t4\t2\t"));
	assert_i64(count_lines(o.out), 1 + 3 * 4);
	testing_run_free(&o);
	o = testing_run("plot cdf --db %s --format tsv", path);
	assert_non_null(strstr(o.out, "ttft_s\tpaged, kv_blocks=20, rate_rps=1\t3\t"));
	testing_run_free(&o);
}

/*
 * Three requests 2 ms apart find one seat for 10 ms and a queue of one, which turns the third away;
 * those a second apart are served. What was turned away names no curve: it is one over its rates.
 */
static void test_findings_name_nothing(void **state)
{
	const char *path = testing_path("found.db");
	const char *trace = testing_file("three.csv", "arrive_s,prompt_tok,output_tok\n"
						      "0,10,1\n0.001,10,1\n0.002,10,1\n");
	char args[1200];
	struct run_output o;

	(void)state;
	snprintf(args, sizeof args,
		 "%s " FAST "-p paged:max_seqs=1 --queue-limit 1 --rate 1,500 --db %s", trace,
		 path);
	o = run_well(args);
	testing_run_free(&o);
	assert_query(path, "SELECT queue_full FROM run", "0;1");
	o = testing_run("plot latency-rate --db %s --format tsv", path);
	assert_non_null(strstr(o.out, "ttft_mean_s\tpaged:max_seqs=1\t1\t"));
	assert_non_null(strstr(o.out, "ttft_mean_s\tpaged:max_seqs=1\t2\t"));
	testing_run_free(&o);
}

static void assert_name(const char *name, size_t max, const char *want)
{
	char *got = gnuplot_name(name, max);

	assert_string_equal(got, want);
	free(got);
}

static void test_cut_names(void **state)
{
	(void)state;
	assert_name("paged", 5, "paged");
	assert_name("continuous", 5, "co…us");
	assert_name("continuous", 4, "co…s");
	assert_name("äöüÄÖÜß", 5, "äö…Üß"); /* characters, not bytes */
	assert_name("a\tb\xff\xc3", 9, "a?b??");
	assert_name("\xed\xa0\x80", 9, "???"); /* half of a pair */
	assert_name("", 5, "");
}

/* --- pictures -----------------------------------------------------------------------------------
 */

static void assert_starts(const char *path, const char *magic)
{
	char bytes[64] = "";
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	assert_true(fread(bytes, 1, sizeof bytes - 1, f) > 0);
	fclose(f);
	if (strncmp(bytes, magic, strlen(magic)) != 0)
		fail_msg("%s starts with '%.20s'", path, bytes);
}

static void need_gnuplot(void)
{
	if (!have_tool("gnuplot")) {
		print_message("skipped: gnuplot is not here\n");
		skip();
	}
}

static void test_pictures(void **state)
{
	static const char *const kinds[] = {"latency-rate", "cdf", "timeline", "memory"};
	static const char *const forms[][2] = {
		{"svg", "<?xml"}, {"pdf", "%PDF-"}, {"png", "\x89PNG\r\n"}};
	const char *path;

	(void)state;
	need_gnuplot();
	path = two_requests_db("pictures.db", "-p paged -p static " HW "--rate 1,2,3");
	for (size_t i = 0; i < 4; i++) {
		for (size_t k = 0; k < 3; k++) {
			const char *file = testing_path(forms[k][0]);
			struct run_output o = testing_run("plot %s --db %s -o %s.%s", kinds[i],
							  path, file, forms[k][0]);
			char name[1200];

			snprintf(name, sizeof name, "%s.%s", file, forms[k][0]);
			assert_exit(o, 0);
			assert_string_equal(o.out, "");
			assert_string_equal(o.err, "");
			assert_starts(name, forms[k][1]);
			unlink(name);
			testing_run_free(&o);
		}
	}
}

/*
 * A full pool ends at the weights and its blocks: 2 + 50/64 GiB, far below the usable 16 GiB, so
 * that there are two lines; one where a pool of 890 blocks (15.9 GiB with the weights) takes it
 * all.
 */
static void test_lines_of_memory(void **state)
{
	const char *path = testing_path("lines.db"), *svg = testing_path("lines.svg");
	struct run_output o;

	(void)state;
	need_gnuplot();
	store_samples(path, 50, (int64_t)2 << 30);
	store_samples(path, 890, (int64_t)2 << 30);
	o = testing_run("plot memory --db %s -o %s --where 'run_id = 1'", path, svg);
	assert_exit(o, 0);
	testing_run_free(&o);
	assert_i64(count_text(svg, "weights and the whole KV pool: 2.8 GiB"), 1);
	assert_i64(count_text(svg, "usable memory of h200: 16.0 GiB"), 1);
	o = testing_run("plot memory --db %s -o %s", path, svg);
	assert_exit(o, 0);
	testing_run_free(&o);
	assert_i64(count_text(svg, "weights and the whole KV pool: 2.8 GiB"), 1);
	assert_i64(count_text(svg, "weights and the whole KV pool: 15.9 GiB"), 1);
	assert_i64(count_text(svg, "usable memory"), 0);
}

/* Of 13 lines it is said that they are many, of 12 not; nor of numbers, which need no telling
 * apart.
 */
static void test_many_lines(void **state)
{
	const char *path = testing_path("lines13.db"), *svg = testing_path("lines13.svg");
	static const char said[] = "omnibus plot: 13 lines are hard to tell apart; --where chooses "
				   "runs\n";
	struct run_output o;

	(void)state;
	need_gnuplot();
	for (int i = 0; i < 13; i++)
		store_samples(path, 50, 1);
	o = testing_run("plot timeline --db %s -o %s", path, svg);
	assert_exit(o, 0);
	assert_string_equal(o.err, said);
	testing_run_free(&o);
	o = testing_run("plot timeline --db %s -o %s --where 'run_id < 13'", path, svg);
	assert_string_equal(o.err, "");
	testing_run_free(&o);
	o = testing_run("plot timeline --db %s --format tsv", path);
	assert_string_equal(o.err, "");
	testing_run_free(&o);
}

/* Below a narrow panel stand five numbers at most: up to 0.0055 every 0.002, not every 0.001. */
static void test_numbers_have_room(void **state)
{
	const char *path = testing_path("narrow.db"), *svg = testing_path("narrow.svg");
	struct run_output o;

	(void)state;
	need_gnuplot();
	store_ended(path, 0.0052, 1000, 0);
	o = testing_run("plot latency-rate --db %s -o %s", path, svg);
	assert_exit(o, 0);
	testing_run_free(&o);
	assert_true(count_text(svg, ">0.002<") > 0);
	assert_true(count_text(svg, ">0.004<") > 0);
	assert_i64(count_text(svg, ">0.001<"), 0);
}

/* Whatever runs and traces are called: it is text, in gnuplot's script and in the picture. */
static void test_names_are_text(void **state)
{
	const char *path = testing_path("text.db"), *svg = testing_path("text.svg");
	struct summary sum;
	struct run_info info;
	struct err e;
	struct store *s = store_open(path, &e);
	struct run_output o;
	char text[65536] = "";
	FILE *f;

	(void)state;
	need_gnuplot();
	fields_clear(run_info_fields, &info);
	fields_clear(summary_fields, &sum);
	snprintf(sum.policy, sizeof sum.policy, "it's <a&b> `date`\n'; exit 3\n_x^2 {/Bold x}");
	sum.offered_rps = 2;
	sum.ttft_mean_s = 0;
	sum.saturated = 1;
	assert_fine(store_commit(s, &info, &sum, "", 0, &e), e);
	store_close(s);
	o = testing_run("plot latency-rate --scale log --db %s -o %s", path, svg);
	assert_exit(o, 0);
	assert_string_equal(o.err, "");
	testing_run_free(&o);
	f = fopen(svg, "rb");
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof text - 1, f) > 0);
	fclose(f);
	assert_non_null(strstr(text, "it's &lt;a&amp;b> `date`?'; exit 3?_x^2 {/Bold x}"));
	assert_non_null(strstr(text, "</svg>"));
	assert_null(strstr(text, ", log")); /* 0 has no place on it */
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_i64(fclose(f), 0);
}

static void test_without_gnuplot(void **state)
{
	const char *path = two_requests_db("none.db", "-p paged");
	const char *svg = testing_path("none.svg"), *folder = testing_path("bin");
	char command[4096], fake[1200];
	struct stat st;

	(void)state;
	assert_i64(mkdir(folder, 0700), 0);
	snprintf(command, sizeof command,
		 "PATH=%s %s plot cdf --db %s -o %s 2>&1 | /bin/grep -q 'Debian: package "
		 "gnuplot-nox'",
		 folder, run_program, path, svg);
	assert_i64(system(command), 0);
	assert_i64(stat(svg, &st), -1);
	/* one that fails half way */
	snprintf(fake, sizeof fake, "%s/gnuplot", folder);
	write_text(fake,
		   "#!/bin/sh\necho half a picture\necho 'line 3: it is broken' >&2\nexit 1\n");
	assert_i64(chmod(fake, 0700), 0);
	snprintf(command, sizeof command,
		 "PATH=%s %s plot cdf --db %s -o %s 2>&1 | /bin/grep -qx 'omnibus plot: gnuplot "
		 "failed: line 3: it is broken'",
		 folder, run_program, path, svg);
	assert_i64(system(command), 0);
	assert_i64(stat(svg, &st), -1);
	snprintf(command, sizeof command, "ls %s* 2>/dev/null | /bin/grep -q .", svg);
	assert_true(system(command) != 0);
	/* the numbers need none */
	snprintf(command, sizeof command, "PATH=%s %s plot cdf --db %s --format tsv >/dev/null",
		 folder, run_program, path);
	assert_i64(system(command), 0);
}

/* A gnuplot that reports success: the picture counts, and the one that was there stays. */
static void test_a_cut_picture(void **state)
{
	static const char *const scripts[] = {
		"#!/bin/sh\nexit 0\n",
		"#!/bin/sh\necho '<svg>half'\n",
		"#!/bin/sh\necho '</svg> and more'\n",
	};
	const char *path = two_requests_db("cut.db", "-p paged"), *folder = testing_path("cut-bin");
	char command[4096], fake[1200];

	(void)state;
	assert_i64(mkdir(folder, 0700), 0);
	snprintf(fake, sizeof fake, "%s/gnuplot", folder);
	for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
		const char *svg = testing_file("cut.svg", "old\n");

		write_text(fake, scripts[i]);
		assert_i64(chmod(fake, 0700), 0);
		snprintf(command, sizeof command,
			 "PATH=%s %s plot cdf --db %s -o %s 2>&1 | /bin/grep -q 'has no end'",
			 folder, run_program, path, svg);
		assert_i64(system(command), 0);
		snprintf(command, sizeof command, "ls %s.* 2>/dev/null", svg);
		assert_true(system(command) != 0);
		assert_starts(svg, "old\n");
	}
	write_text(fake, "#!/bin/sh\necho 'a whole </svg>'\n");
	snprintf(command, sizeof command, "PATH=%s %s plot cdf --db %s -o %s", folder, run_program,
		 path, testing_path("whole.svg"));
	assert_i64(system(command), 0);
	if (access("/dev/full", W_OK) == 0) {
		snprintf(command, sizeof command,
			 "PATH=%s %s plot cdf --db %s -o /dev/full --format svg 2>&1 | /bin/grep "
			 "-q 'No space left'",
			 folder, run_program, path);
		assert_i64(system(command), 0);
	}
}

/* What no run has: a sentence, whatever is drawn, and neither a crash nor all the memory. */
static void test_damaged_rows(void **state)
{
#define LEAST "-9223372036854775808"
#define MOST  "9223372036854775807"
	static const struct {
		const char *damage, *kinds;
	} cases[] = {
		{"sample SET instance = -1", "tTmw"},
		{"sample SET instance = 1", "tTmw"},
		{"sample SET instance = 1000000000", "tTmw"},
		{"sample SET instance = " LEAST, "tTmw"},
		{"sample SET running = " LEAST, "tTmw"},
		{"sample SET running = 'many'", "tTmw"},
		{"sample SET kv_blocks = " MOST, "tTmw"},
		{"sample SET t_ns = -5", "tTmw"},
		{"sample SET t_ns = " MOST, "tTmw"},
		{"step SET batch = 1", "w"},
		{"step SET batch = " MOST, "w"},
		{"step SET instance = " MOST, "w"},
		{"step SET start_ns = " LEAST, "w"},
		{"step SET end_ns = -1", "w"},
		{"step SET kind = 'a\"b'", "w"},
		{"request SET finish_ns = " MOST, "cw"},
		{"request SET arrive_ns = " LEAST, "cw"},
		{"request SET instance = -3", "cw"},
		{"run SET decode_instances = 1", "tTcw"},
		{"run SET instances = NULL, decode_instances = 7", "tTcw"},
	};
	static const char *const commands[] = {
		['t'] = "plot timeline --format tsv",
		['T'] = "plot timeline --each-instance --format tsv",
		['m'] = "plot memory --format tsv",
		['c'] = "plot cdf --format tsv",
		['w'] = "timeline 1",
	};
	const char *good = two_requests_db("good-rows.db", HW "-p paged --steps");
	const char *path = testing_path("damaged.db");
	char command[4096];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		snprintf(command, sizeof command, "cp %s %s", good, path);
		assert_i64(system(command), 0);
		snprintf(command, sizeof command, "UPDATE %s", cases[i].damage);
		free(stored_query(path, command));
		for (const char *kind = cases[i].kinds; *kind; kind++) {
			struct run_output o =
				testing_run("%s --db %s", commands[(unsigned char)*kind], path);

			assert_exit(o, 1);
			if (!strstr(o.err, "damaged.db: the database is damaged: "))
				fail_msg("%s: %s", cases[i].damage, o.err);
			testing_run_free(&o);
		}
	}
}

/* Sizes that have no place in 64 bits when they are multiplied, and bins without a count. */
static void test_damaged_settings(void **state)
{
	const char *path = two_requests_db("huge.db", HW "-p paged --requests none");
	struct run_output o;

	(void)state;
	free(stored_query(path, "UPDATE run SET kv_token_bytes = " MOST ", block_tok = " MOST
				", kv_blocks = " MOST ", instances = " MOST));
	o = testing_run("plot memory --db %s --format tsv", path);
	assert_exit(o, 0);
	testing_run_free(&o);
	o = testing_run("plot timeline --db %s --format tsv", path);
	assert_exit(o, 0);
	testing_run_free(&o);
	free(stored_query(path, "UPDATE histogram SET count = " LEAST));
	o = testing_run("plot cdf --db %s --format tsv", path);
	assert_exit(o, 1);
	testing_run_free(&o);
}

/* Drawn twice it is the same file, a second later too. */
static void test_same_bytes(void **state)
{
	static const char *const forms[] = {"svg", "pdf", "png"};
	const char *path;
	char command[4096];

	(void)state;
	need_gnuplot();
	path = two_requests_db("bytes.db", "-p paged");
	for (size_t i = 0; i < 3; i++) {
		const char *form = forms[i];

		snprintf(command, sizeof command,
			 "%s plot cdf --db %s -o %s.1.%s && %s && %s plot cdf --db %s -o %s.2.%s "
			 "&& cmp %s.1.%s %s.2.%s",
			 run_program, path, path, form, i == 1 ? "sleep 1" : "true", run_program,
			 path, path, form, path, form, path, form);
		assert_i64(system(command), 0);
	}
}

/* As long as it may be, and a byte longer; a title is never cut in silence. */
static void test_title(void **state)
{
	const char *path = two_requests_db("title.db", "-p paged");
	char args[2048], title[257];

	(void)state;
	memset(title, 'x', 256);
	title[256] = '\0';
	snprintf(args, sizeof args, "cdf --db %s --format tsv --title %s", path, title);
	assert_fails(2, "--title has 256 bytes; 255 is the most", args);
	snprintf(args, sizeof args, "cdf --db %s --format tsv --title %s >/dev/null", path,
		 title + 1);
	assert_fails(0, "", args);
}

static void test_usage(void **state)
{
	const char *path = two_requests_db("usage.db", "-p paged");
	const char *empty = testing_file("empty.db", "");
	static const struct {
		int code;
		const char *part, *args;
	} cases[] = {
		{2, "-o FILE is missing", "cdf --db %s"},
		{2, "-o FILE is missing", "cdf --db %s --format png"},
		{2, "unknown format 'jpg'", "cdf --db %s -o x.jpg"},
		{2, "does not end with", "cdf --db %s -o x"},
		{2, "unknown plot 'cdff'", "cdff --db %s -o x.svg"},
		{2, "unknown statistic 'p98'", "latency-rate --stat p98 --db %s -o x.svg"},
		{2, "unknown scale", "latency-rate --scale lin --db %s -o x.svg"},
		{1, "No such file", "cdf --db %s.not --format tsv"},
		{1, "none of its 1 runs", "cdf --db %s --format tsv --where 'run_id > 7'"},
		{1, "over the columns run_id, policy",
		 "cdf --db %s --format tsv --where 'polcy = 1'"},
		{1, "no such column: paged",
		 "cdf --db %s --format tsv --where 'policy = \"paged\"'"},
		{1, "load_extension", "cdf --db %s --format tsv --where \"load_extension('x')\""},
		{1, "';'", "cdf --db %s --format tsv --where '1; DROP TABLE run'"},
		{1, "cannot write /no/such/x.svg", "cdf --db %s -o /no/such/x.svg"},
	};
	char args[2048];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *at = strstr(cases[i].args, "%s");

		snprintf(args, sizeof args, "%.*s%s%s", (int)(at - cases[i].args), cases[i].args,
			 path, at + 2);
		assert_fails(cases[i].code, cases[i].part, args);
	}
	assert_fails(2, "--db FILE is missing", "cdf -o x.svg");
	snprintf(args, sizeof args, "cdf --db %s --format tsv", empty);
	assert_fails(1, "it holds no run yet", args);
	assert_query(path, "SELECT count(*) FROM run", "1");
}

/* One request has no rate to be offered at; without request rows there is no TTFT of it either. */
static void test_left_out(void **state)
{
	const char *path = testing_path("left.db");
	const char *trace = testing_file("one.csv", "arrive_s,prompt_tok,output_tok\n0,10,1\n");
	char args[1200];
	struct run_output o;

	(void)state;
	snprintf(args, sizeof args, "%s " FAST "-p paged --db %s", trace, path);
	o = run_well(args);
	testing_run_free(&o);
	o = testing_run("plot latency-rate --db %s --format tsv", path);
	assert_i64(o.code, 1);
	assert_string_equal(o.out, "");
	assert_non_null(strstr(o.err, "1 of 1 runs left out, as they have no offered rate"));
	assert_non_null(strstr(o.err, "no values for latency-rate"));
	testing_run_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_latency_rate),
		cmocka_unit_test(test_lost_requests),
		cmocka_unit_test(test_statistics),
		cmocka_unit_test(test_cdf),
		cmocka_unit_test(test_cdf_of_a_histogram),
		cmocka_unit_test(test_cdf_of_many),
		cmocka_unit_test(test_timeline),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_findings_name_nothing),
		cmocka_unit_test(test_cut_names),
		cmocka_unit_test(test_pictures),
		cmocka_unit_test(test_lines_of_memory),
		cmocka_unit_test(test_many_lines),
		cmocka_unit_test(test_numbers_have_room),
		cmocka_unit_test(test_names_are_text),
		cmocka_unit_test(test_without_gnuplot),
		cmocka_unit_test(test_a_cut_picture),
		cmocka_unit_test(test_damaged_rows),
		cmocka_unit_test(test_damaged_settings),
		cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_title),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
