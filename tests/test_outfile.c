/* Result files: complete or not there, whatever ends the program, and never over what is read. */
#include "tests/testing.h"
#include "traces/outfile.h"
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEADER "arrive_s,prompt_tok,output_tok\n"

static void assert_content(const char *path, const char *want)
{
	char got[4096] = "";
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(got, want);
}

/* The child has half a file when it is sent the signal. */
static void ended_by_a_signal(void **state)
{
	static const int endings[] = {SIGINT, SIGTERM, SIGHUP};
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const char *to = testing_file("half", "old");
		int status;
		pid_t child = fork();
		if (!child) {
			struct outfile o;
			struct err e;
			signal(endings[i], SIG_DFL);
			if (outfile_open(&o, to, &e) || fputs("half", o.stream) < 0 ||
			    fflush(o.stream) || testing_count_files(to) != 2)
				_exit(1);
			raise(endings[i]);
			_exit(2);
		}
		assert_i64(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		assert_i64(WTERMSIG(status), endings[i]);
		assert_i64(testing_count_files(to), 1);
		assert_content(to, "old");
	}
}

/* As nohup does it: who ignores a signal goes on, and the actions are then as they were. */
static void an_ignored_signal(void **state)
{
	const char *to = testing_path("nohup");
	struct sigaction now;
	struct outfile o;
	struct err e;
	(void)state;
	signal(SIGHUP, SIG_IGN);
	assert_fine(outfile_open(&o, to, &e), e);
	raise(SIGHUP);
	assert_true(fputs("all", o.stream) >= 0);
	assert_fine(outfile_commit(&o, &e), e);
	assert_content(to, "all");
	assert_i64(sigaction(SIGHUP, NULL, &now), 0);
	assert_true(now.sa_handler == SIG_IGN);
	assert_i64(sigaction(SIGTERM, NULL, &now), 0);
	assert_true(now.sa_handler == SIG_DFL);
	signal(SIGHUP, SIG_DFL);
}

/* What an earlier process of this number left behind is neither in the way nor touched. */
static void a_stale_file(void **state)
{
	const char *to = testing_path("stale");
	char left[1024], name[64];
	struct outfile o;
	struct err e;
	(void)state;
	snprintf(name, sizeof(name), "stale.%ld.tmp", (long)getpid());
	snprintf(left, sizeof(left), "%s", testing_file(name, "left"));
	assert_fine(outfile_open(&o, to, &e), e);
	assert_true(fputs("new", o.stream) >= 0);
	assert_fine(outfile_commit(&o, &e), e);
	assert_content(to, "new");
	assert_content(left, "left");
	assert_i64(testing_count_files(to), 2);
	unlink(left);
}

static void a_link_stays_one(void **state)
{
	const char *to = testing_file("behind", "old"), *link = testing_path("link");
	const char *nowhere = testing_path("nowhere");
	struct outfile o;
	struct stat st;
	struct err e;
	(void)state;
	assert_i64(symlink(to, link), 0);
	assert_fine(outfile_open(&o, link, &e), e);
	assert_true(fputs("new", o.stream) >= 0);
	assert_fine(outfile_commit(&o, &e), e);
	assert_content(to, "new");
	assert_i64(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_i64(symlink("not there", nowhere), 0);
	assert_refused(outfile_open(&o, nowhere, &e), e, "nowhere: No such file");
}

/* By its own name, through a link, on standard input, and as the lengths of a generator. */
static void not_over_what_is_read(void **state)
{
	const char *csv = testing_file("own.csv", HEADER "0,1,2\n1,2,3\n");
	const char *link = testing_path("own-link.csv"), *q = testing_path("own-q.csv");
	(void)state;
	assert_i64(symlink(csv, link), 0);
	struct run_output o = testing_run("trace fit %s -O %s", csv, q);
	assert_exit(o, 0);
	testing_run_free(&o);
	struct run_output all[] = {
		testing_run("trace convert %s -O %s", csv, csv),
		testing_run("trace convert %s -O %s", csv, link),
		testing_run("trace convert - -O %s < %s", csv, csv),
		testing_run("trace fit %s -O %s", csv, csv),
		testing_run("trace generate poisson,n=2,lengths=%s -O %s", q, q),
		testing_run("trace generate synth:poisson,lengths=%s,n=2 -O %s", q, q),
		testing_run("timeline 1 --db %s -o %s", csv, csv),
		testing_run("plot cdf --db %s -o %s --format svg", csv, csv),
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_exit(all[i], 2);
		assert_string_equal(all[i].out, "");
		assert_non_null(strstr(all[i].err, " is what is read: the output needs another"));
		testing_run_free(&all[i]);
	}
	assert_content(csv, HEADER "0,1,2\n1,2,3\n");
	/* read to the end before the same bytes are written elsewhere */
	o = testing_run("trace convert %s -O %s.new", csv, csv);
	assert_exit(o, 0);
	testing_run_free(&o);
}

static void assert_untouched(struct run_output o, const char *part)
{
	assert_exit(o, 2);
	assert_string_equal(o.out, "");
	if (!strstr(o.err, part))
		fail_msg("no '%s' in %s", part, o.err);
	testing_run_free(&o);
}

/* Whatever a command reads or stores into, existing or still to come. */
static void not_over_any_file_of_a_command(void **state)
{
	static const char read_part[] = " is what is read: the output needs another file";
	static const char twice[] = " is named twice: the output needs another file";
	static const char run[] = "run -p paged -m llama-3-8b -d h100 synth:poisson,n=2";
	static const char own[] = "run -p paged -d %s -m %s synth:poisson,n=2 --record %s";
	const char *device = testing_file(
		"d.json", "{\"memory_bytes\": 85899345920, \"peak_bytes_s\": 2e12, \"peak_flops\": "
			  "3e14, \"pcie_bytes_s\": 25e9}");
	const char *model = testing_file(
		"m.json", "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", "
			  "\"hidden_size\": 4096, \"intermediate_size\": 14336, "
			  "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, "
			  "\"num_hidden_layers\": 32, \"vocab_size\": 128256, "
			  "\"max_position_embeddings\": 8192}");
	const char *table =
		testing_file("t.csv", "phase,batch,prompt_tokens,context_tokens,seconds\n");
	const char *json = testing_file("p.json", "{}"), *to_come = testing_path("to-come");
	const char *drawn = testing_file("p.svg", "{}");
	const char *q = testing_path("q.csv"), *db = testing_path("results.db");
	(void)state;
	assert_untouched(testing_run("calibrate --import %s --device %s -o %s", table, json, json),
			 read_part);
	assert_untouched(
		testing_run("calibrate --import %s --device h100 -m %s -o %s", table, json, json),
		read_part);
	assert_untouched(testing_run("calibrate --import %s --device h100 -o %s", table, table),
			 read_part);
	assert_untouched(testing_run("calibrate --show %s --plot %s", drawn, drawn), read_part);
	assert_untouched(testing_run("calibrate --backend cpu -o %s --db %s", to_come, to_come),
			 twice);
	assert_untouched(testing_run("%s --db %s --record %s", run, to_come, to_come), twice);
	assert_untouched(testing_run(own, device, "llama-3-8b", device), read_part);
	assert_untouched(testing_run(own, "h100", model, model), read_part);
	assert_content(json, "{}");
	assert_i64(access(to_come, F_OK), -1);
	struct run_output o = testing_run("%s --db %s", run, db);
	assert_exit(o, 0);
	testing_run_free(&o);
	assert_untouched(testing_run("%s --db %s --record %s", run, db, db), read_part);
	assert_untouched(testing_run("%s --record %s", run, db), " is a SQLite database: the ");
	o = testing_run("trace generate poisson,n=2 -O %s", db);
	assert_exit(o, 1);
	testing_run_free(&o);
	o = testing_run("trace fit %s -O %s", testing_file("fit.csv", HEADER "0,1,2\n1,2,3\n"), q);
	assert_exit(o, 0);
	testing_run_free(&o);
	assert_untouched(testing_run("run -p paged -m llama-3-8b -d h100 "
				     "synth:poisson,n=2,lengths=%s --record %s",
				     q, q),
			 read_part);
}

/* - is the standard output, never a file of that name. */
static void dash(void **state)
{
	const char *csv = testing_file("dash.csv", HEADER "0,1,2\n");
	(void)state;
	struct run_output o = testing_run("trace convert %s -O -", csv);
	assert_exit(o, 0);
	assert_string_equal(o.out, HEADER "0.000000000,1,2\n");
	testing_run_free(&o);
	o = testing_run("trace fit %s -O -", csv);
	assert_exit(o, 2);
	assert_string_equal(o.out, "");
	testing_run_free(&o);
	assert_i64(access("-", F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ended_by_a_signal),
		cmocka_unit_test(an_ignored_signal),
		cmocka_unit_test(a_stale_file),
		cmocka_unit_test(a_link_stays_one),
		cmocka_unit_test(not_over_any_file_of_a_command),
		cmocka_unit_test(dash),
		cmocka_unit_test(not_over_what_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
