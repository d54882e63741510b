/* `omnibus calibrate` --import and --show, as a user calls them. */
#include "calibrate/profile_fit.h"
#include "testing.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The least of an own table: 20 ms + 100 us a token + 5 ns its square; 8 ms + 500 ns of context +
 * 30 us a sequence. */
static const char *steps_table(void)
{
	char *text = xcalloc(1, 1 << 16);
	size_t at = 0;

	at += (size_t)sprintf(text, "phase,batch,prompt_tokens,context_tokens,seconds\n");
	for (int n = 1; n <= 8; n *= 2)
		for (int tok = 64; tok <= 4096; tok *= 2)
			at += (size_t)sprintf(text + at, "prefill,%d,%d,0,%.9f\n", n, n * tok,
					      20e-3 + 100e-6 * n * tok + 5e-9 * n * tok * tok);
	for (int b = 1; b <= 64; b *= 2)
		for (int len = 64; len <= 4096; len *= 2)
			at += (size_t)sprintf(text + at, "decode,%d,0,%d,%.9f\n", b, b * len,
					      8e-3 + 500e-9 * b * len + 30e-6 * b);
	sprintf(text + at, "prefill,1,64,512,0.03\n");
	const char *path = testing_file("steps.csv", text);
	free(text);
	return path;
}

static void has(const struct run_output *o, const char *part)
{
	if (!strstr(o->out, part))
		fail_msg("no '%s' in:\n%s%s", part, o->out, o->err);
}

static void test_own_table_becomes_a_device(void **state)
{
	const char *table = steps_table(), *profile = testing_path("mine.json");
	char wrote[1200];
	struct run_output o;
	struct profile *p;
	struct err e;

	(void)state;
	o = testing_run("calibrate --import %s --device h100 -m opt-13b --tp 2 -o %s --date "
			"2026-01-31 --source 'my own' --server mine",
			table, profile);
	assert_exit(o, 0);
	snprintf(wrote, sizeof(wrote), "omnibus calibrate: wrote %s\n", profile);
	assert_string_equal(o.err, wrote);
	has(&o, "mine: my own, measured by others, fitted 2026-01-31");
	has(&o, "| whole-steps     |      78 |      77 |");
	has(&o, "steps.csv: 1 rows left out: prompts after cached tokens");
	has(&o, "| opt-13b       |  2 | prefill ");
	testing_run_free(&o);
	p = profile_load(profile, &e);
	assert_non_null(p);
	const struct whole_steps *s = profile_steps(p, "opt-13b", 2);
	assert_non_null(s);
	assert_near(s->prefill_ns[1] / 100e3, 1, 1e-4);
	assert_near(s->large_ns[1] / 500, 1, 1e-3);
	assert_near(s->large_ns[2] / 30e3, 1, 1e-3);
	assert_string_equal(p->device.name, "mine");
	assert_string_equal(p->server, "mine");
	profile_free(p);
	o = testing_run("capacity -m opt-13b -d %s", profile);
	assert_exit(o, 0);
	has(&o, "| mine ");
	testing_run_free(&o);
}

static void assert_notes(const char *profile, const char *policy, const char *notes)
{
	struct run_output o =
		testing_run("run synth:constant,n=2,prompt=300,output=5 -p %s -m opt-13b -d %s "
			    "-o jsonl",
			    policy, profile);

	assert_exit(o, 0);
	has(&o, notes);
	testing_run_free(&o);
}

/* A chunk of a prompt after another one is in no table of whole steps, and the row says so. */
static void test_chunks_are_extrapolated(void **state)
{
	const char *table = steps_table(), *profile = testing_path("chunks.json");
	struct run_output o =
		testing_run("calibrate --import %s --device h100 -m opt-13b -o %s", table, profile);

	(void)state;
	assert_exit(o, 0);
	testing_run_free(&o);
	assert_notes(profile, "paged", "\"notes\":\"mixed-sum\"");
	assert_notes(profile, "paged:chunk=128,max_seqs=64",
		     "\"notes\":\"mixed-sum extrapolated\"");
	assert_notes("a100-80g-distserve", "paged:chunk=128,max_seqs=64",
		     "\"notes\":\"mixed-sum\"");
}

/* Bytes that are no UTF-8: text is refused, a name of a file becomes readable. */
static void test_odd_bytes(void **state)
{
	static const char *const options[] = {"--source", "--server"};
	const char *table = steps_table(), *folder = testing_path("");
	struct run_output o;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		o = testing_run("calibrate --import %s --device h100 -m opt-13b -o %s/x.json %s "
				"'a\xff'",
				table, folder, options[i]);
		assert_exit(o, 2);
		assert_non_null(strstr(o.err, " has a byte in it that is no UTF-8"));
		testing_run_free(&o);
	}
	o = testing_run("calibrate --import %s --device h100 -m opt-13b -o '%s/x\xff.json'", table,
			folder);
	assert_exit(o, 0);
	has(&o, "x?: steps.csv, measured by others");
	testing_run_free(&o);
	/* a line break and an escape in the table's name */
	assert_i64(link(table, testing_path("a\nb\033.csv")), 0);
	o = testing_run("calibrate --import '%s' --device h100 -m opt-13b -o %s/z.json",
			testing_path("a\nb\033.csv"), folder);
	assert_exit(o, 0);
	has(&o, "z: a?b?.csv, measured by others");
	assert_null(strchr(o.out, '\033'));
	testing_run_free(&o);
	o = testing_run("calibrate --import %s --device h100 -m opt-13b -o %s/.json", table,
			folder);
	assert_exit(o, 2);
	assert_non_null(strstr(o.err, "has no name before .json"));
	testing_run_free(&o);
	o = testing_run("calibrate --import %s --device h100 -o %s/y.json", folder, folder);
	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "is a directory: expected a table of times"));
	testing_run_free(&o);
}

static void test_show(void **state)
{
	const char *table = steps_table(), *profile = testing_path("mine.json");
	struct run_output o;

	(void)state;
	o = testing_run("calibrate --import %s --device h100 -m opt-13b -o %s", table, profile);
	assert_exit(o, 0);
	testing_run_free(&o);
	o = testing_run("calibrate --show %s", profile);
	assert_exit(o, 0);
	has(&o, "device     mine\n           NVIDIA H100 SXM5 80 GB\n");
	has(&o, "source     steps.csv\n");
	assert_null(strstr(o.out, "\nrepeats "));
	has(&o, "not forecast, as no kernels were measured: every other model");
	has(&o, "whole decode step by sequences of 1024 tokens, predicted");
	has(&o, "a: opt-13b, tp 1");
	testing_run_free(&o);
}

/* Whose shapes they are, also where no model was named. */
static void test_charts_name_their_model(void **state)
{
	struct run_output o = testing_run("calibrate --show h200");

	(void)state;
	assert_exit(o, 0);
	has(&o, "\nGEMM of llama-3-8b by tokens, predicted");
	has(&o, "\ndecode attention of a layer of llama-3-8b by context of each sequence, ");
	testing_run_free(&o);
	o = testing_run("calibrate --show h200 -m llama-3-70b --tp 4");
	assert_exit(o, 0);
	has(&o, "\nGEMM of llama-3-70b (tp 4) by tokens, predicted");
	testing_run_free(&o);
}

/* Of llama.cpp's server: every token attends over all cells in use. */
static void test_unified_scope(void **state)
{
	const char *table = steps_table(), *profile = testing_path("unified.json");
	const char *device = testing_file("cells.json", "{\"memory_bytes\": 80000000000, "
							"\"peak_bytes_s\": 4e12, \"peak_flops\": "
							"1e15, \"pcie_bytes_s\": 1e10, "
							"\"scope_cell_ns\": 2}");
	const struct {
		const char *device, *options;
		double cell_ns;
	} cases[] = {
		{"h100", "", 0},
		{"h100", "--scope unified --cell-ns 0.25", 0.25},
		{"h100", "--scope sequence", 0},
		{device, "", 2},
		{device, "--scope unified --cell-ns 0.25", 0.25},
		{device, "--scope sequence", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct device d;
		struct err e;
		struct run_output o =
			testing_run("calibrate --import %s --device %s -m opt-13b -o %s %s", table,
				    cases[i].device, profile, cases[i].options);

		assert_exit(o, 0);
		testing_run_free(&o);
		assert_fine(device_load(&d, profile, &e), e);
		assert_near(d.scope_cell_ns, cases[i].cell_ns, 0);
		assert_near(d.profile->device.scope_cell_ns, cases[i].cell_ns, 0);
		device_release(&d);
		o = testing_run("calibrate --show %s", profile);
		assert_exit(o, 0);
		has(&o, cases[i].cell_ns > 0 ? "attention  over all cells in use\n"
					     : "attention  over each sequence's own context\n");
		testing_run_free(&o);
	}
}

/* To the standard output goes the profile and nothing else. */
static void test_to_standard_output(void **state)
{
	struct run_output o;
	struct profile *p;
	struct err e;

	(void)state;
	o = testing_run("calibrate --import %s --device h100 -m opt-13b -o -", steps_table());
	assert_exit(o, 0);
	assert_string_equal(o.err, "");
	p = profile_parse(o.out, strlen(o.out), "stdout", &e);
	assert_non_null(p);
	assert_string_equal(p->device.name, "h100");
	profile_free(p);
	testing_run_free(&o);
}

/* By whatever names. */
static void test_one_file_twice(void **state)
{
	const char *table = steps_table(), *other = testing_path("other.csv");

	(void)state;
	assert_i64(link(table, other), 0);
	struct run_output o =
		testing_run("calibrate --import %s --import %s --device h100 -m opt-13b -o no.json",
			    table, other);
	assert_exit(o, 2);
	assert_non_null(strstr(o.err, "other.csv are one file"));
	testing_run_free(&o);
}

static void test_usage(void **state)
{
	static const struct {
		const char *args, *part;
		int code;
	} cases[] = {
		{"", "one of these is missing", 2},
		{"--import a.csv --show h200", "one of these is for a call", 2},
		{"--import a.csv -o p.json", "--device NAME is missing", 2},
		{"--import a.csv --device h100", "-o PROFILE is missing", 2},
		{"--import a.csv --device h100 -o p.json --budget 5", "--budget is for --backend",
		 2},
		{"--import a.csv --device h100 -o p.json --plot a.svg", "--plot is for --show", 2},
		{"--show h200 --date 2026-01-31", "--date is for --backend and --import", 2},
		{"--show h200 --plot cpu.png", "'cpu.png' does not end with .svg", 2},
		{"--show h300", "unknown profile 'h300'", 2},
		{"--show l40s",
		 "l40s is a device without a profile: nothing was measured on it, and its "
		 "forecasts are a roofline",
		 2},
		{"--show ./none.json", "cannot read the profile config ./none.json", 1},
		{"--check", "one of these is missing", 2},
		{"--import a.csv --device h300 -o p.json", "unknown device 'h300'", 2},
		{"--import ./none.csv --device h100 -o p.json", "none.csv", 1},
		{"--import a.csv --device h100 -o p.json --date 2026-02-30", "is not a day", 2},
		{"--import a.csv --device h100 -o p.json --date tomorrow", "is not a day", 2},
		{"--import a.csv --device h100 -o p.json --scope all",
		 "must be sequence or unified", 2},
		{"--import a.csv --device h100 -o p.json --scope unified", "go together", 2},
		{"--import a.csv --device h100 -o p.json --cell-ns 3", "go together", 2},
		{"--import a.csv --device h100 -o p.json --scope unified --cell-ns 0",
		 "--cell-ns is 0: it must be above 0", 2},
		{"--backend cpu --scope sequence", "--scope is for --import", 2},
		{"--import a.csv --device h100 -o p.json --source ''", "--source has 0 bytes", 2},
		{"--import a.csv --device h100 -o p.json -m no-model", "unknown model", 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run_output o = testing_run("calibrate %s", cases[i].args);

		assert_exit(o, cases[i].code);
		if (!strstr(o.err, cases[i].part))
			fail_msg("%s: no '%s' in: %s", cases[i].args, cases[i].part, o.err);
		assert_string_equal(o.out, "");
		testing_run_free(&o);
	}
}

static void test_check_takes_a_seed_alone(void **state)
{
	static const char *const options[] = {
		"-m tiny",	     "--tp 1",	      "--kv-bits 4",
		"--budget 5",	     "-o a.json",     "--db a.db",
		"--threads 2",	     "--device mine", "--source a",
		"--date 2026-01-31", "--server a",    "--scope sequence",
		"--cell-ns 3",	     "--plot a.svg",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		struct run_output o = testing_run("calibrate --backend cpu --check %s", options[i]);
		char want[100];

		snprintf(want, sizeof(want), "omnibus calibrate: --check takes no %.*s: it holds ",
			 (int)strcspn(options[i], " "), options[i]);
		assert_exit(o, 2);
		if (strncmp(o.err, want, strlen(want)) != 0)
			fail_msg("%s: not '%s': %s", options[i], want, o.err);
		testing_run_free(&o);
	}
}

/* Nothing is written, and nothing was there before stays out. */
static void test_refused_leaves_no_profile(void **state)
{
	const char *bad =
		testing_file("bad.csv", "gemm_dtype,m,n,k,latency_ms\nbfloat16,1,2,3,0\n");
	const char *few = testing_file("few.csv", "gemm_dtype,m,n,k,latency_ms\n"
						  "bfloat16,1,1024,1024,0.005\n"
						  "bfloat16,2,2048,1024,0.006\n");
	const char *profile = testing_path("none.json");
	struct run_output o;

	(void)state;
	o = testing_run("calibrate --import %s --device h100 -o %s", bad, profile);
	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "bad.csv:2: latency_ms is 0"));
	testing_run_free(&o);
	o = testing_run("calibrate --import %s --device h100 -o %s", few, profile);
	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "gemm"));
	testing_run_free(&o);
	/* nor over what is read */
	o = testing_run("calibrate --import %s --device h100 -o %s", few, few);
	assert_exit(o, 2);
	testing_run_free(&o);
	assert_i64(testing_count_files(profile), 0);
}

/* Nothing would use the whole steps: said before anything is fitted, in either order. */
static void test_steps_beside_kernels(void **state)
{
	const char *steps = steps_table(), *profile = testing_path("both.json");
	const char *kernels = testing_file("kernels.csv", "gemm_dtype,m,n,k,latency_ms\n"
							  "bfloat16,1,1024,1024,0.005\n");
	const char *fits = testing_file(
		"fits.csv", "model,tp,bs_threshold,prefill_a,prefill_b,prefill_c,dec_small_a,"
			    "dec_small_b,dec_small_c,dec_large_a,dec_large_b,dec_large_c\n"
			    "opt-13b,1,95,18,0.1,7e-6,20,6e-4,0.04,7,6e-4,0.16\n");
	const char *const orders[][2] = {{kernels, steps}, {steps, kernels}, {fits, kernels}};

	(void)state;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct run_output o = testing_run("calibrate --import %s --import %s --device h100 "
						  "-m opt-13b -o %s",
						  orders[i][0], orders[i][1], profile);

		assert_exit(o, 1);
		if (!strstr(o.err, "kernels.csv has times of kernels and ") ||
		    !strstr(o.err, i < 2 ? "/steps.csv has whole" : "/fits.csv has whole") ||
		    !strstr(o.err, ": make two profiles, one of each\n"))
			fail_msg("%s", o.err);
		testing_run_free(&o);
	}
	assert_i64(testing_count_files(profile), 0);
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = xcalloc(1, 1 << 20);

	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	return text;
}

/* Faster than the device can be. */
static void test_impossible_times(void **state)
{
	char *text = xcalloc(1, 1 << 16);
	size_t at = (size_t)sprintf(text, "gemm_dtype,m,n,k,latency_ms\n");
	struct run_output o;

	(void)state;
	for (int i = 0; i < 5; i++) {
		for (int j = 0; j < 5; j++) {
			for (int m = 1; m <= 4096; m *= 2) {
				double n = 1024 << i, k = 1024 << j;
				double read = 2 * (n * k + m * k + m * n) / 3e12;
				double work = 2 * n * k * m / 1500e12;

				at += (size_t)sprintf(text + at, "bfloat16,%d,%.0f,%.0f,%.9f\n", m,
						      n, k,
						      1e-3 + 1e3 * (read > work ? read : work));
			}
		}
	}
	const char *table = testing_file("fast.csv", text);

	o = testing_run("calibrate --import %s --device h100 -o %s", table, testing_path("p.json"));
	assert_exit(o, 1);
	if (!strstr(o.err, "h100 takes"))
		fail_msg("%s", o.err);
	testing_run_free(&o);
	free(text);
}

/* A gnuplot that says what it was told: panels, lines, the picture in its file. */
static void test_picture(void **state)
{
	const char *folder = testing_path("bin"), *told = testing_path("told");
	const char *svg = testing_path("h200.svg");
	char fake[1200], script[2400];
	struct run_output o;

	(void)state;
	assert_i64(mkdir(folder, 0700), 0);
	snprintf(fake, sizeof(fake), "%s/gnuplot", folder);
	snprintf(script, sizeof(script), "#!/bin/sh\n/bin/cat >%s\necho 'a picture </svg>'\n",
		 told);
	FILE *f = fopen(fake, "w");
	assert_non_null(f);
	fputs(script, f);
	assert_i64(fclose(f), 0);
	assert_i64(chmod(fake, 0700), 0);
	assert_i64(setenv("PATH", folder, 1), 0);
	o = testing_run("calibrate --show h200 --plot %s", svg);
	assert_exit(o, 0);
	testing_run_free(&o);
	char *picture = read_file(svg), *text = read_file(told);
	assert_string_equal(picture, "a picture </svg>\n");
	assert_non_null(strstr(text, "GEMM, us, predicted"));
	assert_non_null(strstr(text, "decode attention of a layer, us, predicted"));
	assert_null(strstr(text, "decode step, us"));
	assert_non_null(strstr(text, "qkv, 6144 x 4096"));
	assert_non_null(strstr(text, "batch 64"));
	assert_non_null(strstr(text, "h200, llama-3-8b: hollow points are extrapolated"));
	free(picture);
	free(text);
	assert_i64(remove(fake), 0);
	o = testing_run("calibrate --show h200 --plot %s/no.svg", folder);
	assert_exit(o, 1);
	assert_non_null(strstr(o.err, "gnuplot is not installed"));
	testing_run_free(&o);
	assert_i64(testing_count_files(testing_path("bin/no.svg")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_table_becomes_a_device),
		cmocka_unit_test(test_chunks_are_extrapolated),
		cmocka_unit_test(test_odd_bytes),
		cmocka_unit_test(test_show),
		cmocka_unit_test(test_charts_name_their_model),
		cmocka_unit_test(test_unified_scope),
		cmocka_unit_test(test_to_standard_output),
		cmocka_unit_test(test_one_file_twice),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_check_takes_a_seed_alone),
		cmocka_unit_test(test_refused_leaves_no_profile),
		cmocka_unit_test(test_steps_beside_kernels),
		cmocka_unit_test(test_impossible_times),
		cmocka_unit_test(test_picture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
